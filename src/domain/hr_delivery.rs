//! Deliveries to HR systems: what they tell, when they are tried again, what an attempt makes of them. Whose turn it is:
//! `hr_dispatch`.
//!
//! How an attempt is made is not known here; it is handed in as an [`DeliveryAttempt`].

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::fmt::rfc2822::DateTimeParser;

use super::id::DeliveryId;
use super::refusal::Refusal;
use super::timestamp::Timestamp;
use super::words::words;

/// How long `Retry-After` may put off the next attempt at most.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The longest delay of a schedule, and the most delays: what is owed for months is owed to nobody any more.
const DELAY_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
const DELAY_MIN: Duration = Duration::from_millis(1);
const DELAYS_MAX: usize = 30;

/// Jitter adds at most this part of a delay, so that what failed together is not tried again together.
const JITTER_PART: u32 = 10;

/// The answer by which a receiver says that it wants nothing any more (Standard Webhooks; RFC 9110 §15.5.11).
pub const STATUS_GONE: u16 = 410;

words! {
    /// What the HR system is told.
    DeliveryEvent {
        /// A candidate was hired.
        Hired = "candidate.hired",
        /// A hire was reversed.
        HireReversed = "candidate.hire_reversed",
        /// Nothing: an admin tries the connection. It is tried once.
        Ping = "ping",
    }
}

words! {
    /// What has become of a delivery.
    DeliveryState {
        /// It is to be sent, or held until it may be.
        Pending = "pending",
        /// The HR system has taken it.
        Delivered = "delivered",
        /// Every attempt failed; it is sent again when an admin says so.
        Failed = "failed",
    }
}

/// The duration that a setting such as `15s` or `2h` means, where it is within these bounds.
pub fn parse_duration(text: &str, bounds: RangeInclusive<Duration>) -> Option<Duration> {
    let duration: SignedDuration = text.trim().parse().ok()?;
    Duration::try_from(duration).ok().filter(|duration| bounds.contains(duration))
}

/// The delays between attempts: the first follows the first attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule(Vec<Duration>);

impl RetrySchedule {
    /// The schedule as a setting has it: `5s,5m,2h`.
    ///
    /// # Errors
    /// A sentence for the usage message: no delay, more than 30, one that is none, or one over 168 hours.
    pub fn parse(text: &str) -> Result<Self, String> {
        let delays = text.split(',').map(|part| {
            parse_duration(part, DELAY_MIN..=DELAY_MAX).ok_or_else(|| {
                format!(
                    "`{part}` is no delay between 1ms and 168h; a schedule looks like 5s,5m,30m,2h,5h,10h,14h,20h,24h"
                )
            })
        });
        let delays: Vec<Duration> = delays.collect::<Result<_, _>>()?;
        if delays.len() > DELAYS_MAX {
            return Err(format!("a schedule has at most {DELAYS_MAX} delays, this one has {}", delays.len()));
        }
        Ok(Self(delays))
    }

    /// The delay after so many attempts that failed; `None` when there is no further attempt.
    fn delay(&self, failed: u32) -> Option<Duration> {
        self.0.get(usize::try_from(failed.checked_sub(1)?).ok()?).copied()
    }
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// When it began.
    pub at: Timestamp,
    /// How long it took.
    pub duration: Duration,
    /// The answer's status, where one came.
    pub status: Option<u16>,
    /// What went wrong, where it was not (only) the status: a sentence for admins.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Option<String>,
    /// When the HR system wants to be asked again, counted from now.
    pub retry_after: Option<Duration>,
    /// Whether it ended because the time was up.
    pub timed_out: bool,
}

impl DeliveryAttempt {
    /// Whether the HR system has taken the message: a whole answer of class 2xx.
    pub fn is_delivered(&self) -> bool {
        self.error.is_none() && self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// What came of an attempt in words, for the log and the command line.
pub fn describe_outcome(status: Option<u16>, error: Option<&str>) -> String {
    match (status, error) {
        (Some(status), None) => format!("answered {status}"),
        (Some(status), Some(error)) => format!("answered {status}: {error}"),
        (None, error) => error.unwrap_or("no answer").to_owned(),
    }
}

/// What an attempt makes of its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// It is delivered.
    Delivered,
    /// It is tried again then.
    Again(Timestamp),
    /// It was tried for the last time.
    Failed,
    /// The HR system is gone: the integration is disabled, and what is owed waits.
    Gone,
}

/// When a delivery is tried next that waits for `next`: no later than the schedule allows from now. A clock that was once
/// ahead would put it off by as much. `failed` counts its failed attempts; the last one began at `last_attempt_at`.
pub fn bounded_attempt_time(
    schedule: &RetrySchedule,
    failed: u32,
    last_attempt_at: Option<Timestamp>,
    next: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let Some(delay) = schedule.delay(failed) else {
        // Nothing failed yet, so there is nothing to wait for.
        return next.min(now);
    };
    let longest = delay.saturating_add(delay / JITTER_PART).max(RETRY_AFTER_MAX);
    let wait = match last_attempt_at {
        // The attempt was made on a clock that was ahead: its delay counts from now.
        Some(at) if at > now => next.since(at).min(longest),
        _ => longest,
    };
    next.min(now.plus(wait))
}

/// What an attempt makes of its delivery. `failed` counts the attempts since it was queued that failed, with this one;
/// `jitter` is random, 0 adds nothing to the delay and `u16::MAX` a tenth.
pub fn outcome_of(
    event: DeliveryEvent,
    schedule: &RetrySchedule,
    failed: u32,
    attempt: &DeliveryAttempt,
    now: Timestamp,
    jitter: u16,
) -> AttemptOutcome {
    if attempt.is_delivered() {
        return AttemptOutcome::Delivered;
    }
    if attempt.status == Some(STATUS_GONE) {
        return AttemptOutcome::Gone;
    }
    match schedule.delay(failed).filter(|_| event != DeliveryEvent::Ping) {
        None => AttemptOutcome::Failed,
        Some(delay) => {
            let delay = delay + delay / JITTER_PART * u32::from(jitter) / u32::from(u16::MAX);
            let wanted = attempt.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
            AttemptOutcome::Again(now.plus(delay.max(wanted)))
        }
    }
}

/// What a `Retry-After` field says (RFC 9110 §10.2.3): seconds, or a date, 24 hours at most. `None` for any other text.
pub fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are longer than a day, too.
        let seconds = text.parse().map_or(RETRY_AFTER_MAX, Duration::from_secs);
        return Some(seconds.min(RETRY_AFTER_MAX));
    }
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Timestamp::from_micros(date.as_microsecond()).since(now).min(RETRY_AFTER_MAX))
}

/// Why a pending delivery is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldBy {
    /// Its organization has no integration (any more).
    NoIntegration,
    /// Its organization's integration is disabled.
    Disabled,
    /// An earlier delivery of its application has not arrived.
    Earlier(DeliveryId),
}

/// What decides whether a delivery may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFacts {
    /// What it tells.
    pub event: DeliveryEvent,
    /// What has become of it.
    pub state: DeliveryState,
    /// Whether its organization's integration is enabled; `None` where there is none.
    pub enabled: Option<bool>,
    /// The first earlier delivery of its application that has not arrived.
    pub earlier: Option<DeliveryId>,
}

impl DeliveryFacts {
    /// What holds it; `None` where nothing does, or it is not pending.
    pub fn held(&self) -> Option<HeldBy> {
        if self.state == DeliveryState::Pending { self.obstacle() } else { None }
    }

    /// `POST …/hr-deliveries/{id}/retry`: passes where it can be sent now.
    ///
    /// # Errors
    /// `conflict` where it is delivered, where there is no integration that is enabled, or where an earlier one of its
    /// application has to go first.
    pub fn require_retry(&self) -> Result<(), Refusal> {
        let conflict = match (self.state, self.obstacle()) {
            (DeliveryState::Delivered, _) => "the delivery has arrived; there is nothing to send again",
            (_, Some(HeldBy::NoIntegration)) => "the organization has no HR integration; save one first",
            (_, Some(HeldBy::Disabled)) => {
                "the organization's HR integration is disabled; save it with enabled true first"
            }
            (_, Some(HeldBy::Earlier(_))) => {
                "an earlier delivery of this application has not arrived; retry that one first"
            }
            (_, None) => return Ok(()),
        };
        Err(Refusal::Conflict(conflict))
    }

    /// What is in its way. A ping goes while the integration is disabled, too: it is there to try it.
    fn obstacle(&self) -> Option<HeldBy> {
        match (self.enabled, &self.earlier) {
            (None, _) => Some(HeldBy::NoIntegration),
            (Some(false), _) if self.event != DeliveryEvent::Ping => Some(HeldBy::Disabled),
            (_, Some(earlier)) => Some(HeldBy::Earlier(earlier.clone())),
            (_, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn schedule() -> RetrySchedule {
        RetrySchedule::parse("5s, 5m,24h").unwrap()
    }

    fn answered(status: u16) -> DeliveryAttempt {
        DeliveryAttempt {
            at: NOW,
            duration: Duration::from_millis(3),
            status: Some(status),
            error: None,
            answer: None,
            retry_after: None,
            timed_out: false,
        }
    }

    fn after(failed: u32, attempt: &DeliveryAttempt, jitter: u16) -> AttemptOutcome {
        outcome_of(DeliveryEvent::Hired, &schedule(), failed, attempt, NOW, jitter)
    }

    fn again_in(duration: Duration) -> AttemptOutcome {
        AttemptOutcome::Again(NOW.plus(duration))
    }

    #[test]
    fn only_a_whole_answer_of_class_2xx_delivers() {
        for status in [200, 201, 204, 299] {
            assert_eq!(after(1, &answered(status), 0), AttemptOutcome::Delivered, "{status}");
        }
        for status in [199, 300, 301, 304, 400, 404, 429, 500, 503] {
            assert_eq!(after(1, &answered(status), 0), again_in(Duration::from_secs(5)), "{status}");
        }
        let broken_off = DeliveryAttempt { error: Some("the answer broke off".to_owned()), ..answered(200) };
        assert_eq!(after(1, &broken_off, 0), again_in(Duration::from_secs(5)));
        assert_eq!(after(1, &answered(410), 0), AttemptOutcome::Gone);
    }

    #[test]
    fn delays_follow_the_schedule_with_up_to_a_tenth_more_and_then_it_has_failed() {
        for (failed, seconds) in [(1, 5), (2, 300), (3, 86_400)] {
            let (least, most) = (Duration::from_secs(seconds), Duration::from_millis(seconds * 1_100));
            assert_eq!(after(failed, &answered(500), 0), again_in(least));
            assert_eq!(after(failed, &answered(500), u16::MAX), again_in(most));
        }
        assert_eq!(after(4, &answered(500), 0), AttemptOutcome::Failed);
        assert_eq!(
            outcome_of(DeliveryEvent::Ping, &schedule(), 1, &answered(500), NOW, 0),
            AttemptOutcome::Failed,
            "a ping is tried once"
        );
    }

    #[test]
    fn no_attempt_is_further_away_than_the_schedule_allows() {
        let at = |seconds: u64| NOW.plus(Duration::from_secs(seconds));
        let (month, day) = (30 * 86_400, 86_400);
        for (failed, last_attempt_at, next, expected) in [
            (0, None, at(0), at(0)),
            (0, None, at(month), at(0)),
            (1, Some(at(0)), at(5), at(5)),
            // It may have asked for more time.
            (1, Some(at(0)), at(day), at(day)),
            (1, Some(at(0)), at(month), at(day)),
            (1, Some(at(month)), at(month + 5), at(5)),
            (2, Some(at(3_600)), at(3_900), at(300)),
            (3, Some(at(month)), at(month + 95_040), at(95_040)),
            (1, Some(at(month)), at(3 * month), at(day)),
            (9, Some(at(month)), at(month), at(0)),
        ] {
            let bounded = bounded_attempt_time(&schedule(), failed, last_attempt_at, next, NOW);
            assert_eq!(bounded, expected, "{failed} {last_attempt_at:?} {next}");
        }
    }

    #[test]
    fn the_hr_system_may_ask_for_more_time_but_not_for_less_and_for_a_day_at_most() {
        let wants = |seconds| DeliveryAttempt { retry_after: Some(Duration::from_secs(seconds)), ..answered(503) };
        for (failed, wanted, given) in
            [(1, 4, 5), (1, 5, 5), (1, 6, 6), (2, 10, 300), (1, 86_400, 86_400), (1, 86_401, 86_400)]
        {
            assert_eq!(after(failed, &wants(wanted), 0), again_in(Duration::from_secs(given)), "{wanted}");
        }
        assert_eq!(after(4, &wants(10), 0), AttemptOutcome::Failed);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let day = Some(Duration::from_secs(86_400));
        for (text, wanted) in [
            ("0", Some(Duration::ZERO)),
            (" 120 ", Some(Duration::from_secs(120))),
            ("86400", day),
            ("86401", day),
            ("99999999999999999999999", day),
            ("Thu, 01 Jan 1970 00:17:40 GMT", Some(Duration::from_secs(60))),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(Duration::ZERO)),
            ("Fri, 01 Jan 2100 00:00:00 GMT", day),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(parse_retry_after(text, NOW), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_schedule_is_a_list_of_delays() {
        assert_eq!(RetrySchedule::parse("1ms,168h").unwrap().0, [Duration::from_millis(1), DELAY_MAX]);
        assert!(RetrySchedule::parse(&["1s"; 30].join(",")).is_ok());
        let too_many = ["1s"; 31].join(",");
        for bad in ["", "5", "5s,", "-5s", "0s", "168h 1s", "7x", "5x", "1s;2s", &too_many] {
            assert!(RetrySchedule::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_held_says_by_what_and_what_is_sent_again_must_be_able_to_go() {
        let earlier = || Some(DeliveryId::parse("evt_1").unwrap());
        for (event, state, enabled, earlier, held, may_retry) in [
            (DeliveryEvent::Hired, DeliveryState::Pending, Some(true), None, None, true),
            (DeliveryEvent::Hired, DeliveryState::Pending, None, None, Some(HeldBy::NoIntegration), false),
            (DeliveryEvent::Hired, DeliveryState::Pending, Some(false), earlier(), Some(HeldBy::Disabled), false),
            (
                DeliveryEvent::Hired,
                DeliveryState::Pending,
                Some(true),
                earlier(),
                earlier().map(HeldBy::Earlier),
                false,
            ),
            (DeliveryEvent::Hired, DeliveryState::Failed, Some(true), None, None, true),
            (DeliveryEvent::Hired, DeliveryState::Failed, Some(false), None, None, false),
            (DeliveryEvent::Hired, DeliveryState::Failed, None, None, None, false),
            (DeliveryEvent::Hired, DeliveryState::Delivered, Some(true), None, None, false),
            (DeliveryEvent::Ping, DeliveryState::Pending, Some(false), None, None, true),
            (DeliveryEvent::Ping, DeliveryState::Failed, Some(false), None, None, true),
            (DeliveryEvent::Ping, DeliveryState::Failed, None, None, None, false),
        ] {
            let standing = DeliveryFacts { event, state, enabled, earlier };
            assert_eq!((standing.held(), standing.require_retry().is_ok()), (held, may_retry), "{standing:?}");
        }
    }
}

//! Deliveries to HR systems: events, the retry schedule, and the outcome of an attempt. `hr_dispatch` decides the order
//! of attempts across organizations.
//!
//! The `hr` layer makes the attempts and describes each of them with a [`DeliveryAttempt`].

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::fmt::rfc2822::DateTimeParser;

use super::activity::Action;
use super::id::DeliveryId;
use super::refusal::Refusal;
use super::timestamp::Timestamp;
use super::words::words;

/// The maximum time by which `Retry-After` can delay the next attempt.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The bounds of a schedule. The longest schedule ends after about seven months, when nobody is waiting for the
/// delivery any longer.
const DELAY_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
const DELAY_MIN: Duration = Duration::from_millis(1);
const DELAYS_MAX: usize = 30;

/// Jitter adds at most the delay divided by this number, so that deliveries that failed at the same time are not
/// retried at the same time.
const JITTER_DIVISOR: u32 = 10;

/// The status with which a receiver refuses all further deliveries (Standard Webhooks; RFC 9110 §15.5.11).
pub const STATUS_GONE: u16 = 410;

words! {
    /// The event of a delivery.
    DeliveryEvent {
        /// A candidate was hired.
        Hired = "candidate.hired",
        /// A hire was reversed.
        HireReversed = "candidate.hire_reversed",
        /// An admin tests the integration. A failed ping is not retried automatically.
        Ping = "ping",
    }
}

impl DeliveryEvent {
    /// Returns the event that an act causes, if any. Of all acts, HR systems receive only hires and reversed hires.
    pub fn of_action(action: Action) -> Option<Self> {
        match action {
            Action::Hired => Some(Self::Hired),
            Action::HireReversed => Some(Self::HireReversed),
            _ => None,
        }
    }
}

words! {
    /// The state of a delivery.
    DeliveryState {
        /// The delivery waits for its next attempt, or is held.
        Pending = "pending",
        /// The HR system accepted the delivery.
        Delivered = "delivered",
        /// All attempts failed. Only an admin can retry the delivery.
        Failed = "failed",
    }
}

/// Parses a setting such as `15s` or `2h`. Returns `None` if the setting is invalid or outside the bounds.
pub fn parse_duration(text: &str, bounds: RangeInclusive<Duration>) -> Option<Duration> {
    let duration: SignedDuration = text.trim().parse().ok()?;
    Duration::try_from(duration).ok().filter(|duration| bounds.contains(duration))
}

/// The delays between attempts. The first delay follows the first failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule(Vec<Duration>);

impl RetrySchedule {
    /// Parses a setting such as `5s,5m,2h`.
    ///
    /// # Errors
    /// Returns a sentence for the usage message if the setting has no delay, more than 30 delays, or a delay that is
    /// invalid or out of range.
    pub fn parse(text: &str) -> Result<Self, String> {
        let delays = text.split(',').map(|part| {
            parse_duration(part, DELAY_MIN..=DELAY_MAX).ok_or_else(|| {
                format!(
                    "`{part}` is not a delay between 1ms and 168h; a schedule looks like 5s,5m,30m,2h,5h,10h,14h,20h,24h"
                )
            })
        });
        let delays: Vec<Duration> = delays.collect::<Result<_, _>>()?;
        if delays.len() > DELAYS_MAX {
            return Err(format!("a schedule has at most {DELAYS_MAX} delays; this one has {}", delays.len()));
        }
        Ok(Self(delays))
    }

    /// Returns the delay after this number of failed attempts. Returns `None` if no further attempt follows, or if no
    /// attempt has failed.
    fn delay(&self, failed: u32) -> Option<Duration> {
        self.0.get(usize::try_from(failed.checked_sub(1)?).ok()?).copied()
    }
}

/// One attempt to send a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The time at which the attempt began.
    pub at: Timestamp,
    /// The duration of the attempt.
    pub duration: Duration,
    /// The status of the response, if there was one.
    pub status: Option<u16>,
    /// A sentence for admins: the error, or advice about the status. `None` for a delivery that arrived, and for a
    /// status that needs no advice.
    pub error: Option<String>,
    /// The beginning of the response body.
    pub answer: Option<String>,
    /// The delay that the HR system requested.
    pub retry_after: Option<Duration>,
    /// Whether the attempt timed out.
    pub timed_out: bool,
}

impl DeliveryAttempt {
    /// Returns whether the HR system accepted the delivery with a complete 2xx response.
    pub fn is_delivered(&self) -> bool {
        self.error.is_none() && self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// Describes an attempt for the log and the command line.
pub fn describe_outcome(status: Option<u16>, error: Option<&str>) -> String {
    match (status, error) {
        (Some(status), None) => format!("answered {status}"),
        (Some(status), Some(error)) => format!("answered {status}: {error}"),
        (None, error) => error.unwrap_or("no answer").to_owned(),
    }
}

/// The effect of an attempt on its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The delivery arrived.
    Delivered,
    /// The next attempt follows at this time.
    Again(Timestamp),
    /// No further attempt follows, unless an admin retries the delivery.
    Failed,
    /// The HR system answered 410 (Gone). The service disables the integration, and the organization's deliveries wait.
    Gone,
}

/// Limits `next`, the time of the next attempt, to the latest time that the schedule and `Retry-After` allow, counted
/// from now. Without this limit, the attempt would be late if the clock was ahead when `next` was computed. `failed` is
/// the number of failed attempts since the retry schedule began. The last attempt began at `last_attempt_at`.
pub fn bounded_attempt_time(
    schedule: &RetrySchedule,
    failed: u32,
    last_attempt_at: Option<Timestamp>,
    next: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let Some(delay) = schedule.delay(failed) else {
        // No attempt has failed, or the schedule has no further delay.
        return next.min(now);
    };
    let longest = delay.saturating_add(delay / JITTER_DIVISOR).max(RETRY_AFTER_MAX);
    let wait = match last_attempt_at {
        // The clock was ahead during the last attempt, so the delay begins now.
        Some(at) if at > now => next.since(at).min(longest),
        _ => longest,
    };
    next.min(now.plus(wait))
}

/// Returns the outcome of an attempt. `failed` is the number of failed attempts since the retry schedule began,
/// including this one. `jitter` is random: 0 adds nothing to the delay, and `u16::MAX` adds a tenth.
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
            let delay = delay + delay / JITTER_DIVISOR * u32::from(jitter) / u32::from(u16::MAX);
            let requested = attempt.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
            AttemptOutcome::Again(now.plus(delay.max(requested)))
        }
    }
}

/// Parses a `Retry-After` field (RFC 9110 §10.2.3): seconds or a date, limited to 24 hours. Returns `None` for any
/// other string.
pub fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    parse_retry_after_up_to(text, now, RETRY_AFTER_MAX)
}

/// Parses a `Retry-After` field like [`parse_retry_after`], with another limit.
pub fn parse_retry_after_up_to(text: &str, now: Timestamp, max: Duration) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows is longer than any limit.
        let seconds = text.parse().map_or(max, Duration::from_secs);
        return Some(seconds.min(max));
    }
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Timestamp::from_micros(date.as_microsecond()).since(now).min(max))
}

/// The reason why a pending delivery is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldBy {
    /// The organization has no integration.
    NoIntegration,
    /// The organization's integration is disabled.
    Disabled,
    /// An earlier delivery for the same application has not arrived.
    Earlier(DeliveryId),
}

/// The facts that decide whether a delivery may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFacts {
    /// The delivery's event.
    pub event: DeliveryEvent,
    /// The delivery's state.
    pub state: DeliveryState,
    /// Whether the organization's integration is enabled; `None` without an integration.
    pub enabled: Option<bool>,
    /// Of the earlier deliveries for the same application, the first that has not arrived.
    pub earlier: Option<DeliveryId>,
}

impl DeliveryFacts {
    /// Returns the reason why the delivery is held. Returns `None` if the delivery can be sent or is not pending.
    pub fn held(&self) -> Option<HeldBy> {
        if self.state == DeliveryState::Pending { self.obstacle() } else { None }
    }

    /// `POST …/hr-deliveries/{id}/retry`: checks that the delivery can be sent now.
    ///
    /// # Errors
    /// `conflict` if the delivery has arrived, the organization has no enabled integration (for a ping: no
    /// integration), or an earlier delivery for the same application must arrive first.
    pub fn require_retry(&self) -> Result<(), Refusal> {
        let conflict = match (self.state, self.obstacle()) {
            (DeliveryState::Delivered, _) => "the delivery has arrived; there is nothing to send again",
            (_, Some(HeldBy::NoIntegration)) => "the organization has no HR integration; save one first",
            (_, Some(HeldBy::Disabled)) => "the organization's HR integration is disabled; enable it first",
            (_, Some(HeldBy::Earlier(_))) => {
                "an earlier delivery for this application has not arrived; retry that one first"
            }
            (_, None) => return Ok(()),
        };
        Err(Refusal::Conflict(conflict))
    }

    /// Returns the reason why the delivery cannot be sent, if there is one. A disabled integration does not hold pings,
    /// because admins use pings to test the integration.
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
mod tests;

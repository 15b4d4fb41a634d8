//! Tests for retry schedules, attempt outcomes and held deliveries.

use super::*;
use crate::domain::id::Id;

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
fn a_delivery_succeeds_only_with_a_complete_2xx_response() {
    for status in [200, 201, 204, 299] {
        assert_eq!(after(1, &answered(status), 0), AttemptOutcome::Delivered, "{status}");
    }
    for status in [199, 300, 301, 304, 400, 404, 429, 500, 503] {
        assert_eq!(after(1, &answered(status), 0), again_in(Duration::from_secs(5)), "{status}");
    }
    let incomplete = DeliveryAttempt { error: Some("the response ended early".to_owned()), ..answered(200) };
    assert_eq!(after(1, &incomplete, 0), again_in(Duration::from_secs(5)));
    assert_eq!(after(1, &answered(410), 0), AttemptOutcome::Gone);
}

#[test]
fn delays_follow_the_schedule_with_up_to_ten_percent_jitter() {
    for (failed, seconds) in [(1, 5), (2, 300), (3, 86_400)] {
        let (least, most) = (Duration::from_secs(seconds), Duration::from_millis(seconds * 1_100));
        assert_eq!(after(failed, &answered(500), 0), again_in(least));
        assert_eq!(after(failed, &answered(500), u16::MAX), again_in(most));
    }
    assert_eq!(after(4, &answered(500), 0), AttemptOutcome::Failed);
    assert_eq!(
        outcome_of(DeliveryEvent::Ping, &schedule(), 1, &answered(500), NOW, 0),
        AttemptOutcome::Failed,
        "a ping has only one attempt"
    );
}

#[test]
fn no_attempt_is_later_than_the_schedule_allows() {
    let at = |seconds: u64| NOW.plus(Duration::from_secs(seconds));
    let (month, day) = (30 * 86_400, 86_400);
    for (failed, last_attempt_at, next, expected) in [
        (0, None, at(0), at(0)),
        (0, None, at(month), at(0)),
        (1, Some(at(0)), at(5), at(5)),
        // The HR system may have asked for more time.
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
fn retry_after_lengthens_a_delay_to_at_most_a_day() {
    let asks = |seconds| DeliveryAttempt { retry_after: Some(Duration::from_secs(seconds)), ..answered(503) };
    for (failed, requested, delay) in
        [(1, 4, 5), (1, 5, 5), (1, 6, 6), (2, 10, 300), (1, 86_400, 86_400), (1, 86_401, 86_400)]
    {
        assert_eq!(after(failed, &asks(requested), 0), again_in(Duration::from_secs(delay)), "{requested}");
    }
    assert_eq!(after(4, &asks(10), 0), AttemptOutcome::Failed);
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
fn held_deliveries_name_the_reason_and_cannot_be_retried() {
    let earlier = || Some(DeliveryId::parse("evt_1").unwrap());
    for (event, state, enabled, earlier, held, may_retry) in [
        (DeliveryEvent::Hired, DeliveryState::Pending, Some(true), None, None, true),
        (DeliveryEvent::Hired, DeliveryState::Pending, None, None, Some(HeldBy::NoIntegration), false),
        (DeliveryEvent::Hired, DeliveryState::Pending, Some(false), earlier(), Some(HeldBy::Disabled), false),
        (DeliveryEvent::Hired, DeliveryState::Pending, Some(true), earlier(), earlier().map(HeldBy::Earlier), false),
        (DeliveryEvent::Hired, DeliveryState::Failed, Some(true), None, None, true),
        (DeliveryEvent::Hired, DeliveryState::Failed, Some(false), None, None, false),
        (DeliveryEvent::Hired, DeliveryState::Failed, None, None, None, false),
        (DeliveryEvent::Hired, DeliveryState::Delivered, Some(true), None, None, false),
        (DeliveryEvent::Ping, DeliveryState::Pending, Some(false), None, None, true),
        (DeliveryEvent::Ping, DeliveryState::Failed, Some(false), None, None, true),
        (DeliveryEvent::Ping, DeliveryState::Failed, None, None, None, false),
    ] {
        let facts = DeliveryFacts { event, state, enabled, earlier };
        assert_eq!((facts.held(), facts.require_retry().is_ok()), (held, may_retry), "{facts:?}");
    }
}

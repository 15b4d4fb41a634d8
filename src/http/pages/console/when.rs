//! Times as the console shows them: relative to now, with the exact time in the organization's time zone.

use jiff::Zoned;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::domain::timestamp::Timestamp;
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::when::WHEN;

/// A time. For a time in the future, only `utc` and `exact` are meaningful.
pub(super) struct When {
    /// The time in UTC (RFC 3339), for the attribute `datetime`.
    pub(super) utc: String,
    /// The exact local time, such as `22 November 2026, 14:05`.
    pub(super) exact: String,
    /// The time relative to now, such as `3 days ago`.
    pub(super) relative: String,
}

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 60 * MINUTE_S;
const DAY_S: u64 = 24 * HOUR_S;

impl When {
    /// `zone` is an IANA time zone; an unknown one counts as UTC.
    pub(super) fn new(texts: &Texts, zone: &str, at: Timestamp, now: Timestamp) -> Self {
        Self { utc: at.to_string(), exact: exact(texts, zone, at), relative: relative(texts, now.since(at).as_secs()) }
    }
}

/// Returns the current day in an IANA time zone.
pub(super) fn today(zone: &str, now: Timestamp) -> Date {
    local(zone, now).date()
}

/// Returns the start of the local day that contains `at`.
pub(super) fn day_begin(zone: &str, at: Timestamp) -> Timestamp {
    let at = local(zone, at);
    let begin = at.start_of_day().unwrap_or(at);
    Timestamp::from_micros(begin.timestamp().as_microsecond())
}

/// Returns the local day of a time that staff entered. A date without a time is stored as midnight UTC, so a time that
/// is exactly midnight UTC is shown as that date in every zone.
pub(super) fn day(texts: &Texts, zone: &str, at: Timestamp) -> String {
    const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
    let is_plain_date = at.micros().rem_euclid(DAY_MICROS) == 0;
    texts.day(local(if is_plain_date { "UTC" } else { zone }, at).date())
}

/// Returns the local time of day, such as `14:05`, or the exact time if `at` and `now` are on different days.
pub(super) fn clock(texts: &Texts, zone: &str, at: Timestamp, now: Timestamp) -> String {
    let local_at = local(zone, at);
    if local_at.date() == local(zone, now).date() {
        return format!("{:02}:{:02}", local_at.hour(), local_at.minute());
    }
    exact(texts, zone, at)
}

fn local(zone: &str, at: Timestamp) -> Zoned {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default().to_zoned(zone)
}

fn exact(texts: &Texts, zone: &str, at: Timestamp) -> String {
    let at = local(zone, at);
    format!("{}, {:02}:{:02}", texts.day(at.date()), at.hour(), at.minute())
}

fn relative(texts: &Texts, seconds: u64) -> String {
    let words = WHEN.of(texts);
    let (counted, unit_s) = match seconds {
        0..MINUTE_S => return words.now.to_owned(),
        MINUTE_S..HOUR_S => (&words.minutes, MINUTE_S),
        HOUR_S..DAY_S => (&words.hours, HOUR_S),
        DAY_S.. => (&words.days, DAY_S),
    };
    texts.counted(counted, usize::try_from(seconds / unit_s).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::pages::texts::of_tag;

    #[test]
    fn the_unit_grows_with_the_age() {
        for (seconds, expected) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (3_599, "59 minutes ago"),
            (3_600, "1 hour ago"),
            (86_399, "23 hours ago"),
            (86_400, "1 day ago"),
            (20 * 86_400, "20 days ago"),
        ] {
            assert_eq!(relative(of_tag("en"), seconds), expected);
        }
    }

    #[test]
    fn a_date_without_a_time_is_the_same_in_every_zone() {
        for (micros, expected) in [
            (1_763_769_600_000_000, "22 November 2025"),
            (1_763_769_600_000_001, "21 November 2025"),
            (1_763_769_599_999_999, "21 November 2025"),
        ] {
            assert_eq!(day(of_tag("en"), "America/New_York", Timestamp::from_micros(micros)), expected, "{micros}");
        }
    }

    #[test]
    fn a_day_begins_at_local_midnight() {
        for (zone, begin) in [("Europe/Berlin", "2025-11-22T23:00:00.000000Z"), ("UTC", "2025-11-23T00:00:00.000000Z")]
        {
            let at = Timestamp::from_micros(1_763_884_799_000_000);
            assert_eq!(day_begin(zone, at).to_string(), begin);
        }
    }

    #[test]
    fn a_time_today_is_shown_without_the_day() {
        let morning = Timestamp::from_micros(1_763_809_200_000_000);
        for (hours, expected) in [(0, "11:00"), (12, "11:00"), (13, "22 November 2025, 11:00")] {
            let now = Timestamp::from_micros(morning.micros() + hours * 3_600_000_000);
            assert_eq!(clock(of_tag("en"), "UTC", morning, now), expected, "{hours}");
        }
    }

    #[test]
    fn the_exact_time_is_local() {
        let at = Timestamp::from_micros(1_763_820_300_000_000);
        assert_eq!(exact(of_tag("en"), "Europe/Berlin", at), "22 November 2025, 15:05");
        assert_eq!(exact(of_tag("en"), "no such zone", at), "22 November 2025, 14:05");
    }
}

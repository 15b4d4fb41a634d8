//! Times as the console shows them: relative to now, with the exact time in the organization's time zone.

use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::domain::timestamp::Timestamp;
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::when::WHEN;

/// A time in the past.
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

/// Returns the day of a time, such as `22 November 2026`.
pub(super) fn day(texts: &Texts, zone: &str, at: Timestamp) -> String {
    texts.day(local(zone, at).date())
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
    fn the_exact_time_is_local() {
        let at = Timestamp::from_micros(1_763_820_300_000_000);
        assert_eq!(exact(of_tag("en"), "Europe/Berlin", at), "22 November 2025, 15:05");
        assert_eq!(exact(of_tag("en"), "no such zone", at), "22 November 2025, 14:05");
    }
}

//! The usage log: timestamps of rows, redating, retention and page sizes.

use std::time::Duration;

use super::timestamp::Timestamp;

/// The default number of rows on a page.
pub const PAGE_ROWS_DEFAULT: usize = 100;

/// The maximum number of rows on a page.
pub const PAGE_ROWS_MAX: usize = 500;

/// The longest stored user agent, in characters.
pub const USER_AGENT_CHARACTERS_MAX: usize = 512;

/// The longest stored path, in bytes. The caller chooses the path, so its length must not control the growth of the file.
pub const PATH_BYTES_MAX: usize = 512;

/// The default retention of usage rows in days: a year, and some time to review it.
pub const RETENTION_DAYS_DEFAULT: u32 = 400;

/// The longest retention of usage rows: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_525;

/// Rows are redated once the newest one is ahead of the clock by more than this. The clock soon catches up with rows that
/// came within one microsecond, and with a step back by seconds.
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// Rows that are ahead by no more than this stay. They leave room for the redated rows, a microsecond each.
const AHEAD_STAYING_MAX: Duration = Duration::from_secs(1);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The path as a row stores it: cut after the last whole character that fits.
pub fn stored_path(path: &str) -> &str {
    &path[..path.floor_char_boundary(PATH_BYTES_MAX)]
}

/// The time since which rows are retained.
pub fn retained_since(now: Timestamp, days: u32) -> Timestamp {
    now.minus(DAY * days)
}

/// The timestamp of the next row: now, or a microsecond after the last row if the clock is behind it. So timestamps
/// always increase.
pub fn next_row_time(last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    last.map_or(now, |last| now.max(Timestamp::from_micros(last.micros() + 1)))
}

/// Whether a clock that was ahead has dated the newest row so far in the future that rows must be redated.
pub fn is_ahead(newest: Timestamp, now: Timestamp) -> bool {
    newest > now.plus(AHEAD_MAX)
}

/// The time after which each row is redated.
pub fn redated_after(now: Timestamp) -> Timestamp {
    now.plus(AHEAD_STAYING_MAX)
}

/// The new times of `count` redated rows, in their order: the last microseconds up to now, or the first ones after the newest
/// row that stays.
pub fn redated_times(count: usize, newest_staying: Timestamp, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let first = newest_staying.micros().max(now.micros().saturating_sub(count)) + 1;
    (first..first.saturating_add(count)).map(Timestamp::from_micros)
}

/// Parses a `limit`: digits of any number, with an optional `-`, clamped to 1 to 500. `None` for any other text.
pub fn page_rows(text: &str) -> Option<usize> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if negative {
        return Some(1);
    }
    // A number that overflows is larger than any page.
    Some(digits.parse::<usize>().map_or(PAGE_ROWS_MAX, |rows| rows.clamp(1, PAGE_ROWS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_times_increase_even_if_the_clock_stops_or_steps_back() {
        let at = Timestamp::from_micros;
        assert_eq!(next_row_time(None, at(5)), at(5));
        assert_eq!(next_row_time(Some(at(4)), at(5)), at(5));
        assert_eq!(next_row_time(Some(at(5)), at(5)), at(6));
        assert_eq!(next_row_time(Some(at(90)), at(5)), at(91));
    }

    #[test]
    fn only_rows_far_ahead_make_redating_due() {
        let now = Timestamp::from_micros(0);
        assert!(!is_ahead(Timestamp::from_micros(60_000_000), now));
        assert!(is_ahead(Timestamp::from_micros(60_000_001), now));
        assert_eq!(redated_after(now), Timestamp::from_micros(1_000_000));
    }

    #[test]
    fn redated_times_end_now_or_follow_the_newest_staying_row() {
        for (newest_staying, expected) in [(0, [98, 99, 100]), (97, [98, 99, 100]), (98, [99, 100, 101])] {
            let times = redated_times(3, Timestamp::from_micros(newest_staying), Timestamp::from_micros(100));
            assert_eq!(times.map(Timestamp::micros).collect::<Vec<_>>(), expected, "{newest_staying}");
        }
    }

    #[test]
    fn a_path_is_cut_at_the_last_whole_character_that_fits() {
        let long = "/".repeat(PATH_BYTES_MAX);
        assert_eq!(stored_path("/api"), "/api");
        assert_eq!(stored_path(&long), long);
        assert_eq!(stored_path(&format!("{long}x")), long);
        assert_eq!(stored_path(&format!("{}é", &long[1..])), &long[1..]);
    }

    #[test]
    fn rows_are_retained_for_whole_days() {
        let now = Timestamp::from_micros(86_400_000_000 * 400 + 5);
        assert_eq!(retained_since(now, 400), Timestamp::from_micros(5));
        assert_eq!(retained_since(now, 1), Timestamp::from_micros(86_400_000_000 * 399 + 5));
        assert!(retained_since(now, RETENTION_DAYS_MAX) < Timestamp::from_micros(0));
    }

    #[test]
    fn limits_are_clamped_to_the_bounds() {
        let long = "9".repeat(200);
        for (text, rows) in [
            ("1", Some(1)),
            ("500", Some(500)),
            ("501", Some(500)),
            ("0", Some(1)),
            ("-5", Some(1)),
            ("-0", Some(1)),
            ("007", Some(7)),
            (long.as_str(), Some(500)),
            ("", None),
            ("-", None),
            ("abc", None),
            ("1.0", None),
            ("+5", None),
            (" 5", None),
            ("--5", None),
            ("٣", None),
        ] {
            assert_eq!(page_rows(text), rows, "{text}");
        }
    }
}

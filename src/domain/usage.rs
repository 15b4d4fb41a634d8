//! The usage log: when its rows are dated, how long a page is.

use std::time::Duration;

use super::timestamp::Timestamp;

/// Rows on a page when the caller says nothing.
pub const PAGE_ROWS_DEFAULT: usize = 100;

/// The most rows on a page.
pub const PAGE_ROWS_MAX: usize = 500;

/// The longest user agent that is kept, in characters.
pub const USER_AGENT_CHARACTERS_MAX: usize = 512;

/// The longest path that is kept, in bytes. A caller chooses it, so it must not decide how fast the file grows.
pub const PATH_BYTES_MAX: usize = 512;

/// The days that rows are kept when the operator says nothing: a year, and the time to look back at it.
pub const RETENTION_DAYS_DEFAULT: u32 = 400;

/// The most days that an operator can name: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_525;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The path as a row has it: cut behind the last whole character that fits.
pub fn stored_path(path: &str) -> &str {
    &path[..path.floor_char_boundary(PATH_BYTES_MAX)]
}

/// The time from which on rows are kept: so many days back.
pub fn retained_since(now: Timestamp, days: u32) -> Timestamp {
    now.minus(DAY * days)
}

/// The time of the next row: now, or the next microsecond after the last row where the clock has not moved past it,
/// so times only grow, whatever the clock does.
pub fn next_row_time(last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    last.map_or(now, |last| now.max(Timestamp::from_micros(last.micros() + 1)))
}

/// The rows a page has for a `limit` as it was written: digits with or without a `-`, of any length, taken as the
/// nearest of 1 to 500. `None` for any other text.
pub fn page_rows(text: &str) -> Option<usize> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if negative {
        return Some(1);
    }
    // More digits than a number holds are more rows than a page has.
    Some(digits.parse::<usize>().map_or(PAGE_ROWS_MAX, |rows| rows.clamp(1, PAGE_ROWS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_even_when_the_clock_stands_or_steps_back() {
        let at = Timestamp::from_micros;
        assert_eq!(next_row_time(None, at(5)), at(5));
        assert_eq!(next_row_time(Some(at(4)), at(5)), at(5));
        assert_eq!(next_row_time(Some(at(5)), at(5)), at(6));
        assert_eq!(next_row_time(Some(at(90)), at(5)), at(91));
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
    fn rows_are_kept_for_whole_days_up_to_now() {
        let now = Timestamp::from_micros(86_400_000_000 * 400 + 5);
        assert_eq!(retained_since(now, 400), Timestamp::from_micros(5));
        assert_eq!(retained_since(now, 1), Timestamp::from_micros(86_400_000_000 * 399 + 5));
        assert!(retained_since(now, RETENTION_DAYS_MAX) < Timestamp::from_micros(0));
    }

    #[test]
    fn a_limit_is_taken_as_the_nearest_bound() {
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

//! The usage log: timestamps and paths of rows, redating, retention and page sizes.

use std::time::Duration;

use super::api_key::KEY_PREFIX;
use super::timestamp::Timestamp;

/// The default number of rows on a page.
pub const PAGE_ROWS_DEFAULT: usize = 100;

/// The maximum number of rows on a page.
pub const PAGE_ROWS_MAX: usize = 500;

/// The maximum length of a stored user agent, in characters.
pub const USER_AGENT_CHARACTERS_MAX: usize = 512;

/// The maximum length of a stored path, in bytes. The limit exists because callers choose the path and must not be able
/// to make the database grow quickly.
pub const PATH_BYTES_MAX: usize = 512;

/// The default retention period of usage rows, in days: a year, and five weeks to review that year.
pub const RETENTION_DAYS_DEFAULT: u32 = 400;

/// The maximum retention period of usage rows, in days: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_525;

/// Rows are redated when the newest row is ahead of the clock by more than this. A smaller lead can be caused by
/// several rows in one microsecond or by a small backward step of the clock, and the clock soon catches up with it.
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// Rows that are ahead of the clock by no more than this are not redated. The redated rows follow them at intervals of
/// a microsecond and must not be ahead by more than [`AHEAD_MAX`], which is therefore much larger than this limit.
const AHEAD_STAYING_MAX: Duration = Duration::from_secs(1);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The length of the tokens in signup links, in characters: 128 bits in 26 digits of base 32, and 32 bits in 7.
const SIGNUP_TOKEN_CHARACTERS: usize = 33;

/// The length of the tokens in status and sign-in links, in characters: 256 bits in base64.
const LINK_TOKEN_CHARACTERS: usize = 43;

/// Returns the path as a row stores it, cut after the last whole character that fits. A part that looks like a secret
/// is replaced by the parameter's name in `template`, such as `{id}`, or else by `{secret}`, because callers sometimes
/// send keys and links as ids.
pub fn stored_path(path: &str, template: &str) -> String {
    let names = template.split('/').map(Some).chain(std::iter::repeat(None));
    let mut stored = String::with_capacity(path.len().min(PATH_BYTES_MAX));
    for (at, (part, name)) in path.split('/').zip(names).enumerate() {
        let is_masked = name != Some(part) && looks_secret(part);
        let shown = if is_masked { name.filter(|name| name.starts_with('{')).unwrap_or("{secret}") } else { part };
        if at > 0 {
            stored.push('/');
        }
        stored.push_str(shown);
    }
    stored.truncate(stored.floor_char_boundary(PATH_BYTES_MAX));
    stored
}

/// Returns whether a part of a path contains a key or could be the token of a link. Ids that the service makes contain
/// `_` and no capital letters. Tokens of signup links contain neither `_` nor capital letters. Other tokens almost
/// always contain capital letters.
fn looks_secret(part: &str) -> bool {
    let text = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
    let is_token = |word: &str| match word.len() {
        SIGNUP_TOKEN_CHARACTERS => word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
        LINK_TOKEN_CHARACTERS => word.bytes().any(|byte| byte.is_ascii_uppercase()),
        _ => false,
    };
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    text.contains(KEY_PREFIX) || words.any(is_token)
}

/// Returns the earliest timestamp with which a row is retained.
pub fn retained_since(now: Timestamp, days: u32) -> Timestamp {
    now.minus(DAY * days)
}

/// Returns the timestamp of the next row: now, or a microsecond after the last row if the clock does not show a later
/// time than that row. Timestamps therefore always increase.
pub fn next_row_time(last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    last.map_or(now, |last| now.max(Timestamp::from_micros(last.micros() + 1)))
}

/// Returns whether the newest row is so far in the future that rows must be redated. This can happen after the clock
/// was ahead.
pub fn is_ahead(newest: Timestamp, now: Timestamp) -> bool {
    newest > now.plus(AHEAD_MAX)
}

/// Returns the latest timestamp that a row may retain. Rows with a later timestamp are redated.
pub fn redated_after(now: Timestamp) -> Timestamp {
    now.plus(AHEAD_STAYING_MAX)
}

/// Returns the new times of `count` redated rows, in order: the last microseconds up to now, or the first microseconds
/// after the newest row that is not redated, whichever is later.
pub fn redated_times(count: usize, newest_staying: Timestamp, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let first = newest_staying.micros().max(now.micros().saturating_sub(count)) + 1;
    (first..first.saturating_add(count)).map(Timestamp::from_micros)
}

/// Parses a `limit`: one or more digits, optionally after a `-`. Returns the number clamped to the range from 1 to 500,
/// or `None` for any other string.
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
    use crate::domain::id;

    #[test]
    fn row_times_increase_even_if_the_clock_stops_or_goes_backwards() {
        let at = Timestamp::from_micros;
        assert_eq!(next_row_time(None, at(5)), at(5));
        assert_eq!(next_row_time(Some(at(4)), at(5)), at(5));
        assert_eq!(next_row_time(Some(at(5)), at(5)), at(6));
        assert_eq!(next_row_time(Some(at(90)), at(5)), at(91));
    }

    #[test]
    fn a_parameter_that_looks_like_a_secret_is_not_stored() {
        let (short, long) = (id::token(&[0xa5; 20]), "Ab0-_".repeat(9)[..43].to_owned());
        let id = "/api/v1/roles/{id}/steps";
        for (path, template, stored) in [
            ("/api/v1/roles/role_01kb2v8r4m0000000000000000/steps".to_owned(), id, None),
            ("/api/v1/roles/rpk_abc/steps".to_owned(), id, Some(id)),
            ("/api/v1/roles/Bearer%20rpk%5Fabc/steps".to_owned(), id, Some(id)),
            ("/api/v1/roles/rpk/steps".to_owned(), id, None),
            (format!("/api/v1/roles/{short}/steps"), id, Some(id)),
            (format!("/api/v1/roles/{long}/steps"), id, Some(id)),
            (format!("/api/v1/roles/{long}%3Flang=de/steps"), id, Some(id)),
            (format!("/api/v1/roles/{long}x/steps"), id, None),
            (format!("/api/v1/roles/{short}x/steps"), id, None),
            (format!("/api/v1/roles/cstep_{}/steps", &short[..26]), id, None),
            (format!("/api/v1/roles/{}/steps", long.to_ascii_lowercase()), id, None),
            (format!("/signup/{short}"), "/signup/{token}", Some("/signup/{token}")),
            (format!("/a/{long}"), "/{*rest}", Some("/a/{secret}")),
            ("/api/v1/me".to_owned(), "/api/v1/me", None),
        ] {
            assert_eq!(stored_path(&path, template), stored.unwrap_or(&path), "{path}");
        }
    }

    #[test]
    fn only_rows_far_ahead_of_the_clock_require_redating() {
        let now = Timestamp::from_micros(0);
        assert!(!is_ahead(Timestamp::from_micros(60_000_000), now));
        assert!(is_ahead(Timestamp::from_micros(60_000_001), now));
        assert_eq!(redated_after(now), Timestamp::from_micros(1_000_000));
    }

    #[test]
    fn redated_times_end_now_or_follow_the_newest_row_that_stays() {
        for (newest_staying, expected) in [(0, [98, 99, 100]), (97, [98, 99, 100]), (98, [99, 100, 101])] {
            let times = redated_times(3, Timestamp::from_micros(newest_staying), Timestamp::from_micros(100));
            assert_eq!(times.map(Timestamp::micros).collect::<Vec<_>>(), expected, "{newest_staying}");
        }
    }

    #[test]
    fn a_path_is_cut_after_the_last_whole_character_that_fits() {
        let long = "/".repeat(PATH_BYTES_MAX);
        assert_eq!(stored_path("/api", "/api"), "/api");
        assert_eq!(stored_path(&long, "/{id}"), long);
        assert_eq!(stored_path(&format!("{long}x"), "/{id}"), long);
        assert_eq!(stored_path(&format!("{}é", &long[1..]), "/{id}"), &long[1..]);
    }

    #[test]
    fn rows_are_retained_for_the_given_number_of_days() {
        let now = Timestamp::from_micros(86_400_000_000 * 400 + 5);
        assert_eq!(retained_since(now, 400), Timestamp::from_micros(5));
        assert_eq!(retained_since(now, 1), Timestamp::from_micros(86_400_000_000 * 399 + 5));
        assert!(retained_since(now, RETENTION_DAYS_MAX) < Timestamp::from_micros(0));
    }

    #[test]
    fn a_limit_out_of_range_is_clamped_to_1_or_500() {
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

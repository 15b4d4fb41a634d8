//! Points in time: microseconds since 1970 in UTC, parsed and formatted as RFC 3339.
//!
//! The output has microseconds and `Z`. The input is any RFC 3339 date-time with an offset, or a plain date (midnight
//! UTC). This module does not read a clock.

use std::time::Duration;

use jiff::{SignedDuration, civil};

const MICROS_PER_SECOND: i64 = 1_000_000;

const EPOCH: civil::DateTime = civil::datetime(1970, 1, 1, 0, 0, 0, 0);

/// A point in time, in microseconds since 1970-01-01T00:00:00Z. A parsed timestamp is within the years 0000 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// The treatment of digits beyond the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Drops the digits: a point in time belongs to the microsecond in which it lies.
    Down,
    /// Adds a microsecond if any of the digits is not zero, so that no older row is lost between two pages of a list.
    Up,
}

impl Timestamp {
    /// Creates a timestamp from microseconds since 1970, without a range check.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Adds a duration; the result saturates.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Subtracts a duration; the result saturates.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses an RFC 3339 date-time with an offset, or a plain date (midnight UTC). Returns `None` for any other
    /// string, an impossible date, or a year outside 0000 to 9999.
    pub fn parse(text: &str, rounding: Rounding) -> Option<Self> {
        let bytes = text.as_bytes();
        if !text.is_ascii() || bytes.len() < 10 {
            return None;
        }
        let date = parse_date(&bytes[..10])?;
        if bytes.len() == 10 {
            return in_range(seconds_since_epoch(date.at(0, 0, 0, 0)) * MICROS_PER_SECOND);
        }
        if !matches!(bytes[10], b'T' | b't') || bytes.len() < 20 {
            return None;
        }
        let time = &bytes[11..19];
        if time[2] != b':' || time[5] != b':' {
            return None;
        }
        let (hour, minute, second) = (parse_number(&time[..2])?, parse_number(&time[3..5])?, parse_number(&time[6..])?);
        let (fraction, rest) = parse_fraction(&bytes[19..], rounding)?;
        let offset = parse_offset(rest)?;
        let leap = i64::from(second == 60);
        let clock = civil::Time::new(hour as i8, minute as i8, (second - leap as i16) as i8, 0).ok()?;
        let utc = seconds_since_epoch(date.to_datetime(clock)) - offset;
        // A leap second is the last second of a UTC day. It is parsed as the first second of the next day.
        if leap == 1 && utc.rem_euclid(86_400) != 86_399 {
            return None;
        }
        in_range((utc + leap) * MICROS_PER_SECOND + fraction)
    }
}

/// Formats as RFC 3339 in UTC with microseconds and `Z`.
impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = self.0.rem_euclid(MICROS_PER_SECOND);
        let seconds = SignedDuration::from_secs(self.0.div_euclid(MICROS_PER_SECOND));
        let at = EPOCH.checked_add(seconds).unwrap_or(civil::DateTime::MAX);
        // Every log line has a timestamp, and the formatting macros would take five times as long as this code.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        write_digits(&mut text[0..4], i64::from(at.year()));
        write_digits(&mut text[5..7], i64::from(at.month()));
        write_digits(&mut text[8..10], i64::from(at.day()));
        write_digits(&mut text[11..13], i64::from(at.hour()));
        write_digits(&mut text[14..16], i64::from(at.minute()));
        write_digits(&mut text[17..19], i64::from(at.second()));
        write_digits(&mut text[20..26], micros);
        f.write_str(std::str::from_utf8(&text).map_err(|_| std::fmt::Error)?)
    }
}

/// Fills the field with the last digits of a number.
fn write_digits(field: &mut [u8], mut number: i64) {
    for digit in field.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number.rem_euclid(10)).unwrap_or_default();
        number /= 10;
    }
}

/// Parses the ten bytes of a date such as `2026-12-31`.
pub(super) fn parse_date(bytes: &[u8]) -> Option<civil::Date> {
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (parse_number(&bytes[..4])?, parse_number(&bytes[5..7])?, parse_number(&bytes[8..])?);
    civil::Date::new(year, month as i8, day as i8).ok()
}

fn parse_number(digits: &[u8]) -> Option<i16> {
    digits.iter().try_fold(0i16, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i16::from(digit - b'0')))
}

fn seconds_since_epoch(at: civil::DateTime) -> i64 {
    at.duration_since(EPOCH).as_secs()
}

/// Parses a fraction of a second such as `.123`. Returns its microseconds and the remaining bytes.
fn parse_fraction(bytes: &[u8], rounding: Rounding) -> Option<(i64, &[u8])> {
    let Some((b'.', rest)) = bytes.split_first() else {
        return Some((0, bytes));
    };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return None;
    }
    let (digits, rest) = rest.split_at(count);
    let micros = (0..6).fold(0, |number, index| number * 10 + i64::from(digits.get(index).map_or(0, |d| d - b'0')));
    let beyond = digits.iter().skip(6).any(|digit| *digit != b'0');
    let up = i64::from(beyond && rounding == Rounding::Up);
    Some((micros + up, rest))
}

fn parse_offset(bytes: &[u8]) -> Option<i64> {
    match bytes {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (i64::from(parse_number(&[*h1, *h2])?), i64::from(parse_number(&[*m1, *m2])?));
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = hours * 3_600 + minutes * 60;
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// Accepts years 0000 to 9999, so that each parsed value has the same form in the output.
fn in_range(micros: i64) -> Option<Timestamp> {
    const FIRST_SECOND: i64 = -62_167_219_200;
    const LAST_SECOND: i64 = 253_402_300_799;
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    (FIRST_SECOND..=LAST_SECOND).contains(&seconds).then_some(Timestamp(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reformat(text: &str) -> Option<String> {
        Timestamp::parse(text, Rounding::Down).map(|at| at.to_string())
    }

    #[test]
    fn date_times_with_an_offset_and_plain_dates_are_parsed() {
        for (text, shown) in [
            ("2026-11-21", "2026-11-21T00:00:00.000000Z"),
            ("2026-11-21T09:12:33.123456Z", "2026-11-21T09:12:33.123456Z"),
            ("2026-11-21t09:12:33z", "2026-11-21T09:12:33.000000Z"),
            ("2026-11-21T09:12:33.5+02:00", "2026-11-21T07:12:33.500000Z"),
            ("2026-11-21T23:30:00-01:00", "2026-11-22T00:30:00.000000Z"),
            ("2024-02-29", "2024-02-29T00:00:00.000000Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"),
            ("0000-01-01", "0000-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
            ("2026-11-21T09:12:33.1234569Z", "2026-11-21T09:12:33.123456Z"),
        ] {
            assert_eq!(reformat(text).as_deref(), Some(shown), "{text}");
        }
    }

    #[test]
    fn strings_that_are_not_timestamps_are_refused() {
        for text in [
            "",
            "yesterday",
            "2026-02-30",
            "2025-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-11-21T09:12:33",
            "2026-11-21 09:12:33Z",
            "2026-11-21T09:12Z",
            "2026-11-21T25:00:00Z",
            "2026-11-21T09:60:00Z",
            "2026-11-21T09:12:61Z",
            "2026-11-21T09:12:60Z",
            "2026-11-21T09:12:33.Z",
            "2026-11-21T09:12:33+0200",
            "2026-11-21T09:12:33+24:00",
            "2026-11-21T09:12:33+02:60",
            "20261121",
            "2026-11-21Z",
            "+2026-11-21",
            "2026-11-21T09:12:33Z ",
            " 2026-11-21",
            "2026-11-21T09:12:33,5Z",
            "2026-W47-6",
            "0000-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-00:01",
            "10000-01-01",
            "２０２６-11-21",
            "2026-11-21T09:12:33Z[UTC]",
            "1763716353",
            "2026-1-1",
        ] {
            assert_eq!(reformat(text), None, "{text}");
        }
    }

    #[test]
    fn cursors_round_up_so_that_no_older_row_is_lost() {
        let up = |text| Timestamp::parse(text, Rounding::Up).map(|at| at.to_string());
        assert_eq!(up("2026-11-21T09:12:33.1234561Z").as_deref(), Some("2026-11-21T09:12:33.123457Z"));
        assert_eq!(up("2026-11-21T09:12:33.9999999Z").as_deref(), Some("2026-11-21T09:12:34.000000Z"));
        assert_eq!(up("2026-11-21T09:12:33.1234560Z").as_deref(), Some("2026-11-21T09:12:33.123456Z"));
    }
}

//! The validity period of an X.509 certificate (RFC 5280 §4.1.2.5).
//!
//! This module reads only as much of the DER encoding as the period requires. It does not check names or signatures;
//! clients do that.

use std::time::Duration;

use super::timestamp::{Rounding, Timestamp};

const DAY: Duration = Duration::from_secs(86_400);

/// The time before the expiry of a certificate at which reminders to the operator begin. Certificates are commonly
/// renewed 30 days before they expire, so a certificate that is still in use at this time was not renewed.
const REMINDER_MAX: Duration = Duration::from_secs(14 * 86_400);

/// For a certificate with a short period, reminders begin when less than the period divided by this number is left,
/// because such certificates are renewed closer to their expiry.
const REMINDER_PART: u32 = 4;

/// The tags of DER values (X.690 §8).
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The period in which a certificate is valid. Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidityPeriod {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// The reason why a certificate is not valid at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    Expired,
    NotYet,
}

impl ValidityPeriod {
    /// Reads the period from a certificate in DER. Returns `None` if the period cannot be read.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let (outer, _) = value(certificate, SEQUENCE)?;
        let (mut rest, _) = value(outer, SEQUENCE)?;
        if let Some((_, after)) = value(rest, VERSION) {
            rest = after;
        }
        // Serial number, signature algorithm and issuer.
        for _ in 0..3 {
            rest = any_value(rest)?.2;
        }
        let (period, _) = value(rest, SEQUENCE)?;
        let (not_before, rest) = time(period)?;
        let (not_after, _) = time(rest)?;
        Some(Self { not_before, not_after })
    }

    /// Checks that the certificate is valid at this time.
    ///
    /// # Errors
    /// Returns the reason if the certificate is not valid at this time.
    pub fn check(&self, now: Timestamp) -> Result<(), Invalid> {
        // The last second of the period is included in full.
        if now >= self.not_after.plus(Duration::from_secs(1)) {
            Err(Invalid::Expired)
        } else if now < self.not_before {
            Err(Invalid::NotYet)
        } else {
            Ok(())
        }
    }

    /// Returns the days until the certificate expires; negative after it has expired.
    pub fn days_left(&self, now: Timestamp) -> f64 {
        let micros = self.not_after.micros().saturating_sub(now.micros());
        micros as f64 / DAY.as_micros() as f64
    }

    /// Returns the number of whole days left, if it is so small that the operator should renew the certificate.
    pub fn reminder(&self, now: Timestamp) -> Option<u64> {
        let left = self.not_after.since(now);
        let period = self.not_after.since(self.not_before);
        let is_due = left < REMINDER_MAX.min(period / REMINDER_PART);
        is_due.then(|| left.as_secs() / DAY.as_secs())
    }
}

/// Splits DER into the first value's tag and content, and the bytes after it. Lengths have at most three bytes, which
/// is enough for 16 MB.
fn any_value(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Splits DER whose first value must have this tag.
fn value(der: &[u8], expected: u8) -> Option<(&[u8], &[u8])> {
    any_value(der).filter(|(tag, ..)| *tag == expected).map(|(_, content, rest)| (content, rest))
}

/// Reads a time in one of the two forms that certificates use: `YYMMDDHHMMSSZ` and `YYYYMMDDHHMMSSZ`.
fn time(der: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (tag, content, rest) = any_value(der)?;
    let digits = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = match (tag, digits.len()) {
        (UTC_TIME, 12) if digits >= "5" => format!("19{digits}"),
        (UTC_TIME, 12) => format!("20{digits}"),
        (GENERALIZED_TIME, 14) => digits.to_owned(),
        _ => return None,
    };
    let part = |begin: usize, end: usize| &digits[begin..end];
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    let (hour, minute, second) = (part(8, 10), part(10, 12), part(12, 14));
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    Some((Timestamp::parse(&text, Rounding::Down)?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text, Rounding::Down).unwrap()
    }

    fn valid(not_before: &str, not_after: &str) -> ValidityPeriod {
        ValidityPeriod { not_before: at(not_before), not_after: at(not_after) }
    }

    fn certificate(not_before: (i32, u8, u8), not_after: (i32, u8, u8)) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(["jobs.example.com".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(not_before.0, not_before.1, not_before.2);
        params.not_after = rcgen::date_time_ymd(not_after.0, not_after.1, not_after.2);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_period_of_a_certificate_is_read_in_both_forms() {
        let cases = [
            ((2026, 1, 2), (2026, 4, 2), "2026-01-02", "2026-04-02"),
            ((1950, 1, 1), (2049, 12, 31), "1950-01-01", "2049-12-31"),
            ((1975, 1, 1), (4096, 1, 1), "1975-01-01", "4096-01-01"),
            ((2050, 1, 1), (9999, 12, 31), "2050-01-01", "9999-12-31"),
        ];
        for (not_before, not_after, first, last) in cases {
            assert_eq!(ValidityPeriod::of(&certificate(not_before, not_after)), Some(valid(first, last)), "{first}");
        }
    }

    #[test]
    fn bytes_that_are_not_a_certificate_have_no_period() {
        let whole = certificate((2026, 1, 1), (2027, 1, 1));
        for end in 0..whole.len() {
            assert_eq!(ValidityPeriod::of(&whole[..end]), None, "{end} bytes");
        }
        assert_eq!(ValidityPeriod::of(b"-----BEGIN CERTIFICATE-----"), None);
        assert_eq!(ValidityPeriod::of(&[0x30, 0x80, 0x30, 0x80, 0, 0]), None, "an indefinite length is not DER");
    }

    #[test]
    fn only_times_in_the_two_forms_of_certificates_are_read() {
        let good = |tag: u8, text: &str| time(&[&[tag, text.len() as u8], text.as_bytes()].concat()).map(|(at, _)| at);
        assert_eq!(good(UTC_TIME, "491231235959Z"), Some(at("2049-12-31T23:59:59Z")));
        assert_eq!(good(UTC_TIME, "500101000000Z"), Some(at("1950-01-01")));
        assert_eq!(good(GENERALIZED_TIME, "99991231235959Z"), Some(at("9999-12-31T23:59:59Z")));
        for (tag, text) in [
            (UTC_TIME, "4912312359Z"),
            (UTC_TIME, "491231235959+0100"),
            (UTC_TIME, "20491231235959Z"),
            (UTC_TIME, "491331235959Z"),
            (UTC_TIME, "49-231235959Z"),
            (GENERALIZED_TIME, "491231235959Z"),
            (GENERALIZED_TIME, "20491231235959.5Z"),
            (SEQUENCE, "491231235959Z"),
        ] {
            assert_eq!(good(tag, text), None, "{text}");
        }
    }

    #[test]
    fn a_certificate_is_valid_from_the_first_to_the_last_second_of_its_period() {
        let period = valid("2026-01-01", "2026-03-31T23:59:59Z");
        for (now, expected) in [
            ("2025-12-31T23:59:59.999999Z", Err(Invalid::NotYet)),
            ("2026-01-01", Ok(())),
            ("2026-03-31T23:59:59.999999Z", Ok(())),
            ("2026-04-01", Err(Invalid::Expired)),
        ] {
            assert_eq!(period.check(at(now)), expected, "{now}");
        }
        assert_eq!(period.days_left(at("2026-03-30T23:59:59Z")), 1.0);
        assert_eq!(period.days_left(at("2026-04-01T11:59:59Z")), -0.5);
    }

    #[test]
    fn the_reminder_begins_fourteen_days_or_a_quarter_of_the_period_before_the_end() {
        let quarter = valid("2026-01-01", "2026-04-01");
        let week = valid("2026-01-01", "2026-01-09");
        for (period, now, expected) in [
            (quarter, "2026-03-18", None),
            (quarter, "2026-03-18T00:00:01Z", Some(13)),
            (quarter, "2026-03-31T12:00:00Z", Some(0)),
            (quarter, "2026-05-01", Some(0)),
            (week, "2026-01-07", None),
            (week, "2026-01-07T00:00:01Z", Some(1)),
        ] {
            assert_eq!(period.reminder(at(now)), expected, "{now}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = ValidityPeriod::of(&bytes);
        }

        #[test]
        fn a_certificate_with_a_changed_byte_is_read_without_a_panic(at in 0_usize..200, byte in any::<u8>()) {
            let mut changed = certificate((2026, 1, 1), (2027, 1, 1));
            changed[at] = byte;
            let _ = ValidityPeriod::of(&changed);
        }
    }
}

//! Certificates that the service orders by ACME (RFC 8555): the name, the time of the next attempt, and the advice
//! after a failed one.
//!
//! Authorities limit failed orders (Let's Encrypt: five failed validations of a name per hour) and certificates for the
//! same name (five per week). Too many failed attempts would make later attempts fail too. The delays here keep the
//! service's own attempts below these limits, even across restarts and with a wrong clock.

use std::time::Duration;

use super::certificate::ValidityPeriod;
use super::timestamp::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// The delays after the first failed attempt and the following ones; the last delay repeats. The first hour has four
/// attempts.
const DELAYS: [Duration; 6] = [
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(1_800),
    HOUR,
    HOUR.saturating_mul(3),
    DELAY_MAX,
];
const DELAY_MAX: Duration = HOUR.saturating_mul(6);

/// The divisor that limits the random part of a delay: the service lengthens each delay by at most the delay divided by
/// this number. Services that failed together, because the authority was down, therefore do not all try again together.
const JITTER_PART: u32 = 5;

/// The minimum time between two attempts. It applies even if an operator asks for an attempt.
const REST_MIN: Duration = MINUTE;

/// The maximum time for which the service waits at an authority's request. Let's Encrypt counts certificates over a
/// week.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(7 * 86_400);

/// The number of failed attempts to renew a certificate after which `/readyz` warns. The log has a line for each failed
/// attempt. With the delays above, the fourth failure comes at least 42 minutes after the first, so a shorter outage of
/// the authority causes no warning on `/readyz`.
const FAILURES_TO_WARN: u32 = 4;

/// The service renews a certificate when this part of its period is over, as authorities recommend. For example, it
/// renews a 90-day certificate after 60 days.
const RENEWAL: (u32, u32) = (2, 3);

/// The divisor that gives the minimum time between two orders: the new certificate's period is divided by this number.
/// The minimum applies even if the certificate seems to be due, because a new certificate seems to be old if the clock
/// is ahead. The minimum does not apply if an operator asks for an attempt.
const ORDER_PART: u32 = 3;

/// The maximum lengths of a DNS name in text form, without a final dot, and of its labels (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// The DNS name of a certificate, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain(String);

impl Domain {
    /// Parses the name of a certificate.
    ///
    /// # Errors
    /// Returns a sentence for the operator if the service cannot order a certificate for the name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        if name.starts_with("*.") {
            return Err("the service cannot order a certificate for all names of a zone; name the host".to_owned());
        }
        if !name.is_ascii() {
            return Err("write the name in its ASCII form, which begins with xn--".to_owned());
        }
        let is_label = |label: &str| {
            (1..=LABEL_BYTES_MAX).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let top = name.rsplit('.').next().unwrap_or_default();
        let is_public = name.contains('.') && top.bytes().any(|byte| byte.is_ascii_alphabetic());
        if name.len() <= NAME_BYTES_MAX && is_public && name.split('.').all(is_label) {
            return Ok(Self(name));
        }
        Err("the name of a certificate must be a public host name, such as jobs.example.com, without scheme, port or \
             final dot"
            .to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The attempts to order a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The number of failed attempts since the last certificate.
    pub failures: u32,
    /// The time of the last failed attempt.
    pub failed_at: Option<Timestamp>,
    /// The delay after the last failed attempt.
    pub delay: Duration,
    /// The time before which the authority wants no attempt.
    pub not_before: Option<Timestamp>,
    /// The time at which the last certificate was ordered.
    pub ordered_at: Option<Timestamp>,
}

impl Attempts {
    /// Records a failed attempt. `random` determines the jitter.
    pub fn fail(&mut self, now: Timestamp, retry_after: Option<Duration>, random: u8) {
        let delay = DELAYS[(self.failures as usize).min(DELAYS.len() - 1)];
        let jitter = delay / JITTER_PART * u32::from(random) / u32::from(u8::MAX);
        self.failures = self.failures.saturating_add(1);
        self.failed_at = Some(now);
        self.delay = delay + jitter;
        self.not_before = retry_after.map(|wait| now.plus(wait.min(RETRY_AFTER_MAX)));
    }

    /// Records a certificate.
    pub fn succeed(&mut self, now: Timestamp) {
        *self = Self { ordered_at: Some(now), ..Self::default() };
    }

    /// Corrects times that are too late because the clock has been set back. Afterwards, no past attempt is later than
    /// `now`, and the wait that the authority asked for ends at most [`RETRY_AFTER_MAX`] after `now`.
    pub fn correct(&mut self, now: Timestamp) {
        for time in [&mut self.failed_at, &mut self.ordered_at] {
            *time = time.map(|time| time.min(now));
        }
        self.not_before = self.not_before.map(|time| time.min(now.plus(RETRY_AFTER_MAX)));
    }

    /// Returns the time of the next attempt, given the period of the certificate for this name, if there is one.
    pub fn next(&self, period: Option<ValidityPeriod>) -> Timestamp {
        let due = period.map_or(Timestamp::from_micros(i64::MIN), renewal);
        let after_failure = self.failed_at.map(|at| at.plus(self.delay));
        let after_order = self.ordered_at.map(|at| at.plus(REST_MIN.max(period.map_or(HOUR, length) / ORDER_PART)));
        [after_failure, after_order, self.not_before].into_iter().flatten().fold(due, Timestamp::max)
    }

    /// Returns the time from which an operator may ask for an attempt. Only `REST_MIN` and the wait that the authority
    /// asked for apply.
    pub fn next_on_demand(&self) -> Timestamp {
        let rested = [self.failed_at, self.ordered_at].into_iter().flatten().map(|at| at.plus(REST_MIN));
        rested.chain(self.not_before).fold(Timestamp::from_micros(i64::MIN), Timestamp::max)
    }

    /// Returns whether so many attempts have failed that operators should act.
    pub fn is_worrying(&self) -> bool {
        self.failures >= FAILURES_TO_WARN
    }
}

/// Returns the time at which a certificate is to be renewed.
pub fn renewal(period: ValidityPeriod) -> Timestamp {
    period.not_before.plus(length(period) / RENEWAL.1 * RENEWAL.0)
}

fn length(period: ValidityPeriod) -> Duration {
    period.not_after.since(period.not_before)
}

/// Returns the advice for operators about an error of the authority (RFC 8555 §6.7). `kind` is the last part of the
/// error's type.
pub fn advice(kind: &str) -> &'static str {
    match kind {
        "dns" => "the name needs an A or AAAA record with the public address of this machine",
        "connection" | "tls" => {
            "port 80 must be open to the whole internet, and every A and AAAA record of the name must point to \
             this machine"
        }
        "unauthorized" | "incorrectResponse" => {
            "another machine or program answers for the name on port 80; every A and AAAA record must point to this \
             machine"
        }
        "caa" => "a CAA record of the name forbids this authority; add the authority to the record",
        "rateLimited" => "the authority limits the number of orders; wait, and do not delete the stored certificate",
        "rejectedIdentifier" | "malformed" => "the authority issues no certificate for this name; check --acme-domain",
        "invalidContact" | "unsupportedContact" => "the authority refuses the email address; check --acme-contact",
        "externalAccountRequired" => {
            "the authority requires an account from its site, and the service cannot use one; choose another \
             --acme-directory"
        }
        "userActionRequired" => "the authority requires you to accept its new terms of service; do so on its site",
        _ => "if this continues, see the status page of the authority",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Rounding;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text, Rounding::Down).unwrap()
    }

    fn quarter() -> ValidityPeriod {
        ValidityPeriod { not_before: at("2026-01-01"), not_after: at("2026-04-01") }
    }

    #[test]
    fn a_domain_is_a_public_host_name() {
        for (text, expected) in [
            ("jobs.example.com", "jobs.example.com"),
            (" Jobs.Example.COM ", "jobs.example.com"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("a.b", "a.b"),
            ("1.2.3.4.example", "1.2.3.4.example"),
        ] {
            assert_eq!(Domain::parse(text).map(|domain| domain.0).as_deref(), Ok(expected), "{text}");
        }
        let long = format!("{}.example", "a".repeat(LABEL_BYTES_MAX + 1));
        let longer = format!("{}example", "a.".repeat(NAME_BYTES_MAX / 2));
        for (text, part) in [
            ("", "public host name"),
            ("localhost", "public host name"),
            ("192.0.2.1", "public host name"),
            ("[2001:db8::1]", "public host name"),
            ("jobs.example.com.", "public host name"),
            ("jobs.example.com:443", "public host name"),
            ("https://jobs.example.com", "public host name"),
            ("-a.example", "public host name"),
            ("a_b.example", "public host name"),
            (&long, "public host name"),
            (&longer, "public host name"),
            ("*.example.com", "name the host"),
            ("bücher.example", "xn--"),
        ] {
            let flaw = Domain::parse(text).unwrap_err();
            assert!(flaw.contains(part), "{text}: {flaw}");
        }
    }

    #[test]
    fn a_certificate_is_renewed_after_two_thirds_of_its_period() {
        let attempts = Attempts::default();
        assert_eq!(attempts.next(Some(quarter())), at("2026-03-02"));
        assert!(attempts.next(None) < at("1970-01-01"), "without a certificate, the first attempt is due at once");
    }

    #[test]
    fn delays_grow_with_failures_and_have_jitter() {
        let now = at("2026-03-02");
        let mut attempts = Attempts::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            attempts.fail(now, None, 0);
            waits.push(attempts.next(None).since(now).as_secs() / 60);
        }
        assert_eq!(waits, [2, 10, 30, 60, 180, 360, 360, 360]);
        attempts.fail(now, None, u8::MAX);
        assert_eq!(attempts.next(None), now.plus(DELAY_MAX + DELAY_MAX / JITTER_PART));
        assert_eq!(attempts.next_on_demand(), now.plus(REST_MIN), "an operator need not wait for the delay");
        attempts.succeed(now);
        assert_eq!(attempts, Attempts { ordered_at: Some(now), ..Attempts::default() });
    }

    #[test]
    fn the_first_hour_has_fewer_failed_validations_than_authorities_allow() {
        let begin = at("2026-03-02");
        let (mut attempts, mut now, mut count) = (Attempts::default(), begin, 0);
        while now.since(begin) <= HOUR {
            attempts.fail(now, None, 0);
            (now, count) = (attempts.next(None), count + 1);
        }
        assert_eq!(count, 4);
    }

    #[test]
    fn the_service_waits_at_most_a_week_at_an_authoritys_request() {
        let now = at("2026-03-02");
        let mut attempts = Attempts::default();
        attempts.fail(now, Some(HOUR), 0);
        assert_eq!((attempts.next(None), attempts.next_on_demand()), (now.plus(HOUR), now.plus(HOUR)));
        attempts.fail(now, Some(Duration::MAX), 0);
        assert_eq!(attempts.next_on_demand(), now.plus(RETRY_AFTER_MAX));
        attempts.fail(now, Some(Duration::ZERO), 0);
        assert_eq!(attempts.next(None), now.plus(DELAYS[2]), "a short wait does not replace the delay");
    }

    #[test]
    fn a_clock_that_is_ahead_causes_one_order_per_third_of_the_period() {
        // The clock shows March, so a certificate from January seems due as soon as it arrives.
        let (mut attempts, now) = (Attempts::default(), at("2026-03-15"));
        attempts.succeed(now);
        assert_eq!(attempts.next(Some(quarter())), at("2026-04-14"));
    }

    #[test]
    fn a_clock_that_was_set_back_makes_each_wait_begin_again() {
        let (later, now) = (at("2031-01-01"), at("2026-03-15"));
        let mut attempts = Attempts::default();
        attempts.fail(later, Some(HOUR), 0);
        attempts.correct(now);
        assert_eq!(attempts.failed_at, Some(now));
        assert_eq!(attempts.not_before, Some(now.plus(RETRY_AFTER_MAX)));
        attempts.succeed(later);
        attempts.correct(now);
        assert_eq!(attempts.ordered_at, Some(now));
        let unchanged = attempts.clone();
        attempts.correct(later);
        assert_eq!(attempts, unchanged);
    }

    #[test]
    fn readyz_warns_after_the_fourth_failure() {
        for (failures, expected) in [(0, false), (3, false), (4, true)] {
            assert_eq!(Attempts { failures, ..Attempts::default() }.is_worrying(), expected, "{failures}");
        }
    }
}

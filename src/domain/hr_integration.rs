//! An organization's settings for its HR system, and the rule for changes by an admin.
//!
//! This module neither resolves names nor checks that addresses are public. Both happen whenever a connection is
//! opened.

use std::net::Ipv6Addr;
use std::time::Duration;

use super::signature::SigningSecret;
use super::timestamp::Timestamp;

/// The maximum number of characters in an HR system's URL. Browsers and proxies accept this length.
pub const URL_CHARACTERS_MAX: usize = 2_048;

/// The time for which deliveries are signed with a replaced secret in addition to the new one. A day is long enough for
/// people in another time zone to install the new secret by hand.
pub const PREVIOUS_SECRET_FOR: Duration = Duration::from_secs(24 * 3_600);

/// The URL of an HR system: http or https, with a host and without user information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl(String);

impl TargetUrl {
    /// Parses a URL. Returns `None` for another scheme, a missing host, an invalid port, user information (which the
    /// service would send to the host), a character that URLs cannot contain, or more than 2,048 characters.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\<>`\"".contains(&byte));
        if !plain || text.len() > URL_CHARACTERS_MAX {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        is_host_and_port(authority).then(|| Self(text.to_owned()))
    }

    /// Creates a URL from its text in the database, without a check. The URL was checked when it was saved. If the URL
    /// is not usable, each attempt fails, but an admin can still see and replace the URL.
    pub fn from_file(text: String) -> Self {
        Self(text)
    }

    /// Returns the URL as the admin entered it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parts of the URL for a connection and a request.
    pub fn target(&self) -> Target {
        let (scheme, rest) = self.0.split_once("://").unwrap_or_default();
        let is_tls = scheme.eq_ignore_ascii_case("https");
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(if is_tls { 443 } else { 80 });
        let slash = if path.starts_with('/') { "" } else { "/" };
        Target { is_tls, host: host.to_owned(), port, authority: authority.to_owned(), path: format!("{slash}{path}") }
    }
}

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Whether the connection uses TLS.
    pub is_tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// The given port, or the scheme's default.
    pub port: u16,
    /// Host and port as given, for the `Host` field.
    pub authority: String,
    /// The path and the query, for the request line.
    pub path: String,
}

/// Returns whether the string is `host`, `host:port`, `[v6]` or `[v6]:port`. A host cannot contain an `@`, so user
/// information is refused.
fn is_host_and_port(authority: &str) -> bool {
    let (is_valid_host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            (!host.is_empty() && host.bytes().all(is_plain), port)
        }
    };
    is_valid_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// An organization's HR integration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integration {
    /// The target of deliveries.
    pub url: TargetUrl,
    /// The secret with which deliveries are signed. Without a secret, nothing is sent.
    pub secret: Option<SigningSecret>,
    /// The replaced secret, with which deliveries are also signed until this time.
    pub previous_secret: Option<(SigningSecret, Timestamp)>,
    /// Whether deliveries other than pings are sent. This is never true without a secret.
    pub enabled: bool,
    /// The reason why the service disabled the integration, if it did.
    pub disabled_reason: Option<String>,
}

impl Integration {
    /// Returns the secrets with which deliveries are signed at this time. The current secret comes first.
    pub fn signing_secrets(&self, now: Timestamp) -> Vec<SigningSecret> {
        let previous = self.previous_secret.iter().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
        self.secret.iter().chain(previous).cloned().collect()
    }
}

/// The input of `PUT …/hr-integration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationInput {
    /// The target of deliveries.
    pub url: TargetUrl,
    /// The requested change to the secret.
    pub secret: SecretInput,
    /// Whether deliveries other than pings are sent. `None` retains an admin's setting, but enables an integration that
    /// is new, that the service disabled, or that had no secret.
    pub enabled: Option<bool>,
}

/// The change to the secret that an admin requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretInput {
    /// Retain the secret, or generate one if there is none.
    Unchanged,
    /// Use this secret.
    Given(SigningSecret),
    /// Generate a new secret.
    Rotate,
}

/// `PUT …/hr-integration`: returns the changed integration, and whether it uses `generated_secret`, which the response
/// then shows once. For [`PREVIOUS_SECRET_FOR`], or until the secret is replaced again, deliveries are signed with the
/// replaced secret in addition to the new one.
pub fn put(
    before: Option<&Integration>,
    input: &IntegrationInput,
    generated_secret: &SigningSecret,
    now: Timestamp,
) -> (Integration, bool) {
    let known = before.and_then(|before| before.secret.clone());
    let (secret, is_generated) = match (&input.secret, &known) {
        (SecretInput::Unchanged, Some(known)) => (known.clone(), false),
        (SecretInput::Given(given), _) => (given.clone(), false),
        (SecretInput::Unchanged, None) | (SecretInput::Rotate, _) => (generated_secret.clone(), true),
    };
    let previous_secret = match known {
        Some(known) if known != secret => Some((known, now.plus(PREVIOUS_SECRET_FOR))),
        // A previous secret that is no longer used is dropped.
        _ => before.and_then(|before| before.previous_secret.clone()).filter(|(_, until)| now < *until),
    };
    let is_switched_off = |before: &Integration| !before.enabled && before.disabled_reason.is_none();
    let was_enabled = !before.is_some_and(|before| is_switched_off(before) && before.secret.is_some());
    let integration = Integration {
        url: input.url.clone(),
        secret: Some(secret),
        previous_secret,
        enabled: input.enabled.unwrap_or(was_enabled),
        disabled_reason: None,
    };
    (integration, is_generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_an_http_scheme_and_a_host() {
        let longest = format!("https://hr.example.com/{}", "a".repeat(URL_CHARACTERS_MAX - 23));
        for good in [
            "https://hr.example.com/hooks?x=1",
            "http://hr:8080",
            "HTTPS://hr.example.com:65535/",
            "https://10.0.0.1/",
            "https://[2001:db8::1]:8443/x",
            "https://[::1]",
            "https://hr.example.com/a@b",
            "https://hr.example.com?to=a@b",
            &longest,
        ] {
            assert!(TargetUrl::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "hr.example.com",
            "ftp://hr.example.com",
            "javascript://hr.example.com",
            "https:hr.example.com",
            "https://",
            "https:///x",
            "https://:80",
            "https://user@hr.example.com",
            "https://user:word@hr.example.com/",
            "https://hr.example.com:0",
            "https://hr.example.com:65536",
            "https://hr.example.com:8a",
            "https://hr.example.com:",
            "https://hr.example.com\\@evil",
            "https://hr.example.com/<a",
            "https://hr.example.com/?a>",
            "https://hr.example.com/`a",
            "https://hr.example.com/\"a",
            "https://hr example.com",
            "https://hr.example.com/a b",
            "https://hr.example.com/\n",
            " https://hr.example.com",
            "https://bücher.example",
            "https://[::1",
            "https://[::1]x",
            "https://[hr]",
            &format!("{longest}a"),
        ] {
            assert!(TargetUrl::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn urls_are_parsed_into_their_parts() {
        for (text, is_tls, host, port, authority, path) in [
            ("https://hr.example.com", true, "hr.example.com", 443, "hr.example.com", "/"),
            ("http://hr.example.com?x=1#y", false, "hr.example.com", 80, "hr.example.com", "/?x=1"),
            ("HTTP://hr:8080/a/b?c", false, "hr", 8_080, "hr:8080", "/a/b?c"),
            ("https://[2001:db8::1]:8443/x", true, "2001:db8::1", 8_443, "[2001:db8::1]:8443", "/x"),
            ("https://[::1]", true, "::1", 443, "[::1]", "/"),
            ("https://hr.example.com#a/b", true, "hr.example.com", 443, "hr.example.com", "/"),
        ] {
            let (host, authority, path) = (host.to_owned(), authority.to_owned(), path.to_owned());
            let expected = Target { is_tls, host, port, authority, path };
            assert_eq!(TargetUrl::parse(text).unwrap().target(), expected, "{text}");
        }
    }

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::generate(|bytes| bytes.fill(byte))
    }

    fn input(secret: SecretInput) -> IntegrationInput {
        IntegrationInput { url: TargetUrl::parse("https://hr.example.com").unwrap(), secret, enabled: None }
    }

    #[test]
    fn integrations_are_enabled_unless_an_admin_disabled_them() {
        let (url, now) = (input(SecretInput::Unchanged).url, Timestamp::from_micros(0));
        let off = |reason: Option<&str>, secret: Option<SigningSecret>| {
            let disabled_reason = reason.map(str::to_owned);
            Integration { url: url.clone(), secret, previous_secret: None, enabled: false, disabled_reason }
        };
        let switched_off = off(None, Some(secret(1)));
        for (before, wanted, enabled) in [
            (None, None, true),
            (None, Some(false), false),
            (Some(&switched_off), None, false),
            (Some(&switched_off), Some(true), true),
            (Some(&off(Some("gone"), Some(secret(1)))), None, true),
            (Some(&off(None, None)), None, true),
        ] {
            let input = IntegrationInput { enabled: wanted, ..input(SecretInput::Unchanged) };
            assert_eq!(put(before, &input, &secret(2), now).0.enabled, enabled, "{before:?} {wanted:?}");
        }
    }

    #[test]
    fn a_secret_is_generated_if_there_is_none_or_on_rotation() {
        let now = Timestamp::from_micros(0);
        let (first, is_generated) = put(None, &input(SecretInput::Unchanged), &secret(1), now);
        assert_eq!((first.signing_secrets(now), is_generated), (vec![secret(1)], true));
        let (same, is_generated) = put(Some(&first), &input(SecretInput::Unchanged), &secret(2), now);
        assert_eq!((same.signing_secrets(now), is_generated), (vec![secret(1)], false));
        let (rotated, is_generated) = put(Some(&first), &input(SecretInput::Rotate), &secret(2), now);
        assert_eq!((rotated.signing_secrets(now), is_generated), (vec![secret(2), secret(1)], true));
        let (given, is_generated) = put(None, &input(SecretInput::Given(secret(3))), &secret(2), now);
        assert_eq!((given.signing_secrets(now), is_generated), (vec![secret(3)], false));
    }

    #[test]
    fn a_replaced_secret_signs_for_one_more_day_or_until_the_next_replacement() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let (first, _) = put(None, &input(SecretInput::Given(secret(1))), &secret(9), at(0));
        let (second, _) = put(Some(&first), &input(SecretInput::Given(secret(2))), &secret(9), at(0));
        let (unchanged, _) = put(Some(&second), &input(SecretInput::Given(secret(2))), &secret(9), at(100));
        assert_eq!(unchanged.signing_secrets(at(86_399)), [secret(2), secret(1)]);
        assert_eq!(unchanged.signing_secrets(at(86_400)), [secret(2)]);
        let (third, _) = put(Some(&unchanged), &input(SecretInput::Rotate), &secret(3), at(200));
        assert_eq!(third.signing_secrets(at(300)), [secret(3), secret(2)]);
    }
}

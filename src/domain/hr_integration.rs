//! Where an organization's HR system listens, and what becomes of that when an admin changes it.
//!
//! What a host resolves to, and whether that may be reached, is asked when the connection is made, not here.

use std::net::Ipv6Addr;
use std::time::Duration;

use super::signature::SigningSecret;
use super::timestamp::Timestamp;

/// The longest URL of an HR system: what browsers and proxies pass without complaint.
pub const URL_CHARACTERS_MAX: usize = 2_048;

/// How long a secret that was replaced still signs beside the new one: long enough to give the new one to the HR
/// system by hand, in another time zone.
pub const PREVIOUS_SECRET_FOR: Duration = Duration::from_secs(24 * 3_600);

/// The URL of an HR system: http or https, a host, no user information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl(String);

impl TargetUrl {
    /// The URL that a text holds, or `None`: another scheme, no host, a port that is none, user information
    /// (which would be sent to whoever the host is), a character that no URL has, or more than 2,048 of them.
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

    /// The URL that a file has. It was looked at when it was saved, by the rules of that time: one that no request can
    /// carry fails at each attempt, and an admin must be able to see and replace it.
    pub fn from_file(text: String) -> Self {
        Self(text)
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a connection and a request are made of.
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

/// A URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Whether TLS is spoken.
    pub is_tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// Its port, or the scheme's.
    pub port: u16,
    /// Host and port as they were given, for the `Host` field.
    pub authority: String,
    /// Path and query, for the request line.
    pub path: String,
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`. An `@` is none of a host's characters.
fn is_host_and_port(authority: &str) -> bool {
    let (host_is_fine, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            (!host.is_empty() && host.bytes().all(is_plain), port)
        }
    };
    host_is_fine && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// An organization's HR integration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integration {
    /// Where deliveries go.
    pub url: TargetUrl,
    /// What signs them; without one nothing is sent.
    pub secret: Option<SigningSecret>,
    /// The secret before that one, which signs too until then.
    pub previous_secret: Option<(SigningSecret, Timestamp)>,
    /// Whether they are sent. Never without a secret.
    pub enabled: bool,
    /// Why the service itself has disabled it.
    pub disabled_reason: Option<String>,
}

impl Integration {
    /// The secrets that sign at this time, the current one first.
    pub fn signing_secrets(&self, now: Timestamp) -> Vec<SigningSecret> {
        let previous = self.previous_secret.iter().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
        self.secret.iter().chain(previous).cloned().collect()
    }
}

/// What an admin wants an integration to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationInput {
    /// Where deliveries are to go.
    pub url: TargetUrl,
    /// What is to sign them.
    pub secret: SecretInput,
    /// Whether they are to be sent; `None`: as it is, or as it would be had the service not disabled it.
    pub enabled: Option<bool>,
}

/// What an admin wants with the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretInput {
    /// It stays; where there is none, one is made.
    Keep,
    /// This one.
    Given(SigningSecret),
    /// A new one.
    Rotate,
}

/// `PUT …/hr-integration`: what it is after that. A secret that is replaced signs beside the new one for
/// [`PREVIOUS_SECRET_FOR`]. Where the new one was made here, and so is to be shown this once, it is `made_secret`.
pub fn put(
    before: Option<&Integration>,
    wish: &IntegrationInput,
    made_secret: &SigningSecret,
    now: Timestamp,
) -> (Integration, bool) {
    let known = before.and_then(|before| before.secret.clone());
    let (secret, is_made) = match (&wish.secret, &known) {
        (SecretInput::Keep, Some(known)) => (known.clone(), false),
        (SecretInput::Given(given), _) => (given.clone(), false),
        (SecretInput::Keep, None) | (SecretInput::Rotate, _) => (made_secret.clone(), true),
    };
    let previous_secret = match known {
        Some(known) if known != secret => Some((known, now.plus(PREVIOUS_SECRET_FOR))),
        // One that signs no more is not kept any longer.
        _ => before.and_then(|before| before.previous_secret.clone()).filter(|(_, until)| now < *until),
    };
    let is_switched_off = |before: &Integration| !before.enabled && before.disabled_reason.is_none();
    let was_enabled = !before.is_some_and(|before| is_switched_off(before) && before.secret.is_some());
    let integration = Integration {
        url: wish.url.clone(),
        secret: Some(secret),
        previous_secret,
        enabled: wish.enabled.unwrap_or(was_enabled),
        disabled_reason: None,
    };
    (integration, is_made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_http_with_a_host() {
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
    fn a_url_is_taken_apart() {
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

    fn wish(secret: SecretInput) -> IntegrationInput {
        IntegrationInput { url: TargetUrl::parse("https://hr.example.com").unwrap(), secret, enabled: None }
    }

    #[test]
    fn an_integration_is_enabled_unless_an_admin_has_switched_it_off() {
        let (url, now) = (wish(SecretInput::Keep).url, Timestamp::from_micros(0));
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
            let wish = IntegrationInput { enabled: wanted, ..wish(SecretInput::Keep) };
            assert_eq!(put(before, &wish, &secret(2), now).0.enabled, enabled, "{before:?} {wanted:?}");
        }
    }

    #[test]
    fn a_secret_is_made_where_there_is_none_or_a_new_one_is_wanted() {
        let now = Timestamp::from_micros(0);
        let (first, is_made) = put(None, &wish(SecretInput::Keep), &secret(1), now);
        assert_eq!((first.signing_secrets(now), is_made), (vec![secret(1)], true));
        let (same, is_made) = put(Some(&first), &wish(SecretInput::Keep), &secret(2), now);
        assert_eq!((same.signing_secrets(now), is_made), (vec![secret(1)], false));
        let (rotated, is_made) = put(Some(&first), &wish(SecretInput::Rotate), &secret(2), now);
        assert_eq!((rotated.signing_secrets(now), is_made), (vec![secret(2), secret(1)], true));
        let (given, is_made) = put(None, &wish(SecretInput::Given(secret(3))), &secret(2), now);
        assert_eq!((given.signing_secrets(now), is_made), (vec![secret(3)], false));
    }

    #[test]
    fn a_replaced_secret_signs_for_a_day_more_and_changes_in_between_leave_it() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let (first, _) = put(None, &wish(SecretInput::Given(secret(1))), &secret(9), at(0));
        let (second, _) = put(Some(&first), &wish(SecretInput::Given(secret(2))), &secret(9), at(0));
        let (kept, _) = put(Some(&second), &wish(SecretInput::Given(secret(2))), &secret(9), at(100));
        assert_eq!(kept.signing_secrets(at(86_399)), [secret(2), secret(1)]);
        assert_eq!(kept.signing_secrets(at(86_400)), [secret(2)]);
        let (third, _) = put(Some(&kept), &wish(SecretInput::Rotate), &secret(3), at(200));
        assert_eq!(third.signing_secrets(at(300)), [secret(3), secret(2)]);
    }
}

//! Where an organization's HR system listens, and the secret that signs what it is sent.
//!
//! What an address resolves to, and whether that may be reached, is asked when the connection is made, not here.

use std::fmt;
use std::net::Ipv6Addr;

/// The longest address of an HR system: what browsers and proxies pass without complaint.
pub const URL_CHARACTERS_MAX: usize = 2_048;

/// The longest signing secret: several times the 64 bytes in base 64 that are recommended at most.
pub const SECRET_CHARACTERS_MAX: usize = 255;

/// The address of an HR system: http or https, a host, no user information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl(String);

impl TargetUrl {
    /// The address that a text holds, or `None`: another scheme, no host, a port that is none, user information
    /// (which would be sent to whoever the host is), a character that no URL has, or more than 2,048 of them.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
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

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
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

/// What signs a delivery, shared with the HR system. Its `Debug` prints nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret that a text holds: 1 to 255 characters that can be typed.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        (plain && (1..=SECRET_CHARACTERS_MAX).contains(&text.len())).then(|| Self(text.to_owned()))
    }

    /// The text itself, for the file, and for a document that is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_http_with_a_host() {
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
    fn a_secret_can_be_typed_and_is_not_printed() {
        let secret = Secret::parse("whsec_c2VjcmV0").unwrap();
        assert_eq!((secret.reveal(), format!("{secret:?}").as_str()), ("whsec_c2VjcmV0", "Secret"));
        assert!(Secret::parse(&"x".repeat(255)).is_some());
        for bad in ["", "a b", "ä", "a\n", &"x".repeat(256)] {
            assert!(Secret::parse(bad).is_none(), "{bad:?}");
        }
    }
}

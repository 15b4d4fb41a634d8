//! The syntax of a `Host` field (RFC 9110 §7.2): a host as in URIs (RFC 3986 §3.2.2), with an optional port.

use std::net::Ipv6Addr;

/// Returns whether a value can be the host and optional port of an http URL. An empty host is invalid (RFC 9110
/// §4.2.1). A comma is refused although the grammar allows it: no host name contains a comma, and a comma indicates
/// that a proxy has joined two fields.
pub fn is_valid_host(value: &[u8]) -> bool {
    if let Some(literal) = value.strip_prefix(b"[") {
        let Some(end) = literal.iter().position(|byte| *byte == b']') else { return false };
        let (address, port) = (&literal[..end], &literal[end + 1..]);
        let is_address = std::str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
        return is_address && (port.is_empty() || port.strip_prefix(b":").is_some_and(is_port));
    }
    match value.iter().position(|byte| *byte == b':') {
        Some(end) => is_name(&value[..end]) && is_port(&value[end + 1..]),
        None => is_name(value),
    }
}

/// Returns whether the bytes are a registered name or an IPv4 address.
fn is_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let Some((first, others)) = rest.split_first() {
        rest = match first {
            b'%' => match others {
                [high, low, others @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => others,
                _ => return false,
            },
            b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'=' => others,
            byte if byte.is_ascii_alphanumeric() => others,
            _ => return false,
        };
    }
    !name.is_empty()
}

/// Returns whether the bytes are a TCP port, or are empty, which means the scheme's default port.
fn is_port(port: &[u8]) -> bool {
    let digits = std::str::from_utf8(port).unwrap_or("-");
    port.is_empty() || (port[0].is_ascii_digit() && digits.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls_are_valid() {
        for valid in [
            "a",
            "localhost",
            "jobs.example.com",
            "JOBS.Example.COM.",
            "a_b.example",
            "xn--bcher-kva.example",
            "127.0.0.1",
            "127.0.0.1:8080",
            "a:0",
            "a:65535",
            "a:",
            "[::1]",
            "[::1]:8080",
            "[2001:db8::1]:",
            "[::ffff:192.0.2.1]",
            "b%C3%BCcher.example",
            "a!b",
        ] {
            assert!(is_valid_host(valid.as_bytes()), "{valid}");
        }
    }

    #[test]
    fn values_that_are_not_hosts_of_urls_are_invalid() {
        for invalid in [
            "",
            " ",
            "a b",
            "a,b",
            "a, b",
            "a/b",
            "/",
            "a\\b",
            "a?b",
            "a#b",
            "a@b",
            "a:b@c",
            "http://a",
            "a:b",
            "a:-1",
            "a:+1",
            "a:65536",
            "a:99999999999999999999",
            "a:80:80",
            "::1",
            ":80",
            ":",
            "[",
            "[]",
            "[::1",
            "::1]",
            "[::1]a",
            "[::1]80",
            "[::1]:x",
            "[::g]",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "[a]",
            "a[b]",
            "a%",
            "a%z0",
            "a%2",
            "a\tb",
            "a\u{7f}",
            "<a>",
            "a\"b",
            "a^b",
            "a`b",
            "{a}",
            "a|b",
            "bücher.example",
        ] {
            assert!(!is_valid_host(invalid.as_bytes()), "{invalid}");
        }
        assert!(!is_valid_host(b"a\xff"));
    }
}

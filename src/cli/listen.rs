//! The addresses of `--listen`, `--redirect-from` and `--metrics-listen`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Parses an address to listen on. A port alone, or a port after `localhost:`, means 127.0.0.1. A colon and a port
/// without a host mean every IPv4 interface, as in other programs. Other host names are refused, because a service that
/// looked them up could start only if a name server answered.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let on = |address: Ipv4Addr, port: &str| {
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = is_number.then(|| port.parse().ok()).flatten()?;
        Some(SocketAddr::new(IpAddr::V4(address), port))
    };
    let parsed = match text.rsplit_once(':') {
        None => on(Ipv4Addr::LOCALHOST, text),
        Some(("", port)) => on(Ipv4Addr::UNSPECIFIED, port),
        Some((host, port)) if host.eq_ignore_ascii_case("localhost") => on(Ipv4Addr::LOCALHOST, port),
        Some(_) => text.parse().ok(),
    };
    parsed.ok_or_else(|| {
        "an address to listen on is a port (8080, on this machine only), localhost:8080, an IP address with a port \
         (127.0.0.1:8080 or [::1]:8080), or :8080 for every IPv4 interface; a port is at most 65535, and host names \
         are not looked up"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_or_an_ip_address_with_a_port() {
        for (text, expected) in [
            ("8080", "127.0.0.1:8080"),
            ("0", "127.0.0.1:0"),
            ("65535", "127.0.0.1:65535"),
            (" 8080 ", "127.0.0.1:8080"),
            (":8080", "0.0.0.0:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:0", "127.0.0.1:0"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:8080", "[::1]:8080"),
            ("[::]:8080", "[::]:8080"),
        ] {
            assert_eq!(parse_address(text).map(|address| address.to_string()).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            ":",
            "65536",
            ":65536",
            "-1",
            "+80",
            "8080x",
            "localhost",
            "localhost:",
            "localhost:http",
            "::1",
            "[::1]",
            "::1:",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:65536",
            "jobs.example.com:8080",
            "*:8080",
            "http://localhost:8080",
            "localhost:8080/",
            "1:2:3",
        ] {
            assert!(parse_address(text).unwrap_err().contains("localhost:8080"), "{text}");
        }
    }
}

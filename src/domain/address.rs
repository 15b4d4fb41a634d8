//! The network addresses to which deliveries may be sent by default: only public addresses.
//!
//! The check runs on the address that the connection uses, not on the host name or its spelling. Otherwise, an admin
//! who saves a URL could make this service send requests to services that only this machine or its network can reach
//! (server-side request forgery).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Special blocks of IPv4 (IANA IPv4 Special-Purpose Address Registry, RFC 6890; multicast, RFC 5771), each with its
/// first address, prefix length and purpose.
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this machine or network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a provider's customers"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved (a former relay to IPv6)"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// Special blocks of IPv6 (IANA IPv6 Special-Purpose Address Registry; site-local, RFC 3879; multicast, RFC 4291 §2.7),
/// each with its first address, prefix length and purpose.
const SPECIAL_V6: [(Ipv6Addr, u32, &str); 10] = [
    (Ipv6Addr::UNSPECIFIED, 128, "this machine"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a relay to IPv4 (6to4)"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

/// The block that contains all assigned global unicast addresses (RFC 4291 §2.4).
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// IPv6 blocks whose addresses contain an IPv4 address in the last 32 bits: IPv4-mapped addresses (RFC 4291 §2.5.5.2)
/// and the well-known NAT64 prefix (RFC 6052 §2.1), through which a network without IPv4 reaches IPv4 targets.
const EMBEDDED_V4_BLOCKS: [(Ipv6Addr, u32); 2] =
    [(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96), (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96)];

/// Checks that an address is public.
///
/// # Errors
/// Returns the kind of an address that is not public, such as `loopback`, `private` or `reserved`.
pub fn require_public(address: IpAddr) -> Result<(), &'static str> {
    match address {
        IpAddr::V4(address) => require_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(address) => require_public_v4(address),
            None => require_public_v6(address),
        },
    }
}

fn require_public_v4(address: Ipv4Addr) -> Result<(), &'static str> {
    let within = |block: Ipv4Addr, prefix: u32| (address.to_bits() ^ block.to_bits()) >> (32 - prefix) == 0;
    match SPECIAL_V4.iter().find(|(block, prefix, _)| within(*block, *prefix)) {
        Some((_, _, kind)) => Err(kind),
        None => Ok(()),
    }
}

fn require_public_v6(address: Ipv6Addr) -> Result<(), &'static str> {
    match SPECIAL_V6.iter().find(|(block, prefix, _)| is_within(address, *block, *prefix)) {
        Some((_, _, kind)) => Err(kind),
        None if is_within(address, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1) => Ok(()),
        None => Err("reserved"),
    }
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let last_bits = Ipv4Addr::from_bits(address.to_bits() as u32);
    EMBEDDED_V4_BLOCKS.iter().any(|(block, prefix)| is_within(address, *block, *prefix)).then_some(last_bits)
}

fn is_within(address: Ipv6Addr, block: Ipv6Addr, prefix: u32) -> bool {
    (address.to_bits() ^ block.to_bits()) >> (128 - prefix) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Result<(), &'static str> {
        require_public(text.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_accepted_even_next_to_special_blocks() {
        for public in [
            "1.0.0.0",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::1",
            "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2003::1",
            "2a00:1450:4001:82a::200e",
            "2001:4860:4860::8888",
            "3ffe:ffff::1",
            "3fff:1000::",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(verdict(public), Ok(()), "{public}");
        }
    }

    #[test]
    fn addresses_that_are_not_public_are_refused() {
        for (special, kind) in [
            ("0.0.0.0", "this machine or network"),
            ("0.255.255.255", "this machine or network"),
            ("10.0.0.0", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "shared by a provider's customers"),
            ("100.127.255.255", "shared by a provider's customers"),
            ("127.0.0.0", "loopback"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.255", "loopback"),
            ("169.254.0.0", "link-local"),
            ("169.254.169.254", "link-local"),
            ("169.254.255.255", "link-local"),
            ("172.16.0.0", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.0", "reserved for protocols"),
            ("192.0.0.255", "reserved for protocols"),
            ("192.0.2.255", "for documentation"),
            ("192.88.99.1", "reserved (a former relay to IPv6)"),
            ("192.168.0.0", "private"),
            ("192.168.255.255", "private"),
            ("198.18.0.0", "for benchmarks"),
            ("198.19.255.255", "for benchmarks"),
            ("198.51.100.7", "for documentation"),
            ("203.0.113.7", "for documentation"),
            ("224.0.0.0", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.0", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "this machine"),
            ("::1", "loopback"),
            ("::2", "reserved"),
            ("::127.0.0.1", "reserved"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:7f00:1", "loopback"),
            ("::ffff:10.0.0.1", "private"),
            ("::ffff:0.0.0.0", "this machine or network"),
            ("::ffff:0:127.0.0.1", "reserved"),
            ("64:ff9b::127.0.0.1", "loopback"),
            ("64:ff9b::a9fe:a9fe", "link-local"),
            ("64:ff9b::192.168.1.1", "private"),
            ("64:ff9b:0:0:0:1:8.8.8.8", "reserved"),
            ("64:ff9b:1::8.8.8.8", "reserved"),
            ("100::1", "reserved"),
            ("100:0:0:1::1", "reserved"),
            ("2001::1", "reserved for protocols"),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved for protocols"),
            ("2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved for protocols"),
            ("2001:db8::1", "for documentation"),
            ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "for documentation"),
            ("2002:7f00:1::1", "a relay to IPv4 (6to4)"),
            ("2002:808:808::1", "a relay to IPv4 (6to4)"),
            ("3fff::1", "for documentation"),
            ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "for documentation"),
            ("4000::1", "reserved"),
            ("5f00::1", "reserved"),
            ("fc00::1", "private"),
            ("fd12:3456:789a::1", "private"),
            ("fe80::1", "link-local"),
            ("febf:ffff::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
            ("fe00::1", "reserved"),
        ] {
            assert_eq!(verdict(special), Err(kind), "{special}");
        }
    }
}

//! The networks that one client can control, for limits that apply to each client.
//!
//! An IPv4 client has one address. An IPv6 subscriber has at least a /64, usually a /56 at home, and up to a /48 in a
//! business. Limits per /64 alone would give one subscriber up to 65,536 allowances. Many subscribers can share a /48,
//! so wider networks have higher limits.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The IPv6 prefix lengths that have limits, each with the factor by which its limit is multiplied.
const LEVELS: [(u8, u32); 3] = [(64, 1), (56, 2), (48, 4)];

/// A network: its first address and its prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    first: IpAddr,
    prefix_length: u8,
}

/// Returns the networks that an address belongs to, narrowest first, each with the factor by which its limit is
/// multiplied.
pub fn containing(address: IpAddr) -> impl Iterator<Item = (Network, u32)> + Clone {
    let levels: &[(u8, u32)] = if address.is_ipv4() { &[(32, 1)] } else { &LEVELS };
    levels.iter().map(move |(prefix_length, factor)| (Network::new(address, *prefix_length), *factor))
}

/// Returns the narrowest network of an address: an IPv4 address itself, or the /64 of an IPv6 address.
pub fn narrowest(address: IpAddr) -> Network {
    Network::new(address, if address.is_ipv4() { 32 } else { LEVELS[0].0 })
}

impl Network {
    fn new(address: IpAddr, prefix_length: u8) -> Self {
        let first = match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => {
                let mask = u128::MAX << (u128::BITS - u32::from(prefix_length));
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self { first, prefix_length }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix_length)
    }
}

/// Returns whether a network that holds `own` permits may take another. The network may hold at most `own_max` permits.
/// If it already holds any, it must hold fewer permits than are free. Each network therefore gets fewer permits when
/// fewer are free, and only many networks together can leave none for a newcomer.
pub fn may_take(own: usize, own_max: usize, free: usize) -> bool {
    free > 0 && own < own_max && (own == 0 || own < free)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(text: &str) -> Vec<(Network, u32)> {
        containing(text.parse().unwrap()).collect()
    }

    #[test]
    fn an_ipv4_address_is_its_own_network() {
        assert_eq!(networks("192.0.2.1").len(), 1);
        assert_ne!(networks("192.0.2.1"), networks("192.0.2.2"));
        assert_eq!(networks("192.0.2.1")[0].0, narrowest("192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn ipv6_addresses_belong_to_a_64_a_56_and_a_48() {
        let ours = networks("2001:db8:1:2211::1");
        assert_eq!(ours.iter().map(|(_, factor)| *factor).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(ours[0].0, narrowest("2001:db8:1:2211::2".parse().unwrap()));
        for (other, shared) in [
            ("2001:db8:1:2211:ffff::", 3),
            ("2001:db8:1:2212::1", 2),
            ("2001:db8:1:22ff::1", 2),
            ("2001:db8:1:2300::1", 1),
            ("2001:db8:2:2211::1", 0),
        ] {
            let equal = networks(other).iter().zip(&ours).filter(|(theirs, ours)| theirs == ours).count();
            assert_eq!(equal, shared, "{other}");
        }
    }

    #[test]
    fn a_newcomer_finds_a_free_permit_while_fewer_networks_than_permits_compete() {
        for networks in 1..64 {
            let mut held = vec![0; networks];
            loop {
                let mut taken_any = false;
                for own in 0..networks {
                    let free = 64 - held.iter().sum::<usize>();
                    if may_take(held[own], 16, free) {
                        held[own] += 1;
                        taken_any = true;
                    }
                }
                if !taken_any {
                    break;
                }
            }
            let free = 64 - held.iter().sum::<usize>();
            assert!(may_take(0, 16, free), "{networks} networks hold {held:?}");
            assert!(held.iter().all(|own| (1..=16).contains(own)), "{networks} networks hold {held:?}");
        }
        assert!(!may_take(0, 16, 0) && may_take(15, 16, 64) && !may_take(16, 16, 64));
    }
}

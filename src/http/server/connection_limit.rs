//! Counts open connections by client network, so that one client cannot use up all connections.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use super::network_counts::NetworkCounts;
use crate::domain::network;

/// The open connections of each client network.
pub(super) struct ConnectionLimit {
    client_max: usize,
    /// The trusted proxies. Their connections are not counted, because many clients can be behind one proxy.
    exempt: Vec<IpNet>,
    open: Mutex<NetworkCounts>,
}

/// A counted connection. It is removed from the count when this value is dropped.
pub(super) struct CountedConnection {
    counted: Option<(Arc<ConnectionLimit>, IpAddr)>,
}

impl ConnectionLimit {
    pub(super) fn new(client_max: usize, exempt: Vec<IpNet>) -> Self {
        Self { client_max, exempt, open: Mutex::default() }
    }

    /// Counts a connection from this peer. Returns `None` if one of the peer's networks is at its limit.
    pub(super) fn connect(self: &Arc<Self>, peer: IpAddr) -> Option<CountedConnection> {
        let peer = peer.to_canonical();
        if self.exempt.iter().any(|network| network.contains(&peer)) {
            return Some(CountedConnection { counted: None });
        }
        let mut open = self.open();
        for (network, factor) in network::containing(peer) {
            if open.get(&network) >= self.client_max * factor as usize {
                return None;
            }
        }
        open.add(peer);
        Some(CountedConnection { counted: Some((Arc::clone(self), peer)) })
    }

    fn open(&self) -> MutexGuard<'_, NetworkCounts> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        if let Some((limit, peer)) = &self.counted {
            limit.open().remove(*peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_per_ipv4_address_or_ipv6_64_but_not_for_a_trusted_proxy() {
        let limit = Arc::new(ConnectionLimit::new(2, vec!["10.0.0.0/8".parse().unwrap()]));
        let connect = |text: &str| limit.connect(text.parse().unwrap());
        let (first, second) = (connect("2001:db8::1"), connect("2001:db8::2"));
        assert!(first.is_some() && second.is_some());
        assert!(connect("2001:db8::3").is_none());
        let others = [connect("2001:db8:0:1::1"), connect("192.0.2.1"), connect("::ffff:192.0.2.1")];
        assert!(others.iter().all(Option::is_some));
        assert!(connect("192.0.2.1").is_none());
        let proxied: Vec<_> = (0..3).map(|_| connect("10.1.2.3")).collect();
        assert!(proxied.iter().all(Option::is_some));
        let same_56 = [connect("2001:db8:0:2::1"), connect("2001:db8:0:3::1")];
        assert!(same_56[0].is_some() && same_56[1].is_none(), "the limit of a /56 is twice as high");
        drop(first);
        assert!(connect("2001:db8::3").is_some());
        drop((second, others, proxied, same_56));
        assert!(limit.open().is_empty());
    }
}

//! Open connections by client network, so that one client cannot hold all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use crate::domain::network::{self, Network};

/// The open connections of each client.
pub(in crate::http) struct Clients {
    each_max: usize,
    /// Proxies, behind which anybody may be: they are not counted.
    exempt: Vec<IpNet>,
    open: Mutex<HashMap<Network, usize>>,
}

/// One open connection, counted for as long as this exists.
pub(in crate::http) struct Connected {
    counted: Option<(Arc<Clients>, IpAddr)>,
}

impl Clients {
    pub(in crate::http) fn new(each_max: usize, exempt: Vec<IpNet>) -> Self {
        Self { each_max, exempt, open: Mutex::default() }
    }

    /// Counts a connection of this peer. `None` where its client has as many as it may.
    pub(in crate::http) fn connect(self: &Arc<Self>, peer: IpAddr) -> Option<Connected> {
        let peer = peer.to_canonical();
        if self.exempt.iter().any(|network| network.contains(&peer)) {
            return Some(Connected { counted: None });
        }
        let mut open = self.open();
        for (network, factor) in network::containing(peer) {
            if open.get(&network).is_some_and(|own| *own >= self.each_max * factor as usize) {
                return None;
            }
        }
        for (network, _) in network::containing(peer) {
            *open.entry(network).or_default() += 1;
        }
        Some(Connected { counted: Some((Arc::clone(self), peer)) })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Network, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let Some((clients, peer)) = &self.counted else { return };
        let mut open = clients.open();
        for (network, _) in network::containing(*peer) {
            if let Some(own) = open.get_mut(&network) {
                *own -= 1;
                if *own == 0 {
                    open.remove(&network);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_or_a_64_and_a_proxy_is_none() {
        let clients = Arc::new(Clients::new(2, vec!["10.0.0.0/8".parse().unwrap()]));
        let connect = |text: &str| clients.connect(text.parse().unwrap());
        let (first, second) = (connect("2001:db8::1"), connect("2001:db8::2"));
        assert!(first.is_some() && second.is_some());
        assert!(connect("2001:db8::3").is_none());
        let others = [connect("2001:db8:0:1::1"), connect("192.0.2.1"), connect("::ffff:192.0.2.1")];
        assert!(others.iter().all(Option::is_some));
        assert!(connect("192.0.2.1").is_none());
        let proxied: Vec<_> = (0..3).map(|_| connect("10.1.2.3")).collect();
        assert!(proxied.iter().all(Option::is_some));
        let line = [connect("2001:db8:0:2::1"), connect("2001:db8:0:3::1")];
        assert!(line[0].is_some() && line[1].is_none(), "a /56 holds twice as many");
        drop(first);
        assert!(connect("2001:db8::3").is_some());
        drop((second, others, proxied, line));
        assert!(clients.open().is_empty());
    }
}

//! Counts by client network, for limits on concurrent use by each network.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::domain::network::{self, Network};

/// Positive counts by network.
#[derive(Default)]
pub(super) struct NetworkCounts(HashMap<Network, usize>);

impl NetworkCounts {
    pub(super) fn get(&self, network: &Network) -> usize {
        self.0.get(network).copied().unwrap_or_default()
    }

    /// Adds one to the count of each network that contains the address.
    pub(super) fn add(&mut self, address: IpAddr) {
        for (network, _) in network::containing(address) {
            *self.0.entry(network).or_default() += 1;
        }
    }

    /// Undoes one [`NetworkCounts::add`].
    pub(super) fn remove(&mut self, address: IpAddr) {
        for (network, _) in network::containing(address) {
            if let Some(count) = self.0.get_mut(&network) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&network);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

//! The network as deliveries see it: looking up a host, and connecting to an address. The system's, or one that a test
//! scripts.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::{TcpStream, lookup_host};

/// What a network gives, later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Looks up hosts and connects to addresses.
pub trait Network: Send + Sync {
    /// Every address of a host, which is a name, or an address in whatever spelling.
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> Later<'a, Vec<SocketAddr>>;

    /// A connection to this very address.
    fn connect(&self, address: SocketAddr) -> Later<'_, TcpStream>;
}

/// The system's network.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Network for System {
    /// As the system resolves names: its name servers, its file of hosts.
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> Later<'a, Vec<SocketAddr>> {
        Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) })
    }

    fn connect(&self, address: SocketAddr) -> Later<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}

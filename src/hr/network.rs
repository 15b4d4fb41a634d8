//! The two network operations that deliveries need, as a trait: looking up a host and connecting. Tests use a scripted
//! network.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::{TcpStream, lookup_host};

/// The future of a network operation, boxed so that [`DeliveryNetwork`] can be a trait object.
pub type NetworkFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A network that can look up hosts and connect to addresses.
pub trait DeliveryNetwork: Send + Sync {
    /// Returns all addresses of `host`, which is a name or an IP address in any spelling that the resolver accepts.
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, Vec<SocketAddr>>;

    /// Connects to exactly this address, so that a second lookup cannot lead elsewhere.
    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, TcpStream>;
}

/// The operating system's network.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNetwork;

impl DeliveryNetwork for SystemNetwork {
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, Vec<SocketAddr>> {
        Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) })
    }

    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}

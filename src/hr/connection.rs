//! A connection to an HR system: the host is looked up once, every answer must be an address that may be reached, and
//! the connection goes to one of these very addresses.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::network::Network;
use super::tls::Tls;
use crate::domain::address;
use crate::domain::hr_integration::Target;

/// Addresses of a host that are tried, one after the other: two families, and one that is down.
const ADDRESSES_MAX: usize = 4;

/// How an attempt reaches its target.
pub(super) struct Route {
    pub(super) network: Arc<dyn Network>,
    pub(super) tls: Arc<Tls>,
    pub(super) allow_private_targets: bool,
    pub(super) timeout: Duration,
    /// Held for as long as a look-up goes on, which may be longer than the attempt.
    pub(super) look_up: mpsc::Sender<Infallible>,
}

/// Why an attempt ended before there was a whole answer.
#[derive(Debug)]
pub(super) struct Fault {
    /// For admins.
    pub(super) sentence: String,
    /// Whether its time was up.
    pub(super) timed_out: bool,
}

impl From<String> for Fault {
    fn from(sentence: String) -> Self {
        Self { sentence, timed_out: false }
    }
}

/// Bytes that go both ways.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Opens a connection. The addresses that are tried share `limit` among them.
///
/// # Errors
/// A [`Fault`] for a host without an address, or with one that is not public; for a target that takes no connection;
/// for a certificate that is not good.
pub(super) async fn open(route: &Route, target: &Target, limit: Duration) -> Result<Box<dyn Stream>, Fault> {
    let addresses = look_up(route, target).await?;
    if !route.allow_private_targets {
        addresses.iter().try_for_each(require_public)?;
    }
    let stream = connect(route.network.as_ref(), &addresses, limit).await?;
    let _ = stream.set_nodelay(true);
    if target.is_tls { Ok(Box::new(route.tls.connect(&target.host, stream).await?)) } else { Ok(Box::new(stream)) }
}

/// The system's look-up goes on, on a thread, when nobody waits for it any more. So does the task here: the route tells
/// when it has ended.
async fn look_up(route: &Route, target: &Target) -> Result<Vec<SocketAddr>, Fault> {
    let (network, under_way) = (Arc::clone(&route.network), route.look_up.clone());
    let (host, port) = (target.host.clone(), target.port);
    let looking = tokio::spawn(async move {
        let found = network.look_up(&host, port).await;
        drop(under_way);
        found
    });
    let found = looking.await.map_err(|error| format!("the host cannot be looked up: {error}"))?;
    found.map_err(|error| format!("the host cannot be looked up: {error}").into())
}

fn require_public(address: &SocketAddr) -> Result<(), String> {
    let ip = address.ip();
    address::require_public(ip).map_err(|kind| {
        format!(
            "refused: the host's address {ip} is {kind}, and deliveries go to public addresses only, unless the service \
             runs with --allow-private-hr-targets"
        )
    })
}

/// A connection to the first of the addresses that takes one.
async fn connect(network: &dyn Network, addresses: &[SocketAddr], limit: Duration) -> Result<TcpStream, Fault> {
    let tried = &addresses[..addresses.len().min(ADDRESSES_MAX)];
    let limit = limit / u32::try_from(tried.len().max(1)).unwrap_or(1);
    let mut first = None;
    for address in tried {
        let fault = match tokio::time::timeout(limit, network.connect(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => Fault { sentence: format!("no connection to {address}: {error}"), timed_out: false },
            Err(_) => Fault { sentence: format!("no connection to {address} in {limit:?}"), timed_out: true },
        };
        first.get_or_insert(fault);
    }
    Err(first.unwrap_or_else(|| "the host has no address".to_owned().into()))
}

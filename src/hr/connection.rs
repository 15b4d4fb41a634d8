//! Connects to an HR system. `open` looks up the host once, and every address that the lookup returns must be allowed.
//! The connection goes to one of these addresses, so that a second lookup cannot lead into a private network (DNS
//! rebinding).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::network::DeliveryNetwork;
use super::tls::Tls;
use crate::domain::address;
use crate::domain::hr_integration::Target;

/// The maximum number of a host's addresses that are tried, in order. Four addresses allow for IPv4, IPv6 and a server
/// that is down.
const ADDRESSES_MAX: usize = 4;

/// Everything that an attempt needs to connect to an HR system.
pub(super) struct Connector {
    pub(super) network: Arc<dyn DeliveryNetwork>,
    pub(super) tls: Arc<Tls>,
    pub(super) allow_private_targets: bool,
    pub(super) timeout: Duration,
    /// Each host lookup holds a clone of this sender until the lookup has ended, which may be after the attempt.
    pub(super) lookup_guard: mpsc::Sender<Infallible>,
}

/// The reason why an attempt ended without a complete response.
#[derive(Debug)]
pub(super) struct AttemptError {
    /// A sentence for admins.
    pub(super) sentence: String,
    pub(super) timed_out: bool,
}

impl From<String> for AttemptError {
    fn from(sentence: String) -> Self {
        Self { sentence, timed_out: false }
    }
}

/// A plain or TLS connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Opens a connection. The time limit is divided among the addresses that are tried.
///
/// # Errors
/// Fails if the host cannot be looked up or has no address, if one of its addresses is not public (unless private
/// targets are allowed), if no address accepts a connection, or if TLS fails.
pub(super) async fn open(
    connector: &Connector,
    target: &Target,
    limit: Duration,
) -> Result<Box<dyn Stream>, AttemptError> {
    let addresses = look_up(connector, target).await?;
    if !connector.allow_private_targets {
        addresses.iter().try_for_each(require_public)?;
    }
    let stream = connect(connector.network.as_ref(), &addresses, limit).await?;
    let _ = stream.set_nodelay(true);
    if target.is_tls { Ok(Box::new(connector.tls.connect(&target.host, stream).await?)) } else { Ok(Box::new(stream)) }
}

/// Looks up the host in a separate task. The system's lookup cannot be cancelled: it blocks its thread even after the
/// attempt has timed out. The task drops its clone of `lookup_guard` when the lookup has really ended.
async fn look_up(connector: &Connector, target: &Target) -> Result<Vec<SocketAddr>, AttemptError> {
    let (network, guard) = (Arc::clone(&connector.network), connector.lookup_guard.clone());
    let (host, port) = (target.host.clone(), target.port);
    let lookup = tokio::spawn(async move {
        let found = network.look_up(&host, port).await;
        drop(guard);
        found
    });
    let found = lookup.await.map_err(|error| format!("the host cannot be looked up: {error}"))?;
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

/// Connects to the first address that accepts the connection. If no address does, returns the first failure.
async fn connect(
    network: &dyn DeliveryNetwork,
    addresses: &[SocketAddr],
    limit: Duration,
) -> Result<TcpStream, AttemptError> {
    let tried = &addresses[..addresses.len().min(ADDRESSES_MAX)];
    let limit = limit / u32::try_from(tried.len().max(1)).unwrap_or(1);
    let mut first = None;
    for address in tried {
        let fault = match tokio::time::timeout(limit, network.connect(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => {
                AttemptError { sentence: format!("no connection to {address}: {error}"), timed_out: false }
            }
            Err(_) => {
                AttemptError { sentence: format!("no connection to {address} within {limit:?}"), timed_out: true }
            }
        };
        first.get_or_insert(fault);
    }
    Err(first.unwrap_or_else(|| "the host has no address".to_owned().into()))
}

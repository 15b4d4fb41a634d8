//! The attempts to connect to the server. They are asynchronous, because this module tries several hosts at the same
//! time. All other code of this engine waits on the calling thread.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket};

use super::error::Failure;
use super::target::TargetHost;
use super::tls::Connector;

/// The time after which a silent host no longer delays the next one. A host in the same data centre answers within a
/// few milliseconds.
const HEAD_START: Duration = Duration::from_millis(250);

/// The messages that the server sends without being asked.
#[derive(Default)]
pub(super) struct Messages {
    /// Whether a warning has arrived since the last call of [`Messages::take_warning`].
    has_warning: AtomicBool,
}

impl Messages {
    /// Returns whether a warning has arrived since the last call.
    pub(super) fn take_warning(&self) -> bool {
        self.has_warning.swap(false, Ordering::Relaxed)
    }
}

/// The client of an open session. The runtime of the session drives the connection.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) messages: Arc<Messages>,
}

/// Connects to the hosts in their order, and returns the client of the first host that accepts writes. While a host is
/// silent, this function retries the hosts that have refused, because one of them may be about to become the primary.
/// Returns `None` when all hosts have failed.
pub(super) async fn open_first(hosts: &[TargetHost], failures: &mut [Option<Failure>]) -> Option<Opened> {
    let mut asked = JoinSet::new();
    let mut next: VecDeque<usize> = (0..hosts.len()).collect();
    let mut refused = Vec::new();
    loop {
        if let Some(index) = next.pop_front() {
            let connecting = connect(hosts[index].clone());
            asked.spawn(async move { (index, connecting.await) });
        }
        match tokio::time::timeout(HEAD_START, asked.join_next()).await {
            Ok(Some(Ok((_, Ok(opened))))) => return Some(opened),
            Ok(Some(Ok((index, Err(failure))))) => {
                failures[index] = Some(Failure::Driver(failure));
                refused.push(index);
            }
            // A connection attempt has panicked.
            Ok(Some(Err(_))) => {}
            Ok(None) => return None,
            Err(_) if next.is_empty() => next.extend(refused.drain(..)),
            Err(_) => {}
        }
    }
}

async fn connect(host: TargetHost) -> Result<Opened, tokio_postgres::Error> {
    let messages = Arc::new(Messages::default());
    let client = match host.tls {
        None => {
            let (client, connection) = host.config.connect(NoTls).await?;
            drop(tokio::spawn(Drive { connection, messages: Arc::clone(&messages) }));
            client
        }
        Some(tls) => {
            let (client, connection) = host.config.connect(Connector(tls)).await?;
            drop(tokio::spawn(Drive { connection, messages: Arc::clone(&messages) }));
            client
        }
    };
    Ok(Opened { client, messages })
}

/// The driver's side of a session: it writes requests, reads answers, and receives messages.
struct Drive<T> {
    connection: Connection<Socket, T>,
    messages: Arc<Messages>,
}

impl<T: tokio_postgres::tls::TlsStream + Unpin> Future for Drive<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match std::task::ready!(self.connection.poll_message(cx)) {
                Some(Ok(AsyncMessage::Notice(notice))) if notice.parsed_severity() == Some(Severity::Warning) => {
                    self.messages.has_warning.store(true, Ordering::Relaxed);
                }
                Some(Ok(_)) => {}
                // The client reports the failure to its caller.
                Some(Err(_)) | None => return Poll::Ready(()),
            }
        }
    }
}

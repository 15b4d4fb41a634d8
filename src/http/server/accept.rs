//! The server: accepts connections within limits, passes their requests to the gate, and stops gracefully.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::client_stream::ClientStream;
use super::connection_limit::{ConnectionLimit, CountedConnection};
use super::ctx::Ctx;
use super::gate::{self, ResponseBody};
use super::handshake_filter::refuse_handshakes;
use super::http_socket::{self, HttpSocket, ResponseProgress, TrackedBody};
use super::refusal_writer;
use super::reply;
use super::service::Service;
use super::table::Table;
use super::tls::certificate::Tls;
use super::tls::handshake::shake_hands;
use crate::store::{Closed, Error, Halt};

/// The maximum number of open connections, which is far more than a small organization needs. Each connection uses
/// about 10 KiB. At the limit, the next connection waits in the listen queue until another one ends.
const CONNECTIONS_MAX: usize = 16_384;

/// The maximum number of open connections from one client address or one IPv6 /64: one sixteenth of all connections.
/// This is enough for an office of 150 people whose browsers open six connections each.
const CLIENT_CONNECTIONS_MAX: usize = 1_024;

/// The maximum time that a client may take to send a request's head. A connection may stay idle between requests for
/// the same time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum time for which data may stay unacknowledged, or unsent because the client does not read. After this
/// time, the system closes the connection.
#[cfg(target_os = "linux")]
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The size of the read buffer for a request's head. It exceeds the limits on the URI and the header fields, so that
/// heads slightly over those limits get a problem document that names the limit.
const HEAD_BUFFER_BYTES: usize = 64 * 1_024;

/// The maximum time that requests in progress may take to end after the service has been asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The time for which idle connections stay open for one more request after the service has been asked to stop. A
/// request that is on its way at that moment arrives within this time, which is several round trips around the world.
const DRAIN: Duration = Duration::from_secs(1);

/// The pause after the system failed to accept a connection, for example because no file descriptor is left. Retrying
/// at once would use a whole core.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The way in which a service stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// The service stopped on request, after all requests in progress had ended.
    Gracefully,
    /// The service stopped on request, but some requests did not end in time.
    WithRequestsLeft,
    /// The service stopped on request, but the write-ahead log could not be moved into the file completely. The string
    /// gives the reason.
    WithLogLeft(String),
    /// The service stopped because the store halted permanently.
    Broken(Halt),
}

/// A service with its listening socket.
pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
    /// Whether the service manager also holds the socket.
    is_inherited: bool,
}

impl Server {
    /// Creates a server for a socket that is already bound.
    pub fn new(listener: TcpListener, ctx: Arc<Ctx>, table: Table) -> Self {
        Self { listener, service: Arc::new(Service { ctx, table }), is_inherited: false }
    }

    /// Leaves the socket as it is when the server stops, because the service manager passes the same socket to the next
    /// process. Connections that arrive before that process starts wait in the listen queue.
    #[must_use]
    pub fn with_inherited_socket(self) -> Self {
        Self { is_inherited: true, ..self }
    }

    /// Answers requests until `stop` resolves or the store halts, then finishes the requests in progress. `background`
    /// is polled while the requests finish. When `background` has ended, and the requests have ended or their time is
    /// over, the store is closed, unless it halted.
    pub async fn run(self, stop: impl Future<Output = ()>, background: impl Future<Output = ()>) -> Stopped {
        let Self { listener, service, is_inherited } = self;
        let ctx = Arc::clone(&service.ctx);
        let runtime = tokio::runtime::Handle::current();
        ctx.store.answer_by(move |answers| drop(runtime.spawn(async move { answers() })));
        let acceptor = Acceptor::new(service);
        let broken = tokio::select! {
            () = acceptor.accept_all(&listener) => None,
            () = stop => None,
            halt = watch_store(&ctx) => Some(halt),
        };
        if !is_inherited {
            acceptor.close(listener);
        }
        ctx.begin_stop();
        let end = async {
            acceptor.drain().await;
            acceptor.graceful.shutdown().await;
        };
        let (ended, ()) = tokio::join!(tokio::time::timeout(STOP_TIMEOUT, end), background);
        let closed = match broken {
            Some(halt) => Closed::Halted(halt),
            None => {
                let ctx = Arc::clone(&ctx);
                let close = move || {
                    let closed = ctx.store.close();
                    // Write the log lines of the last requests before the line that reports the stop.
                    ctx.telemetry.flush();
                    closed
                };
                let closed = tokio::task::spawn_blocking(close).await;
                closed.unwrap_or_else(|_| Closed::LogLeft("closing the database panicked".to_owned()))
            }
        };
        match (closed, ended) {
            (Closed::Halted(halt), _) => {
                // Leak the store: dropping its last connection would checkpoint the write-ahead log, but the file of a
                // halted store must not change.
                ctx.telemetry.flush();
                std::mem::forget(ctx);
                Stopped::Broken(halt)
            }
            (Closed::LogLeft(why), _) => Stopped::WithLogLeft(why),
            (Closed::Whole, Ok(())) => Stopped::Gracefully,
            (Closed::Whole, Err(_)) => Stopped::WithRequestsLeft,
        }
    }
}

/// The permits that an open connection holds: one from the limit on all connections, and one from the limit on its
/// client's network.
type Permits = (OwnedSemaphorePermit, CountedConnection);

/// The part of the server that accepts connections within the limits.
struct Acceptor {
    service: Arc<Service>,
    graceful: GracefulShutdown,
    /// Becomes true when connections that have not completed their TLS handshake must end.
    handshakes_over: watch::Sender<bool>,
    permits: Arc<Semaphore>,
    clients: Arc<ConnectionLimit>,
}

impl Acceptor {
    fn new(service: Arc<Service>) -> Self {
        let clients = ConnectionLimit::new(CLIENT_CONNECTIONS_MAX, service.ctx.settings.trusted_proxies.clone());
        Self {
            service,
            graceful: GracefulShutdown::new(),
            handshakes_over: watch::Sender::new(false),
            permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            clients: Arc::new(clients),
        }
    }

    async fn accept_all(&self, listener: &TcpListener) {
        while let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, peer)) => self.admit(stream, peer, permit),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Closes the listener. Connections that wait in the system's queue are still served, because their clients might
    /// have sent requests.
    fn close(&self, listener: TcpListener) {
        refuse_handshakes(&listener);
        if let Ok(listener) = listener.into_std() {
            while self.accept_waiting(&listener) > 0 {}
        }
    }

    /// Waits until all connections have ended, but at most for [`DRAIN`]. In this time, every open connection can get
    /// one more response, which contains `Connection: close`. Closing the connections at once would lose requests that
    /// are on their way. Afterwards, ends the TLS handshakes that are still in progress.
    async fn drain(&self) {
        let all_gone = self.permits.acquire_many(CONNECTIONS_MAX as u32);
        let _ = tokio::time::timeout(DRAIN, all_gone).await;
        self.handshakes_over.send_replace(true);
    }

    /// Accepts the connections in the system's queue, as long as permits are free, and returns their number. Calls the
    /// system directly, because the runtime might not know of these connections yet.
    fn accept_waiting(&self, listener: &std::net::TcpListener) -> usize {
        let mut accepted = 0;
        while let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned()
            && let Ok((stream, peer)) = listener.accept()
        {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.admit(stream, peer, permit);
                accepted += 1;
            }
        }
        accepted
    }

    /// Serves a connection, or refuses it if its client has too many connections. With TLS, the refusal has no text,
    /// because a text would require a handshake.
    fn admit(&self, stream: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit) {
        let ctx = &self.service.ctx;
        match (self.clients.connect(peer.ip()), &ctx.tls) {
            (Some(connected), None) => self.serve(stream, peer, (permit, connected)),
            (Some(connected), Some(tls)) => self.serve_tls(Arc::clone(tls), stream, peer, (permit, connected)),
            (None, None) => drop(tokio::spawn(refuse_connection(Arc::clone(ctx), stream, permit))),
            (None, Some(_)) => {}
        }
    }

    /// Serves one connection on its own task.
    fn serve(&self, stream: TcpStream, peer: SocketAddr, permits: Permits) {
        prepare(&stream);
        let connection = connection(&self.service, ClientStream::Plain(stream), peer, permits);
        // Ignore how the connection ends: a failed connection affects no other client. Spawn the connection itself,
        // because an async block that awaits the connection would take twice as much memory.
        tokio::spawn(self.graceful.watch(connection));
    }

    /// Serves one connection after its TLS handshake. The connection holds its permits during the handshake too.
    fn serve_tls(&self, tls: Arc<Tls>, stream: TcpStream, peer: SocketAddr, permits: Permits) {
        prepare(&stream);
        let service = Arc::clone(&self.service);
        let (watcher, mut over) = (self.graceful.watcher(), self.handshakes_over.subscribe());
        tokio::spawn(async move {
            let stream = tokio::select! {
                stream = shake_hands(&service.ctx, &tls, stream) => stream,
                _ = over.wait_for(|over| *over) => None,
            };
            if let Some(stream) = stream {
                tokio::spawn(watcher.watch(connection(&service, stream, peer, permits)));
            }
        });
    }
}

/// Returns a connection that answers requests when it is polled. Each request runs on its own task, unless the response
/// is cached or the fast path answers the request. A client that disconnects therefore does not interrupt the request's
/// task, and a panic in that task ends only one request.
fn connection(
    service: &Arc<Service>,
    stream: ClientStream,
    peer: SocketAddr,
    permits: Permits,
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    let progress = Arc::new(ResponseProgress::default());
    let wire = HttpSocket::new(stream, Arc::clone(&service.ctx), Arc::clone(&progress));
    let shared = Arc::clone(service);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        // The closure owns the permits, so they are released when the connection is dropped.
        let _permits = &permits;
        progress.begin();
        let cached = gate::cached(&shared.ctx, &request).map(|cached| complete(&shared.ctx, cached));
        // Without the box, the future of a cached response would be as large as the future of a rendered response.
        let rendered = cached.ok_or_else(|| Box::pin(answer(Arc::clone(&shared), peer, request)));
        let progress = Arc::clone(&progress);
        async move {
            let response = match rendered {
                Ok(cached) => cached,
                Err(rendered) => rendered.await,
            };
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, progress)))
        }
    });
    builder().serve_connection(wire, service)
}

/// Sets the options of a client's socket.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    set_unread_timeout(stream);
}

/// Adds `Strict-Transport-Security` and `Connection: close` if the service's settings and state require them.
fn complete(ctx: &Ctx, mut response: Response<ResponseBody>) -> Response<ResponseBody> {
    if ctx.settings.is_https() {
        reply::require_https(response.headers_mut());
    }
    if ctx.is_stopping() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Answers an excess connection with a 503, without reading a request. The permit limits the number of these
/// connections.
async fn refuse_connection(ctx: Arc<Ctx>, stream: TcpStream, permit: OwnedSemaphorePermit) {
    let text = http_socket::refuse(&ctx, Error::Unavailable("too many connections from one address".to_owned()));
    refusal_writer::send(&stream, &text).await;
    drop(permit);
}

async fn answer(service: Arc<Service>, peer: SocketAddr, request: hyper::Request<Incoming>) -> Response<ResponseBody> {
    let ctx = &service.ctx;
    if let Some(fast_path) = gate::begin_fast_path(&service, peer, &request) {
        // The request's bytes are in the connection's read buffer. Drop the request first, because the connection would
        // otherwise allocate another buffer.
        drop(request);
        let response = fast_path.answer(ctx).await.map(ResponseBody::InMemory);
        return complete(ctx, response);
    }
    let answered = tokio::spawn(gate::answer(Arc::clone(&service), peer, request)).await;
    complete(ctx, answered.unwrap_or_else(|_| gate::panic_response(ctx)))
}

/// Returns a builder for hyper's HTTP/1 connections, with the service's settings and limits.
pub(super) fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        // Keep hyper's default limit of 100 header fields. With a higher limit, hyper would allocate a table of that
        // size for each request.
        .max_buf_size(HEAD_BUFFER_BYTES)
        // A client that closes its sending side still gets its response.
        .half_close(true);
    builder
}

/// Limits how long a client may leave its response unread. Otherwise, a client that never reads would keep its
/// connection open indefinitely. The service sets this option only on Linux.
#[cfg(target_os = "linux")]
pub(super) fn set_unread_timeout(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD_TIMEOUT));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn set_unread_timeout(_: &TcpStream) {}

/// Returns when the store has halted permanently. Until then, the function frees idle hash memory and logs which
/// background jobs start or stop failing.
async fn watch_store(ctx: &Ctx) -> Halt {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        ctx.free_idle_hash_memory();
        for line in ctx.store.health().news() {
            ctx.telemetry.warn(ctx.world.now(), &line);
        }
        if let Some(halt) = ctx.store.broken() {
            ctx.telemetry.warn(ctx.world.now(), &format!("stopping: {halt}"));
            return halt;
        }
    }
}

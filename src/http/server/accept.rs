//! The server: accepts connections within limits, hands their requests to the gate, stops gracefully.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::clients::{Clients, Connected};
use super::ctx::Ctx;
use super::gate::{self, Outgoing};
use super::metrics;
use super::reply;
use super::service::Service;
use super::table::Table;
use super::wire::{self, Progress, Tracked, Wire};
use crate::store::{Closed, Error, Halt};

/// Connections at once: far more than a small organization has, each some 10 KiB. Past it the next one waits to be
/// accepted until another ends.
const CONNECTIONS_MAX: usize = 16_384;

/// Those of one client address, or one /64 of IPv6: an office of 150 people whose browsers open six each, and a sixteenth
/// of all.
const CONNECTIONS_OF_ONE_MAX: usize = 1_024;

/// Connections of whoever reads the metrics.
const METRICS_CONNECTIONS_MAX: usize = 16;

/// How long a connection may take to send a request's head, and to begin the next one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may leave its answer unread, or a network unacknowledged, before its connection is closed.
#[cfg(target_os = "linux")]
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// What is read of a head before it is refused unseen: more than the limits that are answered in words.
const HEAD_BUFFER_BYTES: usize = 64 * 1_024;

/// How long requests that have begun may take to end once the service is told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How long idle connections stay open for one more request once the service is told to stop. A request that was on its
/// way at that moment arrives within this time: it is several round trips around the world.
const DRAIN: Duration = Duration::from_secs(1);

/// How long accepting pauses after the system refused, when there are no more file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long the answer to a connection too many may take to be sent.
const TURN_AWAY_TIMEOUT: Duration = Duration::from_secs(1);

/// How a service ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// It was told to, and everything begun was answered.
    Gracefully,
    /// It was told to, and some requests had not ended in time.
    WithRequestsLeft,
    /// It was told to, and everything begun was answered, but the write-ahead log is not whole in the file; the sentence
    /// says why.
    WithLogLeft(String),
    /// The file cannot be trusted to this process any more.
    Broken(Halt),
}

/// A service that listens.
pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
}

impl Server {
    /// A service on a socket that is bound already.
    pub fn new(listener: TcpListener, ctx: Arc<Ctx>, table: Table) -> Self {
        Self { listener, service: Arc::new(Service { ctx, table }) }
    }

    /// Answers requests until `stop` resolves, then finishes those that have begun and closes the file. `beside` is what
    /// else has to end before that, and is polled from then on.
    pub async fn run(self, stop: impl Future<Output = ()>, beside: impl Future<Output = ()>) -> Stopped {
        let Self { listener, service } = self;
        let ctx = Arc::clone(&service.ctx);
        let runtime = tokio::runtime::Handle::current();
        ctx.store.answer_by(move |answers| drop(runtime.spawn(async move { answers() })));
        let entrance = Entrance::new(service);
        let broken = tokio::select! {
            () = entrance.accept_all(&listener) => None,
            () = stop => None,
            why = watch(&ctx) => Some(why),
        };
        entrance.close(listener);
        ctx.begin_stop();
        let end = async {
            entrance.drain().await;
            entrance.graceful.shutdown().await;
        };
        let (ended, ()) = tokio::join!(tokio::time::timeout(STOP_TIMEOUT, end), beside);
        let closed = match broken {
            Some(halt) => Closed::Halted(halt),
            None => {
                let ours = Arc::clone(&ctx);
                let closed = tokio::task::spawn_blocking(move || ours.store.close()).await;
                closed.unwrap_or_else(|_| Closed::LogLeft("closing it ended in a panic".to_owned()))
            }
        };
        match (closed, ended) {
            (Closed::Halted(halt), _) => {
                // Closing the last connection would move the log into the file, which is to be found as it is.
                std::mem::forget(ctx);
                Stopped::Broken(halt)
            }
            (Closed::LogLeft(why), _) => Stopped::WithLogLeft(why),
            (Closed::Whole, Ok(())) => Stopped::Gracefully,
            (Closed::Whole, Err(_)) => Stopped::WithRequestsLeft,
        }
    }
}

/// Where connections come in: their limits, and what they need to be served.
struct Entrance {
    service: Arc<Service>,
    graceful: GracefulShutdown,
    permits: Arc<Semaphore>,
    clients: Arc<Clients>,
}

impl Entrance {
    fn new(service: Arc<Service>) -> Self {
        let clients = Clients::new(CONNECTIONS_OF_ONE_MAX, service.ctx.settings.trusted_proxies.clone());
        Self {
            service,
            graceful: GracefulShutdown::new(),
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

    /// Takes no more connections. Those that the system has accepted already are served: their clients may have sent
    /// requests on them.
    fn close(&self, listener: TcpListener) {
        refuse_handshakes(&listener);
        if let Ok(listener) = listener.into_std() {
            while self.accept_waiting(&listener) > 0 {}
        }
    }

    /// Gives every open connection the time for one more answer, which says `Connection: close`: closed at once, it would
    /// take a request with it that is on its way.
    async fn drain(&self) {
        let all_gone = self.permits.acquire_many(CONNECTIONS_MAX as u32);
        let _ = tokio::time::timeout(DRAIN, all_gone).await;
    }

    /// Accepts what waits in the system's queue; how many that was. The runtime may not know of them yet, so the system
    /// itself is asked.
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

    /// Serves a connection, or refuses it where its client has too many.
    fn admit(&self, stream: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit) {
        match self.clients.connect(peer.ip()) {
            Some(connected) => self.serve(stream, peer, (permit, connected)),
            None => drop(tokio::spawn(turn_away(Arc::clone(&self.service.ctx), stream, permit))),
        }
    }

    /// Serves one connection on a task of its own, and each of its requests on one too, unless it takes a fast path: a
    /// client that hangs up does not interrupt what has begun, and a panic ends one request.
    fn serve(&self, stream: TcpStream, peer: SocketAddr, permits: (OwnedSemaphorePermit, Connected)) {
        let _ = stream.set_nodelay(true);
        bound_unread(&stream);
        let progress = Arc::new(Progress::default());
        let wire = Wire::new(stream, Arc::clone(&self.service.ctx), Arc::clone(&progress));
        let ours = Arc::clone(&self.service);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            // They are free again when the connection goes, and with it this.
            let _permits = &permits;
            progress.begin();
            let cached = gate::cached(&ours.ctx, &request).map(|cached| complete(&ours.ctx, cached));
            // In a box of its own: otherwise a cached response would move all the room that another one may need.
            let rendered = cached.ok_or_else(|| Box::pin(answer(Arc::clone(&ours), peer, request)));
            let progress = Arc::clone(&progress);
            async move {
                let response = match rendered {
                    Ok(cached) => cached,
                    Err(rendered) => rendered.await,
                };
                Ok::<_, Infallible>(response.map(|body| Tracked::new(body, progress)))
            }
        });
        let connection = builder().serve_connection(wire, service);
        // What ends a connection badly, such as a client that is gone, concerns nobody else. The connection itself is the
        // task: a block that waits for it would have room for it twice.
        tokio::spawn(self.graceful.watch(connection));
    }
}

/// The answer with the fields that depend on the service's state and settings, whatever was asked.
fn complete(ctx: &Ctx, mut response: Response<Outgoing>) -> Response<Outgoing> {
    if ctx.settings.is_https() {
        reply::require_https(response.headers_mut());
    }
    if ctx.is_stopping() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Answers a connection that its client may not have: a 503, and nothing is read. The permit bounds how many there are.
async fn turn_away(ctx: Arc<Ctx>, stream: TcpStream, permit: OwnedSemaphorePermit) {
    let text = wire::refuse(&ctx, Error::Unavailable("too many connections from one address".to_owned()));
    let send = async {
        let mut rest = &text[..];
        while !rest.is_empty() && stream.writable().await.is_ok() {
            match stream.try_write(rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = tokio::time::timeout(TURN_AWAY_TIMEOUT, send).await;
    drop(permit);
}

/// Lets no new connection begin while the last ones are accepted: one that came in between the last look at the queue and
/// the end of the listener would be reset, with the request on it. A client whose first segment is dropped sends it again.
#[cfg(target_os = "linux")]
fn refuse_handshakes(listener: &TcpListener) {
    use socket2::SockFilter;
    // Classic BPF on the TCP header: drop the segments with SYN and without ACK.
    let filter = [
        SockFilter::new(0x30, 0, 0, 13),       // A = the byte with the flags
        SockFilter::new(0x54, 0, 0, 0x12),     // A = A & (SYN | ACK)
        SockFilter::new(0x15, 0, 1, 0x02),     // A == SYN
        SockFilter::new(0x06, 0, 0, 0),        // drop
        SockFilter::new(0x06, 0, 0, u32::MAX), // keep
    ];
    let _ = socket2::SockRef::from(listener).attach_filter(&filter);
}

#[cfg(not(target_os = "linux"))]
fn refuse_handshakes(_: &TcpListener) {}

async fn answer(service: Arc<Service>, peer: SocketAddr, request: hyper::Request<Incoming>) -> Response<Outgoing> {
    let ctx = &service.ctx;
    if let Some(fast_path) = gate::begin_fast_path(&service, peer, &request) {
        // Its bytes lie in the buffer that the connection reads into, which would have to have another one meanwhile.
        drop(request);
        let response = fast_path.answer(ctx).await.map(Outgoing::Whole);
        return complete(ctx, response);
    }
    let answered = tokio::spawn(gate::answer(Arc::clone(&service), peer, request)).await;
    complete(ctx, answered.unwrap_or_else(|_| gate::broken_off(ctx)))
}

/// How connections are read, within their limits.
fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        // The limit of 100 header fields is hyper's own: for a higher one it fills a table of that size at each request.
        .max_buf_size(HEAD_BUFFER_BYTES)
        // A client that sends and closes its side still gets its answer.
        .half_close(true);
    builder
}

/// Otherwise a client that never reads its answer keeps its place for ever. Linux only has this.
#[cfg(target_os = "linux")]
fn bound_unread(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD_TIMEOUT));
}

#[cfg(not(target_os = "linux"))]
fn bound_unread(_: &TcpStream) {}

/// Resolves when the store has stopped for good. Frees what an idle service does not need, and logs which jobs fail and which
/// work again.
async fn watch(ctx: &Ctx) -> Halt {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        ctx.free_idle_hash_memory();
        for line in ctx.store.health().news() {
            ctx.telemetry.note(ctx.world.now(), None, &line);
        }
        if let Some(halt) = ctx.store.broken() {
            ctx.telemetry.note(ctx.world.now(), None, &format!("stopping: {halt}"));
            return halt;
        }
    }
}

/// Answers `GET /metrics` on an address of its own, for as long as it is polled.
pub async fn serve_metrics(listener: TcpListener, ctx: Arc<Ctx>) {
    let places = Arc::new(Semaphore::new(METRICS_CONNECTIONS_MAX));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let ctx = Arc::clone(&ctx);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let response = metrics_response(&ctx, request.uri().path());
            async move { Ok::<_, Infallible>(response) }
        });
        bound_unread(&stream);
        let connection = builder().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _place = place;
            let _ = connection.await;
        });
    }
}

fn metrics_response(ctx: &Ctx, path: &str) -> Response<Full<Bytes>> {
    let text = if path == "/metrics" { metrics::exposition(ctx) } else { String::new() };
    reply::Reply::metrics(text).into_unnamed()
}

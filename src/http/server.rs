//! The server: accepts connections within limits, hands their requests to the gate, stops gracefully.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ctx::Ctx;
use super::gate::{self, Outgoing};
use super::wire::Wire;

/// Connections at once: far more than a small organization has, each some 10 KiB. Past it the next one waits to be
/// accepted until another ends.
const CONNECTIONS_MAX: usize = 16_384;

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

/// How long accepting pauses after the system refused, when there are no more file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How a service ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// It was told to, and everything begun was answered.
    Gracefully,
    /// It was told to, and some requests had not ended in time.
    WithRequestsLeft,
    /// The file cannot be trusted to this process any more; the sentence says why.
    Broken(String),
}

/// A service that listens.
pub struct Server {
    listener: TcpListener,
    ctx: Arc<Ctx>,
}

impl Server {
    /// A service on a socket that is bound already.
    pub fn new(listener: TcpListener, ctx: Arc<Ctx>) -> Self {
        Self { listener, ctx }
    }

    /// Answers requests until `stop` resolves, then finishes those that have begun and closes the file. `beside` is what
    /// else has to end before that, and is polled from then on.
    pub async fn run(self, stop: impl Future<Output = ()>, beside: impl Future<Output = ()>) -> Stopped {
        let Self { listener, ctx } = self;
        let runtime = tokio::runtime::Handle::current();
        ctx.store.answer_by(move |answers| drop(runtime.spawn(async move { answers() })));
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let broken = tokio::select! {
            () = accept_all(&listener, &ctx, &graceful, &places) => None,
            () = stop => None,
            why = broken(&ctx) => Some(why),
        };
        drop(listener);
        let (ended, ()) = tokio::join!(tokio::time::timeout(STOP_TIMEOUT, graceful.shutdown()), beside);
        if broken.is_some() {
            // Closing the last connection would move the log into the file; the next start is to find it as it is.
            std::mem::forget(ctx);
        } else {
            let _ = tokio::task::spawn_blocking(move || ctx.store.close()).await;
        }
        match (broken, ended) {
            (Some(why), _) => Stopped::Broken(why),
            (None, Ok(())) => Stopped::Gracefully,
            (None, Err(_)) => Stopped::WithRequestsLeft,
        }
    }
}

async fn accept_all(listener: &TcpListener, ctx: &Arc<Ctx>, graceful: &GracefulShutdown, places: &Arc<Semaphore>) {
    while let Ok(place) = Arc::clone(places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, peer)) => connect(stream, peer, ctx, graceful, place),
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Serves one connection on a task of its own, and each of its requests on one too, unless it takes a short way: a client
/// that hangs up does not interrupt what has begun, and a panic ends one request.
fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    ctx: &Arc<Ctx>,
    graceful: &GracefulShutdown,
    place: OwnedSemaphorePermit,
) {
    let _ = stream.set_nodelay(true);
    bound_unread(&stream);
    let wire = Wire::new(stream, Arc::clone(ctx));
    let ctx = Arc::clone(ctx);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        // It is free again when the connection goes, and with it this.
        let _place = &place;
        let kept = gate::kept(&ctx, &request);
        // In a box of its own: otherwise an answer that is kept would move all the room that another one may need.
        let made = kept.ok_or_else(|| Box::pin(answer(Arc::clone(&ctx), peer, request)));
        async move {
            Ok::<_, Infallible>(match made {
                Ok(kept) => kept,
                Err(made) => made.await,
            })
        }
    });
    let connection = builder().serve_connection(wire, service);
    // What ends a connection badly, such as a client that is gone, concerns nobody else. The connection itself is the task: a
    // block that waits for it would have room for it twice.
    tokio::spawn(graceful.watch(connection));
}

async fn answer(ctx: Arc<Ctx>, peer: SocketAddr, request: hyper::Request<Incoming>) -> Response<Outgoing> {
    if let Some(short) = gate::begin_short(&ctx, peer, &request) {
        // Its bytes lie in the buffer that the connection reads into, which would have to have another one meanwhile.
        drop(request);
        return short.answer(&ctx).await.map(Outgoing::Whole);
    }
    let answered = tokio::spawn(gate::answer(Arc::clone(&ctx), peer, request)).await;
    answered.unwrap_or_else(|_| gate::broken_off(&ctx))
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

/// Resolves when the store has stopped for good.
async fn broken(ctx: &Ctx) -> String {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if let Some(why) = ctx.store.broken() {
            return why;
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
            let response = metrics(&ctx, request.uri().path());
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

fn metrics(ctx: &Ctx, path: &str) -> Response<Full<Bytes>> {
    let text = if path == "/metrics" { exposition(ctx) } else { String::new() };
    super::reply::Reply::metrics(text).into_unnamed()
}

fn exposition(ctx: &Ctx) -> String {
    let unfinished = u8::from(ctx.store.erasures().are_unfinished());
    ctx.telemetry.prometheus(&[
        ("appliance_wal_bytes", "Size of the write-ahead log.", ctx.store.wal_bytes() as f64),
        (
            "appliance_erasure_unfinished",
            "1 while the file or its log may still hold something of whom was erased, where nobody reads it.",
            f64::from(unfinished),
        ),
    ])
}

//! A small HR system that receives deliveries from the service, verifies their signatures, and prints each message as a
//! line of JSON.
//!
//! ```sh
//! cargo run --example webhook_receiver -- --listen 127.0.0.1:9000 --secret whsec_…
//! ```
//!
//! The example shows the duties of a receiver, but it stores the ids of received messages only in memory. It verifies
//! the signature over the received bytes with a library for Standard Webhooks; libraries exist for many languages, and
//! they also refuse old messages. The receiver answers promptly, and with 2xx only after it has written the message. It
//! recognizes a repeated message by its `webhook-id`.

use std::collections::HashSet;
use std::convert::Infallible;
use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use standardwebhooks::{HEADER_WEBHOOK_ID, Webhook};
use tokio::net::TcpListener;

/// The maximum size of a body. The service's messages are smaller than 20 kB, so a body above this limit comes from
/// another sender.
const MESSAGE_BYTES_MAX: usize = 64 * 1_024;

/// The time within which a client must send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Receives the messages that the service sends to an HR system.
#[derive(Debug, Parser)]
struct Args {
    /// The address to listen on; with port 0, the system chooses a free port.
    #[arg(long, default_value = "127.0.0.1:9000")]
    listen: SocketAddr,

    /// The integration's secret, which the service showed once.
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true)]
    secret: String,
}

/// The state of the receiver.
struct Inbox {
    webhook: Webhook,
    /// The ids of received messages. A real system stores them in the transaction that processes the message.
    known: Mutex<HashSet<String>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let inbox = Arc::new(Inbox { webhook: Webhook::new(&args.secret)?, known: Mutex::default() });
    let listener = TcpListener::bind(args.listen).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let inbox = Arc::clone(&inbox);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let inbox = Arc::clone(&inbox);
                async move { Ok::<_, Infallible>(answer(receive(&inbox, request).await)) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
            if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }
}

fn answer(status: StatusCode) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

async fn receive(inbox: &Inbox, request: Request<Incoming>) -> StatusCode {
    if request.method() != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED;
    }
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MESSAGE_BYTES_MAX).collect().await else {
        return StatusCode::PAYLOAD_TOO_LARGE;
    };
    let body = body.to_bytes();
    if let Err(error) = inbox.webhook.verify(&body, &head.headers) {
        eprintln!("refused a message: {error}");
        return StatusCode::UNAUTHORIZED;
    }
    let id = head.headers.get(HEADER_WEBHOOK_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let Ok(message) = serde_json::from_slice::<serde_json::Value>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    let mut known = inbox.known.lock().unwrap_or_else(PoisonError::into_inner);
    let line = serde_json::json!({ "id": id, "isNew": !known.contains(id), "message": message });
    // The receiver acknowledges a message only after it has written the message. After a 503, the service sends the
    // message again.
    if writeln!(std::io::stdout().lock(), "{line}").is_err() {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    known.insert(id.to_owned());
    StatusCode::NO_CONTENT
}

//! The limit for reads: a server that uses only hyper and tokio, in its own process.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::cores::Cores;
use super::exchange::Answer;
use super::load::{self, Course};
use super::process::Process;
use super::round::Round;

/// The first argument of the bench when it runs as the bare server.
pub(crate) const ARGUMENT: &str = "--as-bare-server";

/// Header fields that hyper adds itself.
const HYPER_FIELDS: [&str; 3] = ["content-length", "date", "connection"];

/// A running bare server.
pub(crate) struct Bare {
    address: SocketAddr,
    process: Process,
}

impl Bare {
    /// Starts the server on the server's core. The server sends these answers in turn, for any request.
    pub(crate) fn start(cores: &Cores, answers: &[Answer]) -> Self {
        let mut command = cores.server(std::env::current_exe().unwrap());
        let mut process = Process(command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let answers: Vec<Value> = answers.iter().map(wire).collect();
        writeln!(process.0.stdin.as_mut().unwrap(), "{}", json!(answers)).unwrap();
        let mut address = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { address: address.trim().parse().unwrap(), process }
    }

    pub(crate) fn round(&self, connections: usize, requests: &Arc<Vec<Vec<u8>>>, course: &Course) -> Round {
        Round::watch(&self.process, || load::run(self.address, connections, requests, course))
    }
}

fn wire(answer: &Answer) -> Value {
    let fields = answer.fields.iter().filter(|(name, _)| !HYPER_FIELDS.contains(&name.as_str()));
    // A body is not always text, so each byte becomes one character.
    let body: String = answer.body.iter().copied().map(char::from).collect();
    json!({ "fields": fields.collect::<Vec<_>>(), "body": body })
}

/// Runs the server until its standard input ends, which happens when the parent process ends.
pub(crate) fn serve() -> ! {
    let mut answers = String::new();
    std::io::stdin().read_line(&mut answers).unwrap();
    let answers: Vec<Value> = serde_json::from_str(&answers).unwrap();
    let answers: Arc<[(HeaderMap, Bytes)]> = answers.iter().map(read).collect();
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    });
    // This runtime is of the same type as the service's and, on up to eight cores, has as many worker threads.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(accept(answers))
}

async fn accept(answers: Arc<[(HeaderMap, Bytes)]>) -> ! {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    let next = Arc::new(AtomicUsize::new(0));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (answers, next) = (Arc::clone(&answers), Arc::clone(&next));
        let service = service_fn(move |_| {
            let (fields, body) = &answers[next.fetch_add(1, Ordering::Relaxed) % answers.len()];
            let mut response = Response::new(Full::new(body.clone()));
            response.headers_mut().clone_from(fields);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _ = connection.await;
        });
    }
}

fn read(answer: &Value) -> (HeaderMap, Bytes) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let field = |field: &Value| {
        let name: HeaderName = text(&field[0]).parse().unwrap();
        let value: HeaderValue = text(&field[1]).parse().unwrap();
        (name, value)
    };
    let fields = answer["fields"].as_array().unwrap().iter().map(field).collect();
    let body: Vec<u8> = text(&answer["body"]).chars().map(|byte| byte as u8).collect();
    (fields, body.into())
}

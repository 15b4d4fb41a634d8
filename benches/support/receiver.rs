//! Two HR systems: a hanging one and a healthy one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// An HR system that accepts every connection and never answers.
pub(crate) struct Hanging {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
}

/// An HR system that reads every message and answers at once.
pub(crate) struct Healthy {
    pub(crate) address: SocketAddr,
    messages: mpsc::Receiver<Message>,
}

/// A complete message.
pub(crate) struct Message {
    pub(crate) at: Instant,
    pub(crate) body: String,
}

impl Hanging {
    pub(crate) fn start() -> Self {
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let address = listen(move |stream| {
            // The connection stays open, so the service waits for an answer.
            std::mem::forget(stream);
            count.fetch_add(1, Ordering::Relaxed);
        });
        Self { address, accepted }
    }

    /// Returns the number of connections so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }
}

impl Healthy {
    pub(crate) fn start() -> Self {
        let (sender, messages) = mpsc::channel();
        let address = listen(move |stream| {
            let _ = sender.send(take(stream));
        });
        Self { address, messages }
    }

    /// Returns the next message.
    pub(crate) fn next(&self) -> Message {
        self.messages.recv_timeout(super::service::PATIENCE).expect("a message arrives")
    }
}

/// Passes each connection to `each`, one after another.
fn listen(mut each: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            each(stream.unwrap());
        }
    });
    address
}

fn take(stream: TcpStream) -> Message {
    let mut stream = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while stream.read_line(&mut line).unwrap() > "\r\n".len() {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let at = Instant::now();
    stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
    Message { at, body: String::from_utf8(body).unwrap() }
}

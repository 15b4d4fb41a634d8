//! An HR system for tests. It receives messages and answers them, or does not answer, as the test's script directs.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use standardwebhooks::Webhook;

/// The maximum time that a test waits for expected messages.
const PATIENCE: Duration = Duration::from_secs(30);

/// The reaction of a receiver to a message.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Answers with this status, these fields and this body.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Sends these bytes and closes the connection.
    Raw(Vec<u8>),
    /// Reads the message and stays silent for as long as the other side waits.
    Silence,
    /// Sends the bytes of a successful answer one by one, with this pause between them.
    Drip(Duration),
    /// Starts a successful answer that announces a body of 1 GB, and sends bytes until the connection closes.
    Endless,
    /// Closes the connection after reading the message.
    HangUp,
    /// Accepts the message when the test calls [`Receiver::release`].
    Hold,
    /// Sends the first bytes, and then the second bytes repeatedly, with this pause after each repetition.
    Forever(Vec<u8>, Vec<u8>, Duration),
}

impl Behaviour {
    /// Returns an empty answer with this status.
    pub(crate) fn status(status: u16) -> Self {
        Self::Answer(status, Vec::new(), Vec::new())
    }
}

/// A received message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) request_line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Returns the only value of a header field.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, value) = values.next().unwrap_or_else(|| panic!("no {name} in {:?}", self.headers));
        assert!(values.next().is_none(), "{name} is repeated");
        value
    }

    /// Returns the delivery's id.
    #[track_caller]
    pub(crate) fn id(&self) -> &str {
        self.header("webhook-id")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the event of the message, for example `candidate.hired`.
    #[track_caller]
    pub(crate) fn event(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    /// Returns whether one of the signatures matches the signature that the published Standard Webhooks library
    /// creates with this secret. The test's clock is scripted, so the library cannot check the age of the message.
    #[track_caller]
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let at = self.header("webhook-timestamp").parse().unwrap();
        let expected = Webhook::new(secret).unwrap().sign(self.id(), at, &self.body).unwrap();
        self.header("webhook-signature").split(' ').any(|signature| signature == expected)
    }
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Message>>,
    changed: Condvar,
    connections: Mutex<usize>,
    /// The number of held messages that may be accepted now.
    released: Mutex<usize>,
    release: Condvar,
    /// Behaviours for the next messages. The last behaviour repeats.
    script: Mutex<VecDeque<Behaviour>>,
}

/// A receiver on a loopback port. Every connection has a thread, which ends with the test's process at the latest.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

impl Receiver {
    /// Starts a receiver that accepts every message.
    pub(crate) fn start() -> Self {
        Self::on("127.0.0.1:0")
    }

    /// Starts a receiver on this address.
    pub(crate) fn on(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        shared.script.lock().unwrap().push_back(Behaviour::status(204));
        let ours = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                *ours.connections.lock().unwrap() += 1;
                let shared = Arc::clone(&ours);
                std::thread::spawn(move || serve(&shared, stream.unwrap()));
            }
        });
        Self { address, shared }
    }

    /// Returns the receiver's URL with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the behaviours for the next messages. The last behaviour repeats.
    pub(crate) fn will(&self, script: impl IntoIterator<Item = Behaviour>) {
        *self.shared.script.lock().unwrap() = script.into_iter().collect();
    }

    /// Waits for at least this many messages, and returns all of them.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Message> {
        let began = Instant::now();
        let mut seen = self.shared.seen.lock().unwrap();
        while seen.len() < count {
            assert!(began.elapsed() < PATIENCE, "{} messages arrived, expected {count}: {seen:?}", seen.len());
            seen = self.shared.changed.wait_timeout(seen, Duration::from_millis(100)).unwrap().0;
        }
        seen.clone()
    }

    /// Returns all messages received so far.
    pub(crate) fn seen(&self) -> Vec<Message> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Accepts this many of the held messages, or of the next messages that are held.
    pub(crate) fn release(&self, count: usize) {
        *self.shared.released.lock().unwrap() += count;
        self.shared.release.notify_all();
    }

    /// Returns the number of connections to the receiver, with or without a message.
    pub(crate) fn connections(&self) -> usize {
        *self.shared.connections.lock().unwrap()
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    let Some(message) = read(&stream) else { return };
    let behaviour = {
        let mut script = shared.script.lock().unwrap();
        if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
    };
    shared.seen.lock().unwrap().push(message);
    shared.changed.notify_all();
    // The sender may hang up before the receiver has answered, so an error here is no fault.
    let _ = answer(shared, &behaviour.unwrap(), stream);
}

fn read(stream: &TcpStream) -> Option<Message> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.strip_suffix("\r\n").map(str::to_owned)
    };
    let request_line = line()?;
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ")?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    let mut body = vec![0; length.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Message { request_line, headers, body })
}

fn answer(shared: &Shared, behaviour: &Behaviour, mut stream: TcpStream) -> std::io::Result<()> {
    match behaviour {
        Behaviour::Answer(status, fields, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
            fields.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
            stream.write_all(format!("{head}\r\n").as_bytes())?;
            stream.write_all(body)
        }
        Behaviour::Raw(bytes) => stream.write_all(bytes),
        Behaviour::HangUp => Ok(()),
        Behaviour::Silence => stream.read(&mut [0]).map(drop),
        Behaviour::Hold => {
            let released = shared.released.lock().unwrap();
            *shared.release.wait_while(released, |released| *released == 0).unwrap() -= 1;
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
        }
        Behaviour::Forever(first, then, pause) => {
            stream.write_all(first)?;
            loop {
                stream.write_all(then)?;
                std::thread::sleep(*pause);
            }
        }
        Behaviour::Drip(pause) => {
            for byte in b"HTTP/1.1 204 No Content\r\n\r\n" {
                stream.write_all(&[*byte])?;
                std::thread::sleep(*pause);
            }
            Ok(())
        }
        Behaviour::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 16_384])?;
            }
        }
    }
}

//! A proxy between a test and a PostgreSQL server. The proxy can cut or stop the traffic. The tests of the engine and
//! those of the command line include this file.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The behaviour of the proxy. A behaviour that concerns a commit ends with the next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// It passes everything on.
    Flows,
    /// It cuts the client's connection and passes a commit on, so that the client gets no answer.
    CutAfterCommit,
    /// It does the same as `CutAfterCommit`, and afterwards closes new connections at once.
    CutForGoodAfterCommit,
    /// It passes a commit on, answers the client with an error of this severity and SQLSTATE instead of the server's
    /// answer, and closes the connection.
    FailAfterCommit(&'static str, &'static str),
    /// It cuts the client's connection instead of passing a commit on. The server notices nothing for a while.
    CutBeforeCommit,
    /// It swallows a commit and all later requests on the same connection, like a network that has lost a route.
    SwallowFromCommit,
    /// It closes new connections at once.
    Refused,
    /// It accepts connections and swallows everything, like a server that hangs.
    Hangs,
}

/// The simple-query message of a commit: its type, its length and its text.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// The time for which the server does not notice that a client was cut off. For that time, the session and any open
/// transaction of the client remain. A test fails if the writer waits that long.
const UNNOTICED: Duration = Duration::from_secs(3);

/// A proxy in front of one server.
pub(crate) struct TestProxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    traffic: Mutex<Traffic>,
    open: Mutex<Vec<TcpStream>>,
    /// The number of connections so far.
    connections: AtomicUsize,
}

impl TestProxy {
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let traffic = Mutex::new(Traffic::Flows);
        let shared = Arc::new(Shared { server, traffic, open: Mutex::default(), connections: AtomicUsize::new(0) });
        let ours = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, ours) = (client.unwrap(), Arc::clone(&ours));
                ours.connections.fetch_add(1, Ordering::SeqCst);
                if *ours.traffic.lock().unwrap() != Traffic::Refused {
                    std::thread::spawn(move || ours.pass(client));
                }
            }
        });
        Self { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, traffic: Traffic) {
        *self.shared.traffic.lock().unwrap() = traffic;
    }

    /// Returns the number of connections so far, including those that were closed at once.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        for stream in self.shared.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn pass(self: Arc<Self>, client: TcpStream) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.server)) else { return };
        let ours = Arc::clone(&self);
        self.open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
        let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let error = Arc::new(Mutex::new(None));
        let of_answers = Arc::clone(&error);
        std::thread::spawn(move || ours.answers(from_server, to_client, &of_answers));
        self.requests(client, server, &error);
    }

    /// Passes requests on, according to the behaviour.
    fn requests(&self, mut client: TcpStream, mut server: TcpStream, error: &Mutex<Option<Vec<u8>>>) {
        let mut bytes = [0; 65_536];
        let mut swallows = false;
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            let bytes = &bytes[..count];
            if self.hangs() {
                continue;
            }
            let is_commit = bytes.windows(COMMIT.len()).any(|part| part == COMMIT);
            match if is_commit { self.take() } else { Traffic::Flows } {
                Traffic::Flows | Traffic::Refused | Traffic::Hangs => {}
                Traffic::SwallowFromCommit => swallows = true,
                Traffic::FailAfterCommit(severity, code) => *error.lock().unwrap() = Some(error_answer(severity, code)),
                Traffic::CutBeforeCommit => {
                    let _ = client.shutdown(Shutdown::Both);
                    std::thread::sleep(UNNOTICED);
                    break;
                }
                Traffic::CutAfterCommit | Traffic::CutForGoodAfterCommit => {
                    let _ = client.shutdown(Shutdown::Both);
                    let _ = server.write_all(bytes);
                    std::thread::sleep(UNNOTICED);
                    break;
                }
            }
            if !swallows && server.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    }

    /// Passes answers on, until one must be replaced by an error.
    fn answers(&self, mut from: TcpStream, mut to: TcpStream, error: &Mutex<Option<Vec<u8>>>) {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if let Some(error) = error.lock().unwrap().take() {
                let _ = to.write_all(&error);
                break;
            }
            if !self.hangs() && to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }

    fn hangs(&self) -> bool {
        *self.traffic.lock().unwrap() == Traffic::Hangs
    }

    /// Returns the behaviour for a commit, and sets the one that follows.
    fn take(&self) -> Traffic {
        let mut traffic = self.traffic.lock().unwrap();
        let next = if *traffic == Traffic::CutForGoodAfterCommit { Traffic::Refused } else { Traffic::Flows };
        std::mem::replace(&mut traffic, next)
    }
}

/// Returns the message of an error, as the server sends it.
fn error_answer(severity: &str, code: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0Mplanted\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    [b"E", &length[..], fields.as_bytes()].concat()
}

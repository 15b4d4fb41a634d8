//! The service on a PostgreSQL database.

use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::exchange::{self, get};
use super::load::{self, Course};
use super::process::Process;
use super::round::Round;
use super::template::BINARY;

/// The maximum time until the service sends its first answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The rate limit in requests per minute. It is on, but never reached.
const RATE_LIMIT: &str = "60000000";

/// The running service, and the number of answers to requests with keys.
pub(crate) struct Service {
    process: Process,
    address: SocketAddr,
    answers: usize,
}

impl Service {
    /// Starts the service. It writes its log to `/dev/null`.
    pub(crate) fn start(url: &str) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new(BINARY);
        command.args(["serve", "--listen", &address.to_string(), "--rate-limit", RATE_LIMIT, "--db", url]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = Process(command.spawn().unwrap());
        let began = Instant::now();
        while exchange::ask(address, &get("/healthz", None)).is_err() {
            assert!(process.0.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE, "the service answers");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { process, address, answers: 0 }
    }

    /// Runs a round of requests with keys.
    pub(crate) fn round(&mut self, connections: usize, requests: &Arc<Vec<Vec<u8>>>, course: &Course) -> Round {
        let round = Round::watch(&self.process, || load::run(self.address, connections, requests, course));
        self.answers += round.requests();
        round
    }

    /// Stops the service. Returns the number of answers to requests with keys.
    pub(crate) fn stop(mut self) -> usize {
        self.process.terminate();
        self.answers
    }
}

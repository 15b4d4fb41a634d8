//! A running service with its own file.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cores::Cores;
use super::exchange::{self, Answer, get};
use super::load::{self, Course, Load};
use super::process::Process;
use super::round::Round;
use super::template::{BINARY, Copy, usage_rows};

/// The maximum time until the service sends its first answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The maximum number of attempts to start the service. Each uses another port.
const TRIES: usize = 5;

/// The rate limit in requests per minute. It is on, but never reached.
const RATE_LIMIT: &str = "60000000";

/// The service, its file, and the expected number of usage rows.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Process,
    copy: Copy,
    usage_rows: usize,
}

impl Server {
    /// Starts the service on the server's core. It writes its log to `/dev/null`.
    pub(crate) fn on(cores: &Cores, copy: Copy) -> Self {
        let usage_rows = usage_rows(&copy.db);
        // Another process can take the free port first.
        let started = (0..TRIES).find_map(|_| start(cores, &copy.db));
        let (process, address) = started.expect("the service starts");
        Self { address, process, copy, usage_rows }
    }

    /// Sends one request without a key.
    pub(crate) fn ask(&self, request: &[u8]) -> Answer {
        exchange::ask(self.address, request).unwrap().expect(200)
    }

    /// Sends one request with a key.
    pub(crate) fn ask_with_key(&mut self, request: &[u8]) -> Answer {
        self.usage_rows += 1;
        self.ask(request)
    }

    /// Runs a round of requests without keys.
    pub(crate) fn round(&self, connections: usize, requests: &Arc<Vec<Vec<u8>>>, course: &Course) -> Round {
        Round::watch(&self.process, || load::run(self.address, connections, requests, course))
    }

    /// Runs a round of requests with keys.
    pub(crate) fn round_with_keys(
        &mut self,
        connections: usize,
        requests: &Arc<Vec<Vec<u8>>>,
        course: &Course,
    ) -> Round {
        let round = self.round(connections, requests, course);
        self.usage_rows += round.requests();
        round
    }

    /// Runs a round of `load`, which also returns the number of answers to requests with keys.
    pub(crate) fn round_of(&mut self, load: impl FnOnce(SocketAddr) -> (Load, usize)) -> Round {
        let mut with_keys = 0;
        let address = self.address;
        let round = Round::watch(&self.process, || {
            let (load, answers) = load(address);
            with_keys = answers;
            load
        });
        self.usage_rows += with_keys;
        round
    }

    /// Returns the CPU time that the service has used so far.
    pub(crate) fn cpu(&self) -> Duration {
        self.process.cpu()
    }

    /// Counts answers to requests with keys. Code that sends such requests itself must call this function.
    pub(crate) fn count_with_keys(&mut self, answers: usize) {
        self.usage_rows += answers;
    }

    /// Returns the path of the file.
    pub(crate) fn db(&self) -> &Path {
        &self.copy.db
    }

    /// Stops the service and checks that each answer to a request with a key has a usage row.
    pub(crate) fn end(mut self) -> Copy {
        self.process.terminate();
        assert_eq!(usage_rows(&self.copy.db), self.usage_rows, "each answer to a request with a key has a usage row");
        self.copy
    }
}

/// Spawns a service on a free port.
pub(crate) fn spawn(cores: &Cores, db: &Path) -> (Process, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = cores.server(BINARY);
    command.args(["serve", "--listen", &address.to_string(), "--rate-limit", RATE_LIMIT, "--db"]).arg(db);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    (Process(command.spawn().unwrap()), address)
}

/// Spawns the service and waits for its first answer. Returns `None` if the service ends before it answers.
fn start(cores: &Cores, db: &Path) -> Option<(Process, SocketAddr)> {
    let (mut process, address) = spawn(cores, db);
    let began = Instant::now();
    while exchange::ask(address, &get("/healthz", None)).is_err() {
        if process.0.try_wait().unwrap().is_some() {
            return None;
        }
        assert!(began.elapsed() < PATIENCE, "the service answers");
        std::thread::sleep(Duration::from_millis(10));
    }
    Some((process, address))
}

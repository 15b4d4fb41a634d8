//! A running service on a file of its own.

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

/// How long a service may take to answer for the first time.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is started on another port.
const TRIES: usize = 5;

/// On, and never reached: requests a minute.
const RATE_LIMIT: &str = "60000000";

/// The service, the file, and how many rows its usage log has to have.
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    process: Process,
    copy: Copy,
    usage_rows: usize,
}

impl Place {
    /// Starts the service on the server's core. Its log is written, and nobody reads it.
    pub(crate) fn on(cores: &Cores, copy: Copy) -> Self {
        let usage_rows = usage_rows(&copy.db);
        // Another process may take the port that was just free.
        let started = (0..TRIES).find_map(|_| start(cores, &copy.db));
        let (process, address) = started.expect("the service starts");
        Self { address, process, copy, usage_rows }
    }

    /// One request that no key goes with.
    pub(crate) fn ask(&self, request: &[u8]) -> Answer {
        exchange::ask(self.address, request).unwrap().expect(200)
    }

    /// One request with a key.
    pub(crate) fn ask_with_key(&mut self, request: &[u8]) -> Answer {
        self.usage_rows += 1;
        self.ask(request)
    }

    /// A round of requests that no key goes with.
    pub(crate) fn round(&self, connections: usize, requests: &Arc<Vec<Vec<u8>>>, course: &Course) -> Round {
        Round::watch(&self.process, || load::run(self.address, connections, requests, course))
    }

    /// A round of requests with keys.
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

    /// A round of whatever `load` does; it tells how many answers were to requests with keys.
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

    /// What the service has used so far.
    pub(crate) fn cpu(&self) -> Duration {
        self.process.cpu()
    }

    /// So many answers to requests with keys came on other ways.
    pub(crate) fn count_with_keys(&mut self, answers: usize) {
        self.usage_rows += answers;
    }

    /// Where the file is.
    pub(crate) fn db(&self) -> &Path {
        &self.copy.db
    }

    /// Stops the service. Each answer to a key has its row in the usage log.
    pub(crate) fn end(mut self) -> Copy {
        self.process.terminate();
        assert_eq!(usage_rows(&self.copy.db), self.usage_rows, "a row of the usage log for each answer to a key");
        self.copy
    }
}

/// A service that was just started, on a port that was free.
pub(crate) fn spawn(cores: &Cores, db: &Path) -> (Process, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = cores.server(BINARY);
    command.args(["serve", "--listen", &address.to_string(), "--rate-limit", RATE_LIMIT, "--db"]).arg(db);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    (Process(command.spawn().unwrap()), address)
}

/// The service once it answers; `None` where it ended at once.
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

//! Two servers on one database, and the users and organizations that tests create there.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::client::Client;
use crate::postgres_server::{TestServer, USER};

/// The options of servers in tests that send many requests.
const NO_LIMITS: [&str; 4] = ["--rate-limit", "0", "--signup-limit", "0"];

/// Two servers and their database.
pub(crate) struct Service {
    // The servers must end before the database server.
    pub(crate) servers: [Server; 2],
    pub(crate) admin_secret: String,
    pub(crate) database: String,
    pub(crate) postgres: TestServer,
    url: String,
}

/// A process of the service.
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
}

impl Service {
    /// Starts a database server and two servers of the service. The second starts when the first has the lease of
    /// background work. Returns `None` if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&NO_LIMITS)
    }

    /// Starts a database server, and two servers of the service with these options. Returns `None` if PostgreSQL is not
    /// installed.
    pub(crate) fn start_with(options: &[&str]) -> Option<Self> {
        let postgres = TestServer::start(&[])?;
        let database = postgres.database();
        let url = postgres.url(USER, &database, "sslmode=disable");
        let admin_secret = run(&["bootstrap-admin", "--db", &url, "--email", "root@example.org"], "");
        let first = Server::spawn_with(&url, options).await_start();
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1718900103 AND granted";
        wait_until(|| postgres.psql(&database, sql) == "1");
        let servers = [first, Server::spawn_with(&url, options).await_start()];
        Some(Self { servers, admin_secret: admin_secret.trim().to_owned(), database, postgres, url })
    }

    /// Returns a client of one of the servers, without a credential.
    pub(crate) fn anonymous(&self, server: usize) -> Client {
        self.servers[server].client()
    }

    /// Returns a client of one of the servers, with the key of the platform admin.
    pub(crate) fn admin(&self, server: usize) -> Client {
        self.anonymous(server).with_key(&self.admin_secret)
    }

    /// Runs a command of the service on the database. Returns its output.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> String {
        run(&[arguments, &["--db", &self.url]].concat(), input)
    }

    /// Creates an organization with a portal and an open role. Returns the ids of both.
    pub(crate) fn organization(&self, slug: &str) -> (String, String) {
        organization(&mut self.admin(0), slug, 1)
    }

    /// Creates a user who owns the organization. Returns the id of the user.
    pub(crate) fn owner(&self, organization: &str, email: &str) -> String {
        let mut admin = self.admin(0);
        let user = id(&admin.call("POST", "/api/admin/users", &json!({ "email": email, "name": "U" })).data());
        let path = format!("/api/admin/organizations/{organization}/memberships/{user}");
        admin.call("PUT", &path, &json!({ "orgRole": "owner" })).succeeded();
        user
    }
}

impl Server {
    pub(crate) fn start(url: &str) -> Self {
        Self::spawn_with(url, &NO_LIMITS).await_start()
    }

    /// Returns a client without a credential.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Starts a process. Call `await_start` before you use the server.
    pub(crate) fn spawn(url: &str) -> Self {
        Self::spawn_with(url, &NO_LIMITS)
    }

    /// Starts a process with these options.
    fn spawn_with(url: &str, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_appliance"));
        command.args(["serve", "--db", url, "--listen", "127.0.0.1:0"]).args(options);
        let process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Self { process, address: SocketAddr::from(([127, 0, 0, 1], 0)) }
    }

    /// Waits until the server listens.
    pub(crate) fn await_start(mut self) -> Self {
        let mut lines = BufReader::new(self.process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut log = Vec::new();
        let address = lines.by_ref().find_map(|line| {
            let address = line.strip_prefix("listening on http://").map(str::to_owned);
            log.push(line);
            address
        });
        let address = address.unwrap_or_else(|| panic!("the server has not started: {log:?}"));
        self.address = address.parse().unwrap();
        // Continue to read the log, because the server would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self
    }

    /// Waits until a process that cannot start has ended. Returns its exit status and its log.
    pub(crate) fn await_end(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.process.wait().unwrap().code(), log)
    }

    /// Kills the process, as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Creates an organization with a portal and an open role with this number of steps. Returns the ids of both.
pub(crate) fn organization(admin: &mut Client, slug: &str, steps: usize) -> (String, String) {
    let body = json!({ "slug": slug, "name": "Name 0", "portal": { "enabled": true } });
    let organization = id(&admin.call("POST", "/api/admin/organizations", &body).data());
    let path = format!("/api/v1/organizations/{organization}/roles");
    let steps: Vec<Value> = (1..=steps).map(|number| json!({ "name": format!("Step {number}") })).collect();
    let role = id(&admin.call("POST", &path, &json!({ "name": "Welder", "public": true, "steps": steps })).data());
    admin.send("POST", &format!("/api/v1/roles/{role}/open"), None).succeeded();
    (organization, role)
}

/// Returns the id of a record.
pub(crate) fn id(data: &Value) -> String {
    data["id"].as_str().unwrap_or_else(|| panic!("no id: {data}")).to_owned()
}

/// Polls a condition until it is met, for at most the time that a takeover on a busy machine can take.
#[track_caller]
pub(crate) fn wait_until(mut is_met: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is_met() {
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "the condition is not met");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Runs a command of the service. Returns its output.
pub(crate) fn run(arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_appliance"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    // A command that reads no input may have ended already.
    let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

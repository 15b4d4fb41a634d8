//! A PostgreSQL server for tests. It belongs to the test process and ends with that process. Several test binaries and
//! a bench include this file.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// The maximum time for the start or the stop of a server, on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// The directories in which distributions install the programs of PostgreSQL, newest version first.
const FOLDERS: [&str; 6] = [
    "/usr/lib/postgresql/18/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/local/pgsql/bin",
    "/usr/bin",
];

/// The superuser of the servers.
pub(crate) const USER: &str = "tester";

/// Creates a cluster in a temporary directory and serves it until the standard input ends. The standard input also ends
/// when the test process is killed. The lines `stop`, `abort` and `start` on the standard input stop the server, end it
/// without a shutdown, and start it. The variable PLACE names the parent of the temporary directory. Without PLACE, the
/// parent is in memory if there is room. Syncs take almost no time there. They stay on, because the service refuses a
/// server that does not sync its files. The server listens on a TCP port of the loopback address and on a Unix socket.
/// It asks only the user `secret` for a password. It supports TLS if the variables CERT and KEY contain a certificate
/// and its key. With the variable STANDBY, it is a standby without a primary.
const SCRIPT: &str = r#"set -eu
bin=$1; port=$2; shift 2
place=${PLACE:-/tmp}
if [ -z "${PLACE:-}" ] && [ -w /dev/shm ] && [ "$(df --output=avail -m /dev/shm | tail -n 1)" -gt 4000 ]; then place=/dev/shm; fi
dir=$(mktemp -d "$place/appliance-postgres.XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$bin/initdb" -D "$dir/data" -U tester -A trust -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1
echo "host all secret all scram-sha-256
$(cat "$dir/data/pg_hba.conf")" >"$dir/data/pg_hba.conf.new"
mv "$dir/data/pg_hba.conf.new" "$dir/data/pg_hba.conf"
if [ -n "${STANDBY:-}" ]; then
  touch "$dir/data/standby.signal"
fi
if [ -n "${CERT:-}" ]; then
  umask 077
  echo "$CERT" >"$dir/data/server.crt"
  echo "$KEY" >"$dir/data/server.key"
  set -- -c ssl=on "$@"
fi
start() {
  "$bin/postgres" -D "$dir/data" -k "$dir" -p "$port" -c listen_addresses=127.0.0.1 "$@" >>"$dir/log" 2>&1 &
  server=$!
}
stop() {
  kill "$1" "$server" || true
  wait "$server" || true
}
echo "$dir"
start "$@"
while read -r order; do
  case $order in
    stop) stop -INT ;;
    abort) stop -QUIT ;;
    start) start "$@" ;;
  esac
done
stop -INT
"#;

/// A PostgreSQL server for tests.
pub(crate) struct TestServer {
    bin: PathBuf,
    directory: PathBuf,
    port: u16,
    process: Child,
    databases: AtomicU32,
}

/// Returns the server that most tests share, or `None` if PostgreSQL is not installed.
///
/// # Panics
/// Panics if PostgreSQL is not installed and the variable `CI` is set.
pub(crate) fn shared() -> Option<&'static TestServer> {
    static SERVER: OnceLock<Option<TestServer>> = OnceLock::new();
    SERVER.get_or_init(|| TestServer::start(&[])).as_ref()
}

impl TestServer {
    /// Starts a server with these settings (`name=value`).
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        Self::start_in(settings, &[])
    }

    /// Starts a server whose files are on a disk, for measurements.
    pub(crate) fn start_on_disk() -> Option<Self> {
        Self::start_in(&[], &[("PLACE", "/tmp")])
    }

    /// Starts a server whose files are in a directory, for example on a small disk.
    pub(crate) fn start_at(place: &str, settings: &[&str]) -> Option<Self> {
        Self::start_in(settings, &[("PLACE", place)])
    }

    /// Starts a standby.
    pub(crate) fn start_standby() -> Option<Self> {
        Self::start_in(&[], &[("STANDBY", "1")])
    }

    /// Starts a server with a certificate for `localhost`. Returns the server, and the certificate of the authority
    /// that issued the server's certificate, in PEM.
    pub(crate) fn start_with_tls() -> Option<(Self, String)> {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &authority).unwrap().pem();
        let server = Self::start_in(&[], &[("CERT", &certificate), ("KEY", &key.serialize_pem())])?;
        Some((server, authority.pem()))
    }

    /// Starts a server with settings and with variables of the script. Returns `None` if PostgreSQL is not installed.
    fn start_in(settings: &[&str], variables: &[(&str, &str)]) -> Option<Self> {
        let Some(bin) = FOLDERS.iter().map(Path::new).find(|folder| folder.join("initdb").exists()) else {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL is not installed, and CI must not skip its tests");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let port = free_port();
        let mut command = without_root();
        command.args(["sh", "-c", SCRIPT, "sh"]).arg(bin).arg(port.to_string());
        command.envs(variables.iter().copied());
        for setting in settings {
            command.args(["-c", setting]);
        }
        let mut process = command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let directory = PathBuf::from(line.trim());
        let server = Self { bin: bin.to_owned(), directory, port, process, databases: AtomicU32::new(0) };
        server.wait_until(true);
        Some(server)
    }

    /// Stops the server. The stop ends all sessions.
    pub(crate) fn stop(&self) {
        self.order("stop");
        self.wait_until(false);
    }

    /// Ends the server at once, as `pg_ctl stop --mode=immediate` does. Its next start recovers the database.
    pub(crate) fn abort(&self) {
        self.order("abort");
        self.wait_until(false);
    }

    /// Starts the server again.
    pub(crate) fn start_again(&self) {
        self.order("start");
        self.wait_until(true);
    }

    fn order(&self, line: &str) {
        writeln!(self.process.stdin.as_ref().unwrap(), "{line}").unwrap();
    }

    fn wait_until(&self, is_up: bool) {
        let began = Instant::now();
        while self.is_up() != is_up {
            assert!(began.elapsed() < START_MAX, "{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Creates an empty database. Returns its name.
    pub(crate) fn database(&self) -> String {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Returns the URL of a database, with a user and parameters.
    pub(crate) fn url(&self, user: &str, database: &str, parameters: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?{parameters}", self.port)
    }

    /// Returns whether the server accepts connections.
    pub(crate) fn is_up(&self) -> bool {
        self.try_psql("postgres", "SELECT 1").is_ok()
    }

    /// Runs statements as another client would. Returns the output, with a line for each row.
    pub(crate) fn psql(&self, database: &str, sql: &str) -> String {
        self.try_psql(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Returns a client program of PostgreSQL, with the arguments for a connection to a database.
    pub(crate) fn client(&self, program: &str, database: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.args(["-U", USER, "-p", &self.port.to_string(), "-h"]).arg(&self.directory).env("PGDATABASE", database);
        command
    }

    /// Runs statements that may fail. Returns the output or the error message.
    pub(crate) fn try_psql(&self, database: &str, sql: &str) -> Result<String, String> {
        self.output(database, &[], sql).map(|output| output.trim().to_owned())
    }

    /// Runs statements as another client would. Returns the rows; a cell can contain line breaks.
    pub(crate) fn rows(&self, database: &str, sql: &str) -> Vec<String> {
        let output = self.output(database, &["-0"], sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        output.split_terminator('\0').map(str::to_owned).collect()
    }

    /// Returns a dump of a database.
    pub(crate) fn dump(&self, database: &str) -> Vec<u8> {
        let output = self.client("pg_dump", database).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Opens a session, which can leave a transaction open between two statements.
    pub(crate) fn session(&self, database: &str) -> Session {
        let mut process = self.psql_client(database).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Session { process, input, output }
    }

    /// Opens a session of a user, or returns `None` if the server refuses the connection.
    pub(crate) fn session_of(&self, user: &str, database: &str) -> Option<Session> {
        let mut process = self.psql_client(database).args(["-U", user]).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut session = Session { process, input, output };
        session.try_run("SELECT WHERE false").then_some(session)
    }

    fn output(&self, database: &str, options: &[&str], sql: &str) -> Result<String, String> {
        let mut running = self.psql_client(database).args(options).stderr(Stdio::piped()).spawn().unwrap();
        // Without a server, the client ends without reading the statements.
        let _ = running.stdin.take().unwrap().write_all(sql.as_bytes());
        let output = running.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn psql_client(&self, database: &str) -> Command {
        let mut command = self.client("psql", database);
        command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// Returns the directory with the data. Only the user of the server can read it.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Kills a backend of the server with a signal, as the system does when memory runs out. The server then restarts
    /// all of its processes.
    pub(crate) fn kill(&self, pid: &str, signal: &str) {
        // `kill` is a command of the shell. The user of the server may send the signal.
        let killed = without_root().args(["sh", "-c", "kill \"$1\" \"$2\"", "sh", signal, pid]).status().unwrap();
        assert!(killed.success());
    }

    fn log(&self) -> String {
        let log = without_root().arg("cat").arg(self.directory.join("log")).output().unwrap();
        String::from_utf8_lossy(&log.stdout).into_owned()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A session of another client. Dropping it ends the session, and the server then rolls back an open transaction.
pub(crate) struct Session {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// Runs statements that return no rows, and waits until they have ended.
    pub(crate) fn run(&mut self, sql: &str) {
        assert!(self.try_run(sql), "{sql}");
    }

    /// Runs statements that return no rows. Returns whether they have succeeded.
    fn try_run(&mut self, sql: &str) -> bool {
        let statements = format!("{sql};\n\\echo ended\n");
        let mut line = String::new();
        // Without a session, the client ends without reading the statements.
        let is_sent = self.input.as_mut().unwrap().write_all(statements.as_bytes()).is_ok();
        is_sent && self.output.read_line(&mut line).is_ok() && line == "ended\n"
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

/// Returns a command that runs its arguments as a user other than root, because PostgreSQL refuses to run as root.
fn without_root() -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let mut command = Command::new(if is_root { "runuser" } else { "env" });
    if is_root {
        command.args(["-u", "postgres", "--"]);
    }
    command
}

/// Returns a port that no program uses. It is below 32,768, because the system gives higher ports to clients, which
/// could take the port before the server does.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(61);
    loop {
        let port = 20_000 + (first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed))) % 12_000;
        let port = u16::try_from(port).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

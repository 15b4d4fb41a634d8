//! Runs the real binary in a temporary directory, as a command or as a service.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The maximum time for which a test waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The directory in which the binary runs. Commands name files without a path.
pub(crate) struct WorkDir(tempfile::TempDir);

/// The exit status and output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl WorkDir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the sorted names of all entries in the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs a command and waits until it has ended.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[], b"")
    }

    /// Runs a command with environment variables and standard input.
    pub(crate) fn run_with(&self, args: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Output {
        let mut child = self.spawn(args, variables);
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A command that fails early closes its standard input.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = read_to_end(child.stdout.take().unwrap());
        let stderr = read_to_end(child.stderr.take().unwrap());
        let both = stdout.recv_timeout(PATIENCE).and_then(|out| Ok((out, stderr.recv_timeout(PATIENCE)?)));
        let Ok((stdout, stderr)) = both else {
            child.kill().unwrap();
            panic!("`appliance {}` does not end", args.join(" "));
        };
        writer.join().unwrap();
        Output { code: child.wait().unwrap().code(), stdout, stderr }
    }

    /// Starts a service on a free port, and waits until it listens.
    pub(crate) fn serve(&self, args: &[&str]) -> RunningService {
        self.serve_with(args, &[])
    }

    /// Starts a service with environment variables, and waits until it listens.
    pub(crate) fn serve_with(&self, args: &[&str], variables: &[(&str, &str)]) -> RunningService {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        let has_address = args.contains(&"--listen") || variables.iter().any(|(name, _)| *name == "APPLIANCE_LISTEN");
        let all = [if has_address { &listen[..1] } else { &listen }, args].concat();
        Self::await_service(self.spawn(&all, variables))
    }

    /// Starts a service on this socket, as systemd does: the socket is descriptor 3 of the process.
    pub(crate) fn serve_on(&self, socket: impl Into<Stdio>, args: &[&str]) -> RunningService {
        let mut command = self.command_on(socket, "1", args);
        Self::await_service(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Returns a command that starts a service with this socket as descriptor 3 and with this value of `LISTEN_FDS`.
    pub(crate) fn command_on(&self, socket: impl Into<Stdio>, count: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .env_clear()
            .args(["-c", "LISTEN_PID=$$ exec \"$0\" serve \"$@\" 3<&0 0</dev/null"])
            .env("LISTEN_FDS", count);
        command.arg(env!("CARGO_BIN_EXE_appliance")).args(args).current_dir(self.0.path()).stdin(socket);
        command
    }

    /// Waits until a service listens.
    fn await_service(mut child: Child) -> RunningService {
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        let (sender, stdout_lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            for line in stdout.lines().map_while(Result::ok) {
                text.push_str(&line);
                text.push('\n');
                drop(sender.send(line));
            }
            text
        });
        let address = "127.0.0.1:0".parse().unwrap();
        let seen = Vec::new();
        let mut service = RunningService { child, address, lines, seen, stdout_lines, stdout: Some(stdout) };
        let line = service.wait_for(|line| line.starts_with("listening on http"));
        let port = line.rsplit(':').next().unwrap().parse().unwrap();
        service.address = SocketAddr::from(([127, 0, 0, 1], port));
        service
    }

    /// Runs a command with standard output on a full disk.
    pub(crate) fn run_with_full_stdout(&self, args: &[&str]) -> Output {
        self.run_with_stdout(args, File::create("/dev/full").unwrap())
    }

    /// Runs a command with standard output on a pipe whose reader is closed.
    pub(crate) fn run_with_closed_stdout(&self, args: &[&str]) -> Output {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        self.run_with_stdout(args, writer)
    }

    /// Runs a command whose standard streams are a terminal. Returns everything that the terminal received.
    pub(crate) fn run_on_terminal(&self, args: &[&str], terminal: &str) -> Output {
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        let line = format!("stty cols 200; exec {} {}", env!("CARGO_BIN_EXE_appliance"), quoted.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]).current_dir(self.0.path());
        command.env_clear().env("TERM", terminal).env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        let output = command.output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        Output { code: output.status.code(), stdout, stderr: String::from_utf8(output.stderr).unwrap() }
    }

    fn run_with_stdout(&self, args: &[&str], stdout: impl Into<Stdio>) -> Output {
        let output = self.command(args).stdout(stdout).stdin(Stdio::null()).output().unwrap();
        Output { code: output.status.code(), stdout: String::new(), stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// Returns a command in this directory, with an empty environment and piped streams.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_appliance"));
        // The environment of the tests must not influence the command.
        command.args(args).current_dir(self.0.path()).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn spawn(&self, args: &[&str], variables: &[(&str, &str)]) -> Child {
        self.command(args).envs(variables.iter().copied()).spawn().unwrap()
    }

    /// Creates an admin in a database and returns their key.
    pub(crate) fn admin_key(&self, db: &str) -> String {
        let made = self.run(&["bootstrap-admin", "--db", db, "--email", "root@example.org"]).succeeded();
        made.stdout.trim_end().to_owned()
    }

    /// Imports one organization into a file and returns the interchange document. Creates the file if it is missing.
    pub(crate) fn imported(&self, db: &str) -> Value {
        let document = document();
        self.write("document.json", document.to_string());
        self.run(&["import", "--db", db, "document.json"]).succeeded();
        document
    }

    /// Changes a file with SQL. Afterwards, its write-ahead log is empty, unless another process has the file open.
    pub(crate) fn change(&self, db: &str, sql: &str) {
        let connection = rusqlite::Connection::open(self.path(db)).unwrap();
        connection.busy_timeout(PATIENCE).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        // SQLite creates files that everybody can read.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(self.path(db), private).unwrap();
    }

    /// Returns the number that a query returns.
    pub(crate) fn number(&self, db: &str, sql: &str) -> i64 {
        rusqlite::Connection::open(self.path(db)).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

fn read_to_end(mut source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = source.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8(bytes).unwrap_or_else(|_| "output that is not UTF-8".to_owned()));
    });
    receiver
}

impl Output {
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Checks for this status, an empty standard output, and an error of one line that contains this sentence.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, sentence: &str) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(lines.len() == 1 && lines[0].starts_with("appliance: "), "{self:?}");
        assert!(lines[0].contains(sentence), "{sentence}: {self:?}");
        for noise in ["panicked", "Error(", "Os {", "SqliteFailure", "src/", "RUST_BACKTRACE"] {
            assert!(!self.stderr.contains(noise), "{noise}: {self:?}");
        }
        self
    }

    /// Checks for the exit status 2, an empty standard output, and an error that contains this text.
    #[track_caller]
    pub(crate) fn misused(self, text: &str) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        assert!(self.stderr.contains(text), "{text}: {self:?}");
        self
    }
}

pub(crate) struct RunningService {
    child: Child,
    pub(crate) address: SocketAddr,
    lines: Receiver<String>,
    seen: Vec<String>,
    stdout_lines: Receiver<String>,
    stdout: Option<JoinHandle<String>>,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RunningService {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for a matching line on standard error. Lines that were read earlier can match too.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, matches: impl Fn(&str) -> bool) -> String {
        if let Some(line) = self.seen.iter().find(|line| matches(line)) {
            return line.clone();
        }
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if matches(&line) {
                        return line;
                    }
                }
                Err(why) => panic!("{why}; standard error had {:?}", self.seen),
            }
        }
    }

    /// Waits for the next matching line on standard output, and skips the lines before it.
    #[track_caller]
    pub(crate) fn wait_for_stdout(&self, matches: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.stdout_lines.recv_timeout(PATIENCE).expect("the line is printed");
            if matches(&line) {
                return line;
            }
        }
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
    }

    /// Sends a signal and waits until the process has ended.
    pub(crate) fn stop(self, signal: &str) -> Output {
        self.signal(signal);
        self.wait()
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(mut self) -> Output {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the process did not end; standard error had {:?}", self.seen),
            }
        }
        let status: ExitStatus = self.child.wait().unwrap();
        let stdout = self.stdout.take().unwrap().join().unwrap();
        Output { code: status.code(), stdout, stderr: self.seen.join("\n") }
    }

    pub(crate) fn get(&self, path: &str, key: &str) -> Answer {
        self.send("GET", path, &[("Authorization", &format!("Bearer {key}"))], "")
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        send_to(self.address, method, path, headers, body)
    }

    pub(crate) fn sign_in(&self, email: &str, password: &str) -> Answer {
        let body = json!({ "email": email, "password": password }).to_string();
        self.send("POST", "/api/auth/sign-in", &[], &body)
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request on a new connection.
pub(crate) fn send_to(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    read_answer(&mut stream)
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads one answer, up to the end of the connection.
pub(crate) fn read_answer(stream: &mut impl Read) -> Answer {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

/// Repeats a check until it succeeds, because changes by other processes can take effect a little later.
#[track_caller]
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "the condition never holds");
    }
}

/// Returns whether the whole string is one API key.
pub(crate) fn is_key(text: &str) -> bool {
    appliance::domain::api_key::KeySecret::parse(text).is_some()
}

/// Returns the permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o7777
}

/// The secret that signs the deliveries of the organization in the document.
pub(crate) const HR_SECRET: &str = "whsec_YS1zZWNyZXQtb2YtaHItMDEyMzQ1Njc4OQ==";

/// Returns an interchange document with one organization. The organization has an enabled portal, an enabled HR
/// integration, an owner, a member, and an open public role with two steps. Two candidates are at the first step.
pub(crate) fn document() -> Value {
    let candidate = |number: usize| {
        json!({
            "id": format!("cand_{number}"), "applicationId": format!("app_{number}"),
            "name": format!("Candidate {number}"), "email": format!("candidate-{number}@example.net"),
            "appliedAt": "2026-11-01T10:00:00Z",
            "steps": [
                { "id": format!("cstep_{number}_1"), "roleStepId": "step_1", "status": "in_progress" },
                { "id": format!("cstep_{number}_2"), "roleStepId": "step_2", "status": "pending" },
            ],
        })
    };
    json!({
        "users": [
            { "id": "user_owner", "email": "Owner@Acme.example", "name": "The Owner" },
            { "id": "user_member", "email": "member@acme.example", "name": "A Member" },
        ],
        "organizations": [{
            "id": "org_acme", "slug": "acme", "name": "Acme", "domain": "acme.example",
            "portal": { "enabled": true, "theme": { "primaryColor": "#0f766e", "showSalary": true } },
            "hrIntegration": { "url": "https://hr.acme.example/hook", "secret": HR_SECRET, "enabled": true },
            "members": [
                { "userId": "user_owner", "orgRole": "owner" },
                { "userId": "user_member", "orgRole": "member" },
            ],
            "roles": [{
                "id": "role_1", "name": "Engineer", "status": "open", "public": true, "positions": 2,
                "createdAt": "2026-10-01T08:00:00Z",
                "steps": [
                    { "id": "step_1", "name": "Call", "stepType": "screening" },
                    { "id": "step_2", "name": "Offer", "stepType": "offer" },
                ],
                "candidates": [candidate(1), candidate(2)],
            }],
        }],
    })
}

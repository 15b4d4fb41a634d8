//! The real binary: `serve` as a process that tests can kill, and the other commands.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// The maximum time for which a test waits for a process, an answer or a lock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

const BINARY: &str = env!("CARGO_BIN_EXE_appliance");

/// A process that other threads can kill.
pub(crate) type ServiceProcess = Arc<Mutex<Child>>;

/// A running `serve`.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    child: ServiceProcess,
    log: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts the service without a rate limit, on a free port, and waits until it listens.
    pub(crate) fn start(db: &Path, options: &[&str]) -> Self {
        let db = db.to_str().unwrap();
        let mut child = Command::new(BINARY)
            .args(["serve", "--db", db, "--listen", "127.0.0.1:0", "--rate-limit", "0"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let child = Arc::new(Mutex::new(child));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, listening) = mpsc::channel();
        let ours = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in stderr.split(b'\n') {
                let mut line = line.unwrap();
                if let Some(address) = line.strip_prefix(b"listening on http://") {
                    let _ = sender.send(String::from_utf8_lossy(address).parse().unwrap());
                }
                line.push(b'\n');
                ours.lock().unwrap().extend(line);
            }
        });
        let mut service = Self { address: ([0, 0, 0, 0], 0).into(), child, log, reader: Some(reader) };
        match listening.recv_timeout(PATIENCE) {
            Ok(address) => service.address = address,
            Err(_) => panic!("serve does not listen: {}", String::from_utf8_lossy(&service.log())),
        }
        service
    }

    /// Returns the process, for a thread that kills it under load.
    pub(crate) fn process(&self) -> ServiceProcess {
        Arc::clone(&self.child)
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.lock().unwrap().kill().unwrap();
        self.require_killed();
    }

    /// Waits until the process has ended, and checks that a kill ended it.
    pub(crate) fn require_killed(&mut self) {
        assert_eq!(self.end().signal(), Some(9), "{}", String::from_utf8_lossy(&self.log()));
    }

    /// Sends SIGTERM and checks that the exit status is 0.
    pub(crate) fn terminate(&mut self) {
        let id = self.child.lock().unwrap().id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -TERM {id}")]).status().unwrap().success());
        assert_eq!(self.end().code(), Some(0), "{}", String::from_utf8_lossy(&self.log()));
    }

    /// Returns everything that the process has written to standard error.
    pub(crate) fn log(&self) -> Vec<u8> {
        self.log.lock().unwrap().clone()
    }

    fn end(&mut self) -> ExitStatus {
        let status = self.child.lock().unwrap().wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // A failed test must not leave a process behind.
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a command, checks that it succeeds, and returns its standard output.
pub(crate) fn run(args: &[&str]) -> String {
    run_with_input(args, "")
}

/// Runs a command with this standard input, checks that it succeeds, and returns its standard output.
pub(crate) fn run_with_input(args: &[&str], input: &str) -> String {
    let mut child = Command::new(BINARY)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "appliance {}: {}\n{out}{err}", args[0], output.status);
    out.into_owned()
}

/// Returns a path with a suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

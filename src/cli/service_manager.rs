//! The interface to systemd or another service manager that speaks its protocols: readiness and watchdog
//! (sd_notify(3)), the listening socket (sd_listen_fds(3)), and the journal (sd-daemon(3)). Without a service manager,
//! these functions have no effect.
//!
//! No library sends the notifications, because each is only one datagram to a socket whose name is in a variable.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;
use std::time::Duration;

use listenfd::ListenFd;

use super::failure::{EXIT_CONFIG, Failure};

/// The maximum time for which a notification waits for the service manager.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval between reports if the service manager has no watchdog.
const REPORT_INTERVAL: Duration = Duration::from_secs(30);

/// The number of reports in the time after which the watchdog acts. If the writer is busy during a whole interval, for
/// example because another process holds the write lock, a report is missing. The watchdog must tolerate this.
const REPORTS_PER_WATCHDOG: u32 = 4;

/// The service manager that started this process, if there is one.
pub(super) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// The time without a report after which the watchdog acts.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    pub(super) fn from_environment() -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|micros| is_ours && *micros > 0).map(Duration::from_micros);
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| socket(&name));
        Self { socket, watchdog }
    }

    /// Returns the interval at which to call [`ServiceManager::alive`].
    pub(super) fn report_interval(&self) -> Duration {
        self.watchdog.map_or(REPORT_INTERVAL, |watchdog| watchdog / REPORTS_PER_WATCHDOG)
    }

    /// Sets the status line.
    pub(super) fn report(&self, status: &str) {
        self.send(&format!("STATUS={}", one_line(status)));
    }

    /// Reports that the service accepts connections.
    pub(super) fn ready(&self, url: &str) {
        self.send(&format!("READY=1\nSTATUS=listening on {}", one_line(url)));
    }

    /// Reports that the service is alive, and sets the status line. `failing` names the failing background jobs.
    pub(super) fn alive(&self, url: &str, failing: &[&str]) {
        let failing = if failing.is_empty() { String::new() } else { format!("; failing: {}", failing.join(", ")) };
        let status = one_line(&format!("listening on {url}{failing}"));
        self.send(&format!("WATCHDOG=1\nSTATUS={status}"));
    }

    /// Reports that the service is stopping.
    pub(super) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=answering requests that have begun");
    }

    /// Sends a notification. A failure is ignored, because the service must also work without its manager.
    fn send(&self, state: &str) {
        if let Some((socket, manager)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), manager);
        }
    }
}

/// Returns a socket and the address of the manager. A name that begins with `@` is in the abstract namespace.
fn socket(name: &OsStr) -> Option<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => abstract_address(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name).ok()?,
        _ => return None,
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_write_timeout(Some(NOTIFY_TIMEOUT)).ok()?;
    Some((socket, address))
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> Option<SocketAddr> {
    <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name).ok()
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &[u8]) -> Option<SocketAddr> {
    None
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Takes the listening socket that the service manager passed (`LISTEN_FDS`), if any. Call this function before the
/// program starts threads, because the function removes these environment variables.
///
/// # Errors
/// Exit status 78 if there are several sockets, or the socket is not a TCP socket.
pub(super) fn passed_socket() -> Result<Option<TcpListener>, Failure> {
    let refused = |why: String| Failure { exit: EXIT_CONFIG, message: why };
    let mut passed = ListenFd::from_env();
    if passed.len() > 1 {
        let count = passed.len();
        return Err(refused(format!(
            "the service manager passed {count} sockets; pass one, for the address of the service"
        )));
    }
    let taken = passed.take_tcp_listener(0);
    taken.map_err(|error| {
        refused(format!("the socket from the service manager cannot be used: {error}; pass a TCP socket"))
    })
}

/// Returns whether standard error is the journal of systemd: `JOURNAL_STREAM` names its device and inode.
pub(super) fn is_journal() -> bool {
    static IS_JOURNAL: OnceLock<bool> = OnceLock::new();
    *IS_JOURNAL.get_or_init(|| {
        let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
        let stderr = rustix::fs::fstat(std::io::stderr());
        stderr.is_ok_and(|stderr| stream == format!("{}:{}", stderr.st_dev, stderr.st_ino))
    })
}

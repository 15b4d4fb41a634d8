//! The two cores of a measurement: one for the measured process and one for the client.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// The two cores, if the system has at least two cores and `taskset`.
pub(crate) struct Cores(Option<Pair>);

struct Pair {
    server: usize,
    client: usize,
}

impl Cores {
    /// Moves this process and its future children to the client's core, if the system has at least two cores and
    /// `taskset`. The caller must call this function before a second thread starts.
    pub(crate) fn claim() -> Self {
        let allowed = allowed();
        let [server, client, ..] = allowed[..] else { return Self(None) };
        let is_moved = pin(client, &std::process::id().to_string());
        Self(is_moved.then_some(Pair { server, client }))
    }

    /// Leaves the choice of a core to the system.
    pub(crate) fn unpinned() -> Self {
        Self(None)
    }

    /// Returns a command that runs on the server's core.
    pub(crate) fn server(&self, program: impl AsRef<OsStr>) -> Command {
        let Some(Pair { server, .. }) = &self.0 else { return Command::new(program) };
        let mut command = Command::new("taskset");
        // `taskset` replaces itself with the program, so the process id stays the same.
        command.args(["-c", &server.to_string()]).arg(program);
        command
    }

    /// Moves the calling thread to the server's core.
    pub(crate) fn move_to_server(&self) {
        let Some(Pair { server, .. }) = &self.0 else { return };
        let thread = std::fs::read_link("/proc/thread-self").unwrap();
        let thread = thread.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(pin(*server, &thread), "the thread moves to the server's core");
    }

    /// Returns a description for the report.
    pub(crate) fn describe(&self) -> String {
        match &self.0 {
            Some(Pair { server, client }) => {
                format!("pinned: servers and SQLite to core {server}, the client to core {client}")
            }
            None => "not pinned: fewer than two cores, or no taskset".to_owned(),
        }
    }
}

fn pin(core: usize, thread: &str) -> bool {
    let mut command = Command::new("taskset");
    command.args(["-p", "-c", &core.to_string(), thread]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the cores that this process may use.
fn allowed() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    list.trim().split(',').filter_map(range).flatten().collect()
}

/// Parses `3` or `0-3`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

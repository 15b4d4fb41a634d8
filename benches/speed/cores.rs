//! One core for what is measured, another one for what asks.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Where things run.
pub(crate) struct Cores(Option<Pair>);

struct Pair {
    server: usize,
    client: usize,
}

impl Cores {
    /// Takes this process to the client's core, and with it all that it starts, where the system has two cores for it
    /// and `taskset`. To be called before there is a second thread.
    pub(crate) fn claim() -> Self {
        let allowed = allowed();
        let [server, client, ..] = allowed[..] else { return Self(None) };
        let is_moved = take_to(client, &std::process::id().to_string());
        Self(is_moved.then_some(Pair { server, client }))
    }

    /// A command that will run on the server's core.
    pub(crate) fn server(&self, program: impl AsRef<OsStr>) -> Command {
        let Some(Pair { server, .. }) = &self.0 else { return Command::new(program) };
        let mut command = Command::new("taskset");
        // It becomes the program, under the same process id.
        command.args(["-c", &server.to_string()]).arg(program);
        command
    }

    /// Takes the thread that calls this to the server's core.
    pub(crate) fn move_to_server(&self) {
        let Some(Pair { server, .. }) = &self.0 else { return };
        let thread = std::fs::read_link("/proc/thread-self").unwrap();
        let thread = thread.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(take_to(*server, &thread), "a thread can be moved where its process could");
    }

    /// For people.
    pub(crate) fn words(&self) -> String {
        match &self.0 {
            Some(Pair { server, client }) => {
                format!("pinned: servers and SQLite to core {server}, the client to core {client}")
            }
            None => "not pinned: there are no two cores, or no taskset".to_owned(),
        }
    }
}

fn take_to(core: usize, thread: &str) -> bool {
    let mut command = Command::new("taskset");
    command.args(["-p", "-c", &core.to_string(), thread]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The cores that this process may use.
fn allowed() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    list.trim().split(',').filter_map(range).flatten().collect()
}

/// `3`, or `0-3`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

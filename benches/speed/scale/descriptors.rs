//! The limit on open files and sockets of this process and its children.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// The environment variable that marks a restarted process, so that it restarts only once.
const DONE: &str = "APPLIANCE_BENCH_DESCRIPTORS";

/// Restarts this process with its hard limit as the soft limit. The caller must call this function before it measures
/// anything.
pub(crate) fn claim() {
    if std::env::var_os(DONE).is_some() {
        return;
    }
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n \"$(ulimit -H -n)\"; exec \"$0\" \"$@\""]);
    command.arg(std::env::current_exe().unwrap()).args(std::env::args_os().skip(1)).env(DONE, "1");
    let error = command.exec();
    eprintln!("the limit on descriptors cannot be raised: {error}");
}

/// Returns the current soft limit.
pub(crate) fn most() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(1_024)
}

//! How many files and sockets this process and those that it starts may have open.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Set where this was done before, so that it is not done again and again.
const DONE: &str = "APPLIANCE_BENCH_DESCRIPTORS";

/// Begins this process anew with as many as the system allows. To be called before anything else.
pub(crate) fn claim() {
    if std::env::var_os(DONE).is_some() {
        return;
    }
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n \"$(ulimit -H -n)\"; exec \"$0\" \"$@\""]);
    command.arg(std::env::current_exe().unwrap()).args(std::env::args_os().skip(1)).env(DONE, "1");
    let error = command.exec();
    eprintln!("this process goes on with the descriptors that it has: {error}");
}

/// How many there are.
pub(crate) fn most() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(1_024)
}

//! The progress of a long command on a terminal: one line on standard error that is rewritten about three times a
//! second and removed at the end. If standard error is a pipe, a file or a dumb terminal, the line is not shown.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::output::print_message;

/// The interval between two versions of the line: short enough to show that the command is working. The elapsed time is
/// counted in intervals, which is accurate enough for a rate.
const INTERVAL: Duration = Duration::from_millis(300);

/// Shows the progress of a command until this value is dropped.
pub(super) struct Progress {
    /// The work that the line names.
    verb: Arc<Mutex<String>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to show the progress of a command. `done` returns the number of bytes processed so far. `total` is the
    /// expected number of bytes, if it is known.
    pub(super) fn start(verb: &str, total: Option<u64>, done: impl Fn() -> u64 + Send + 'static) -> Self {
        let verb = Arc::new(Mutex::new(verb.to_owned()));
        if !is_wanted() {
            return Self { verb, end: None, thread: None };
        }
        let (end, ended) = mpsc::channel();
        let shown = Arc::clone(&verb);
        let show = move |elapsed| {
            // An error while writing to standard error is ignored, as for messages.
            let verb = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let _ = write!(io::stderr().lock(), "\r{}\x1b[K", line(&verb, done(), total, elapsed));
        };
        // The first line is written before the work begins, because the work can end before the thread runs.
        show(Duration::ZERO);
        let show_rest = move || {
            let mut elapsed = Duration::ZERO;
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                elapsed += INTERVAL;
                show(elapsed);
            }
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show_rest).ok();
        Self { verb, end: Some(end), thread }
    }

    /// Begins to show the progress of a command, measured in the bytes that this process reads and writes. `total` is
    /// the expected number of bytes.
    pub(super) fn of_transfer(verb: &str, total: u64) -> Self {
        let before = transferred_bytes();
        Self::start(verb, Some(total), move || transferred_bytes().saturating_sub(before))
    }

    /// Names the part of the work that begins. If the line is not shown, prints the name as a message.
    pub(super) fn begin_part(&self, part: &str) {
        if self.end.is_some() {
            part.clone_into(&mut self.verb.lock().unwrap_or_else(PoisonError::into_inner));
        } else {
            print_message(part);
        }
    }
}

/// Returns the number of bytes that this process has read and written; 0 if the system does not count them. SQLite
/// itself offers no byte count while one statement runs.
fn transferred_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let counts = text.lines().filter_map(|line| line.strip_prefix("rchar: ").or_else(|| line.strip_prefix("wchar: ")));
    counts.filter_map(|count| count.parse::<u64>().ok()).sum()
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns whether standard error is a terminal that can overwrite a line.
fn is_wanted() -> bool {
    let is_dumb = std::env::var("TERM").map_or(true, |terminal| terminal.is_empty() || terminal == "dumb");
    io::stderr().is_terminal() && !is_dumb
}

/// Returns the line: the amount and the rate and, if the total is known, the share and the time that is left.
fn line(verb: &str, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let rate = if elapsed.is_zero() { 0.0 } else { megabytes(done) / elapsed.as_secs_f64() };
    let amount = format!("{:.1} MB, {rate:.1} MB/s", megabytes(done));
    // The total is an estimate, and the actual number of bytes can exceed it.
    let Some(total) = total.filter(|total| *total > 0) else { return format!("{verb}: {amount}") };
    let share = (done.saturating_mul(100) / total).min(99);
    let left = if rate > 0.0 { megabytes(total.saturating_sub(done)) / rate } else { 0.0 };
    let left = if left >= 1.0 { format!(", {} left", duration(left as u64)) } else { String::new() };
    format!("{verb}: {share} %, {amount}{left}")
}

pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_share_the_rate_and_the_time_left() {
        let (mb, seconds) = (1_000_000, Duration::from_secs);
        for (done, total, elapsed, expected) in [
            (0, Some(100 * mb), seconds(0), "copying: 0 %, 0.0 MB, 0.0 MB/s"),
            (25 * mb, Some(100 * mb), seconds(5), "copying: 25 %, 25.0 MB, 5.0 MB/s, 15 s left"),
            (mb, Some(1_000 * mb), seconds(1), "copying: 0 %, 1.0 MB, 1.0 MB/s, 16 min 39 s left"),
            (mb, Some(7_201 * mb), seconds(1), "copying: 0 %, 1.0 MB, 1.0 MB/s, 2 h 0 min left"),
            (120 * mb, Some(100 * mb), seconds(10), "copying: 99 %, 120.0 MB, 12.0 MB/s"),
            (3 * mb, None, seconds(2), "copying: 3.0 MB, 1.5 MB/s"),
            (3 * mb, Some(0), seconds(2), "copying: 3.0 MB, 1.5 MB/s"),
        ] {
            assert_eq!(line("copying", done, total, elapsed), expected);
        }
    }
}

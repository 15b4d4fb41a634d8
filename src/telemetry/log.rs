//! The log thread gathers lines for a moment and writes them to standard error.

use std::io::Write as _;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The size of the waiting log lines, in bytes, at which further lines are dropped: about ten thousand lines.
const WAITING_BYTES_MAX: usize = 1_024 * 1_024;

/// The time for which the log thread gathers lines before it writes them.
const GATHER: Duration = Duration::from_millis(5);

/// The maximum time for which a stopping service waits for the last lines to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The log. Its thread gathers lines for a moment and writes them together, because waking the thread for each line
/// would cost more than the rest of a request. If the reader of standard error is slow or stuck, lines are dropped and
/// counted, and no request waits.
#[derive(Debug)]
pub(super) struct Log {
    waiting: Arc<Waiting>,
    ended: Mutex<Receiver<()>>,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: Mutex<Lines>,
    changed: Condvar,
    flushed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    text: String,
    dropped: u64,
    /// Whether a caller waits until the lines are written. If so, the thread writes them at once.
    flushing: bool,
    ending: bool,
}

impl Log {
    /// Starts the log thread. `describe_dropped` returns the line, with its line break, for a number of dropped lines.
    pub(super) fn start(describe_dropped: impl Fn(u64) -> String + Send + 'static) -> Self {
        let (end, ended) = mpsc::channel();
        let waiting = Arc::new(Waiting::default());
        let shared = Arc::clone(&waiting);
        std::thread::spawn(move || {
            let mut spare = String::new();
            while let Some((mut text, dropped)) = shared.take(std::mem::take(&mut spare)) {
                // The service must continue if standard error is closed.
                let mut out = std::io::stderr().lock();
                let _ = out.write_all(text.as_bytes());
                if dropped > 0 {
                    let _ = out.write_all(describe_dropped(dropped).as_bytes());
                }
                drop(out);
                shared.end_flush();
                text.clear();
                spare = text;
            }
            let _ = end.send(());
        });
        Self { waiting, ended: Mutex::new(ended) }
    }

    /// Adds a line, or drops and counts it if too many lines are waiting.
    pub(super) fn push(&self, line: impl FnOnce(&mut String)) {
        let mut lines = self.waiting.lock();
        if lines.text.len() >= WAITING_BYTES_MAX {
            lines.dropped += 1;
            return;
        }
        let is_first = lines.text.is_empty();
        line(&mut lines.text);
        if is_first {
            self.waiting.changed.notify_one();
        }
    }

    /// Waits until all earlier lines are written, but no longer than [`FLUSH_TIMEOUT`], because the reader of standard
    /// error might be stuck.
    pub(super) fn flush(&self) {
        let mut lines = self.waiting.lock();
        lines.flushing = true;
        self.waiting.changed.notify_one();
        drop(self.waiting.flushed.wait_timeout_while(lines, FLUSH_TIMEOUT, |lines| lines.flushing));
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for lines, or for a flush, and returns the lines with the number of dropped lines. Returns `None` when the
    /// log is ending and no lines are left.
    fn take(&self, spare: String) -> Option<(String, u64)> {
        let mut lines = self.lock();
        while lines.text.is_empty() && !lines.flushing && !lines.ending {
            lines = self.changed.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        let gathered = self.changed.wait_timeout_while(lines, GATHER, |lines| !lines.flushing && !lines.ending);
        lines = gathered.unwrap_or_else(PoisonError::into_inner).0;
        let text = std::mem::replace(&mut lines.text, spare);
        let is_over = text.is_empty() && lines.ending;
        (!is_over).then(|| (text, std::mem::take(&mut lines.dropped)))
    }

    /// Ends a flush, unless more lines have arrived since the last lines were taken.
    fn end_flush(&self) {
        let mut lines = self.lock();
        if lines.text.is_empty() {
            lines.flushing = false;
            self.flushed.notify_all();
        }
    }
}

/// Waits until all lines are written, but no longer than [`FLUSH_TIMEOUT`], because the reader of standard error might
/// be stuck.
impl Drop for Log {
    fn drop(&mut self) {
        self.waiting.lock().ending = true;
        self.waiting.changed.notify_one();
        let _ = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(FLUSH_TIMEOUT);
    }
}

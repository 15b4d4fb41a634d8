//! Passes lines from background jobs to the log of the service. Lines wait here until the log is connected.

use std::sync::{Mutex, OnceLock, PoisonError};

/// The maximum number of lines that wait. Further lines are dropped. The jobs write a few lines an hour, and the log is
/// connected within a second after the start.
const WAITING_MAX: usize = 100;

type WriteLine = dyn Fn(&str) + Send + Sync;

/// The log of the service, to which background jobs write.
#[derive(Default)]
pub(crate) struct ServiceLog {
    write_line: OnceLock<Box<WriteLine>>,
    waiting: Mutex<Vec<String>>,
}

impl ServiceLog {
    /// Writes a line to the log, immediately or as soon as the log is connected.
    pub(crate) fn write(&self, line: String) {
        // The lock is taken first, so that no line is added to the waiting lines after `connect` has written them.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(write_line) = self.write_line.get() {
            drop(waiting);
            return write_line(&line);
        }
        if waiting.len() < WAITING_MAX {
            waiting.push(line);
        }
    }

    /// Writes the waiting lines, and all later lines, with `write_line`.
    pub(crate) fn connect(&self, write_line: impl Fn(&str) + Send + Sync + 'static) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting).iter().for_each(|line| write_line(line));
        // A service has only one log, so further calls are ignored.
        let _ = self.write_line.set(Box::new(write_line));
    }
}

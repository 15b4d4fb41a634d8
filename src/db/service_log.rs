//! Carries lines from background jobs to the log of the service. Lines wait here until the service has a log.

use std::sync::{Mutex, OnceLock, PoisonError};

/// The maximum number of lines that wait. The jobs write a few lines an hour, and the log exists within a second.
const WAITING_MAX: usize = 100;

type WriteLine = dyn Fn(&str) + Send + Sync;

/// The log of the service, as background jobs know it.
#[derive(Default)]
pub(crate) struct ServiceLog {
    write_line: OnceLock<Box<WriteLine>>,
    waiting: Mutex<Vec<String>>,
}

impl ServiceLog {
    /// Writes a line to the log, at once or as soon as there is a log.
    pub(crate) fn write(&self, line: String) {
        // The lock is taken first, so that no line waits after `connect` has written those that waited.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(write_line) = self.write_line.get() {
            drop(waiting);
            return write_line(&line);
        }
        if waiting.len() < WAITING_MAX {
            waiting.push(line);
        }
    }

    /// Writes the lines that wait, and all later ones, with `write_line`.
    pub(crate) fn connect(&self, write_line: impl Fn(&str) + Send + Sync + 'static) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting).iter().for_each(|line| write_line(line));
        // A service has one log.
        let _ = self.write_line.set(Box::new(write_line));
    }
}

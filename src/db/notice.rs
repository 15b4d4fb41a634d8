//! Sentences of the store's own threads for the service's log. They wait until the service has a log.

use std::sync::{Mutex, OnceLock, PoisonError};

/// Sentences that wait at most: the threads say a few in an hour, and the log is there within a second.
const WAITING_MAX: usize = 100;

type Hear = dyn Fn(&str) + Send + Sync;

/// The way to the log.
#[derive(Default)]
pub(crate) struct Notices {
    hear: OnceLock<Box<Hear>>,
    waiting: Mutex<Vec<String>>,
}

impl Notices {
    /// Writes a sentence to the log, now or once there is one.
    pub(crate) fn say(&self, sentence: String) {
        if let Some(hear) = self.hear.get() {
            return hear(&sentence);
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.push(sentence);
        }
    }

    /// From now on sentences go there; those that waited go first.
    pub(crate) fn listen(&self, hear: impl Fn(&str) + Send + Sync + 'static) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.iter().for_each(|sentence| hear(sentence));
        // A service has one log.
        let _ = self.hear.set(Box::new(hear));
    }
}

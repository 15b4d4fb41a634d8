//! Compares the change numbers of portals in memory with those in the database, before a server uses a cached response.
//! Another server may have changed a portal, and the next response of every server must show the change.
//!
//! A comparison begins only after all requests that wait for its outcome have arrived. Requests that arrive during a
//! comparison share the next one, so a busy server has at most one comparison at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::cached_state::CachedState;
use super::change_number;
use crate::db::job_reader::JobReader;
use crate::db::tx::Error;
use crate::domain::timestamp::Timestamp;

/// The function that receives the outcome of a comparison.
type Done = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// The thread that makes the comparisons. Dropping this value ends the thread, without waiting for a comparison that
/// hangs.
pub(super) struct PortalComparison {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The requests that wait for the next comparison. The limits on connections also limit these requests.
    waiting: Vec<Done>,
    is_stopped: bool,
}

impl PortalComparison {
    /// Starts the thread that makes the comparisons.
    ///
    /// # Errors
    /// Fails if the system cannot provide a thread.
    pub(super) fn start(reader: JobReader, cached: Arc<CachedState>) -> Result<Self, Error> {
        let queue = Arc::new(Queue::default());
        let of_thread = Arc::clone(&queue);
        let run = move || {
            while let Some(waiting) = of_thread.wait() {
                let compared = catch_unwind(AssertUnwindSafe(|| compare(&reader, &cached)));
                let compared = compared.unwrap_or_else(|_| Err(Error::Defect("a comparison panicked".to_owned())));
                waiting.into_iter().for_each(|done| done(compared.clone()));
            }
        };
        let spawned = std::thread::Builder::new().name("portals".to_owned()).spawn(run);
        spawned.map_err(|error| Error::Unavailable(format!("the system cannot provide a thread: {error}")))?;
        Ok(Self { queue })
    }

    /// Queues a request for the next comparison. After a comparison without an error, the change numbers in memory
    /// reflect every change that was committed before this call.
    pub(super) fn request(&self, done: Done) {
        self.queue.state().waiting.push(done);
        self.queue.changed.notify_one();
    }
}

impl Drop for PortalComparison {
    fn drop(&mut self) {
        self.queue.state().is_stopped = true;
        self.queue.changed.notify_one();
    }
}

impl Queue {
    /// Waits for requests and takes them. Returns `None` after the [`PortalComparison`] was dropped.
    fn wait(&self) -> Option<Vec<Done>> {
        let mut state = self.state();
        while state.waiting.is_empty() && !state.is_stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.is_stopped).then(|| std::mem::take(&mut state.waiting))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compare(reader: &JobReader, cached: &CachedState) -> Result<(), Error> {
    let after = cached.portals.newest();
    let changed = reader.snapshot(Timestamp::from_micros(0), |tx| change_number::changed_portals(tx, after))?;
    cached.portals.invalidate(changed);
    Ok(())
}

//! Jobs that a request queues with the store, and waits for.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::store::usage::LogEntry;
use crate::store::{CachedKey, Error, Refused, RowOutcome};

/// How often a request is carried out at most: again where the keys have changed since its key was looked up.
pub(super) const ATTEMPTS_MAX: usize = 8;

/// How the store tells what became of a job.
type Done<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// A usage row that waits to be written.
pub(super) struct Recording(oneshot::Receiver<Result<RowOutcome, Error>>);

/// A usage row that was not written: the keys have changed since this one was looked up.
pub(super) type Unwritten = Box<LogEntry>;

/// Writes a usage row, together with those of the other requests of this tick.
pub(super) fn recording(ctx: &Ctx, key: Arc<CachedKey>, entry: LogEntry) -> Recording {
    let (sender, receiver) = oneshot::channel();
    let is_first = ctx.store.record(key, entry, move |outcome| drop(sender.send(outcome)));
    if is_first {
        flush_soon(ctx);
    }
    Recording(receiver)
}

impl Recording {
    /// Waits until the row of this key is written, together with the check that its key still counts. To be asked once. `Some` is the row
    /// where the key has to be looked up again.
    ///
    /// # Errors
    /// `unauthorized` where the key has expired; otherwise where the row cannot be written.
    pub(super) async fn outcome(&mut self, ctx: &Ctx, key: &CachedKey) -> Result<Option<Unwritten>, Error> {
        let outcome = (&mut self.0).await;
        match outcome.unwrap_or_else(|_| Err(Error::Defect("a row was dropped without an answer".to_owned())))? {
            RowOutcome::Logged => Ok(None),
            RowOutcome::KeyStale(row) => Ok(Some(row)),
            RowOutcome::KeyRefused(why) => {
                ctx.store.note_refused(Refused::ApiKey(key.id().clone(), why));
                Err(Refusal::Unauthorized { sent: true }.into())
            }
        }
    }
}

/// Commits at the end of this tick of the runtime, behind all requests that are on their way in it.
pub(super) fn flush_soon(ctx: &Ctx) {
    let store = Arc::clone(&ctx.store);
    tokio::spawn(async move {
        tokio::task::yield_now().await;
        store.flush();
    });
}

/// Queues a job with the store and waits for what it is told.
pub(super) async fn outcome_of<T: Send + 'static>(queue: impl FnOnce(Done<T>)) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    // Nobody receives where the client is gone; the job is done all the same.
    queue(Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.await.unwrap_or_else(|_| Err(Error::Defect("a job was dropped without an answer".to_owned())))
}

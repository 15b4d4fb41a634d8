//! Jobs that a request queues in the store and waits for.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::store::usage::LogEntry;
use crate::store::{CachedKey, Error, Refused, RowOutcome};

/// The maximum number of times that the gate handles one request. The gate handles a request again if API keys or
/// users have changed since the lookup.
pub(super) const ATTEMPTS_MAX: usize = 8;

/// The callback through which the store returns the result of a job.
type JobCallback<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// A queued usage row.
pub(super) struct PendingUsageRow(oneshot::Receiver<Result<RowOutcome, Error>>);

/// A usage row that was not written, because keys or users have changed since the lookup.
pub(super) type Unwritten = Box<LogEntry>;

/// Queues a usage row, which is handled together with the rows of the other requests in this tick.
pub(super) fn queue_usage_row(ctx: &Ctx, key: Arc<CachedKey>, entry: LogEntry) -> PendingUsageRow {
    let (sender, receiver) = oneshot::channel();
    let is_first = ctx.store.record(key, entry, move |outcome| drop(sender.send(outcome)));
    if is_first {
        flush_soon(ctx);
    }
    PendingUsageRow(receiver)
}

impl PendingUsageRow {
    /// Waits until the store has checked that the key is current, and has written the row or, on a full disk, owes it.
    /// Returns the row if the key must be looked up again. Call this function only once.
    ///
    /// # Errors
    /// `unauthorized` if the key is no longer valid; another error if the row cannot be written.
    pub(super) async fn outcome(&mut self, ctx: &Ctx, key: &CachedKey) -> Result<Option<Unwritten>, Error> {
        let outcome = (&mut self.0).await;
        match outcome.unwrap_or_else(|_| Err(Error::Defect("a usage row was dropped without a result".to_owned())))? {
            RowOutcome::Logged => Ok(None),
            RowOutcome::KeyStale(row) => Ok(Some(row)),
            RowOutcome::KeyRefused(why) => {
                ctx.store.note_refused(Refused::ApiKey(key.id().clone(), why));
                Err(Refusal::Unauthorized { sent: true }.into())
            }
        }
    }
}

/// Wakes the writer for the queued jobs and flushes the queued usage rows at the end of this tick. By then, the other
/// requests in the tick have queued their jobs and rows.
pub(super) fn flush_soon(ctx: &Ctx) {
    let store = Arc::clone(&ctx.store);
    tokio::spawn(async move {
        tokio::task::yield_now().await;
        store.flush();
    });
}

/// Queues a job in the store and waits for its result.
pub(super) async fn run_job<T: Send + 'static>(queue: impl FnOnce(JobCallback<T>)) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    // If the client has disconnected, the job still runs, but nobody receives its result.
    queue(Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.await.unwrap_or_else(|_| Err(Error::Defect("a job was dropped without a result".to_owned())))
}

//! Reads of the database for a request. No thread of the event loop waits for a database server, because requests that
//! need no database would then wait too.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::ctx::Ctx;
use crate::store::Error;

/// The maximum time for which a request waits for a permit to read from a database server.
const PERMIT_WAIT_MAX: Duration = Duration::from_secs(5);

/// Runs `read` on a blocking thread.
///
/// # Errors
/// The error of `read`; [`Error::Defect`] if `read` panics; [`Error::Unavailable`] if too many requests are waiting for
/// a database server.
pub(super) async fn read<T: Send + 'static>(
    ctx: &Arc<Ctx>,
    read: impl FnOnce(&Arc<Ctx>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let permit = permit(ctx).await?;
    let ours = Arc::clone(ctx);
    let run = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        read(&ours)
    });
    run.await.map_err(|error| Error::Defect(error.to_string()))?
}

/// Runs `read`: on this thread if the data is in a file, where the read takes microseconds, or else on a blocking
/// thread.
///
/// # Errors
/// The errors of [`read`].
pub(super) async fn read_briefly<T: Send + 'static>(
    ctx: &Arc<Ctx>,
    read: impl FnOnce(&Arc<Ctx>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    if ctx.store.is_on_server() { self::read(ctx, read).await } else { read(ctx) }
}

/// Waits for a permit to read from a database server. If the server does not answer, the requests with permits all wait
/// for it, and further requests are refused after [`PERMIT_WAIT_MAX`]. A read from a file needs no permit.
async fn permit(ctx: &Ctx) -> Result<Option<OwnedSemaphorePermit>, Error> {
    if !ctx.store.is_on_server() {
        return Ok(None);
    }
    let permit = tokio::time::timeout(PERMIT_WAIT_MAX, Arc::clone(&ctx.server_reads).acquire_owned()).await;
    let waits = || Error::Unavailable("too many requests are waiting for the database server".to_owned());
    permit.map_err(|_| waits())?.map(Some).map_err(|error| Error::Unavailable(error.to_string()))
}

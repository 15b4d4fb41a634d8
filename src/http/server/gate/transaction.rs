//! Runs the handler's two halves, the second one in a transaction, and writes the usage row.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::idempotency::{IdempotentRequest, Outcome};
use super::job::{flush_soon, queue_usage_row, run_job};
use super::request_trail::RequestTrail;
use crate::domain::refusal::Refusal;
use crate::http::server::authentication::{Credential, verify};
use crate::http::server::ctx::Ctx;
use crate::http::server::database_read;
use crate::http::server::permits::NoPermit;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::{Act, NextStep, Route, Work};
use crate::store::usage::LogEntry;
use crate::store::{self, Error, Grade, Tx};

/// `Retry-After` for a network with too many waiting sign-ins, in seconds. All waiting sign-ins together take less than
/// a second.
const HASHING_RETRY_AFTER_S: u64 = 1;

/// Runs the handler's first half. If the first half hashes a password or might wait for a database server, it runs on a
/// blocking thread. At most two passwords are hashed at a time.
///
/// # Errors
/// The errors of the first half, or [`Error::Defect`] if it panics. For a first half that hashes a password:
/// `rate_limited` if the client's network has too many such requests, and [`Error::Unavailable`] if no permit of
/// [`Ctx::hashing_queue`] is free. For a first half that reads from a database server: the errors of
/// [`database_read::read`].
pub(super) async fn decode(ctx: &Arc<Ctx>, route: &Route, request: &Arc<Request>) -> Result<NextStep, Error> {
    // Of the first halves that hash no password, only those of the console read the database.
    if !route.hashes_password && route.audience == Audience::Staff && ctx.store.is_on_server() {
        let (decode, request) = (Arc::clone(&route.decode), Arc::clone(request));
        return database_read::read(ctx, move |ctx| decode(ctx, &request)).await;
    }
    if !route.hashes_password {
        let decoded = catch_unwind(AssertUnwindSafe(|| (route.decode)(ctx, request)));
        return decoded.unwrap_or_else(|_| Err(Error::Defect("the handler's first half panicked".to_owned())));
    }
    let overload = || Error::Unavailable("too many sign-ins are waiting".to_owned());
    let _permit = ctx.hashing_queue.take(request.client()).map_err(|why| match why {
        NoPermit::NetworkAtLimit => Error::Refused(Refusal::RateLimited { retry_after_s: HASHING_RETRY_AFTER_S }),
        NoPermit::AllTaken => overload(),
    })?;
    let _hashing = ctx.hashing.acquire().await.map_err(|_| overload())?;
    let (decode, ctx, request) = (Arc::clone(&route.decode), Arc::clone(ctx), Arc::clone(request));
    let run = tokio::task::spawn_blocking(move || decode(&ctx, &request));
    run.await.map_err(|error| Error::Defect(error.to_string()))?
}

/// Runs the handler's second half in one transaction.
pub(super) async fn transact(
    ctx: &Arc<Ctx>,
    route: &Route,
    work: Work,
    credential: Option<Credential>,
    idempotent: Option<IdempotentRequest>,
    act: Act,
    trail: &mut RequestTrail,
) -> Result<Reply, Error> {
    match work {
        Work::Read => read(ctx, route, credential, act).await,
        Work::Write(grade) => {
            let reply = write(ctx, grade, credential, idempotent, act, trail.usage_row.clone()).await?;
            // The transaction has already written the row, unless it refused the credential. A request whose
            // credential is refused needs no row.
            trail.usage_row = None;
            Ok(reply?)
        }
    }
}

async fn read(ctx: &Arc<Ctx>, route: &Route, credential: Option<Credential>, mut act: Act) -> Result<Reply, Error> {
    let session = match &credential {
        Some(Credential::Session(digest)) if route.uses_session => Some(*digest),
        _ => None,
    };
    let read = move |ctx: &Arc<Ctx>| {
        ctx.store.read(|tx| {
            let who = credential.as_ref().map(|credential| verify(tx, credential)).transpose()?;
            let touch_is_due = session.map_or(Ok(false), |digest| store::session::touch_is_due(tx, &digest))?;
            Ok((act(ctx, tx, who)?, touch_is_due))
        })
    };
    let (reply, touch_is_due) = database_read::read(ctx, read).await?;
    if let Some(digest) = session.filter(|_| touch_is_due) {
        let touch = move |tx: &Tx<'_>| store::session::touch(tx, &digest);
        match run_job(|done| ctx.store.write(Grade::Logged, touch, done)).await {
            // Reads continue on a full disk. The session was verified above; only its last use is not recorded.
            Ok(true) | Err(Error::Full(_)) => {}
            Ok(false) => return Err(Refusal::Unauthorized { sent: true }.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(reply)
}

/// Runs the act in the writer's transaction. A refusal by the act rolls back only the changes that the act made: the
/// usage row is still written, and the transaction is committed.
async fn write(
    ctx: &Arc<Ctx>,
    grade: Grade,
    credential: Option<Credential>,
    idempotent: Option<IdempotentRequest>,
    mut act: Act,
    usage_row: Option<LogEntry>,
) -> Result<Outcome, Error> {
    let ours = Arc::clone(ctx);
    let job = move |tx: &Tx<'_>| {
        let who = match credential.as_ref().map(|credential| verify(tx, credential)).transpose() {
            Ok(who) => who,
            Err(Error::Refused(refusal)) => return Ok(Err(refusal)),
            Err(error) => return Err(error),
        };
        let mut act = |who| match tx.savepoint(|| act(&ours, tx, who)) {
            Ok(reply) => Ok(Ok(reply)),
            Err(Error::Refused(refusal)) => Ok(Err(refusal)),
            Err(error) => Err(error),
        };
        let outcome = match &idempotent {
            None => act(who)?,
            Some(idempotent) => idempotent.run(tx, who, act)?,
        };
        if let Some(entry) = &usage_row {
            store::usage::append(tx, entry)?;
        }
        Ok(outcome)
    };
    run_job(|done| {
        if ctx.store.write_with_others(grade, job, done) {
            flush_soon(ctx);
        }
    })
    .await
}

/// The outcome of a request, after the service has tried to write its usage row.
pub(super) enum LoggedOutcome {
    /// The outcome is final: the row was written or is owed, the row cannot be written, or the request needs no row.
    Final(Result<Reply, Error>),
    /// The row was not written, because keys or users have changed since the lookup. The outcome might be outdated.
    Retry,
}

/// Writes the usage row before the response is sent, if the request needs one and its transaction has not written it.
pub(super) async fn log_usage(ctx: &Ctx, trail: &mut RequestTrail, outcome: Result<Reply, Error>) -> LoggedOutcome {
    let unlogged = outcome.as_ref().is_err_and(is_unlogged);
    let pending = trail.key.clone().zip(trail.usage_row.take()).filter(|_| !unlogged);
    let Some((key, entry)) = pending else { return LoggedOutcome::Final(outcome) };
    let error = match queue_usage_row(ctx, Arc::clone(&key), entry).outcome(ctx, &key).await {
        Ok(None) => return LoggedOutcome::Final(outcome),
        Ok(Some(_)) => return LoggedOutcome::Retry,
        Err(error) => error,
    };
    // A response without its row would make the usage log incomplete. Therefore, this error replaces the outcome,
    // unless the outcome is a defect or unknown.
    LoggedOutcome::Final(match outcome {
        Err(error @ (Error::Defect(_) | Error::OutcomeUnknown(_))) => Err(error),
        _ => Err(error),
    })
}

/// Returns whether a request with this error needs no usage row, because the caller is expected to send it again.
fn is_unlogged(error: &Error) -> bool {
    let is_temporary = |refusal: &Refusal| matches!(refusal, Refusal::RateLimited { .. } | Refusal::Unavailable { .. });
    match error {
        Error::Full(_) | Error::Unavailable(_) => true,
        Error::Refused(refusal) => is_temporary(refusal),
        Error::Defect(_) | Error::OutcomeUnknown(_) => false,
    }
}

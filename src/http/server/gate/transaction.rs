//! The handler's two halves, the transaction that the second one runs in, and the usage row.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::idempotency::{IdempotentRequest, Outcome};
use super::job::{flush_soon, outcome_of, recording};
use super::trail::Trail;
use crate::domain::refusal::Refusal;
use crate::http::server::authentication::{Credential, prove};
use crate::http::server::ctx::Ctx;
use crate::http::server::permits::NoPermit;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Act, Next, Route, Work};
use crate::store::usage::LogEntry;
use crate::store::{self, Error, Grade, Tx};

/// After how many seconds a network whose sign-ins wait may send more: those that wait take about one.
const HASHING_RETRY_AFTER_S: u64 = 1;

/// The handler's first half. One that hashes runs on a thread of its own, two at once.
///
/// # Errors
/// `rate_limited` where the client's network has as many waiting as it may; [`Error::Unavailable`] where all permits are taken.
pub(super) async fn decode(ctx: &Arc<Ctx>, route: &Route, request: &Arc<Request>) -> Result<Next, Error> {
    if !route.hashes {
        let decoded = catch_unwind(AssertUnwindSafe(|| (route.decode)(ctx, request)));
        return decoded.unwrap_or_else(|_| Err(Error::Defect("a body's reader panicked".to_owned())));
    }
    let overload = || Error::Unavailable("too many sign-ins wait".to_owned());
    let _permit = ctx.hashing_queue.take(request.client()).map_err(|why| match why {
        NoPermit::OfNetwork => Error::Refused(Refusal::RateLimited { retry_after_s: HASHING_RETRY_AFTER_S }),
        NoPermit::OfAll => overload(),
    })?;
    let _turn = ctx.hashing.acquire().await.map_err(|_| overload())?;
    let (decode, ctx, request) = (Arc::clone(&route.decode), Arc::clone(ctx), Arc::clone(request));
    let run = tokio::task::spawn_blocking(move || decode(&ctx, &request));
    run.await.map_err(|error| Error::Defect(error.to_string()))?
}

/// The handler's second half, in one transaction.
pub(super) async fn transact(
    ctx: &Arc<Ctx>,
    work: Work,
    credential: Option<Credential>,
    idempotent: Option<IdempotentRequest>,
    act: Act,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    match work {
        Work::Read => read(ctx, credential, act).await,
        Work::Write(grade) => {
            let reply = write(ctx, grade, credential, idempotent, act, trail.owed.clone()).await?;
            // The row went with the act.
            trail.owed = None;
            Ok(reply?)
        }
    }
}

async fn read(ctx: &Arc<Ctx>, credential: Option<Credential>, mut act: Act) -> Result<Reply, Error> {
    let session = match &credential {
        Some(Credential::Session(digest)) => Some(*digest),
        _ => None,
    };
    let ours = Arc::clone(ctx);
    let run = tokio::task::spawn_blocking(move || {
        ours.store.read(|tx| {
            let who = credential.as_ref().map(|credential| prove(tx, credential)).transpose()?;
            act(&ours, tx, who)
        })
    });
    let reply = run.await.map_err(|error| Error::Defect(error.to_string()))??;
    if let Some(digest) = session {
        let touch = move |tx: &Tx<'_>| store::session::touch(tx, &digest);
        match outcome_of(|done| ctx.store.write(Grade::Logged, touch, done)).await {
            // On a full disk reads go on. The session was proven above; only its last use is not noted.
            Ok(true) | Err(Error::Full(_)) => {}
            Ok(false) => return Err(Refusal::Unauthorized { sent: true }.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(reply)
}

/// Runs the act in the writer's transaction. A refusal undoes what the act wrote, and only that: the usage row is
/// written all the same, and the refusal is the transaction's good outcome.
async fn write(
    ctx: &Arc<Ctx>,
    grade: Grade,
    credential: Option<Credential>,
    idempotent: Option<IdempotentRequest>,
    mut act: Act,
    owed: Option<LogEntry>,
) -> Result<Outcome, Error> {
    let ours = Arc::clone(ctx);
    let job = move |tx: &Tx<'_>| {
        let who = match credential.as_ref().map(|credential| prove(tx, credential)).transpose() {
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
            Some(idempotent) => idempotent.carry_out(tx, who, act)?,
        };
        if let Some(entry) = &owed {
            store::usage::append(tx, entry)?;
        }
        Ok(outcome)
    };
    outcome_of(|done| {
        if ctx.store.write_with_others(grade, job, done) {
            flush_soon(ctx);
        }
    })
    .await
}

/// What became of the usage row that is owed.
pub(super) enum Settled {
    /// It is written, or there is none; this is the answer.
    Yes(Result<Reply, Error>),
    /// It is not: the keys have changed since the caller's was looked up, so the answer may not be true any more.
    Again,
}

/// Writes the usage row that is still owed, before the answer leaves: the answer of a read, or a refusal of the gate.
pub(super) async fn settle(ctx: &Ctx, trail: &mut Trail, outcome: Result<Reply, Error>) -> Settled {
    let unlogged = outcome.as_ref().is_err_and(is_unlogged);
    let owed = trail.key.clone().zip(trail.owed.take()).filter(|_| !unlogged);
    let Some((key, entry)) = owed else { return Settled::Yes(outcome) };
    let error = match recording(ctx, Arc::clone(&key), entry).outcome(ctx, &key).await {
        Ok(None) => return Settled::Yes(outcome),
        Ok(Some(_)) => return Settled::Again,
        Err(error) => error,
    };
    // An answer without its row would be a broken promise. Only a defect and an unknown outcome are told all the same.
    Settled::Yes(match outcome {
        Err(error @ (Error::Defect(_) | Error::OutcomeUnknown(_))) => Err(error),
        _ => Err(error),
    })
}

/// Whether a request that failed so has no usage row: it was answered 429 or 503.
fn is_unlogged(error: &Error) -> bool {
    let is_refused_for_now =
        |refusal: &Refusal| matches!(refusal, Refusal::RateLimited { .. } | Refusal::Unavailable { .. });
    match error {
        Error::Full(_) | Error::Unavailable(_) => true,
        Error::Refused(refusal) => is_refused_for_now(refusal),
        Error::Defect(_) | Error::OutcomeUnknown(_) => false,
    }
}

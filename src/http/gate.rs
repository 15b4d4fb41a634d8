//! The gate: every request's way from its head to its answer.
//!
//! Credential → principal (401) → rate limit (429) → scope or admin (403) → body (413) → the handler's first half
//! (415, 400) → one transaction with its second half → usage row → answer. The principal is proven again inside the
//! transaction, so nothing is done for a key that was revoked, or a user who was demoted, before it.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use tokio::sync::oneshot;

use super::body;
use super::ctx::Ctx;
use super::reply::Reply;
use super::request::{self, Request};
use super::route::{Act, Entry, Next, Route, Work};
use super::session;
use super::table::{self, Found};
use crate::domain::api_key::Secret;
use crate::domain::id::RequestId;
use crate::domain::rate::Left;
use crate::domain::refusal::Refusal;
use crate::domain::user::{Auth, Principal};
use crate::store::{self, Error, Grade, Tx};
use crate::telemetry::Line;

/// What the credentials of this service open (RFC 9110 §11.5).
const REALM: &str = "appliance";

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How the store tells what became of a job.
type Done<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// What a request carries to prove who sends it, as the digest that the file knows it by.
#[derive(Debug, Clone)]
enum Credential {
    ApiKey([u8; 32]),
    Session([u8; 32]),
}

/// What is known of a request on its way, for its answer and its line in the log.
#[derive(Default)]
struct Trail {
    request_id: String,
    method: &'static str,
    route: Option<&'static str>,
    page: bool,
    cors: bool,
    left: Option<Left>,
    key_id: Option<String>,
    /// The usage row that is owed: there once a key was seen, gone once the row is written.
    owed: Option<store::usage::Entry>,
}

/// Answers one request.
pub(super) async fn answer(
    ctx: Arc<Ctx>,
    peer: SocketAddr,
    request: hyper::Request<Incoming>,
) -> Response<Full<Bytes>> {
    let started = Instant::now();
    let (parts, mut body) = request.into_parts();
    let expects_continue = parts.headers.contains_key(header::EXPECT);
    let mut trail = Trail {
        request_id: ctx.world.id::<RequestId>().to_string(),
        method: known(&parts.method),
        cors: table::is_public(parts.uri.path()),
        ..Trail::default()
    };
    let outcome = respond(&ctx, peer, parts, &mut body, &mut trail).await;
    let outcome = settle(&ctx, &mut trail, outcome).await;
    if !body.is_end_stream() && !expects_continue {
        body::drain(body).await;
    }
    let reply = finish(&ctx, &trail, outcome);
    ctx.telemetry.request(&Line {
        at: ctx.world.now(),
        request_id: &trail.request_id,
        method: trail.method,
        route: trail.route.unwrap_or("-"),
        status: reply.status(),
        duration: started.elapsed(),
        bytes: reply.body_bytes(),
        key_id: trail.key_id.as_deref(),
    });
    reply.into_response(&trail.request_id)
}

async fn respond(
    ctx: &Arc<Ctx>,
    peer: SocketAddr,
    parts: Parts,
    body: &mut Incoming,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    let path = parts.uri.path();
    let found = request::check_head(&parts).and_then(|()| ctx.table.find(&parts.method, path));
    let (route, params) = match found.inspect_err(|_| trail.page = ctx.table.is_page(path))? {
        Found::Route(route, params) => (route, params),
        Found::Preflight(path, methods) => {
            trail.route = Some(path);
            return Ok(Reply::preflight(&methods));
        }
    };
    trail.route = Some(route.path);
    trail.page = route.page;
    let client = request::client(peer, &parts.headers, &ctx.settings.trusted_proxies);
    let request = Request::new(parts, params?, client);
    let credential = admit(ctx, route, &request, trail)?;
    let request = if route.takes_body { request.with_body(body::read(body).await?) } else { request };
    match decode(ctx, route, request).await? {
        Next::Act(act) => transact(ctx, route, credential, act, trail).await,
        Next::Reply(reply) => Ok(reply),
    }
}

/// Credential, principal, rate limit, scope. The usage row is owed from here on.
fn admit(ctx: &Ctx, route: &Route, request: &Request, trail: &mut Trail) -> Result<Option<Credential>, Error> {
    if route.entry == Entry::Open {
        return Ok(None);
    }
    let credential = credential(ctx, request)?;
    let who = ctx.store.read(|tx| prove(tx, &credential))?;
    route.entry.accept(&who)?;
    let caller = match &who.auth {
        Auth::ApiKey { id, number, .. } => {
            trail.key_id = Some(id.to_string());
            trail.owed = Some(usage_entry(*number, route, request));
            format!("key {id}")
        }
        Auth::Session { .. } => format!("user {}", who.user_id),
    };
    if let Some((left, taken)) = ctx.limiter.take(&caller, ctx.world.monotonic()) {
        trail.left = Some(left);
        taken.map_err(|retry_after_s| Refusal::RateLimited { retry_after_s })?;
    }
    route.entry.admit(&who)?;
    if matches!(credential, Credential::Session(_)) && !request.method().is_safe() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    Ok(Some(credential))
}

/// What the request carries: a key goes before a session.
///
/// # Errors
/// `unauthorized` where there is nothing, or a key that is not in the form of one.
fn credential(ctx: &Ctx, request: &Request) -> Result<Credential, Refusal> {
    if let Some(value) = request.header_list(&header::AUTHORIZATION) {
        let (scheme, token) = value.split_once(' ').unwrap_or((&value, ""));
        let secret = Secret::parse(token.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"));
        return secret.map(|secret| Credential::ApiKey(secret.digest())).ok_or(Refusal::Unauthorized { sent: true });
    }
    session::cookie(ctx, request).map(Credential::Session).ok_or(Refusal::Unauthorized { sent: false })
}

/// Who the credential is, in this very transaction.
///
/// # Errors
/// `unauthorized` where it does not count, or not any more.
fn prove(tx: &Tx<'_>, credential: &Credential) -> Result<Principal, Error> {
    let found = match credential {
        Credential::ApiKey(digest) => store::api_key::principal(tx, digest)?,
        Credential::Session(digest) => store::session::principal(tx, digest)?,
    };
    found.ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
}

fn usage_entry(key_number: i64, route: &Route, request: &Request) -> store::usage::Entry {
    store::usage::Entry {
        key_number,
        method: request.method().to_string(),
        path: request.path().to_owned(),
        ip: request.client().to_string(),
        user_agent: request.user_agent(),
        auth_endpoint: route.path,
    }
}

/// The handler's first half. One that hashes runs on a thread of its own, two at once.
async fn decode(ctx: &Arc<Ctx>, route: &Route, request: Request) -> Result<Next, Error> {
    if !route.hashes {
        let decoded = catch_unwind(AssertUnwindSafe(|| (route.decode)(ctx, &request)));
        return decoded.unwrap_or_else(|_| Err(Error::Defect("a body's reader panicked".to_owned())));
    }
    let overload = || Error::Unavailable("too many sign-ins wait".to_owned());
    let _place = ctx.hashing_queue.try_acquire().map_err(|_| overload())?;
    let _turn = ctx.hashing.acquire().await.map_err(|_| overload())?;
    let (decode, ctx) = (Arc::clone(&route.decode), Arc::clone(ctx));
    let run = tokio::task::spawn_blocking(move || decode(&ctx, &request));
    run.await.map_err(|error| Error::Defect(error.to_string()))?
}

/// The handler's second half, in one transaction.
async fn transact(
    ctx: &Arc<Ctx>,
    route: &Route,
    credential: Option<Credential>,
    act: Act,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    match route.work {
        Work::Read => read(ctx, credential, act).await,
        Work::Write(grade) => {
            let reply = write(ctx, grade, credential, act, trail.owed.clone()).await?;
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
        if !told(|done| ctx.store.write(Grade::Logged, touch, done)).await? {
            return Err(Refusal::Unauthorized { sent: true }.into());
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
    mut act: Act,
    owed: Option<store::usage::Entry>,
) -> Result<Result<Reply, Refusal>, Error> {
    let ours = Arc::clone(ctx);
    let job = move |tx: &Tx<'_>| {
        let who = match credential.as_ref().map(|credential| prove(tx, credential)).transpose() {
            Ok(who) => who,
            Err(Error::Refused(refusal)) => return Ok(Err(refusal)),
            Err(error) => return Err(error),
        };
        let outcome = match tx.savepoint(|| act(&ours, tx, who)) {
            Ok(reply) => Ok(reply),
            Err(Error::Refused(refusal)) => Err(refusal),
            Err(error) => return Err(error),
        };
        if let Some(entry) = &owed {
            store::usage::append(tx, entry)?;
        }
        Ok(outcome)
    };
    told(|done| ctx.store.write(grade, job, done)).await
}

/// Writes the usage row that is still owed, before the answer leaves: the answer of a read, or a refusal of the gate.
async fn settle(ctx: &Ctx, trail: &mut Trail, outcome: Result<Reply, Error>) -> Result<Reply, Error> {
    let unlogged = matches!(outcome, Err(Error::Unavailable(_) | Error::Refused(Refusal::RateLimited { .. })));
    let Some(entry) = trail.owed.take().filter(|_| !unlogged) else { return outcome };
    let error = match told(|done| ctx.store.record(entry, done)).await {
        Ok(true) => return outcome,
        Ok(false) => Refusal::Unauthorized { sent: true }.into(),
        Err(error) => error,
    };
    // An answer without its row would be a broken promise. Only a defect is told all the same.
    match outcome {
        Err(Error::Defect(why)) => Err(Error::Defect(why)),
        _ => Err(error),
    }
}

/// Queues a job with the store and waits for what it is told.
async fn told<T: Send + 'static>(queue: impl FnOnce(Done<T>)) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    // Nobody receives where the client is gone; the job is done all the same.
    queue(Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.await.unwrap_or_else(|_| Err(Error::Defect("a job was dropped without an answer".to_owned())))
}

/// The answer with the fields that depend on the way the request took. What failed is told to the log, not the caller.
fn finish(ctx: &Ctx, trail: &Trail, outcome: Result<Reply, Error>) -> Reply {
    let mut reply = match outcome {
        Ok(reply) => reply,
        Err(error) => {
            if let Error::Unavailable(why) | Error::Defect(why) = &error {
                ctx.telemetry.note(ctx.world.now(), Some(&trail.request_id), why);
            }
            let render = if trail.page { Reply::problem_page } else { Reply::problem };
            render(&error, REALM, &trail.request_id)
        }
    };
    if trail.cors {
        reply = reply
            .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
            .with(header::ACCESS_CONTROL_EXPOSE_HEADERS, "ETag, Retry-After, X-Request-Id");
    }
    match (trail.left, ctx.limiter.policy()) {
        (Some(left), Some(policy)) => reply
            .with(RATE_LIMIT_POLICY, &format!("\"default\";q={};w=60", policy.per_minute))
            .with(RATE_LIMIT, &format!("\"default\";r={};t={}", left.remaining, left.reset_s)),
        _ => reply,
    }
}

/// The answer to a request whose way ended in a panic: a defect, told by its own id.
pub(super) fn broken_off(ctx: &Ctx) -> Response<Full<Bytes>> {
    let request_id = ctx.world.id::<RequestId>().to_string();
    let error = Error::Defect("a request ended in a panic; its place is in the lines above".to_owned());
    ctx.telemetry.note(ctx.world.now(), Some(&request_id), &error.to_string());
    Reply::problem(&error, REALM, &request_id).into_response(&request_id)
}

/// The method as the log and the counters name it: a closed set, whatever is sent.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER")
}

//! The gate: every request's way from its head to its answer.
//!
//! Credential → principal (401) → rate limit (429) → scope or admin (403) → body (413) → the handler's first half
//! (415, 400) → one transaction with its second half → usage row → answer. The principal is proven again inside the
//! transaction, so nothing is done for a key that was revoked, or a user who was demoted, before it.
//!
//! The short ways, which most requests take: an answer that is kept needs no more than this file ([`kept`]); one that needs
//! nothing but the caller (`me`) has the key from memory ([`begin_short`]), and its usage row is committed with those of all
//! other requests of the same turn of the runtime, which is also where it is seen that the key is still what memory says.
//! Where it is not, the key is looked up once more. Neither changes a thread.
//!
//! A feed that is not kept is made in its turn ([`turn`]); whoever waited for it looks again for what is kept.

mod admission;
mod credential_end;
mod download;
mod fast_path;
mod form;
mod form_again;
mod idempotency;
mod proxy;
mod render_permit;
#[cfg(test)]
mod tests;
mod transaction;
mod upload;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Response};

use self::admission::Credential;
use self::download::Download;
pub(in crate::http) use self::download::Outgoing;
pub(in crate::http) use self::fast_path::begin as begin_short;
use self::idempotency::Once;
use self::transaction::Settled;
use super::body;
use super::ctx::Ctx;
use super::form::{Form, Look, LookFirst, Upload};
use super::reply::{self, Reply};
use super::request::{self, Request};
use super::response_cache::{Asked, Kept};
use super::route::{Next, Route, Work};
use super::table::{self, Found};
use super::variant::Parameter;
use crate::domain::id::{ApiKeyId, RequestId};
use crate::domain::rate::{RatePolicy, RemainingTokens};
use crate::domain::refusal::Refusal;
use crate::http::pages::texts::{self, Texts};
use crate::store::usage::LogEntry;
use crate::store::{Error, KnownKey};
use crate::telemetry::RequestLine;

/// What the credentials of this service open (RFC 9110 §11.5).
const REALM: &str = "appliance";

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// A method that the log and the counters have no name for, or none that could be read.
const OTHER: &str = "OTHER";

/// How long a route takes whose time is to tell nothing ([`Route::is_even`]): several times what it needs, and nothing to
/// whoever waits for it.
const EVEN_TIME: Duration = Duration::from_millis(25);

/// How often a request takes its way at most: again where the keys have changed since its key was looked up.
const TURNS_MAX: usize = 8;

/// What is known of a request on its way, for its answer and its line in the log.
struct Trail {
    request_id: RequestId,
    method: &'static str,
    route: Option<&'static str>,
    page: bool,
    /// What a page speaks to whoever asked.
    texts: &'static Texts,
    cors: bool,
    /// What of the query the answer depends on, besides the language; `None` where it depends on neither.
    parameters: Option<&'static [Parameter]>,
    left: Option<RemainingTokens>,
    key: Option<Arc<KnownKey>>,
    /// Whether a form was begun to be read, whatever was made of it.
    has_begun_form: bool,
    /// Whether the connection is closed behind the answer.
    closes: bool,
    /// The usage row that is owed: there once a key was seen, gone once the row is written.
    owed: Option<LogEntry>,
}

impl Trail {
    fn of(ctx: &Ctx, method: &Method) -> Self {
        Self {
            request_id: ctx.world.id(),
            method: known(method),
            route: None,
            page: false,
            texts: texts::of_tag(""),
            cors: false,
            parameters: None,
            left: None,
            key: None,
            has_begun_form: false,
            closes: false,
            owed: None,
        }
    }
}

/// Answers one request.
pub(in crate::http) async fn answer(
    ctx: Arc<Ctx>,
    peer: SocketAddr,
    request: hyper::Request<Incoming>,
) -> Response<Outgoing> {
    let started = Instant::now();
    let expects_continue = request.headers().contains_key(header::EXPECT);
    let turn = render_permit::take(&ctx, request.method(), request.uri().path()).await;
    let kept = turn.as_ref().and_then(|_| kept_since(&ctx, &request, started));
    let (parts, mut body) = request.into_parts();
    let (response, has_begun_form) = match kept {
        Some(kept) => (kept, false),
        None => anew(&ctx, peer, parts, &mut body, started).await,
    };
    drop(turn);
    if !body.is_end_stream() && (!expects_continue || has_begun_form) {
        // The client gets its answer at once, and can go on sending meanwhile.
        tokio::spawn(body::drain(body));
    }
    response
}

/// Answers one request of which nothing is kept. Also whether a form was begun to be read.
async fn anew(
    ctx: &Arc<Ctx>,
    peer: SocketAddr,
    parts: Parts,
    body: &mut Incoming,
    started: Instant,
) -> (Response<Outgoing>, bool) {
    let path = parts.uri.path().to_owned();
    let asked = Asked::of(&parts.uri, &parts.headers);
    let mut trail = Trail { cors: table::is_public(&path), ..Trail::of(ctx, &parts.method) };
    let outcome = respond(ctx, peer, parts, body, &mut trail).await;
    let reply = finish(ctx, &trail, outcome);
    let file = reply.file();
    let response = match trail.route.and_then(|route| reply.to_keep(route)) {
        Some(kept) => kept_from_now_on(ctx, &path, &trail, &asked, kept),
        None => reply::unless_matching(reply.into_unnamed(), asked.fields()),
    };
    let response = response.map(|whole| match file {
        None => Outgoing::Whole(whole),
        Some(file) => Outgoing::Stored(Box::new(Download::new(Arc::clone(ctx), trail.request_id.clone(), file))),
    });
    told(ctx, &trail, started, &response);
    (reply::with_request_id(response, trail.request_id), trail.has_begun_form)
}

/// The answer of one that can be kept, as it will be given to the next who asks the same.
fn kept_from_now_on(ctx: &Ctx, path: &str, trail: &Trail, asked: &Asked, kept: Kept) -> Response<Full<Bytes>> {
    let kept = Arc::new(kept);
    if ctx.kept.keep(path, trail.parameters, asked, &kept, ctx.store.portals()) {
        kept.reply(asked.fields())
    } else {
        kept.reply_once(asked.fields())
    }
}

/// Counts a request and writes its line.
fn told(ctx: &Ctx, trail: &Trail, started: Instant, response: &Response<impl Body>) {
    ctx.telemetry.request(&RequestLine {
        at: ctx.world.now(),
        request_id: trail.request_id.as_str(),
        method: trail.method,
        route: trail.route.unwrap_or("-"),
        status: response.status().as_u16(),
        duration: started.elapsed(),
        bytes: response.body().size_hint().exact().unwrap_or_default(),
        key_id: trail.key.as_ref().and_then(|key| key.principal.api_key_id()).map(ApiKeyId::as_str),
    });
}

async fn respond(
    ctx: &Arc<Ctx>,
    peer: SocketAddr,
    parts: Parts,
    body: &mut Incoming,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    let path = parts.uri.path();
    let found = request::check_head(&parts.uri, &parts.headers, parts.version);
    let found = found.and_then(|()| {
        // Where the body ends is in doubt, so nothing more is read from this connection.
        request::check_framing(&parts.headers).inspect_err(|_| trail.closes = true)
    });
    let found = found.and_then(|()| ctx.table.find(&parts.method, path));
    let (route, params) = match found.inspect_err(|_| {
        trail.page = ctx.table.is_page(path);
        trail.texts = texts::wanted(&parts.headers);
    })? {
        Found::Route(route, params) => (route, params),
        Found::Preflight(path, methods) => {
            trail.route = Some(path);
            return Ok(Reply::preflight(&methods));
        }
    };
    trail.route = Some(route.path);
    trail.page = route.page;
    trail.parameters = route.parameters;
    let client = request::client(peer, &parts.headers, &ctx.settings.trusted_proxies);
    proxy::report(ctx, peer, &parts.headers);
    let mut request = Arc::new(Request::new(parts, params?, client));
    if route.page {
        trail.texts = texts::of(&request).unwrap_or(trail.texts);
    }
    for _ in 0..TURNS_MAX {
        let outcome = carry_out(ctx, route, &mut request, body, trail).await;
        if let Settled::Yes(outcome) = transaction::settle(ctx, trail, outcome).await {
            if matches!(outcome, Err(Error::Refused(Refusal::Unauthorized { sent: true }))) {
                credential_end::write(ctx, &request).await;
            }
            return outcome;
        }
    }
    Err(Error::Unavailable("what keys may do changes too often".to_owned()))
}

async fn carry_out(
    ctx: &Arc<Ctx>,
    route: &Route,
    request: &mut Arc<Request>,
    body: &mut Incoming,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    let credential = admission::admit(ctx, route, request, trail)?;
    if let Some(rules) = route.form.as_ref().filter(|_| !request.has_body()) {
        let look = |look_first: LookFirst| ctx.store.read(|tx| look_first(ctx, tx, request));
        let refused = match rules.look_first.map(look).transpose()? {
            Some(Look::Answered(reply)) => return Ok(*reply),
            Some(Look::Refused(trouble, file_use)) => Some((trouble, file_use)),
            Some(Look::On) | None => None,
        };
        refuse_coded(route, request, body)?;
        let read = form::read(ctx, rules, request, body, &mut trail.has_begun_form, refused).await?;
        *request = Arc::new(read);
    } else if route.takes_body && !request.has_body() {
        refuse_coded(route, request, body)?;
        *request = Arc::new(request.with_body(body::read(body, route.body_bytes_max).await?));
    }
    let mut outcome = conclude(ctx, route, credential, request, trail).await;
    if let Err(Error::Full(_) | Error::Unavailable(_)) = &outcome {
        outcome = form_again::show(ctx, route, request, trail, outcome);
    }
    let outcome = outcome.map(|reply| reply.with_unknown(request.unknown()));
    if let Some(Upload::Staged(staged)) = request.form().and_then(Form::upload)
        && !outcome.as_ref().is_ok_and(|reply| reply.keeps(staged))
    {
        upload::remove(Arc::clone(ctx), staged.id.clone()).await;
    }
    outcome
}

/// Refuses a body with a `Content-Encoding` before any of it is read: no route decodes one (RFC 9110 §8.4).
///
/// # Errors
/// `payload_too_large` where its announced length is over the limit too; otherwise `unsupported_media_type`.
fn refuse_coded(route: &Route, request: &Request, body: &Incoming) -> Result<(), Refusal> {
    if body.is_end_stream() || !request.headers().contains_key(header::CONTENT_ENCODING) {
        return Ok(());
    }
    let bytes_max = route.form.as_ref().map_or(route.body_bytes_max, form::bytes_max);
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Refusal::PayloadTooLarge(bytes_max));
    }
    Err(Refusal::ContentEncoding)
}

/// The handler's two halves, once all of the request is there.
async fn conclude(
    ctx: &Arc<Ctx>,
    route: &Route,
    credential: Option<Credential>,
    request: &Arc<Request>,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    match transaction::decode(ctx, route, request).await? {
        Next::Act(act) => {
            let work = route.work_of(request);
            // A try has nothing to be carried out, once or more often.
            let is_try = work != route.work;
            let once = if is_try { None } else { Once::read(route, request, &trail.request_id)? };
            let begun = tokio::time::Instant::now();
            let outcome = transaction::transact(ctx, work, credential, once, act, trail).await;
            if route.is_even {
                tokio::time::sleep_until(begun + EVEN_TIME).await;
            }
            outcome
        }
        Next::Look(act) => transaction::transact(ctx, Work::Read, credential, None, act, trail).await,
        Next::Reply(reply) => Ok(reply),
    }
}

/// The answer with the fields that depend on the way the request took. What failed is told to the log, not the caller.
fn finish(ctx: &Ctx, trail: &Trail, outcome: Result<Reply, Error>) -> Reply {
    let is_anybody = matches!(outcome, Err(Error::Refused(Refusal::Unauthorized { .. })));
    let mut reply = match outcome {
        Ok(reply) => reply,
        Err(error) => {
            if let Error::Full(why) | Error::Unavailable(why) | Error::Defect(why) | Error::OutcomeUnknown(why) = &error
            {
                ctx.telemetry.note(ctx.world.now(), Some(trail.request_id.as_str()), why);
            }
            let number = trail.request_id.as_str();
            if trail.page {
                Reply::problem_page(&error, REALM, number, trail.texts)
            } else {
                Reply::problem(&error, REALM, number)
            }
        }
    };
    if trail.closes {
        reply = reply.with(header::CONNECTION, "close");
    }
    if trail.cors {
        reply = reply
            .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
            .with(header::ACCESS_CONTROL_EXPOSE_HEADERS, "ETag, Retry-After, X-Request-Id");
    }
    match (trail.left, ctx.limiter.policy()) {
        (Some(left), Some(policy)) if !is_anybody => {
            reply.with(RATE_LIMIT_POLICY, &policy_value(policy)).with(RATE_LIMIT, &left_value(left))
        }
        _ => reply,
    }
}

/// The value of `RateLimit-Policy` (IETF draft, RateLimit header fields for HTTP).
fn policy_value(policy: RatePolicy) -> String {
    format!("\"default\";q={};w=60", policy.per_minute)
}

/// The value of `RateLimit`.
fn left_value(left: RemainingTokens) -> String {
    format!("\"default\";r={};t={}", left.remaining, left.reset_s)
}

/// The answer that is kept for this request, if any: then it needs no task of its own and nothing of the file.
pub(in crate::http) fn kept(ctx: &Ctx, request: &hyper::Request<Incoming>) -> Option<Response<Outgoing>> {
    let started = Instant::now();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD) && request.body().is_end_stream();
    is_read.then(|| kept_since(ctx, request, started)).flatten()
}

/// The answer that is kept for a request that reads and began then, if any.
fn kept_since(ctx: &Ctx, request: &hyper::Request<Incoming>, started: Instant) -> Option<Response<Outgoing>> {
    let kept = ctx.kept.get(request.uri(), request.headers(), ctx.store.portals())?;
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    let response = kept.reply(request.headers());
    let trail = Trail { route: Some(kept.route()), ..Trail::of(ctx, request.method()) };
    told(ctx, &trail, started, &response);
    Some(reply::with_request_id(response, trail.request_id).map(Outgoing::Whole))
}

/// The answer to a request whose way ended in a panic: a defect, told by its own id.
pub(in crate::http) fn broken_off(ctx: &Ctx) -> Response<Outgoing> {
    let request_id: RequestId = ctx.world.id();
    let error = Error::Defect("a request ended in a panic; its place is in the lines above".to_owned());
    ctx.telemetry.note(ctx.world.now(), Some(request_id.as_str()), &error.to_string());
    let response = Reply::problem(&error, REALM, request_id.as_str()).into_unnamed();
    reply::with_request_id(response, request_id).map(Outgoing::Whole)
}

/// The answer where no request was read, and its body.
pub(in crate::http) fn unread(ctx: &Ctx, error: Error) -> (Response<()>, Bytes) {
    let trail = Trail { method: OTHER, ..Trail::of(ctx, &Method::GET) };
    let reply = finish(ctx, &trail, Err(error));
    let body = reply.body();
    let mut response = reply.into_unnamed();
    told(ctx, &trail, Instant::now(), &response);
    if ctx.settings.is_https() {
        reply::require_https(response.headers_mut());
    }
    (reply::with_request_id(response, trail.request_id).map(drop), body)
}

/// The method as the log and the counters name it: a closed set, whatever is sent.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or(OTHER)
}

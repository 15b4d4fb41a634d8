//! The gate: every request's way from its head to its answer.
//!
//! Credential → principal (401) → rate limit (429) → scope or admin (403) → body (413) → the handler's first half
//! (415, 400) → one transaction with its second half → usage row → answer. The principal is proven again inside the
//! transaction, so nothing is done for a key that was revoked, or a user who was demoted, before it.
//!
//! Most requests take a fast path. A cached response needs no more than this file ([`cached`]). A response that needs nothing
//! but the caller (`me`) has the key from memory ([`fast_path`]); its usage row is committed with those of all other requests
//! of the same tick of the runtime, and that transaction checks that the key is still what memory says. Where it is not, the
//! key is looked up once more. Neither fast path changes a thread.
//!
//! A feed that is not cached is rendered under a permit ([`render_permit`]). Requests that waited for it look for the cached
//! response again.

mod admission;
mod credential_end;
mod download;
mod fast_path;
mod finish;
mod form;
mod form_again;
mod idempotency;
mod job;
mod proxy;
mod render_permit;
#[cfg(test)]
mod tests;
mod trail;
mod transaction;
mod upload;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Response};

use self::download::Download;
pub(in crate::http) use self::download::Outgoing;
pub(in crate::http) use self::fast_path::begin as begin_fast_path;
use self::finish::finish;
pub(in crate::http) use self::finish::{broken_off, unread};
use self::idempotency::IdempotentRequest;
use self::job::ATTEMPTS_MAX;
use self::trail::{Trail, log};
use self::transaction::Settled;
use super::authentication::Credential;
use super::body;
use super::cached_response::CachedResponse;
use super::ctx::Ctx;
use super::form::{Form, Upload};
use super::form_rules::{Precheck, Prechecked};
use super::language::Language;
use super::reply::{self, Reply};
use super::request::{self, Request};
use super::resource::Audience;
use super::response_cache::Lookup;
use super::route::{Next, Route, Work};
use super::service::Service;
use super::table::RouteMatch;
use crate::domain::refusal::Refusal;
use crate::store::Error;

/// The response time of a route that is padded to a constant ([`Route::is_constant_time`]): several times what it needs, and
/// nothing to the client that waits for it.
const CONSTANT_TIME: Duration = Duration::from_millis(25);

/// Answers one request.
pub(in crate::http) async fn answer(
    service: Arc<Service>,
    peer: SocketAddr,
    request: hyper::Request<Incoming>,
) -> Response<Outgoing> {
    let started = Instant::now();
    let ctx = &service.ctx;
    let expects_continue = request.headers().contains_key(header::EXPECT);
    let found = service.table.find(request.method(), request.uri().path());
    let permit = render_permit::take(ctx, request.method(), &found).await;
    let cached = permit.as_ref().and_then(|_| cached_since(ctx, &request, started));
    let (parts, mut body) = request.into_parts();
    let (response, has_begun_form) = match cached {
        Some(cached) => (cached, false),
        None => render(&service, peer, parts, found, &mut body, started).await,
    };
    drop(permit);
    if !body.is_end_stream() && (!expects_continue || has_begun_form) {
        // The client gets its answer at once, and can go on sending meanwhile.
        tokio::spawn(body::drain(body));
    }
    response
}

/// Answers one request for which no response is cached. Also whether it began to read a form.
async fn render(
    service: &Service,
    peer: SocketAddr,
    parts: Parts,
    found: Result<RouteMatch<'_>, Refusal>,
    body: &mut Incoming,
    started: Instant,
) -> (Response<Outgoing>, bool) {
    let ctx = &service.ctx;
    let path = parts.uri.path().to_owned();
    let lookup = Lookup::of(&parts.uri, &parts.headers);
    let is_public = service.table.area(&path) == Audience::Public;
    let mut trail = Trail { cors: is_public, ..Trail::of(ctx, &parts.method) };
    let outcome = respond(service, peer, parts, found, body, &mut trail).await;
    let reply = finish(ctx, &trail, outcome);
    let file = reply.file();
    let response = match trail.route.and_then(|route| CachedResponse::of(route, &reply)) {
        Some(response) => cache(ctx, &path, &trail, &lookup, response),
        None => reply::unless_matching(reply.into_unnamed(), lookup.fields()),
    };
    let response = response.map(|whole| match file {
        None => Outgoing::Whole(whole),
        Some(file) => Outgoing::Stored(Box::new(Download::new(Arc::clone(ctx), trail.request_id.clone(), file))),
    });
    log(ctx, &trail, started, &response);
    (reply::with_request_id(response, trail.request_id), trail.has_begun_form)
}

/// The response to this request, cached for the next one where there is room for it.
fn cache(ctx: &Ctx, path: &str, trail: &Trail, lookup: &Lookup, response: CachedResponse) -> Response<Full<Bytes>> {
    let response = Arc::new(response);
    let put = |caching| ctx.responses.put(path, caching, lookup, &response, ctx.store.portals());
    if trail.caching.is_some_and(put) {
        response.response(lookup.fields())
    } else {
        response.uncompressed_response(lookup.fields())
    }
}

async fn respond(
    service: &Service,
    peer: SocketAddr,
    parts: Parts,
    found: Result<RouteMatch<'_>, Refusal>,
    body: &mut Incoming,
    trail: &mut Trail,
) -> Result<Reply, Error> {
    let Service { ctx, table } = service;
    let path = parts.uri.path();
    let checked = request::check_head(&parts.uri, &parts.headers, parts.version);
    let checked = checked.and_then(|()| {
        // Where the body ends is in doubt, so nothing more is read from this connection.
        request::check_framing(&parts.headers).inspect_err(|_| trail.closes = true)
    });
    let (route, params) = match checked.and(found).inspect_err(|_| {
        trail.problem_page = table.problem_page_of(table.audience_at(path));
        trail.language = Language::negotiate(None, &parts.headers);
    })? {
        RouteMatch::Route(route, params) => (route, params),
        RouteMatch::Preflight(path, methods) => {
            trail.route = Some(path);
            return Ok(Reply::preflight(&methods));
        }
    };
    trail.route = Some(route.path);
    trail.problem_page = table.problem_page_of(route.audience);
    trail.caching = route.caching;
    let client = request::client(peer, &parts.headers, &ctx.settings.trusted_proxies);
    proxy::report(ctx, peer, &parts.headers);
    let mut request = Arc::new(Request::new(parts, params?, client));
    if route.is_page() {
        trail.language = request.language().unwrap_or(trail.language);
    }
    for _ in 0..ATTEMPTS_MAX {
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
        let check = |precheck: Precheck| ctx.store.read(|tx| precheck(ctx, tx, request));
        let refused = match rules.precheck.map(check).transpose()? {
            Some(Prechecked::Answered(reply)) => return Ok(*reply),
            Some(Prechecked::Refused(trouble, file_use)) => Some((trouble, file_use)),
            Some(Prechecked::Proceed) | None => None,
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
            // A dry run has nothing to be carried out, once or more often.
            let is_dry_run = work != route.work;
            let idempotent =
                if is_dry_run { None } else { IdempotentRequest::read(route, request, &trail.request_id)? };
            let begun = tokio::time::Instant::now();
            let outcome = transaction::transact(ctx, work, credential, idempotent, act, trail).await;
            if route.is_constant_time {
                tokio::time::sleep_until(begun + CONSTANT_TIME).await;
            }
            outcome
        }
        Next::Look(act) => transaction::transact(ctx, Work::Read, credential, None, act, trail).await,
        Next::Reply(reply) => Ok(reply),
    }
}

/// The cached response to this request, if any: then it needs no task of its own and nothing of the file.
pub(in crate::http) fn cached(ctx: &Ctx, request: &hyper::Request<Incoming>) -> Option<Response<Outgoing>> {
    let started = Instant::now();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD) && request.body().is_end_stream();
    is_read.then(|| cached_since(ctx, request, started)).flatten()
}

/// The cached response to a request that reads and began then, if any.
fn cached_since(ctx: &Ctx, request: &hyper::Request<Incoming>, started: Instant) -> Option<Response<Outgoing>> {
    let cached = ctx.responses.get(request.uri(), request.headers(), ctx.store.portals())?;
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    let response = cached.response(request.headers());
    let trail = Trail { route: Some(cached.route()), ..Trail::of(ctx, request.method()) };
    log(ctx, &trail, started, &response);
    Some(reply::with_request_id(response, trail.request_id).map(Outgoing::Whole))
}

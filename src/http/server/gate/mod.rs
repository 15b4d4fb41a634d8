//! The gate handles every request, from its head to its response.
//!
//! The steps are, in order and with their most common errors: head (400, 414, 431), route (404, 405), credential and
//! principal (401), rate limit (429), scope or admin, origin and second factor (403), for some forms a check before
//! the body is read, body (400, 413, 415), the handler's first half (400, 415), one transaction with the handler's
//! second half, usage row, response. The transaction verifies the principal again, so the second half does nothing if
//! the caller has lost the required credential or authority since the first check.
//!
//! Many requests use one of two fast paths. [`mod@cached`] returns a cached response. [`fast_path`] answers requests
//! that need only the caller (`GET /api/v1/me`), using the cached key. The usage row of a request on [`fast_path`] is
//! handled together with the rows of the other requests in the tick. The transaction for these rows checks that the
//! cached key is current. If the key is stale, the gate looks it up again. Neither fast path moves a request to another
//! thread. If other servers can change portals, a comparison with the database precedes the use of a cached response.
//!
//! A feed that is not cached is rendered under a permit ([`render_permit`]). After waiting for the permit, a request
//! looks in the response cache again.

mod admission;
mod attachment_writer;
mod cached;
mod completion;
mod credential_expiry;
mod download;
mod fast_path;
mod form;
mod form_redisplay;
mod idempotency;
mod job;
mod proxy_warning;
mod render_permit;
mod request_trail;
#[cfg(test)]
mod tests;
mod transaction;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::Response;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header;
use hyper::http::request::Parts;

pub(super) use self::cached::cached;
use self::completion::complete;
pub(super) use self::completion::{panic_response, refuse_unread};
use self::download::Download;
pub(super) use self::download::ResponseBody;
pub(super) use self::fast_path::begin as begin_fast_path;
use self::idempotency::IdempotentRequest;
use self::job::ATTEMPTS_MAX;
use self::request_trail::{RequestTrail, log};
use self::transaction::LoggedOutcome;
use super::authentication::Credential;
use super::body;
use super::cached_response::CachedResponse;
use super::ctx::Ctx;
use super::database_read::read_briefly;
use super::form::{Form, Upload};
use super::form_rules::{Precheck, Prechecked};
use super::language::Language;
use super::reply::{self, Reply};
use super::request::{self, Request};
use super::resource::Audience;
use super::response_cache::CacheLookup;
use super::route::{NextStep, Route, Work};
use super::service::Service;
use super::table::RouteMatch;
use crate::domain::refusal::Refusal;
use crate::store::Error;

/// The time to which the second half of a handler is padded on routes with [`Route::is_constant_time`]: several times
/// as long as it needs, and too short for a waiting person to notice.
const CONSTANT_TIME: Duration = Duration::from_millis(25);

pub(super) async fn answer(
    service: Arc<Service>,
    peer: SocketAddr,
    request: hyper::Request<Incoming>,
) -> Response<ResponseBody> {
    let started = Instant::now();
    let ctx = &service.ctx;
    let expects_continue = request.headers().contains_key(header::EXPECT);
    let found = service.table.find(request.method(), request.uri().path());
    if let Some(response) = cached::after_comparison(ctx, &request, started).await {
        return response;
    }
    let permit = render_permit::take(ctx, request.method(), &found).await;
    let cached = match &permit {
        Some(_) => cached::look_up(ctx, &request, started).await,
        None => None,
    };
    let (parts, mut body) = request.into_parts();
    let (response, has_begun_reading_form) = match cached {
        Some(cached) => (cached, false),
        None => render(&service, peer, parts, found, &mut body, started).await,
    };
    drop(permit);
    if !body.is_end_stream() && (!expects_continue || has_begun_reading_form) {
        // The client gets its response now, although it might still be sending the body.
        tokio::spawn(body::drain(body));
    }
    response
}

/// Answers a request that has no cached response. The returned flag shows whether the gate began to read a multipart
/// form.
async fn render(
    service: &Service,
    peer: SocketAddr,
    parts: Parts,
    found: Result<RouteMatch<'_>, Refusal>,
    body: &mut Incoming,
    started: Instant,
) -> (Response<ResponseBody>, bool) {
    let ctx = &service.ctx;
    let path = parts.uri.path().to_owned();
    let lookup = CacheLookup::of(&parts.uri, &parts.headers);
    let is_public = service.table.area(&path) == Audience::Public;
    let mut trail = RequestTrail { cors: is_public, ..RequestTrail::new(ctx, &parts.method) };
    let outcome = respond(service, peer, parts, found, body, &mut trail).await;
    let reply = complete(ctx, &trail, outcome);
    let file = reply.file();
    let response = match trail.route.and_then(|route| CachedResponse::of(route, &reply)) {
        Some(response) => cache(ctx, &path, &trail, &lookup, response),
        None => reply::not_modified_if_matching(reply.into_response_without_id(), lookup.fields()),
    };
    let response = response.map(|body| match file {
        None => ResponseBody::InMemory(body),
        Some(file) => ResponseBody::Download(Box::new(Download::new(Arc::clone(ctx), trail.request_id.clone(), file))),
    });
    log(ctx, &trail, started, &response);
    (reply::with_request_id(response, trail.request_id), trail.has_begun_reading_form)
}

/// Returns the response to this request, and caches it for later requests if the response cache accepts it.
fn cache(
    ctx: &Ctx,
    path: &str,
    trail: &RequestTrail,
    lookup: &CacheLookup,
    response: CachedResponse,
) -> Response<Full<Bytes>> {
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
    trail: &mut RequestTrail,
) -> Result<Reply, Error> {
    let Service { ctx, table } = service;
    let path = parts.uri.path();
    let checked = request::check_head(&parts.uri, &parts.headers, parts.version);
    let checked = checked.and_then(|()| {
        // If the end of the body is ambiguous, the connection cannot be reused.
        request::check_framing(&parts.headers).inspect_err(|_| trail.closes_connection = true)
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
    proxy_warning::report(ctx, peer, &parts.headers);
    let mut request = Arc::new(Request::new(parts, params?, client));
    if route.is_page() {
        trail.language = request.language().unwrap_or(trail.language);
    }
    if route.audience == Audience::Staff {
        trail.staff = Some(request.to_staff_request());
    }
    for _ in 0..ATTEMPTS_MAX {
        let outcome = handle(ctx, route, &mut request, body, trail).await;
        if let (Some(staff), Some(form)) = (&mut trail.staff, request.form())
            && outcome.is_err()
            && route.carries_form
        {
            staff.fields = form.carried_fields();
        }
        if let LoggedOutcome::Final(outcome) = transaction::log_usage(ctx, trail, outcome).await {
            if matches!(outcome, Err(Error::Refused(Refusal::Unauthorized { sent: true }))) {
                credential_expiry::write(ctx, &request).await;
            }
            return outcome;
        }
    }
    Err(Error::Unavailable("API keys or users are changing too often".to_owned()))
}

async fn handle(
    ctx: &Arc<Ctx>,
    route: &Route,
    request: &mut Arc<Request>,
    body: &mut Incoming,
    trail: &mut RequestTrail,
) -> Result<Reply, Error> {
    let credential = match admission::admit(ctx, route, request, trail).await {
        Err(error) if is_unread_staff_form(route, request, &error) => {
            // Read the form now, so that it can be sent again after a sign-in.
            if let Some(rules) = &route.form {
                let read = form::read(ctx, rules, request, body, &mut trail.has_begun_reading_form, None).await?;
                *request = Arc::new(read);
            }
            return Err(error);
        }
        admitted => admitted?,
    };
    if let Some(rules) = route.form.as_ref().filter(|_| !request.has_body()) {
        let checked = match rules.precheck {
            Some(precheck) => Some(check_before_body(ctx, precheck, request).await?),
            None => None,
        };
        let refused = match checked {
            Some(Prechecked::Answered(reply)) => return Ok(*reply),
            Some(Prechecked::Refused(trouble, file_use)) => Some((trouble, file_use)),
            Some(Prechecked::Proceed) | None => None,
        };
        refuse_content_encoding(route, request, body)?;
        let read = form::read(ctx, rules, request, body, &mut trail.has_begun_reading_form, refused).await?;
        *request = Arc::new(read);
    } else if route.accepts_body && !request.has_body() {
        refuse_content_encoding(route, request, body)?;
        *request = Arc::new(request.with_body(body::read(body, route.body_bytes_max).await?));
    }
    let mut outcome = run_handler(ctx, route, credential, request, trail).await;
    if let Err(Error::Full(_) | Error::Unavailable(_)) = &outcome {
        outcome = form_redisplay::show(ctx, route, request, trail, outcome).await;
    }
    let outcome = outcome.map(|reply| reply.with_unknown_member_warnings(request.unknown_members()));
    if let Some(Upload::Staged(staged)) = request.form().and_then(Form::upload)
        && !outcome.as_ref().is_ok_and(|reply| reply.retains_upload(staged))
    {
        attachment_writer::remove(Arc::clone(ctx), staged.id.clone()).await;
    }
    outcome
}

async fn check_before_body(ctx: &Arc<Ctx>, precheck: Precheck, request: &Arc<Request>) -> Result<Prechecked, Error> {
    let request = Arc::clone(request);
    read_briefly(ctx, move |ctx| ctx.store.read(|tx| precheck(ctx, tx, &request))).await
}

/// Returns whether a request to the staff console was refused for lack of a valid session before its form was read.
/// Returns `false` if the form can contain a file.
fn is_unread_staff_form(route: &Route, request: &Request, error: &Error) -> bool {
    let is_unauthorized = matches!(error, Error::Refused(Refusal::Unauthorized { .. }));
    let has_file = route.form.as_ref().is_some_and(|rules| rules.file_field.is_some());
    is_unauthorized && route.audience == Audience::Staff && !has_file && !request.has_body()
}

/// Refuses a body with a `Content-Encoding` before reading it, because no route decodes bodies (RFC 9110 §8.4).
///
/// # Errors
/// For a body with a `Content-Encoding`: `payload_too_large` if the declared length exceeds the limit, and otherwise
/// `unsupported_media_type`.
fn refuse_content_encoding(route: &Route, request: &Request, body: &Incoming) -> Result<(), Refusal> {
    if body.is_end_stream() || !request.headers().contains_key(header::CONTENT_ENCODING) {
        return Ok(());
    }
    let bytes_max = route.form.as_ref().map_or(route.body_bytes_max, form::bytes_max);
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Refusal::PayloadTooLarge(bytes_max));
    }
    Err(Refusal::ContentEncoding)
}

/// Runs both halves of the handler. The gate has already read the body of the request, if the route accepts one.
async fn run_handler(
    ctx: &Arc<Ctx>,
    route: &Route,
    credential: Option<Credential>,
    request: &Arc<Request>,
    trail: &mut RequestTrail,
) -> Result<Reply, Error> {
    match transaction::decode(ctx, route, request).await? {
        NextStep::Act(act) => {
            let work = route.work_of(request);
            // A dry run changes nothing, so repeating it needs no protection.
            let is_dry_run = work != route.work;
            let idempotent =
                if is_dry_run { None } else { IdempotentRequest::read(route, request, &trail.request_id)? };
            let started = tokio::time::Instant::now();
            let outcome = transaction::transact(ctx, route, work, credential, idempotent, act, trail).await;
            if route.is_constant_time {
                tokio::time::sleep_until(started + CONSTANT_TIME).await;
            }
            outcome
        }
        NextStep::Read(act) => transaction::transact(ctx, route, Work::Read, credential, None, act, trail).await,
        NextStep::Reply(reply) => Ok(reply),
    }
}

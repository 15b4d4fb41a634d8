//! Requests that a cached response answers. If other servers can change portals, the server first compares the change
//! numbers of portals with the database. Therefore, a cached response never lacks a change that any server confirmed
//! before the request arrived. If the comparison fails, the request is handled as if there were no cached response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::{Body, Incoming};
use hyper::{Method, Request, Response};
use tokio::sync::oneshot;

use super::download::ResponseBody;
use super::request_trail::{RequestTrail, log};
use crate::http::server::cached_response::CachedResponse;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply;
use crate::http::server::request;

/// The maximum time for which a request waits for a comparison. A working database server answers far sooner. After
/// this time, the service renders the response, for which the client is usually still waiting.
const COMPARISON_MAX: Duration = Duration::from_secs(2);

/// Returns the cached response to this request, if there is one and it needs no comparison. This function needs neither
/// a task nor the database.
pub(in crate::http::server) fn cached(ctx: &Ctx, request: &Request<Incoming>) -> Option<Response<ResponseBody>> {
    let started = Instant::now();
    if !is_read(request) {
        return None;
    }
    let found = find(ctx, request).filter(|found| !needs_comparison(ctx, found))?;
    respond(ctx, request, &found, started)
}

/// Returns the cached response to a request that [`cached`] left unanswered because the response needs a comparison.
pub(super) async fn after_comparison(
    ctx: &Ctx,
    request: &Request<Incoming>,
    started: Instant,
) -> Option<Response<ResponseBody>> {
    if !ctx.store.shares_portals() || !is_read(request) {
        return None;
    }
    look_up(ctx, request, started).await
}

/// Returns the cached response to a request that began at `started`, if there is one. Waits for the comparison first if
/// the response needs one.
pub(super) async fn look_up(
    ctx: &Ctx,
    request: &Request<Incoming>,
    started: Instant,
) -> Option<Response<ResponseBody>> {
    let found = find(ctx, request)?;
    if needs_comparison(ctx, &found) && !(compare(ctx).await && found.is_current(ctx.store.portals())) {
        return None;
    }
    respond(ctx, request, &found, started)
}

fn find(ctx: &Ctx, request: &Request<Incoming>) -> Option<Arc<CachedResponse>> {
    ctx.responses.get(request.uri(), request.headers(), ctx.store.portals())
}

fn respond(
    ctx: &Ctx,
    request: &Request<Incoming>,
    cached: &CachedResponse,
    started: Instant,
) -> Option<Response<ResponseBody>> {
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    let response = cached.response(request.headers());
    let trail = RequestTrail { route: Some(cached.route()), ..RequestTrail::new(ctx, request.method()) };
    log(ctx, &trail, started, &response);
    Some(reply::with_request_id(response, trail.request_id).map(ResponseBody::InMemory))
}

fn is_read(request: &Request<Incoming>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.body().is_end_stream()
}

/// Returns whether another server may have made a cached response outdated.
fn needs_comparison(ctx: &Ctx, cached: &CachedResponse) -> bool {
    ctx.store.shares_portals() && cached.organization().is_some()
}

/// Waits for a comparison that begins after this call. Returns whether it succeeded.
async fn compare(ctx: &Ctx) -> bool {
    let (sender, compared) = oneshot::channel();
    ctx.store.compare_portals(move |outcome| {
        let _ = sender.send(outcome.is_ok());
    });
    matches!(tokio::time::timeout(COMPARISON_MAX, compared).await, Ok(Ok(true)))
}

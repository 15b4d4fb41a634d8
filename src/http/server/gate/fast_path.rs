//! The fast path for a request whose response depends only on the caller (`GET /api/v1/me`). The key is in memory, the
//! response body is cached with the key, and the only write is the usage row at the end of the tick.
//!
//! Any other request uses the general path as if the fast path did not exist. Examples are a request with another kind
//! of credential or with a key that is not in memory, and a request for which no rate-limit token is left.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};

use super::completion::{RATE_LIMIT, RATE_LIMIT_POLICY, complete, policy_value, remaining_value};
use super::job::{ATTEMPTS_MAX, PendingUsageRow, queue_usage_row};
use super::request_trail::{RequestTrail, log};
use super::{credential_expiry, proxy_warning};
use crate::domain::refusal::Refusal;
use crate::domain::user::Auth;
use crate::http::server::access_rule::AccessRule;
use crate::http::server::authentication::{Credential, Presented, key_in_memory, look_up};
use crate::http::server::ctx::Ctx;
use crate::http::server::rate_limiter::BucketOwner;
use crate::http::server::rendered_response::RenderedResponse;
use crate::http::server::reply::{self, Reply};
use crate::http::server::request;
use crate::http::server::route::{ReplyFromCaller, Route};
use crate::http::server::service::Service;
use crate::http::server::table::RouteMatch;
use crate::store::usage::LogEntry;
use crate::store::{CachedKey, Error};

/// A request on the fast path, with its queued usage row. This value does not hold the HTTP request.
pub(in crate::http::server) struct FastPath {
    started: Instant,
    trail: RequestTrail,
    access: AccessRule,
    reply_from_caller: ReplyFromCaller,
    key: Arc<CachedKey>,
    usage_row: PendingUsageRow,
}

/// Begins the fast path if the request qualifies. Otherwise, returns `None` and has no effect.
pub(in crate::http::server) fn begin(
    service: &Service,
    peer: SocketAddr,
    request: &Request<Incoming>,
) -> Option<FastPath> {
    let ctx = &service.ctx;
    let started = Instant::now();
    let (route, reply_from_caller) = route(service, request)?;
    let (key, number) = caller(ctx, request.headers())?;
    let mut trail = RequestTrail::new(ctx, &Method::GET);
    if let Some((tokens, taken)) = ctx.rate_limiter.take(BucketOwner::Key(number), ctx.world.monotonic()) {
        taken.ok()?;
        trail.remaining_tokens = Some(tokens);
    }
    let row = LogEntry {
        key_number: number,
        method: Cow::Borrowed("GET"),
        path: Cow::Borrowed(route.path),
        ip: request::client(peer, request.headers(), &ctx.settings.trusted_proxies),
        user_agent: request::user_agent(request.headers()),
        auth_endpoint: route.path,
    };
    proxy_warning::report(ctx, peer, request.headers());
    trail.route = Some(route.path);
    trail.key = Some(Arc::clone(&key));
    let usage_row = queue_usage_row(ctx, Arc::clone(&key), row);
    Some(FastPath { started, trail, access: route.access, reply_from_caller, key, usage_row })
}

/// Finds the request's route if its reply depends only on the caller. The path of such a route has no parameters, so
/// the template is the path.
fn route<'a>(service: &'a Service, request: &Request<Incoming>) -> Option<(&'a Route, ReplyFromCaller)> {
    let is_read = *request.method() == Method::GET && request.body().is_end_stream();
    let found = is_read.then(|| service.table.find(&Method::GET, request.uri().path()));
    let Some(Ok(RouteMatch::Route(route, _))) = found else { return None };
    let reply_from_caller = route.reply_from_caller?;
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    Some((route, reply_from_caller))
}

/// Returns the caller's key and its number.
fn caller(ctx: &Ctx, fields: &HeaderMap) -> Option<(Arc<CachedKey>, i64)> {
    let key = key_in_memory(ctx, fields)?;
    match key.principal.auth {
        Auth::ApiKey { number, .. } => Some((key, number)),
        Auth::Session { .. } => None,
    }
}

impl FastPath {
    /// Waits for the usage row and returns the response.
    pub(in crate::http::server) async fn answer(mut self, ctx: &Arc<Ctx>) -> Response<Full<Bytes>> {
        let response = match self.wait_for_usage_row(ctx).await {
            Ok(()) => self.response(ctx),
            Err(error) => {
                if matches!(error, Error::Refused(Refusal::Unauthorized { .. })) {
                    credential_expiry::write_of(ctx, Presented::ApiKey(*self.key.digest())).await;
                }
                complete(ctx, &self.trail, Err(error)).into_response_without_id()
            }
        };
        log(ctx, &self.trail, self.started, &response);
        reply::with_request_id(response, self.trail.request_id)
    }

    /// Waits for the usage row. If keys or users have changed since the lookup, looks up the key again and queues the
    /// row again.
    async fn wait_for_usage_row(&mut self, ctx: &Arc<Ctx>) -> Result<(), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.usage_row.outcome(ctx, &self.key).await? else { return Ok(()) };
            let Credential::ApiKey(key) = look_up(ctx, Presented::ApiKey(*self.key.digest())).await? else { break };
            self.access.check(&key.principal)?;
            self.usage_row = queue_usage_row(ctx, Arc::clone(&key), *row);
            self.key = key;
        }
        Err(Error::Unavailable("API keys or users are changing too often".to_owned()))
    }

    fn response(&self, ctx: &Ctx) -> Response<Full<Bytes>> {
        let reply = || (self.reply_from_caller)(&self.key.principal);
        let rendered = ctx.caller_response.get_or_init(|| rendered(ctx, reply()));
        let mut response = rendered.response_with(self.key.attached(|| reply().body()).clone());
        if let Some(tokens) = self.trail.remaining_tokens {
            response.headers_mut().insert(RATE_LIMIT, field(remaining_value(tokens)));
        }
        response
    }
}

/// Renders the response. All callers share its head, and each caller gets its own body.
fn rendered(ctx: &Ctx, reply: Reply) -> RenderedResponse {
    let rendered = RenderedResponse::new(reply);
    match ctx.rate_limiter.policy() {
        Some(policy) => rendered
            .with(RATE_LIMIT_POLICY, field(policy_value(policy)))
            // Reserve space for the field, so that setting it later does not grow the map.
            .with(RATE_LIMIT, HeaderValue::from_static("")),
        None => rendered,
    }
}

fn field(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("numbers and quoted words are valid field values")
}

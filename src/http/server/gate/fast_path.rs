//! The fast path of a request that needs nothing but its caller (`me`): the key is in memory, the response body is cached with
//! it, and only the usage row is left to write, which waits for the end of the runtime's tick.
//!
//! Any other request takes the general path, as if this one had not looked at it: another credential, a key that is not in
//! memory, a caller who has no token left.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};

use super::finish::{RATE_LIMIT, RATE_LIMIT_POLICY, finish, left_value, policy_value};
use super::job::{ATTEMPTS_MAX, Recording, recording};
use super::trail::{Trail, log};
use super::{credential_end, proxy};
use crate::domain::refusal::Refusal;
use crate::domain::user::Auth;
use crate::http::server::authentication::{Credential, Presented, key_in_memory, look_up};
use crate::http::server::ctx::Ctx;
use crate::http::server::entry::Entry;
use crate::http::server::limiter::Caller;
use crate::http::server::rendered::Rendered;
use crate::http::server::reply::{self, Reply};
use crate::http::server::request;
use crate::http::server::route::{FromCaller, Route};
use crate::http::server::service::Service;
use crate::http::server::table::RouteMatch;
use crate::store::usage::LogEntry;
use crate::store::{CachedKey, Error};

/// A request on its fast path, whose usage row waits. Nothing of the request itself is held.
pub(in crate::http) struct FastPath {
    started: Instant,
    trail: Trail,
    entry: Entry,
    from_caller: FromCaller,
    key: Arc<CachedKey>,
    recording: Recording,
}

/// Begins the fast path, where this request can take it; otherwise nothing is done.
pub(in crate::http) fn begin(service: &Service, peer: SocketAddr, request: &Request<Incoming>) -> Option<FastPath> {
    let ctx = &service.ctx;
    let started = Instant::now();
    let (route, from_caller) = route(service, request)?;
    let (key, number) = caller(ctx, request.headers())?;
    let mut trail = Trail::of(ctx, &Method::GET);
    if let Some((left, taken)) = ctx.limiter.take(Caller::Key(number), ctx.world.monotonic()) {
        taken.ok()?;
        trail.left = Some(left);
    }
    let row = LogEntry {
        key_number: number,
        method: Cow::Borrowed("GET"),
        path: Cow::Borrowed(route.path),
        ip: request::client(peer, request.headers(), &ctx.settings.trusted_proxies),
        user_agent: request::user_agent(request.headers()),
        auth_endpoint: route.path,
    };
    proxy::report(ctx, peer, request.headers());
    trail.route = Some(route.path);
    trail.key = Some(Arc::clone(&key));
    let recording = recording(ctx, Arc::clone(&key), row);
    Some(FastPath { started, trail, entry: route.entry, from_caller, key, recording })
}

/// A route that answers from the caller alone. Its path has no parameters, so the template is the path.
fn route<'a>(service: &'a Service, request: &Request<Incoming>) -> Option<(&'a Route, FromCaller)> {
    let is_read = *request.method() == Method::GET && request.body().is_end_stream();
    let found = is_read.then(|| service.table.find(&Method::GET, request.uri().path()));
    let Some(Ok(RouteMatch::Route(route, _))) = found else { return None };
    let from_caller = route.from_caller?;
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    Some((route, from_caller))
}

/// The key that calls, and its number.
fn caller(ctx: &Ctx, fields: &HeaderMap) -> Option<(Arc<CachedKey>, i64)> {
    let key = key_in_memory(ctx, fields)?;
    match key.principal.auth {
        Auth::ApiKey { number, .. } => Some((key, number)),
        Auth::Session { .. } => None,
    }
}

impl FastPath {
    /// The answer, once its row is in the log.
    pub(in crate::http) async fn answer(mut self, ctx: &Arc<Ctx>) -> Response<Full<Bytes>> {
        let response = match self.until_recorded(ctx).await {
            Ok(()) => self.response(ctx),
            Err(error) => {
                if matches!(error, Error::Refused(Refusal::Unauthorized { .. })) {
                    credential_end::write_of(ctx, Presented::ApiKey(*self.key.digest())).await;
                }
                finish(ctx, &self.trail, Err(error)).into_unnamed()
            }
        };
        log(ctx, &self.trail, self.started, &response);
        reply::with_request_id(response, self.trail.request_id)
    }

    /// Waits for the row. Where keys have changed since this one was looked up, it is looked up once more.
    async fn until_recorded(&mut self, ctx: &Arc<Ctx>) -> Result<(), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.recording.outcome(ctx, &self.key).await? else { return Ok(()) };
            let Credential::ApiKey(key) = look_up(ctx, Presented::ApiKey(*self.key.digest()))? else { break };
            self.entry.check(&key.principal)?;
            self.recording = recording(ctx, Arc::clone(&key), *row);
            self.key = key;
        }
        Err(Error::Unavailable("what keys may do changes too often".to_owned()))
    }

    fn response(&self, ctx: &Ctx) -> Response<Full<Bytes>> {
        let reply = || (self.from_caller)(&self.key.principal);
        let rendered = ctx.from_caller.get_or_init(|| rendered(ctx, reply()));
        let mut response = rendered.response_with(self.key.attached(|| reply().body()).clone());
        if let Some(left) = self.trail.left {
            response.headers_mut().insert(RATE_LIMIT, field(left_value(left)));
        }
        response
    }
}

/// What all callers are answered, but for the body.
fn rendered(ctx: &Ctx, reply: Reply) -> Rendered {
    let rendered = Rendered::new(reply);
    match ctx.limiter.policy() {
        Some(policy) => rendered
            .with(RATE_LIMIT_POLICY, field(policy_value(policy)))
            // Its place, so that each answer has room for it.
            .with(RATE_LIMIT, HeaderValue::from_static("")),
        None => rendered,
    }
}

fn field(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("figures and quoted words are text that a field can hold")
}

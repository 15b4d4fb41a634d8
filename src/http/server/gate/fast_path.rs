//! The short way of a request that needs nothing but its caller (`me`): the key is in memory, the answer is kept with it,
//! and all that is left to do is the usage row, which waits for the end of the runtime's turn.
//!
//! Whatever is not exactly so takes the long way, as if it had not been looked at: another credential, a key that is not in
//! memory, a caller who has no token left.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};

use super::admission::Sent;
use super::transaction::{Recording, recording};
use super::{
    RATE_LIMIT, RATE_LIMIT_POLICY, TURNS_MAX, Trail, credential_end, finish, left_value, policy_value, proxy, told,
};
use crate::domain::api_key;
use crate::domain::refusal::Refusal;
use crate::domain::user::Auth;
use crate::http::server::ctx::Ctx;
use crate::http::server::limiter::Caller;
use crate::http::server::rendered::Rendered;
use crate::http::server::reply::{self, Reply};
use crate::http::server::request;
use crate::http::server::route::{Entry, OfCaller, Route};
use crate::http::server::table::Found;
use crate::store::usage::LogEntry;
use crate::store::{Error, KnownKey, Recorded};

/// A request on its short way, whose usage row waits. Nothing of the request itself is kept.
pub(in crate::http) struct Short {
    started: Instant,
    trail: Trail,
    entry: Entry,
    of_caller: OfCaller,
    key: Arc<KnownKey>,
    recording: Recording,
}

/// Begins the short way, where it is one for this request; otherwise nothing is done.
pub(in crate::http) fn begin(ctx: &Arc<Ctx>, peer: SocketAddr, request: &Request<Incoming>) -> Option<Short> {
    let started = Instant::now();
    let (route, of_caller) = route(ctx, request)?;
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
    Some(Short { started, trail, entry: route.entry, of_caller, key, recording })
}

/// A route that answers from the caller alone. Its path has no parameters, so the template is the path.
fn route<'a>(ctx: &'a Ctx, request: &Request<Incoming>) -> Option<(&'a Route, OfCaller)> {
    let is_read = *request.method() == Method::GET && request.body().is_end_stream();
    let found = is_read.then(|| ctx.table.find(&Method::GET, request.uri().path()));
    let Some(Ok(Found::Route(route, _))) = found else { return None };
    let of_caller = route.of_caller?;
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    Some((route, of_caller))
}

/// The token of a request that has one credential, spelled as nearly all do.
fn bearer(fields: &HeaderMap) -> Option<&str> {
    let mut values = fields.get_all(header::AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()?.strip_prefix("Bearer ")
}

/// The key that calls, and its number.
fn caller(ctx: &Ctx, fields: &HeaderMap) -> Option<(Arc<KnownKey>, i64)> {
    let key = ctx.store.known_key(&api_key::digest(bearer(fields)?))?;
    match key.principal.auth {
        Auth::ApiKey { number, .. } => Some((key, number)),
        Auth::Session { .. } => None,
    }
}

impl Short {
    /// The answer, once its row is in the log.
    pub(in crate::http) async fn answer(mut self, ctx: &Arc<Ctx>) -> Response<Full<Bytes>> {
        let response = match self.until_recorded(ctx).await {
            Ok(()) => self.response(ctx),
            Err(error) => {
                if matches!(error, Error::Refused(Refusal::Unauthorized { .. })) {
                    credential_end::write_of(ctx, Sent::ApiKey(*self.key.digest())).await;
                }
                finish(ctx, &self.trail, Err(error)).into_unnamed()
            }
        };
        told(ctx, &self.trail, self.started, &response);
        reply::with_request_id(response, self.trail.request_id)
    }

    /// Waits for the row. Where keys have changed since this one was looked up, it is looked up once more.
    async fn until_recorded(&mut self, ctx: &Arc<Ctx>) -> Result<(), Error> {
        const UNAUTHORIZED: Error = Error::Refused(Refusal::Unauthorized { sent: true });
        for _ in 0..TURNS_MAX {
            let row = match self.recording.outcome().await? {
                Recorded::Logged => return Ok(()),
                Recorded::Ended => {
                    ctx.store.note_expired(&self.key);
                    return Err(UNAUTHORIZED);
                }
                Recorded::Changed(row) => row,
            };
            self.key = ctx.store.key(self.key.digest())?.ok_or(UNAUTHORIZED)?;
            self.entry.accept(&self.key.principal)?;
            self.entry.admit(&self.key.principal)?;
            self.recording = recording(ctx, Arc::clone(&self.key), *row);
        }
        Err(Error::Unavailable("what keys may do changes too often".to_owned()))
    }

    fn response(&self, ctx: &Ctx) -> Response<Full<Bytes>> {
        let reply = || (self.of_caller)(&self.key.principal);
        let rendered = ctx.of_caller.get_or_init(|| rendered(ctx, reply()));
        let mut response = rendered.response_with(self.key.kept(|| reply().body()).clone());
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

//! The short way of a request that needs nothing but its caller (`me`): the key is in memory, the answer is kept with it,
//! and all that is left to do is the usage row, which waits for the end of the runtime's turn.
//!
//! Whatever is not exactly so takes the long way, as if it had not been looked at: another credential, a key that is not in
//! memory, a caller who has no token left. So nothing is refused here, and every rule has one place.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response};
use tokio::sync::oneshot;

use super::super::ctx::Ctx;
use super::super::limiter::Caller;
use super::super::reply::{self, Rendered, Reply};
use super::super::request;
use super::super::route::Route;
use super::super::table::Found;
use super::transaction::flush_soon;
use crate::domain::api_key;
use crate::domain::id::RequestId;
use crate::domain::rate::Left;
use crate::domain::user::{Auth, Principal};
use crate::store::usage::LogEntry;
use crate::store::{Error, KnownKey, Recorded};
use crate::telemetry::Line;

const METHOD: &str = "GET";

/// A request on its short way, whose usage row waits.
pub(in crate::http) struct Short {
    started: Instant,
    request_id: RequestId,
    route: &'static str,
    of_caller: fn(&Principal) -> Reply,
    key: Arc<KnownKey>,
    left: Option<Left>,
    recorded: oneshot::Receiver<Result<Recorded, Error>>,
}

/// What a request that has to take the long way after all brings with it: the token that it took.
pub(in crate::http) struct Diverted {
    pub(super) left: Option<Left>,
}

/// The short way, where it is one for this request.
pub(in crate::http) fn begin(ctx: &Arc<Ctx>, peer: SocketAddr, request: &hyper::Request<Incoming>) -> Option<Short> {
    let started = Instant::now();
    let (route, of_caller) = route(ctx, request)?;
    let key = ctx.store.known_key(&api_key::digest(bearer(request.headers())?))?;
    let Auth::ApiKey { number, .. } = &key.principal.auth else { return None };
    route.entry.accept(&key.principal).and_then(|()| route.entry.admit(&key.principal)).ok()?;
    let left = match ctx.limiter.take(Caller::Key(*number), ctx.world.monotonic()) {
        Some((left, taken)) => Some(taken.ok().map(|()| left)?),
        None => None,
    };
    let entry = LogEntry {
        key_number: *number,
        method: Cow::Borrowed(METHOD),
        path: Cow::Borrowed(route.path),
        ip: request::client(peer, request.headers(), &ctx.settings.trusted_proxies),
        user_agent: request::user_agent(request.headers()),
        auth_endpoint: route.path,
    };
    let (sender, recorded) = oneshot::channel();
    if ctx.store.record(Arc::clone(&key), entry, move |outcome| drop(sender.send(outcome))) {
        flush_soon(ctx);
    }
    Some(Short { started, request_id: ctx.world.id(), route: route.path, of_caller, key, left, recorded })
}

/// A route that answers from the caller alone. Its path has no parameters, so the template is the path.
fn route<'a>(ctx: &'a Ctx, request: &hyper::Request<Incoming>) -> Option<(&'a Route, fn(&Principal) -> Reply)> {
    let is_read = *request.method() == Method::GET && request.body().is_end_stream();
    let found = is_read.then(|| ctx.table.find(&Method::GET, request.uri().path()));
    let Some(Ok(Found::Route(route, _))) = found else { return None };
    request::check_head(request.uri(), request.headers(), request.version()).ok()?;
    route.of_caller.map(|of_caller| (route, of_caller))
}

/// The token of a request that has one credential, spelled as nearly all do.
fn bearer(fields: &HeaderMap) -> Option<&str> {
    let mut values = fields.get_all(header::AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()?.strip_prefix("Bearer ")
}

fn rendered(ctx: &Ctx, reply: Reply) -> Rendered {
    let rendered = Rendered::new(reply);
    match ctx.limiter.policy() {
        Some(policy) => rendered
            .with(super::RATE_LIMIT_POLICY, field(super::policy_value(policy)))
            // Its place, so that each answer has room for it.
            .with(super::RATE_LIMIT, HeaderValue::from_static("")),
        None => rendered,
    }
}

fn field(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("figures and quoted words are text that a field can hold")
}

impl Short {
    /// The answer once its row is in the log.
    ///
    /// # Errors
    /// Where there is no row: something has changed since the key was looked up, or the log cannot be written. The long
    /// way tells.
    pub(in crate::http) async fn answer(self, ctx: &Arc<Ctx>) -> Result<Response<Full<Bytes>>, Diverted> {
        let Self { started, request_id, route, of_caller, key, left, recorded } = self;
        if !matches!(recorded.await, Ok(Ok(Recorded::Logged))) {
            return Err(Diverted { left });
        }
        let mut response = key.kept(|| rendered(ctx, of_caller(&key.principal))).response();
        if let Some(left) = left {
            response.headers_mut().insert(super::RATE_LIMIT, field(super::left_value(left)));
        }
        ctx.telemetry.request(&Line {
            at: ctx.world.now(),
            request_id: request_id.as_str(),
            method: METHOD,
            route,
            status: response.status().as_u16(),
            duration: started.elapsed(),
            bytes: response.body().size_hint().exact().unwrap_or_default(),
            key_id: key.principal.api_key_id().map(|id| id.as_str()),
        });
        Ok(reply::with_request_id(response, request_id))
    }
}

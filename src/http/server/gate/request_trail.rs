//! Facts about a request that its response and its log line need.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Body;
use hyper::{Method, Response};

use crate::domain::id::{ApiKeyId, RequestId};
use crate::domain::rate::RemainingTokens;
use crate::http::server::ctx::Ctx;
use crate::http::server::language::Language;
use crate::http::server::reply::page::{ProblemPage, StaffRequest};
use crate::http::server::response_cache::CachePolicy;
use crate::store::CachedKey;
use crate::store::usage::LogEntry;
use crate::telemetry::RequestLine;

/// The name for methods that the log and the counters do not list, and for unreadable methods.
pub(super) const OTHER: &str = "OTHER";

/// Facts about a request, collected on its way through the gate.
pub(super) struct RequestTrail {
    pub(super) request_id: RequestId,
    pub(super) method: &'static str,
    pub(super) route: Option<&'static str>,
    /// The function that renders failures as pages, if the route serves people.
    pub(super) problem_page: Option<ProblemPage>,
    pub(super) language: Language,
    /// The request, if its route belongs to the staff console.
    pub(super) staff: Option<StaffRequest>,
    pub(super) cors: bool,
    pub(super) caching: Option<CachePolicy>,
    pub(super) remaining_tokens: Option<RemainingTokens>,
    pub(super) key: Option<Arc<CachedKey>>,
    pub(super) has_begun_reading_form: bool,
    pub(super) closes_connection: bool,
    /// The usage row that has not been written yet. It is set when the key is known.
    pub(super) usage_row: Option<LogEntry>,
}

impl RequestTrail {
    pub(super) fn new(ctx: &Ctx, method: &Method) -> Self {
        Self {
            request_id: ctx.world.id(),
            method: method_name(method),
            route: None,
            problem_page: None,
            language: Language::of_tag(""),
            staff: None,
            cors: false,
            caching: None,
            remaining_tokens: None,
            key: None,
            has_begun_reading_form: false,
            closes_connection: false,
            usage_row: None,
        }
    }
}

/// Counts a request and logs it.
pub(super) fn log(ctx: &Ctx, trail: &RequestTrail, started: Instant, response: &Response<impl Body>) {
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

/// Returns the method's name in the log and the counters, from a closed set.
fn method_name(method: &Method) -> &'static str {
    const NAMES: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    NAMES.into_iter().find(|name| *name == method.as_str()).unwrap_or(OTHER)
}

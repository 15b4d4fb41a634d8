//! What is known of a request on its way, for its answer and its line in the log.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Body;
use hyper::{Method, Response};

use crate::domain::id::{ApiKeyId, RequestId};
use crate::domain::rate::RemainingTokens;
use crate::http::server::ctx::Ctx;
use crate::http::server::language::Language;
use crate::http::server::reply::html::ProblemPage;
use crate::http::server::response_cache::Caching;
use crate::store::CachedKey;
use crate::store::usage::LogEntry;
use crate::telemetry::RequestLine;

/// A method that the log and the counters have no name for, or none that could be read.
pub(super) const OTHER: &str = "OTHER";

/// What is known of a request on its way, for its answer and its line in the log.
pub(super) struct Trail {
    pub(super) request_id: RequestId,
    pub(super) method: &'static str,
    pub(super) route: Option<&'static str>,
    /// What renders a failure, where the client is a person.
    pub(super) problem_page: Option<ProblemPage>,
    /// The language of that page.
    pub(super) language: Language,
    pub(super) cors: bool,
    /// How the response is cached.
    pub(super) caching: Option<Caching>,
    pub(super) left: Option<RemainingTokens>,
    pub(super) key: Option<Arc<CachedKey>>,
    /// Whether a form was begun to be read, whatever was made of it.
    pub(super) has_begun_form: bool,
    /// Whether the connection is closed behind the answer.
    pub(super) closes: bool,
    /// The usage row that is owed: there once a key was seen, gone once the row is written.
    pub(super) owed: Option<LogEntry>,
}

impl Trail {
    pub(super) fn of(ctx: &Ctx, method: &Method) -> Self {
        Self {
            request_id: ctx.world.id(),
            method: known(method),
            route: None,
            problem_page: None,
            language: Language::of_tag(""),
            cors: false,
            caching: None,
            left: None,
            key: None,
            has_begun_form: false,
            closes: false,
            owed: None,
        }
    }
}

/// Counts a request and logs it.
pub(super) fn log(ctx: &Ctx, trail: &Trail, started: Instant, response: &Response<impl Body>) {
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

/// The method as the log and the counters name it: a closed set, whatever is sent.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or(OTHER)
}

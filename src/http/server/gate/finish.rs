//! The answer with the fields that depend on the way the request took, and answers to what never came to a route.

use std::time::Instant;

use hyper::body::Bytes;
use hyper::header::{self, HeaderName};
use hyper::{Method, Response};

use super::download::Outgoing;
use super::trail::{OTHER, Trail, log};
use crate::domain::id::RequestId;
use crate::domain::rate::{RatePolicy, RemainingTokens};
use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::{self, Reply};
use crate::store::Error;

/// What the credentials of this service open (RFC 9110 §11.5).
pub(super) const REALM: &str = "appliance";

pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The answer with the fields that depend on the way the request took. What failed is told to the log, not the caller.
pub(super) fn finish(ctx: &Ctx, trail: &Trail, outcome: Result<Reply, Error>) -> Reply {
    let is_anybody = matches!(outcome, Err(Error::Refused(Refusal::Unauthorized { .. })));
    let mut reply = match outcome {
        Ok(reply) => reply,
        Err(error) => {
            if let Error::Full(why) | Error::Unavailable(why) | Error::Defect(why) | Error::OutcomeUnknown(why) = &error
            {
                ctx.telemetry.note(ctx.world.now(), Some(trail.request_id.as_str()), why);
            }
            let number = trail.request_id.as_str();
            match trail.problem_page {
                Some(render) => Reply::problem_page(&error, REALM, number, trail.language, render),
                None => Reply::problem(&error, REALM, number),
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

/// The value of `RateLimit-RatePolicy` (IETF draft, RateLimit header fields for HTTP).
pub(super) fn policy_value(policy: RatePolicy) -> String {
    format!("\"default\";q={};w=60", policy.per_minute)
}

/// The value of `RateLimit`.
pub(super) fn left_value(left: RemainingTokens) -> String {
    format!("\"default\";r={};t={}", left.remaining, left.reset_s)
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
    log(ctx, &trail, Instant::now(), &response);
    if ctx.settings.is_https() {
        reply::require_https(response.headers_mut());
    }
    (reply::with_request_id(response, trail.request_id).map(drop), body)
}

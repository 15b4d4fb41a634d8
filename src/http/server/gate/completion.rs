//! Completes replies with the header fields that depend on how the request was handled. Builds the responses for
//! requests whose task panicked and for connections from which no request was read.

use std::time::Instant;

use hyper::body::Bytes;
use hyper::header::{self, HeaderName};
use hyper::{Method, Response};

use super::download::ResponseBody;
use super::request_trail::{OTHER, RequestTrail, log};
use crate::domain::id::RequestId;
use crate::domain::rate::{RatePolicy, RemainingTokens};
use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::{self, Reply};
use crate::store::Error;

/// The protection space of this service's credentials (RFC 9110 §11.5).
pub(super) const REALM: &str = "appliance";

pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Turns the outcome of a request into a reply and adds the header fields that depend on how the request was handled.
/// The cause of a failure is logged and not shown to the caller.
pub(super) fn complete(ctx: &Ctx, trail: &RequestTrail, outcome: Result<Reply, Error>) -> Reply {
    let is_unauthorized = matches!(outcome, Err(Error::Refused(Refusal::Unauthorized { .. } | Refusal::KeyRequired)));
    let mut reply = match outcome {
        Ok(reply) => reply,
        Err(error) => {
            if let Error::Full(why) | Error::Unavailable(why) | Error::Defect(why) | Error::OutcomeUnknown(why) = &error
            {
                ctx.telemetry.note(ctx.world.now(), Some(trail.request_id.as_str()), why);
            }
            let request_id = trail.request_id.as_str();
            match trail.problem_page {
                Some(render) => {
                    let staff = trail.staff.as_ref();
                    Reply::problem_page(&error, REALM, request_id, trail.language, staff, render)
                }
                None => Reply::problem(&error, REALM, request_id),
            }
        }
    };
    if trail.closes_connection {
        reply = reply.with(header::CONNECTION, "close");
    }
    if trail.cors {
        reply = reply
            .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
            .with(header::ACCESS_CONTROL_EXPOSE_HEADERS, "ETag, Retry-After, X-Request-Id");
    }
    match (trail.remaining_tokens, ctx.rate_limiter.policy()) {
        (Some(tokens), Some(policy)) if !is_unauthorized => {
            reply.with(RATE_LIMIT_POLICY, &policy_value(policy)).with(RATE_LIMIT, &remaining_value(tokens))
        }
        _ => reply,
    }
}

/// Returns the value of `RateLimit-Policy` (IETF draft, RateLimit header fields for HTTP).
pub(super) fn policy_value(policy: RatePolicy) -> String {
    format!("\"default\";q={};w=60", policy.per_minute)
}

pub(super) fn remaining_value(tokens: RemainingTokens) -> String {
    format!("\"default\";r={};t={}", tokens.remaining, tokens.reset_s)
}

/// Returns the response to a request whose task panicked. A new request id links the response to the log.
pub(in crate::http::server) fn panic_response(ctx: &Ctx) -> Response<ResponseBody> {
    let request_id: RequestId = ctx.world.id();
    let error = Error::Defect("a request panicked; the lines above show where".to_owned());
    ctx.telemetry.note(ctx.world.now(), Some(request_id.as_str()), &error.to_string());
    let response = Reply::problem(&error, REALM, request_id.as_str()).into_response_without_id();
    reply::with_request_id(response, request_id).map(ResponseBody::InMemory)
}

/// Returns the head and body of the response for a connection from which no request was read.
pub(in crate::http::server) fn refuse_unread(ctx: &Ctx, error: Error) -> (Response<()>, Bytes) {
    let trail = RequestTrail { method: OTHER, ..RequestTrail::new(ctx, &Method::GET) };
    let reply = complete(ctx, &trail, Err(error));
    let body = reply.body();
    let mut response = reply.into_response_without_id();
    log(ctx, &trail, Instant::now(), &response);
    if ctx.settings.is_https() {
        reply::require_https(response.headers_mut());
    }
    (reply::with_request_id(response, trail.request_id).map(drop), body)
}

//! `/api/admin/hr-deliveries`: admins see what became of the deliveries to HR systems, and send one again.
//!
//! All of them take up first what was decided a moment ago, so that a hire that was answered is seen: hence they write.

use hyper::Method;
use serde::Serialize;
use serde_json::Value;

use super::api_key::WireData;
use crate::domain::hr_delivery::{DeliveryState, HeldBy};
use crate::domain::id::{ApplicationId, DeliveryId, Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Admin;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{self, WirePage, WirePagination};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::hr_delivery::{DeliveryFilter, HrAttempt, HrDelivery};
use crate::store::{self, Error, Grade, Tx};

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no organization with this organizationId");
const NO_DELIVERY: Refusal = Refusal::NotFound("there is no such delivery");

pub(in crate::http) fn routes() -> Vec<Route> {
    let deliveries = "/api/admin/hr-deliveries";
    let delivery = "/api/admin/hr-deliveries/{id}";
    let retry = "/api/admin/hr-deliveries/{id}/retry";
    vec![
        Route::admin(Method::GET, deliveries, decode_list, list).writes(Grade::Upkeep).answering(&[
            (200, ""),
            (400, "validation_error"),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::GET, delivery, decode_id, read).writes(Grade::Upkeep).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::POST, retry, decode_id, send_again).writes(Grade::Durable).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (409, "conflict"),
            (429, "rate_limited"),
        ]),
    ]
}

struct DeliveryListInput {
    filter: DeliveryFilter,
    rows: usize,
    cursor: Option<DeliveryId>,
}

/// Which deliveries are asked for. All parameters at fault are told at once.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, a `state` that there is none of, a `cursor` that no page gave,
/// a parameter that is there twice; `not_found` for an `organizationId` that none can have.
fn decode_list(_: &Ctx, request: &Request) -> Result<DeliveryListInput, Error> {
    let state = request.query("state").and_then(|text| text.as_deref().map(state).transpose());
    let cursor = request.query("cursor").and_then(|text| text.as_deref().map(cursor).transpose());
    let narrowed = Refusal::both(state, cursor);
    let named = Refusal::both(request.query("organizationId"), pagination::requested_rows(request));
    let ((state, cursor), (organization, rows)) = Refusal::both(narrowed, named)?;
    let organization_id = organization.map(|id| OrganizationId::parse(&id).ok_or(NO_ORGANIZATION)).transpose()?;
    Ok(DeliveryListInput { filter: DeliveryFilter { organization_id, state }, rows, cursor })
}

fn state(text: &str) -> Result<DeliveryState, Refusal> {
    DeliveryState::parse(text)
        .ok_or_else(|| Refusal::invalid("state", format!("must be one of {}", DeliveryState::WORDS.join(", "))))
}

fn cursor(text: &str) -> Result<DeliveryId, Refusal> {
    DeliveryId::parse(text).ok_or_else(no_cursor)
}

fn no_cursor() -> Refusal {
    Refusal::invalid("cursor", "must be pagination.nextCursor of the previous page")
}

/// `GET /api/admin/hr-deliveries`: a page of deliveries, newest first.
///
/// # Errors
/// `validation_error` for a `cursor` that no page gave; `not_found` where there is no such organization.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &DeliveryListInput) -> Result<Reply, Error> {
    store::outbox::take_up_all(tx)?;
    if let Some(id) = &input.filter.organization_id
        && !store::organization::exists(tx, id)?
    {
        return Err(NO_ORGANIZATION.into());
    }
    let before = match &input.cursor {
        Some(id) => store::hr_delivery::find(tx, id)?.ok_or_else(no_cursor)?.number,
        None => i64::MAX,
    };
    // One row more than the page has tells whether there are more.
    let mut deliveries = store::hr_delivery::page(tx, &input.filter, before, input.rows + 1)?;
    let has_more = deliveries.len() > input.rows;
    deliveries.truncate(input.rows);
    let next_cursor = deliveries.last().filter(|_| has_more).map(|delivery| delivery.id.to_string());
    let pagination = WirePagination { limit: input.rows, has_more, next_cursor };
    Ok(Reply::json(&WirePage { success: true, data: deliveries.iter().map(wire).collect(), pagination }))
}

/// The delivery that a path names; an id that none can have names nothing.
///
/// # Errors
/// `not_found`.
fn decode_id(_: &Ctx, request: &Request) -> Result<DeliveryId, Error> {
    DeliveryId::parse(request.param("id")).ok_or(Error::Refused(NO_DELIVERY))
}

/// `GET /api/admin/hr-deliveries/{id}`: a delivery with its message and its attempts.
///
/// # Errors
/// `not_found` where there is no such delivery.
fn read(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &DeliveryId) -> Result<Reply, Error> {
    store::outbox::take_up_all(tx)?;
    let delivery = store::hr_delivery::find(tx, id)?.ok_or(NO_DELIVERY)?;
    Ok(Reply::json(&WireData { success: true, data: in_full(tx, &delivery)? }))
}

/// A delivery with its message and its attempts.
pub(in crate::http) fn in_full(tx: &Tx<'_>, delivery: &HrDelivery) -> Result<Value, Error> {
    let payload = store::hr_delivery::payload(tx, delivery.number)?.ok_or(NO_DELIVERY)?;
    let unreadable = |error: serde_json::Error| Error::Defect(format!("a delivery cannot be told: {error}"));
    let payload = serde_json::from_str(&payload).map_err(unreadable)?;
    let attempts = store::hr_delivery::attempts(tx, delivery.number)?;
    let history = attempts.iter().map(wire_attempt).collect();
    serde_json::to_value(WireDeliveryInFull { delivery: wire(delivery), payload, history }).map_err(unreadable)
}

/// `POST /api/admin/hr-deliveries/{id}/retry`: sends a delivery now, under the same id, with its whole schedule before
/// it.
///
/// # Errors
/// `not_found` where there is no such delivery; `conflict` where it has arrived, or cannot be sent now.
fn send_again(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &DeliveryId) -> Result<Reply, Error> {
    store::outbox::take_up_all(tx)?;
    let delivery = store::hr_delivery::find(tx, id)?.ok_or(NO_DELIVERY)?;
    delivery.facts.require_retry()?;
    store::hr_delivery::send_again(tx, delivery.number)?;
    let delivery = store::hr_delivery::find(tx, id)?.ok_or(NO_DELIVERY)?;
    Ok(Reply::json(&WireData { success: true, data: wire(&delivery) }))
}

pub(in crate::http) fn wire(delivery: &HrDelivery) -> WireDelivery<'_> {
    let held = delivery.facts.held();
    WireDelivery {
        id: delivery.id.as_str(),
        organization_id: delivery.organization_id.as_str(),
        application_id: delivery.application_id.as_ref().map(ApplicationId::as_str),
        event: delivery.facts.event.as_str(),
        state: delivery.facts.state.as_str(),
        attempts: delivery.attempts,
        created_at: delivery.created_at.to_string(),
        next_attempt_at: delivery.next_attempt_at.filter(|_| held.is_none()).map(|at| at.to_string()),
        held: held.map(wire_held),
        last_attempt: delivery.last_attempt.as_ref().map(wire_attempt),
    }
}

fn wire_held(held: HeldBy) -> WireHeld {
    let (reason, delivery_id) = match held {
        HeldBy::NoIntegration => ("no_integration", None),
        HeldBy::Disabled => ("integration_disabled", None),
        HeldBy::Earlier(id) => ("earlier_delivery", Some(id.to_string())),
    };
    WireHeld { reason, delivery_id }
}

fn wire_attempt(attempt: &HrAttempt) -> WireAttempt<'_> {
    WireAttempt {
        at: attempt.at.to_string(),
        duration_ms: attempt.duration.as_micros() as f64 / 1_000.0,
        status: attempt.status,
        error: attempt.error.as_deref(),
        answer: attempt.answer.as_deref(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireDelivery<'a> {
    id: &'a str,
    organization_id: &'a str,
    application_id: Option<&'a str>,
    #[serde(rename = "type")]
    event: &'static str,
    state: &'static str,
    attempts: i64,
    created_at: String,
    next_attempt_at: Option<String>,
    held: Option<WireHeld>,
    last_attempt: Option<WireAttempt<'a>>,
}

#[derive(Serialize)]
struct WireDeliveryInFull<'a> {
    #[serde(flatten)]
    delivery: WireDelivery<'a>,
    payload: Value,
    history: Vec<WireAttempt<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireHeld {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireAttempt<'a> {
    at: String,
    duration_ms: f64,
    status: Option<u16>,
    error: Option<&'a str>,
    answer: Option<&'a str>,
}

//! `/api/admin/hr-deliveries`: lets admins list, read and retry deliveries to HR systems.
//!
//! Each endpoint writes, because it first creates the deliveries for new decisions. A caller who has received the
//! answer to a hire therefore finds the delivery for that hire, if the organization had an HR integration at that time.

use hyper::Method;
use serde::Serialize;
use serde_json::Value;

use crate::domain::hr_delivery::{DeliveryState, HeldBy};
use crate::domain::id::{ApplicationId, DeliveryId, Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Admin;
use crate::http::api::{decode, envelope};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{self, WirePage, WirePagination, invalid_cursor};
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
            (404, "not_found"),
        ]),
        Route::admin(Method::GET, delivery, decode_id, get)
            .writes(Grade::Upkeep)
            .answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::POST, retry, decode_id, retry_delivery).writes(Grade::Durable).answering(&[
            (200, ""),
            (404, "not_found"),
            (409, "conflict"),
        ]),
    ]
}

struct DeliveryListInput {
    filter: DeliveryFilter,
    rows_max: usize,
    cursor: Option<DeliveryId>,
}

/// # Errors
/// `validation_error`, which names all invalid parameters; `not_found` if `organizationId` is not a valid id.
fn decode_list(_: &Ctx, request: &Request) -> Result<DeliveryListInput, Error> {
    let state = decode::word_param(request, "state", DeliveryState::WORDS, DeliveryState::parse);
    let cursor = request.query("cursor").and_then(|text| text.as_deref().map(parse_cursor).transpose());
    let organization_and_limit = Refusal::both(request.query("organizationId"), pagination::requested_rows(request));
    let ((state, cursor), (organization, rows_max)) =
        Refusal::both(Refusal::both(state, cursor), organization_and_limit)?;
    let organization_id = organization.map(|id| OrganizationId::parse(&id).ok_or(NO_ORGANIZATION)).transpose()?;
    Ok(DeliveryListInput { filter: DeliveryFilter { organization_id, state }, rows_max, cursor })
}

/// Parses a cursor for this list: the id of the last delivery on the previous page.
fn parse_cursor(text: &str) -> Result<DeliveryId, Refusal> {
    DeliveryId::parse(text).ok_or_else(invalid_cursor)
}

/// `GET /api/admin/hr-deliveries`: returns the deliveries that match the filter, newest first.
///
/// # Errors
/// `validation_error` for a `cursor` that names no delivery; `not_found` if the organization does not exist.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &DeliveryListInput) -> Result<Reply, Error> {
    store::outbox::take_in_all(tx)?;
    if let Some(id) = &input.filter.organization_id
        && !store::organization::exists(tx, id)?
    {
        return Err(NO_ORGANIZATION.into());
    }
    let before = match &input.cursor {
        Some(id) => store::hr_delivery::find(tx, id)?.ok_or_else(invalid_cursor)?.number,
        None => i64::MAX,
    };
    // The query fetches one row more than a page has. The extra row shows whether there is another page.
    let mut deliveries = store::hr_delivery::page(tx, &input.filter, before, input.rows_max + 1)?;
    let has_more = deliveries.len() > input.rows_max;
    deliveries.truncate(input.rows_max);
    let next_cursor = deliveries.last().filter(|_| has_more).map(|delivery| delivery.id.to_string());
    let pagination = WirePagination { limit: input.rows_max, has_more, next_cursor };
    Ok(Reply::json(&WirePage { success: true, data: deliveries.iter().map(wire).collect(), pagination }))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<DeliveryId, Error> {
    Ok(request.id_param("id", NO_DELIVERY)?)
}

/// `GET /api/admin/hr-deliveries/{id}`: returns a delivery with its message and its attempts.
///
/// # Errors
/// `not_found` if the delivery does not exist.
fn get(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &DeliveryId) -> Result<Reply, Error> {
    store::outbox::take_in_all(tx)?;
    let delivery = store::hr_delivery::find(tx, id)?.ok_or(NO_DELIVERY)?;
    Ok(envelope::with_data(in_full(tx, &delivery)?))
}

/// Returns a delivery with its message and its attempts.
pub(in crate::http) fn in_full(tx: &Tx<'_>, delivery: &HrDelivery) -> Result<Value, Error> {
    let payload = store::hr_delivery::payload(tx, delivery.number)?.ok_or(NO_DELIVERY)?;
    let unreadable =
        |error: serde_json::Error| Error::Defect(format!("a delivery cannot be converted to JSON: {error}"));
    let payload = serde_json::from_str(&payload).map_err(unreadable)?;
    let attempts = store::hr_delivery::attempts(tx, delivery.number)?;
    let history = attempts.iter().map(wire_attempt).collect();
    serde_json::to_value(WireDeliveryInFull { delivery: wire(delivery), payload, history }).map_err(unreadable)
}

/// `POST /api/admin/hr-deliveries/{id}/retry`: makes a delivery due now. The delivery keeps its id, and its retry
/// schedule begins again.
///
/// # Errors
/// `not_found` if the delivery does not exist; `conflict` if the HR system has accepted the delivery, or if something
/// holds the delivery ([`HeldBy`]).
fn retry_delivery(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &DeliveryId) -> Result<Reply, Error> {
    store::outbox::take_in_all(tx)?;
    let delivery = store::hr_delivery::find(tx, id)?.ok_or(NO_DELIVERY)?;
    delivery.facts.require_retry()?;
    store::hr_delivery::send_again(tx, delivery.number)?;
    let delivery = store::hr_delivery::find(tx, id)?.ok_or(NO_DELIVERY)?;
    Ok(envelope::with_data(wire(&delivery)))
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

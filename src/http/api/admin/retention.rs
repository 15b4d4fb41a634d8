//! `/api/admin/organizations/{id}/retention`: admins see how many candidates are due and why retention waits. They
//! confirm the number of due candidates, the clock, or both.

use std::time::Duration;

use hyper::Method;
use serde::Serialize;

use crate::domain::clock::TOLERANCE;
use crate::domain::id::OrganizationId;
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Admin;
use crate::http::api::envelope;
use crate::http::api::existing::{self, ORGANIZATION_ABSENT};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::erasure::retention::{self, RetentionConfirmation};
use crate::store::{self, Error, Grade, Tx};

/// The largest `dueCount` that is accepted, which is more than the number of candidates in any database.
const DUE_MAX: i64 = 1_000_000_000;

pub(in crate::http) fn routes() -> Vec<Route> {
    let retention = "/api/admin/organizations/{id}/retention";
    let confirm = "/api/admin/organizations/{id}/retention/confirm";
    vec![
        Route::admin(Method::GET, retention, decode_id, get).answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::POST, confirm, decode_confirmation, confirm_retention)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (400, "validation_error"), (404, "not_found"), (409, "conflict")]),
    ]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    Ok(request.id_param("id", ORGANIZATION_ABSENT)?)
}

/// `GET /api/admin/organizations/{id}/retention`: the state of retention, for example the number of due candidates and
/// the reason why retention waits, if it does.
///
/// # Errors
/// `not_found` if the organization does not exist.
fn get(ctx: &Ctx, tx: &Tx<'_>, _: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    retention_reply(ctx, tx, id)
}

/// An admin's confirmation of the number of due candidates, the clock, or both.
struct ConfirmationInput {
    organization_id: OrganizationId,
    due_count: Option<i64>,
    clock: Option<Timestamp>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` if the body confirms nothing or has invalid
/// fields; `not_found` if the path has no valid id.
fn decode_confirmation(_: &Ctx, request: &Request) -> Result<ConfirmationInput, Error> {
    let mut fields = request.object()?;
    let due_count = fields.integer("dueCount", 0..=DUE_MAX);
    let clock = fields.timestamp("clock");
    fields.valid()?;
    if due_count.is_none() && clock.is_none() {
        let required = "is required if clock is missing; send the number of due candidates, the current time, or both";
        return Err(Refusal::invalid("dueCount", required).into());
    }
    Ok(ConfirmationInput { organization_id: request.id_param("id", ORGANIZATION_ABSENT)?, due_count, clock })
}

/// `POST /api/admin/organizations/{id}/retention/confirm`: permits the erasure of all due candidates, declares the
/// clock correct, or both.
///
/// # Errors
/// `not_found` if the organization does not exist; `conflict` if a different number of candidates is due, or the
/// admin's time and the machine's time differ by more than [`TOLERANCE`].
fn confirm_retention(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &ConfirmationInput) -> Result<Reply, Error> {
    let id = &input.organization_id;
    existing::require_organization(tx, id)?;
    if let Some(clock) = input.clock {
        require_same_time(clock, tx.now)?;
    }
    let stamp = store::activity::stamp(&*ctx.world);
    let confirmation = RetentionConfirmation { due: input.due_count, clock: input.clock.is_some() };
    retention::confirm(tx, &*ctx.world, &stamp, Some(admin.principal()), id, confirmation)?;
    retention_reply(ctx, tx, id)
}

/// # Errors
/// `conflict` if the admin's time and the machine's time differ by more than [`TOLERANCE`].
fn require_same_time(admin_time: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    let difference: Duration = admin_time.since(now).max(now.since(admin_time));
    if difference <= TOLERANCE {
        return Ok(());
    }
    Err(Refusal::ConflictWith(format!(
        "the clock of this machine shows {now}, which differs from the given time by more than a minute; set the \
         machine's clock first"
    )))
}

/// Answers with the current state of an organization's retention.
fn retention_reply(ctx: &Ctx, tx: &Tx<'_>, id: &OrganizationId) -> Result<Reply, Error> {
    let state = retention::state(tx, &*ctx.world, id)?.ok_or(ORGANIZATION_ABSENT)?;
    let reading = ctx.store.clock().read();
    let waits_for = match (state.days, reading.doubt()) {
        (None, _) => None,
        (Some(_), Some(doubt)) => Some(doubt.as_str()),
        (Some(_), None) => (state.waiting > 0).then_some("confirmation"),
    };
    Ok(envelope::with_data(WireRetention {
        retention_days: state.days,
        due_count: state.due,
        due_since: state.due_since.map(|at| at.to_string()),
        waiting_count: state.waiting,
        waits_for,
        clock: WireClock {
            now: reading.wall.to_string(),
            expected: reading.believed.to_string(),
            wait_seconds: reading.wait().as_secs(),
        },
        last_run_at: ctx.store.retention().last().map(|run| run.at.to_string()),
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRetention {
    retention_days: Option<i64>,
    due_count: i64,
    due_since: Option<String>,
    waiting_count: i64,
    waits_for: Option<&'static str>,
    clock: WireClock,
    last_run_at: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireClock {
    now: String,
    expected: String,
    wait_seconds: u64,
}

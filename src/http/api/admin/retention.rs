//! `/api/admin/organizations/{id}/retention`: admins see whom the retention is about to erase and what it waits for, and
//! confirm it.

use std::time::Duration;

use hyper::Method;
use serde::Serialize;

use super::{NO_ORGANIZATION, READS};
use crate::domain::clock::TOLERANCE;
use crate::domain::id::{Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Admin;
use crate::http::api::api_key::WireData;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::erasure::retention::{self, RetentionConfirmation};
use crate::store::{self, Error, Grade, Tx};

/// The most candidates that a confirmation can name: more than a file holds.
const DUE_MAX: i64 = 1_000_000_000;

pub(in crate::http) fn routes() -> Vec<Route> {
    let retention = "/api/admin/organizations/{id}/retention";
    let confirm = "/api/admin/organizations/{id}/retention/confirm";
    vec![
        Route::admin(Method::GET, retention, decode_id, read).answering(READS),
        Route::admin(Method::POST, confirm, decode_confirmation, confirm_it)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[
                (200, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (404, "not_found"),
                (409, "conflict"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ]),
    ]
}

/// The organization that a path names; an id that none can have names nothing.
///
/// # Errors
/// `not_found`.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    OrganizationId::parse(request.param("id")).ok_or(Error::Refused(NO_ORGANIZATION))
}

/// `GET …/retention`: how many are due since when, and what the retention waits for.
///
/// # Errors
/// `not_found` where there is no such organization.
fn read(ctx: &Ctx, tx: &Tx<'_>, _: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    found(ctx, tx, id)
}

/// What an admin confirms: at least one of both.
struct Word {
    organization_id: Option<OrganizationId>,
    due: Option<i64>,
    clock: Option<Timestamp>,
}

/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for one that confirms nothing, or a field that is not
/// what it must be.
fn decode_confirmation(_: &Ctx, request: &Request) -> Result<Word, Error> {
    let mut fields = request.object()?;
    let due = fields.integer("dueCount", 0..=DUE_MAX);
    let clock = fields.timestamp("clock");
    fields.valid()?;
    if due.is_none() && clock.is_none() {
        let what = "is required, or clock: say how many are due, or what time it is";
        return Err(Refusal::invalid("dueCount", what).into());
    }
    Ok(Word { organization_id: OrganizationId::parse(request.param("id")), due, clock })
}

/// `POST …/retention/confirm`: lets the retention erase everybody who is due, as many as the admin has seen, or lets it go by
/// the clock from now on, where the admin says the same time.
///
/// # Errors
/// `not_found` where there is no such organization; `conflict` where another number is due, or the service has another time.
fn confirm_it(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, word: &Word) -> Result<Reply, Error> {
    let id = word.organization_id.as_ref().ok_or(NO_ORGANIZATION)?;
    if !store::organization::exists(tx, id)? {
        return Err(NO_ORGANIZATION.into());
    }
    if let Some(clock) = word.clock {
        require_same_time(clock, tx.now)?;
    }
    let stamp = store::activity::stamp(&*ctx.world);
    let confirmation = RetentionConfirmation { due: word.due, clock: word.clock.is_some() };
    retention::confirm(tx, &*ctx.world, &stamp, Some(who.principal()), id, confirmation)?;
    found(ctx, tx, id)
}

/// An admin who names another time than the service has does not confirm its clock.
fn require_same_time(said: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    let apart: Duration = said.since(now).max(now.since(said));
    if apart <= TOLERANCE {
        return Ok(());
    }
    Err(Refusal::ConflictWith(format!(
        "the clock of this machine says {now}, more than a minute from the time given; set the machine's clock first"
    )))
}

fn found(ctx: &Ctx, tx: &Tx<'_>, id: &OrganizationId) -> Result<Reply, Error> {
    let state = retention::state(tx, &*ctx.world, id)?.ok_or(NO_ORGANIZATION)?;
    let reading = ctx.store.clock().read();
    let waits_for = match (state.days, reading.doubt()) {
        (None, _) => None,
        (Some(_), Some(doubt)) => Some(doubt.as_str()),
        (Some(_), None) => (state.waiting > 0).then_some("confirmation"),
    };
    let data = WireRetention {
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
    };
    Ok(Reply::json(&WireData { success: true, data }))
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

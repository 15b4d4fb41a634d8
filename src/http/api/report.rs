//! `GET /api/v1/roles/{id}/report`: what a role's recruiting came to.

use std::collections::HashMap;
use std::time::Duration;

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use super::status::WireApplications;
use crate::domain::api_key::Scope;
use crate::domain::candidate_step::StepStatus;
use crate::domain::id::{Id, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::report::{self, ApplicationCounts, Endings, TimeToHire};
use crate::domain::user::Principal;
use crate::http::api::resource::ROLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::board::BoardStep;
use crate::store::{self, Error, Tx};

const NO_ROLE: Refusal = Refusal::NotFound("there is no such role, or this key may not see it");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/roles/{id}/report";
    vec![Route::scoped(ROLE, Scope::RolesRead, Method::GET, path, decode, report).answering(&[
        (200, ""),
        (401, "unauthorized"),
        (403, "insufficient_scope"),
        (404, "not_found"),
        (429, "rate_limited"),
    ])]
}

/// The role that a path names; an id that none can have names nothing.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode(_: &Ctx, request: &Request) -> Result<Option<RoleId>, Error> {
    Ok(RoleId::parse(request.param("id")))
}

/// `GET /api/v1/roles/{id}/report`: a role's applications by what became of them, how far they came, how long hires took,
/// and who ended those that led to none.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it.
fn report(_: &Ctx, tx: &Tx<'_>, who: &Principal, role: &Option<RoleId>) -> Result<Reply, Error> {
    let role = role.as_ref().ok_or(NO_ROLE)?;
    let (organization, _) = store::access::to_role(tx, who, role)?.ok_or(NO_ROLE)?;
    let applications = store::board::applications(tx, &organization, role)?;
    let steps = store::board::steps(tx, &organization, role)?;
    let here = store::board::counts(tx, &organization, role)?;
    let records = store::report::steps(tx, &organization, role)?;
    let hires = store::report::hires(tx, &organization, role)?;
    let endings = report::endings(store::report::endings(tx, &organization, role)?);
    let data = WireReport {
        role_id: role.as_str(),
        total: applications.total(),
        funnel: funnel(&steps, &here, &records),
        time_to_hire: wire_time(hires.len(), report::time_to_hire(&hires)),
        ended_by: wire_endings(&endings, applications),
        applications: applications.into(),
    };
    Ok(Reply::json(&WireData { success: true, data }))
}

/// How many came how far: the steps in their order, and behind them those that were removed, where an application has
/// them.
///
/// An application has `reached` a step whose record is no longer `pending` and not `skipped`; it is `inProgress` where the
/// candidate is there now and the application goes on, as the board has it. Whoever withdrew, or was rejected at another
/// step, has reached the step that they were at, and is nothing else there.
fn funnel<'a>(
    steps: &'a [BoardStep],
    here: &[(RoleStepId, i64)],
    records: &[(RoleStepId, StepStatus, i64)],
) -> Vec<WireFunnelStep<'a>> {
    let mut by_step = HashMap::<&RoleStepId, [i64; StepStatus::WORDS.len()]>::new();
    for (step, status, count) in records {
        by_step.entry(step).or_default()[*status as usize] += count;
    }
    let is_shown = |step: &&BoardStep| step.order.is_some() || by_step.contains_key(&step.id);
    let told = steps.iter().filter(is_shown).map(|step| {
        let counts = by_step.get(&step.id).copied().unwrap_or_default();
        let of = |status: StepStatus| counts[status as usize];
        WireFunnelStep {
            step_id: step.id.as_str(),
            name: &step.name,
            order: step.order,
            step_type: step.step_type.as_str(),
            removed: step.order.is_none(),
            reached: of(StepStatus::InProgress) + of(StepStatus::Validated) + of(StepStatus::Rejected),
            in_progress: here.iter().find(|(id, _)| *id == step.id).map_or(0, |(_, count)| *count),
            validated: of(StepStatus::Validated),
            rejected: of(StepStatus::Rejected),
            skipped: of(StepStatus::Skipped),
        }
    });
    told.collect()
}

fn wire_time(hires: usize, time: Option<TimeToHire>) -> WireTimeToHire {
    WireTimeToHire {
        hires,
        median: time.map(|time| wire_duration(time.median)),
        mean: time.map(|time| wire_duration(time.mean)),
        fastest: time.map(|time| wire_duration(time.fastest)),
        slowest: time.map(|time| wire_duration(time.slowest)),
    }
}

/// Whole seconds, and days to the hundredth.
fn wire_duration(duration: Duration) -> WireDuration {
    WireDuration { seconds: duration.as_secs(), days: (duration.as_secs_f64() / 864.0).round() / 100.0 }
}

fn wire_endings(endings: &Endings, applications: ApplicationCounts) -> WireEndings<'_> {
    WireEndings {
        outcome_types: endings.outcome_types.iter().map(wire_ending).collect(),
        further: endings.further,
        unspecified: endings.unspecified,
        withdrawn: applications.withdrawn,
    }
}

fn wire_ending((outcome_type, applications): &(String, i64)) -> WireEnding<'_> {
    WireEnding { outcome_type, applications: *applications }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireReport<'a> {
    role_id: &'a str,
    total: i64,
    applications: WireApplications,
    funnel: Vec<WireFunnelStep<'a>>,
    time_to_hire: WireTimeToHire,
    ended_by: WireEndings<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireFunnelStep<'a> {
    step_id: &'a str,
    name: &'a str,
    order: Option<i64>,
    step_type: &'static str,
    removed: bool,
    reached: i64,
    in_progress: i64,
    validated: i64,
    rejected: i64,
    skipped: i64,
}

#[derive(Serialize)]
struct WireTimeToHire {
    hires: usize,
    median: Option<WireDuration>,
    mean: Option<WireDuration>,
    fastest: Option<WireDuration>,
    slowest: Option<WireDuration>,
}

#[derive(Serialize)]
struct WireDuration {
    seconds: u64,
    days: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireEndings<'a> {
    outcome_types: Vec<WireEnding<'a>>,
    further: i64,
    unspecified: i64,
    withdrawn: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireEnding<'a> {
    outcome_type: &'a str,
    applications: i64,
}

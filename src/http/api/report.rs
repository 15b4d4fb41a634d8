//! `GET /api/v1/roles/{id}/report`: a summary of the applications to a role.

use std::collections::HashMap;
use std::time::Duration;

use hyper::Method;
use serde::Serialize;

use super::organization_status::WireApplicationCounts;
use crate::domain::api_key::Scope;
use crate::domain::candidate_step::StepStatus;
use crate::domain::id::{RoleId, RoleStepId};
use crate::domain::report::{self, ApplicationCounts, Endings, TimeToHire};
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::ROLE;
use crate::http::api::visible::{self, ROLE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::board::BoardStep;
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/roles/{id}/report";
    let route = Route::scoped(ROLE, Scope::RolesRead, Method::GET, path, decode, report);
    vec![route.answering(&[(200, ""), (404, "not_found")])]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<RoleId, Error> {
    Ok(request.id_param("id", ROLE_NOT_VISIBLE)?)
}

/// `GET /api/v1/roles/{id}/report`: returns a role's applications by status, the funnel, the time to hire, and, for
/// applications that ended without a hire, who ended them.
///
/// # Errors
/// `not_found` if the role does not exist or the caller may not see it.
fn report(_: &Ctx, tx: &Tx<'_>, caller: &Principal, role: &RoleId) -> Result<Reply, Error> {
    let (organization, _) = visible::role(tx, caller, role)?;
    let applications = store::board::applications(tx, &organization, role)?;
    let steps = store::board::steps(tx, &organization, role)?;
    let in_progress = store::board::counts(tx, &organization, role)?;
    let records = store::report::steps(tx, &organization, role)?;
    let hires = store::report::hires(tx, &organization, role)?;
    let endings = report::endings(store::report::endings(tx, &organization, role)?);
    Ok(envelope::with_data(WireReport {
        role_id: role.as_str(),
        total: applications.total(),
        funnel: funnel(&steps, &in_progress, &records),
        time_to_hire: wire_time(hires.len(), report::time_to_hire(&hires)),
        ended_by: wire_endings(&endings, applications),
        applications: applications.into(),
    }))
}

/// Counts the applications at each step. The steps are in order, followed by the removed steps that applications still
/// have.
///
/// An application has `reached` a step whose status is neither `pending` nor `skipped`. It is `inProgress` at the step
/// where the board shows its candidate. If an application was withdrawn, or was rejected at a step other than the one
/// where its candidate was, then the candidate's step counts it only as `reached`.
fn funnel<'a>(
    steps: &'a [BoardStep],
    in_progress: &[(RoleStepId, i64)],
    records: &[(RoleStepId, StepStatus, i64)],
) -> Vec<WireFunnelStep<'a>> {
    let mut by_step = HashMap::<&RoleStepId, [i64; StepStatus::WORDS.len()]>::new();
    for (step, status, count) in records {
        by_step.entry(step).or_default()[*status as usize] += count;
    }
    let is_shown = |step: &&BoardStep| step.order.is_some() || by_step.contains_key(&step.id);
    let funnel = steps.iter().filter(is_shown).map(|step| {
        let counts = by_step.get(&step.id).copied().unwrap_or_default();
        let count_of = |status: StepStatus| counts[status as usize];
        WireFunnelStep {
            step_id: step.id.as_str(),
            name: &step.name,
            order: step.order,
            step_type: step.step_type.as_str(),
            removed: step.order.is_none(),
            reached: count_of(StepStatus::InProgress)
                + count_of(StepStatus::Validated)
                + count_of(StepStatus::Rejected),
            in_progress: in_progress.iter().find(|(id, _)| *id == step.id).map_or(0, |(_, count)| *count),
            validated: count_of(StepStatus::Validated),
            rejected: count_of(StepStatus::Rejected),
            skipped: count_of(StepStatus::Skipped),
        }
    });
    funnel.collect()
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

/// Converts a duration to whole seconds, and to days rounded to hundredths.
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
    applications: WireApplicationCounts,
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

//! `POST /api/v1/candidate-roles/{id}/transfer`: staff transfer a candidate from the pipeline of one role to that of
//! another.
//!
//! The application that the candidate leaves becomes `Withdrawn`, and the new one begins at the first step of the other
//! role. Each of the two applications gets an activity row. A dry run (`dryRun=true`) performs all checks against
//! a snapshot, but saves nothing.

use hyper::Method;
use serde::Serialize;

use super::candidate::find::NO_ROLE;
use crate::domain::api_key::Scope;
use crate::domain::candidate::{self, StepTemplate};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, NOTES_CHARACTERS_MAX};
use crate::domain::id::{ApplicationId, Id, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::APPLICATION;
use crate::http::api::visible::{self, APPLICATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::application::{ApplicationRecord, recorded_act};
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidate-roles/{id}/transfer";
    let transfer = Route::scoped(APPLICATION, Scope::PipelineWrite, Method::POST, path, decode, transfer);
    vec![transfer.with_body().writes(Grade::Durable).with_dry_run().answering(&[
        (200, ""),
        (400, "validation_error"),
        (403, "forbidden"),
        (404, "not_found"),
        (409, "conflict"),
    ])]
}

struct TransferInput {
    application: ApplicationId,
    /// The role's id, or `None` if the string is not a valid id. In that case, the role does not exist.
    role: Option<RoleId>,
    reason: Option<String>,
    is_dry_run: bool,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field, including a
/// `dryRun` that is neither `true` nor `false`; `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<TransferInput, Error> {
    let mut fields = request.object()?;
    let role = fields.required_string("roleId");
    let reason = fields.lines("reason", NOTES_CHARACTERS_MAX);
    let ((), is_dry_run) = Refusal::both(fields.valid(), request.is_dry_run())?;
    let role = role.and_then(|id| RoleId::parse(&id));
    Ok(TransferInput { application: request.id_param("id", APPLICATION_NOT_VISIBLE)?, role, reason, is_dry_run })
}

/// `POST /api/v1/candidate-roles/{id}/transfer`: transfers the candidate of an application in progress to another role
/// of the organization.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it, or if its organization has no such role;
/// `forbidden` for a plain member; `conflict` if the application has ended, the candidate was erased or is under a
/// legal hold, the other role is not open or has no steps, or the candidate has already applied to it.
fn transfer(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &TransferInput) -> Result<Reply, Error> {
    let id = &input.application;
    let (organization, roles) = visible::application(tx, caller, id)?;
    let left = store::application::find(tx, &organization, id)?.ok_or(APPLICATION_NOT_VISIBLE)?;
    let role = input.role.as_ref().ok_or(NO_ROLE)?;
    let seats = store::role::seats(tx, &organization, role)?.ok_or(NO_ROLE)?;
    roles.require_manager()?;
    let person = store::candidate::find(tx, &organization, &left.candidate_id)?.ok_or(APPLICATION_NOT_VISIBLE)?;
    let is_same_role = left.role_id == *role;
    candidate::require_transferable(left.record.status, person.is_erased, person.is_held, is_same_role)?;
    let has_applied = store::application::has_applied(tx, &organization, &person.id, role)?;
    let pipeline = store::role_step::of_role(tx, role)?;
    candidate::require_addable(seats.status, pipeline.len(), person.is_erased, has_applied)?;
    let templates =
        pipeline.into_iter().map(|step| StepTemplate { id: step.id, name: step.name, step_type: step.step_type });
    let steps = candidate::first_steps(templates.collect(), || ctx.world.id());
    let joined = ApplicationRecord {
        id: ctx.world.id(),
        status: ApplicationStatus::InProgress,
        applied_at: tx.now,
        hire: None,
        later_due_on: None,
    };
    if !input.is_dry_run {
        let stamp = || store::activity::stamp(&*ctx.world);
        recorded_act::withdraw(tx, Some(caller), &organization, &left, input.reason.as_deref(), &stamp())?;
        recorded_act::add(tx, Some(caller), &person, role, &joined, &steps, &stamp())?;
    }
    let wire = WireTransfer {
        success: true,
        dry_run: input.is_dry_run,
        data: WireTransferred {
            candidate_id: person.id.as_str(),
            left: WireLeft {
                candidate_role_id: id.as_str(),
                role_id: left.role_id.as_str(),
                status: ApplicationStatus::Withdrawn.as_str(),
            },
            joined: WireJoined {
                candidate_role_id: Some(joined.id.as_str()).filter(|_| !input.is_dry_run),
                role_id: role.as_str(),
                status: joined.status.as_str(),
                step: steps.first().map(WireFirstStep::new),
            },
        },
    };
    Ok(Reply::json(&wire).about(person.id.clone()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTransfer<'a> {
    success: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    data: WireTransferred<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTransferred<'a> {
    candidate_id: &'a str,
    left: WireLeft<'a>,
    joined: WireJoined<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireLeft<'a> {
    candidate_role_id: &'a str,
    role_id: &'a str,
    status: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireJoined<'a> {
    /// Null in a dry run.
    candidate_role_id: Option<&'a str>,
    role_id: &'a str,
    status: &'static str,
    /// The first step. The rule refuses roles without steps.
    step: Option<WireFirstStep<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireFirstStep<'a> {
    role_step_id: &'a str,
    name: &'a str,
    step_type: &'static str,
}

impl<'a> WireFirstStep<'a> {
    fn new(step: &'a CandidateStep) -> Self {
        Self { role_step_id: step.role_step_id.as_str(), name: &step.name, step_type: step.step_type.as_str() }
    }
}

//! `POST /api/v1/organizations/{id}/candidates`: staff add a candidate to a role.

use super::find::{NO_ROLE, candidate_reply};
use crate::domain::candidate::{self, StepTemplate};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::Privacy;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::api::decode::required_email;
use crate::http::api::visible::{self, ORGANIZATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::application::recorded_act as application_act;
use crate::store::candidate::{CandidateRecord, recorded_act as candidate_act};
use crate::store::{self, Error, Tx};

pub(super) struct CandidateAddInput {
    organization: OrganizationId,
    name: String,
    email: Email,
    /// The role's id, or `None` if the string is not a valid id. In that case, the role does not exist.
    role_id: Option<RoleId>,
    applied_at: Option<Timestamp>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; `not_found` if
/// the path has no valid organization id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CandidateAddInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let email = required_email(&mut fields);
    let role_id = fields.required_string("roleId");
    let applied_at = fields.timestamp("appliedAt");
    let email = fields.valid_with(email)?;
    let role_id = role_id.and_then(|id| RoleId::parse(&id));
    let organization = request.id_param("id", ORGANIZATION_NOT_VISIBLE)?;
    Ok(CandidateAddInput { organization, name: name.unwrap_or_default(), email, role_id, applied_at })
}

/// `POST /api/v1/organizations/{id}/candidates`: adds a candidate to a role. If the organization already has a
/// candidate with this address, that candidate gets the application and keeps their name.
///
/// # Errors
/// `not_found` if the organization does not exist, the caller may not see it, or it has no such role; `forbidden` for a
/// plain member; `conflict` if the role is not open or has no steps, or if the candidate was erased or has already
/// applied to the role.
pub(super) fn add(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &CandidateAddInput) -> Result<Reply, Error> {
    let organization = &input.organization;
    let roles = visible::organization(tx, caller, organization)?;
    let role = input.role_id.as_ref().ok_or(NO_ROLE)?;
    let seats = store::role::seats(tx, organization, role)?.ok_or(NO_ROLE)?;
    roles.require_manager()?;
    let existing = store::candidate::with_email(tx, organization, &input.email)?;
    let has_applied = match &existing {
        Some(candidate) => store::application::has_applied(tx, organization, &candidate.id, role)?,
        None => false,
    };
    let role_steps = store::role_step::of_role(tx, role)?;
    let is_erased = existing.as_ref().is_some_and(|candidate| candidate.is_erased);
    candidate::require_addable(seats.status, role_steps.len(), is_erased, has_applied)?;
    let stamp = || store::activity::stamp(&*ctx.world);
    let candidate = match existing {
        Some(candidate) => candidate,
        None => {
            let record = CandidateRecord {
                id: ctx.world.id(),
                name: input.name.clone(),
                email: input.email.clone(),
                privacy: Privacy::default(),
            };
            candidate_act::add(tx, Some(caller), organization, &record, &stamp())?
        }
    };
    let templates =
        role_steps.into_iter().map(|step| StepTemplate { id: step.id, name: step.name, step_type: step.step_type });
    let steps = candidate::first_steps(templates.collect(), || ctx.world.id());
    let application = store::application::ApplicationRecord {
        id: ctx.world.id(),
        status: ApplicationStatus::InProgress,
        applied_at: input.applied_at.unwrap_or(tx.now),
        hire: None,
        later_due_on: None,
    };
    application_act::add(tx, Some(caller), &candidate, role, &application, &steps, &stamp())?;
    candidate_reply(tx, candidate)
}

//! `POST /api/v1/organizations/{id}/candidates`.

use super::find::{NO_ROLE, email, in_full_reply, organization};
use crate::domain::candidate::{self, StepTemplate};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::Privacy;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::application::recorded_act as application_act;
use crate::store::candidate::{CandidateRecord, recorded_act as candidate_act};
use crate::store::{self, Error, Tx};

pub(super) struct CandidateAddInput {
    organization: Option<OrganizationId>,
    name: String,
    email: Email,
    role_id: Option<RoleId>,
    applied_at: Option<Timestamp>,
}

/// Who is to be added to which role. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `name`, `email` or `roleId`, for an
/// `email` that is none, an `appliedAt` that is no moment, or a `name` that is too long.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CandidateAddInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let address = fields.required_string("email");
    let address = email(&mut fields, address);
    let role_id = fields.required_string("roleId");
    let applied_at = fields.timestamp("appliedAt");
    let email = fields.valid_with(address)?;
    // An id that none can have is an unknown role, not a fault of form.
    let role_id = role_id.and_then(|id| RoleId::parse(&id));
    let organization = OrganizationId::parse(request.param("id"));
    Ok(CandidateAddInput { organization, name: name.unwrap_or_default(), email, role_id, applied_at })
}

/// `POST /api/v1/organizations/{id}/candidates`: adds someone to a role by hand. Who has the same address in the
/// organization is the same candidate, whose name stays.
///
/// # Errors
/// `not_found` where there is no such organization or, in it, no such role; `forbidden` for a plain member; `conflict`
/// where the role is not open or has no steps, or the candidate has applied to it.
pub(super) fn add(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CandidateAddInput) -> Result<Reply, Error> {
    let (organization, standing) = organization(tx, who, input.organization.as_ref())?;
    let role = input.role_id.as_ref().ok_or(NO_ROLE)?;
    let seats = store::role::seats(tx, organization, role)?.ok_or(NO_ROLE)?;
    standing.require_manager()?;
    let known = store::candidate::with_email(tx, organization, &input.email)?;
    let has_applied = match &known {
        Some(candidate) => store::application::has_applied(tx, organization, &candidate.id, role)?,
        None => false,
    };
    let role_steps = store::role_step::of_role(tx, role)?;
    let is_erased = known.as_ref().is_some_and(|candidate| candidate.is_erased);
    candidate::require_addable(seats.status, role_steps.len(), is_erased, has_applied)?;
    let stamp = || store::activity::stamp(&*ctx.world);
    let candidate = match known {
        Some(candidate) => candidate,
        None => {
            let record = CandidateRecord {
                id: ctx.world.id(),
                name: input.name.clone(),
                email: input.email.clone(),
                privacy: Privacy::default(),
            };
            candidate_act::add(tx, Some(who), organization, &record, &stamp())?
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
    };
    application_act::add(tx, Some(who), &candidate, role, &application, &steps, &stamp())?;
    in_full_reply(tx, candidate)
}

//! `PATCH /api/v1/candidates/{id}`: staff change a candidate's name or address.

use super::find::{candidate_reply, find};
use crate::domain::candidate;
use crate::domain::id::CandidateId;
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::user::Principal;
use crate::http::api::decode;
use crate::http::api::visible::CANDIDATE_NOT_VISIBLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::candidate::recorded_act;
use crate::store::{self, Error, Tx};

pub(super) struct CandidateChangeInput {
    id: CandidateId,
    name: Option<String>,
    email: Option<Email>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; `not_found` if
/// the path has no valid id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CandidateChangeInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let email = decode::email(&mut fields);
    fields.valid()?;
    Ok(CandidateChangeInput { id: request.id_param("id", CANDIDATE_NOT_VISIBLE)?, name, email })
}

/// `PATCH /api/v1/candidates/{id}`: changes the fields that the body contains.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them; `forbidden` for a plain member;
/// `conflict` if the candidate was erased, or if another candidate has the address.
pub(super) fn change(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &CandidateChangeInput) -> Result<Reply, Error> {
    let (before, roles) = find(tx, caller, &input.id)?;
    roles.require_manager()?;
    let owner = match &input.email {
        Some(email) => store::candidate::with_email(tx, &before.organization_id, email)?,
        None => None,
    };
    candidate::require_changeable(before.is_erased, owner.is_some_and(|owner| owner.id != before.id))?;
    let (name, email) = (input.name.as_deref(), input.email.as_ref());
    let after = recorded_act::change(tx, caller, before, name, email, &store::activity::stamp(&*ctx.world))?;
    candidate_reply(tx, after)
}

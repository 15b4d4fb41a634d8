//! `PATCH /api/v1/candidates/{id}`.

use super::find::{email, find, in_full_reply};
use crate::domain::candidate;
use crate::domain::id::{CandidateId, Id};
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::user::Principal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::candidate::recorded_act;
use crate::store::{self, Error, Tx};

pub(super) struct CandidateChangeInput {
    id: Option<CandidateId>,
    name: Option<String>,
    email: Option<Email>,
}

/// What is to be changed. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for an `email` that is none, or a `name` that is
/// blank or too long.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CandidateChangeInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let address = fields.string("email");
    let email = email(&mut fields, address);
    fields.valid()?;
    Ok(CandidateChangeInput { id: CandidateId::parse(request.param("id")), name, email })
}

/// `PATCH /api/v1/candidates/{id}`: another name or address. What stays as it is is no change.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them; `forbidden` for a plain member;
/// `conflict` where they were erased, or the address is another candidate's.
pub(super) fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CandidateChangeInput) -> Result<Reply, Error> {
    let (before, standing) = find(tx, who, input.id.as_ref())?;
    standing.require_manager()?;
    let owner = match &input.email {
        Some(email) => store::candidate::with_email(tx, &before.organization_id, email)?,
        None => None,
    };
    candidate::require_changeable(before.is_erased, owner.is_some_and(|owner| owner.id != before.id))?;
    let (name, email) = (input.name.as_deref(), input.email.as_ref());
    let after = recorded_act::change(tx, who, before, name, email, &store::activity::stamp(&*ctx.world))?;
    in_full_reply(tx, after)
}

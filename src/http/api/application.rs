//! `POST /api/v1/candidate-roles/{id}/withdraw`: a candidate takes an application back.

use hyper::Method;

use super::api_key::WireData;
use super::candidate::WRITES;
use super::candidate::wire::WireApplicationInFull;
use crate::domain::api_key::Scope;
use crate::domain::candidate;
use crate::domain::candidate_step::NOTES_CHARACTERS_MAX;
use crate::domain::id::{ApplicationId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::APPLICATION;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::application::recorded_act;
use crate::store::{self, Error, Grade, Tx};

const NO_APPLICATION: Refusal = Refusal::NotFound("there is no such application, or this key may not see it");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidate-roles/{id}/withdraw";
    let withdraw = Route::scoped(APPLICATION, Scope::PipelineWrite, Method::POST, path, decode, withdraw);
    vec![withdraw.with_body().writes(Grade::Durable).answering(WRITES)]
}

struct WithdrawInput {
    id: Option<ApplicationId>,
    reason: Option<String>,
}

/// `…/withdraw`: the reason is optional, and is kept with what was done.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for a `reason` that is no text, or too long.
fn decode(_: &Ctx, request: &Request) -> Result<WithdrawInput, Error> {
    let mut fields = request.object()?;
    let reason = fields.lines("reason", NOTES_CHARACTERS_MAX);
    fields.valid()?;
    Ok(WithdrawInput { id: ApplicationId::parse(request.param("id")), reason })
}

/// `POST /api/v1/candidate-roles/{id}/withdraw`: ends an application that is in progress; its steps stay as they are.
///
/// # Errors
/// `not_found` where there is no such application, or the caller may not see it; `forbidden` for a plain member;
/// `conflict` where it has ended.
fn withdraw(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &WithdrawInput) -> Result<Reply, Error> {
    let id = input.id.as_ref().ok_or(NO_APPLICATION)?;
    let (organization, standing) = store::access::to_application(tx, who, id)?.ok_or(NO_APPLICATION)?;
    let before = store::application::find(tx, &organization, id)?.ok_or(NO_APPLICATION)?;
    standing.require_manager()?;
    candidate::require_withdrawable(before.record.status)?;
    let stamp = store::activity::stamp(&*ctx.world);
    recorded_act::withdraw(tx, Some(who), &organization, &before, input.reason.as_deref(), &stamp)?;
    let after = store::application::find(tx, &organization, id)?.ok_or(NO_APPLICATION)?;
    let steps = store::candidate_step::of_application(tx, id)?;
    let after = (after, steps, store::signup::all_of_application(tx, id)?);
    let data = WireApplicationInFull::of(&after);
    Ok(Reply::json(&WireData { success: true, data }).about(before.candidate_id))
}

//! `POST /api/v1/candidate-roles/{id}/withdraw`: staff withdraw an application at the candidate's request.

use hyper::Method;

use super::candidate::CHANGE_ANSWERS;
use super::candidate::wire::{ApplicationInFull, WireApplicationInFull};
use crate::domain::api_key::Scope;
use crate::domain::candidate;
use crate::domain::candidate_step::NOTES_CHARACTERS_MAX;
use crate::domain::id::ApplicationId;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::APPLICATION;
use crate::http::api::visible::{self, APPLICATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::application::recorded_act;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidate-roles/{id}/withdraw";
    let withdraw = Route::scoped(APPLICATION, Scope::PipelineWrite, Method::POST, path, decode, withdraw);
    vec![withdraw.with_body().writes(Grade::Durable).answering(CHANGE_ANSWERS)]
}

struct WithdrawInput {
    id: ApplicationId,
    reason: Option<String>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for an invalid `reason`; `not_found` if the
/// path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<WithdrawInput, Error> {
    let mut fields = request.object()?;
    let reason = fields.lines("reason", NOTES_CHARACTERS_MAX);
    fields.valid()?;
    Ok(WithdrawInput { id: request.id_param("id", APPLICATION_NOT_VISIBLE)?, reason })
}

/// `POST /api/v1/candidate-roles/{id}/withdraw`: ends an application that is in progress. Its steps do not change. The
/// activity row records the reason.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member;
/// `conflict` if the application has ended.
fn withdraw(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &WithdrawInput) -> Result<Reply, Error> {
    let id = &input.id;
    let (organization, roles) = visible::application(tx, caller, id)?;
    let before = store::application::find(tx, &organization, id)?.ok_or(APPLICATION_NOT_VISIBLE)?;
    roles.require_manager()?;
    candidate::require_withdrawable(before.record.status)?;
    let stamp = store::activity::stamp(&*ctx.world);
    recorded_act::withdraw(tx, Some(caller), &organization, &before, input.reason.as_deref(), &stamp)?;
    let after = ApplicationInFull {
        application: store::application::find(tx, &organization, id)?.ok_or(APPLICATION_NOT_VISIBLE)?,
        steps: store::candidate_step::of_application(tx, id)?,
        signups: store::signup::all_of_application(tx, id)?,
    };
    Ok(envelope::with_data(WireApplicationInFull::new(&after)).about(before.candidate_id))
}

//! `PUT` and `DELETE /api/v1/candidate-roles/{id}/later`: staff put an application aside until a due day, or take it up
//! again before that day.

use hyper::Method;

use super::candidate::CHANGE_ANSWERS;
use super::candidate::wire::{ApplicationInFull, WireApplicationInFull};
use crate::domain::api_key::Scope;
use crate::domain::due_day::{DUE_DAY_MUST_BE, DueDay};
use crate::domain::id::{ApplicationId, OrganizationId};
use crate::domain::later::{self, DAYS_MAX, LaterInput};
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::APPLICATION;
use crate::http::api::visible::{self, APPLICATION_NOT_VISIBLE};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::application::Application;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let (scope, path) = (Scope::PipelineWrite, "/api/v1/candidate-roles/{id}/later");
    vec![
        Route::scoped(APPLICATION, scope, Method::PUT, path, decode_put, put)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGE_ANSWERS),
        Route::scoped(APPLICATION, scope, Method::DELETE, path, decode_id, delete).writes(Grade::Durable).answering(&[
            (200, ""),
            (403, "forbidden"),
            (404, "not_found"),
        ]),
    ]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<ApplicationId, Error> {
    Ok(request.id_param("id", APPLICATION_NOT_VISIBLE)?)
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` unless it has exactly one of `days` and `dueOn`,
/// with a valid value; `not_found` if the path has no valid id.
fn decode_put(ctx: &Ctx, request: &Request) -> Result<(ApplicationId, LaterInput), Error> {
    let mut fields = request.object()?;
    let input = due(&mut fields);
    let input = fields.valid_with(input)?;
    Ok((decode_id(ctx, request)?, input))
}

fn due(fields: &mut BodyFields) -> Option<LaterInput> {
    let has_both = fields.has("days") && fields.has("dueOn");
    if has_both || !fields.has("days") && !fields.has("dueOn") {
        return fields.fault("dueOn", "must be given, unless days is given; the body must not have both");
    }
    if fields.has("days") {
        return fields.integer("days", 1..=DAYS_MAX).map(LaterInput::InDays);
    }
    let text = fields.string("dueOn")?;
    let day = DueDay::parse(&text).or_else(|| fields.fault("dueOn", format!("must be {DUE_DAY_MUST_BE}")));
    day.map(LaterInput::On)
}

/// `PUT /api/v1/candidate-roles/{id}/later`: puts the application aside, or changes its due day. Repeating the request
/// on the same day changes nothing.
///
/// # Errors
/// The errors of [`load`]; `conflict` if the application has ended; `validation_error` if the day is not after today or
/// more than a year away.
fn put(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, (id, input): &(ApplicationId, LaterInput)) -> Result<Reply, Error> {
    let (organization, before) = load(tx, caller, id)?;
    let today = store::organization::today(tx, &*ctx.world, &organization, tx.now)?;
    let due_on = later::put_aside(before.record.status, *input, today)?;
    store::later::save(tx, caller, &organization, &before, Some(due_on), &store::activity::stamp(&*ctx.world))?;
    reply(tx, &organization, id)
}

/// `DELETE /api/v1/candidate-roles/{id}/later`: removes the mark. Without a mark, the request succeeds and changes
/// nothing.
///
/// # Errors
/// The errors of [`load`].
fn delete(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &ApplicationId) -> Result<Reply, Error> {
    let (organization, before) = load(tx, caller, id)?;
    store::later::save(tx, caller, &organization, &before, None, &store::activity::stamp(&*ctx.world))?;
    reply(tx, &organization, id)
}

/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member.
fn load(tx: &Tx<'_>, caller: &Principal, id: &ApplicationId) -> Result<(OrganizationId, Application), Error> {
    let (organization, roles) = visible::application(tx, caller, id)?;
    let application = store::application::find(tx, &organization, id)?.ok_or(APPLICATION_NOT_VISIBLE)?;
    roles.require_manager()?;
    Ok((organization, application))
}

fn reply(tx: &Tx<'_>, organization: &OrganizationId, id: &ApplicationId) -> Result<Reply, Error> {
    let after = ApplicationInFull {
        application: store::application::find(tx, organization, id)?.ok_or(APPLICATION_NOT_VISIBLE)?,
        steps: store::candidate_step::of_application(tx, id)?,
        signups: store::signup::all_of_application(tx, id)?,
    };
    Ok(envelope::with_data(WireApplicationInFull::new(&after)))
}

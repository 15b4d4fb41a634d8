//! `PUT` and `DELETE /api/v1/candidate-roles/{id}/later`: staff put an application aside until a due day, or remove the
//! later mark. `GET /api/v1/organizations/{id}/later` lists the applications that have come back.

use hyper::Method;
use serde::Serialize;

use super::candidate::CHANGE_ANSWERS;
use super::candidate::wire::{ApplicationInFull, WireApplicationInFull};
use crate::domain::api_key::Scope;
use crate::domain::due_day::{DUE_DAY_MUST_BE, DueDay};
use crate::domain::id::{ApplicationId, Id, OrganizationId};
use crate::domain::later::{self, DAYS_MAX, LaterInput};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::{APPLICATION, ORGANIZATION};
use crate::http::api::visible::{self, APPLICATION_NOT_VISIBLE, ORGANIZATION_NOT_VISIBLE};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::application::Application;
use crate::store::later::DueApplication;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let (scope, path) = (Scope::PipelineWrite, "/api/v1/candidate-roles/{id}/later");
    let list_path = "/api/v1/organizations/{id}/later";
    vec![
        Route::scoped(ORGANIZATION, Scope::CandidatesRead, Method::GET, list_path, decode_list, list).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
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

/// The due day and the id of the last application on the previous page.
pub(in crate::http) type LaterCursor = (DueDay, ApplicationId);

/// Decodes `limit` and `cursor` from the query.
///
/// # Errors
/// `validation_error` for a `limit` that is not an integer, an invalid `cursor`, or a parameter that occurs more than
/// once.
pub(in crate::http) fn decode_page(request: &Request) -> Result<(PageRequest, Option<LaterCursor>), Refusal> {
    let page = PageRequest::parse(request, 2)?;
    let cursor = page.after.as_deref().map(|parts| match parts {
        [day, id] => DueDay::parse(day).zip(ApplicationId::parse(id)).ok_or_else(invalid_cursor),
        _ => Err(invalid_cursor()),
    });
    let cursor = cursor.transpose()?;
    Ok((page, cursor))
}

/// Returns the parts of the cursor that continues after an application.
pub(in crate::http) fn cursor_parts(last: &DueApplication) -> Vec<String> {
    vec![last.due_on.to_string(), last.id.to_string()]
}

type ListInput = (OrganizationId, PageRequest, Option<LaterCursor>);

/// # Errors
/// The errors of [`decode_page`]; `not_found` if the path has no valid id.
fn decode_list(_: &Ctx, request: &Request) -> Result<ListInput, Error> {
    let (page, after) = decode_page(request)?;
    Ok((request.id_param("id", ORGANIZATION_NOT_VISIBLE)?, page, after))
}

/// `GET /api/v1/organizations/{id}/later`: the applications whose due day is today or earlier, earliest due day first.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it.
fn list(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, (id, page, after): &ListInput) -> Result<Reply, Error> {
    visible::organization(tx, caller, id)?;
    let today = store::organization::today(tx, &*ctx.world, id, tx.now)?;
    let after = after.as_ref().map(|(day, id)| (*day, id));
    let due = store::later::due(tx, id, today, after, page.rows_to_fetch())?;
    Ok(page.reply(due, cursor_parts, WireDue::from))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireDue {
    candidate_role_id: String,
    later_due_on: String,
    candidate: WireNamed,
    role: WireNamed,
    step: Option<WireStep>,
}

#[derive(Serialize)]
struct WireNamed {
    id: String,
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireStep {
    candidate_step_id: String,
    name: String,
}

impl From<DueApplication> for WireDue {
    fn from(due: DueApplication) -> Self {
        Self {
            candidate_role_id: due.id.into(),
            later_due_on: due.due_on.to_string(),
            candidate: WireNamed { id: due.candidate_id.into(), name: due.candidate_name },
            role: WireNamed { id: due.role_id.into(), name: due.role_name },
            step: due.step.map(|(id, name)| WireStep { candidate_step_id: id.into(), name }),
        }
    }
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<ApplicationId, Error> {
    Ok(request.id_param("id", APPLICATION_NOT_VISIBLE)?)
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` unless the body has exactly one of `days` and
/// `dueOn`, with a valid value; `not_found` if the path has no valid id.
fn decode_put(ctx: &Ctx, request: &Request) -> Result<(ApplicationId, LaterInput), Error> {
    let mut fields = request.object()?;
    let input = due(&mut fields);
    let input = fields.valid_with(input)?;
    Ok((decode_id(ctx, request)?, input))
}

/// Decodes the due day: a number of `days` from today, or the day in `dueOn`.
pub(super) fn due(fields: &mut BodyFields) -> Option<LaterInput> {
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

/// `PUT /api/v1/candidate-roles/{id}/later`: puts the application aside, or changes its due day. A request for the
/// current due day changes nothing.
///
/// # Errors
/// The errors of [`load`]; `conflict` if the application has ended; `validation_error` unless the day is after today
/// and at most [`DAYS_MAX`] days away.
fn put(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, (id, input): &(ApplicationId, LaterInput)) -> Result<Reply, Error> {
    let (organization, before) = load(tx, caller, id)?;
    let today = store::organization::today(tx, &*ctx.world, &organization, tx.now)?;
    let due_on = later::put_aside(before.record.status, *input, today)?;
    store::later::save(tx, caller, &organization, &before, Some(due_on), &store::activity::stamp(&*ctx.world))?;
    reply(tx, &organization, id)
}

/// `DELETE /api/v1/candidate-roles/{id}/later`: removes the later mark. Without one, the request succeeds and changes
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

//! `/api/v1/organizations/{id}/roles` and `/api/v1/roles/{id}`: staff create, list, copy, change, open, close, reopen
//! and delete roles. The steps of a role's pipeline are in `role_step`.

pub(in crate::http) mod act;
mod changes;
pub(in crate::http) mod find;
pub(in crate::http) mod input;
mod list;
pub(in crate::http::api) mod version;
pub(in crate::http) mod wire;

use hyper::Method;

use self::find::{find, find_to_manage};
use self::input::{RoleChange, StepInput};
use self::version::{RoleTarget, tagged};
use self::wire::{WireChangedRole, WireRoleInFull, WireWarning};
use crate::domain::api_key::Scope;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::role::{self, CLOSE_REASON_CHARACTERS_MAX};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::{ORGANIZATION, ROLE};
use crate::http::api::visible::{self, ORGANIZATION_NOT_VISIBLE, ROLE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::role::{Role, RoleRecord};
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let (roles, role) = ("/api/v1/organizations/{id}/roles", "/api/v1/roles/{id}");
    let (open_path, close_path, reopen_path) =
        ("/api/v1/roles/{id}/open", "/api/v1/roles/{id}/close", "/api/v1/roles/{id}/reopen");
    let (reads, writes) = (Scope::RolesRead, Scope::RolesWrite);
    let changes: &[Answer] = &[
        (200, ""),
        (400, "validation_error"),
        (403, "forbidden"),
        (404, "not_found"),
        (409, "conflict"),
        (412, "precondition_failed"),
    ];
    vec![
        list::route(roles),
        Route::scoped(ORGANIZATION, writes, Method::POST, roles, decode_create, create)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found")]),
        Route::scoped(ROLE, reads, Method::GET, role, decode_id, get).answering(&[(200, ""), (404, "not_found")]),
        Route::scoped(ROLE, writes, Method::PATCH, role, decode_change, change)
            .with_body()
            .writes(Grade::Durable)
            .answering(changes),
        Route::scoped(ROLE, writes, Method::DELETE, role, decode_target, delete)
            .writes(Grade::Durable)
            .answering(changes),
        Route::scoped(ROLE, writes, Method::POST, open_path, decode_target, open)
            .writes(Grade::Durable)
            .answering(changes),
        Route::scoped(ROLE, writes, Method::POST, close_path, decode_close, close)
            .with_body()
            .writes(Grade::Durable)
            .answering(changes),
        Route::scoped(ROLE, writes, Method::POST, reopen_path, decode_target, reopen)
            .writes(Grade::Durable)
            .answering(changes),
        Route::scoped(ROLE, writes, Method::POST, "/api/v1/roles/{id}/copy", decode_copy, copy)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found")]),
        changes::route("/api/v1/roles/{id}/changes"),
    ]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<RoleId, Error> {
    Ok(request.id_param("id", ROLE_NOT_VISIBLE)?)
}

/// # Errors
/// The errors of [`RoleTarget::decode`].
fn decode_target(_: &Ctx, request: &Request) -> Result<RoleTarget, Error> {
    RoleTarget::decode(request, Ok(())).map(|(target, ())| target)
}

struct RoleCreateInput {
    organization: OrganizationId,
    role: RoleChange,
    steps: Vec<StepInput>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; `not_found` if
/// the path has no valid id.
fn decode_create(_: &Ctx, request: &Request) -> Result<RoleCreateInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let role = RoleChange::decode(&mut fields, name);
    let steps = input::decode_steps(&mut fields);
    fields.valid()?;
    Ok(RoleCreateInput { organization: request.id_param("id", ORGANIZATION_NOT_VISIBLE)?, role, steps })
}

/// `POST /api/v1/organizations/{id}/roles`: creates a draft and its steps, if the body contains any.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it; `forbidden` for a plain member;
/// `validation_error` if `salaryMax` is less than `salaryMin`, or for a closing date in the past.
fn create(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &RoleCreateInput) -> Result<Reply, Error> {
    let (organization, id): (_, RoleId) = (&input.organization, ctx.world.id());
    visible::organization(tx, caller, organization)?.require_manager()?;
    act::create(ctx, tx, caller, organization, id.clone(), &input.role, &input.steps)?;
    changed_reply(tx, organization, &id)
}

/// `GET /api/v1/roles/{id}`: returns a role with its description, its steps, the removed steps that applications still
/// have, and the number of applications in each status.
///
/// # Errors
/// The errors of [`find()`].
fn get(_: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &RoleId) -> Result<Reply, Error> {
    let role = find(tx, caller, id)?;
    let organization = role.organization_id.clone();
    tagged(envelope::with_data(in_full(tx, role)?), tx, &organization, id)
}

fn in_full(tx: &Tx<'_>, role: Role) -> Result<WireRoleInFull, Error> {
    let steps = store::role_step::of_role_with_removed(tx, &role.record.id)?;
    let applications = store::role::applications(tx, &role.record.id)?;
    WireRoleInFull::new(role, steps, applications)
}

struct RoleChangeInput {
    target: RoleTarget,
    change: RoleChange,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; the errors of
/// [`RoleTarget::decode`].
fn decode_change(_: &Ctx, request: &Request) -> Result<RoleChangeInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let change = RoleChange::decode(&mut fields, name);
    let (target, ()) = RoleTarget::decode(request, fields.valid())?;
    Ok(RoleChangeInput { target, change })
}

/// `PATCH /api/v1/roles/{id}`: changes the fields that the body contains; `null` clears a field. If there are more
/// positions than hires, a filled role becomes open. If all positions are filled, an open role becomes filled.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `conflict` for fewer positions than hires; `validation_error` if `salaryMax` is
/// less than `salaryMin`, or for a new closing date in the past.
fn change(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &RoleChangeInput) -> Result<Reply, Error> {
    let before = input.target.load(tx, caller)?;
    act::change(ctx, tx, caller, &before, &input.change)?;
    changed_reply(tx, &before.organization_id, &before.record.id)
}

/// `DELETE /api/v1/roles/{id}`: deletes a draft without applications. Its activity remains.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `conflict` for any other role.
fn delete(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, target: &RoleTarget) -> Result<Reply, Error> {
    act::delete(ctx, tx, caller, &target.load(tx, caller)?)?;
    Ok(envelope::success())
}

/// `POST /api/v1/roles/{id}/open`: opens a draft, so that it accepts applications. The portal shows the open role if it
/// is public. If imported hires fill all positions, the draft becomes filled instead.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `conflict` if the role is not a draft or has no steps, or if its closing date
/// has passed.
fn open(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, target: &RoleTarget) -> Result<Reply, Error> {
    let before = target.load(tx, caller)?;
    act::open(ctx, tx, caller, &before)?;
    changed_reply(tx, &before.organization_id, &before.record.id)
}

struct RoleCloseInput {
    target: RoleTarget,
    reason: String,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for a missing or invalid `reason`; the errors of
/// [`RoleTarget::decode`].
fn decode_close(_: &Ctx, request: &Request) -> Result<RoleCloseInput, Error> {
    let mut fields = request.object()?;
    let reason = fields.required_lines("reason", CLOSE_REASON_CHARACTERS_MAX);
    let (target, reason) = RoleTarget::decode(request, fields.valid_with(reason))?;
    Ok(RoleCloseInput { target, reason })
}

/// `POST /api/v1/roles/{id}/close`: closes a role. The portal no longer shows the role, and its signup links stop
/// working. Its applications do not change.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `conflict` if the role is neither open nor filled.
fn close(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &RoleCloseInput) -> Result<Reply, Error> {
    let before = input.target.load(tx, caller)?;
    act::close(ctx, tx, caller, &before, &input.reason)?;
    changed_reply(tx, &before.organization_id, &before.record.id)
}

/// `POST /api/v1/roles/{id}/reopen`: opens a closed role again. The role becomes filled if all its positions are
/// filled.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `conflict` if the role is not closed or has no steps, or if its closing date has
/// passed.
fn reopen(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, target: &RoleTarget) -> Result<Reply, Error> {
    let before = target.load(tx, caller)?;
    act::reopen(ctx, tx, caller, &before)?;
    changed_reply(tx, &before.organization_id, &before.record.id)
}

struct RoleCopyInput {
    role: RoleId,
    /// The name of the draft; `None` for the name of the copied role.
    name: Option<String>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for an invalid `name`; `not_found` if the path
/// has no valid id.
fn decode_copy(_: &Ctx, request: &Request) -> Result<RoleCopyInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    fields.valid()?;
    Ok(RoleCopyInput { role: request.id_param("id", ROLE_NOT_VISIBLE)?, name })
}

/// `POST /api/v1/roles/{id}/copy`: creates a draft with a copy of the role's content and pipeline, and with the given
/// name or the name of the copied role. The draft has no applications, no hires and no closing date. Steps that were
/// removed from the pipeline are not copied.
///
/// # Errors
/// The errors of [`find_to_manage`].
fn copy(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &RoleCopyInput) -> Result<Reply, Error> {
    let role = find_to_manage(tx, caller, &input.role)?;
    let id: RoleId = ctx.world.id();
    act::copy(ctx, tx, caller, &role, id.clone(), input.name.clone())?;
    changed_reply(tx, &role.organization_id, &id)
}

/// Answers with the current state of a role and its version, and with any warnings.
fn changed_reply(tx: &Tx<'_>, organization: &OrganizationId, id: &RoleId) -> Result<Reply, Error> {
    let role = store::role::find(tx, organization, id)?.ok_or(ROLE_NOT_VISIBLE)?;
    let warnings = warnings(tx, &role)?;
    let reply = Reply::json(&WireChangedRole { success: true, data: in_full(tx, role)?, warnings });
    tagged(reply, tx, organization, id)
}

fn warnings(tx: &Tx<'_>, role: &Role) -> Result<Vec<WireWarning>, Error> {
    let organization = store::organization::find(tx, &role.organization_id)?.ok_or(ORGANIZATION_NOT_VISIBLE)?.record;
    if !organization.pay_transparency {
        return Ok(Vec::new());
    }
    let shows_salary = organization.portal_theme.shows_salary();
    let RoleRecord { seats, public, salary, .. } = &role.record;
    let hidden = role::hidden_pay(seats.status, *public, shows_salary, salary);
    Ok(hidden.map(|detail| WireWarning { code: "pay_transparency", detail }).into_iter().collect())
}

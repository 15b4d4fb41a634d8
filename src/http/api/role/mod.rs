//! `/api/v1/organizations/{id}/roles` and `/api/v1/roles/{id}`: staff list, make, change, open, close and delete roles.
//! Their steps are in `role_step`.

mod input;
mod list;
mod wire;

use hyper::Method;

use self::input::Change;
use self::wire::{WireChanged, WireRoleInFull, WireWarning};
use super::access::NO_ORGANIZATION;
use super::api_key::{WireData, WireSuccess};
use super::portal;
use crate::domain::activity::Action;
use crate::domain::api_key::Scope;
use crate::domain::id::{Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::role::{self, CLOSE_REASON_CHARACTERS_MAX, RoleStatus, Salary, Seats};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::api::resource::{ORGANIZATION, ROLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::role::{Role, RoleRecord};
use crate::store::{self, Error, Grade, Tx};
pub(in crate::http) use input::{StepInput, step_type};
pub(in crate::http) use wire::WireStep;

const NO_ROLE: Refusal = Refusal::NotFound("there is no such role, or this key may not see it");

/// What a change that needs no body can answer.
const CHANGED: &[Answer] = &[
    (200, ""),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "insufficient_scope"),
    (404, "not_found"),
    (409, "conflict"),
    (429, "rate_limited"),
];

/// What a change by a body can answer.
pub(in crate::http) const CHANGED_BY_BODY: &[Answer] = &[
    (200, ""),
    (400, "bad_request"),
    (400, "validation_error"),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "insufficient_scope"),
    (404, "not_found"),
    (409, "conflict"),
    (413, "payload_too_large"),
    (415, "unsupported_media_type"),
    (429, "rate_limited"),
];

pub(in crate::http) fn routes() -> Vec<Route> {
    let (roles, role) = ("/api/v1/organizations/{id}/roles", "/api/v1/roles/{id}");
    let (reads, writes) = (Scope::RolesRead, Scope::RolesWrite);
    vec![
        list::route(roles),
        Route::scoped(ORGANIZATION, writes, Method::POST, roles, decode_create, create)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[
                (200, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (403, "insufficient_scope"),
                (404, "not_found"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ]),
        Route::scoped(ROLE, reads, Method::GET, role, decode_id, read).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "insufficient_scope"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::scoped(ROLE, writes, Method::PATCH, role, decode_change, change)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGED_BY_BODY),
        Route::scoped(ROLE, writes, Method::DELETE, role, decode_id, delete).writes(Grade::Durable).answering(CHANGED),
        Route::scoped(ROLE, writes, Method::POST, "/api/v1/roles/{id}/open", decode_id, open)
            .writes(Grade::Durable)
            .answering(CHANGED),
        Route::scoped(ROLE, writes, Method::POST, "/api/v1/roles/{id}/close", decode_close, close)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGED_BY_BODY),
        Route::scoped(ROLE, writes, Method::POST, "/api/v1/roles/{id}/reopen", decode_id, reopen)
            .writes(Grade::Durable)
            .answering(CHANGED),
    ]
}

/// The role that a path names; an id that none can have names nothing.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_id(_: &Ctx, request: &Request) -> Result<Option<RoleId>, Error> {
    Ok(RoleId::parse(request.param("id")))
}

/// The role of this id.
///
/// # Errors
/// `not_found` where there is none, or the caller may not see it.
fn visible(tx: &Tx<'_>, who: &Principal, id: Option<&RoleId>) -> Result<Role, Error> {
    let id = id.ok_or(NO_ROLE)?;
    let (organization, _) = store::access::to_role(tx, who, id)?.ok_or(NO_ROLE)?;
    Ok(store::role::find(tx, &organization, id)?.ok_or(NO_ROLE)?)
}

/// The same, for whoever is to change it.
///
/// # Errors
/// As [`visible`]; `forbidden` for a plain member of the organization.
pub(in crate::http) fn managed(tx: &Tx<'_>, who: &Principal, id: Option<&RoleId>) -> Result<Role, Error> {
    let id = id.ok_or(NO_ROLE)?;
    let (organization, standing) = store::access::to_role(tx, who, id)?.ok_or(NO_ROLE)?;
    standing.require_manager()?;
    Ok(store::role::find(tx, &organization, id)?.ok_or(NO_ROLE)?)
}

struct RoleCreateInput {
    organization: Option<OrganizationId>,
    role: Change,
    steps: Vec<StepInput>,
}

/// What a new role is to be. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `name`, or for a member that is not what
/// it must be.
fn decode_create(_: &Ctx, request: &Request) -> Result<RoleCreateInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let role = Change::read(&mut fields, name);
    let steps = input::steps(&mut fields);
    fields.valid()?;
    Ok(RoleCreateInput { organization: OrganizationId::parse(request.param("id")), role, steps })
}

/// `POST /api/v1/organizations/{id}/roles`: makes a role, as a draft. It may have its steps already.
///
/// # Errors
/// `not_found` where there is no such organization, or the caller may not see it; `forbidden` for a plain member of it.
fn create(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleCreateInput) -> Result<Reply, Error> {
    let organization = input.organization.as_ref().ok_or(NO_ORGANIZATION)?;
    store::access::to_organization(tx, who, organization)?.ok_or(NO_ORGANIZATION)?.require_manager()?;
    let record = input.role.apply(&blank(ctx.world.id(), tx.now))?;
    let steps: Vec<store::role_step::PipelineStep> = (1..)
        .zip(&input.steps)
        .map(|(order, step)| {
            let id: RoleStepId = ctx.world.id();
            store::role_step::PipelineStep { id, name: step.name.clone(), order, step_type: step.step_type }
        })
        .collect();
    store::role::add(tx, who, organization, &record, &steps, &store::activity::stamp(&*ctx.world))?;
    changed(tx, organization, &record.id)
}

/// A draft of nothing.
fn blank(id: RoleId, now: Timestamp) -> RoleRecord {
    RoleRecord {
        id,
        name: String::new(),
        description: "{}".to_owned(),
        department: String::new(),
        location: String::new(),
        work_type: None,
        collar_type: None,
        salary: Salary { min: None, max: None, currency: None, period: None },
        seats: Seats { status: RoleStatus::Draft, positions: 1, hired: 0 },
        public: false,
        close_reason: None,
        created_at: now,
    }
}

/// `GET /api/v1/roles/{id}`: a role with its steps, those that were taken out too where applications have them, and how many
/// have applied.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it.
fn read(_: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<RoleId>) -> Result<Reply, Error> {
    let role = visible(tx, who, id.as_ref())?;
    Ok(Reply::json(&WireData { success: true, data: in_full(tx, role)? }))
}

fn in_full(tx: &Tx<'_>, role: Role) -> Result<WireRoleInFull, Error> {
    let steps = store::role_step::of_role_with_removed(tx, &role.record.id)?;
    let applications = store::role::applications(tx, &role.record.id)?;
    WireRoleInFull::new(role, steps, applications)
}

struct RoleChangeInput {
    id: Option<RoleId>,
    change: Change,
}

/// What of a role is to change. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for a member that is not what it must be.
fn decode_change(_: &Ctx, request: &Request) -> Result<RoleChangeInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let change = Change::read(&mut fields, name);
    fields.valid()?;
    Ok(RoleChangeInput { id: RoleId::parse(request.param("id")), change })
}

/// `PATCH /api/v1/roles/{id}`: changes what is given, and clears what is given as null. More positions open a filled role,
/// as many as are hired fill an open one.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `conflict` for fewer positions than are hired; `validation_error` for a salary that ends before it begins.
fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleChangeInput) -> Result<Reply, Error> {
    let before = managed(tx, who, input.id.as_ref())?;
    let after = input.change.apply(&before.record)?;
    saved(ctx, tx, who, Action::RoleChanged, &before, &after)
}

/// `DELETE /api/v1/roles/{id}`: deletes a draft that nobody has applied to. What was done with it stays on record.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `conflict` for any role but such a draft.
fn delete(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<RoleId>) -> Result<Reply, Error> {
    let role = managed(tx, who, id.as_ref())?;
    let applications = store::role::applications(tx, &role.record.id)?;
    role::require_deletable(role.record.seats.status, applications.total())?;
    store::role::delete(tx, who, &role, &store::activity::stamp(&*ctx.world))?;
    Ok(Reply::json(&WireSuccess { success: true }))
}

/// `POST /api/v1/roles/{id}/open`: a draft accepts applications from now on; one that is public is on the portal.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `conflict` where it is no draft, or has no steps.
fn open(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<RoleId>) -> Result<Reply, Error> {
    let before = managed(tx, who, id.as_ref())?;
    let steps = store::role_step::of_role(tx, &before.record.id)?.len();
    let after = RoleRecord { seats: before.record.seats.opened(steps)?, ..before.record.clone() };
    saved(ctx, tx, who, Action::RoleOpened, &before, &after)
}

struct RoleCloseInput {
    id: Option<RoleId>,
    reason: String,
}

/// Why a role is closed.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `reason`.
fn decode_close(_: &Ctx, request: &Request) -> Result<RoleCloseInput, Error> {
    let mut fields = request.object()?;
    let reason = fields.required_lines("reason", CLOSE_REASON_CHARACTERS_MAX);
    let reason = fields.valid_with(reason)?;
    Ok(RoleCloseInput { id: RoleId::parse(request.param("id")), reason })
}

/// `POST /api/v1/roles/{id}/close`: takes a role off the portal and ends its signup links. Applications stay as they are.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `conflict` where it is neither open nor filled.
fn close(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleCloseInput) -> Result<Reply, Error> {
    let before = managed(tx, who, input.id.as_ref())?;
    let seats = before.record.seats.closed()?;
    let after = RoleRecord { seats, close_reason: Some(input.reason.clone()), ..before.record.clone() };
    saved(ctx, tx, who, Action::RoleClosed, &before, &after)
}

/// `POST /api/v1/roles/{id}/reopen`: a closed role is open again, or filled where all its positions are taken.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `conflict` where it is not closed, or has no steps.
fn reopen(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<RoleId>) -> Result<Reply, Error> {
    let before = managed(tx, who, id.as_ref())?;
    let steps = store::role_step::of_role(tx, &before.record.id)?.len();
    let after = RoleRecord { seats: before.record.seats.reopened(steps)?, close_reason: None, ..before.record.clone() };
    saved(ctx, tx, who, Action::RoleReopened, &before, &after)
}

fn saved(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    action: Action,
    before: &Role,
    after: &RoleRecord,
) -> Result<Reply, Error> {
    store::role::save(tx, who, action, before, after, &store::activity::stamp(&*ctx.world))?;
    changed(tx, &before.organization_id, &after.id)
}

/// The answer with a role as it is now, and what should be looked at.
fn changed(tx: &Tx<'_>, organization: &OrganizationId, id: &RoleId) -> Result<Reply, Error> {
    let role = store::role::find(tx, organization, id)?.ok_or(NO_ROLE)?;
    let warnings = warnings(tx, &role)?;
    Ok(Reply::json(&WireChanged { success: true, data: in_full(tx, role)?, warnings }))
}

fn warnings(tx: &Tx<'_>, role: &Role) -> Result<Vec<WireWarning>, Error> {
    let organization = store::organization::find(tx, &role.organization_id)?.ok_or(NO_ORGANIZATION)?.record;
    if !organization.pay_transparency {
        return Ok(Vec::new());
    }
    let shows_salary = portal::shows_salary(&organization.portal_theme)?;
    let RoleRecord { seats, public, salary, .. } = &role.record;
    let hidden = role::hidden_pay(seats.status, *public, shows_salary, salary);
    Ok(hidden.map(|detail| WireWarning { code: "pay_transparency", detail }).into_iter().collect())
}

//! `/api/v1/roles/{id}/steps`: staff add, rename, reorder and remove the steps of a role's pipeline. Applications have
//! copies of their own, so whatever runs keeps what it has.

use hyper::Method;

use super::api_key::{WireData, WireSuccess};
use super::role::{CHANGED_BY_BODY, StepInput, WireStep, managed, step_type};
use crate::domain::api_key::Scope;
use crate::domain::candidate_step::StepType;
use crate::domain::id::{Id, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::role_step::{self, STEPS_MAX};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::Principal;
use crate::http::api::resource::ROLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::role_step::RoleStep;
use crate::store::{self, Error, Grade, Tx};

const NO_STEP: Refusal = Refusal::NotFound("the role has no such step");
const REMOVED: Refusal = Refusal::Conflict("the step was removed from the role's pipeline");

pub(in crate::http) fn routes() -> Vec<Route> {
    let (steps, order) = ("/api/v1/roles/{id}/steps", "/api/v1/roles/{id}/steps/order");
    let (step, scope) = ("/api/v1/roles/{id}/steps/{stepId}", Scope::RolesWrite);
    vec![
        Route::scoped(ROLE, scope, Method::POST, steps, decode_add, add)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGED_BY_BODY),
        Route::scoped(ROLE, scope, Method::PUT, order, decode_order, reorder)
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
        Route::scoped(ROLE, scope, Method::PATCH, step, decode_change, change)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGED_BY_BODY),
        Route::scoped(ROLE, scope, Method::DELETE, step, decode_id, remove).writes(Grade::Durable).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (403, "insufficient_scope"),
            (404, "not_found"),
            (409, "conflict"),
            (429, "rate_limited"),
        ]),
    ]
}

struct StepAddInput {
    role: Option<RoleId>,
    step: StepInput,
    order: Option<i64>,
}

/// What a new step is to be. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `name`, for a `stepType` that there is
/// none of, or an `order` that is no place.
fn decode_add(_: &Ctx, request: &Request) -> Result<StepAddInput, Error> {
    let mut fields = request.object()?;
    let step = StepInput::read(&mut fields);
    let order = fields.integer("order", 1..=STEPS_MAX as i64);
    let step = fields.valid_with(step)?;
    Ok(StepAddInput { role: RoleId::parse(request.param("id")), step, order })
}

/// `POST /api/v1/roles/{id}/steps`: adds a step, at a place of the pipeline or behind its last step. Applications that run
/// do not get it.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `conflict` where the role has as many steps as it may; `validation_error` for a place beyond the end.
fn add(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &StepAddInput) -> Result<Reply, Error> {
    let role = managed(tx, who, input.role.as_ref())?;
    let mut order = pipeline(tx, &role.record.id)?;
    let place = role_step::new_step_order(order.len(), input.order)?;
    let StepInput { name, step_type } = input.step.clone();
    let step = RoleStep { id: ctx.world.id(), name, order: i64::try_from(place).ok(), step_type };
    order.insert(place - 1, step.id.clone());
    store::role_step::add(tx, who, &role, &step, &order, &store::activity::stamp(&*ctx.world))?;
    Ok(Reply::json(&WireData { success: true, data: WireStep::new(step) }))
}

/// The ids of a role's pipeline, in order.
fn pipeline(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<RoleStepId>, Error> {
    Ok(store::role_step::of_role(tx, role)?.into_iter().map(|step| step.id).collect())
}

struct StepOrderInput {
    role: Option<RoleId>,
    steps: Vec<Option<RoleStepId>>,
}

/// The order that a pipeline is to have. An id that none can have is that of no step.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a list of `stepIds`.
fn decode_order(_: &Ctx, request: &Request) -> Result<StepOrderInput, Error> {
    let mut fields = request.object()?;
    let steps = fields.required_strings("stepIds");
    let steps = fields.valid_with(steps)?;
    let steps = steps.iter().map(|id| RoleStepId::parse(id)).collect();
    Ok(StepOrderInput { role: RoleId::parse(request.param("id")), steps })
}

/// `PUT /api/v1/roles/{id}/steps/order`: puts the steps of the pipeline in this order, all of them.
///
/// # Errors
/// `not_found` where there is no such role, or the caller may not see it; `forbidden` for a plain member of its
/// organization; `validation_error` where the steps named are not those of the pipeline.
fn reorder(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &StepOrderInput) -> Result<Reply, Error> {
    let role = managed(tx, who, input.role.as_ref())?;
    let before = pipeline(tx, &role.record.id)?;
    let after = role_step::require_complete_order(&before, &input.steps)?;
    store::role_step::reorder(tx, who, &role, &before, &after, &store::activity::stamp(&*ctx.world))?;
    let steps = store::role_step::of_role_with_removed(tx, &role.record.id)?;
    let data: Vec<WireStep> = steps.into_iter().map(WireStep::new).collect();
    Ok(Reply::json(&WireData { success: true, data }))
}

/// The step that a path names; an id that none can have names nothing.
#[derive(Clone)]
struct Addressed {
    role: Option<RoleId>,
    step: Option<RoleStepId>,
}

impl Addressed {
    fn read(request: &Request) -> Self {
        Self { role: RoleId::parse(request.param("id")), step: RoleStepId::parse(request.param("stepId")) }
    }

    /// The role and its step, for whoever is to change it.
    ///
    /// # Errors
    /// `not_found` where there is no such role, the caller may not see it, or it has no such step; `forbidden` for a plain
    /// member of its organization; `conflict` where the step was removed.
    fn load(&self, tx: &Tx<'_>, who: &Principal) -> Result<(store::role::Role, RoleStep), Error> {
        let role = managed(tx, who, self.role.as_ref())?;
        let step = self.step.as_ref().ok_or(NO_STEP)?;
        let step = store::role_step::find(tx, &role.record.id, step)?.ok_or(NO_STEP)?;
        if step.order.is_none() {
            return Err(REMOVED.into());
        }
        Ok((role, step))
    }
}

struct StepChangeInput {
    addressed: Addressed,
    name: Option<String>,
    step_type: Option<StepType>,
}

/// What of a step is to change. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for a blank `name`, or a `stepType` that there is
/// none of.
fn decode_change(_: &Ctx, request: &Request) -> Result<StepChangeInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let step_type = step_type(&mut fields);
    fields.valid()?;
    Ok(StepChangeInput { addressed: Addressed::read(request), name, step_type })
}

/// `PATCH /api/v1/roles/{id}/steps/{stepId}`: gives a step another name or type. Applications keep what they have.
///
/// # Errors
/// As [`Addressed::load`].
fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &StepChangeInput) -> Result<Reply, Error> {
    let (role, before) = input.addressed.load(tx, who)?;
    let after = RoleStep {
        name: input.name.clone().unwrap_or_else(|| before.name.clone()),
        step_type: input.step_type.unwrap_or(before.step_type),
        ..before.clone()
    };
    store::role_step::change(tx, who, &role, &before, &after, &store::activity::stamp(&*ctx.world))?;
    Ok(Reply::json(&WireData { success: true, data: WireStep::new(after) }))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_id(_: &Ctx, request: &Request) -> Result<Addressed, Error> {
    Ok(Addressed::read(request))
}

/// `DELETE /api/v1/roles/{id}/steps/{stepId}`: takes a step out of the pipeline. Applications that have it keep it.
///
/// # Errors
/// As [`Addressed::load`]; `conflict` for the last step of a role that is no draft.
fn remove(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, addressed: &Addressed) -> Result<Reply, Error> {
    let (role, step) = addressed.load(tx, who)?;
    let mut order = pipeline(tx, &role.record.id)?;
    role_step::require_removable(role.record.seats.status, order.len())?;
    order.retain(|id| *id != step.id);
    store::role_step::remove(tx, who, &role, &step, &order, &store::activity::stamp(&*ctx.world))?;
    Ok(Reply::json(&WireSuccess { success: true }))
}

//! `/api/v1/roles/{id}/steps`: staff add, change, reorder and remove the steps of a role's pipeline. Existing
//! applications do not change, because they have copies of the steps.

use hyper::Method;

use super::role::input::{StepInput, decode_step_type};
use super::role::version::{RoleTarget, tagged};
use super::role::wire::WireStep;
use crate::domain::api_key::Scope;
use crate::domain::candidate_step::StepType;
use crate::domain::id::{Id, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::role_step::{self, STEPS_MAX};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::ROLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::role::Role;
use crate::store::role_step::RoleStep;
use crate::store::{self, Error, Grade, Tx};

const NO_STEP: Refusal = Refusal::NotFound("the role has no such step");
const STEP_REMOVED: Refusal = Refusal::Conflict("the step was removed from the role's pipeline");

pub(in crate::http) fn routes() -> Vec<Route> {
    let (steps, order) = ("/api/v1/roles/{id}/steps", "/api/v1/roles/{id}/steps/order");
    let (step, scope) = ("/api/v1/roles/{id}/steps/{stepId}", Scope::RolesWrite);
    let answers: &[Answer] = &[
        (200, ""),
        (400, "validation_error"),
        (403, "forbidden"),
        (404, "not_found"),
        (409, "conflict"),
        (412, "precondition_failed"),
    ];
    let reorder_answers: &[Answer] =
        &[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found"), (412, "precondition_failed")];
    vec![
        Route::scoped(ROLE, scope, Method::POST, steps, decode_add, add)
            .with_body()
            .writes(Grade::Durable)
            .answering(answers),
        Route::scoped(ROLE, scope, Method::PUT, order, decode_order, reorder)
            .with_body()
            .writes(Grade::Durable)
            .answering(reorder_answers),
        Route::scoped(ROLE, scope, Method::PATCH, step, decode_change, change)
            .with_body()
            .writes(Grade::Durable)
            .answering(answers),
        Route::scoped(ROLE, scope, Method::DELETE, step, decode_id, remove).writes(Grade::Durable).answering(answers),
    ]
}

struct StepAddInput {
    role: RoleTarget,
    step: StepInput,
    /// The position, counted from 1. `None` adds the step at the end.
    order: Option<i64>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; the errors of
/// [`RoleTarget::decode`].
fn decode_add(_: &Ctx, request: &Request) -> Result<StepAddInput, Error> {
    let mut fields = request.object()?;
    let step = StepInput::decode(&mut fields);
    let order = fields.integer("order", 1..=STEPS_MAX as i64);
    let (role, step) = RoleTarget::decode(request, fields.valid_with(step))?;
    Ok(StepAddInput { role, step, order })
}

/// `POST /api/v1/roles/{id}/steps`: adds a step to the pipeline. Existing applications do not get the step.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `conflict` if the role has the maximum number of steps; `validation_error` for a
/// position beyond the end.
fn add(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &StepAddInput) -> Result<Reply, Error> {
    let role = input.role.load(tx, caller)?;
    let mut order = pipeline_ids(tx, &role.record.id)?;
    let position = role_step::new_step_order(order.len(), input.order)?;
    let StepInput { name, step_type } = input.step.clone();
    let step = RoleStep { id: ctx.world.id(), name, order: i64::try_from(position).ok(), step_type };
    order.insert(position - 1, step.id.clone());
    store::role_step::add(tx, caller, &role, &step, &order, &store::activity::stamp(&*ctx.world))?;
    step_reply(tx, &role, envelope::with_data(WireStep::new(step)))
}

/// Adds the new version of the role to the answer to a change of its steps.
fn step_reply(tx: &Tx<'_>, role: &Role, reply: Reply) -> Result<Reply, Error> {
    tagged(reply, tx, &role.organization_id, &role.record.id)
}

fn pipeline_ids(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<RoleStepId>, Error> {
    Ok(store::role_step::of_role(tx, role)?.into_iter().map(|step| step.id).collect())
}

struct StepOrderInput {
    role: RoleTarget,
    /// An item is `None` if its text is not a valid id.
    steps: Vec<Option<RoleStepId>>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` unless `stepIds` is a list of strings; the errors
/// of [`RoleTarget::decode`].
fn decode_order(_: &Ctx, request: &Request) -> Result<StepOrderInput, Error> {
    let mut fields = request.object()?;
    let steps = fields.required_strings("stepIds");
    let (role, steps) = RoleTarget::decode(request, fields.valid_with(steps))?;
    let steps = steps.iter().map(|id| RoleStepId::parse(id)).collect();
    Ok(StepOrderInput { role, steps })
}

/// `PUT /api/v1/roles/{id}/steps/order`: sets the order of all steps of the pipeline.
///
/// # Errors
/// The errors of [`RoleTarget::load`]; `validation_error` unless the body names each step of the pipeline exactly once.
fn reorder(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &StepOrderInput) -> Result<Reply, Error> {
    let role = input.role.load(tx, caller)?;
    let before = pipeline_ids(tx, &role.record.id)?;
    let after = role_step::require_complete_order(&before, &input.steps)?;
    store::role_step::reorder(tx, caller, &role, &before, &after, &store::activity::stamp(&*ctx.world))?;
    let steps = store::role_step::of_role_with_removed(tx, &role.record.id)?;
    step_reply(tx, &role, envelope::with_data(steps.into_iter().map(WireStep::new).collect::<Vec<_>>()))
}

/// The step that a path names.
struct StepPath {
    role: RoleTarget,
    /// `None` if the text is not a valid id. [`StepPath::load`] refuses an invalid id, so that a plain member gets a
    /// 403 and not a 404.
    step: Option<RoleStepId>,
}

impl StepPath {
    /// # Errors
    /// The errors of [`RoleTarget::decode`].
    fn decode(request: &Request, body: Result<(), Refusal>) -> Result<Self, Error> {
        let (role, ()) = RoleTarget::decode(request, body)?;
        Ok(Self { role, step: RoleStepId::parse(request.param("stepId")) })
    }

    /// Loads the role and the step, for a caller who may change them.
    ///
    /// # Errors
    /// The errors of [`RoleTarget::load`]; `not_found` if the role has no such step; `conflict` if the step was
    /// removed.
    fn load(&self, tx: &Tx<'_>, caller: &Principal) -> Result<(Role, RoleStep), Error> {
        let role = self.role.find(tx, caller)?;
        let step = self.step.as_ref().ok_or(NO_STEP)?;
        let step = store::role_step::find(tx, &role.record.id, step)?.ok_or(NO_STEP)?;
        self.role.require_version(tx, &role)?;
        if step.order.is_none() {
            return Err(STEP_REMOVED.into());
        }
        Ok((role, step))
    }
}

struct StepChangeInput {
    path: StepPath,
    name: Option<String>,
    step_type: Option<StepType>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; the errors of
/// [`StepPath::decode`].
fn decode_change(_: &Ctx, request: &Request) -> Result<StepChangeInput, Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let step_type = decode_step_type(&mut fields);
    Ok(StepChangeInput { path: StepPath::decode(request, fields.valid())?, name, step_type })
}

/// `PATCH /api/v1/roles/{id}/steps/{stepId}`: changes the name or the type of a step. Existing applications do not
/// change.
///
/// # Errors
/// The errors of [`StepPath::load`].
fn change(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &StepChangeInput) -> Result<Reply, Error> {
    let (role, before) = input.path.load(tx, caller)?;
    let after = RoleStep {
        name: input.name.clone().unwrap_or_else(|| before.name.clone()),
        step_type: input.step_type.unwrap_or(before.step_type),
        ..before.clone()
    };
    store::role_step::change(tx, caller, &role, &before, &after, &store::activity::stamp(&*ctx.world))?;
    step_reply(tx, &role, envelope::with_data(WireStep::new(after)))
}

/// # Errors
/// The errors of [`StepPath::decode`].
fn decode_id(_: &Ctx, request: &Request) -> Result<StepPath, Error> {
    StepPath::decode(request, Ok(()))
}

/// `DELETE /api/v1/roles/{id}/steps/{stepId}`: removes a step from the pipeline. Existing applications that have the
/// step do not change.
///
/// # Errors
/// The errors of [`StepPath::load`]; `conflict` for the only step of a role that is not a draft.
fn remove(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, path: &StepPath) -> Result<Reply, Error> {
    let (role, step) = path.load(tx, caller)?;
    let mut order = pipeline_ids(tx, &role.record.id)?;
    role_step::require_removable(role.record.seats.status, order.len())?;
    order.retain(|id| *id != step.id);
    store::role_step::remove(tx, caller, &role, &step, &order, &store::activity::stamp(&*ctx.world))?;
    step_reply(tx, &role, envelope::success())
}

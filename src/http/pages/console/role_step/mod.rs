//! `/app/{orgSlug}/roles/{id}/steps`: staff add, change, reorder and remove the steps of a role. The pages use the
//! rules of the API (`http/api/role_step`).
//!
//! A form that is submitted twice takes effect once: the form of a new step names the id of the step, and the form that
//! moves a step names the position from which the step moves.

mod page;
mod typed_step;

use hyper::Method;

use self::page::{Fault, StepConflict, StepPage};
use self::typed_step::TypedStep;
use super::role::{RoleVisit, path};
use super::visit::{self, ABSENT};
use crate::domain::candidate_step::StepType;
use crate::domain::id::{Id, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::role_step;
use crate::domain::user::Principal;
use crate::http::api::role::input::StepInput;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::access::VisibleOrganization;
use crate::store::role::Role;
use crate::store::role_step::RoleStep;
use crate::store::{self, Error, Grade, Tx};

const CHANGED_MEANWHILE: Refusal = Refusal::Conflict("somebody else has changed the steps");

/// The number of characters in an id that the service has made: the prefix, `_` and 26 characters.
const MADE_ID_CHARACTERS: usize = RoleStepId::PREFIX.len() + 1 + 26;

pub(super) fn routes() -> Vec<Route> {
    let (steps, default) = ("/app/{orgSlug}/roles/{id}/steps", "/app/{orgSlug}/roles/{id}/steps/default");
    let (step, remove_path) =
        ("/app/{orgSlug}/roles/{id}/steps/{stepId}", "/app/{orgSlug}/roles/{id}/steps/{stepId}/remove");
    let move_path = "/app/{orgSlug}/roles/{id}/steps/{stepId}/move";
    let act = |route: Route| route.writes(Grade::Durable).with_form().answering(ACTS);
    vec![
        Route::staff(Method::GET, steps, decode_page, show).answering(&[(200, "")]),
        act(Route::staff(Method::POST, steps, decode_add, add)),
        Route::staff(Method::POST, default, decode_default, add_default)
            .writes(Grade::Durable)
            .with_form()
            .answering(&[(303, "")]),
        act(Route::staff(Method::POST, step, decode_change, change)),
        act(Route::staff(Method::POST, move_path, decode_move, move_step)),
        act(Route::staff(Method::POST, remove_path, decode_step, remove)),
    ]
}

/// The answers of most acts.
const ACTS: &[Answer] = &[(303, ""), (409, "conflict")];

struct StepPageInput {
    role: RoleVisit,
    done: Option<String>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
fn decode_page(_: &Ctx, request: &Request) -> Result<StepPageInput, Error> {
    Ok(StepPageInput { role: RoleVisit::decode(request)?, done: request.query("done")? })
}

/// `GET /app/{orgSlug}/roles/{id}/steps`: shows the steps, the number of candidates at each, and the forms.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization or the role does not exist or the caller may not
/// see it.
fn show(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &StepPageInput) -> Result<Reply, Error> {
    let (organization, role) = input.role.find(tx, who)?;
    let mut page = StepPage::new(ctx, tx, who, &input.role.visit, &organization, &role)?;
    page.set_notice(input.done.as_deref());
    Reply::console(&page)
}

/// A new step, as it was typed.
struct AddInput {
    role: RoleVisit,
    typed: TypedStep,
    /// The id that the page offered for the new step.
    id: String,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `not_found` if the path has no valid id; `validation_error`
/// if a field, `lang` or `locale` is repeated.
fn decode_add(_: &Ctx, request: &Request) -> Result<AddInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let id = form.text("id")?.unwrap_or_default().to_owned();
    Ok(AddInput { role: RoleVisit::decode(request)?, typed: TypedStep::decode(form)?, id })
}

/// `POST /app/{orgSlug}/roles/{id}/steps`: adds a step at the end of the pipeline.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`RoleVisit::find_to_manage`]; `validation_error` with the form;
/// `conflict` if the role has the maximum number of steps.
fn add(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &AddInput) -> Result<Reply, Error> {
    let (organization, role) = input.role.find_to_manage(tx, who)?;
    let offered = Some(&input.id).filter(|id| id.len() == MADE_ID_CHARACTERS).and_then(|id| RoleStepId::parse(id));
    let id = match offered {
        Some(id) if store::role_step::find(tx, &role.record.id, &id)?.is_some() => {
            return Ok(done(&organization, &role, "added"));
        }
        Some(id) if !store::role_step::exists(tx, &id)? => id,
        _ => ctx.world.id(),
    };
    let mut order = pipeline(tx, &role)?;
    let checked = input.typed.checked().and_then(|step| Ok((step, role_step::new_step_order(order.len(), None)?)));
    let (step, position) = match checked {
        Ok(checked) => checked,
        Err(refusal) => {
            let mut page = StepPage::new(ctx, tx, who, &input.role.visit, &organization, &role)?;
            page.refuse_new(&input.typed, &refusal);
            return Reply::console_refusal(&refusal, &page);
        }
    };
    let step = RoleStep { id, name: step.name, order: i64::try_from(position).ok(), step_type: step.step_type };
    order.push(step.id.clone());
    store::role_step::add(tx, who, &role, &step, &order, &store::activity::stamp(&*ctx.world))?;
    Ok(done(&organization, &role, "added"))
}

fn pipeline(tx: &Tx<'_>, role: &Role) -> Result<Vec<RoleStepId>, Error> {
    Ok(store::role_step::of_role(tx, &role.record.id)?.into_iter().map(|step| step.id).collect())
}

fn done(organization: &VisibleOrganization, role: &Role, done: &str) -> Reply {
    Reply::see_other(&format!("{}/steps?done={done}", path(organization, &role.record.id)))
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
fn decode_default(_: &Ctx, request: &Request) -> Result<RoleVisit, Error> {
    RoleVisit::decode(request)
}

/// `POST /app/{orgSlug}/roles/{id}/steps/default`: gives a role without steps the default pipeline, in the user's
/// language. If the role has steps, nothing changes.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`RoleVisit::find_to_manage`].
fn add_default(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleVisit) -> Result<Reply, Error> {
    let (organization, role) = input.find_to_manage(tx, who)?;
    if pipeline(tx, &role)?.is_empty() {
        let tag = input.visit.texts_for(tx, who)?.tag;
        store::role_step::add_default_steps(tx, &*ctx.world, who, &role, tag)?;
    }
    Ok(done(&organization, &role, "default"))
}

/// A request about one step of a role.
struct StepVisit {
    role: RoleVisit,
    step_id: RoleStepId,
}

impl StepVisit {
    /// # Errors
    /// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
    fn decode(request: &Request) -> Result<Self, Error> {
        Ok(Self { role: RoleVisit::decode(request)?, step_id: visit::id(request, "stepId")? })
    }

    /// Returns the organization, the role and the step, for a caller who may change them. Also finds a step that was
    /// removed from the pipeline.
    ///
    /// # Errors
    /// The errors of [`RoleVisit::find_to_manage`]; `not_found` if the role has no such step.
    fn find(&self, tx: &Tx<'_>, who: &Principal) -> Result<(VisibleOrganization, Role, RoleStep), Error> {
        let (organization, role) = self.role.find(tx, who)?;
        let step = store::role_step::find(tx, &role.record.id, &self.step_id)?.ok_or(ABSENT)?;
        organization.caller.require_manager()?;
        Ok((organization, role, step))
    }
}

/// Shows the current steps, and the reason why the act was refused.
fn refuse(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    input: &StepVisit,
    (organization, role): (&VisibleOrganization, &Role),
    fault: &Fault,
) -> Result<Reply, Error> {
    let mut page = StepPage::new(ctx, tx, who, &input.role.visit, organization, role)?;
    page.refuse(&input.step_id, fault);
    Reply::console_refusal(fault.refusal(), &page)
}

/// A changed step, as it was typed, and the values that the form showed.
struct ChangeInput {
    step: StepVisit,
    typed: TypedStep,
    before: TypedStep,
}

/// # Errors
/// The errors of [`decode_add`].
fn decode_change(_: &Ctx, request: &Request) -> Result<ChangeInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let text = |name| Ok::<_, Refusal>(form.text(name)?.unwrap_or_default().to_owned());
    let before = TypedStep { name: text("nameBefore")?, step_type: text("stepTypeBefore")? };
    Ok(ChangeInput { step: StepVisit::decode(request)?, typed: TypedStep::decode(form)?, before })
}

/// `POST /app/{orgSlug}/roles/{id}/steps/{stepId}`: changes the name and the type of a step.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`StepVisit::find`]; `validation_error` with the form; `conflict`
/// if the step has been changed or removed since the form was made.
fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangeInput) -> Result<Reply, Error> {
    let (organization, role, before) = input.step.find(tx, who)?;
    let refuse = |fault: Fault| refuse(ctx, tx, who, &input.step, (&organization, &role), &fault);
    if before.order.is_none() {
        return refuse(Fault::Stale(CHANGED_MEANWHILE));
    }
    let StepInput { name, step_type } = match input.typed.checked() {
        Ok(step) => step,
        Err(refusal) => return refuse(Fault::Values(input.typed.clone(), refusal)),
    };
    let after = RoleStep { name, step_type, ..before.clone() };
    let was_changed =
        before.name != input.before.name || StepType::parse(&input.before.step_type) != Some(before.step_type);
    if was_changed && after != before {
        let texts = input.step.role.visit.texts_for(tx, who)?;
        let conflict = StepConflict::new(tx, texts, &organization, &role, (&before, &input.typed))?;
        return refuse(Fault::Changed(input.typed.clone(), conflict, CHANGED_MEANWHILE));
    }
    store::role_step::change(tx, who, &role, &before, &after, &store::activity::stamp(&*ctx.world))?;
    Ok(done(&organization, &role, "changed"))
}

/// A step that moves to another position. Positions start at 1.
struct MoveInput {
    step: StepVisit,
    from: usize,
    to: usize,
}

/// # Errors
/// The errors of [`decode_add`].
fn decode_move(_: &Ctx, request: &Request) -> Result<MoveInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    // A position that cannot be parsed becomes 0. The rule refuses 0, because positions start at 1.
    let position = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0_usize);
    let from = position(form.text("from")?);
    let to = match form.text("to")? {
        Some("up") => from.saturating_sub(1),
        Some("down") => from.saturating_add(1),
        other => position(other),
    };
    Ok(MoveInput { step: StepVisit::decode(request)?, from, to })
}

/// `POST /app/{orgSlug}/roles/{id}/steps/{stepId}/move`: moves a step up or down by one position, or to the position
/// where it was dropped.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`StepVisit::find`]; `conflict` if the step is no longer at the
/// position that the form names, or the new position does not exist.
fn move_step(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &MoveInput) -> Result<Reply, Error> {
    let (organization, role, step) = input.step.find(tx, who)?;
    let before = pipeline(tx, &role)?;
    match role_step::moved(&before, &step.id, input.from, input.to) {
        Ok(None) => {}
        Ok(Some(after)) => {
            let stamp = store::activity::stamp(&*ctx.world);
            store::role_step::reorder(tx, who, &role, &before, &after, &stamp)?;
        }
        Err(refusal) => {
            return refuse(ctx, tx, who, &input.step, (&organization, &role), &Fault::Stale(refusal));
        }
    }
    Ok(done(&organization, &role, "moved"))
}

/// # Errors
/// The errors of [`StepVisit::decode`].
fn decode_step(_: &Ctx, request: &Request) -> Result<StepVisit, Error> {
    StepVisit::decode(request)
}

/// `POST /app/{orgSlug}/roles/{id}/steps/{stepId}/remove`: removes a step from the pipeline. Applications that already
/// have the step retain it.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`StepVisit::find`]; `conflict` for the only step of a role that
/// is not a draft.
fn remove(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &StepVisit) -> Result<Reply, Error> {
    let (organization, role, step) = input.find(tx, who)?;
    if step.order.is_none() {
        return Ok(done(&organization, &role, "removed"));
    }
    let mut order = pipeline(tx, &role)?;
    if let Err(refusal) = role_step::require_removable(role.record.seats.status, order.len()) {
        return refuse(ctx, tx, who, input, (&organization, &role), &Fault::Only(refusal));
    }
    order.retain(|id| *id != step.id);
    store::role_step::remove(tx, who, &role, &step, &order, &store::activity::stamp(&*ctx.world))?;
    Ok(done(&organization, &role, "removed"))
}

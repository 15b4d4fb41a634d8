//! `/app/{orgSlug}/roles/new` and `/app/{orgSlug}/roles/{id}/edit`: staff create, copy and change a role.

use super::form::{FIELDS, RoleForm};
use super::page::{Message, PageRequest, Refused};
use super::role_visit::{RoleVisit, path};
use crate::domain::id::{Id, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::RoleStatus;
use crate::domain::role_version::{LATER_CHANGES_MAX, LaterChange};
use crate::domain::user::Principal;
use crate::http::api::role::act;
use crate::http::api::role::input::StepInput;
use crate::http::pages::console::visit::{ABSENT, Visit};
use crate::http::pages::texts::console::role::ROLE;
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::description::Description;
use crate::store::role::{Role, RoleRecord};
use crate::store::{self, Error, Tx};

/// The number of characters in an id that the service has made: the prefix, `_` and 26 characters.
const MADE_ID_CHARACTERS: usize = RoleId::PREFIX.len() + 1 + 26;

/// A request for the page of a new role.
pub(super) struct NewInput {
    visit: Visit,
    /// The role that the new one copies.
    copied: Option<String>,
}

/// # Errors
/// `validation_error` if a parameter is repeated.
pub(super) fn decode_new(_: &Ctx, request: &Request) -> Result<NewInput, Error> {
    Ok(NewInput { visit: Visit::decode(request)?, copied: request.query("copy")? })
}

/// `GET /app/{orgSlug}/roles/new`: shows a form with the default values or, with `copy`, with the values of another
/// role. The copy has another name and no closing date.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization or the copied role does not exist or the caller
/// may not see it.
pub(super) fn show_new(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &NewInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let copied = match &input.copied {
        Some(id) => Some(copied_role(tx, &organization, id)?.ok_or(ABSENT)?),
        None => None,
    };
    let id: RoleId = ctx.world.id();
    let record = copied.as_ref().map_or_else(|| RoleRecord::draft(id.clone(), tx.now), |role| role.record.clone());
    let mut form = RoleForm::of(&record);
    if copied.is_some() {
        let words = ROLE.of(input.visit.texts_for(tx, who)?);
        form.set("name", &fill(words.copy_of, &[("role", &record.name)]));
        form.set("closesOn", "");
    } else {
        form.set("public", "1");
    }
    let page = PageRequest::new(&input.visit, who, &organization, form);
    page.render_new(ctx, tx, id.to_string(), copied.as_ref())
}

fn copied_role(tx: &Tx<'_>, organization: &VisibleOrganization, id: &str) -> Result<Option<Role>, Error> {
    RoleId::parse(id).map_or(Ok(None), |id| store::role::find(tx, &organization.id, &id))
}

/// A submitted form of a new role.
pub(super) struct CreateInput {
    visit: Visit,
    form: RoleForm,
    /// The id that the page offered.
    id: String,
    copied: Option<String>,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CreateInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    Ok(CreateInput {
        visit: Visit::decode(request)?,
        form: RoleForm::decode(form)?,
        id: form.text("id")?.unwrap_or_default().to_owned(),
        copied: form.text("copy")?.map(str::to_owned),
    })
}

/// `POST /app/{orgSlug}/roles/new`: creates a draft, with the steps of the copied role, if there is one. The form names
/// the id of the new role, so a form that is submitted twice creates one role.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization does not exist or the caller may not see it;
/// `forbidden` for a plain member; `validation_error` with the form and its errors.
pub(super) fn create(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CreateInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    organization.caller.require_manager()?;
    let offered = Some(&input.id).filter(|id| id.len() == MADE_ID_CHARACTERS).and_then(|id| RoleId::parse(id));
    let id = match offered {
        Some(id) if store::role::find(tx, &organization.id, &id)?.is_some() => return Ok(created(&organization, &id)),
        Some(id) if !store::role::exists(tx, &id)? => id,
        _ => ctx.world.id(),
    };
    let copied = input.copied.as_deref().map_or(Ok(None), |copied| copied_role(tx, &organization, copied))?;
    let steps = match &copied {
        Some(role) => store::role_step::of_role(tx, &role.record.id)?,
        None => Vec::new(),
    };
    let steps: Vec<StepInput> =
        steps.into_iter().map(|step| StepInput { name: step.name, step_type: step.step_type }).collect();
    let stored = copied.as_ref().map_or_else(Description::default, |role| role.record.description.clone());
    let saved = match input.form.change(&stored) {
        Ok(role) => act::create(ctx, tx, who, &organization.id, id.clone(), &role, &steps),
        Err(refusal) => Err(refusal.into()),
    };
    match saved {
        Ok(()) => Ok(created(&organization, &id)),
        Err(Error::Refused(refusal @ Refusal::Invalid(_))) => {
            PageRequest::new(&input.visit, who, &organization, input.form.clone())
                .refused(Refused::Values(refusal))
                .render_new(ctx, tx, id.to_string(), copied.as_ref())
        }
        Err(error) => Err(error),
    }
}

fn created(organization: &VisibleOrganization, id: &RoleId) -> Reply {
    Reply::see_other(&format!("{}/steps?done=created", path(organization, id)))
}

/// A request for the page of a role, with the act that led to it.
pub(super) struct EditPageInput {
    role: RoleVisit,
    done: Option<String>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
pub(super) fn decode_page(_: &Ctx, request: &Request) -> Result<EditPageInput, Error> {
    Ok(EditPageInput { role: RoleVisit::decode(request)?, done: request.query("done")? })
}

/// `GET /app/{orgSlug}/roles/{id}/edit`: shows the form of a role, its preview and the acts that change its status.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization or the role does not exist or the caller may not
/// see it.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &EditPageInput) -> Result<Reply, Error> {
    let (organization, role) = input.role.find(tx, who)?;
    let mut page = PageRequest::new(&input.role.visit, who, &organization, RoleForm::of(&role.record));
    let notice: Option<Message> = match input.done.as_deref() {
        Some("saved") => Some(|words| words.done_saved),
        Some("opened") => Some(|words| words.done_opened),
        Some("not-opened") => Some(|words| words.done_not_opened),
        Some("closed") => Some(|words| words.done_closed),
        _ => None,
    };
    page.notice = notice;
    page.render_role(ctx, tx, &role)
}

/// A submitted form of a role.
pub(super) struct ChangeInput {
    role: RoleVisit,
    form: RoleForm,
    /// The version of the role from which the form was made.
    version: String,
    /// Whether the form asks to open the role after the change.
    opens: bool,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `not_found` if the path has no valid id; `validation_error`
/// if a field, `lang` or `locale` is repeated.
pub(super) fn decode_change(_: &Ctx, request: &Request) -> Result<ChangeInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    Ok(ChangeInput {
        role: RoleVisit::decode(request)?,
        form: RoleForm::decode(form)?,
        version: form.text("version")?.unwrap_or_default().to_owned(),
        opens: form.text("then")? == Some("open"),
    })
}

/// `POST /app/{orgSlug}/roles/{id}/edit`: changes the role. If the role is a draft and the form asks to open it, opens
/// the role too.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`RoleVisit::find_to_manage`]; `validation_error` with the form
/// and its errors; `conflict` with both versions if one of the fields has changed since the form was made; `conflict`
/// with the form if it requests fewer positions than there are hires.
pub(super) fn save(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangeInput) -> Result<Reply, Error> {
    let (organization, role) = input.role.find_to_manage(tx, who)?;
    let page = || PageRequest::new(&input.role.visit, who, &organization, input.form.clone());
    if RoleForm::of(&role.record) != input.form && has_changed_since(tx, &role, &input.version)? {
        let refusal = Refusal::Conflict("somebody else has changed the role");
        return page().refused(Refused::Act(refusal, None)).render_conflict(ctx, tx, &role);
    }
    let changed = match input.form.change(&role.record.description) {
        Ok(change) => act::change(ctx, tx, who, &role, &change),
        Err(refusal) => Err(refusal.into()),
    };
    match changed {
        Ok(()) => {}
        Err(Error::Refused(refusal)) => return page().refused(Refused::Values(refusal)).render_role(ctx, tx, &role),
        Err(error) => return Err(error),
    }
    let done = if input.opens { opened(ctx, tx, who, &organization, &role.record.id)? } else { "saved" };
    Ok(Reply::see_other(&format!("{}/edit?done={done}", path(&organization, &role.record.id))))
}

/// Returns whether a field of the form may have changed since this version of the role. Hires, steps and the status are
/// not in the form, so their changes do not conflict with an edit.
fn has_changed_since(tx: &Tx<'_>, role: &Role, version: &str) -> Result<bool, Error> {
    let Some(changes) = store::role::changes_since(tx, &role.organization_id, &role.record.id, version)? else {
        return Ok(true);
    };
    let is_of_form = |change: &LaterChange| {
        let is_of_steps = change.action.starts_with("role_step.");
        !is_of_steps && change.members.iter().any(|member| FIELDS.contains(&member.as_str()))
    };
    // Only the newest changes are loaded. If there are too many, a field may have changed in an older one.
    Ok(changes.len() >= LATER_CHANGES_MAX || changes.iter().any(is_of_form))
}

/// Opens a draft after its change was saved, and returns the value of the query parameter `done`. The change remains
/// saved even if the role cannot be opened.
fn opened(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    organization: &VisibleOrganization,
    id: &RoleId,
) -> Result<&'static str, Error> {
    let role = store::role::find(tx, &organization.id, id)?.ok_or(ABSENT)?;
    if role.record.seats.status != RoleStatus::Draft {
        return Ok("saved");
    }
    match act::open(ctx, tx, who, &role) {
        Ok(()) => Ok("opened"),
        Err(Error::Refused(_)) => Ok("not-opened"),
        Err(error) => Err(error),
    }
}

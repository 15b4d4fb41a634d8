//! `/app/{orgSlug}/roles/{id}/preview`: shows the public page of a role as candidates will see it, in a frame next to
//! the role's form. A `POST` shows the values in the form, without saving them.

use jiff::civil::Date;

use super::form::RoleForm;
use crate::domain::id::RoleId;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::role::act;
use crate::http::pages::careers;
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::pages::texts::console::role::ROLE;
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::role::RoleRecord;
use crate::store::{self, Error, Tx};

/// A request for a preview.
pub(super) struct PreviewInput {
    visit: Visit,
    /// `None` for a new role.
    role_id: Option<RoleId>,
    /// The typed values; `None` for the saved ones.
    form: Option<RoleForm>,
    /// Whether the form is for an unsaved copy of the role.
    is_copy: bool,
}

/// # Errors
/// `validation_error` if a parameter is repeated.
pub(super) fn decode_new(_: &Ctx, request: &Request) -> Result<PreviewInput, Error> {
    let is_copy = request.query("copy")?.is_some();
    Ok(PreviewInput { visit: Visit::decode(request)?, role_id: None, form: None, is_copy })
}

/// # Errors
/// The errors of [`decode_new`]; `unsupported_media_type` for a body that is not a form; `validation_error` if a field
/// is repeated.
pub(super) fn decode_typed_new(ctx: &Ctx, request: &Request) -> Result<PreviewInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    Ok(PreviewInput { form: Some(RoleForm::decode(form)?), ..decode_new(ctx, request)? })
}

/// # Errors
/// The errors of [`decode_new`]; `not_found` if the path has no valid id.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<PreviewInput, Error> {
    Ok(PreviewInput { role_id: Some(visit::id(request, "id")?), ..decode_new(ctx, request)? })
}

/// # Errors
/// The errors of [`decode`] and [`decode_typed_new`].
pub(super) fn decode_typed(ctx: &Ctx, request: &Request) -> Result<PreviewInput, Error> {
    Ok(PreviewInput { role_id: Some(visit::id(request, "id")?), ..decode_typed_new(ctx, request)? })
}

/// `GET` and `POST /app/{orgSlug}/roles/{id}/preview` and `…/roles/new/preview`: show the preview.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization or the role does not exist or the caller may not
/// see it.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &PreviewInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let texts = input.visit.texts_for(tx, who)?;
    let mut role = match &input.role_id {
        Some(id) => store::role::find(tx, &organization.id, id)?.ok_or(ABSENT)?.record,
        None => RoleRecord::draft(ctx.world.id(), tx.now),
    };
    if input.is_copy {
        role.name = fill(ROLE.of(texts).copy_of, &[("role", &role.name)]);
        role.closes_on = None;
    }
    if role.name.is_empty() {
        ROLE.of(texts).unnamed.clone_into(&mut role.name);
    }
    if let Some(form) = &input.form {
        role = previewed(form, &role, act::today(ctx, tx, &organization.id)?);
    }
    let portal = store::portal::in_preview(tx, &organization.id)?.ok_or(ABSENT)?;
    careers::preview(ctx, texts, &portal, &role, organization.has_portal())
}

/// Returns the role with the typed values. The saved value replaces an invalid typed value. If the saved value is
/// invalid too, the field becomes empty.
fn previewed(form: &RoleForm, before: &RoleRecord, today: Date) -> RoleRecord {
    let (mut form, saved) = (form.clone(), RoleForm::of(before));
    // Each round replaces the values that the rules refuse.
    for _ in 0..super::form::FIELDS.len() {
        let attempt = form.change(&before.description).and_then(|change| change.apply(before, today));
        let refusal = match attempt {
            Ok(role) => return role,
            Err(refusal) => refusal,
        };
        let refused: Vec<String> = refusal.errors().iter().map(|error| error.field.clone()).collect();
        if refused.is_empty() {
            // The refusal names no field: there are fewer positions than hires.
            form.set("positions", saved.get("positions"));
        }
        for name in refused {
            let name = name.split('.').next().unwrap_or_default();
            let value = if form.get(name) == saved.get(name) { "" } else { saved.get(name) };
            form.set(name, value);
        }
    }
    before.clone()
}

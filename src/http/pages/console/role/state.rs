//! `POST /app/{orgSlug}/roles/{id}/open`, `/close`, `/reopen` and `/delete`: open, close, reopen or delete a role.
//!
//! A request to open or reopen a role that is already open or filled is answered as if it had opened the role. A
//! request to close a role that is already closed with the same reason is answered as if it had closed the role. A form
//! may therefore be submitted twice. A second request to delete a role is answered with `not_found`.

use super::form::RoleForm;
use super::page::{PageRequest, Refused};
use super::role_visit::{RoleVisit, path};
use crate::domain::refusal::Refusal;
use crate::domain::role::{CLOSE_REASON_CHARACTERS_MAX, RoleStatus};
use crate::domain::user::Principal;
use crate::http::api::role::act;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::role::Role;
use crate::store::{self, Error, Tx};

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<RoleVisit, Error> {
    RoleVisit::decode(request)
}

/// `POST /app/{orgSlug}/roles/{id}/open`: opens a draft.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`RoleVisit::find_to_manage`]; `conflict` with the reason if the
/// role cannot be opened in this way.
pub(super) fn open(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleVisit) -> Result<Reply, Error> {
    let (organization, role) = input.find_to_manage(tx, who)?;
    if matches!(role.record.seats.status, RoleStatus::Open | RoleStatus::Filled) {
        return Ok(done(&organization, &role, "opened"));
    }
    match act::open(ctx, tx, who, &role) {
        Ok(()) => Ok(done(&organization, &role, "opened")),
        Err(error) => refuse(ctx, tx, who, input, &organization, &role, error),
    }
}

/// `POST /app/{orgSlug}/roles/{id}/reopen`: opens a closed role again.
///
/// # Errors
/// The errors of [`open`].
pub(super) fn reopen(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleVisit) -> Result<Reply, Error> {
    let (organization, role) = input.find_to_manage(tx, who)?;
    if matches!(role.record.seats.status, RoleStatus::Open | RoleStatus::Filled) {
        return Ok(done(&organization, &role, "opened"));
    }
    match act::reopen(ctx, tx, who, &role) {
        Ok(()) => Ok(done(&organization, &role, "opened")),
        Err(error) => refuse(ctx, tx, who, input, &organization, &role, error),
    }
}

/// A submitted reason for closing a role.
pub(super) struct CloseInput {
    role: RoleVisit,
    reason: String,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `not_found` if the path has no valid id; `validation_error`
/// if a field, `lang` or `locale` is repeated.
pub(super) fn decode_close(_: &Ctx, request: &Request) -> Result<CloseInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let reason = form.text("reason")?.unwrap_or_default().replace("\r\n", "\n").trim().to_owned();
    Ok(CloseInput { role: RoleVisit::decode(request)?, reason })
}

/// `POST /app/{orgSlug}/roles/{id}/close`: closes an open or filled role.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`RoleVisit::find_to_manage`]; `validation_error` without a valid
/// reason; `conflict` if the role is a draft, or was closed with another reason.
pub(super) fn close(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CloseInput) -> Result<Reply, Error> {
    let (organization, role) = input.role.find_to_manage(tx, who)?;
    let reason = match valid_reason(&input.reason) {
        Ok(reason) => reason,
        Err(refusal) => {
            let refused = Refused::Reason(refusal, input.reason.clone());
            let form = RoleForm::of(&role.record);
            let page = PageRequest::new(&input.role.visit, who, &organization, form);
            return page.refused(refused).render_role(ctx, tx, &role);
        }
    };
    let is_closed = role.record.seats.status == RoleStatus::Closed;
    if is_closed && role.record.close_reason.as_deref() == Some(&reason) {
        return Ok(done(&organization, &role, "closed"));
    }
    match act::close(ctx, tx, who, &role, &reason) {
        Ok(()) => Ok(done(&organization, &role, "closed")),
        Err(error) => refuse(ctx, tx, who, &input.role, &organization, &role, error),
    }
}

fn valid_reason(typed: &str) -> Result<String, Refusal> {
    let mut fields = BodyFields::new([("reason".to_owned(), typed.into())].into_iter().collect());
    let reason = fields.required_lines("reason", CLOSE_REASON_CHARACTERS_MAX);
    fields.valid_with(reason)
}

/// `POST /app/{orgSlug}/roles/{id}/delete`: deletes a draft without applications.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`RoleVisit::find_to_manage`]; `conflict` for any other role.
pub(super) fn delete(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleVisit) -> Result<Reply, Error> {
    let (organization, role) = input.find_to_manage(tx, who)?;
    match act::delete(ctx, tx, who, &role) {
        Ok(()) => Ok(Reply::see_other(&format!("/app/{}/roles?done=deleted", organization.slug))),
        Err(error) => refuse(ctx, tx, who, input, &organization, &role, error),
    }
}

fn done(organization: &VisibleOrganization, role: &Role, done: &str) -> Reply {
    Reply::see_other(&format!("{}/edit?done={done}", path(organization, &role.record.id)))
}

/// Shows the role as it is now, and the reason why nothing was done. The page also says why the role cannot be opened,
/// if it cannot.
fn refuse(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    input: &RoleVisit,
    organization: &VisibleOrganization,
    role: &Role,
    error: Error,
) -> Result<Reply, Error> {
    let Error::Refused(refusal) = error else { return Err(error) };
    let is_draft = role.record.seats.status == RoleStatus::Draft;
    let has_applications = is_draft && store::role::applications(tx, &role.record.id)?.total() > 0;
    let refused = Refused::Act(
        refusal,
        Some(if has_applications { |words| words.has_applications } else { |words| words.not_possible }),
    );
    let page = PageRequest::new(&input.visit, who, organization, RoleForm::of(&role.record));
    page.refused(refused).render_role(ctx, tx, role)
}

//! `POST /signup/{token}`: a submitted form.

use hyper::header;

use super::form::{self, FilledForm};
use super::form_error::{FieldError, FormError};
use super::no_form;
use super::visit::{SignupVisit, application_cookie};
use crate::domain::attachment::{AttachmentFault, AttachmentToken};
use crate::domain::form::{FormAge, SignedForm};
use crate::domain::invitation::LinkTarget;
use crate::domain::refusal::Refusal;
use crate::domain::signup::{FieldFault, FormField, SubmittedSignup};
use crate::domain::status_page;
use crate::http::api::signup::CHECKED_VALUES;
use crate::http::server::ctx::Ctx;
use crate::http::server::form::{FileUse, Form, Trouble, Upload};
use crate::http::server::form_rules::Prechecked;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::DecodedInput;
use crate::store::signup::SignupInput;
use crate::store::{self, Error, Tx};

/// The fields that people do not fill in: the signed form, the token of a file that is already uploaded, and the hidden
/// field that only robots fill in.
const SIGNATURE_FIELD: &str = "form";
const ATTACHMENT_FIELD: &str = "cvToken";
const TRAP_FIELD: &str = "homepage";

/// Checks the link and the limit of the client's network before the server reads the body. Every submission under a
/// known link counts towards the limit, even one with errors, because it may contain a file.
///
/// The service still reads a form that exceeds the limit, so that it can show the form again with its values. A second
/// limit of the same size determines for how many such forms per hour from one network the service stages the file. The
/// service discards further files, so that nobody can fill the disk.
pub(super) fn precheck(ctx: &Ctx, tx: &Tx<'_>, request: &Request) -> Result<Prechecked, Error> {
    let visit = SignupVisit::decode(request)?;
    if visit.invitation(ctx, tx)?.is_none() {
        return no_form::form_not_sent(&visit, None).map(|reply| Prechecked::Answered(Box::new(reply)));
    }
    let client = request.client();
    let Err(retry_after_s) = ctx.form_limit.take(client)? else { return Ok(Prechecked::Proceed) };
    let may_stage = ctx.redisplay_limit.take(client)?.is_ok();
    let file_use = if may_stage { FileUse::Stage } else { FileUse::Discard };
    Ok(Prechecked::Refused(Trouble::Limited { retry_after_s }, file_use))
}

/// A form without errors.
pub(super) struct Submission {
    visit: SignupVisit,
    form: FilledForm,
    input: SignupInput,
    /// The token of the application's status page.
    status_token: String,
}

/// A form with errors. Only its file is stored, staged for the next submission.
pub(super) struct RefusedSubmission {
    visit: SignupVisit,
    form: FilledForm,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a query parameter is given twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<DecodedInput<Submission, RefusedSubmission>, Error> {
    let visit = SignupVisit::decode(request)?;
    let sent = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    if let Some(trouble) = sent.trouble() {
        return Ok(DecodedInput::Read(refuse_for_trouble(ctx, visit, sent, trouble)));
    }
    let (signed, mut form) = filled_form(ctx, &visit, sent);
    let checked = form.typed.check();
    match (signed, checked) {
        (Some(signed), Ok(checked)) if !form.has_errors() => {
            let status_token = status_page::token_of_form(ctx.store.form_secret(), &signed.id);
            let input = SignupInput {
                checked,
                locale: visit.texts.tag.to_owned(),
                digest: status_page::token_digest(&status_token),
                attachment: form.attachment.clone(),
            };
            Ok(DecodedInput::Act(Submission { visit, form, input, status_token }))
        }
        (_, checked) => {
            add_field_faults(&mut form, checked.err().unwrap_or_default(), sent);
            Ok(DecodedInput::Read(RefusedSubmission { visit, form }))
        }
    }
}

/// Reads the values of the form, checks its signature, and chooses its file. Also returns the signed form if the
/// signature is valid.
fn filled_form(ctx: &Ctx, visit: &SignupVisit, sent: &Form) -> (Option<SignedForm>, FilledForm) {
    let mut form = FilledForm { typed: typed_fields(sent), ..FilledForm::default() };
    let signed = check_signature(ctx, visit, sent, &mut form);
    let accepts_file = signed.is_some() && form.form_error != Some(FormError::Robot);
    choose_attachment(sent, accepts_file, &mut form);
    (signed, form)
}

/// Refuses a form for a reason outside the form, without checking its fields.
fn refuse_for_trouble(ctx: &Ctx, visit: SignupVisit, sent: &Form, trouble: Trouble) -> RefusedSubmission {
    let (_, mut form) = filled_form(ctx, &visit, sent);
    form.form_error = Some(match trouble {
        Trouble::Limited { retry_after_s } => FormError::Limited { retry_after_s },
        Trouble::Unavailable => FormError::Unavailable,
    });
    RefusedSubmission { visit, form }
}

/// `POST /signup/{token}`: shows the form again after the service failed to accept it.
///
/// # Errors
/// The errors of [`decode`] and [`refuse`].
pub(super) fn show_again(ctx: &Ctx, tx: &Tx<'_>, request: &Request, trouble: Trouble) -> Result<Reply, Error> {
    let sent = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    refuse(ctx, tx, &refuse_for_trouble(ctx, SignupVisit::decode(request)?, sent, trouble))
}

fn typed_fields(sent: &Form) -> SubmittedSignup {
    let first = |name| sent.texts(name).next().unwrap_or_default().to_owned();
    SubmittedSignup {
        name: first("name"),
        email: first("email"),
        phone: first("phone"),
        links: sent.texts("links").flat_map(str::lines).map(str::to_owned).collect(),
        note: first("note"),
        consents: sent.texts("consent").next().is_some_and(|text| CHECKED_VALUES.contains(&text)),
    }
}

/// Verifies the signature and age of the form, checks the trap field, and sets the form's error. Signs a new form if
/// the signature is invalid or the form is too old. A form that was submitted too soon retains its signature, because
/// the form becomes valid a moment later.
fn check_signature(ctx: &Ctx, visit: &SignupVisit, sent: &Form, form: &mut FilledForm) -> Option<SignedForm> {
    let text = sent.texts(SIGNATURE_FIELD).next().unwrap_or_default();
    let signed = SignedForm::verify(ctx.store.form_secret(), &visit.token, text);
    let age = signed.as_ref().map_or(FormAge::TooOld, |signed| signed.age(ctx.world.now()));
    form.signature = if age == FormAge::TooOld { form::sign_new_form(ctx, visit) } else { text.to_owned() };
    form.form_error = match age {
        _ if sent.texts(TRAP_FIELD).any(|text| !text.is_empty()) => Some(FormError::Robot),
        // No field was read, because the form or its file is too large. The age of the form is unknown, so the page
        // reports only the size.
        _ if sent.is_unread() => None,
        FormAge::TooYoung => Some(FormError::TooSoon),
        FormAge::TooOld => Some(FormError::TooOld),
        FormAge::Good => None,
    };
    signed
}

/// Chooses the file of this submission if it was uploaded without a fault and `accepts_file` is true. Otherwise chooses
/// the file that an earlier submission uploaded, if there is one. Adds a field error for a fault of the upload.
fn choose_attachment(sent: &Form, accepts_file: bool, form: &mut FilledForm) {
    let earlier = || sent.texts(ATTACHMENT_FIELD).next().and_then(AttachmentToken::parse);
    match sent.upload() {
        Some(Upload::Staged(staged)) if accepts_file => form.attachment = Some(staged.token.clone()),
        Some(Upload::Fault(fault)) => {
            form.field_errors.push((FormField::Cv, FieldError::File(*fault)));
            form.attachment = earlier();
        }
        Some(Upload::Staged(_)) | None => form.attachment = earlier(),
    }
}

/// Adds the faults of the typed fields, and sorts all field errors into the order of the form. The server stops reading
/// at a file that is too large, so the fields after the file are not reported as missing.
fn add_field_faults(form: &mut FilledForm, faults: Vec<(FormField, FieldFault)>, sent: &Form) {
    let is_truncated = form.field_errors.contains(&(FormField::Cv, FieldError::File(AttachmentFault::TooLarge)));
    let was_sent = |field: FormField| sent.texts(field.as_str()).next().is_some();
    let faults = faults.into_iter().filter(|(field, _)| !is_truncated || was_sent(*field));
    form.field_errors.extend(faults.map(|(field, fault)| (field, FieldError::Typed(fault))));
    form.field_errors.sort_by_key(|(field, _)| *field);
}

/// `POST /signup/{token}`: shows the form again, with its errors.
///
/// # Errors
/// Each refusal is rendered as a page: `validation_error` for an invalid form; `payload_too_large` if the file is too
/// large; `rate_limited` or `unavailable` if the service did not accept the form or its file; `not_found` and `gone` as
/// for [`form::show`].
pub(super) fn refuse(
    ctx: &Ctx,
    tx: &Tx<'_>,
    RefusedSubmission { visit, form }: &RefusedSubmission,
) -> Result<Reply, Error> {
    let staged = form.attachment.as_ref().map(|token| store::attachment::find_staged(tx, token)).transpose()?.flatten();
    match visit.invitation(ctx, tx)? {
        Some(invitation) if invitation.target == LinkTarget::Open => {
            form::show_again(visit, &invitation, form, staged.as_ref())
        }
        other => no_form::form_not_sent(visit, other.as_ref()),
    }
}

/// `POST /signup/{token}`: submits an application and redirects to its status page. If the same form was submitted
/// before, redirects to the status page of that application.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` and `gone` as for [`form::show`]; `conflict` if this browser has
/// already been used to apply for the role; `validation_error`, with the form, if the form's file has expired.
pub(super) fn act(ctx: &Ctx, tx: &Tx<'_>, submission: &Submission) -> Result<Reply, Error> {
    let Submission { visit, form, input, status_token } = submission;
    let accepted = |role| {
        let path = format!("/status/{status_token}?new=1");
        Reply::see_other(&path).with(header::SET_COOKIE, &application_cookie(ctx, role, status_token))
    };
    if let Some(role) = store::status_page::role(tx, &input.digest)? {
        return Ok(accepted(&role));
    }
    if store::status_page::is_spent(tx, &input.digest)? {
        // The form's application was deleted or has a new link. The page of the spent link explains both cases.
        return Ok(Reply::see_other(&format!("/status/{status_token}")));
    }
    let invitation = match visit.invitation(ctx, tx)? {
        Some(invitation) if invitation.target == LinkTarget::Open => invitation,
        other => return no_form::form_not_sent(visit, other.as_ref()),
    };
    if let Some(token) = visit.status_token(tx, &invitation.role_id)? {
        return no_form::applied_before(visit, &invitation, token);
    }
    let staged =
        input.attachment.as_ref().map(|token| store::attachment::find_staged(tx, token)).transpose()?.flatten();
    if input.attachment.is_some() && staged.is_none() {
        let (signature, typed) = (form.signature.clone(), form.typed.clone());
        let field_errors = vec![(FormField::Cv, FieldError::FileExpired)];
        let form = FilledForm { signature, typed, field_errors, ..FilledForm::default() };
        return form::show_again(visit, &invitation, &form, None);
    }
    store::signup::submit(tx, &*ctx.world, &invitation, input)?;
    Ok(accepted(&invitation.role_id).retaining_upload(staged.as_ref()))
}

//! `POST /signup/{token}`: a form that was sent.

use hyper::header;

use super::form::{self, Sheet};
use super::said;
use super::visit::{Visit, cookie};
use super::words::{Problem, Wrong};
use crate::domain::attachment;
use crate::domain::form::{FormAge, SignedForm};
use crate::domain::invitation::LinkTarget;
use crate::domain::refusal::Refusal;
use crate::domain::signup::{FieldFault, FormField, TypedSignup};
use crate::domain::status_page;
use crate::http::api::signup::CHECKED_VALUES;
use crate::http::server::ctx::Ctx;
use crate::http::server::form::{self as sent, FileUse, Trouble};
use crate::http::server::form_rules::Prechecked;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::DecodedInput;
use crate::store::signup::SignupInput;
use crate::store::{self, Error, Tx};

/// The fields that nobody types: what proves when the form was made, the file that came before, the one for robots.
const FORM_FIELD: &str = "form";
const ATTACHMENT_FIELD: &str = "cvToken";
const TRAP_FIELD: &str = "homepage";

/// Looks before anything is read whether there is such a link, and whether its address has sent too much: each form that
/// comes counts, whatever is wrong with it, because each may bring a file. A form too many is read all the same, so that it
/// can be shown again. As many forms an hour as are allowed keep their file then; of further ones only the texts are read,
/// so that nobody fills the disk that way.
pub(super) fn precheck(ctx: &Ctx, tx: &Tx<'_>, request: &Request) -> Result<Prechecked, Error> {
    let visit = Visit::of(request)?;
    if visit.follow(tx)?.is_none() {
        return said::not_sent(&visit, None).map(|reply| Prechecked::Answered(Box::new(reply)));
    }
    let (client, now) = (request.client(), ctx.world.monotonic());
    let Err(retry_after_s) = ctx.form_limit.take(client, now) else { return Ok(Prechecked::Proceed) };
    let is_kept = ctx.redisplay_limit.take(client, now).is_ok();
    let file_use = if is_kept { FileUse::Stage } else { FileUse::Discard };
    Ok(Prechecked::Refused(Trouble::Limited { retry_after_s }, file_use))
}

/// A form that nothing is wrong with.
pub(super) struct Sent {
    visit: Visit,
    sheet: Sheet,
    input: SignupInput,
    /// The token of the page where whoever sent it sees where they stand.
    status_token: String,
}

/// A form with something wrong in it. Nothing of it is stored but the file that came with it, for a while, where the form is
/// shown once more.
pub(super) struct Refused {
    visit: Visit,
    sheet: Sheet,
}

/// What was sent, and whether something is wrong with it.
///
/// # Errors
/// `unsupported_media_type` for what is no form.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<DecodedInput<Sent, Refused>, Error> {
    let visit = Visit::of(request)?;
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    if let Some(trouble) = form.trouble() {
        return Ok(DecodedInput::Read(troubled(ctx, visit, form, trouble)));
    }
    let (made, mut sheet) = filled(ctx, &visit, form);
    let checked = sheet.typed.check();
    match (made, checked) {
        (Some(made), Ok(checked)) if !sheet.is_wrong() => {
            let status_token = status_page::token_of_form(ctx.store.form_secret(), &made.id);
            let input = SignupInput {
                checked,
                locale: visit.texts.tag.to_owned(),
                digest: status_page::token_digest(&status_token),
                attachment: sheet.attachment.clone(),
            };
            Ok(DecodedInput::Act(Sent { visit, sheet, input, status_token }))
        }
        (_, checked) => {
            add_faults(&mut sheet, checked.err().unwrap_or_default(), form);
            Ok(DecodedInput::Read(Refused { visit, sheet }))
        }
    }
}

/// The sheet that a form was filled to, and the form that it was filled on.
fn filled(ctx: &Ctx, visit: &Visit, form: &sent::Form) -> (Option<SignedForm>, Sheet) {
    let mut sheet = Sheet { typed: typed(form), ..Sheet::default() };
    let made = signature(ctx, visit, form, &mut sheet);
    let is_kept = made.is_some() && sheet.problem != Some(Problem::Robot);
    upload(form, is_kept, &mut sheet);
    (made, sheet)
}

/// The form once more, because of a trouble that is not the sender's: faults of what was typed are not looked for.
fn troubled(ctx: &Ctx, visit: Visit, form: &sent::Form, trouble: Trouble) -> Refused {
    let (_, mut sheet) = filled(ctx, &visit, form);
    sheet.problem = Some(match trouble {
        Trouble::Limited { retry_after_s } => Problem::Limited { retry_after_s },
        Trouble::Unavailable => Problem::Unavailable,
    });
    Refused { visit, sheet }
}

/// `POST /signup/{token}`: the form once more where it could not be taken now.
///
/// # Errors
/// As [`refuse`].
pub(super) fn show_again(ctx: &Ctx, tx: &Tx<'_>, request: &Request, trouble: Trouble) -> Result<Reply, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    refuse(ctx, tx, &troubled(ctx, Visit::of(request)?, form, trouble))
}

fn typed(form: &sent::Form) -> TypedSignup {
    let first = |name| form.texts(name).next().unwrap_or_default().to_owned();
    TypedSignup {
        name: first("name"),
        email: first("email"),
        phone: first("phone"),
        links: form.texts("links").flat_map(str::lines).map(str::to_owned).collect(),
        note: first("note"),
        consents: form.texts("consent").next().is_some_and(|text| CHECKED_VALUES.contains(&text)),
    }
}

/// The form that was sent, where it is one of ours and neither too young nor too old. One that is not good any more is
/// followed by a new one; one that came too soon stays, and is good a moment later.
fn signature(ctx: &Ctx, visit: &Visit, form: &sent::Form, sheet: &mut Sheet) -> Option<SignedForm> {
    let text = form.texts(FORM_FIELD).next().unwrap_or_default();
    let made = SignedForm::verify(ctx.store.form_secret(), &visit.token, text);
    let age = made.as_ref().map_or(FormAge::TooOld, |made| made.age(ctx.world.now()));
    sheet.signed = if age == FormAge::TooOld { form::signed(ctx, visit) } else { text.to_owned() };
    sheet.problem = match age {
        _ if form.texts(TRAP_FIELD).any(|text| !text.is_empty()) => Some(Problem::Robot),
        // Its age is not known, and not what is wrong with it.
        _ if form.is_unread() => None,
        FormAge::TooYoung => Some(Problem::TooSoon),
        FormAge::TooOld => Some(Problem::TooOld),
        FormAge::Good => None,
    };
    made
}

/// The file that came with the form, where that is a person's and ours, else the one that came before.
fn upload(form: &sent::Form, is_kept: bool, sheet: &mut Sheet) {
    let before = || form.texts(ATTACHMENT_FIELD).next().and_then(attachment::AttachmentToken::parse);
    match form.upload() {
        Some(sent::Upload::Staged(staged)) if is_kept => sheet.attachment = Some(staged.token.clone()),
        Some(sent::Upload::Fault(fault)) => {
            sheet.faults.push((FormField::Cv, Wrong::File(*fault)));
            sheet.attachment = before();
        }
        Some(sent::Upload::Staged(_)) | None => sheet.attachment = before(),
    }
}

/// Adds what is wrong with what was typed, in the order of the form. Behind a file that is too large nothing was read, so
/// what is missing there is nobody's fault.
fn add_faults(sheet: &mut Sheet, faults: Vec<(FormField, FieldFault)>, form: &sent::Form) {
    let is_cut = sheet.faults.contains(&(FormField::Cv, Wrong::File(attachment::AttachmentFault::TooLarge)));
    let is_there = |field: FormField| form.texts(field.as_str()).next().is_some();
    let faults = faults.into_iter().filter(|(field, _)| !is_cut || is_there(*field));
    sheet.faults.extend(faults.map(|(field, fault)| (field, Wrong::Typed(fault))));
    sheet.faults.sort_by_key(|(field, _)| *field);
}

/// `POST /signup/{token}`: the form once more, with what is wrong.
///
/// # Errors
/// As pages: `validation_error`, or `payload_too_large` where the file is; `not_found`, `gone`, as for the form.
pub(super) fn refuse(_: &Ctx, tx: &Tx<'_>, Refused { visit, sheet }: &Refused) -> Result<Reply, Error> {
    let staged =
        sheet.attachment.as_ref().map(|token| store::attachment::find_staged(tx, token)).transpose()?.flatten();
    match visit.follow(tx)? {
        Some(invitation) if invitation.target == LinkTarget::Open => {
            form::again(visit, &invitation, sheet, staged.as_ref())
        }
        other => said::not_sent(visit, other.as_ref()),
    }
}

/// `POST /signup/{token}`: applies. A form that was sent before is answered as it was then, whatever has come of it.
///
/// # Errors
/// As pages: `not_found`, `gone`, as for the form; `conflict` for a browser that has applied to the role; the form once more
/// where the file that came before is not there any more.
pub(super) fn act(ctx: &Ctx, tx: &Tx<'_>, sent: &Sent) -> Result<Reply, Error> {
    let Sent { visit, sheet, input, status_token } = sent;
    let accepted = |role| {
        let path = format!("/status/{status_token}?new=1");
        Reply::see_other(&path).with(header::SET_COOKIE, &cookie(ctx, role, status_token))
    };
    if let Some(role) = store::status_page::role(tx, &input.digest)? {
        return Ok(accepted(&role));
    }
    if store::status_page::is_spent(tx, &input.digest)? {
        // What the form made was deleted, or has a new link: the old one leads to the page that says so.
        return Ok(Reply::see_other(&format!("/status/{status_token}")));
    }
    let invitation = match visit.follow(tx)? {
        Some(invitation) if invitation.target == LinkTarget::Open => invitation,
        other => return said::not_sent(visit, other.as_ref()),
    };
    if let Some(token) = visit.status_token(tx, &invitation.role_id)? {
        return said::applied_before(visit, &invitation, token);
    }
    let staged =
        input.attachment.as_ref().map(|token| store::attachment::find_staged(tx, token)).transpose()?.flatten();
    if input.attachment.is_some() && staged.is_none() {
        let faults = vec![(FormField::Cv, Wrong::FileGone)];
        let (signed, typed) = (sheet.signed.clone(), sheet.typed.clone());
        return form::again(visit, &invitation, &Sheet { signed, typed, faults, ..Sheet::default() }, None);
    }
    store::signup::submit(tx, &*ctx.world, &invitation, input)?;
    Ok(accepted(&invitation.role_id).retaining_upload(staged.as_ref()))
}

//! `POST /api/public/signup/{token}`: a signup from an organization's own form.

use hyper::Method;
use serde::Serialize;

use super::envelope;
use crate::domain::attachment;
use crate::domain::form::{ID_RANDOM_BYTES, SignedForm};
use crate::domain::invitation::{LOCALE_MUST_BE, LinkTarget, is_locale};
use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::signup::{CheckedSignup, FormField, SubmittedSignup};
use crate::domain::status_page;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::form::{Form, Upload};
use crate::http::server::form_rules::Prechecked;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::attachment::StagedAttachment;
use crate::store::signup::SignupInput as NewSignup;
use crate::store::{self, Error, Grade, Tx};

const LOCALE: &str = "locale";

/// The form field that contains the attachment.
pub(in crate::http) const FILE_FIELD: &str = "cv";

/// The values of a checked box. `on` is HTML's default.
pub(in crate::http) const CHECKED_VALUES: [&str; 2] = ["on", "true"];

pub(in crate::http) const NO_LINK: Refusal =
    Refusal::NotFound("there is no such link, or its role is no longer public");
pub(in crate::http) const LINK_EXPIRED: Refusal =
    Refusal::Gone("the link has expired; the role is still open, so ask the portal for a new link");
pub(in crate::http) const ROLE_CLOSED: Refusal = Refusal::Gone("the role no longer accepts applications");

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Public, Method::POST, "/api/public/signup/{token}", decode, act)
            .with_upload(FILE_FIELD, precheck)
            .in_constant_time()
            .or_json()
            .writes(Grade::Durable)
            .answering(&[
                (200, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (404, "not_found"),
                (410, "gone"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ]),
    ]
}

/// Checks the link and the limit of the client's network before the body is read.
///
/// # Errors
/// `not_found` if there is no such link, if its role is a draft or not public, or if the organization or its portal is
/// disabled; `rate_limited` if the client's network has sent too many forms.
fn precheck(ctx: &Ctx, tx: &Tx<'_>, request: &Request) -> Result<Prechecked, Error> {
    if store::invitation::follow(tx, &*ctx.world, request.param("token"))?.is_none() {
        return Err(NO_LINK.into());
    }
    let taken = ctx.form_limit.take(request.client())?;
    taken.map_err(|retry_after_s| Refusal::RateLimited { retry_after_s })?;
    Ok(Prechecked::Proceed)
}

struct SignupInput {
    link: String,
    checked: CheckedSignup,
    locale: String,
    attachment: Option<StagedAttachment>,
    /// Random bytes, in place of the id of a rendered form.
    form_id: [u8; ID_RANDOM_BYTES],
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `payload_too_large` if the file is too large; `unavailable` if there
/// is no room for it; `validation_error`, which names every invalid field.
fn decode(ctx: &Ctx, request: &Request) -> Result<SignupInput, Error> {
    let browser_locale = request.language()?.tag();
    let mut unchecked = match request.form() {
        Some(form) => UncheckedFields::from_form(form)?,
        None => UncheckedFields::from_object(request.object()?),
    };
    if unchecked.locale.as_ref().is_some_and(|locale| !is_locale(locale)) {
        unchecked.fault(LOCALE, LOCALE_MUST_BE.to_owned());
    }
    let checked = unchecked.typed.check();
    for (field, fault) in checked.as_ref().err().into_iter().flatten() {
        unchecked.fault(field.as_str(), fault.sentence());
    }
    let Some(checked) = checked.ok().filter(|_| unchecked.errors.is_empty()) else {
        return Err(Refusal::Invalid(in_order(unchecked.errors)).into());
    };
    let mut form_id = [0; ID_RANDOM_BYTES];
    ctx.world.fill(&mut form_id);
    Ok(SignupInput {
        link: request.param("token").to_owned(),
        checked,
        locale: unchecked.locale.unwrap_or_else(|| browser_locale.to_owned()),
        attachment: unchecked.attachment,
        form_id,
    })
}

/// Sorts errors in the order of the form's fields. Errors in other fields come last.
fn in_order(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    let position = |error: &FieldError| FormField::ALL.iter().position(|field| field.as_str() == error.field);
    errors.sort_by_key(|error| position(error).unwrap_or(FormField::ALL.len()));
    errors
}

/// The fields of a signup before they are checked.
#[derive(Default)]
struct UncheckedFields {
    typed: SubmittedSignup,
    locale: Option<String>,
    attachment: Option<StagedAttachment>,
    errors: Vec<FieldError>,
}

impl UncheckedFields {
    /// # Errors
    /// `payload_too_large` if the file is too large; `unavailable` if there is no room for it.
    fn from_form(form: &Form) -> Result<Self, Error> {
        let mut unchecked = Self::default();
        match form.upload() {
            Some(Upload::Staged(staged)) => unchecked.attachment = Some(staged.clone()),
            Some(Upload::Fault(attachment::AttachmentFault::TooLarge)) => {
                return Err(Refusal::PayloadTooLarge(attachment::ATTACHMENT_BYTES_MAX).into());
            }
            Some(Upload::Fault(attachment::AttachmentFault::NoRoom)) => {
                return Err(attachment::NO_ROOM_FOR_FILE.into());
            }
            Some(Upload::Fault(fault)) => unchecked.fault(FILE_FIELD, fault.detail()),
            None => {}
        }
        let mut text = |name| match form.text(name) {
            Ok(text) => text.unwrap_or_default().to_owned(),
            Err(refusal) => {
                unchecked.errors.extend_from_slice(refusal.errors());
                String::new()
            }
        };
        let (name, email, phone, note) = (text("name"), text("email"), text("phone"), text("note"));
        let (consent, locale) = (text("consent"), text(LOCALE));
        let links = form.texts("links").flat_map(str::lines).map(str::to_owned).collect();
        let consents = CHECKED_VALUES.contains(&consent.as_str());
        unchecked.typed = SubmittedSignup { name, email, phone, links, note, consents };
        unchecked.locale = Some(locale).filter(|locale| !locale.is_empty());
        Ok(unchecked)
    }

    fn from_object(mut fields: BodyFields) -> Self {
        let mut text = |name| fields.string(name).unwrap_or_default();
        let (name, email, phone, note) = (text("name"), text("email"), text("phone"), text("note"));
        let links = fields.strings("links").unwrap_or_default();
        let consents = fields.boolean("consent").unwrap_or_default();
        let locale = fields.string(LOCALE);
        let errors = fields.valid().err().map_or_else(Vec::new, |refusal| refusal.errors().to_vec());
        Self { typed: SubmittedSignup { name, email, phone, links, note, consents }, locale, attachment: None, errors }
    }

    /// Adds an error unless the field already has one. A field of the wrong type is therefore not also reported as
    /// missing.
    fn fault(&mut self, field: &str, detail: String) {
        if !self.errors.iter().any(|error| error.field == field) {
            self.errors.push(FieldError { field: field.to_owned(), detail });
        }
    }
}

/// `POST /api/public/signup/{token}`: submits an application and answers with its status link.
///
/// # Errors
/// `not_found` if there is no such link, its role is not public, or the organization or its portal is disabled; `gone`
/// if the link has expired or the role no longer accepts applications.
fn act(ctx: &Ctx, tx: &Tx<'_>, input: &SignupInput) -> Result<Reply, Error> {
    let invitation = store::invitation::follow(tx, &*ctx.world, &input.link)?.ok_or(NO_LINK)?;
    match invitation.target {
        LinkTarget::Open => {}
        LinkTarget::Expired => return Err(LINK_EXPIRED.into()),
        LinkTarget::Closed => return Err(ROLE_CLOSED.into()),
    }
    let token = status_page::token_of_form(ctx.store.form_secret(), &SignedForm::new(&input.form_id, tx.now).id);
    let signup = NewSignup {
        checked: input.checked.clone(),
        locale: input.locale.clone(),
        digest: status_page::token_digest(&token),
        attachment: input.attachment.as_ref().map(|staged| staged.token.clone()),
    };
    store::signup::submit(tx, &*ctx.world, &invitation, &signup)?;
    let status_url = format!("{}/status/{token}", ctx.settings.base_url);
    let reply = envelope::with_data(WireSignup { status_url });
    Ok(reply.retaining_upload(input.attachment.as_ref()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireSignup {
    status_url: String,
}

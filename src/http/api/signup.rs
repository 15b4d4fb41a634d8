//! `POST /api/public/signup/{token}`: the same as the form, for those who build their own.

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use crate::domain::attachment;
use crate::domain::form::{ID_RANDOM_BYTES, SignedForm};
use crate::domain::invitation::{LOCALE_MUST_BE, LinkTarget, is_locale};
use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::signup::{CheckedSignup, FormField, TypedSignup};
use crate::domain::status_page;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::form as sent;
use crate::http::server::form_rules::Prechecked;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::attachment::StagedAttachment;
use crate::store::signup::SignupInput;
use crate::store::{self, Error, Grade, Tx};

const LOCALE: &str = "locale";

/// The field that holds a file.
pub(in crate::http) const FILE_FIELD: &str = "cv";

/// How a form says yes.
pub(in crate::http) const YES: [&str; 2] = ["on", "true"];

pub(in crate::http) const NOWHERE: Refusal =
    Refusal::NotFound("there is no such link, or its role is not public any more");
pub(in crate::http) const EXPIRED: Refusal =
    Refusal::Gone("the link has run out; the role is still open, so ask the portal for a new one");
pub(in crate::http) const CLOSED: Refusal = Refusal::Gone("the role takes no applications any more");

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

/// As for the form: whether there is such a link, and whether its address has sent too much.
fn precheck(ctx: &Ctx, tx: &Tx<'_>, request: &Request) -> Result<Prechecked, Error> {
    if store::invitation::follow(tx, request.param("token"))?.is_none() {
        return Err(NOWHERE.into());
    }
    let taken = ctx.form_limit.take(request.client(), ctx.world.monotonic());
    taken.map_err(|retry_after_s| Refusal::RateLimited { retry_after_s })?;
    Ok(Prechecked::Proceed)
}

struct Sent {
    link: String,
    checked: CheckedSignup,
    locale: String,
    attachment: Option<StagedAttachment>,
    /// Random bytes as a form would have brought them.
    form_id: [u8; ID_RANDOM_BYTES],
}

/// What was sent, with every fault at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `payload_too_large` for a file that is; `unavailable`
/// where there is no room for a file; `validation_error` with every
/// field at fault.
fn decode(ctx: &Ctx, request: &Request) -> Result<Sent, Error> {
    let browser = request.language()?.tag();
    let mut read = match request.form() {
        Some(form) => Read::of_form(form)?,
        None => Read::of_object(request.object()?),
    };
    if read.locale.as_ref().is_some_and(|locale| !is_locale(locale)) {
        read.fault(LOCALE, LOCALE_MUST_BE.to_owned());
    }
    let checked = read.typed.check();
    for (field, fault) in checked.as_ref().err().into_iter().flatten() {
        read.fault(field.as_str(), fault.sentence());
    }
    let Some(checked) = checked.ok().filter(|_| read.errors.is_empty()) else {
        return Err(Refusal::Invalid(in_order(read.errors)).into());
    };
    let mut form_id = [0; ID_RANDOM_BYTES];
    ctx.world.fill(&mut form_id);
    Ok(Sent {
        link: request.param("token").to_owned(),
        checked,
        locale: read.locale.unwrap_or_else(|| browser.to_owned()),
        attachment: read.attachment,
        form_id,
    })
}

/// In the order of the form, and behind its fields what it does not have.
fn in_order(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    let place = |error: &FieldError| FormField::ALL.iter().position(|field| field.as_str() == error.field);
    errors.sort_by_key(|error| place(error).unwrap_or(FormField::ALL.len()));
    errors
}

/// What was sent, as it was read.
#[derive(Default)]
struct Read {
    typed: TypedSignup,
    locale: Option<String>,
    attachment: Option<StagedAttachment>,
    errors: Vec<FieldError>,
}

impl Read {
    fn of_form(form: &sent::Form) -> Result<Self, Error> {
        let mut read = Self::default();
        match form.upload() {
            Some(sent::Upload::Staged(staged)) => read.attachment = Some(staged.clone()),
            Some(sent::Upload::Fault(attachment::AttachmentFault::TooLarge)) => {
                return Err(Refusal::PayloadTooLarge(attachment::ATTACHMENT_BYTES_MAX).into());
            }
            Some(sent::Upload::Fault(attachment::AttachmentFault::NoRoom)) => {
                return Err(attachment::NO_ROOM_FOR_FILE.into());
            }
            Some(sent::Upload::Fault(fault)) => read.fault(FILE_FIELD, fault.detail()),
            None => {}
        }
        let mut text = |name| match form.text(name) {
            Ok(text) => text.unwrap_or_default().to_owned(),
            Err(refusal) => {
                read.errors.extend_from_slice(refusal.errors());
                String::new()
            }
        };
        let (name, email, phone, note) = (text("name"), text("email"), text("phone"), text("note"));
        let (consent, locale) = (text("consent"), text(LOCALE));
        let links = form.texts("links").flat_map(str::lines).map(str::to_owned).collect();
        let consents = YES.contains(&consent.as_str());
        read.typed = TypedSignup { name, email, phone, links, note, consents };
        read.locale = Some(locale).filter(|locale| !locale.is_empty());
        Ok(read)
    }

    fn of_object(mut fields: BodyFields) -> Self {
        let mut text = |name| fields.string(name).unwrap_or_default();
        let (name, email, phone, note) = (text("name"), text("email"), text("phone"), text("note"));
        let links = fields.strings("links").unwrap_or_default();
        let consents = fields.boolean("consent").unwrap_or_default();
        let locale = fields.string(LOCALE);
        let errors = fields.valid().err().map_or_else(Vec::new, |refusal| refusal.errors().to_vec());
        Self { typed: TypedSignup { name, email, phone, links, note, consents }, locale, attachment: None, errors }
    }

    /// Notes that a field is at fault. What was told first of one stays: one of the wrong type is not missing, too.
    fn fault(&mut self, field: &str, detail: String) {
        if !self.errors.iter().any(|error| error.field == field) {
            self.errors.push(FieldError { field: field.to_owned(), detail });
        }
    }
}

/// `POST /api/public/signup/{token}`: applies, and gives the link to where that stands.
///
/// # Errors
/// `not_found` for a link that there is none of, and while its role is not public or its organization's portal is off;
/// `gone` where it has run out or the role takes no applications any more.
fn act(ctx: &Ctx, tx: &Tx<'_>, sent: &Sent) -> Result<Reply, Error> {
    let invitation = store::invitation::follow(tx, &sent.link)?.ok_or(NOWHERE)?;
    match invitation.target {
        LinkTarget::Open => {}
        LinkTarget::Expired => return Err(EXPIRED.into()),
        LinkTarget::Closed => return Err(CLOSED.into()),
    }
    let token = status_page::token_of_form(ctx.store.form_secret(), &SignedForm::new(&sent.form_id, tx.now).id);
    let input = SignupInput {
        checked: sent.checked.clone(),
        locale: sent.locale.clone(),
        digest: status_page::token_digest(&token),
        attachment: sent.attachment.as_ref().map(|staged| staged.token.clone()),
    };
    store::signup::submit(tx, &*ctx.world, &invitation, &input)?;
    let status_url = format!("{}/status/{token}", ctx.settings.base_url);
    let reply = Reply::json(&WireData { success: true, data: WireSignup { status_url } });
    Ok(reply.retaining_upload(sent.attachment.as_ref()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireSignup {
    status_url: String,
}

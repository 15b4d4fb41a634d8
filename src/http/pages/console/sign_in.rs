//! `/sign-in`: the first step of a sign-in, with an address and a password. The sign-in carries the fields of a form
//! that was submitted without a session, so that typed text is not lost.

use askama::Template;
use hyper::{Method, header};

use super::confirm::Then;
use super::frame::PlainFrame;
use super::sign_in_code::{self, CodeForm};
use super::sign_in_form::{self, Carried, START, SentForm, SignInPage};
use super::visit::{self, Visit};
use crate::domain::refusal::Refusal;
use crate::domain::return_path;
use crate::domain::second_factor::Factors;
use crate::http::api::session::{self, CheckedPassword};
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::sign_in::{SIGN_IN, SignInTexts};
use crate::http::pages::texts::{self, fill};
use crate::http::server::authentication::cookie;
use crate::http::server::ctx::Ctx;
use crate::http::server::language::Language;
use crate::http::server::reply::Reply;
use crate::http::server::reply::page::StaffRequest;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::{DecodedInput, Route};
use crate::store::{self, Error, Grade, Tx};

#[derive(Template)]
#[template(path = "console/sign_in_part.html", config = "src/http/pages/templates/askama.toml")]
struct SignInPart {
    words: &'static SignInTexts,
    passkey: &'static PasskeyTexts,
    carried: Carried,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Staff, Method::GET, "/sign-in", decode_page, show).answering(&[
            (200, ""),
            (303, ""),
            (400, "validation_error"),
        ]),
        Route::staff_sign_in(Method::POST, "/sign-in", decode, sign_in, refuse)
            .with_form()
            .with_password_hashing()
            .writes(Grade::Vital)
            .answering(&[
                (200, ""),
                (303, ""),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (429, "rate_limited"),
            ]),
    ]
}

struct PageInput {
    visit: Visit,
    next: Option<String>,
    session: Option<[u8; 32]>,
}

/// # Errors
/// `validation_error` if a parameter is repeated.
fn decode_page(ctx: &Ctx, request: &Request) -> Result<PageInput, Error> {
    let next = request.query("next")?.as_deref().and_then(return_path::parse).map(str::to_owned);
    Ok(PageInput { visit: Visit::decode(request)?, next, session: cookie(ctx, request) })
}

/// `GET /sign-in`: shows the form. Redirects a person who is signed in.
fn show(_: &Ctx, tx: &Tx<'_>, PageInput { visit, next, session }: &PageInput) -> Result<Reply, Error> {
    if let Some(digest) = session
        && store::session::principal(tx, digest)?.is_some()
    {
        return Ok(Reply::see_other(next.as_deref().unwrap_or(START)));
    }
    let reason = next.as_deref().filter(|next| *next != START).map(|_| SIGN_IN.of(visit.texts()).ended);
    sign_in_form::show(visit, reason, &Carried { next: next.clone(), sent: None })
}

/// The form of a sign-in.
struct SignInForm {
    visit: Visit,
    email: String,
    carried: Carried,
}

impl SignInForm {
    /// # Errors
    /// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
    /// repeated.
    fn decode(request: &Request) -> Result<Self, Error> {
        let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
        let email = form.text("email")?.unwrap_or_default().to_owned();
        Ok(Self { visit: Visit::decode(request)?, email, carried: Carried::decode(form)? })
    }

    fn page(&self, refusal: &Refusal) -> Result<Reply, Error> {
        let words = SIGN_IN.of(self.visit.texts());
        let error = match refusal {
            Refusal::RateLimited { retry_after_s } => fill(words.throttled, &[("seconds", &retry_after_s.to_string())]),
            Refusal::Unauthorized { .. } => words.wrong.to_owned(),
            other => self.visit.texts().common.refusal(other),
        };
        let page = SignInPage {
            frame: self.visit.plain_frame(words.title),
            words,
            passkey: PASSKEY.of(self.visit.texts()),
            error: Some(error),
            reason: None,
            email: &self.email,
            carried: &self.carried,
        };
        Reply::console_refusal(refusal, &page)
    }
}

/// The outcome of a first step that starts no session.
enum Unfinished {
    Refused(Refusal),
    /// The password is correct, and the account has second factors. The text is the value of `Set-Cookie` that begins
    /// the second step.
    SecondStep(String, Factors),
}

type FinishedSignIn = (SignInForm, CheckedPassword);
type UnfinishedSignIn = (SignInForm, Unfinished);

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated.
fn decode(ctx: &Ctx, request: &Request) -> Result<DecodedInput<FinishedSignIn, UnfinishedSignIn>, Error> {
    let input = SignInForm::decode(request)?;
    let origin = request.origin();
    if origin.is_stated()
        && let Err(refusal) = origin.require_same(&ctx.settings.origin)
    {
        return Ok(DecodedInput::Read((input, Unfinished::Refused(refusal))));
    }
    let password = request.form().map(|form| form.text("password")).transpose()?.flatten().unwrap_or_default();
    match session::check_password(ctx, request, &input.email, password) {
        Ok(checked) if checked.factors.is_empty() => Ok(DecodedInput::Act((input, checked))),
        Ok(checked) => {
            let cookie = sign_in_code::begin(ctx, &checked.account.id, checked.account.password_hash.as_deref());
            Ok(DecodedInput::Read((input, Unfinished::SecondStep(cookie, checked.factors))))
        }
        Err(Error::Refused(refusal)) => Ok(DecodedInput::Read((input, Unfinished::Refused(refusal)))),
        Err(error) => Err(error),
    }
}

/// `POST /sign-in`: starts the session, and redirects to the page that the person wanted. If the person had submitted a
/// form without a session, offers to submit it now.
fn sign_in(ctx: &Ctx, tx: &Tx<'_>, (form, checked): &FinishedSignIn) -> Result<Reply, Error> {
    let (_, cookie) = checked.begin_session(ctx, tx, None)?;
    Ok(form.carried.resume(&form.visit)?.with(header::SET_COOKIE, &cookie))
}

/// `POST /sign-in`: shows the form again, or the form of the second step.
///
/// # Errors
/// Each refusal is rendered as a page: `unauthorized` for a wrong address or password; `rate_limited` after too many
/// failures; `forbidden` for a request from another origin.
fn refuse(_: &Ctx, _: &Tx<'_>, (form, unfinished): &UnfinishedSignIn) -> Result<Reply, Error> {
    match unfinished {
        Unfinished::Refused(refusal) => form.page(refusal),
        Unfinished::SecondStep(cookie, factors) => {
            let page = CodeForm { visit: &form.visit, carried: &form.carried, factors: *factors };
            Ok(page.first()?.with(header::SET_COOKIE, cookie))
        }
    }
}

/// Answers a request to the console that was sent without a session. If the request asked for a page, the page opens
/// after the sign-in. If the request submitted a form, the sign-in carries its fields.
pub(in crate::http::pages) fn instead(request: &StaffRequest, language: Language) -> Result<Reply, Error> {
    let texts = texts::of_language(language);
    let (words, passkey, carried) = (SIGN_IN.of(texts), PASSKEY.of(texts), carried_by(request));
    if request.wants_parts {
        return Reply::console(&SignInPart { words, passkey, carried });
    }
    if request.is_safe {
        let next = carried.next.as_deref().unwrap_or(START);
        let query: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        return Ok(Reply::see_other(&format!("/sign-in?next={query}")));
    }
    Reply::console(&SignInPage {
        frame: PlainFrame { texts, title: words.title.to_owned(), theme: visit::theme_of(&request.cookies) },
        words,
        passkey,
        error: None,
        reason: Some(if carried.sent.is_some() { words.ended_with_form } else { words.ended }),
        email: "",
        carried: &carried,
    })
}

/// Returns the page to open, or the form to submit, after the sign-in. If the request was a confirmation, returns the
/// page or the form that waited for it, because the sign-in is also a confirmation.
fn carried_by(request: &StaffRequest) -> Carried {
    let Some(target) = return_path::parse(&request.target) else { return Carried::default() };
    let send = |target| Carried { next: None, sent: Some(SentForm { target, fields: request.fields.clone() }) };
    let open = |page| Carried { next: Some(page), sent: None };
    match Then::of_target(target) {
        Some(Then::Repeat(target)) => send(target),
        Some(Then::Open(page)) => open(page),
        None if request.is_safe => open(target.to_owned()),
        None => send(target.to_owned()),
    }
}

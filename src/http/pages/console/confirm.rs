//! `/app/confirm`: before a dangerous act, a user confirms their identity with a second factor or, without one, with
//! the password.
//!
//! A handler calls [`require_recent`]. If the last confirmation is too old, the answer is a page that asks for a
//! confirmation and carries the fields of the submitted form. The browser submits the page's form to `/app/confirm`. If
//! the service accepts the confirmation, it answers with a 307, so that the browser sends the same fields to the
//! handler again.

use askama::Template;
use hyper::Method;

use super::frame::PlainFrame;
use super::passkey::{self, ChallengeRequest, PasskeyAnswer};
use super::sign_in_code::fault_text;
use super::visit::{self, Visit, session_digest};
use crate::domain::passkey::{ChallengeUse, PasskeyFault};
use crate::domain::refusal::{Confirmation, Refusal};
use crate::domain::return_path;
use crate::domain::second_factor::{FactorCode, Factors, StepUp, step_up_for_factors};
use crate::domain::user::Principal;
use crate::http::api::session;
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::step_up::{STEP_UP, StepUpTexts};
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::language::Language;
use crate::http::server::reply::Reply;
use crate::http::server::reply::page::StaffRequest;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

const PATH: &str = "/app/confirm";

/// The page that opens after a confirmation, or after its cancellation, if the URL names no other page.
const START: &str = "/app";

#[derive(Template)]
#[template(path = "console/confirm.html", config = "src/http/pages/templates/askama.toml")]
struct ConfirmPage {
    frame: PlainFrame,
    form: ConfirmForm,
}

#[derive(Template)]
#[template(path = "console/confirm_part.html", config = "src/http/pages/templates/askama.toml")]
struct ConfirmPart {
    form: ConfirmForm,
}

struct ConfirmForm {
    words: &'static StepUpTexts,
    passkey: &'static PasskeyTexts,
    /// The URL to which the browser submits the form.
    action: String,
    /// The page to which the user returns if they cancel the confirmation.
    cancel: String,
    factors: Factors,
    error: Option<String>,
    /// The fields of the form that the browser submits again after the confirmation.
    fields: Vec<(String, String)>,
}

impl ConfirmForm {
    fn render(self, texts: &'static Texts, theme: Option<&'static str>, wants_parts: bool) -> Result<Reply, Error> {
        if wants_parts {
            return Reply::console(&ConfirmPart { form: self });
        }
        let frame = PlainFrame { texts, title: self.words.title.to_owned(), theme };
        Reply::console(&ConfirmPage { frame, form: self })
    }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::staff(Method::POST, PATH, decode, confirm)
            .with_form()
            .with_password_hashing()
            .carrying_form()
            .writes(Grade::Vital)
            .answering(&[(303, ""), (307, "")]),
        Route::staff(Method::POST, "/app/confirm/passkey-options", decode_options, options)
            .with_form()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (409, "conflict")]),
    ]
}

/// # Errors
/// `forbidden` for a request from another origin; `conflict` if the base URL rules out passkeys.
fn decode_options(ctx: &Ctx, request: &Request) -> Result<ChallengeRequest, Error> {
    Ok(ChallengeRequest::decode(ctx, request)?)
}

/// `POST /app/confirm/passkey-options`: returns the options for the browser, with a new challenge.
fn options(_: &Ctx, tx: &Tx<'_>, who: &Principal, request: &ChallengeRequest) -> Result<Reply, Error> {
    let own = store::passkey::of_user(tx, &who.user_id)?;
    request.for_assertion(tx, ChallengeUse::Confirm, Some(&who.user_id), &own)
}

/// Succeeds if the user has confirmed their identity within the last ten minutes. Call this function before a dangerous
/// act. The form that requests the act must not contain a file, and its route must not hash passwords, because the
/// confirmation does not carry such a form.
///
/// # Errors
/// [`Refusal::ConfirmationRequired`]; `unauthorized` if the session has ended.
pub(super) fn require_recent(tx: &Tx<'_>, who: &Principal) -> Result<(), Error> {
    require(tx, who, None)
}

/// Does the same as [`require_recent`] for a form that the confirmation does not carry. After the confirmation, the
/// browser opens the page at the path `page`.
///
/// # Errors
/// [`Refusal::ConfirmationRequired`]; `unauthorized` if the session has ended.
pub(super) fn require_recent_or_return(tx: &Tx<'_>, who: &Principal, page: &'static str) -> Result<(), Error> {
    require(tx, who, Some(page))
}

fn require(tx: &Tx<'_>, who: &Principal, return_to: Option<&'static str>) -> Result<(), Error> {
    let digest = session_digest(who)?;
    let confirmed_at = store::session::confirmed_at(tx, &digest)?.ok_or(Refusal::Unauthorized { sent: true })?;
    let factors = store::second_factor::factors(tx, &who.user_id)?;
    if step_up_for_factors(factors, confirmed_at, tx.now) == StepUp::Confirmed {
        return Ok(());
    }
    let language = store::user::preferences(tx, &who.user_id)?.language;
    let (has_totp, has_passkey) = (factors.has_totp, factors.passkeys > 0);
    Err(Refusal::ConfirmationRequired(Confirmation { has_totp, has_passkey, return_to, language }).into())
}

/// Returns the page that asks for a confirmation, as the answer to a request that requires one. If the browser will
/// send the same form again, the page carries the fields of the form.
pub(in crate::http::pages) fn instead(
    request: &StaffRequest,
    required: &Confirmation,
    language: Language,
) -> Result<Reply, Error> {
    let texts = required.language.as_deref().map_or_else(|| texts::of_language(language), texts::of_tag);
    let target = return_path::parse(&request.target).unwrap_or(START);
    let (name, path) = match required.return_to {
        Some(page) => ("next", page),
        None if request.is_safe => ("next", target),
        None => ("to", target),
    };
    let cancel = required.return_to.unwrap_or(START);
    let form = ConfirmForm {
        words: STEP_UP.of(texts),
        passkey: PASSKEY.of(texts),
        action: action(name, path, cancel),
        cancel: cancel.to_owned(),
        factors: Factors { has_totp: required.has_totp, passkeys: usize::from(required.has_passkey) },
        error: None,
        fields: if name == "to" { request.fields.clone() } else { Vec::new() },
    };
    form.render(texts, visit::theme_of(&request.cookies), request.wants_parts)
}

/// Returns the URL to which the browser submits the form. The URL also names the page to which the user returns if they
/// cancel the confirmation, unless that page is [`START`]. That page can differ from the page that opens after the
/// confirmation, because the latter may require a confirmation itself.
fn action(name: &str, path: &str, cancel: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair(name, path);
    if cancel != START {
        query.append_pair("cancel", cancel);
    }
    format!("{PATH}?{}", query.finish())
}

/// The continuation after a confirmation.
pub(super) enum Then {
    /// The browser sends the carried form to this path.
    Repeat(String),
    /// The browser opens this page.
    Open(String),
}

impl Then {
    /// Reads the continuation from the URL of a confirmation that was submitted without a session. Returns `None` for
    /// any other URL.
    pub(super) fn of_target(target: &str) -> Option<Self> {
        let query = target.strip_prefix(PATH)?.strip_prefix('?')?;
        let named = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "to" || name == "next");
        let path = named.as_ref().and_then(|(_, path)| return_path::parse(path)).map(str::to_owned);
        Some(match (named, path) {
            (Some((name, _)), Some(path)) if name == "to" => Self::Repeat(path),
            (_, path) => Self::Open(path.unwrap_or_else(|| START.to_owned())),
        })
    }
}

/// The decoded proof of identity.
enum Entered {
    /// The correct password.
    Password,
    /// An accepted code, which [`fault`] spends.
    Code(FactorCode),
    /// The answer of an authenticator, which [`fault`] verifies.
    Passkey(Box<PasskeyAnswer>),
}

/// The reason why the proof is refused.
enum ConfirmFault {
    Entered(Refusal),
    Passkey(PasskeyFault),
}

/// A confirmation.
struct ConfirmInput {
    visit: Visit,
    then: Then,
    /// The page to which the user returns if they cancel the confirmation.
    cancel: String,
    fields: Vec<(String, String)>,
    factors: Factors,
    entered: Result<Entered, Refusal>,
}

/// Checks the code or the password, or decodes the answer of an authenticator. The check of a code or a password is
/// throttled like a sign-in.
///
/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated; `unauthorized`
/// without a session.
fn decode(ctx: &Ctx, request: &Request) -> Result<ConfirmInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let path = |name| Ok::<_, Refusal>(request.query(name)?.as_deref().and_then(return_path::parse).map(str::to_owned));
    let then = match (path("to")?, path("next")?) {
        (Some(target), _) => Then::Repeat(target),
        (None, page) => Then::Open(page.unwrap_or_else(|| START.to_owned())),
    };
    let cancel = path("cancel")?.unwrap_or_else(|| START.to_owned());
    let code = form.text("confirmation.code")?.unwrap_or_default();
    let password = form.text("confirmation.password")?.unwrap_or_default();
    let who = visit::user_of_session(ctx, request)?;
    let (user, factors) = ctx.store.read(|tx| {
        let user = store::user::find(tx, &who.user_id)?.ok_or(Refusal::Unauthorized { sent: true })?;
        Ok((user, store::second_factor::factors(tx, &who.user_id)?))
    })?;
    let entered = if PasskeyAnswer::is_in(form) {
        PasskeyAnswer::decode(ctx, request).map(|answer| Entered::Passkey(Box::new(answer))).map_err(Error::Refused)
    } else if factors.is_empty() {
        session::check_password(ctx, request, &who.email, password).map(|_| Entered::Password)
    } else {
        let email = &user.profile.email;
        session::check_code(ctx, request, email, &who.user_id, code, session_digest(&who)?).map(Entered::Code)
    };
    let entered = match entered {
        Err(Error::Refused(refusal)) => Err(refusal),
        other => Ok(other?),
    };
    let (visit, fields) = (Visit::decode(request)?, form.carried_fields());
    Ok(ConfirmInput { visit, then, cancel, fields, factors, entered })
}

/// `POST /app/confirm`: records the confirmation. The browser then sends the carried form again, or opens a page.
///
/// The function returns these refusals as replies that show the form again: `forbidden` for a wrong code, a wrong
/// password or a refused passkey; `rate_limited` after too many wrong codes or passwords.
fn confirm(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ConfirmInput) -> Result<Reply, Error> {
    if let Some(fault) = fault(ctx, tx, who, input)? {
        return refuse(tx, who, input, &fault);
    }
    store::session::confirm(tx, &session_digest(who)?)?;
    Ok(match &input.then {
        Then::Repeat(target) => Reply::repeat_at(target),
        Then::Open(page) => Reply::see_other(page),
    })
}

/// Verifies and spends the proof. Returns the reason for a refusal, or `None` if the proof is accepted.
fn fault(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ConfirmInput) -> Result<Option<ConfirmFault>, Error> {
    Ok(match &input.entered {
        Ok(Entered::Password) if store::second_factor::factors(tx, &who.user_id)?.is_empty() => None,
        Ok(Entered::Code(code)) if store::second_factor::spend(tx, &who.user_id, code)? => {
            store::second_factor::record_use(tx, &store::activity::stamp(&*ctx.world), who, code)?;
            None
        }
        Ok(Entered::Passkey(answer)) => {
            let accepted = answer.accept(ctx, tx, ChallengeUse::Confirm, Some(&who.user_id))?;
            accepted.err().map(|refused| ConfirmFault::Passkey(refused.fault))
        }
        Ok(_) => Some(ConfirmFault::Entered(Refusal::Unauthorized { sent: true })),
        Err(refusal) => Some(ConfirmFault::Entered(refusal.clone())),
    })
}

/// Shows the form again. The session remains valid, so the status of a wrong code or password is `forbidden`, not
/// `unauthorized`.
fn refuse(tx: &Tx<'_>, who: &Principal, input: &ConfirmInput, fault: &ConfirmFault) -> Result<Reply, Error> {
    let texts = input.visit.texts_for(tx, who)?;
    let words = STEP_UP.of(texts);
    let error = match fault {
        ConfirmFault::Passkey(fault) => passkey::fault_text(PASSKEY.of(texts), *fault).to_owned(),
        ConfirmFault::Entered(Refusal::Unauthorized { .. }) if input.factors.is_empty() => {
            words.wrong_password.to_owned()
        }
        ConfirmFault::Entered(other) => fault_text(texts, input.factors, other),
    };
    let (name, path, fields) = match &input.then {
        Then::Repeat(target) => ("to", target, input.fields.clone()),
        Then::Open(page) => ("next", page, Vec::new()),
    };
    let form = ConfirmForm {
        words,
        passkey: PASSKEY.of(texts),
        action: action(name, path, &input.cancel),
        cancel: input.cancel.clone(),
        factors: input.factors,
        error: Some(error),
        fields,
    };
    let status = match fault {
        ConfirmFault::Entered(refusal @ Refusal::RateLimited { .. }) => refusal.clone(),
        _ => Refusal::Forbidden("the code, the password or the passkey is wrong"),
    };
    Ok(form.render(texts, input.visit.theme, input.visit.wants_parts)?.refusing(&status))
}

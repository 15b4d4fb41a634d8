//! `/sign-in/code`: the second step of a sign-in, with a code from the authenticator app or a recovery code.
//!
//! Between the two steps there is no session. A cookie proves that this browser has sent the correct password, or has
//! used a sign-in link, within the last five minutes.

use askama::Template;
use hyper::{Method, header};

use super::frame::PlainFrame;
use super::sign_in_form::{self, Carried};
use super::visit::Visit;
use crate::domain::form::ID_RANDOM_BYTES;
use crate::domain::id::{Id, UserId};
use crate::domain::pending_sign_in::{self, PendingFault};
use crate::domain::refusal::Refusal;
use crate::domain::second_factor::{FactorCode, Factors, PENDING_SIGN_IN_FOR};
use crate::http::api::session::{self, CheckedPassword, FreshSession};
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::step_up::{STEP_UP, StepUpTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::{DecodedInput, Route};
use crate::store::{self, Error, Grade, Tx};

const PATH: &str = "/sign-in/code";

/// The name of the cookie between the two steps, and its name over https.
const COOKIE: &str = "appliance_sign_in";
const COOKIE_OF_HOST: &str = "__Host-appliance_sign_in";

#[derive(Template)]
#[template(path = "console/code.html", config = "src/http/pages/templates/askama.toml")]
struct CodePage<'a> {
    frame: PlainFrame,
    words: &'static StepUpTexts,
    passkey: &'static PasskeyTexts,
    error: Option<String>,
    /// Whether the user has an authenticator app. Otherwise, only a recovery code can be entered.
    has_totp: bool,
    has_passkey: bool,
    carried: &'a Carried,
}

/// The form of the second step.
pub(super) struct CodeForm<'a> {
    pub(super) visit: &'a Visit,
    pub(super) carried: &'a Carried,
    pub(super) factors: Factors,
}

impl CodeForm<'_> {
    /// Shows the form for the first time.
    pub(super) fn first(&self) -> Result<Reply, Error> {
        Reply::console(&self.page(None))
    }

    /// Shows the form again after a refused code.
    fn again(&self, refusal: &Refusal) -> Result<Reply, Error> {
        Reply::console_refusal(refusal, &self.page(Some(fault_text(self.visit.texts(), self.factors, refusal))))
    }

    fn page(&self, error: Option<String>) -> CodePage<'_> {
        let words = STEP_UP.of(self.visit.texts());
        let frame = self.visit.plain_frame(words.sign_in_title);
        CodePage {
            frame,
            words,
            passkey: PASSKEY.of(self.visit.texts()),
            error,
            has_totp: self.factors.has_totp,
            has_passkey: self.factors.passkeys > 0,
            carried: self.carried,
        }
    }
}

/// Returns the reason why a code is refused, in the language of the page.
pub(super) fn fault_text(texts: &'static Texts, factors: Factors, refusal: &Refusal) -> String {
    let words = STEP_UP.of(texts);
    match refusal {
        Refusal::RateLimited { retry_after_s } => fill(words.throttled, &[("seconds", &retry_after_s.to_string())]),
        Refusal::Unauthorized { .. } if factors.has_totp => words.wrong_code.to_owned(),
        Refusal::Unauthorized { .. } => words.wrong_recovery_code.to_owned(),
        other => texts.common.refusal(other),
    }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Staff, Method::GET, PATH, decode_page, show)
            .answering(&[(200, ""), (400, "validation_error")]),
        Route::staff_sign_in(Method::POST, PATH, decode, sign_in, refuse).with_form().writes(Grade::Vital).answering(
            &[
                (200, ""),
                (303, ""),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (429, "rate_limited"),
            ],
        ),
    ]
}

/// Begins the second step. Returns the value of `Set-Cookie`.
pub(super) fn begin(ctx: &Ctx, user: &UserId, password_hash: Option<&str>) -> String {
    let mut random = [0; ID_RANDOM_BYTES];
    ctx.world.fill(&mut random);
    let secret = ctx.store.form_secret();
    let proof = pending_sign_in::begin(secret, &random, user, password_hash.unwrap_or_default(), ctx.world.now());
    set_cookie(ctx, &format!("{}.{proof}", user.as_str()), PENDING_SIGN_IN_FOR.as_secs())
}

fn set_cookie(ctx: &Ctx, value: &str, max_age_s: u64) -> String {
    let secure = if ctx.settings.is_https() { "; Secure" } else { "" };
    format!("{}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}", cookie_name(ctx))
}

fn cookie_name(ctx: &Ctx) -> &'static str {
    if ctx.settings.is_https() { COOKIE_OF_HOST } else { COOKIE }
}

/// Finds the pending sign-in of this browser.
///
/// # Errors
/// The inner error is the reason why there is no such sign-in.
pub(super) fn pending(ctx: &Ctx, request: &Request) -> Result<Result<CheckedPassword, PendingFault>, Error> {
    let mut cookies = request.cookies().into_iter();
    let value = cookies.find(|(name, _)| name == cookie_name(ctx)).map(|(_, value)| value).unwrap_or_default();
    let Some((user, proof)) = value.split_once('.').and_then(|(user, proof)| Some((UserId::parse(user)?, proof)))
    else {
        return Ok(Err(PendingFault::Invalid));
    };
    let found = ctx.store.read(|tx| {
        let Some(user) = store::user::find(tx, &user)? else { return Ok(None) };
        let email = user.profile.email;
        let Some(account) = store::user::sign_in_account(tx, &email)? else { return Ok(None) };
        let factors = store::second_factor::factors(tx, &account.id)?;
        Ok(Some((email, account, factors)))
    })?;
    let Some((email, account, factors)) = found.filter(|(_, _, factors)| !factors.is_empty()) else {
        return Ok(Err(PendingFault::Invalid));
    };
    let hash = account.password_hash.as_deref().unwrap_or_default();
    let verified = pending_sign_in::verify(ctx.store.form_secret(), proof, &user, hash, ctx.world.now());
    Ok(verified.map(|()| CheckedPassword { email, account, factors, session: FreshSession::of(ctx, request) }))
}

/// # Errors
/// `validation_error` if `lang` or `locale` is repeated.
fn decode_page(ctx: &Ctx, request: &Request) -> Result<(Visit, Option<Factors>), Error> {
    Ok((Visit::decode(request)?, pending(ctx, request)?.ok().map(|checked| checked.factors)))
}

/// `GET /sign-in/code`: shows the form after a reload of the page. Without a pending sign-in, shows the form of the
/// first step.
fn show(_: &Ctx, _: &Tx<'_>, (visit, factors): &(Visit, Option<Factors>)) -> Result<Reply, Error> {
    match factors {
        Some(factors) => CodeForm { visit, carried: &Carried::default(), factors: *factors }.first(),
        None => sign_in_form::show(visit, None, &Carried::default()),
    }
}

/// A pending sign-in with an accepted code.
struct CodeInput {
    visit: Visit,
    carried: Carried,
    checked: CheckedPassword,
    code: FactorCode,
}

/// A refused second step.
struct RefusedCode {
    visit: Visit,
    carried: Carried,
    why: WhyRefused,
}

enum WhyRefused {
    /// The first step must be repeated.
    StartOver(PendingFault),
    Code(Refusal, Factors),
}

/// # Errors
/// `forbidden` for a request from another origin; `unsupported_media_type` for a body that is not a form;
/// `validation_error` if a field, `lang` or `locale` is repeated.
fn decode(ctx: &Ctx, request: &Request) -> Result<DecodedInput<CodeInput, RefusedCode>, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    if request.origin().is_stated() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    let (visit, carried) = (Visit::decode(request)?, Carried::decode(form)?);
    let entered = form.text("code")?.unwrap_or_default();
    let checked = match pending(ctx, request)? {
        Ok(checked) => checked,
        Err(fault) => {
            return Ok(DecodedInput::Read(RefusedCode { visit, carried, why: WhyRefused::StartOver(fault) }));
        }
    };
    let CheckedPassword { email, account, factors, session } = &checked;
    match session::check_code(ctx, request, email, &account.id, entered, session.digest()) {
        Ok(code) => Ok(DecodedInput::Act(CodeInput { visit, carried, checked, code })),
        Err(Error::Refused(refusal)) => {
            let why = WhyRefused::Code(refusal, *factors);
            Ok(DecodedInput::Read(RefusedCode { visit, carried, why }))
        }
        Err(error) => Err(error),
    }
}

/// `POST /sign-in/code`: spends the code, starts the session, and continues as after a sign-in without a second factor.
fn sign_in(ctx: &Ctx, tx: &Tx<'_>, input: &CodeInput) -> Result<Reply, Error> {
    let (_, cookie) = input.checked.begin_session(ctx, tx, Some(&input.code))?;
    let reply = input.carried.resume(&input.visit)?;
    Ok(reply.with(header::SET_COOKIE, &cookie).with(header::SET_COOKIE, &set_cookie(ctx, "", 0)))
}

/// `POST /sign-in/code`: shows the form again, or the form of the first step.
///
/// # Errors
/// Each refusal is rendered as a page: `unauthorized` for a wrong code, and without a pending sign-in; `rate_limited`
/// after too many wrong codes.
fn refuse(_: &Ctx, _: &Tx<'_>, RefusedCode { visit, carried, why }: &RefusedCode) -> Result<Reply, Error> {
    let words = STEP_UP.of(visit.texts());
    match why {
        WhyRefused::StartOver(PendingFault::TooLate) => sign_in_form::start_over(visit, words.too_late, carried),
        WhyRefused::StartOver(PendingFault::Invalid) => sign_in_form::start_over(visit, words.not_begun, carried),
        WhyRefused::Code(refusal, factors) => CodeForm { visit, carried, factors: *factors }.again(refusal),
    }
}

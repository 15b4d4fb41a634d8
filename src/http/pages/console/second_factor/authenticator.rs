//! `/app/me/authenticator`: sets up an authenticator app, or replaces it.
//!
//! The new secret is derived from the id of the form, the session's cookie and a secret of the service. The database
//! contains only a digest of the cookie, so nobody can derive the new secret from the database. The service stores the
//! new secret only after the user has proved with a code that the app has it.

use askama::Template;
use hyper::Method;

use super::super::confirm;
use super::super::frame::{ConsoleFrame, NavItem};
use super::super::visit::{Visit, session_digest};
use super::path::{self, next_query};
use super::qr_code::QrPicture;
use super::recovery;
use crate::domain::form::{FormAge, ID_RANDOM_BYTES, SignedForm};
use crate::domain::refusal::Refusal;
use crate::domain::return_path;
use crate::domain::totp::{TotpCode, TotpSecret};
use crate::domain::user::Principal;
use crate::http::pages::texts::console::me::ME;
use crate::http::pages::texts::console::second_factor::{SECOND_FACTOR, SecondFactorTexts};
use crate::http::server::authentication::cookie_value;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

pub(super) const PATH: &str = "/app/me/authenticator";

/// The text that the signature of this form covers instead of a signup link. The signature of a signup form is
/// therefore not valid for this form, and vice versa.
const FORM_LINK: &str = "authenticator app";

#[derive(Template)]
#[template(path = "console/authenticator.html", config = "src/http/pages/templates/askama.toml")]
struct AuthenticatorPage<'a> {
    frame: ConsoleFrame,
    words: &'static SecondFactorTexts,
    /// The sentence about the effect on the user's other browsers.
    effect: &'static str,
    replaces: bool,
    qr: QrPicture,
    uri: String,
    key: String,
    form: &'a str,
    next: Option<&'a str>,
    back: String,
    error: Option<&'static str>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::staff(Method::GET, PATH, decode_page, show)
            .before_second_factor()
            .answering(&[(200, ""), (403, "forbidden")]),
        Route::staff(Method::POST, PATH, decode, set_up)
            .before_second_factor()
            .with_form()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (303, "")]),
    ]
}

/// A page with a new secret.
struct NewSecret {
    visit: Visit,
    next: Option<String>,
    form: String,
    secret: TotpSecret,
    issuer: String,
}

impl NewSecret {
    fn new(ctx: &Ctx, request: &Request, form: &SignedForm, next: Option<&str>) -> Result<Self, Refusal> {
        let cookie = cookie_value(ctx, request).unwrap_or_default();
        let secret = ctx.store.form_secret();
        Ok(Self {
            visit: Visit::decode(request)?,
            next: next.and_then(return_path::parse).map(str::to_owned),
            form: form.signed(secret, FORM_LINK),
            secret: TotpSecret::for_setup(secret, &form.id, &cookie),
            issuer: ctx.settings.origin.split("://").last().unwrap_or_default().to_owned(),
        })
    }

    fn page(&self, tx: &Tx<'_>, who: &Principal, error: bool) -> Result<AuthenticatorPage<'_>, Error> {
        let texts = self.visit.texts_for(tx, who)?;
        let words = SECOND_FACTOR.of(texts);
        let uri = self.secret.uri(&self.issuer, &who.email);
        Ok(AuthenticatorPage {
            frame: self.visit.frame(tx, who, None, NavItem::Me, words.set_up_title.to_owned())?,
            words,
            effect: ME.of(texts).password_effect,
            replaces: store::totp::exists(tx, &who.user_id)?,
            qr: QrPicture::of(&uri)?,
            uri,
            key: self.secret.text(),
            form: &self.form,
            next: self.next.as_deref(),
            back: format!("{}{}", path::PATH, next_query(self.next.as_deref())),
            error: error.then_some(words.wrong_code),
        })
    }
}

/// # Errors
/// `validation_error` if a parameter is repeated.
fn decode_page(ctx: &Ctx, request: &Request) -> Result<NewSecret, Error> {
    let mut random = [0; ID_RANDOM_BYTES];
    ctx.world.fill(&mut random);
    let form = SignedForm::new(&random, ctx.world.now());
    Ok(NewSecret::new(ctx, request, &form, request.query("next")?.as_deref())?)
}

/// `GET /app/me/authenticator`: shows a new secret, as a QR code and as text.
///
/// # Errors
/// The refusal is rendered as a page: `forbidden` without a recent confirmation.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, new: &NewSecret) -> Result<Reply, Error> {
    confirm::require_recent(tx, who)?;
    Reply::console(&new.page(tx, who, false)?)
}

struct SetUpInput {
    new: NewSecret,
    code: Option<TotpCode>,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated, or if the form has expired or was not made by this service.
fn decode(ctx: &Ctx, request: &Request) -> Result<SetUpInput, Error> {
    let fields = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let form = SignedForm::verify(ctx.store.form_secret(), FORM_LINK, fields.text("form")?.unwrap_or_default());
    let form = form.filter(|form| form.age(ctx.world.now()) != FormAge::TooOld).ok_or_else(expired)?;
    let code = fields.text("code")?.and_then(TotpCode::parse);
    Ok(SetUpInput { new: NewSecret::new(ctx, request, &form, fields.text("next")?)?, code })
}

/// `POST /app/me/authenticator`: stores the secret, and ends the user's other sessions. If the user has no unused
/// recovery codes, makes new ones and shows them.
///
/// # Errors
/// Each refusal is rendered as a page: `forbidden` without a recent confirmation; `validation_error` for a wrong code.
fn set_up(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, SetUpInput { new, code }: &SetUpInput) -> Result<Reply, Error> {
    confirm::require_recent(tx, who)?;
    let stored = store::totp::find(tx, &who.user_id)?;
    // The browser may submit the form again, for example if the user reloads the page with the recovery codes. Then the
    // secret is already stored, and a code that was already accepted is refused.
    let last_step = stored.as_ref().filter(|stored| stored.secret == new.secret).map(|stored| stored.last_step);
    let Some(step) = code.and_then(|code| new.secret.accept(code, last_step, tx.now)) else {
        let page = new.page(tx, who, true)?;
        return Reply::console_refusal(&Refusal::invalid("code", "is wrong"), &page);
    };
    store::totp::put(tx, &store::activity::stamp(&*ctx.world), who, &new.secret, step)?;
    store::session::end_others(tx, &who.user_id, &session_digest(who)?)?;
    if store::recovery_code::count(tx, &who.user_id)? == 0 {
        return recovery::make(ctx, tx, who, &new.visit, new.next.as_deref());
    }
    let done = if stored.is_some() { "replaced" } else { "added" };
    Ok(Reply::see_other(new.next.as_deref().unwrap_or(&format!("{}?done={done}", path::PATH))))
}

/// Returns the refusal of a form that has expired or that this service did not make.
fn expired() -> Refusal {
    Refusal::invalid("form", "has expired; open the page again")
}

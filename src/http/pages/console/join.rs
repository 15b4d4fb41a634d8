//! `/join/{token}`: a sign-in link, by which a user signs in once. Unless the link is that of the demo, the user
//! chooses a password or adds a passkey (`join_passkey`).

use askama::Template;
use hyper::{Method, header};

use super::frame::PlainFrame;
use super::sign_in_code::{self, CodeForm};
use super::sign_in_form::Carried;
use super::visit::Visit;
use crate::domain::password::{self, CHARACTERS_MAX, CHARACTERS_MIN, PasswordFault};
use crate::domain::refusal::Refusal;
use crate::domain::sign_in_link::LinkPurpose;
use crate::http::api::session::FreshSession;
use crate::http::pages::texts::console::join::{JOIN, JoinTexts};
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::sign_in::SIGN_IN;
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::{DecodedInput, Route};
use crate::store::sign_in_link::SignInLink;
use crate::store::{self, Error, Grade, Tx};

const PATH: &str = "/join/{token}";

#[derive(Template)]
#[template(path = "console/join.html", config = "src/http/pages/templates/askama.toml")]
struct JoinPage<'a> {
    frame: PlainFrame,
    words: &'static JoinTexts,
    token: &'a str,
    /// The sentences that say who made the link, which organizations it opens and with which address the user signs in.
    lines: Vec<String>,
    email: String,
    asks_for_password: bool,
    password_hint: String,
    password_characters_min: usize,
    error: Option<String>,
    passkey: &'static PasskeyTexts,
    offers_passkey: bool,
    passkey_error: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "console/gone.html", config = "src/http/pages/templates/askama.toml")]
struct GonePage {
    frame: PlainFrame,
    words: &'static JoinTexts,
    sign_in: &'static str,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Staff, Method::GET, PATH, decode_page, show).answering(&[
            (200, ""),
            (400, "validation_error"),
            (410, "gone"),
        ]),
        Route::staff_sign_in(Method::POST, PATH, decode, join, refuse)
            .with_form()
            .with_password_hashing()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (303, ""), (400, "validation_error"), (403, "forbidden"), (410, "gone")]),
    ]
}

/// A request for the page of a link.
pub(super) struct LinkVisit {
    pub(super) visit: Visit,
    pub(super) token: String,
}

impl LinkVisit {
    /// # Errors
    /// `validation_error` if `lang` or `locale` is repeated.
    pub(super) fn decode(request: &Request) -> Result<Self, Refusal> {
        Ok(Self { visit: Visit::decode(request)?, token: request.param("token").to_owned() })
    }

    fn words(&self) -> &'static JoinTexts {
        JOIN.of(self.visit.texts())
    }

    /// Shows the page that says that the link does not work. The page does not say whether the link ever worked.
    pub(super) fn gone(&self) -> Result<Reply, Error> {
        let words = self.words();
        let sign_in = SIGN_IN.of(self.visit.texts()).title;
        let page = GonePage { frame: self.visit.plain_frame(words.gone), words, sign_in };
        Reply::console_refusal(&Refusal::Gone(words.gone), &page)
    }

    fn page(&self, tx: &Tx<'_>, link: &SignInLink, fault: Option<PasswordFault>) -> Result<Reply, Error> {
        let mut page = self.form(tx, link)?;
        let Some(fault) = fault else { return Reply::console(&page) };
        page.error = Some(fault_text(page.words, fault));
        Reply::console_refusal(&Refusal::invalid("password", fault.sentence()), &page)
    }

    /// Shows the page again after a refused passkey.
    pub(super) fn passkey_refused(
        &self,
        tx: &Tx<'_>,
        link: &SignInLink,
        refusal: &Refusal,
        error: &'static str,
    ) -> Result<Reply, Error> {
        let page = JoinPage { passkey_error: Some(error), ..self.form(tx, link)? };
        Reply::console_refusal(refusal, &page)
    }

    fn form(&self, tx: &Tx<'_>, link: &SignInLink) -> Result<JoinPage<'_>, Error> {
        let words = self.words();
        Ok(JoinPage {
            frame: self.visit.plain_frame(&fill(words.title, &[("name", &link.name)])),
            words,
            token: &self.token,
            lines: lines(tx, words, link)?,
            email: link.email.as_str().to_owned(),
            asks_for_password: link.purpose.asks_for_password(),
            password_hint: password_hint(words),
            password_characters_min: CHARACTERS_MIN,
            error: None,
            passkey: PASSKEY.of(self.visit.texts()),
            offers_passkey: offers_passkey(tx, link)?,
            passkey_error: None,
        })
    }
}

/// Returns whether the link lets its user add a passkey instead of choosing a password. A user with a second factor
/// must use that factor, because the link does not prove possession of it. A link that resets the factors is an
/// exception.
pub(super) fn offers_passkey(tx: &Tx<'_>, link: &SignInLink) -> Result<bool, Error> {
    let has_factor = !store::second_factor::factors(tx, &link.user_id)?.is_empty();
    Ok(link.purpose.asks_for_password() && (link.purpose.resets_factors() || !has_factor))
}

/// Returns the sentences about the link: who made it, which organizations it opens, and with which address the user
/// signs in. For the link of the demo, returns only the sentence about the demo.
fn lines(tx: &Tx<'_>, words: &JoinTexts, link: &SignInLink) -> Result<Vec<String>, Error> {
    if link.purpose == LinkPurpose::Demo {
        return Ok(vec![words.demo.to_owned()]);
    }
    let memberships = store::membership::of_user(tx, &link.user_id)?;
    let mut names = Vec::new();
    for membership in memberships {
        names.extend(store::organization::find(tx, &membership.organization_id)?.map(|found| found.record.name));
    }
    let inviter = link.invited_by.as_ref().map(|name| fill(words.invited_by, &[("name", name)]));
    let organizations = (!names.is_empty()).then(|| fill(words.invited_to, &[("organizations", &names.join(", "))]));
    let account = fill(words.account, &[("email", link.email.as_str())]);
    Ok([inviter, organizations, Some(account)].into_iter().flatten().collect())
}

/// Returns the hint below the field for a new password, in the language of the page.
pub(super) fn password_hint(words: &JoinTexts) -> String {
    fill(words.password_hint, &[("min", &CHARACTERS_MIN.to_string())])
}

/// Returns the reason why a password is refused, in the language of the page.
pub(super) fn fault_text(words: &JoinTexts, fault: PasswordFault) -> String {
    match fault {
        PasswordFault::Length(_) => {
            let (min, max) = (CHARACTERS_MIN.to_string(), CHARACTERS_MAX.to_string());
            fill(words.bad_length, &[("min", &min), ("max", &max)])
        }
        PasswordFault::Repeats => words.repeats.to_owned(),
        PasswordFault::OfUser => words.of_user.to_owned(),
        PasswordFault::Common => words.common.to_owned(),
    }
}

/// # Errors
/// `validation_error` if `lang` or `locale` is repeated.
fn decode_page(_: &Ctx, request: &Request) -> Result<LinkVisit, Error> {
    Ok(LinkVisit::decode(request)?)
}

/// `GET /join/{token}`: shows whom the link signs in, and asks for a password if the link requires one. Opening the
/// page does not spend the link, because mail programs open links to preview them.
///
/// # Errors
/// `gone`, as a page, if the link does not work.
fn show(_: &Ctx, tx: &Tx<'_>, visit: &LinkVisit) -> Result<Reply, Error> {
    match store::sign_in_link::find(tx, &visit.token)? {
        Some(link) => visit.page(tx, &link, None),
        None => visit.gone(),
    }
}

/// A link, and the hash of the chosen password, if the link asks for one.
pub(super) struct JoinInput {
    visit: LinkVisit,
    link: SignInLink,
    password_hash: Option<String>,
    session: FreshSession,
}

/// A link that does not work, or a password that is refused.
pub(super) struct RefusedJoin {
    visit: LinkVisit,
    fault: Option<PasswordFault>,
}

/// # Errors
/// `forbidden` for a request from another origin; `unsupported_media_type` for a body that is not a form;
/// `validation_error` if the password, `lang` or `locale` is repeated.
fn decode(ctx: &Ctx, request: &Request) -> Result<DecodedInput<JoinInput, RefusedJoin>, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    if request.origin().is_stated() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    let visit = LinkVisit::decode(request)?;
    let Some(link) = ctx.store.read(|tx| store::sign_in_link::find(tx, &visit.token))? else {
        return Ok(DecodedInput::Read(RefusedJoin { visit, fault: None }));
    };
    let mut password_hash = None;
    if link.purpose.asks_for_password() {
        let password = form.text("password")?.unwrap_or_default();
        if let Err(fault) = password::check(password, &link.email, &link.name) {
            return Ok(DecodedInput::Read(RefusedJoin { visit, fault: Some(fault) }));
        }
        password_hash = Some(ctx.world.hash_password(password));
    }
    Ok(DecodedInput::Act(JoinInput { visit, link, password_hash, session: FreshSession::of(ctx, request) }))
}

/// `POST /join/{token}`: signs the user in. If the link asks for a password, sets it and ends the user's other
/// sessions. If the user has a second factor, the sign-in continues with that factor, unless the link resets the
/// factors or is the link of the demo. All links of the user stop working.
///
/// # Errors
/// `gone`, as a page, if the link no longer works, or if its user's name or address has changed in the meantime.
fn join(ctx: &Ctx, tx: &Tx<'_>, input: &JoinInput) -> Result<Reply, Error> {
    if store::sign_in_link::find(tx, &input.visit.token)?.as_ref() != Some(&input.link) {
        return input.visit.gone();
    }
    let user = &input.link.user_id;
    store::sign_in_link::delete_of_user(tx, user)?;
    if let Some(hash) = &input.password_hash {
        store::user::change_password(tx, user, hash, None)?;
    }
    let purpose = input.link.purpose;
    let factors = store::second_factor::factors(tx, user)?;
    if !factors.is_empty() && !purpose.resets_factors() && !purpose.skips_second_factor() {
        let cookie = sign_in_code::begin(ctx, user, input.password_hash.as_deref());
        let page = CodeForm { visit: &input.visit.visit, carried: &Carried::default(), factors };
        return Ok(page.first()?.with(header::SET_COOKIE, &cookie));
    }
    let (who, cookie) = input.session.begin(ctx, tx, user)?;
    if !factors.is_empty() && purpose.resets_factors() {
        store::second_factor::reset(tx, &store::activity::stamp(&*ctx.world), &who)?;
    }
    Ok(Reply::see_other("/app").with(header::SET_COOKIE, &cookie))
}

/// `POST /join/{token}`: shows the page again, or says that the link does not work.
///
/// # Errors
/// Each refusal is rendered as a page: `gone` if the link does not work; `validation_error` for a refused password.
fn refuse(_: &Ctx, tx: &Tx<'_>, RefusedJoin { visit, fault }: &RefusedJoin) -> Result<Reply, Error> {
    match store::sign_in_link::find(tx, &visit.token)? {
        Some(link) => visit.page(tx, &link, *fault),
        None => visit.gone(),
    }
}

//! `/app/me`: the signed-in user's password, sessions and preferences, with a link to the second factors.

use askama::Template;
use hyper::{Method, header};

use super::frame::{ConsoleFrame, NavItem};
use super::join::{fault_text, password_hint};
use super::visit::{self, THEME_COOKIE, Visit, session_digest};
use super::when::When;
use super::{browser, confirm};
use crate::domain::id::SessionId;
use crate::domain::password::{self, CHARACTERS_MIN};
use crate::domain::refusal::Refusal;
use crate::domain::second_factor::Factors;
use crate::domain::user::Principal;
use crate::http::api::session;
use crate::http::pages::texts::console::frame::FRAME;
use crate::http::pages::texts::console::join::JOIN;
use crate::http::pages::texts::console::me::{ME, MeTexts};
use crate::http::pages::texts::console::second_factor::{SECOND_FACTOR, SecondFactorTexts};
use crate::http::pages::texts::{self, Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::language;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::user::Preferences;
use crate::store::{self, Error, Grade, Tx};

const PATH: &str = "/app/me";

/// The time for which a browser remembers the theme: a year.
const THEME_MAX_AGE_S: u32 = 365 * 24 * 60 * 60;

#[derive(Template)]
#[template(path = "console/me.html", config = "src/http/pages/templates/askama.toml")]
struct MePage {
    frame: ConsoleFrame,
    words: &'static MeTexts,
    who: String,
    email: String,
    has_password: bool,
    password_hint: String,
    password_characters_min: usize,
    factor: &'static SecondFactorTexts,
    /// The kinds of the user's second factors; empty if there are none.
    own_factors: String,
    sessions: Vec<SessionRow>,
    languages: Vec<LanguageOption>,
    has_language: bool,
    current_password_error: Option<&'static str>,
    new_password_error: Option<String>,
}

struct SessionRow {
    id: String,
    browser: String,
    address: String,
    times: String,
    is_current: bool,
}

struct LanguageOption {
    tag: &'static str,
    own_name: &'static str,
    is_chosen: bool,
}

/// The result of an attempt to change the password.
enum PasswordChange {
    /// The hash of the new password, which replaces the current one.
    Accepted(String),
    /// The hash of the first password of a user who had none.
    AcceptedFirst(String),
    WrongCurrent(Refusal),
    Refused(password::PasswordFault),
}

pub(super) fn routes() -> Vec<Route> {
    let act = |route: Route| route.writes(Grade::Vital).with_form();
    vec![
        Route::staff(Method::GET, PATH, decode_page, show).answering(&[(200, "")]),
        act(Route::staff(Method::POST, "/app/me/password", decode_password, change_password))
            .with_password_hashing()
            .answering(&[(303, "")]),
        act(Route::staff(Method::POST, "/app/me/sessions/{id}/end", decode_session, end_session))
            .answering(&[(303, "")]),
        act(Route::staff(Method::POST, "/app/me/sessions/end-others", |_, _| Ok(()), end_other_sessions))
            .answering(&[(303, "")]),
        act(Route::staff(Method::POST, "/app/me/preferences", decode_preferences, save_preferences))
            .answering(&[(303, "")]),
        act(Route::staff(Method::POST, "/app/sign-out", |_, _| Ok(()), sign_out).before_second_factor())
            .answering(&[(303, "")]),
    ]
}

/// A request for the page, with the act that led to it.
struct PageInput {
    visit: Visit,
    done: Option<String>,
}

/// # Errors
/// `validation_error` if a parameter is repeated.
fn decode_page(_: &Ctx, request: &Request) -> Result<PageInput, Error> {
    Ok(PageInput { visit: Visit::decode(request)?, done: request.query("done")? })
}

/// `GET /app/me`: shows the user's password form, sessions and preferences.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, PageInput { visit, done }: &PageInput) -> Result<Reply, Error> {
    let mut page = page(tx, who, visit)?;
    page.frame.notice = match done.as_deref() {
        Some("password") => Some(page.words.password_changed.to_owned()),
        Some("first-password") => Some(page.words.password_set.to_owned()),
        Some("session") => Some(page.words.session_ended.to_owned()),
        Some("others") => Some(page.words.others_ended.to_owned()),
        Some("preferences") => Some(page.words.saved.to_owned()),
        _ => None,
    };
    Reply::console(&page)
}

fn page(tx: &Tx<'_>, who: &Principal, visit: &Visit) -> Result<MePage, Error> {
    let texts = visit.texts_for(tx, who)?;
    let words = ME.of(texts);
    let user = store::user::find(tx, &who.user_id)?.ok_or(Refusal::Unauthorized { sent: true })?;
    let chosen = store::user::preferences(tx, &who.user_id)?.language;
    let language = |texts: &&'static Texts| LanguageOption {
        tag: texts.tag,
        own_name: texts.own_name,
        is_chosen: chosen.as_deref() == Some(texts.tag),
    };
    let name = user.profile.name;
    Ok(MePage {
        frame: visit.frame(tx, who, None, NavItem::Me, FRAME.of(texts).me.to_owned())?,
        words,
        who: fill(words.who, &[("name", &name), ("email", &who.email)]),
        email: who.email.clone(),
        has_password: store::user::has_password(tx, &who.user_id)?,
        password_hint: password_hint(JOIN.of(texts)),
        password_characters_min: CHARACTERS_MIN,
        factor: SECOND_FACTOR.of(texts),
        own_factors: own_factors(texts, store::second_factor::factors(tx, &who.user_id)?),
        sessions: sessions(tx, who, texts)?,
        has_language: chosen.is_some(),
        languages: texts::ALL.iter().map(language).collect(),
        current_password_error: None,
        new_password_error: None,
    })
}

fn own_factors(texts: &Texts, factors: Factors) -> String {
    let words = SECOND_FACTOR.of(texts);
    let app = factors.has_totp.then(|| words.app.to_owned());
    let passkeys = (factors.passkeys > 0).then(|| texts.counted(&words.passkeys, factors.passkeys));
    app.into_iter().chain(passkeys).collect::<Vec<_>>().join(", ")
}

fn sessions(tx: &Tx<'_>, who: &Principal, texts: &'static Texts) -> Result<Vec<SessionRow>, Error> {
    let words = ME.of(texts);
    let found = store::session::of_user(tx, &who.user_id, &session_digest(who)?)?;
    let row = |session: store::session::OwnSession| {
        let ago = |at| When::new(texts, "UTC", at, tx.now).relative;
        let times = [("since", &*ago(session.created_at)), ("seen", &*ago(session.last_seen_at))];
        let browser = browser::name(&session.user_agent);
        SessionRow {
            id: session.id.to_string(),
            browser: if browser.is_empty() { words.unknown_browser.to_owned() } else { browser },
            address: session.address,
            times: fill(words.session_times, &times),
            is_current: session.is_current,
        }
    };
    Ok(found.into_iter().map(row).collect())
}

/// Checks the current password, if there is one, and hashes the new password. The check is throttled like a sign-in.
///
/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated; `unauthorized` without a session; the errors of [`require_recent_or_password`].
fn decode_password(ctx: &Ctx, request: &Request) -> Result<(Visit, PasswordChange), Error> {
    let visit = Visit::decode(request)?;
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let (current, new) = (form.text("current")?.unwrap_or_default(), form.text("new")?.unwrap_or_default());
    let who = visit::user_of_session(ctx, request)?;
    let has_password = ctx.store.read(|tx| require_recent_or_password(tx, &who))?;
    if has_password && let Err(error) = session::check_password(ctx, request, &who.email, current) {
        let Error::Refused(refusal) = error else { return Err(error) };
        return Ok((visit, PasswordChange::WrongCurrent(refusal)));
    }
    let user = ctx.store.read(|tx| store::user::find(tx, &who.user_id))?.ok_or(Refusal::Unauthorized { sent: true })?;
    let change = match password::check(new, &user.profile.email, &user.profile.name) {
        Ok(()) if has_password => PasswordChange::Accepted(ctx.world.hash_password(new)),
        Ok(()) => PasswordChange::AcceptedFirst(ctx.world.hash_password(new)),
        Err(fault) => PasswordChange::Refused(fault),
    };
    Ok((visit, change))
}

/// Succeeds if the user has confirmed their identity recently. Also succeeds if the user has a password and no second
/// factor, because the current password is then the confirmation. Returns whether the user has a password.
///
/// # Errors
/// The errors of [`confirm::require_recent_or_return`].
fn require_recent_or_password(tx: &Tx<'_>, who: &Principal) -> Result<bool, Error> {
    let has_password = store::user::has_password(tx, &who.user_id)?;
    if !has_password || !store::second_factor::factors(tx, &who.user_id)?.is_empty() {
        confirm::require_recent_or_return(tx, who, "/app/me#password")?;
    }
    Ok(has_password)
}

/// `POST /app/me/password`: changes the password, or sets the first one, and ends all other sessions of the user.
///
/// # Errors
/// Each refusal is rendered as a page: `validation_error` if the current password is wrong or the new one is refused;
/// `rate_limited` after too many wrong passwords.
fn change_password(
    _: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    (visit, change): &(Visit, PasswordChange),
) -> Result<Reply, Error> {
    let page = match change {
        PasswordChange::Accepted(hash) => {
            store::user::change_password(tx, &who.user_id, hash, Some(&session_digest(who)?))?;
            return Ok(Reply::see_other("/app/me?done=password"));
        }
        PasswordChange::AcceptedFirst(hash) if !store::user::has_password(tx, &who.user_id)? => {
            store::user::change_password(tx, &who.user_id, hash, Some(&session_digest(who)?))?;
            return Ok(Reply::see_other("/app/me?done=first-password"));
        }
        // The current password is wrong, or it is missing because the user has meanwhile set one in another browser.
        PasswordChange::AcceptedFirst(_) | PasswordChange::WrongCurrent(Refusal::Unauthorized { .. }) => {
            let page = page(tx, who, visit)?;
            MePage { current_password_error: Some(page.words.wrong_password), ..page }
        }
        PasswordChange::WrongCurrent(refusal) => return Err(refusal.clone().into()),
        PasswordChange::Refused(fault) => {
            let page = page(tx, who, visit)?;
            let text = fault_text(JOIN.of(page.frame.texts), *fault);
            MePage { new_password_error: Some(text), ..page }
        }
    };
    Reply::console_refusal(&Refusal::invalid("password", "is refused"), &page)
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_session(_: &Ctx, request: &Request) -> Result<SessionId, Error> {
    Ok(visit::id(request, "id")?)
}

/// `POST /app/me/sessions/{id}/end`: signs the user out of another browser.
///
/// # Errors
/// `not_found`, as a page, if the user has no such session.
fn end_session(_: &Ctx, tx: &Tx<'_>, who: &Principal, session: &SessionId) -> Result<Reply, Error> {
    if store::session::end(tx, &who.user_id, session)? {
        Ok(Reply::see_other("/app/me?done=session"))
    } else {
        Err(visit::ABSENT.into())
    }
}

/// `POST /app/me/sessions/end-others`: signs the user out of all other browsers.
fn end_other_sessions(_: &Ctx, tx: &Tx<'_>, who: &Principal, (): &()) -> Result<Reply, Error> {
    store::session::end_others(tx, &who.user_id, &session_digest(who)?)?;
    Ok(Reply::see_other("/app/me?done=others"))
}

/// The preferences that a form sets. The theme is stored in a cookie, because it belongs to the device.
struct PreferencesInput {
    preferences: Preferences,
    theme: Option<&'static str>,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated or the language
/// is unknown.
fn decode_preferences(_: &Ctx, request: &Request) -> Result<PreferencesInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let language = form.text("language")?.filter(|tag| !tag.is_empty());
    if language.is_some_and(|tag| !language::TAGS.contains(&tag)) {
        return Err(Refusal::invalid("language", "is not a language of this service").into());
    }
    let preferences =
        Preferences { language: language.map(str::to_owned), single_keys: form.text("single_keys")?.is_some() };
    Ok(PreferencesInput { preferences, theme: form.text("theme")?.and_then(visit::theme) })
}

/// `POST /app/me/preferences`: saves the language, the theme, and whether single letters are keyboard shortcuts.
fn save_preferences(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &PreferencesInput) -> Result<Reply, Error> {
    store::user::save_preferences(tx, &who.user_id, &input.preferences)?;
    let secure = if ctx.settings.is_https() { "; Secure" } else { "" };
    let max_age_s = if input.theme.is_some() { THEME_MAX_AGE_S } else { 0 };
    let theme = input.theme.unwrap_or_default();
    let cookie = format!("{THEME_COOKIE}={theme}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}");
    Ok(Reply::see_other("/app/me?done=preferences").with(header::SET_COOKIE, &cookie))
}

/// `POST /app/sign-out`: ends the session.
fn sign_out(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, (): &()) -> Result<Reply, Error> {
    let cookie = session::end_session(ctx, tx, who)?;
    Ok(Reply::see_other("/sign-in").with(header::SET_COOKIE, &cookie))
}

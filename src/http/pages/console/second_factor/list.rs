//! `/app/me/second-factor`: shows the user's second factors. `/app/me/authenticator/remove` removes the authenticator
//! app.

use askama::Template;
use hyper::Method;

use super::super::confirm;
use super::super::frame::{ConsoleFrame, NavItem};
use super::super::visit::{ABSENT, Visit};
use super::path::{PATH, next_query};
use super::{authenticator, passkey};
use crate::domain::return_path;
use crate::domain::second_factor::Factors;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::second_factor::{SECOND_FACTOR, SecondFactorTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

#[derive(Template)]
#[template(path = "console/second_factor.html", config = "src/http/pages/templates/askama.toml")]
struct FactorsPage {
    frame: ConsoleFrame,
    words: &'static SecondFactorTexts,
    passkey: &'static PasskeyTexts,
    /// Whether the user must set up a factor before anything else.
    is_missing: bool,
    /// Whether the user has only one factor and cannot remove it.
    is_last: bool,
    factors: Vec<FactorRow>,
    has_totp: bool,
    /// The text about the number of unused recovery codes; `None` if the user has no factor.
    recovery: Option<String>,
    /// The query that names the page that opens after the user has set up a factor.
    next: String,
}

/// A second factor of the user.
struct FactorRow {
    name: String,
    detail: String,
    /// The URL of the page that replaces the factor, if there is one.
    replace_url: Option<&'static str>,
    /// The URL of the form that removes the factor; `None` for the only way to sign in.
    remove_url: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::staff(Method::GET, PATH, decode, show).before_second_factor().answering(&[(200, "")]),
        Route::staff(Method::POST, "/app/me/authenticator/remove", |_, _| Ok(()), remove_app)
            .with_form()
            .writes(Grade::Vital)
            .answering(&[(303, ""), (404, "not_found"), (409, "conflict")]),
    ]
}

/// Returns whether the user must have a second factor.
fn is_required(ctx: &Ctx, tx: &Tx<'_>, who: &Principal) -> Result<bool, Error> {
    store::second_factor::is_required(tx, &who.user_id, who.platform_role, !ctx.settings.requires_second_factors)
}

struct PageInput {
    visit: Visit,
    next: Option<String>,
    done: Option<String>,
}

/// # Errors
/// `validation_error` if a parameter is repeated.
fn decode(_: &Ctx, request: &Request) -> Result<PageInput, Error> {
    let next = request.query("next")?.as_deref().and_then(return_path::parse).map(str::to_owned);
    Ok(PageInput { visit: Visit::decode(request)?, next, done: request.query("done")? })
}

/// `GET /app/me/second-factor`: shows the user's factors and the number of unused recovery codes.
fn show(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &PageInput) -> Result<Reply, Error> {
    let texts = input.visit.texts_for(tx, who)?;
    let words = SECOND_FACTOR.of(texts);
    let (factors, is_required) = (store::second_factor::factors(tx, &who.user_id)?, is_required(ctx, tx, who)?);
    let mut frame = input.visit.frame(tx, who, None, NavItem::Me, words.title.to_owned())?;
    frame.notice = match input.done.as_deref() {
        Some("replaced") => Some(words.replaced.to_owned()),
        Some("added") => Some(words.added.to_owned()),
        Some("removed") => Some(words.removed.to_owned()),
        Some("passkey-added") => Some(PASSKEY.of(texts).added.to_owned()),
        Some("passkey-removed") => Some(PASSKEY.of(texts).removed.to_owned()),
        _ => None,
    };
    Reply::console(&FactorsPage {
        frame,
        words,
        passkey: PASSKEY.of(texts),
        is_missing: is_required && factors.is_empty(),
        is_last: factors.require_removable(is_required).is_err(),
        factors: rows(ctx, tx, who, texts)?,
        has_totp: factors.has_totp,
        recovery: recovery_left(tx, who, texts, factors)?,
        next: next_query(input.next.as_deref()),
    })
}

/// Returns all factors of the user.
fn rows(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, texts: &'static Texts) -> Result<Vec<FactorRow>, Error> {
    let words = SECOND_FACTOR.of(texts);
    let app = store::totp::find(tx, &who.user_id)?.map(|totp| FactorRow {
        name: words.app.to_owned(),
        detail: fill(words.app_since, &[("date", &texts.day(ctx.world.local_day("UTC", totp.confirmed_at)))]),
        replace_url: Some(authenticator::PATH),
        remove_url: Some("/app/me/authenticator/remove".to_owned()),
    });
    let passkeys = passkey::rows(ctx, tx, who, texts)?.into_iter().map(|row| FactorRow {
        name: row.name,
        detail: row.detail,
        replace_url: None,
        remove_url: row.remove_url,
    });
    Ok(app.into_iter().chain(passkeys).collect())
}

fn recovery_left(
    tx: &Tx<'_>,
    who: &Principal,
    texts: &'static Texts,
    factors: Factors,
) -> Result<Option<String>, Error> {
    if factors.is_empty() {
        return Ok(None);
    }
    let words = SECOND_FACTOR.of(texts);
    let left = usize::try_from(store::recovery_code::count(tx, &who.user_id)?).unwrap_or_default();
    let text = if left == 0 { words.recovery_none.to_owned() } else { texts.counted(&words.recovery_left, left) };
    Ok(Some(text))
}

/// `POST /app/me/authenticator/remove`: removes the authenticator app. Recovery codes replace a factor, so they are
/// deleted with the last factor.
///
/// # Errors
/// Each refusal is rendered as a page: `forbidden` without a recent confirmation; `not_found` without an app;
/// `conflict` for the last factor of a user who must have one.
fn remove_app(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, (): &()) -> Result<Reply, Error> {
    let factors = store::second_factor::factors(tx, &who.user_id)?;
    if !factors.has_totp {
        return Err(ABSENT.into());
    }
    factors.require_removable(is_required(ctx, tx, who)?)?;
    confirm::require_recent(tx, who)?;
    store::totp::remove(tx, &store::activity::stamp(&*ctx.world), who)?;
    store::second_factor::delete_codes_without_factor(tx, &who.user_id)?;
    Ok(Reply::see_other(&format!("{PATH}?done=removed")))
}

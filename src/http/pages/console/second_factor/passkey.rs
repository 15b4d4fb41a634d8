//! `/app/me/passkeys`: adds and removes passkeys of the signed-in user.

use askama::Template;
use hyper::Method;

use super::super::frame::{ConsoleFrame, NavItem};
use super::super::passkey::{ChallengeRequest, PasskeyAnswer, fault_text};
use super::super::visit::{self, Visit, session_digest};
use super::super::when::When;
use super::super::{browser, confirm};
use super::path::{PATH, next_query};
use super::recovery;
use crate::domain::id::PasskeyId;
use crate::domain::passkey::PASSKEYS_MAX;
use crate::domain::refusal::Refusal;
use crate::domain::return_path;
use crate::domain::text::{NAME_CHARACTERS_MAX, cut};
use crate::domain::user::Principal;
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::second_factor::{SECOND_FACTOR, SecondFactorTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::passkey::Passkey;
use crate::store::{self, Error, Grade, Tx};

const NEW_PATH: &str = "/app/me/passkeys/new";

#[derive(Template)]
#[template(path = "console/passkey_new.html", config = "src/http/pages/templates/askama.toml")]
struct NewPasskeyPage<'a> {
    frame: ConsoleFrame,
    words: &'static SecondFactorTexts,
    passkey: &'static PasskeyTexts,
    name: &'a str,
    next: Option<&'a str>,
    back: String,
    error: Option<&'static str>,
}

pub(super) fn routes() -> Vec<Route> {
    let act = |route: Route| route.with_form().writes(Grade::Vital);
    vec![
        Route::staff(Method::GET, NEW_PATH, decode_page, show)
            .before_second_factor()
            .answering(&[(200, ""), (403, "forbidden")]),
        act(Route::staff(Method::POST, "/app/me/passkeys/options", decode_options, options))
            .before_second_factor()
            .answering(&[(200, ""), (409, "conflict")]),
        act(Route::staff(Method::POST, "/app/me/passkeys", decode, add)).before_second_factor().answering(&[
            (200, ""),
            (303, ""),
            (409, "conflict"),
        ]),
        act(Route::staff(Method::POST, "/app/me/passkeys/{id}/remove", decode_id, remove))
            .answering(&[(303, ""), (409, "conflict")]),
    ]
}

/// The page on which a user adds a passkey.
struct NewPasskey {
    visit: Visit,
    next: Option<String>,
    name: String,
}

impl NewPasskey {
    /// Without a name, the passkey gets the [`default_name`].
    fn new(request: &Request, next: Option<&str>, name: Option<&str>) -> Result<Self, Refusal> {
        let next = next.and_then(return_path::parse).map(str::to_owned);
        let name = name.map(|name| cut(name.trim(), NAME_CHARACTERS_MAX)).filter(|name| !name.is_empty());
        let name = name.map_or_else(|| default_name(request), str::to_owned);
        Ok(Self { visit: Visit::decode(request)?, next, name })
    }

    fn page(&self, tx: &Tx<'_>, who: &Principal, error: Option<&'static str>) -> Result<NewPasskeyPage<'_>, Error> {
        let texts = self.visit.texts_for(tx, who)?;
        let passkey = PASSKEY.of(texts);
        Ok(NewPasskeyPage {
            frame: self.visit.frame(tx, who, None, NavItem::Me, passkey.add_title.to_owned())?,
            words: SECOND_FACTOR.of(texts),
            passkey,
            name: &self.name,
            next: self.next.as_deref(),
            back: format!("{PATH}{}", next_query(self.next.as_deref())),
            error,
        })
    }
}

/// Returns the name of a passkey if the user chose no name: the name of the browser or, without a `User-Agent`,
/// `Passkey`.
pub(in crate::http::pages::console) fn default_name(request: &Request) -> String {
    let name = browser::name(&request.user_agent());
    if name.is_empty() { "Passkey".to_owned() } else { name }
}

/// # Errors
/// `validation_error` if a parameter is repeated.
fn decode_page(_: &Ctx, request: &Request) -> Result<NewPasskey, Error> {
    Ok(NewPasskey::new(request, request.query("next")?.as_deref(), None)?)
}

/// `GET /app/me/passkeys/new`: asks for the name of a new passkey.
///
/// # Errors
/// The refusal is rendered as a page: `forbidden` without a recent confirmation.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, new: &NewPasskey) -> Result<Reply, Error> {
    confirm::require_recent(tx, who)?;
    Reply::console(&new.page(tx, who, None)?)
}

/// # Errors
/// `forbidden` for a request from another origin; `conflict` if the base URL rules out passkeys.
fn decode_options(ctx: &Ctx, request: &Request) -> Result<ChallengeRequest, Error> {
    Ok(ChallengeRequest::decode(ctx, request)?)
}

/// `POST /app/me/passkeys/options`: returns the options for the browser, with a new challenge.
fn options(_: &Ctx, tx: &Tx<'_>, who: &Principal, request: &ChallengeRequest) -> Result<Reply, Error> {
    request.for_registration(tx, &who.user_id)
}

struct AddInput {
    new: NewPasskey,
    answer: PasskeyAnswer,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated, or if a field cannot be decoded; `conflict` if the base URL rules out passkeys.
fn decode(ctx: &Ctx, request: &Request) -> Result<AddInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let new = NewPasskey::new(request, form.text("next")?, form.text("name")?)?;
    Ok(AddInput { new, answer: PasskeyAnswer::decode(ctx, request)? })
}

/// `POST /app/me/passkeys`: adds a passkey. If it is the first factor, ends the user's other sessions. If the user has
/// no unused recovery codes, makes new ones and shows them.
///
/// # Errors
/// Each refusal is rendered as a page: `forbidden` without a recent confirmation; `validation_error` for a refused
/// registration; `conflict` if the passkey is registered already, or if the user has the maximum number of passkeys.
fn add(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, AddInput { new, answer }: &AddInput) -> Result<Reply, Error> {
    confirm::require_recent_or_return(tx, who, NEW_PATH)?;
    let words = PASSKEY.of(new.visit.texts_for(tx, who)?);
    let refused = |refusal: &Refusal, error| Reply::console_refusal(refusal, &new.page(tx, who, Some(error))?);
    let verified = match answer.register(tx, &who.user_id)? {
        Ok(verified) => verified,
        Err(fault) => return refused(&Refusal::invalid("passkey", "is refused"), fault_text(words, fault)),
    };
    let factors = store::second_factor::factors(tx, &who.user_id)?;
    let passkey = Passkey {
        id: ctx.world.id(),
        credential_id: answer.credential_id.clone(),
        name: new.name.clone(),
        created_at: tx.now,
        last_used_at: None,
    };
    match store::passkey::add(tx, &store::activity::stamp(&*ctx.world), who, &passkey, &verified) {
        Ok(()) => {}
        Err(Error::Refused(refusal @ Refusal::Conflict(_))) => {
            let error = if factors.passkeys >= PASSKEYS_MAX { words.too_many } else { words.exists };
            return refused(&refusal, error);
        }
        Err(error) => return Err(error),
    }
    if factors.is_empty() {
        store::session::end_others(tx, &who.user_id, &session_digest(who)?)?;
    }
    if store::recovery_code::count(tx, &who.user_id)? == 0 {
        return recovery::make(ctx, tx, who, &new.visit, new.next.as_deref());
    }
    Ok(Reply::see_other(new.next.as_deref().unwrap_or(&format!("{PATH}?done=passkey-added"))))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<PasskeyId, Error> {
    Ok(visit::id(request, "id")?)
}

/// `POST /app/me/passkeys/{id}/remove`: removes a passkey. Recovery codes replace a factor, so they are deleted with
/// the last factor.
///
/// # Errors
/// Each refusal is rendered as a page: `forbidden` without a recent confirmation; `not_found` if the user has no such
/// passkey; `conflict` for the last factor of a user who must have one, and for the only passkey of a user without a
/// password.
fn remove(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, passkey: &PasskeyId) -> Result<Reply, Error> {
    let own = store::passkey::of_user(tx, &who.user_id)?;
    if !own.iter().any(|one| one.id == *passkey) {
        return Err(visit::ABSENT.into());
    }
    let factors = store::second_factor::factors(tx, &who.user_id)?;
    let is_demo = !ctx.settings.requires_second_factors;
    let is_required = store::second_factor::is_required(tx, &who.user_id, who.platform_role, is_demo)?;
    factors.require_removable(is_required)?;
    if own.len() == 1 && !store::user::has_password(tx, &who.user_id)? {
        return Err(Refusal::Conflict(
            "this passkey is the only way to sign in to this account; add another one first",
        )
        .into());
    }
    confirm::require_recent(tx, who)?;
    store::passkey::remove(tx, &store::activity::stamp(&*ctx.world), who, passkey)?;
    store::second_factor::delete_codes_without_factor(tx, &who.user_id)?;
    Ok(Reply::see_other(&format!("{PATH}?done=passkey-removed")))
}

/// A passkey in the list of factors.
pub(super) struct PasskeyRow {
    pub(super) name: String,
    pub(super) detail: String,
    /// The URL of the form that removes the passkey; `None` for the only way to sign in.
    pub(super) remove_url: Option<String>,
}

/// Returns the user's passkeys as the list of factors shows them.
pub(super) fn rows(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, texts: &'static Texts) -> Result<Vec<PasskeyRow>, Error> {
    let words = PASSKEY.of(texts);
    let own = store::passkey::of_user(tx, &who.user_id)?;
    let is_only_way = own.len() == 1 && !store::user::has_password(tx, &who.user_id)?;
    let row = |passkey: Passkey| {
        let date = texts.day(ctx.world.local_day("UTC", passkey.created_at));
        let used = passkey.last_used_at.map(|at| When::new(texts, "UTC", at, tx.now).relative);
        PasskeyRow {
            name: fill(words.row, &[("name", &passkey.name)]),
            detail: match used {
                Some(used) => fill(words.added_used, &[("date", &date), ("used", &used)]),
                None => fill(words.added_unused, &[("date", &date)]),
            },
            remove_url: (!is_only_way).then(|| format!("/app/me/passkeys/{}/remove", passkey.id)),
        }
    };
    Ok(own.into_iter().map(row).collect())
}

//! `/app/me/recovery-codes`: makes new recovery codes, and shows them once.

use askama::Template;
use hyper::Method;

use super::super::confirm;
use super::super::frame::{ConsoleFrame, NavItem};
use super::super::visit::{ABSENT, Visit};
use super::path;
use crate::domain::recovery_code::{CODES, RANDOM_BYTES, RecoveryCode};
use crate::domain::user::Principal;
use crate::http::pages::texts::console::second_factor::{SECOND_FACTOR, SecondFactorTexts};
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

#[derive(Template)]
#[template(path = "console/recovery_codes.html", config = "src/http/pages/templates/askama.toml")]
struct RecoveryPage<'a> {
    frame: ConsoleFrame,
    words: &'static SecondFactorTexts,
    /// The account and the service, for a printed page.
    of: String,
    codes: Vec<String>,
    next: &'a str,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::staff(Method::POST, "/app/me/recovery-codes", decode, replace)
            .with_form()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

/// # Errors
/// `validation_error` if `lang` or `locale` is repeated.
fn decode(_: &Ctx, request: &Request) -> Result<Visit, Error> {
    Ok(Visit::decode(request)?)
}

/// `POST /app/me/recovery-codes`: replaces all recovery codes.
///
/// # Errors
/// Each refusal is rendered as a page: `forbidden` without a recent confirmation; `not_found` without a second factor,
/// because recovery codes only replace a lost factor.
fn replace(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, visit: &Visit) -> Result<Reply, Error> {
    if store::second_factor::factors(tx, &who.user_id)?.is_empty() {
        return Err(ABSENT.into());
    }
    confirm::require_recent(tx, who)?;
    make(ctx, tx, who, visit, None)
}

/// Replaces all recovery codes with new ones and shows them. `next` is the page that the user opens afterwards.
pub(in crate::http::pages::console) fn make(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    visit: &Visit,
    next: Option<&str>,
) -> Result<Reply, Error> {
    let new_code = |_| {
        let mut random = [0; RANDOM_BYTES];
        ctx.world.fill(&mut random);
        RecoveryCode::new(&random)
    };
    let codes: Vec<RecoveryCode> = (0..CODES).map(new_code).collect();
    store::recovery_code::replace(tx, &store::activity::stamp(&*ctx.world), who, &codes)?;
    let words = SECOND_FACTOR.of(visit.texts_for(tx, who)?);
    Reply::console(&RecoveryPage {
        frame: visit.frame(tx, who, None, NavItem::Me, words.codes_title.to_owned())?,
        words,
        of: fill(words.codes_of, &[("email", &who.email), ("service", &ctx.settings.base_url)]),
        codes: codes.iter().map(RecoveryCode::text).collect(),
        next: next.unwrap_or(path::PATH),
    })
}

//! `/join/{token}/passkey`: a sign-in link, with which a user adds a passkey instead of choosing a password.

use hyper::{Method, header};

use super::join::{LinkVisit, offers_passkey};
use super::passkey::{ChallengeRequest, PasskeyAnswer, fault_text};
use super::second_factor::passkey::default_name;
use super::second_factor::recovery;
use crate::domain::passkey::VerifiedKey;
use crate::domain::refusal::Refusal;
use crate::http::api::session::FreshSession;
use crate::http::pages::texts::console::passkey::PASSKEY;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::passkey::Passkey;
use crate::store::sign_in_link::SignInLink;
use crate::store::{self, Error, Grade, Tx};

/// The refusal of a link that does not work or that offers no passkey.
const GONE: Refusal = Refusal::Gone("the link no longer works");

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Staff, Method::POST, "/join/{token}/passkey-options", decode_options, options)
            .with_form()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (400, "validation_error"), (403, "forbidden"), (409, "conflict"), (410, "gone")]),
        Route::open(Audience::Staff, Method::POST, "/join/{token}/passkey", decode, join)
            .with_form()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (400, "validation_error"), (403, "forbidden"), (409, "conflict"), (410, "gone")]),
    ]
}

/// # Errors
/// `validation_error` if `lang` or `locale` is repeated; `forbidden` for a request from another origin; `conflict`
/// if the base URL rules out passkeys.
fn decode_options(ctx: &Ctx, request: &Request) -> Result<(LinkVisit, ChallengeRequest), Error> {
    Ok((LinkVisit::decode(request)?, ChallengeRequest::decode(ctx, request)?))
}

/// `POST /join/{token}/passkey-options`: returns the options for the browser, with a new challenge.
///
/// # Errors
/// `gone`, as a page, if the link does not work or offers no passkey.
fn options(_: &Ctx, tx: &Tx<'_>, (visit, request): &(LinkVisit, ChallengeRequest)) -> Result<Reply, Error> {
    match find(tx, visit)? {
        Some(link) => request.for_registration(tx, &link.user_id),
        None => Err(GONE.into()),
    }
}

fn find(tx: &Tx<'_>, visit: &LinkVisit) -> Result<Option<SignInLink>, Error> {
    let Some(link) = store::sign_in_link::find(tx, &visit.token)? else { return Ok(None) };
    Ok(offers_passkey(tx, &link)?.then_some(link))
}

struct JoinInput {
    visit: LinkVisit,
    answer: PasskeyAnswer,
    session: FreshSession,
    name: String,
}

/// # Errors
/// `forbidden` for a request from another origin; `unsupported_media_type` for a body that is not a form;
/// `validation_error` if a field, `lang` or `locale` is repeated, or if a field cannot be decoded; `conflict` if the
/// base URL rules out passkeys.
fn decode(ctx: &Ctx, request: &Request) -> Result<JoinInput, Error> {
    if request.origin().is_stated() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    Ok(JoinInput {
        visit: LinkVisit::decode(request)?,
        answer: PasskeyAnswer::decode(ctx, request)?,
        session: FreshSession::of(ctx, request),
        name: default_name(request),
    })
}

/// `POST /join/{token}/passkey`: adds the passkey, and removes the password. If the link resets the factors, removes
/// the earlier factors too. Ends the user's other sessions, signs the user in, and shows the recovery codes. All links
/// of the user stop working.
///
/// # Errors
/// Each refusal is rendered as a page: `gone` if the link does not work or offers no passkey; `validation_error` for a
/// refused registration; `conflict` if the passkey is registered already and the link does not reset the factors.
fn join(ctx: &Ctx, tx: &Tx<'_>, input: &JoinInput) -> Result<Reply, Error> {
    let Some(link) = find(tx, &input.visit)? else { return input.visit.gone() };
    let words = PASSKEY.of(input.visit.visit.texts());
    let verified = match input.answer.register(tx, &link.user_id)? {
        Ok(verified) => verified,
        Err(fault) => {
            let refusal = Refusal::invalid("passkey", "is refused");
            return input.visit.passkey_refused(tx, &link, &refusal, fault_text(words, fault));
        }
    };
    if store::passkey::exists(tx, &input.answer.credential_id)? && !link.purpose.resets_factors() {
        let refusal = Refusal::Conflict("this passkey is registered already");
        return input.visit.passkey_refused(tx, &link, &refusal, words.exists);
    }
    sign_in(ctx, tx, input, &link, &verified)
}

fn sign_in(
    ctx: &Ctx,
    tx: &Tx<'_>,
    input: &JoinInput,
    link: &SignInLink,
    verified: &VerifiedKey,
) -> Result<Reply, Error> {
    let user = &link.user_id;
    store::sign_in_link::delete_of_user(tx, user)?;
    store::user::remove_password(tx, user)?;
    let (who, cookie) = input.session.begin(ctx, tx, user)?;
    if !store::second_factor::factors(tx, user)?.is_empty() {
        store::second_factor::reset(tx, &store::activity::stamp(&*ctx.world), &who)?;
    }
    let passkey = Passkey {
        id: ctx.world.id(),
        credential_id: input.answer.credential_id.clone(),
        name: input.name.clone(),
        created_at: tx.now,
        last_used_at: None,
    };
    store::passkey::add(tx, &store::activity::stamp(&*ctx.world), &who, &passkey, verified)?;
    Ok(recovery::make(ctx, tx, &who, &input.visit.visit, Some("/app"))?.with(header::SET_COOKIE, &cookie))
}

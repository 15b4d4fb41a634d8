//! `/sign-in/passkey`: the sign-in with a passkey. A passkey counts as both factors, because the authenticator verifies
//! the user.

use hyper::{Method, header};

use super::passkey::{ChallengeRequest, PasskeyAnswer, fault_text};
use super::sign_in_form::{self, Carried};
use super::visit::Visit;
use crate::domain::passkey::ChallengeUse;
use crate::domain::refusal::Refusal;
use crate::http::api::session::FreshSession;
use crate::http::pages::texts::console::passkey::PASSKEY;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::{Error, Grade, Refused, Tx};

pub(super) fn routes() -> Vec<Route> {
    vec![
        // If a challenge is lost, the client only has to ask for another one, so a challenge does not justify an fsync.
        Route::open(Audience::Staff, Method::POST, "/sign-in/passkey-options", decode_options, options)
            .with_form()
            .writes(Grade::Logged)
            .answering(&[(200, ""), (403, "forbidden"), (409, "conflict"), (429, "rate_limited")]),
        Route::open(Audience::Staff, Method::POST, "/sign-in/passkey", decode, sign_in)
            .with_form()
            .writes(Grade::Vital)
            .answering(&[
                (200, ""),
                (303, ""),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (409, "conflict"),
            ]),
    ]
}

/// # Errors
/// `forbidden` for a request from another origin; `conflict` if the base URL rules out passkeys; `rate_limited` if the
/// client's network has asked for too many challenges.
fn decode_options(ctx: &Ctx, request: &Request) -> Result<ChallengeRequest, Error> {
    let challenge = ChallengeRequest::decode(ctx, request)?;
    let taken = ctx.stranger_challenges.take(request.client())?;
    taken.map_err(|retry_after_s| Refusal::RateLimited { retry_after_s })?;
    Ok(challenge)
}

/// `POST /sign-in/passkey-options`: returns the options for the browser, with a new challenge.
fn options(_: &Ctx, tx: &Tx<'_>, request: &ChallengeRequest) -> Result<Reply, Error> {
    request.for_assertion(tx, ChallengeUse::SignIn, None, &[])
}

/// A sign-in with the answer of an authenticator.
struct PasskeySignIn {
    visit: Visit,
    carried: Carried,
    answer: PasskeyAnswer,
    session: FreshSession,
}

/// # Errors
/// `forbidden` for a request from another origin; `unsupported_media_type` for a body that is not a form;
/// `validation_error` if a field, `lang` or `locale` is repeated, or if a field cannot be decoded; `conflict` if the
/// base URL rules out passkeys.
fn decode(ctx: &Ctx, request: &Request) -> Result<PasskeySignIn, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    if request.origin().is_stated() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    Ok(PasskeySignIn {
        visit: Visit::decode(request)?,
        carried: Carried::decode(form)?,
        answer: PasskeyAnswer::decode(ctx, request)?,
        session: FreshSession::of(ctx, request),
    })
}

/// `POST /sign-in/passkey`: starts the session, and continues as after a sign-in with a password.
///
/// # Errors
/// The refusal is rendered as a page: `unauthorized` for a refused passkey.
fn sign_in(ctx: &Ctx, tx: &Tx<'_>, input: &PasskeySignIn) -> Result<Reply, Error> {
    match input.answer.accept(ctx, tx, ChallengeUse::SignIn, None)? {
        Ok(stored) => {
            let (_, cookie) = input.session.begin(ctx, tx, &stored.user_id)?;
            Ok(input.carried.resume(&input.visit)?.with(header::SET_COOKIE, &cookie))
        }
        Err(refused) => {
            input.session.log_failed(ctx, tx, refused.user_id.as_ref())?;
            if let Some(user) = refused.user_id {
                ctx.store.note_refused(Refused::SignIn(user));
            }
            let text = fault_text(PASSKEY.of(input.visit.texts()), refused.fault);
            sign_in_form::start_over(&input.visit, text, &input.carried)
        }
    }
}

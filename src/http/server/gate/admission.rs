//! Who may enter: credential, principal, rate limit, scope.

use std::sync::Arc;

use hyper::header;

use super::Trail;
use crate::domain::api_key::KeySecret;
use crate::domain::refusal::Refusal;
use crate::domain::usage;
use crate::domain::user::{Auth, Principal};
use crate::http::api::session;
use crate::http::server::ctx::Ctx;
use crate::http::server::limiter::Caller;
use crate::http::server::request::Request;
use crate::http::server::route::{Entry, Route};
use crate::store::{self, Error, KnownKey, Tx};

/// What a request proves with who sends it: a key as memory knows it, or the digest of a session's cookie.
#[derive(Debug, Clone)]
pub(super) enum Credential {
    ApiKey(Arc<KnownKey>),
    Session([u8; 32]),
}

/// Credential, principal, rate limit, scope. The usage row is owed from here on.
pub(super) fn admit(
    ctx: &Ctx,
    route: &Route,
    request: &Request,
    trail: &mut Trail,
) -> Result<Option<Credential>, Error> {
    if route.entry == Entry::Open {
        return Ok(None);
    }
    let credential = credential(ctx, request)?;
    let of_session;
    let who = match &credential {
        Credential::ApiKey(key) => &key.principal,
        Credential::Session(_) => {
            of_session = ctx.store.read(|tx| prove(tx, &credential))?;
            &of_session
        }
    };
    route.entry.accept(who)?;
    let caller = match (&credential, &who.auth) {
        (Credential::ApiKey(key), Auth::ApiKey { number, .. }) => {
            trail.key = Some(Arc::clone(key));
            trail.owed = Some(usage_entry(*number, route, request));
            Caller::Key(*number)
        }
        _ => Caller::User(who.user_id.clone()),
    };
    // A request that takes its way once more has its token.
    if trail.left.is_none()
        && let Some((left, taken)) = ctx.limiter.take(caller, ctx.world.monotonic())
    {
        trail.left = Some(left);
        taken.map_err(|retry_after_s| Refusal::RateLimited { retry_after_s })?;
    }
    route.entry.admit(who)?;
    if matches!(credential, Credential::Session(_)) && !request.method().is_safe() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    Ok(Some(credential))
}

/// A credential as a request carries it, before it is looked up: a digest.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
    ApiKey([u8; 32]),
    Session([u8; 32]),
}

/// The credential that the request carries: a key goes before a session.
///
/// # Errors
/// `unauthorized` where there is nothing, or a key that is not in the form of one.
pub(super) fn sent(ctx: &Ctx, request: &Request) -> Result<Sent, Refusal> {
    if let Some(value) = request.header_list(&header::AUTHORIZATION) {
        let (scheme, token) = value.split_once(' ').unwrap_or((&value, ""));
        let secret = KeySecret::parse(token.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"));
        return secret.map(|secret| Sent::ApiKey(secret.digest())).ok_or(Refusal::Unauthorized { sent: true });
    }
    session::cookie(ctx, request).map(Sent::Session).ok_or(Refusal::Unauthorized { sent: false })
}

/// The credential, looked up.
///
/// # Errors
/// `unauthorized` where there is none, or a key that does not count.
fn credential(ctx: &Ctx, request: &Request) -> Result<Credential, Error> {
    match sent(ctx, request)? {
        Sent::ApiKey(digest) => {
            let key = ctx.store.key(&digest)?;
            key.map(Credential::ApiKey).ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
        }
        Sent::Session(digest) => Ok(Credential::Session(digest)),
    }
}

/// Who the credential is, in this very transaction.
///
/// # Errors
/// `unauthorized` where it does not count, or not any more.
pub(super) fn prove(tx: &Tx<'_>, credential: &Credential) -> Result<Principal, Error> {
    let found = match credential {
        Credential::ApiKey(key) => key.prove(tx)?,
        Credential::Session(digest) => store::session::principal(tx, digest)?,
    };
    found.ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
}

fn usage_entry(key_number: i64, route: &Route, request: &Request) -> store::usage::LogEntry {
    store::usage::LogEntry {
        key_number,
        method: request.method().to_string().into(),
        path: usage::stored_path(request.path()).to_owned().into(),
        ip: request.client(),
        user_agent: request.user_agent(),
        auth_endpoint: route.path,
    }
}

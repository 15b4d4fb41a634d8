//! Who may enter: credential, principal, rate limit, scope.

use std::sync::Arc;

use super::trail::Trail;
use crate::domain::refusal::Refusal;
use crate::domain::usage;
use crate::domain::user::Auth;
use crate::http::server::authentication::{Credential, look_up, presented, prove};
use crate::http::server::ctx::Ctx;
use crate::http::server::entry::Entry;
use crate::http::server::limiter::Caller;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error};

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
    let credential = look_up(ctx, presented(ctx, request)?)?;
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
    // A request that is carried out again has its token.
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

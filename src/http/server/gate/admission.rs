//! Admission: credential, principal, rate limit, authority, origin, and second factor.

use std::sync::Arc;

use super::request_trail::RequestTrail;
use crate::domain::refusal::Refusal;
use crate::domain::usage;
use crate::domain::user::Auth;
use crate::http::server::access_rule::{AccessRule, require_second_factor};
use crate::http::server::authentication::{Credential, Presented, look_up, presented, verify};
use crate::http::server::ctx::Ctx;
use crate::http::server::database_read::read_briefly;
use crate::http::server::rate_limiter::BucketOwner;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error};

/// Admits a request to its route. Prepares the usage row of a request with an API key.
///
/// # Errors
/// `unauthorized`, `rate_limited`, `insufficient_scope`; `forbidden`, including for an unsafe request that has a
/// session and comes from another origin, and for a user who must set up a second factor first; `validation_error` for
/// a page of the console with a repeated `lang` or `locale`; or the errors of [`read_briefly`].
pub(super) async fn admit(
    ctx: &Arc<Ctx>,
    route: &Route,
    request: &Request,
    trail: &mut RequestTrail,
) -> Result<Option<Credential>, Error> {
    if route.access == AccessRule::Open {
        return Ok(None);
    }
    let presented = presented(ctx, request)?;
    if route.access.requires_key() && matches!(presented, Presented::Session(_)) {
        return Err(Refusal::KeyRequired.into());
    }
    let credential = look_up(ctx, presented).await?;
    let session_principal;
    let who = match &credential {
        Credential::ApiKey(key) => &key.principal,
        Credential::Session(_) => {
            let session = credential.clone();
            session_principal = read_briefly(ctx, move |ctx| ctx.store.read(|tx| verify(tx, &session))).await?;
            &session_principal
        }
    };
    route.access.check_credential_kind(who)?;
    let caller = match (&credential, &who.auth) {
        (Credential::ApiKey(key), Auth::ApiKey { number, .. }) => {
            trail.key = Some(Arc::clone(key));
            trail.usage_row = Some(usage_entry(*number, route, request));
            BucketOwner::Key(*number)
        }
        _ => BucketOwner::User(who.user_id.clone()),
    };
    // If the gate handles a request again, the request has already taken its token.
    if trail.remaining_tokens.is_none()
        && let Some((tokens, taken)) = ctx.rate_limiter.take(caller, ctx.world.monotonic())
    {
        trail.remaining_tokens = Some(tokens);
        taken.map_err(|retry_after_s| Refusal::RateLimited { retry_after_s })?;
    }
    route.access.check_authority(who)?;
    if matches!(credential, Credential::Session(_)) && !request.method().is_safe() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    if route.access == AccessRule::Staff {
        // Every page of the console answers a repeated `lang` in the same way, even a page without text.
        request.language()?;
    }
    if route.requires_second_factor {
        let who = who.clone();
        read_briefly(ctx, move |ctx| ctx.store.read(|tx| require_second_factor(ctx, tx, &who))).await?;
    }
    Ok(Some(credential))
}

fn usage_entry(key_number: i64, route: &Route, request: &Request) -> store::usage::LogEntry {
    store::usage::LogEntry {
        key_number,
        method: request.method().to_string().into(),
        path: usage::stored_path(request.path(), route.path).into(),
        ip: request.client(),
        user_agent: request.user_agent(),
        auth_endpoint: route.path,
    }
}

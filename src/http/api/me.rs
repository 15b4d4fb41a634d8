//! `GET /api/v1/me`: returns the caller, and the kind, id and scopes of their credential.

use hyper::Method;
use serde::Serialize;

use crate::domain::user::{Auth, Principal};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::route::Route;
use crate::store::{Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let route = Route::authenticated(Method::GET, "/api/v1/me", |_, _| Ok(()), get);
    vec![route.replying_from_caller(reply).answering(&[(200, "")])]
}

/// `GET /api/v1/me`: returns the caller as this transaction reads them. For most requests that use an API key, the fast
/// path answers from memory, without calling this function.
#[expect(clippy::unnecessary_wraps, reason = "handlers have this type, although this handler cannot refuse")]
fn get(_: &Ctx, _: &Tx<'_>, caller: &Principal, (): &()) -> Result<Reply, Error> {
    Ok(reply(caller))
}

fn reply(caller: &Principal) -> Reply {
    Reply::json(&wire(caller))
}

/// Returns the body of this endpoint's answer. The answer to a sign-in has the same body.
pub(in crate::http) fn wire(caller: &Principal) -> impl Serialize {
    let auth = match &caller.auth {
        Auth::ApiKey { id, grant, .. } => WireAuth {
            kind: "api_key",
            key_id: Some(id.to_string()),
            scopes: Some(grant.scopes.iter().map(|scope| scope.as_str()).collect()),
        },
        Auth::Session { .. } => WireAuth { kind: "session", key_id: None, scopes: None },
    };
    let user =
        WireUser { id: caller.user_id.to_string(), email: caller.email.clone(), role: caller.platform_role.as_str() };
    WirePrincipal { user, auth }
}

#[derive(Serialize)]
struct WirePrincipal {
    user: WireUser,
    auth: WireAuth,
}

#[derive(Serialize)]
struct WireUser {
    id: String,
    email: String,
    role: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireAuth {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<&'static str>>,
}

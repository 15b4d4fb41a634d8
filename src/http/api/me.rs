//! `GET /api/v1/me`: who calls.

use hyper::Method;
use serde::Serialize;

use crate::domain::user::{Auth, Principal};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![Route::signed(Method::GET, "/api/v1/me", decode, act).replying_from_caller(reply).answering(&[
        (200, ""),
        (401, "unauthorized"),
        (429, "rate_limited"),
    ])]
}

#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode(_: &Ctx, _: &Request) -> Result<(), Error> {
    Ok(())
}

/// `GET /api/v1/me`: the caller and the credential, as they are in this very transaction.
///
/// # Errors
/// None of its own; the gate lets nobody in without a credential that counts.
fn act(_: &Ctx, _: &Tx<'_>, who: &Principal, (): &()) -> Result<Reply, Error> {
    Ok(reply(who))
}

fn reply(who: &Principal) -> Reply {
    Reply::json(&wire(who))
}

/// The principal, as this endpoint and a sign-in show it.
pub(in crate::http) fn wire(who: &Principal) -> impl Serialize {
    let auth = match &who.auth {
        Auth::ApiKey { id, grant, .. } => WireAuth {
            kind: "api_key",
            key_id: Some(id.to_string()),
            scopes: Some(grant.scopes.iter().map(|scope| scope.as_str()).collect()),
        },
        Auth::Session { .. } => WireAuth { kind: "session", key_id: None, scopes: None },
    };
    let user = WireUser { id: who.user_id.to_string(), email: who.email.clone(), role: who.platform_role.as_str() };
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

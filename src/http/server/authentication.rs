//! Who a request comes from: the credential that it carries, and whether that credential counts.
//!
//! This is the only reader of `Authorization` and of the session cookie. A credential is looked up in memory first, which is
//! enough to refuse it ([`look_up`]); what acts on it proves it again in its own transaction ([`prove`]).

use std::sync::Arc;

use hyper::header::{self, HeaderMap};
use sha2::{Digest, Sha256};

use super::ctx::Ctx;
use super::request::Request;
use crate::domain::api_key::{self, KeySecret};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::store::{self, Error, KnownKey, Tx};

const COOKIE: &str = "appliance_session";

/// Its name where the service is reached by https: then no other host, and no plain connection, can set it.
const COOKIE_OF_HOST: &str = "__Host-appliance_session";

/// What a request proves with who sends it: a key as memory knows it, or the digest of a session's cookie.
#[derive(Debug, Clone)]
pub(in crate::http) enum Credential {
    ApiKey(Arc<KnownKey>),
    Session([u8; 32]),
}

/// A credential as a request carries it, before it is looked up: a digest.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) enum Presented {
    ApiKey([u8; 32]),
    Session([u8; 32]),
}

/// The content of `Authorization`.
enum Authorization<'a> {
    Missing,
    Bearer(&'a str),
    /// There twice, of another scheme, or no text.
    Unusable,
}

/// Reads `Authorization` without copying it (RFC 6750 §2.1). It is a list of one: the field twice is no credential.
fn authorization(fields: &HeaderMap) -> Authorization<'_> {
    let mut values = fields.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Authorization::Missing };
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    match text.and_then(|text| text.split_once(' ')) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Authorization::Bearer(token.trim()),
        _ => Authorization::Unusable,
    }
}

/// The key that calls, where memory knows it: only keys in the right form are there. `None` says nothing against the request.
pub(in crate::http) fn key_in_memory(ctx: &Ctx, fields: &HeaderMap) -> Option<Arc<KnownKey>> {
    match authorization(fields) {
        Authorization::Bearer(token) => ctx.store.known_key(&api_key::digest(token)),
        Authorization::Missing | Authorization::Unusable => None,
    }
}

/// The credential that the request carries: a key goes before a session.
///
/// # Errors
/// `unauthorized` where there is nothing, or a key that is not in the form of one.
pub(in crate::http) fn presented(ctx: &Ctx, request: &Request) -> Result<Presented, Refusal> {
    match authorization(request.headers()) {
        Authorization::Bearer(token) => {
            let secret = KeySecret::parse(token).ok_or(Refusal::Unauthorized { sent: true })?;
            Ok(Presented::ApiKey(secret.digest()))
        }
        Authorization::Unusable => Err(Refusal::Unauthorized { sent: true }),
        Authorization::Missing => {
            cookie(ctx, request).map(Presented::Session).ok_or(Refusal::Unauthorized { sent: false })
        }
    }
}

/// The credential, looked up.
///
/// # Errors
/// `unauthorized` for a key that does not count.
pub(in crate::http) fn look_up(ctx: &Ctx, presented: Presented) -> Result<Credential, Error> {
    match presented {
        Presented::ApiKey(digest) => {
            let key = ctx.store.key(&digest)?;
            key.map(Credential::ApiKey).ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
        }
        Presented::Session(digest) => Ok(Credential::Session(digest)),
    }
}

/// Who the credential is, in this very transaction.
///
/// # Errors
/// `unauthorized` where it does not count, or not any more.
pub(in crate::http) fn prove(tx: &Tx<'_>, credential: &Credential) -> Result<Principal, Error> {
    let found = match credential {
        Credential::ApiKey(key) => key.prove(tx)?,
        Credential::Session(digest) => store::session::principal(tx, digest)?,
    };
    found.ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
}

/// The digest of the session cookie that a request carries. Only the name that a sign-in sets is read: behind https
/// that is the one that no other host can set.
pub(in crate::http) fn cookie(ctx: &Ctx, request: &Request) -> Option<[u8; 32]> {
    let wanted = cookie_name(ctx);
    let mut cookies = request.cookies().into_iter();
    let found = cookies.find(|(name, value)| name == wanted && !value.is_empty());
    found.map(|(_, value)| cookie_digest(&value))
}

/// What a session's cookie is called here.
pub(in crate::http) fn cookie_name(ctx: &Ctx) -> &'static str {
    if ctx.settings.is_https() { COOKIE_OF_HOST } else { COOKIE }
}

/// What the store knows of a cookie.
pub(in crate::http) fn cookie_digest(cookie: &str) -> [u8; 32] {
    Sha256::digest(cookie.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(fields: &HeaderMap) -> Option<&str> {
        match authorization(fields) {
            Authorization::Missing => None,
            Authorization::Bearer(token) => Some(token),
            Authorization::Unusable => Some("unusable"),
        }
    }

    #[test]
    fn authorization_is_one_bearer_token() {
        for (values, expected) in [
            (&[][..], None),
            (&["Bearer rpk_a"], Some("rpk_a")),
            (&["bEARER  rpk_a "], Some("rpk_a")),
            (&["Bearer"], Some("unusable")),
            (&["Basic rpk_a"], Some("unusable")),
            (&["Bearer \u{e4}"], Some("unusable")),
            (&["Bearer rpk_a", "Bearer rpk_a"], Some("unusable")),
        ] {
            let mut fields = HeaderMap::new();
            for value in values {
                fields.append(header::AUTHORIZATION, value.as_bytes().try_into().unwrap());
            }
            assert_eq!(token(&fields), expected, "{values:?}");
        }
    }
}

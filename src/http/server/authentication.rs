//! Authentication: reads the credential of a request, verifies the credential, and returns the principal.
//!
//! Only this module reads `Authorization` and the session cookie. [`look_up`] finds an API key in the key cache or in
//! the database, so that a bad key is refused early. The request's transaction verifies the key or session
//! ([`verify`]), so a revoked key or an ended session cannot be used. The rule for keys is `domain::api_key::KeyState`.

use std::sync::Arc;

use hyper::header::{self, HeaderMap};
use sha2::{Digest, Sha256};

use super::ctx::Ctx;
use super::database_read::read_briefly;
use super::request::Request;
use crate::domain::api_key::{self, KeySecret};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::store::{self, CachedKey, Error, Tx};

const COOKIE: &str = "appliance_session";

/// The cookie's name over https. Browsers accept a cookie with this prefix only from its own host over https, so no
/// other host can set the cookie.
const COOKIE_OF_HOST: &str = "__Host-appliance_session";

/// A credential after the lookup: a cached key, or the digest of a session's cookie.
#[derive(Debug, Clone)]
pub(in crate::http) enum Credential {
    ApiKey(Arc<CachedKey>),
    Session([u8; 32]),
}

/// The digest of the credential in a request, before the lookup.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) enum Presented {
    ApiKey([u8; 32]),
    Session([u8; 32]),
}

/// The content of `Authorization`.
enum Authorization<'a> {
    Missing,
    Bearer(&'a str),
    /// The field is repeated, has another scheme or no token, or is not ASCII.
    Unusable,
}

/// Reads `Authorization` without copying it (RFC 6750 §2.1). A repeated field is ambiguous, so it is not used as a
/// credential.
fn authorization(fields: &HeaderMap) -> Authorization<'_> {
    let mut values = fields.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Authorization::Missing };
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    match text.and_then(|text| text.split_once(' ')) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Authorization::Bearer(token.trim()),
        _ => Authorization::Unusable,
    }
}

/// Returns the request's key from the key cache. The cache holds only well-formed keys, so this function does not
/// check the key's syntax. Returns `None` if the key is not in the cache, even if the key is valid.
pub(in crate::http) fn key_in_memory(ctx: &Ctx, fields: &HeaderMap) -> Option<Arc<CachedKey>> {
    match authorization(fields) {
        Authorization::Bearer(token) => ctx.store.cached_key(&api_key::digest(token)),
        Authorization::Missing | Authorization::Unusable => None,
    }
}

/// Reads the request's credential. A key takes precedence over a session.
///
/// # Errors
/// `unauthorized` if the request has no credential, an unusable `Authorization` field or a malformed key.
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

/// Looks up an API key. Returns a session without a check, because [`verify`] looks it up later.
///
/// # Errors
/// `unauthorized` for a key that is unknown or not valid; or the errors of [`read_briefly`].
pub(in crate::http) async fn look_up(ctx: &Arc<Ctx>, presented: Presented) -> Result<Credential, Error> {
    match presented {
        Presented::ApiKey(digest) => {
            let key = if ctx.store.cached_key(&digest).is_some() {
                ctx.store.look_up_key(&digest)?
            } else {
                read_briefly(ctx, move |ctx| ctx.store.look_up_key(&digest)).await?
            };
            key.map(Credential::ApiKey).ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
        }
        Presented::Session(digest) => Ok(Credential::Session(digest)),
    }
}

/// Verifies a credential in the request's transaction, and returns its principal.
///
/// # Errors
/// `unauthorized` if the key or the session is no longer valid; or an error of the database.
pub(in crate::http) fn verify(tx: &Tx<'_>, credential: &Credential) -> Result<Principal, Error> {
    let found = match credential {
        Credential::ApiKey(key) => key.verify(tx)?,
        Credential::Session(digest) => store::session::principal(tx, digest)?,
    };
    found.ok_or(Error::Refused(Refusal::Unauthorized { sent: true }))
}

/// Returns the digest of the request's session cookie. Over https, reads only the cookie whose name has the prefix,
/// because another host could set a cookie without the prefix.
pub(in crate::http) fn cookie(ctx: &Ctx, request: &Request) -> Option<[u8; 32]> {
    cookie_value(ctx, request).map(|value| cookie_digest(&value))
}

/// Returns the value of the request's session cookie, which is a secret that the database does not contain.
pub(in crate::http) fn cookie_value(ctx: &Ctx, request: &Request) -> Option<String> {
    let wanted = cookie_name(ctx);
    let mut cookies = request.cookies().into_iter();
    cookies.find(|(name, value)| name == wanted && !value.is_empty()).map(|(_, value)| value)
}

/// Returns the name of the session cookie, which has a prefix over https.
pub(in crate::http) fn cookie_name(ctx: &Ctx) -> &'static str {
    if ctx.settings.is_https() { COOKIE_OF_HOST } else { COOKIE }
}

/// Returns the digest by which the store finds a session.
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

//! Idempotent requests: the `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header).
//!
//! One transaction looks for a stored response, acts if there is none, and stores the new response unless it is a
//! refusal that is not storable ([`idempotency_key::is_storable`]). If the same request arrives several times at once
//! with the same key, the first one acts, and the others get its stored response, if it has one. If the transaction
//! fails, no response is stored. A repeat needs the same authority as the first request: a valid credential, the scope,
//! and the organization role (or platform role) that the resource in the path requires.

use std::fmt::Write as _;

use hyper::header::HeaderName;
use serde_json::Value;

use super::completion::REALM;
use crate::domain::id::RequestId;
use crate::domain::idempotency_key::{self, IdempotencyKey, StoredResponse};
use crate::domain::refusal::Refusal;
use crate::domain::user::{Auth, CallerRoles, Principal};
use crate::http::server::access_rule::AccessRule;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::{Idempotency, Resource};
use crate::http::server::route::Route;
use crate::interchange::json;
use crate::store::{self, Error, Tx};

const NOT_FOUND: u16 = 404;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The outcome of an act that did not fail: a reply, or a refusal, which changes nothing.
pub(super) type Outcome = Result<Reply, Refusal>;

/// A request with an `Idempotency-Key`.
pub(super) struct IdempotentRequest {
    key: IdempotencyKey,
    fingerprint: [u8; 32],
    access: AccessRule,
    /// The resource that the path names. Only a caller who may manage it gets the stored response.
    resource: Resource,
    resource_id: String,
    request_id: String,
}

impl IdempotentRequest {
    /// Reads the idempotency key of a request. Returns `None` if the request has no key, or if its route ignores keys.
    ///
    /// # Errors
    /// `validation_error` if the key is invalid, or if the request has more than one `Idempotency-Key`.
    pub(super) fn read(route: &Route, request: &Request, id: &RequestId) -> Result<Option<Self>, Refusal> {
        let Idempotency::ByKey(resource) = route.idempotency else { return Ok(None) };
        let values = request.header_values(&IDEMPOTENCY_KEY);
        let key = match &values[..] {
            [] => return Ok(None),
            [value] => IdempotencyKey::parse(value),
            _ => None,
        };
        let key = key.ok_or_else(|| {
            let must_be = format!(
                "must be given once, with 1 to {} printable characters",
                idempotency_key::IDEMPOTENCY_KEY_CHARACTERS_MAX
            );
            Refusal::invalid("Idempotency-Key", must_be)
        })?;
        let method = request.method().as_str().as_bytes();
        let parts = [method, request.path().as_bytes(), request.raw_query().as_bytes(), &canonical_body(request)];
        let fingerprint = idempotency_key::fingerprint(parts);
        let (access, resource_id) = (route.access, request.param("id").to_owned());
        Ok(Some(Self { key, fingerprint, access, resource, resource_id, request_id: id.as_str().to_owned() }))
    }

    /// Runs the act, or returns the stored response of an earlier request with the same idempotency key. Idempotency
    /// keys belong to API keys, so the act of a caller without an API key always runs. A refusal is a successful
    /// outcome here.
    ///
    /// # Errors
    /// The errors of the act, or a failure of the store.
    pub(super) fn run(
        &self,
        tx: &Tx<'_>,
        who: Option<Principal>,
        act: impl FnOnce(Option<Principal>) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        let Some((who, number)) = who.as_ref().and_then(|who| Some((who, key_number(who)?))) else { return act(who) };
        if let Err(refusal) = self.access.check(who) {
            return Ok(Err(refusal));
        }
        // Earlier versions stored 404 responses; ignore them.
        let stored = store::idempotency_key::find(tx, number, &self.key)?;
        if let Some(stored) = stored.filter(|stored| stored.status != NOT_FOUND) {
            return self.repeat(tx, who, &stored);
        }
        let outcome = act(Some(who.clone()))?;
        if let Some(stored) = self.response_to_store(&outcome) {
            store::idempotency_key::insert(tx, number, &self.key, &stored)?;
        }
        Ok(outcome)
    }

    fn repeat(&self, tx: &Tx<'_>, who: &Principal, stored: &StoredResponse) -> Result<Outcome, Error> {
        const HIDDEN: Refusal = Refusal::NotFound("there is no such resource, or the caller may not see it");
        let answer = stored.answer_to(&self.fingerprint);
        // `IdempotencyKeyReused` reveals nothing about the stored response, so it requires no authority.
        if answer != Err(Refusal::IdempotencyKeyReused) {
            let permission = match self.resource.caller_roles {
                Some(load) => load(tx, who, &self.resource_id)?.ok_or(HIDDEN).and_then(CallerRoles::require_manager),
                None => Ok(()),
            };
            if let Err(refusal) = permission {
                return Ok(Err(refusal));
            }
        }
        match answer {
            Ok(answer) => Reply::from_stored_response(stored.status, answer, &self.request_id).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn response_to_store(&self, outcome: &Outcome) -> Option<StoredResponse> {
        match outcome {
            Ok(reply) => Some(reply.to_stored_response(self.fingerprint)),
            Err(refusal) if idempotency_key::is_storable(refusal) => {
                // Each repeat inserts its own request id.
                let problem = Reply::problem(&Error::Refused(refusal.clone()), REALM, "");
                Some(problem.to_stored_response(self.fingerprint))
            }
            Err(_) => None,
        }
    }
}

/// Returns the number of the caller's API key.
fn key_number(who: &Principal) -> Option<i64> {
    match who.auth {
        Auth::ApiKey { number, .. } => Some(number),
        Auth::Session { .. } => None,
    }
}

/// Returns the canonical form of the body, which does not depend on white space or on the order of members.
fn canonical_body(request: &Request) -> Vec<u8> {
    let body = request.body();
    if body.is_empty() {
        // An absent body is treated as an empty object.
        return b"{}".to_vec();
    }
    match json::parse(body) {
        Ok(value) => {
            let mut text = String::new();
            write_sorted(&value, &mut text);
            text.into_bytes()
        }
        Err(_) => body.to_vec(),
    }
}

/// Writes JSON with the members of each object sorted by name.
fn write_sorted(value: &Value, text: &mut String) {
    let comma = |text: &mut String, index: usize| text.push_str(if index == 0 { "" } else { "," });
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            text.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                comma(text, index);
                let _ = write!(text, "{}:", Value::from(name.as_str()));
                write_sorted(member, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                comma(text, index);
                write_sorted(item, text);
            }
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_white_space_and_member_order_do_not_change_the_canonical_body() {
        let sorted = |body: &str| {
            let mut text = String::new();
            write_sorted(&json::parse(body.as_bytes()).unwrap(), &mut text);
            text
        };
        let canonical = sorted(r#"{"b":[1,{"y":null,"x":"\"ä\n"}],"a":{}}"#);
        assert_eq!(canonical, r#"{"a":{},"b":[1,{"x":"\"ä\n","y":null}]}"#);
        assert_eq!(canonical, sorted("{ \"a\" : {}, \"b\": [ 1, {\"x\": \"\\\"\\u00e4\\n\", \"y\":null}]}"));
        assert_ne!(sorted("[1,2]"), sorted("[2,1]"));
        assert_ne!(sorted(r#"{"a":"1"}"#), sorted(r#"{"a":1}"#));
    }
}

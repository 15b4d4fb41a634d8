//! Requests that are carried out once: the `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
//!
//! Looking up what was answered, the act, and keeping its answer are one transaction, so of requests at once the first
//! acts and the others are given its answer, and nothing is kept of an act that did not happen. A repeat is asked for its
//! caller's authority like any request: the credential and the scope, and whether they still manage what the path names.

use std::fmt::Write as _;

use hyper::header::HeaderName;
use serde_json::Value;

use super::finish::REALM;
use crate::domain::id::RequestId;
use crate::domain::idempotency_key::{self, IdempotencyKey, StoredResponse};
use crate::domain::refusal::Refusal;
use crate::domain::user::{Auth, CallerRoles, Principal};
use crate::http::server::entry::Entry;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::{Idempotency, Resource};
use crate::http::server::route::Route;
use crate::interchange::json;
use crate::store::{self, Error, Tx};

const NOT_FOUND: u16 = 404;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The outcome of an act that does not fail: an answer, or a refusal that leaves nothing of it.
pub(super) type Outcome = Result<Reply, Refusal>;

/// A request with an `Idempotency-Key`.
pub(super) struct IdempotentRequest {
    key: IdempotencyKey,
    fingerprint: [u8; 32],
    entry: Entry,
    /// What the path names: a client that may manage it may be given the stored response.
    resource: Resource,
    resource_id: String,
    request_id: String,
}

impl IdempotentRequest {
    /// What the request is to be carried out once under, where it says so and its route heeds that.
    ///
    /// # Errors
    /// `validation_error` where the key cannot be read.
    pub(super) fn read(route: &Route, request: &Request, id: &RequestId) -> Result<Option<Self>, Refusal> {
        let Idempotency::ByKey(resource) = route.idempotency else { return Ok(None) };
        let values = request.header_values(&IDEMPOTENCY_KEY);
        let key = match &values[..] {
            [] => return Ok(None),
            [value] => IdempotencyKey::parse(value),
            _ => None,
        };
        let key = key.ok_or_else(|| {
            let what = format!(
                "must be there once, with 1 to {} printable characters",
                idempotency_key::IDEMPOTENCY_KEY_CHARACTERS_MAX
            );
            Refusal::invalid("Idempotency-Key", what)
        })?;
        let method = request.method().as_str().as_bytes();
        let parts = [method, request.path().as_bytes(), request.raw_query().as_bytes(), &asked(request)];
        let fingerprint = idempotency_key::fingerprint(parts);
        let (entry, resource_id) = (route.entry, request.param("id").to_owned());
        Ok(Some(Self { key, fingerprint, entry, resource, resource_id, request_id: id.as_str().to_owned() }))
    }

    /// Acts, or gives the answer that was given before.
    ///
    /// # Errors
    /// As the act, or when SQLite fails. What is refused is a good outcome.
    pub(super) fn carry_out(
        &self,
        tx: &Tx<'_>,
        who: Option<Principal>,
        act: impl FnOnce(Option<Principal>) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        let Some((who, number)) = who.as_ref().and_then(|who| Some((who, number(who)?))) else { return act(who) };
        if let Err(refusal) = self.entry.check(who) {
            return Ok(Err(refusal));
        }
        // A 404 may be there from an older version of this program, which stored it.
        let kept = store::idempotency_key::find(tx, number, &self.key)?;
        if let Some(kept) = kept.filter(|kept| kept.status != NOT_FOUND) {
            return self.repeat(tx, who, &kept);
        }
        let outcome = act(Some(who.clone()))?;
        if let Some(kept) = self.to_keep(&outcome) {
            store::idempotency_key::insert(tx, number, &self.key, &kept)?;
        }
        Ok(outcome)
    }

    fn repeat(&self, tx: &Tx<'_>, who: &Principal, kept: &StoredResponse) -> Result<Outcome, Error> {
        const HIDDEN: Refusal = Refusal::NotFound("there is no such thing, or this key may not see it");
        let answer = kept.answer_to(&self.fingerprint);
        // What is not told needs no authority.
        if answer != Err(Refusal::IdempotencyKeyReused) {
            let may = match self.resource.standing {
                Some(standing) => {
                    standing(tx, who, &self.resource_id)?.ok_or(HIDDEN).and_then(CallerRoles::require_manager)
                }
                None => Ok(()),
            };
            if let Err(refusal) = may {
                return Ok(Err(refusal));
            }
        }
        match answer {
            Ok(answer) => Reply::repeated(kept.status, answer, &self.request_id).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn to_keep(&self, outcome: &Outcome) -> Option<StoredResponse> {
        match outcome {
            Ok(reply) => Some(reply.to_repeat(self.fingerprint)),
            Err(refusal) if idempotency_key::is_storable(refusal) => {
                // Each time it is given it has the id of the request that it is given to.
                let problem = Reply::problem(&Error::Refused(refusal.clone()), REALM, "");
                Some(problem.to_repeat(self.fingerprint))
            }
            Err(_) => None,
        }
    }
}

/// The number of the key that calls.
fn number(who: &Principal) -> Option<i64> {
    match who.auth {
        Auth::ApiKey { number, .. } => Some(number),
        Auth::Session { .. } => None,
    }
}

/// The body that counts: what was parsed, so that neither white space nor the order of members makes another request of it.
fn asked(request: &Request) -> Vec<u8> {
    let body = request.body();
    if body.is_empty() {
        // An absent body is an empty object.
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

/// Writes JSON with the members of each object in the order of their names.
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
    fn a_body_is_the_same_however_it_is_written() {
        let sorted = |body: &str| {
            let mut text = String::new();
            write_sorted(&json::parse(body.as_bytes()).unwrap(), &mut text);
            text
        };
        let one = sorted(r#"{"b":[1,{"y":null,"x":"\"ä\n"}],"a":{}}"#);
        assert_eq!(one, r#"{"a":{},"b":[1,{"x":"\"ä\n","y":null}]}"#);
        assert_eq!(one, sorted("{ \"a\" : {}, \"b\": [ 1, {\"x\": \"\\\"\\u00e4\\n\", \"y\":null}]}"));
        assert_ne!(sorted("[1,2]"), sorted("[2,1]"));
        assert_ne!(sorted(r#"{"a":"1"}"#), sorted(r#"{"a":1}"#));
    }
}

//! Small parts that the document is put together of.

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::http::server::entry::Entry;
use crate::http::server::resource::Audience;
use crate::http::server::route::{Answer, Route};

pub(super) type Object = Map<String, Value>;

/// What a route says of itself.
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) entry: Entry,
    pub(super) is_page: bool,
    pub(super) answers: Vec<Answer>,
}

impl Operation {
    pub(super) fn of(route: &Route) -> Self {
        let Route { method, path, entry, audience, answers, .. } = route;
        let (method, answers) = (method.clone(), answers.clone());
        Self { method, path, entry: *entry, is_page: *audience == Audience::Page, answers }
    }
}

/// The fields that tell a caller what is left of the rate limit: on whatever an identified caller is answered.
pub(super) const RATE_LIMIT: [&str; 2] = ["RateLimit", "RateLimit-Policy"];

/// The field that tells a repeat's answer from a first one.
pub(super) const REPLAYED: &str = "Idempotency-Replayed";

/// Whether a repeat is given the answer of the first.
pub(super) fn is_repeatable(route: &Operation) -> bool {
    route.answers.contains(&(422, "idempotency_key_reused"))
}

pub(super) fn header_references(names: &[&str]) -> Object {
    let reference = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    names.iter().map(|name| ((*name).to_owned(), reference(name))).collect()
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The object that a member is, made where it is missing.
pub(super) fn member<'a>(object: &'a mut Object, name: &str) -> &'a mut Object {
    let value = object.entry(name).or_insert_with(|| json!({}));
    value.as_object_mut().expect("a fragment has an object here, which a test has seen")
}

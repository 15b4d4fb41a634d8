//! The facts about a route that its OpenAPI operation shows, and JSON helpers for the assembly.

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::http::server::access_rule::AccessRule;
use crate::http::server::resource::Audience;
use crate::http::server::route::{Answer, Route};

pub(super) type Object = Map<String, Value>;

/// The parts of a route that the description needs.
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) access: AccessRule,
    pub(super) is_page: bool,
    pub(super) answers: Vec<Answer>,
}

impl Operation {
    pub(super) fn new(route: &Route) -> Self {
        let Route { method, path, access, audience, answers, .. } = route;
        let (method, answers) = (method.clone(), answers.clone());
        Self { method, path, access: *access, is_page: *audience == Audience::Page, answers }
    }
}

/// The header fields about rate limits, in responses to authenticated callers.
pub(super) const RATE_LIMIT: [&str; 2] = ["RateLimit", "RateLimit-Policy"];

/// The header field that marks a stored response.
pub(super) const REPLAYED: &str = "Idempotency-Replayed";

/// Returns whether the route supports idempotency keys.
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

/// Returns the member as an object, and creates the object if it is missing.
pub(super) fn member<'a>(object: &'a mut Object, name: &str) -> &'a mut Object {
    let value = object.entry(name).or_insert_with(|| json!({}));
    value.as_object_mut().expect("a test checks that every fragment has an object here")
}

//! Every answer of the suite, held against the description of the service: the operation, the status, the type and the
//! members of the body, the header fields. What is described must be there, and what is there must be described.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex};

use appliance::http::api::openapi;
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::client::Answer;
use super::recorder::{self, NO_ROUTE, TABLE};

/// Header fields that are told of once, for all answers, or belong to HTTP itself.
const GENERAL: [&str; 19] = [
    "access-control-allow-origin",
    "access-control-expose-headers",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "date",
    "permissions-policy",
    "referrer-policy",
    "transfer-encoding",
    "vary",
    "strict-transport-security",
    "x-content-type-options",
    "x-robots-tag",
];

/// The description.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::document(TABLE.routes(), "appliance_session"));

/// The same with its schemas once more: `closed`, which refuse a member that they do not have.
static CLOSED: LazyLock<Value> = LazyLock::new(|| {
    let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap();
    let closed: Map<String, Value> = schemas.iter().map(|(name, schema)| (name.clone(), close(schema))).collect();
    json!({ "components": DOCUMENT["components"], "closed": closed })
});

static VALIDATORS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
static FINDINGS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static SEEN: Mutex<BTreeSet<(String, u16)>> = Mutex::new(BTreeSet::new());

/// How strictly a value is held against a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// It may have members that are not described, as a caller may send them.
    Open,
    /// It may not.
    Closed,
}

/// Holds an answer, and the body that it answers where that was taken, against the description.
pub(super) fn hold(method: &str, path: &str, sent: &[u8], answer: &Answer) {
    let place = match answer.status {
        // The head is refused before a route is looked for.
        405 | 414 | 431 => NO_ROUTE.to_owned(),
        _ => recorder::place(method, path.split('?').next().unwrap_or_default()),
    };
    if place.starts_with("OPTIONS ") {
        return;
    }
    let mut wrong = Vec::new();
    if place == NO_ROUTE {
        if method != "HEAD" && answer.header("content-type") == Some("application/problem+json") {
            wrong.extend(misfits(Strictness::Closed, &reference("Problem"), &answer.json()));
        }
    } else {
        match response(&place, answer.status) {
            None => wrong.push("the status is not described".to_owned()),
            Some(described) => {
                wrong.extend(header_faults(described, answer));
                wrong.extend(body_faults(described, method, answer));
            }
        }
        if (200..300).contains(&answer.status) {
            wrong.extend(request_faults(&place, sent));
        }
        SEEN.lock().unwrap().insert((place.clone(), answer.status));
    }
    let mut findings = FINDINGS.lock().unwrap();
    findings.extend(wrong.into_iter().map(|wrong| format!("{place} {}: {wrong}", answer.status)));
}

/// Where an answer, or a body that was taken, was not as described.
pub(crate) fn findings() -> Vec<String> {
    FINDINGS.lock().unwrap().iter().cloned().collect()
}

/// What is described and was never answered: each success, and no error, which the recorder looks at.
pub(crate) fn unseen() -> Vec<String> {
    let seen = SEEN.lock().unwrap();
    let mut findings = Vec::new();
    for (place, operation) in operations() {
        let statuses = operation["responses"].as_object().unwrap().keys().map(|status| status.parse().unwrap());
        let unseen = statuses.filter(|status: &u16| *status < 400 && !seen.contains(&(place.clone(), *status)));
        findings.extend(unseen.map(|status| format!("described and never seen: {place} {status}")));
    }
    findings
}

/// Every operation, by its place.
pub(crate) fn operations() -> Vec<(String, &'static Value)> {
    let mut operations = Vec::new();
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations.push((format!("{} {path}", method.to_uppercase()), operation));
        }
    }
    operations
}

/// What a reference stands for.
pub(crate) fn resolved(value: &'static Value) -> &'static Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(to) => DOCUMENT.pointer(&to[1..]).unwrap_or_else(|| panic!("{to} leads nowhere")),
        None => value,
    }
}

/// Where a value does not fit a schema, which is compiled once.
pub(crate) fn misfits(strictness: Strictness, schema: &Value, value: &Value) -> Vec<String> {
    let key = format!("{strictness:?} {schema}");
    let known = VALIDATORS.lock().unwrap().get(&key).cloned();
    let validator = known.unwrap_or_else(|| {
        let made = Arc::new(compile(schema, strictness));
        VALIDATORS.lock().unwrap().insert(key, Arc::clone(&made));
        made
    });
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{} at {:?}", error, error.instance_path().to_string())).collect()
}

fn compile(schema: &Value, strictness: Strictness) -> Validator {
    let mut root = CLOSED.clone();
    let own = if strictness == Strictness::Closed { close(schema) } else { schema.clone() };
    root.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
    options.build(&root).unwrap_or_else(|error| panic!("{schema} is no schema: {error}"))
}

/// A schema that refuses members that it does not have.
fn close(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let mut closed = Map::new();
    for (name, value) in object {
        let value = match (name.as_str(), value) {
            ("$ref", Value::String(to)) => json!(to.replace("#/components/schemas/", "#/closed/")),
            ("properties", Value::Object(members)) => {
                members.iter().map(|(name, member)| (name.clone(), close(member))).collect()
            }
            ("items" | "additionalProperties", schema) => close(schema),
            ("anyOf" | "oneOf", Value::Array(all)) => all.iter().map(close).collect(),
            (_, other) => other.clone(),
        };
        closed.insert(name.clone(), value);
    }
    if object.contains_key("properties") && !object.contains_key("additionalProperties") {
        closed.insert("additionalProperties".to_owned(), json!(false));
    }
    Value::Object(closed)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn operation(place: &str) -> Option<&'static Value> {
    let (method, path) = place.split_once(' ')?;
    DOCUMENT["paths"].get(path)?.get(method.to_lowercase())
}

fn response(place: &str, status: u16) -> Option<&'static Value> {
    operation(place)?["responses"].get(status.to_string()).map(resolved)
}

fn header_faults(described: &'static Value, answer: &Answer) -> Vec<String> {
    let mut faults = Vec::new();
    let headers: Vec<(&String, &Value)> =
        described["headers"].as_object().into_iter().flatten().map(|(name, header)| (name, resolved(header))).collect();
    for (name, header) in &headers {
        match answer.header(name) {
            None if header["required"] == true => faults.push(format!("there is no {name}")),
            None => {}
            Some(text) => {
                let number = text.parse::<u64>().ok().filter(|_| header["schema"]["type"] == "integer");
                let value = number.map_or_else(|| json!(text), |number| json!(number));
                let misfits = misfits(Strictness::Open, &header["schema"], &value);
                faults.extend(misfits.into_iter().map(|misfit| format!("{name}: {misfit}")));
            }
        }
    }
    for (name, _) in &answer.headers {
        let is_known = GENERAL.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !is_known && !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            faults.push(format!("{name} is not described"));
        }
    }
    faults
}

fn body_faults(described: &'static Value, method: &str, answer: &Answer) -> Vec<String> {
    let content = described.get("content");
    let Some(media_type) = answer.header("content-type") else {
        return content.map(|_| "there is no body".to_owned()).into_iter().collect();
    };
    let Some(media) = content.and_then(|content| content.get(media_type.split(';').next().unwrap_or_default())) else {
        return vec![format!("{media_type} is not described")];
    };
    // What is compressed is held against the same, unpacked, by whoever asked for it.
    if method == "HEAD" || answer.header("content-encoding").is_some() {
        return Vec::new();
    }
    let value = if media_type.contains("json") { answer.json() } else { json!(answer.text()) };
    misfits(Strictness::Closed, &media["schema"], &value)
}

fn request_faults(place: &str, sent: &[u8]) -> Vec<String> {
    let Some(body) = operation(place).and_then(|operation| operation.get("requestBody")) else { return Vec::new() };
    if sent.is_empty() {
        let fault = "a body is not required and is described as if it were".to_owned();
        return Some(fault).filter(|_| body["required"] == true).into_iter().collect();
    }
    // What was sent in chunks, the client does not see as JSON.
    let Ok(value) = serde_json::from_slice(sent) else { return Vec::new() };
    let Some(media) = body["content"].get("application/json") else { return Vec::new() };
    let misfits = misfits(Strictness::Open, &media["schema"], &value);
    misfits.into_iter().map(|misfit| format!("a body was taken that is described otherwise: {misfit}")).collect()
}

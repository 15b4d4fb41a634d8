//! Checks every answer in the suite against the OpenAPI description: the operation, the status, the media type, the
//! members of the body and the header fields. An answer must not have a member or a header field that is not described.
//! Checks the JSON bodies of accepted requests too. The description leaves out the staff console.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex};

use appliance::http::api::openapi;
use jsonschema::{Draft, Registry, Validator};
use serde_json::{Map, Value, json};

use super::client::Answer;
use super::recorder::{self, NO_ROUTE, TABLE};

/// Header fields that are described once for all answers, or that belong to HTTP itself.
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

/// The OpenAPI description.
pub(crate) static DESCRIPTION: LazyLock<Value> =
    LazyLock::new(|| openapi::document(TABLE.routes(), "appliance_session"));

/// The URI of the schemas in [`SCHEMAS`].
const SCHEMAS_URI: &str = "urn:appliance:schemas";

/// The schemas of the description, with a second copy, `closed`, which refuses undescribed members. The registry is
/// prepared once, because preparing it for each validator took longer than all other checks.
static SCHEMAS: LazyLock<Registry<'static>> = LazyLock::new(|| {
    let schemas = DESCRIPTION["components"]["schemas"].as_object().unwrap();
    let closed: Map<String, Value> = schemas.iter().map(|(name, schema)| (name.clone(), close(schema))).collect();
    let all = json!({ "components": { "schemas": schemas }, "closed": closed });
    Registry::new().draft(Draft::Draft202012).add(SCHEMAS_URI, all).unwrap().prepare().unwrap()
});

static VALIDATORS: Mutex<Validators> = Mutex::new(Validators { by_address: BTreeMap::new(), by_text: BTreeMap::new() });
static PROBLEM: LazyLock<Value> = LazyLock::new(|| json!({ "$ref": "#/components/schemas/Problem" }));
static FINDINGS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static SEEN: Mutex<BTreeSet<(String, u16)>> = Mutex::new(BTreeSet::new());

/// The compiled schemas. Most schemas of the description have the same text as another one, so each text is compiled
/// once. The lookup by address makes it unnecessary to serialize a schema for each answer.
struct Validators {
    by_address: BTreeMap<(Strictness, usize), Arc<Validator>>,
    by_text: BTreeMap<(Strictness, String), Arc<Validator>>,
}

/// The treatment of undescribed members when a value is checked against a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strictness {
    /// Allows undescribed members, which callers may send.
    Open,
    /// Refuses undescribed members.
    Closed,
}

/// Checks an answer against the description. If the request was accepted, checks the request's body too.
pub(super) fn check(method: &str, path: &str, sent: &[u8], answer: &Answer) {
    let route_name = match answer.status {
        // These refusals belong to no route.
        405 | 414 | 431 => NO_ROUTE.to_owned(),
        _ => recorder::route_name(method, path.split('?').next().unwrap_or_default()),
    };
    if route_name.starts_with("OPTIONS ") || recorder::is_console(&route_name) {
        return;
    }
    let mut wrong = Vec::new();
    if route_name == NO_ROUTE {
        if method != "HEAD" && answer.header("content-type") == Some("application/problem+json") {
            wrong.extend(violations(Strictness::Closed, &PROBLEM, &answer.json()));
        }
    } else {
        match response(&route_name, answer.status) {
            None => wrong.push("the status is not described".to_owned()),
            Some(described) => {
                wrong.extend(header_faults(described, answer));
                wrong.extend(body_faults(described, method, answer));
            }
        }
        if (200..300).contains(&answer.status) {
            wrong.extend(request_faults(&route_name, sent));
        }
        SEEN.lock().unwrap().insert((route_name.clone(), answer.status));
    }
    let mut findings = FINDINGS.lock().unwrap();
    findings.extend(wrong.into_iter().map(|wrong| format!("{route_name} {}: {wrong}", answer.status)));
}

/// Returns the deviations of answers and accepted bodies from the description.
pub(crate) fn findings() -> Vec<String> {
    FINDINGS.lock().unwrap().iter().cloned().collect()
}

/// Returns the successes that are described but never occurred. The recorder reports the declared errors that
/// never occurred.
pub(crate) fn unseen() -> Vec<String> {
    let seen = SEEN.lock().unwrap();
    let mut findings = Vec::new();
    for (route_name, operation) in operations() {
        let statuses = operation["responses"].as_object().unwrap().keys().map(|status| status.parse().unwrap());
        let unseen = statuses.filter(|status: &u16| *status < 400 && !seen.contains(&(route_name.clone(), *status)));
        findings.extend(unseen.map(|status| format!("described but never seen: {route_name} {status}")));
    }
    findings
}

/// Returns every operation with its method and path.
pub(crate) fn operations() -> Vec<(String, &'static Value)> {
    let mut operations = Vec::new();
    for (path, methods) in DESCRIPTION["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations.push((format!("{} {path}", method.to_uppercase()), operation));
        }
    }
    operations
}

/// Returns the value that a reference points to.
pub(crate) fn resolved(value: &'static Value) -> &'static Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(to) => DESCRIPTION.pointer(&to[1..]).unwrap_or_else(|| panic!("{to} does not resolve")),
        None => value,
    }
}

/// Returns the violations of a schema by a value.
pub(crate) fn violations(strictness: Strictness, schema: &'static Value, value: &Value) -> Vec<String> {
    let validator = validator(strictness, schema);
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{} at {:?}", error, error.instance_path().to_string())).collect()
}

fn validator(strictness: Strictness, schema: &'static Value) -> Arc<Validator> {
    let address = (strictness, std::ptr::from_ref(schema).addr());
    let mut validators = VALIDATORS.lock().unwrap();
    if let Some(known) = validators.by_address.get(&address) {
        return Arc::clone(known);
    }
    let text = (strictness, schema.to_string());
    let compiled = validators.by_text.entry(text).or_insert_with(|| Arc::new(compile(schema, strictness)));
    let compiled = Arc::clone(compiled);
    validators.by_address.insert(address, Arc::clone(&compiled));
    compiled
}

fn compile(schema: &Value, strictness: Strictness) -> Validator {
    let own = if strictness == Strictness::Closed { close(schema) } else { schema.clone() };
    let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
    let options = options.with_registry(&SCHEMAS);
    options.build(&with_absolute_references(own)).unwrap_or_else(|error| panic!("invalid schema {schema}: {error}"))
}

/// Returns a schema whose references lead to [`SCHEMAS`].
fn with_absolute_references(schema: Value) -> Value {
    let absolute = |(name, value): (String, Value)| match value {
        Value::String(to) if name == "$ref" => (name, json!(format!("{SCHEMAS_URI}{to}"))),
        other => (name, with_absolute_references(other)),
    };
    match schema {
        Value::Object(members) => members.into_iter().map(absolute).collect(),
        Value::Array(all) => all.into_iter().map(with_absolute_references).collect(),
        other => other,
    }
}

/// Returns a schema that refuses undescribed members.
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

fn operation(route_name: &str) -> Option<&'static Value> {
    let (method, path) = route_name.split_once(' ')?;
    DESCRIPTION["paths"].get(path)?.get(method.to_lowercase())
}

fn response(route_name: &str, status: u16) -> Option<&'static Value> {
    operation(route_name)?["responses"].get(status.to_string()).map(resolved)
}

fn header_faults(described: &'static Value, answer: &Answer) -> Vec<String> {
    let mut faults = Vec::new();
    let headers: Vec<(&String, &Value)> =
        described["headers"].as_object().into_iter().flatten().map(|(name, header)| (name, resolved(header))).collect();
    for (name, header) in &headers {
        match answer.header(name) {
            None if header["required"] == true => faults.push(format!("{name} is missing")),
            None => {}
            Some(text) => {
                let number = text.parse::<u64>().ok().filter(|_| header["schema"]["type"] == "integer");
                let value = number.map_or_else(|| json!(text), |number| json!(number));
                let violations = violations(Strictness::Open, &header["schema"], &value);
                faults.extend(violations.into_iter().map(|violation| format!("{name}: {violation}")));
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
        return content.map(|_| "the body is missing".to_owned()).into_iter().collect();
    };
    let Some(media) = content.and_then(|content| content.get(media_type.split(';').next().unwrap_or_default())) else {
        return vec![format!("{media_type} is not described")];
    };
    // The test that asked for a compressed answer decompresses and compares it.
    if method == "HEAD" || answer.header("content-encoding").is_some() {
        return Vec::new();
    }
    let value = if media_type.contains("json") { answer.json() } else { json!(answer.text()) };
    violations(Strictness::Closed, &media["schema"], &value)
}

fn request_faults(route_name: &str, sent: &[u8]) -> Vec<String> {
    let Some(body) = operation(route_name).and_then(|operation| operation.get("requestBody")) else {
        return Vec::new();
    };
    if sent.is_empty() {
        let fault = "a request without a body was accepted, but the description requires a body".to_owned();
        return Some(fault).filter(|_| body["required"] == true).into_iter().collect();
    }
    // The bytes of a chunked body include the chunk sizes, so they are not JSON.
    let Ok(value) = serde_json::from_slice(sent) else { return Vec::new() };
    let Some(media) = body["content"].get("application/json") else { return Vec::new() };
    let violations = violations(Strictness::Open, &media["schema"], &value);
    violations.into_iter().map(|violation| format!("an accepted body violates its description: {violation}")).collect()
}

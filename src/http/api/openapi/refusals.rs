//! Builds the error responses of an operation from the answers that its route lists.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::operation::{Object, Operation, RATE_LIMIT, REPLAYED, header_references, is_repeatable, member, reference};
use crate::http::server::table::ANYWHERE;

/// Returns the error responses of a route, by status. Responses with the same codes share a component, except that
/// pages and repeatable responses have separate components.
pub(super) fn of(route: &Operation, components: &mut Object, problems: &Object) -> Object {
    let mut by_status = BTreeMap::<u16, Vec<&str>>::new();
    for (status, code) in route.answers.iter().chain(ANYWHERE).filter(|(status, _)| *status >= 400) {
        let codes = by_status.entry(*status).or_default();
        if !codes.contains(code) {
            codes.push(code);
        }
    }
    let mut responses = Object::new();
    for (status, mut codes) in by_status {
        codes.sort_unstable();
        let names: Vec<String> = codes.iter().map(|code| capitalized(code)).collect();
        // The service stores refusals with 409, and those of a rule with 400, so that a repeated request gets the same
        // refusal. It does not store a 404, because a 404 can be the result of insufficient rights.
        let is_repeated = is_repeatable(route) && [400, 409].contains(&status);
        let kind = match () {
            () if route.is_page => "Page",
            () if is_repeated => "Repeatable",
            () => "",
        };
        let name = format!("{}{kind}", names.join("Or"));
        let response = json!({ "$ref": format!("#/components/responses/{name}") });
        responses.insert(status.to_string(), response);
        let known = member(components, "responses");
        if !known.contains_key(&name) {
            known.insert(name, refusal(status, &codes, is_repeated.then_some(REPLAYED), route.is_page, problems));
        }
    }
    responses
}

/// Turns `insufficient_scope` into `InsufficientScope`.
fn capitalized(code: &str) -> String {
    let words = code.split('_').map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
    words.collect()
}

fn refusal(status: u16, codes: &[&str], more: Option<&'static str>, is_page: bool, problems: &Object) -> Value {
    let mut headers: Vec<&str> = ["X-Request-Id"].into_iter().chain(more).collect();
    let (mut examples, mut words) = (Object::new(), Vec::new());
    for code in codes {
        let Some(problem) = problems.get(*code) else { continue };
        words.push(format!("`{code}`: {}", problem["description"].as_str().unwrap_or_default()));
        headers.extend(problem["headers"].as_array().into_iter().flatten().filter_map(Value::as_str));
        let mut body = json!({
            "type": "about:blank", "title": problem["title"], "status": status, "detail": problem["detail"],
            "success": false, "code": code, "requestId": "req_01kbj8v6crfqnrs7r2wz5m6d3e"
        });
        for member in ["errors", "changes"] {
            if let Some(entries) = problem.get(member) {
                body[member] = entries.clone();
            }
        }
        examples.insert((*code).to_owned(), json!({ "value": body }));
    }
    if ![401, 414, 431].contains(&status) {
        headers.extend(RATE_LIMIT);
    }
    let mut headers = header_references(&headers);
    // Of the codes of a 403, only `insufficient_scope` comes with this header.
    if codes.len() > 1 && headers.contains_key("WWW-Authenticate") {
        headers["WWW-Authenticate"] = json!({ "$ref": "#/components/headers/WWW-Authenticate-Scope" });
    }
    let mut content = json!({
        "application/problem+json": { "schema": reference("Problem"), "examples": examples }
    });
    if is_page {
        content["text/html"] = json!({ "schema": { "type": "string" } });
    }
    json!({ "description": words.join(" "), "headers": headers, "content": content })
}

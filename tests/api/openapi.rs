//! `GET /api/openapi.json` and `GET /docs`. That answers are as described is seen by every test
//! (`support/description.rs`); here, that the description is whole and agrees with itself.

use std::collections::BTreeSet;

use appliance::http::table::Table;
use serde_json::Value;

use crate::support::App;
use crate::support::description::{DOCUMENT, Strictness, misfits, operations, resolved};

crate::tests![
    the_document_is_served_and_tagged,
    the_page_is_served_and_loads_nothing,
    the_page_has_every_operation_and_schema,
    every_route_is_described_and_nothing_else,
    every_operation_is_named_and_explained,
    every_reference_leads_somewhere,
    every_schema_has_a_name_of_its_own,
    every_example_fits_its_schema,
    what_a_key_needs_is_told,
    what_is_not_described_is_found,
    a_confirmation_without_a_member_is_described_as_none,
];

fn the_document_is_served_and_tagged() {
    let app = App::start();
    for client in [app.anonymous(), app.admin()] {
        let answer = client.get("/api/openapi.json").expect(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json(), *DOCUMENT);
        let tag = answer.header("etag").unwrap().to_owned();
        let again = client.send("GET", "/api/openapi.json", &[("If-None-Match", &tag)], b"").expect(304);
        assert_eq!((again.header("etag"), again.body.len()), (Some(tag.as_str()), 0));
    }
}

fn the_page_is_served_and_loads_nothing() {
    let app = App::start();
    let answer = app.anonymous().get("/docs").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
    let page = answer.text();
    for word in ["<script", "<link", "<img", "<iframe", " src=", "@import", "url(", " style=", " onclick"] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("<style>").count(), 1);
    let tag = answer.header("etag").unwrap();
    app.anonymous().send("GET", "/docs", &[("If-None-Match", tag)], b"").expect(304);
}

fn the_page_has_every_operation_and_schema() {
    let app = App::start();
    let page = app.anonymous().get("/docs").expect(200).text();
    let ids: BTreeSet<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), page.matches(" id=\"").count(), "an id is there twice");
    for (place, operation) in operations() {
        assert!(ids.contains(format!("operation-{}", operation["operationId"].as_str().unwrap()).as_str()), "{place}");
    }
    for name in DOCUMENT["components"]["schemas"].as_object().unwrap().keys() {
        assert!(ids.contains(format!("schema-{name}").as_str()), "{name}");
    }
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(ids.contains(link), "#{link} leads nowhere");
    }
}

fn every_route_is_described_and_nothing_else() {
    let successes = |statuses: BTreeSet<u16>| statuses.into_iter().filter(|status| *status < 400).collect::<Vec<_>>();
    let described: BTreeSet<(String, Vec<u16>)> = operations()
        .into_iter()
        .map(|(place, operation)| {
            let statuses = operation["responses"].as_object().unwrap().keys().map(|status| status.parse().unwrap());
            (place, successes(statuses.collect()))
        })
        .collect();
    let routed: BTreeSet<(String, Vec<u16>)> = Table::new()
        .routes()
        .iter()
        .map(|route| {
            let statuses = route.answers.iter().map(|(status, _)| *status).collect();
            (format!("{} {}", route.method, route.path), successes(statuses))
        })
        .collect();
    let undescribed: Vec<_> = routed.difference(&described).collect();
    let unrouted: Vec<_> = described.difference(&routed).collect();
    assert!(undescribed.is_empty() && unrouted.is_empty(), "not described: {undescribed:?}; not there: {unrouted:?}");
}

fn every_operation_is_named_and_explained() {
    let mut ids = BTreeSet::new();
    let tags: Vec<&Value> = DOCUMENT["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (place, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{place} has no operationId"));
        let is_camel =
            id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(|c| c.is_ascii_alphanumeric());
        assert!(is_camel, "{place}: {id}");
        assert!(ids.insert(id), "{id} is there twice");
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{place}");
        assert!(tags.contains(&&operation["tags"][0]), "{place}");
        let known = [
            "tags",
            "operationId",
            "summary",
            "description",
            "x-scope",
            "security",
            "parameters",
            "requestBody",
            "responses",
        ];
        let unknown: Vec<_> =
            operation.as_object().unwrap().keys().filter(|name| !known.contains(&name.as_str())).collect();
        assert!(unknown.is_empty(), "{place}: {unknown:?}");
        let mut parameters = BTreeSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten().map(resolved) {
            assert!(parameters.insert(parameter["name"].as_str()), "{place}: {parameter} is there twice");
            assert!(parameter["description"].is_string() && parameter["schema"].is_object(), "{place}: {parameter}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(response);
            assert!(response["description"].as_str().is_some_and(|words| !words.is_empty()), "{place} {status}");
        }
    }
}

fn every_reference_leads_somewhere() {
    each(&DOCUMENT, &mut |value| {
        if let Some(to) = value.get("$ref").and_then(Value::as_str) {
            assert!(to.starts_with("#/components/") && DOCUMENT.pointer(&to[1..]).is_some(), "{to} leads nowhere");
        }
    });
}

/// A client that is made from the document has a class for each schema with a name or a title.
fn every_schema_has_a_name_of_its_own() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let mut names: BTreeSet<String> = schemas.as_object().unwrap().keys().cloned().collect();
    each(schemas, &mut |value| {
        if let Some(title) = value.get("title").and_then(Value::as_str) {
            assert!(names.insert(title.to_owned()), "{title} is there twice");
        }
        assert!(value.get("allOf").is_none(), "only a schema with a name can be another and more: {value}");
    });
}

fn every_example_fits_its_schema() {
    let fits = |what: &str, strictness: Strictness, schema: &Value, example: &Value| {
        let misfits = misfits(strictness, schema, example);
        assert!(misfits.is_empty(), "{what}: {example}: {misfits:?}");
    };
    for (place, operation) in operations() {
        if let Some(body) = operation.get("requestBody") {
            let json = body["content"].get("application/json");
            json.into_iter().for_each(|media| {
                fits(&format!("{place} body"), Strictness::Closed, &media["schema"], &media["example"]);
            });
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            for (kind, media) in resolved(response).get("content").and_then(Value::as_object).into_iter().flatten() {
                let named = media["examples"].as_object().into_iter().flatten().map(|(_, example)| &example["value"]);
                let all: Vec<&Value> = media.get("example").into_iter().chain(named).collect();
                assert!(!all.is_empty() || kind == "text/html", "{place} {status} has no example");
                all.iter().for_each(|example| {
                    fits(&format!("{place} {status} {kind}"), Strictness::Closed, &media["schema"], example);
                });
            }
        }
    }
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            fits(name, Strictness::Closed, schema, example);
        }
    }
    for (name, header) in DOCUMENT["components"]["headers"].as_object().unwrap() {
        fits(name, Strictness::Open, &header["schema"], &header["example"]);
    }
}

fn what_a_key_needs_is_told() {
    let hire = &DOCUMENT["paths"]["/api/v1/candidate-steps/{id}/hire"]["post"];
    assert_eq!(hire["x-scope"], "pipeline:write");
    assert_eq!(hire["security"][0]["apiKey"][0], "pipeline:write");
    assert!(hire["description"].as_str().unwrap().ends_with("Needs an API key with the scope `pipeline:write`."));
    let refused = resolved(&hire["responses"]["403"]);
    assert!(refused["content"]["application/problem+json"]["examples"]["insufficient_scope"].is_object());
    assert_eq!(DOCUMENT["paths"]["/api/v1/me"]["get"]["security"].as_array().unwrap().len(), 2);
    assert_eq!(DOCUMENT["paths"]["/"]["get"]["security"].as_array().unwrap().len(), 0);
}

fn what_is_not_described_is_found() {
    let schema = serde_json::json!({ "$ref": "#/components/schemas/HrDeliveryInFull" });
    let mut delivery = resolved(&DOCUMENT["paths"]["/api/admin/hr-deliveries/{id}"]["get"]["responses"]["200"])["content"]
        ["application/json"]["example"]["data"]
        .clone();
    let found = |value: &Value, strictness| misfits(strictness, &schema, value).len();
    assert_eq!(found(&delivery, Strictness::Closed), 0);
    for way in ["", "/lastAttempt", "/history/0"] {
        let mut more = delivery.clone();
        more.pointer_mut(way).unwrap()["more"] = Value::Null;
        assert_eq!(found(&more, Strictness::Open), 0, "{way}");
        assert!(found(&more, Strictness::Closed) > 0, "{way}");
    }
    delivery["lastAttempt"]["at"] = "yesterday".into();
    assert!(found(&delivery, Strictness::Open) > 0);
}

fn a_confirmation_without_a_member_is_described_as_none() {
    let body = &DOCUMENT["paths"]["/api/admin/organizations/{id}/retention/confirm"]["post"]["requestBody"];
    assert_eq!(body["required"], true);
    let schema = &body["content"]["application/json"]["schema"];
    let found = |value: Value| misfits(Strictness::Open, schema, &value).len();
    assert_eq!(found(serde_json::json!({})), 1);
    for member in [serde_json::json!({ "dueCount": 43 }), serde_json::json!({ "clock": "2026-11-21T09:12:33Z" })] {
        assert_eq!(found(member), 0);
    }
}

/// Visits a value and all that it holds.
fn each(value: &Value, visit: &mut impl FnMut(&Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|member| each(member, visit)),
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        _ => {}
    }
}

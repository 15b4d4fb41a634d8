//! `GET /api/openapi.json` and `GET /docs`: the description is complete and consistent. The clients of all tests
//! check that answers match the description (`support/description.rs`).

use std::collections::BTreeSet;

use appliance::http::server::resource::Audience;
use serde_json::Value;

use crate::support::App;
use crate::support::description::{DESCRIPTION, Strictness, operations, resolved, violations};

crate::tests![
    the_description_is_served_with_an_etag,
    the_docs_page_loads_no_other_resources,
    the_docs_page_has_every_operation_and_schema,
    the_description_has_exactly_the_routes_outside_the_console,
    every_operation_has_an_id_and_descriptions,
    every_reference_resolves,
    schema_names_and_titles_are_unique,
    every_example_matches_its_schema,
    operations_name_the_scope_they_need,
    undescribed_fields_are_found,
    an_empty_confirmation_of_retention_does_not_match_the_description,
];

fn the_description_is_served_with_an_etag() {
    let app = App::start();
    for client in [app.anonymous(), app.admin()] {
        let answer = client.get("/api/openapi.json").expect(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json(), *DESCRIPTION);
        let tag = answer.header("etag").unwrap().to_owned();
        let again = client.send("GET", "/api/openapi.json", &[("If-None-Match", &tag)], b"").expect(304);
        assert_eq!((again.header("etag"), again.body.len()), (Some(tag.as_str()), 0));
    }
}

fn the_docs_page_loads_no_other_resources() {
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

fn the_docs_page_has_every_operation_and_schema() {
    let app = App::start();
    let page = app.anonymous().get("/docs").expect(200).text();
    let ids: BTreeSet<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), page.matches(" id=\"").count(), "an id is repeated");
    for (route, operation) in operations() {
        assert!(ids.contains(format!("operation-{}", operation["operationId"].as_str().unwrap()).as_str()), "{route}");
    }
    for name in DESCRIPTION["components"]["schemas"].as_object().unwrap().keys() {
        assert!(ids.contains(format!("schema-{name}").as_str()), "{name}");
    }
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(ids.contains(link), "#{link} does not resolve");
    }
}

fn the_description_has_exactly_the_routes_outside_the_console() {
    let successes = |statuses: BTreeSet<u16>| statuses.into_iter().filter(|status| *status < 400).collect::<Vec<_>>();
    let described: BTreeSet<(String, Vec<u16>)> = operations()
        .into_iter()
        .map(|(route, operation)| {
            let statuses = operation["responses"].as_object().unwrap().keys().map(|status| status.parse().unwrap());
            (route, successes(statuses.collect()))
        })
        .collect();
    let routed: BTreeSet<(String, Vec<u16>)> = appliance::http::routes::table()
        .routes()
        .iter()
        // The description is for programs, and the console is for people.
        .filter(|route| route.audience != Audience::Staff)
        .map(|route| {
            let statuses = route.answers.iter().map(|(status, _)| *status).collect();
            (format!("{} {}", route.method, route.path), successes(statuses))
        })
        .collect();
    let undescribed: Vec<_> = routed.difference(&described).collect();
    let unrouted: Vec<_> = described.difference(&routed).collect();
    assert!(undescribed.is_empty() && unrouted.is_empty(), "not described: {undescribed:?}; not routed: {unrouted:?}");
}

fn every_operation_has_an_id_and_descriptions() {
    let mut ids = BTreeSet::new();
    let tags: Vec<&Value> = DESCRIPTION["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (route, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{route} has no operationId"));
        let is_camel =
            id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(|c| c.is_ascii_alphanumeric());
        assert!(is_camel, "{route}: {id}");
        assert!(ids.insert(id), "{id} is repeated");
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{route}");
        assert!(tags.contains(&&operation["tags"][0]), "{route}");
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
        assert!(unknown.is_empty(), "{route}: {unknown:?}");
        let mut parameters = BTreeSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten().map(resolved) {
            assert!(parameters.insert(parameter["name"].as_str()), "{route}: {parameter} is repeated");
            assert!(parameter["description"].is_string() && parameter["schema"].is_object(), "{route}: {parameter}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(response);
            assert!(response["description"].as_str().is_some_and(|words| !words.is_empty()), "{route} {status}");
        }
    }
}

fn every_reference_resolves() {
    each(&DESCRIPTION, &mut |value| {
        if let Some(to) = value.get("$ref").and_then(Value::as_str) {
            assert!(
                to.starts_with("#/components/") && DESCRIPTION.pointer(&to[1..]).is_some(),
                "{to} does not resolve"
            );
        }
    });
}

/// Generated clients have a class for each schema with a name or a title.
fn schema_names_and_titles_are_unique() {
    let schemas = &DESCRIPTION["components"]["schemas"];
    let mut names: BTreeSet<String> = schemas.as_object().unwrap().keys().cloned().collect();
    each(schemas, &mut |value| {
        if let Some(title) = value.get("title").and_then(Value::as_str) {
            assert!(names.insert(title.to_owned()), "{title} is repeated");
        }
        assert!(value.get("allOf").is_none(), "only a named schema can extend another: {value}");
    });
}

fn every_example_matches_its_schema() {
    let fits = |subject: &str, strictness: Strictness, schema: &'static Value, example: &Value| {
        let violations = violations(strictness, schema, example);
        assert!(violations.is_empty(), "{subject}: {example}: {violations:?}");
    };
    for (route, operation) in operations() {
        if let Some(body) = operation.get("requestBody") {
            let json = body["content"].get("application/json");
            json.into_iter().for_each(|media| {
                fits(&format!("{route} body"), Strictness::Closed, &media["schema"], &media["example"]);
            });
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            for (kind, media) in resolved(response).get("content").and_then(Value::as_object).into_iter().flatten() {
                let named = media["examples"].as_object().into_iter().flatten().map(|(_, example)| &example["value"]);
                let all: Vec<&Value> = media.get("example").into_iter().chain(named).collect();
                assert!(!all.is_empty() || kind == "text/html", "{route} {status} has no example");
                all.iter().for_each(|example| {
                    fits(&format!("{route} {status} {kind}"), Strictness::Closed, &media["schema"], example);
                });
            }
        }
    }
    for (name, schema) in DESCRIPTION["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            fits(name, Strictness::Closed, schema, example);
        }
    }
    for (name, header) in DESCRIPTION["components"]["headers"].as_object().unwrap() {
        fits(name, Strictness::Open, &header["schema"], &header["example"]);
    }
}

fn operations_name_the_scope_they_need() {
    let hire = &DESCRIPTION["paths"]["/api/v1/candidate-steps/{id}/hire"]["post"];
    assert_eq!(hire["x-scope"], "pipeline:write");
    assert_eq!(hire["security"][0]["apiKey"][0], "pipeline:write");
    assert!(hire["description"].as_str().unwrap().ends_with("Needs an API key with the scope `pipeline:write`."));
    let refused = resolved(&hire["responses"]["403"]);
    assert!(refused["content"]["application/problem+json"]["examples"]["insufficient_scope"].is_object());
    assert_eq!(DESCRIPTION["paths"]["/api/v1/me"]["get"]["security"].as_array().unwrap().len(), 2);
    assert_eq!(DESCRIPTION["paths"]["/"]["get"]["security"].as_array().unwrap().len(), 0);
}

fn undescribed_fields_are_found() {
    let schema = &DESCRIPTION["components"]["schemas"]["HrDeliveryInFull"];
    let mut delivery = resolved(&DESCRIPTION["paths"]["/api/admin/hr-deliveries/{id}"]["get"]["responses"]["200"])["content"]
        ["application/json"]["example"]["data"]
        .clone();
    let found = |value: &Value, strictness| violations(strictness, schema, value).len();
    assert_eq!(found(&delivery, Strictness::Closed), 0);
    for pointer in ["", "/lastAttempt", "/history/0"] {
        let mut more = delivery.clone();
        more.pointer_mut(pointer).unwrap()["more"] = Value::Null;
        assert_eq!(found(&more, Strictness::Open), 0, "{pointer}");
        assert!(found(&more, Strictness::Closed) > 0, "{pointer}");
    }
    delivery["lastAttempt"]["at"] = "yesterday".into();
    assert!(found(&delivery, Strictness::Open) > 0);
}

fn an_empty_confirmation_of_retention_does_not_match_the_description() {
    let body = &DESCRIPTION["paths"]["/api/admin/organizations/{id}/retention/confirm"]["post"]["requestBody"];
    assert_eq!(body["required"], true);
    let schema = &body["content"]["application/json"]["schema"];
    let found = |value: Value| violations(Strictness::Open, schema, &value).len();
    assert_eq!(found(serde_json::json!({})), 1);
    for member in [serde_json::json!({ "dueCount": 43 }), serde_json::json!({ "clock": "2026-11-21T09:12:33Z" })] {
        assert_eq!(found(member), 0);
    }
}

/// Visits a value and everything nested in it.
fn each(value: &Value, visit: &mut impl FnMut(&Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|member| each(member, visit)),
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        _ => {}
    }
}

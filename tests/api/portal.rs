//! `GET /api/public/portal/{orgSlug}`: the JSON portal, its caching, and its use from other origins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    the_portal_has_exactly_its_documented_fields,
    omitted_fields_have_their_defaults,
    a_description_is_returned_unchanged,
    amounts_are_integers_unless_they_have_a_fraction,
    a_salary_field_that_the_role_lacks_is_omitted,
    the_salary_is_shown_only_where_show_salary_is_true,
    the_theme_is_returned_with_all_its_fields,
    only_public_open_roles_are_listed,
    roles_are_listed_newest_first,
    the_roles_of_another_organization_are_not_listed,
    a_portal_without_roles_has_an_empty_list,
    a_slug_matches_ignoring_case_and_outer_spaces_and_is_shown_in_its_original_case,
    requests_for_unknown_and_disabled_portals_get_the_same_404_answer,
    a_request_with_an_invalid_slug_gets_the_same_404_answer_as_one_with_an_unknown_slug,
    the_etag_is_strong_and_stable,
    a_conditional_request_with_the_current_etag_gets_304,
    a_304_has_the_etag_and_no_body,
    the_etag_changes_when_a_decision_fills_the_role,
    a_cached_response_is_never_older_than_an_acknowledged_change,
    a_change_by_another_process_is_visible_a_moment_later,
    a_portal_disabled_by_another_process_is_gone_a_moment_later,
    a_head_request_returns_the_header_fields_of_a_get_and_no_body,
    any_origin_may_read_answers_and_errors_of_the_public_api,
    the_answer_to_a_preflight_lists_the_methods_and_header_fields,
    paths_outside_the_public_api_refuse_preflights,
    requests_with_an_unsupported_method_get_405_with_an_allow_field,
    credentials_are_ignored,
];

/// Adds a role to an organization's interchange document. By default, the role is public and open. `fields`
/// overrides these values.
pub(crate) fn add_role(document: &mut Value, fields: &Value) {
    let mut role = json!({ "name": "Another", "status": "open", "public": true });
    for (name, value) in fields.as_object().unwrap() {
        role[name] = value.clone();
    }
    document["organizations"][0]["roles"].as_array_mut().unwrap().push(role);
}

/// Sets these fields of an organization's first role.
pub(crate) fn change_role(document: &mut Value, fields: &Value) {
    for (name, value) in fields.as_object().unwrap() {
        document["organizations"][0]["roles"][0][name] = value.clone();
    }
}

/// Sets the theme of an organization's portal.
pub(crate) fn change_theme(document: &mut Value, theme: Value) {
    document["organizations"][0]["portal"]["theme"] = theme;
}

fn role_ids(answer: &Value) -> Vec<&str> {
    answer["roles"].as_array().unwrap().iter().map(|role| role["id"].as_str().unwrap()).collect()
}

fn first_role(app: &App, hiring: &Hiring) -> Value {
    app.anonymous().get(&hiring.portal()).expect(200).json()["roles"][0].clone()
}

fn etag(app: &App, hiring: &Hiring) -> String {
    app.anonymous().get(&hiring.portal()).expect(200).header("etag").unwrap().to_owned()
}

fn the_portal_has_exactly_its_documented_fields() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.anonymous().get(&hiring.portal()).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let expected = json!({
        "org": {
            "name": "Acme 1",
            "logo": "https://acme-1.example/logo.svg",
            "slug": "acme-1",
            "domain": "acme-1.example",
            "portalTheme": { "primaryColor": "#0f766e", "showSalary": true },
        },
        "roles": [{
            "id": "role_1",
            "name": "Engineer",
            "description": { "format": "markdown", "body": "# Engineer" },
            "department": "Engineering",
            "location": "Bremen",
            "workType": "hybrid",
            "collarType": "white",
            "salaryMin": 60000,
            "salaryMax": 75000.5,
            "salaryCurrency": "EUR",
            "salaryPeriod": "year",
            "createdAt": "2026-10-01T08:00:00.000000Z",
        }],
    });
    assert_eq!(answer.json(), expected);
}

fn omitted_fields_have_their_defaults() {
    let app = App::start();
    let document = json!({ "organizations": [{
        "slug": "bare",
        "name": "Bare",
        "portal": { "enabled": true },
        "roles": [{ "id": "role_bare", "name": "Gardener", "status": "open", "public": true }],
    }] });
    app.import(&document);
    let role = json!({
        "id": "role_bare",
        "name": "Gardener",
        "description": {},
        "department": "",
        "location": "",
        "workType": null,
        "collarType": null,
        "createdAt": "2026-11-21T09:00:00.000000Z",
    });
    let org =
        json!({ "name": "Bare", "logo": "", "slug": "bare", "domain": "", "portalTheme": { "showSalary": false } });
    let answer = app.anonymous().get("/api/public/portal/bare").expect(200);
    assert_eq!(answer.json(), json!({ "org": org, "roles": [role] }));
}

fn a_description_is_returned_unchanged() {
    let description = json!({
        "Zuständig": "für Öl & Gas 🛢️ \u{202e}",
        "nested": { "list": [1, -2.5, 1.0, 9_007_199_254_740_993_i64, true, null, [], {}, [["<b>"]]], "": "" },
        "controls": "a\tb\n\"\\",
        "format": 7,
    });
    let app = App::start();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "description": description })));
    assert_eq!(first_role(&app, &hiring)["description"], description);
    let text = app.anonymous().get(&hiring.portal()).text();
    assert!(text.contains(&description.to_string()), "the fields keep their original order: {text}");
}

fn amounts_are_integers_unless_they_have_a_fraction() {
    let app = App::start();
    for (given, shown) in
        [("60000", "60000"), ("60000.0", "60000"), ("0", "0"), ("15.55", "15.55"), ("1e12", "1000000000000")]
    {
        let amount: Value = serde_json::from_str(given).unwrap();
        let both = json!({ "salaryMin": amount, "salaryMax": amount });
        let hiring = app.hiring_with(|document| change_role(document, &both));
        let text = app.anonymous().get(&hiring.portal()).expect(200).text();
        assert!(text.contains(&format!("\"salaryMin\":{shown},\"salaryMax\":{shown},")), "{given}: {text}");
    }
}

fn a_salary_field_that_the_role_lacks_is_omitted() {
    let app = App::start();
    let all = ["salaryMin", "salaryMax", "salaryCurrency", "salaryPeriod"];
    for lacking in all {
        let hiring = app.hiring_with(|document| change_role(document, &json!({ lacking: null })));
        let role = first_role(&app, &hiring);
        for name in all {
            assert_eq!(role.get(name).is_some(), name != lacking, "{name} without {lacking}");
        }
    }
}

fn the_salary_is_shown_only_where_show_salary_is_true() {
    let app = App::start();
    let cases = [
        (json!({ "showSalary": true }), true),
        (json!({ "showSalary": false }), false),
        (json!({ "showSalary": null }), false),
        (json!({}), false),
    ];
    for (theme, shown) in cases {
        let hiring = app.hiring_with(|document| change_theme(document, theme.clone()));
        let answer = app.anonymous().get(&hiring.portal()).expect(200).json();
        assert_eq!(answer["org"]["portalTheme"], json!({ "showSalary": shown }), "{theme}");
        for name in ["salaryMin", "salaryMax", "salaryCurrency", "salaryPeriod"] {
            assert_eq!(answer["roles"][0].get(name).is_some(), shown, "{name} with {theme}");
        }
    }
}

fn the_theme_is_returned_with_all_its_fields() {
    let theme = json!({
        "primaryColor": "#FFF",
        "showSalary": false,
        "fonts": { "heading": "Größe 🅰", "sizes": [1, 1.5, null] },
        "</script>": true,
    });
    let app = App::start();
    let hiring = app.hiring_with(|document| change_theme(document, theme.clone()));
    let answer = app.anonymous().get(&hiring.portal()).expect(200).json();
    assert_eq!(answer["org"]["portalTheme"], theme);
}

fn only_public_open_roles_are_listed() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let filled = json!({
            "status": "filled",
            "steps": [{ "name": "Offer" }],
            "candidates": [{ "name": "Ada", "email": "ada@example.org", "status": "Hired" }],
        });
        add_role(document, &filled);
        add_role(document, &json!({ "status": "draft" }));
        add_role(document, &json!({ "status": "closed" }));
        add_role(document, &json!({ "public": false }));
        add_role(document, &json!({ "id": "role_second" }));
    });
    let answer = app.anonymous().get(&hiring.portal()).expect(200).json();
    assert_eq!(role_ids(&answer), ["role_second", "role_1"]);
}

fn roles_are_listed_newest_first() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        for (id, at) in [
            ("role_middle", "2026-10-01T08:00:00.000001Z"),
            ("role_newest", "2026-10-01T08:00:00.000002Z"),
            ("role_oldest", "2026-10-01T09:59:59.999999+02:00"),
        ] {
            add_role(document, &json!({ "id": id, "createdAt": at }));
        }
    });
    let answer = app.anonymous().get(&hiring.portal()).expect(200).json();
    assert_eq!(role_ids(&answer), ["role_newest", "role_middle", "role_1", "role_oldest"]);
}

fn the_roles_of_another_organization_are_not_listed() {
    let app = App::start();
    let (one, other) = (app.hiring(), app.hiring());
    let answer = app.anonymous().get(&one.portal()).expect(200).json();
    assert_eq!(role_ids(&answer), [one.role_id.as_str()]);
    let answer = app.anonymous().get(&other.portal()).expect(200).json();
    assert_eq!(role_ids(&answer), [other.role_id.as_str()]);
    assert_eq!(answer["org"]["name"], "Acme 2");
}

fn a_portal_without_roles_has_an_empty_list() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["roles"] = json!([]));
    let answer = app.anonymous().get(&hiring.portal()).expect(200).json();
    assert_eq!(answer["roles"], json!([]));
    assert_eq!(answer["org"]["slug"], "acme-1");
}

fn a_slug_matches_ignoring_case_and_outer_spaces_and_is_shown_in_its_original_case() {
    let app = App::start();
    app.hiring_with(|document| document["organizations"][0]["slug"] = json!("  Acme-X9 "));
    for slug in ["acme-x9", "Acme-X9", "ACME-X9", "%20acme-x9%09", "acme%2Dx9"] {
        let answer = app.anonymous().get(&format!("/api/public/portal/{slug}")).expect(200).json();
        assert_eq!(answer["org"]["slug"], "Acme-X9", "{slug}");
    }
    app.anonymous().get("/api/public/portal/acme-x").refused(404, "not_found");
}

fn requests_for_unknown_and_disabled_portals_get_the_same_404_answer() {
    let app = App::start();
    let off = app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = json!(false));
    let unset = app.hiring_with(|document| {
        document["organizations"][0].as_object_mut().unwrap().remove("portal");
    });
    let body = |path: &str| {
        let mut body = app.anonymous().get(path).refused(404, "not_found").json();
        body["requestId"] = json!("");
        body
    };
    let unknown = body("/api/public/portal/nobody");
    assert_eq!(body(&off.portal()), unknown);
    assert_eq!(body(&unset.portal()), unknown);
}

fn a_request_with_an_invalid_slug_gets_the_same_404_answer_as_one_with_an_unknown_slug() {
    let app = App::start();
    let detail = |slug: &str| {
        let answer = app.anonymous().get(&format!("/api/public/portal/{slug}")).refused(404, "not_found");
        answer.json()["detail"].clone()
    };
    let unknown = detail("nobody");
    for slug in ["a_b", "a%20b", "%C3%A4", "%E2%84%AA", "..%2F..", "%00", "'%20OR%20'1", &"a".repeat(65)] {
        assert_eq!(detail(slug), unknown, "{slug}");
    }
    app.anonymous().get("/api/public/portal/%ff").refused(404, "not_found");
}

fn the_etag_is_strong_and_stable() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let tag = etag(&app, &hiring);
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    assert!(!tag[1..tag.len() - 1].contains('"'), "{tag}");
    app.pass(3_600);
    assert_eq!(etag(&app, &hiring), tag);
    assert_ne!(etag(&app, &other), tag);
    app.stop();
    app.start_again();
    assert_eq!(etag(&app, &hiring), tag);
}

fn a_conditional_request_with_the_current_etag_gets_304() {
    let app = App::start();
    let hiring = app.hiring();
    let tag = etag(&app, &hiring);
    let bare = tag.trim_matches('"');
    let status = |list: &str| app.anonymous().send("GET", &hiring.portal(), &[("If-None-Match", list)], b"").status;
    for list in [&tag, &format!("W/{tag}"), "*", &format!("\"a\", {tag}"), &format!("\"a\",W/{tag} , \"b\"")] {
        assert_eq!(status(list), 304, "{list}");
    }
    for list in ["\"a\"", "W/\"a\"", bare, &tag.to_uppercase(), &format!("\"{bare}x\""), ""] {
        assert_eq!(status(list), 200, "{list}");
    }
    let lines = [("If-None-Match", "\"a\""), ("If-None-Match", tag.as_str())];
    assert_eq!(app.anonymous().send("GET", &hiring.portal(), &lines, b"").status, 304);
}

fn a_304_has_the_etag_and_no_body() {
    let app = App::start();
    let hiring = app.hiring();
    let tag = etag(&app, &hiring);
    let client = app.anonymous();
    let answer = client.send("GET", &hiring.portal(), &[("If-None-Match", &tag)], b"").expect(304);
    assert_eq!(answer.header("etag"), Some(tag.as_str()));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("content-type"), None);
    // If the 304 had a body, the next answer on this connection would be unreadable.
    assert_eq!(client.get(&hiring.portal()).expect(200).header("etag"), Some(tag.as_str()));
    assert_eq!(client.send("HEAD", &hiring.portal(), &[("If-None-Match", &tag)], b"").status, 304);
    let nobody = client.send("GET", "/api/public/portal/nobody", &[("If-None-Match", "*")], b"");
    nobody.refused(404, "not_found");
}

fn the_etag_changes_when_a_decision_fills_the_role() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    let tag = etag(&app, &hiring);
    let revalidate = || app.anonymous().send("GET", &hiring.portal(), &[("If-None-Match", &tag)], b"");
    owner.post_empty(&hiring.hire(0)).expect(200);
    revalidate().expect(304);
    owner.post_empty(&hiring.hire(1)).expect(200);
    let filled = revalidate().expect(200);
    assert_eq!(filled.json()["roles"], json!([]));
    assert_ne!(filled.header("etag"), Some(tag.as_str()));
    owner.post_empty(&hiring.reject(0)).expect(200);
    revalidate().expect(304);
}

/// Makes rejected candidates hireable again: sets their applications to in progress and all their steps to pending.
const UNDO_DECISIONS: &str = "
    UPDATE candidate_role_steps
    SET status = 'pending', rejected_at = NULL, rejection_reason = NULL, validated_at = NULL
    WHERE candidate_role_id IN (SELECT id FROM candidate_roles WHERE status = 'Not Selected');
    UPDATE organization_statuses SET in_progress = in_progress + 1, not_selected = not_selected - 1;
    UPDATE candidate_roles SET status = 'In Progress' WHERE status = 'Not Selected'";

fn a_cached_response_is_never_older_than_an_acknowledged_change() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["roles"][0]["positions"] = json!(1));
    let owner = app.user(&hiring.staff("owner"));
    let (address, portal, ended) = (app.address, hiring.portal(), AtomicBool::new(false));
    let shows = |client: &Client| !client.get(&portal).expect(200).json()["roles"][0].is_null();
    std::thread::scope(|scope| {
        // These clients make the service render and cache the portal continuously, even during a change.
        for _ in 0..3 {
            scope.spawn(|| {
                let client = Client::new(address);
                while !ended.load(Ordering::Relaxed) {
                    shows(&client);
                }
            });
        }
        let client = app.anonymous();
        let changes = catch_unwind(AssertUnwindSafe(|| {
            for round in 0..100 {
                owner.post_empty(&hiring.hire(0)).expect(200);
                assert!(!shows(&client), "round {round}: the role is filled");
                owner.post_empty(&hiring.decision(0, 3 - round % 2, "reject")).expect(200);
                assert!(shows(&client), "round {round}: the role is open again");
                app.change(UNDO_DECISIONS);
            }
        }));
        ended.store(true, Ordering::Relaxed);
        changes.unwrap();
    });
}

fn a_change_by_another_process_is_visible_a_moment_later() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    let before = client.get(&hiring.portal()).expect(200);
    app.change("UPDATE roles SET name = 'Engineer (f/m/d)'");
    let is_renamed = |answer: &Answer| answer.json()["roles"][0]["name"] == "Engineer (f/m/d)";
    let after = client.get_until(&hiring.portal(), is_renamed).expect(200);
    assert_ne!(after.header("etag"), before.header("etag"));
    app.change("UPDATE organizations SET name = 'Acme & Co'");
    client.get_until(&hiring.portal(), |answer| answer.json()["org"]["name"] == "Acme & Co");
}

fn a_portal_disabled_by_another_process_is_gone_a_moment_later() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    let tag = etag(&app, &hiring);
    app.change("UPDATE organizations SET portal_enabled = 0");
    client.get_until(&hiring.portal(), |answer| answer.status == 404);
    client.send("GET", &hiring.portal(), &[("If-None-Match", &tag)], b"").refused(404, "not_found");
    app.change("UPDATE organizations SET portal_enabled = 1");
    client.send("GET", &hiring.portal(), &[("If-None-Match", &tag)], b"").expect(304);
}

fn a_head_request_returns_the_header_fields_of_a_get_and_no_body() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    let fields = |method: &str, path: &str| {
        let mut headers = client.send(method, path, &[], b"").headers;
        headers.retain(|(name, _)| !["x-request-id", "date"].contains(&name.to_ascii_lowercase().as_str()));
        headers
    };
    let get = fields("GET", &hiring.portal());
    assert!(get.iter().any(|(name, _)| name == "etag") && get.iter().any(|(name, _)| name == "content-length"));
    assert_eq!(fields("HEAD", &hiring.portal()), get);
    let unknown = client.send("HEAD", "/api/public/portal/nobody", &[], b"").expect(404);
    assert_eq!(unknown.header("content-type"), Some("application/problem+json"));
}

fn any_origin_may_read_answers_and_errors_of_the_public_api() {
    let app = App::start();
    let hiring = app.hiring();
    let origin = [("Origin", "https://jobs.acme.example")];
    for path in [hiring.portal(), "/api/public/portal/nobody".to_owned(), "/api/public/nothing".to_owned()] {
        let answer = app.anonymous().send("GET", &path, &origin, b"");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-expose-headers"), Some("ETag, Retry-After, X-Request-Id"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
    }
    let elsewhere = app.anonymous().send("GET", "/", &origin, b"").expect(200);
    assert!(!elsewhere.headers.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("access-control-")));
}

fn the_answer_to_a_preflight_lists_the_methods_and_header_fields() {
    let app = App::start();
    let preflight = [("Origin", "https://jobs.acme.example"), ("Access-Control-Request-Method", "POST")];
    for (path, methods) in [
        ("/api/public/portal/acme-1", "GET, HEAD, OPTIONS"),
        ("/api/public/portal/acme-1/roles/role_1", "GET, HEAD, OPTIONS"),
        ("/api/public/portal/acme-1/apply", "POST, OPTIONS"),
    ] {
        let answer = app.anonymous().send("OPTIONS", path, &preflight, b"").expect(204);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-methods"), Some(methods), "{path}");
        assert_eq!(answer.header("access-control-allow-headers"), Some("Content-Type, If-None-Match"), "{path}");
        assert_eq!(answer.header("access-control-max-age"), Some("86400"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
    }
    app.anonymous().send("OPTIONS", "/api/public/portal", &preflight, b"").refused(404, "not_found");
}

fn paths_outside_the_public_api_refuse_preflights() {
    let app = App::start();
    let preflight = [("Origin", "https://jobs.acme.example"), ("Access-Control-Request-Method", "GET")];
    let table = appliance::http::routes::table();
    let closed: Vec<_> = table.routes().iter().filter(|route| !route.path.starts_with("/api/public/")).collect();
    assert!(!closed.is_empty() && closed.len() < table.routes().len());
    for route in closed {
        let path = crate::support::fill_path(route.path);
        let answer = app.anonymous().send("OPTIONS", &path, &preflight, b"").expect(405);
        let allow = answer.header("allow").unwrap();
        assert!(allow.contains(route.method.as_str()) && !allow.contains("OPTIONS"), "{path}: {allow}");
        let fields = &answer.headers;
        assert!(!fields.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("access-control-")), "{path}");
    }
}

fn requests_with_an_unsupported_method_get_405_with_an_allow_field() {
    let app = App::start();
    let hiring = app.hiring();
    for (path, allow) in [
        (hiring.portal(), "GET, HEAD, OPTIONS"),
        (format!("{}/roles/{}", hiring.portal(), hiring.role_id), "GET, HEAD, OPTIONS"),
        (format!("{}/apply", hiring.portal()), "POST, OPTIONS"),
    ] {
        for method in ["PUT", "PATCH", "DELETE", "PROPFIND", if allow.starts_with("GET") { "POST" } else { "GET" }] {
            let answer = app.anonymous().send(method, &path, &[], b"").refused(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
    }
}

fn credentials_are_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let expected = app.anonymous().get(&hiring.portal()).expect(200).body;
    for value in ["Bearer rpk_wrong", "Bearer", "Basic eDp5", "", &format!("Bearer {}", app.admin_secret())] {
        let answer = app.anonymous().send("GET", &hiring.portal(), &[("Authorization", value)], b"").expect(200);
        assert_eq!(answer.body, expected, "{value}");
        assert_eq!(answer.header("ratelimit"), None, "{value}");
    }
    let cookie = [("Cookie", "appliance_session=nothing")];
    assert_eq!(app.anonymous().send("GET", &hiring.portal(), &cookie, b"").expect(200).body, expected);
}

//! `GET /api/public/portal/{orgSlug}/roles/{roleId}`: one public, open role. A request for any other role
//! gets 404.

use serde_json::json;

use crate::portal::{add_role, change_role, change_theme};
use crate::support::{App, Hiring};

crate::tests![
    a_role_has_exactly_its_documented_fields,
    a_role_that_is_not_public_and_open_is_not_found,
    requests_for_hidden_and_unknown_roles_get_the_same_404_answer,
    a_role_of_another_organization_is_not_found,
    an_unknown_or_malformed_id_is_not_found,
    a_disabled_or_unknown_portal_is_not_found,
    a_filled_role_is_not_found_until_a_hire_is_reversed,
    a_role_hidden_by_another_process_is_gone_a_moment_later,
    the_salary_is_shown_only_where_show_salary_is_true,
    a_salary_field_that_the_role_lacks_is_omitted,
    a_slug_matches_regardless_of_case_and_outer_spaces,
    a_conditional_request_for_an_unchanged_role_gets_304,
    a_head_request_returns_the_header_fields_of_a_get_and_no_body,
    credentials_are_ignored,
];

fn path(hiring: &Hiring, role_id: &str) -> String {
    format!("{}/roles/{role_id}", hiring.portal())
}

fn own_path(hiring: &Hiring) -> String {
    path(hiring, &hiring.role_id)
}

fn a_role_has_exactly_its_documented_fields() {
    let app = App::start();
    let hiring = app.hiring_with(|document| add_role(document, &json!({ "name": "Gardener" })));
    let answer = app.anonymous().get(&own_path(&hiring)).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let expected = json!({
        "org": {
            "name": "Acme 1",
            "logo": "https://acme-1.example/logo.svg",
            "slug": "acme-1",
            "domain": "acme-1.example",
            "portalTheme": { "primaryColor": "#0f766e", "showSalary": true },
        },
        "role": {
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
        },
    });
    assert_eq!(answer.json(), expected);
}

fn a_role_that_is_not_public_and_open_is_not_found() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        add_role(document, &json!({ "id": "role_draft", "status": "draft" }));
        add_role(document, &json!({ "id": "role_closed", "status": "closed" }));
        add_role(document, &json!({ "id": "role_private", "public": false }));
        let filled = json!({
            "id": "role_filled",
            "status": "filled",
            "steps": [{ "name": "Offer" }],
            "candidates": [{ "name": "Ada", "email": "ada@example.org", "status": "Hired" }],
        });
        add_role(document, &filled);
        add_role(document, &json!({ "id": "role_open" }));
    });
    for role_id in ["role_draft", "role_closed", "role_private", "role_filled"] {
        app.anonymous().get(&path(&hiring, role_id)).refused(404, "not_found");
    }
    let open = app.anonymous().get(&path(&hiring, "role_open")).expect(200).json();
    assert_eq!(open["role"]["id"], "role_open");
}

fn requests_for_hidden_and_unknown_roles_get_the_same_404_answer() {
    let app = App::start();
    let other = app.hiring();
    let hiring = app.hiring_with(|document| {
        add_role(document, &json!({ "id": "role_draft", "status": "draft" }));
        add_role(document, &json!({ "id": "role_private", "public": false }));
    });
    let body = |role_id: &str| {
        let mut body = app.anonymous().get(&path(&hiring, role_id)).refused(404, "not_found").json();
        body["requestId"] = json!("");
        body
    };
    let unknown = body("role_unknown");
    for role_id in ["role_draft", "role_private", &other.role_id, "no%20id"] {
        assert_eq!(body(role_id), unknown, "{role_id}");
    }
}

fn a_role_of_another_organization_is_not_found() {
    let app = App::start();
    let (one, other) = (app.hiring(), app.hiring());
    app.anonymous().get(&path(&one, &other.role_id)).refused(404, "not_found");
    app.anonymous().get(&path(&other, &one.role_id)).refused(404, "not_found");
    app.anonymous().get(&own_path(&one)).expect(200);
    app.anonymous().get(&own_path(&other)).expect(200);
}

fn an_unknown_or_malformed_id_is_not_found() {
    let app = App::start();
    let hiring = app.hiring();
    let long = "a".repeat(65);
    // An id is compared exactly. It is neither trimmed nor converted to lower case.
    for role_id in ["role_0", "ROLE_1", "%20role_1", "role_1%00", "%C3%A4", "..", "%2e%2e%2frole_1", "%ff", "'", &long]
    {
        app.anonymous().get(&path(&hiring, role_id)).refused(404, "not_found");
    }
    app.anonymous().get(&path(&hiring, "")).refused(404, "not_found");
    app.anonymous().get(&path(&hiring, "role%5F1")).expect(200);
}

fn a_disabled_or_unknown_portal_is_not_found() {
    let app = App::start();
    let off = app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = json!(false));
    let detail = |path: &str| app.anonymous().get(path).refused(404, "not_found").json()["detail"].clone();
    let unknown = detail(&format!("/api/public/portal/nobody/roles/{}", off.role_id));
    assert_eq!(detail(&own_path(&off)), unknown);
    assert_eq!(detail(&format!("/api/public/portal/a_b/roles/{}", off.role_id)), unknown);
    app.change("UPDATE organizations SET portal_enabled = 1");
    app.anonymous().get(&own_path(&off)).expect(200);
}

fn a_filled_role_is_not_found_until_a_hire_is_reversed() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    owner.post_empty(&hiring.hire(0)).expect(200);
    app.anonymous().get(&own_path(&hiring)).expect(200);
    owner.post_empty(&hiring.hire(1)).expect(200);
    app.anonymous().get(&own_path(&hiring)).refused(404, "not_found");
    owner.post_empty(&hiring.reject(1)).expect(200);
    app.anonymous().get(&own_path(&hiring)).expect(200);
}

fn a_role_hidden_by_another_process_is_gone_a_moment_later() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    client.get(&own_path(&hiring)).expect(200);
    app.change("UPDATE roles SET public = 0");
    client.get_until(&own_path(&hiring), |answer| answer.status == 404).refused(404, "not_found");
    app.change("UPDATE roles SET public = 1");
    client.get(&own_path(&hiring)).expect(200);
}

fn the_salary_is_shown_only_where_show_salary_is_true() {
    let app = App::start();
    for (theme, shown) in
        [(json!({ "showSalary": true }), true), (json!({ "showSalary": false }), false), (json!({}), false)]
    {
        let hiring = app.hiring_with(|document| change_theme(document, theme.clone()));
        let answer = app.anonymous().get(&own_path(&hiring)).expect(200).json();
        assert_eq!(answer["org"]["portalTheme"], json!({ "showSalary": shown }), "{theme}");
        for name in ["salaryMin", "salaryMax", "salaryCurrency", "salaryPeriod"] {
            assert_eq!(answer["role"].get(name).is_some(), shown, "{name} with {theme}");
        }
    }
}

fn a_salary_field_that_the_role_lacks_is_omitted() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        change_role(document, &json!({ "salaryMax": null, "salaryPeriod": null }));
    });
    let role = app.anonymous().get(&own_path(&hiring)).expect(200).json()["role"].clone();
    assert_eq!((&role["salaryMin"], &role["salaryCurrency"]), (&json!(60_000), &json!("EUR")));
    assert_eq!((role.get("salaryMax"), role.get("salaryPeriod")), (None, None));
}

fn a_slug_matches_regardless_of_case_and_outer_spaces() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.anonymous().get(&format!("/api/public/portal/%20ACME-1%20/roles/{}", hiring.role_id));
    assert_eq!(answer.expect(200).json()["org"]["slug"], "acme-1");
}

fn a_conditional_request_for_an_unchanged_role_gets_304() {
    let app = App::start();
    let hiring = app.hiring();
    let first = app.anonymous().get(&own_path(&hiring)).expect(200);
    let tag = first.header("etag").unwrap().to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    let revalidate = |list: &str| app.anonymous().send("GET", &own_path(&hiring), &[("If-None-Match", list)], b"");
    for list in [&tag, &format!("W/{tag}"), "*", &format!("\"a\", {tag}")] {
        let answer = revalidate(list).expect(304);
        assert_eq!(answer.header("etag"), Some(tag.as_str()), "{list}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{list}");
    }
    assert_eq!(revalidate("\"a\"").expect(200).body, first.body);
    let portal = app.anonymous().get(&hiring.portal()).expect(200);
    revalidate(portal.header("etag").unwrap()).expect(200);
    app.change("UPDATE roles SET location = 'Hamburg'");
    app.anonymous().get_until(&own_path(&hiring), |answer| answer.header("etag") != Some(tag.as_str()));
    let changed = revalidate(&tag).expect(200);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    assert_eq!(changed.json()["role"]["location"], "Hamburg");
}

fn a_head_request_returns_the_header_fields_of_a_get_and_no_body() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    let get = client.get(&own_path(&hiring)).expect(200);
    let head = client.send("HEAD", &own_path(&hiring), &[], b"").expect(200);
    for name in ["content-type", "content-length", "etag", "cache-control"] {
        assert!(get.header(name).is_some(), "{name}");
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    client.send("HEAD", &path(&hiring, "role_unknown"), &[], b"").expect(404);
}

fn credentials_are_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let expected = app.anonymous().get(&own_path(&hiring)).expect(200).body;
    let bad = app.key("rpk_wrong");
    assert_eq!(bad.get(&own_path(&hiring)).expect(200).body, expected);
    bad.get(&path(&hiring, "role_unknown")).refused(404, "not_found");
}

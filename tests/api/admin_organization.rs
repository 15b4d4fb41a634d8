//! `/api/admin/organizations`: admins create, list, read, change and disable organizations.

use serde_json::{Value, json};

use crate::support::{Answer, App, Hiring};

crate::tests![
    creating_an_organization_returns_every_field,
    omitted_fields_get_their_defaults,
    creating_an_organization_writes_its_status_counts_and_an_activity_row,
    all_validation_errors_are_reported_together,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    a_logo_is_an_http_url_or_empty,
    unknown_fields_of_a_theme_are_stored,
    a_theme_over_16_kib_is_refused,
    an_unknown_time_zone_is_refused,
    a_taken_slug_is_a_conflict,
    a_change_leaves_omitted_fields_unchanged,
    a_theme_change_merges_top_level_fields,
    retention_days_can_be_set_to_null,
    the_hours_until_a_decision_is_visible_can_be_set_to_null,
    activity_records_the_values_before_and_after_a_change,
    a_change_without_effect_writes_no_activity,
    a_refused_change_changes_nothing,
    organizations_are_listed_newest_first_in_pages,
    an_invalid_cursor_or_limit_is_refused,
    the_portal_shows_a_change_with_the_next_request,
    a_disabled_organization_has_no_portal_and_no_signup_links,
    only_admins_see_a_disabled_organization,
];

const ORGANIZATIONS: &str = "/api/admin/organizations";

fn create(app: &App, body: &Value) -> Answer {
    app.admin().post(ORGANIZATIONS, body)
}

fn created(app: &App, body: &Value) -> Value {
    create(app, body).expect(200).json()["data"].clone()
}

fn path(organization: &Value) -> String {
    format!("{ORGANIZATIONS}/{}", organization["id"].as_str().unwrap())
}

fn organization_path(hiring: &Hiring) -> String {
    format!("{ORGANIZATIONS}/{}", hiring.organization_id)
}

fn change(app: &App, organization: &Value, body: &Value) -> Answer {
    app.admin().patch(&path(organization), body)
}

fn create_minimal(app: &App) -> Value {
    created(app, &json!({ "slug": "acme", "name": "Acme" }))
}

/// Returns a body with every field of an organization.
fn full_body() -> Value {
    json!({
        "slug": "Acme-Works",
        "name": "Acme Works",
        "domain": "acme.example",
        "logo": "https://acme.example/logo.svg",
        "portal": { "enabled": true, "theme": { "primaryColor": "#0f766e", "showSalary": true, "font": ["Inter", 1.50] } },
        "requireExternalPositionId": true,
        "enabled": false,
        "timeZone": "europe/berlin",
        "payTransparency": true,
        "retentionDays": 180,
        "privacyNotice": "We keep **what you send** for 180 days.\n",
        "decisionVisibleAfterHours": 24,
        "requireSecondFactor": true,
    })
}

fn creating_an_organization_returns_every_field() {
    let app = App::start();
    let answer = create(&app, &full_body()).expect(200);
    let mut expected = full_body();
    expected["timeZone"] = json!("Europe/Berlin");
    let id = answer.json()["data"]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("org_"), "{id}");
    expected["id"] = json!(id);
    expected["createdAt"] = json!("2026-11-21T09:00:00.000000Z");
    expected["updatedAt"] = json!("2026-11-21T09:00:00.000000Z");
    assert_eq!(answer.json(), json!({ "success": true, "data": expected }));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let read = app.admin().get(&format!("{ORGANIZATIONS}/{id}")).expect(200);
    assert_eq!(read.json(), answer.json());
    let list = app.admin().get(ORGANIZATIONS).expect(200).json();
    let pagination = json!({ "limit": 50, "hasMore": false, "nextCursor": null });
    assert_eq!(list, json!({ "success": true, "data": [expected], "pagination": pagination }));
}

fn omitted_fields_get_their_defaults() {
    let app = App::start();
    let nothing = json!({
        "slug": "acme", "name": "Acme", "domain": null, "logo": null, "portal": null,
        "requireExternalPositionId": null, "enabled": null, "timeZone": null, "payTransparency": null,
        "retentionDays": null, "privacyNotice": null, "unknown": 1,
    });
    let organization = created(&app, &nothing);
    let expected = json!({
        "id": organization["id"], "slug": "acme", "name": "Acme", "domain": "", "logo": "",
        "portal": { "enabled": false, "theme": {} }, "requireExternalPositionId": false, "enabled": true,
        "timeZone": "UTC", "payTransparency": false, "retentionDays": null,
        "privacyNotice": "", "decisionVisibleAfterHours": 72, "requireSecondFactor": false,
        "createdAt": "2026-11-21T09:00:00.000000Z", "updatedAt": "2026-11-21T09:00:00.000000Z",
    });
    assert_eq!(organization, expected);
    app.anonymous().get("/api/public/portal/acme").refused(404, "not_found");
}

fn creating_an_organization_writes_its_status_counts_and_an_activity_row() {
    let app = App::start();
    let id = create_minimal(&app)["id"].as_str().unwrap().to_owned();
    let sql = "SELECT organization_id, open_roles, open_positions, in_progress, hired, not_selected, withdrawn
               FROM organization_statuses";
    assert_eq!(app.sql(sql), [format!("{id}|0|0|0|0|0|0")]);
    let [row] = &app.sql("SELECT organization_id, action, user_id, api_key_id IS NOT NULL, detail FROM activities")[..]
    else {
        panic!("expected one activity row")
    };
    let (head, detail) = row.split_at(row.find('{').unwrap());
    assert_eq!(head, format!("{id}|organization.created|user_admin|1|"));
    let detail: Value = serde_json::from_str(detail).unwrap();
    assert_eq!((&detail["before"], &detail["after"]["slug"]), (&Value::Null, &json!("acme")));
    assert_eq!(detail["after"]["timeZone"], "UTC");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    assert_eq!(create(&app, &json!({})).refused(400, "validation_error").fields(), ["name", "slug"]);
    let wrong = json!({
        "name": " ", "slug": "a b", "domain": 1, "logo": "ftp://a", "portal": { "enabled": "yes", "theme": { "primaryColor": "teal", "showSalary": 1 } },
        "requireExternalPositionId": "no", "enabled": 1, "timeZone": "Mars/Olympus", "payTransparency": [], "retentionDays": 0,
        "privacyNotice": 1, "decisionVisibleAfterHours": -1,
        "requireSecondFactor": 0,
    });
    let fields = [
        "name",
        "slug",
        "domain",
        "logo",
        "portal.enabled",
        "portal.theme.showSalary",
        "portal.theme.primaryColor",
        "requireExternalPositionId",
        "enabled",
        "timeZone",
        "payTransparency",
        "retentionDays",
        "privacyNotice",
        "decisionVisibleAfterHours",
        "requireSecondFactor",
    ];
    assert_eq!(create(&app, &wrong).refused(400, "validation_error").fields(), fields);
    for (name, value) in [("portal", json!([])), ("portal", json!(true)), ("logo", json!(1)), ("timeZone", json!(1))] {
        let mut body = json!({ "slug": "acme", "name": "Acme" });
        body[name] = value;
        assert_eq!(create(&app, &body).refused(400, "validation_error").fields(), [name]);
    }
    let theme = json!({ "slug": "acme", "name": "Acme", "portal": { "theme": "dark" } });
    assert_eq!(create(&app, &theme).refused(400, "validation_error").fields(), ["portal.theme"]);
    assert_eq!(app.sql("SELECT count(*) FROM organizations"), ["0"]);
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let app = App::start();
    let logo = |characters: usize| format!("https://a.example/{}", "x".repeat(characters - 18));
    let cases = [
        ("name", json!("ä".repeat(255)), json!("ä".repeat(256))),
        ("slug", json!("a".repeat(64)), json!("a".repeat(65))),
        ("domain", json!("d".repeat(255)), json!("d".repeat(256))),
        ("logo", json!(logo(2_048)), json!(logo(2_049))),
        ("retentionDays", json!(1), json!(0)),
        ("retentionDays", json!(3_650), json!(3_651)),
        ("retentionDays", json!(30), json!(30.0)),
        ("retentionDays", json!(30), json!("30")),
        ("privacyNotice", json!("ä".repeat(20_000)), json!("ä".repeat(20_001))),
        ("privacyNotice", json!(""), json!([])),
        ("decisionVisibleAfterHours", json!(0), json!(-1)),
        ("decisionVisibleAfterHours", json!(8_760), json!(8_761)),
        ("decisionVisibleAfterHours", Value::Null, json!(1.5)),
        ("decisionVisibleAfterHours", json!(24), json!("24")),
        ("requireSecondFactor", json!(true), json!("true")),
    ];
    for (nth, (name, good, bad)) in cases.into_iter().enumerate() {
        let mut body = json!({ "slug": format!("acme-{nth}"), "name": "Acme" });
        body[name] = bad;
        assert_eq!(create(&app, &body).refused(400, "validation_error").fields(), [name]);
        body[name] = good.clone();
        let organization = created(&app, &body);
        assert_eq!(organization[name], good);
        let other = created(&app, &json!({ "slug": format!("other-{nth}"), "name": "Other" }));
        if name != "slug" {
            assert_eq!(
                change(&app, &other, &json!({ name: good })).expect(200).json()["data"][name],
                organization[name]
            );
        }
    }
}

fn a_logo_is_an_http_url_or_empty() {
    let app = App::start();
    let organization = create_minimal(&app);
    for good in ["https://acme.example/a.svg", "HTTP://acme.example", ""] {
        assert_eq!(change(&app, &organization, &json!({ "logo": good })).expect(200).json()["data"]["logo"], good);
    }
    for bad in [
        "acme.example/a.svg",
        "//acme.example",
        "javascript:alert(1)",
        "data:image/png;base64,AA",
        "https://",
        "https://u@acme.example",
        " ",
    ] {
        let answer = change(&app, &organization, &json!({ "logo": bad })).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["logo"], "{bad:?}");
    }
}

fn unknown_fields_of_a_theme_are_stored() {
    let app = App::start();
    let theme =
        json!({ "font": { "family": ["Inter", "ä🛢"], "size": 1.0 }, "primaryColor": "#abc", "": null, "dark": false });
    let body = json!({ "slug": "acme", "name": "Acme", "portal": { "enabled": true, "theme": theme } });
    let organization = created(&app, &body);
    // A field of the theme with the value null is removed.
    let stored = json!({ "font": { "family": ["Inter", "ä🛢"], "size": 1.0 }, "primaryColor": "#abc", "dark": false });
    assert_eq!(organization["portal"], json!({ "enabled": true, "theme": stored }));
    let mut expected = stored;
    expected["showSalary"] = json!(false);
    let portal = app.anonymous().get("/api/public/portal/acme").expect(200).json();
    assert_eq!(portal["org"]["portalTheme"], expected);
}

fn a_theme_over_16_kib_is_refused() {
    let app = App::start();
    let theme = |bytes: usize| json!({ "portal": { "theme": { "x": "y".repeat(bytes - r#"{"x":""}"#.len()) } } });
    let organization = create_minimal(&app);
    change(&app, &organization, &theme(16_384)).expect(200);
    let answer = change(&app, &organization, &theme(16_385)).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["portal.theme"]);
    // The limit includes the fields of the theme that are already stored.
    let more = json!({ "portal": { "theme": { "z": 1 } } });
    assert_eq!(change(&app, &organization, &more).refused(400, "validation_error").fields(), ["portal.theme"]);
    let mut body = theme(16_385);
    body["slug"] = json!("large");
    body["name"] = json!("Large");
    create(&app, &body).refused(400, "validation_error");
    assert_eq!(app.sql("SELECT max(length(portal_theme)), count(*) FROM organizations"), ["16384|1"]);
}

fn an_unknown_time_zone_is_refused() {
    let app = App::start();
    let organization = create_minimal(&app);
    for (given, expected) in
        [("Asia/Kathmandu", "Asia/Kathmandu"), ("america/new_york", "America/New_York"), ("utc", "UTC")]
    {
        let answer = change(&app, &organization, &json!({ "timeZone": given })).expect(200);
        assert_eq!(answer.json()["data"]["timeZone"], expected);
    }
    for bad in ["", "Berlin", "+01:00", "Europe/Berlin "] {
        let answer = change(&app, &organization, &json!({ "timeZone": bad })).refused(400, "validation_error");
        let detail = "must be the name of a time zone that this machine knows, such as Europe/Berlin";
        assert_eq!(answer.json()["errors"], json!([{ "field": "timeZone", "detail": detail }]), "{bad:?}");
    }
}

fn a_taken_slug_is_a_conflict() {
    let app = App::start();
    let (first, second) = (create_minimal(&app), created(&app, &json!({ "slug": "other", "name": "Other" })));
    let answer = create(&app, &json!({ "slug": " ACME ", "name": "Acme again" })).refused(409, "conflict");
    let detail = "this slug is already taken by another organization; choose a different slug";
    assert_eq!(answer.json()["detail"], detail);
    let answer = change(&app, &second, &json!({ "slug": "Acme", "name": "X" })).refused(409, "conflict");
    assert_eq!(answer.json()["detail"], detail);
    assert_eq!(app.admin().get(&path(&second)).expect(200).json()["data"], second);
    // An organization's own slug does not conflict with itself, and its new spelling is stored.
    assert_eq!(change(&app, &first, &json!({ "slug": "ACME" })).expect(200).json()["data"]["slug"], "ACME");
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["3"]);
}

fn a_change_leaves_omitted_fields_unchanged() {
    let app = App::start();
    let mut expected = created(&app, &full_body());
    let organization = expected.clone();
    app.pass(60);
    expected["updatedAt"] = json!("2026-11-21T09:01:00.000000Z");
    let changes = [
        ("slug", json!("acme")),
        ("name", json!("Acme")),
        ("domain", json!("")),
        ("logo", json!("")),
        ("requireExternalPositionId", json!(false)),
        ("enabled", json!(true)),
        ("timeZone", json!("UTC")),
        ("payTransparency", json!(false)),
        ("retentionDays", json!(30)),
        ("privacyNotice", json!("")),
        ("decisionVisibleAfterHours", json!(0)),
        ("requireSecondFactor", json!(false)),
    ];
    for (name, value) in changes {
        expected[name] = value.clone();
        assert_eq!(change(&app, &organization, &json!({ name: value })).expect(200).json()["data"], expected, "{name}");
    }
    expected["portal"]["enabled"] = json!(false);
    let answer = change(&app, &organization, &json!({ "portal": { "enabled": false } })).expect(200);
    assert_eq!(answer.json()["data"], expected);
    for nothing in [json!({}), json!({ "name": null, "slug": null, "portal": null, "enabled": null, "x": 1 })] {
        assert_eq!(change(&app, &organization, &nothing).expect(200).json()["data"], expected);
    }
}

fn a_theme_change_merges_top_level_fields() {
    let app = App::start();
    let organization = created(&app, &full_body());
    let theme = |body: Value| {
        let answer = change(&app, &organization, &json!({ "portal": { "theme": body } })).expect(200);
        answer.json()["data"]["portal"]["theme"].clone()
    };
    let mut expected = json!({ "primaryColor": "#0f766e", "showSalary": false, "font": ["Inter", 1.50] });
    assert_eq!(theme(json!({ "showSalary": false })), expected);
    expected["font"] = json!({ "family": "Inter" });
    assert_eq!(theme(json!({ "font": { "family": "Inter" } })), expected);
    expected["font"] = json!({ "size": 2 });
    assert_eq!(theme(json!({ "font": { "size": 2 } })), expected, "nested fields are replaced, not merged");
    assert_eq!(theme(json!({ "font": null, "primaryColor": null, "none": null })), json!({ "showSalary": false }));
    assert_eq!(theme(json!({})), json!({ "showSalary": false }));
}

fn retention_days_can_be_set_to_null() {
    let app = App::start();
    let organization = created(&app, &full_body());
    let days = |body: Value| change(&app, &organization, &body).expect(200).json()["data"]["retentionDays"].clone();
    assert_eq!(days(json!({ "name": "Acme" })), json!(180));
    assert_eq!(days(json!({ "retentionDays": 3_650 })), json!(3_650));
    assert_eq!(days(json!({ "retentionDays": null })), Value::Null);
    for bad in [json!(0), json!(3_651), json!("1"), json!(1.5), json!(false)] {
        let answer = change(&app, &organization, &json!({ "retentionDays": bad })).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["retentionDays"]);
    }
}

fn the_hours_until_a_decision_is_visible_can_be_set_to_null() {
    let app = App::start();
    let organization = created(&app, &full_body());
    let hours = |body: Value| {
        change(&app, &organization, &body).expect(200).json()["data"]["decisionVisibleAfterHours"].clone()
    };
    assert_eq!(hours(json!({ "decisionVisibleAfterHours": null })), Value::Null);
    assert_eq!(hours(json!({ "name": "Acme" })), Value::Null);
    assert_eq!(hours(json!({ "decisionVisibleAfterHours": 72 })), json!(72));
    let never = created(&app, &json!({ "slug": "never", "name": "Never", "decisionVisibleAfterHours": null }));
    assert_eq!(never["decisionVisibleAfterHours"], Value::Null);
}

fn activity_records_the_values_before_and_after_a_change() {
    let app = App::start();
    let organization = created(&app, &full_body());
    let body = json!({ "name": "Acme", "retentionDays": null, "portal": { "theme": { "showSalary": false } }, "enabled": false });
    change(&app, &organization, &body).expect(200);
    let sql = "SELECT detail FROM activities WHERE action = 'organization.changed' AND user_id = 'user_admin'";
    let detail: Value = serde_json::from_str(&app.sql(sql)[0]).unwrap();
    let theme = |show: bool| json!({ "primaryColor": "#0f766e", "showSalary": show, "font": ["Inter", 1.50] });
    let expected = json!({
        "before": { "name": "Acme Works", "portalTheme": theme(true), "retentionDays": 180 },
        "after": { "name": "Acme", "portalTheme": theme(false), "retentionDays": null },
    });
    assert_eq!(detail, expected, "fields that did not change are not recorded");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_change_without_effect_writes_no_activity() {
    let app = App::start();
    let organization = created(&app, &full_body());
    app.pass(60);
    assert_eq!(change(&app, &organization, &full_body()).expect(200).json()["data"], organization);
    assert_eq!(app.sql("SELECT action FROM activities"), ["organization.created"]);
}

fn a_refused_change_changes_nothing() {
    let app = App::start();
    let organization = created(&app, &full_body());
    app.pass(60);
    let answer = change(&app, &organization, &json!({ "name": "", "domain": "x", "enabled": "no" }));
    assert_eq!(answer.refused(400, "validation_error").fields(), ["name", "enabled"]);
    let answer = app.admin().patch(&format!("{ORGANIZATIONS}/none"), &json!({ "name": "" }));
    answer.refused(400, "validation_error");
    app.admin().patch(&format!("{ORGANIZATIONS}/none"), &json!({ "name": "x" })).refused(404, "not_found");
    assert_eq!(app.admin().get(&path(&organization)).expect(200).json()["data"], organization);
}

fn organizations_are_listed_newest_first_in_pages() {
    let app = App::start();
    // Some organizations have the same creation time, so their ids decide the order.
    let mut ids = Vec::new();
    for nth in 0..7 {
        ids.push(created(&app, &json!({ "slug": format!("acme-{nth}"), "name": "Acme" }))["id"].clone());
        if nth % 3 == 2 {
            app.pass(1);
        }
    }
    let all: Vec<Value> = list(&app, "?limit=200").0;
    assert_eq!(all.len(), 7);
    let sorted = app.sql("SELECT id FROM organizations ORDER BY created_at DESC, id DESC");
    assert_eq!(all.iter().map(|one| one["id"].as_str().unwrap()).collect::<Vec<_>>(), sorted);
    for limit in 1..=4 {
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let (rows, pagination) = list(&app, &format!("?limit={limit}{next}"));
            assert_eq!(pagination["limit"], limit);
            found.extend(rows);
            let Some(cursor) = pagination["nextCursor"].as_str() else {
                assert_eq!(pagination["hasMore"], false);
                break;
            };
            assert_eq!(pagination["hasMore"], true);
            next = format!("&cursor={cursor}");
        }
        assert_eq!(found, all, "in pages of {limit}");
    }
    assert_eq!(list(&app, "?limit=0").1["limit"], 1);
    assert_eq!(list(&app, "?limit=201").1["limit"], 200);
}

fn list(app: &App, query: &str) -> (Vec<Value>, Value) {
    let page = app.admin().get(&format!("{ORGANIZATIONS}{query}")).expect(200).json();
    (page["data"].as_array().unwrap().clone(), page["pagination"].clone())
}

fn an_invalid_cursor_or_limit_is_refused() {
    let app = App::start();
    for (query, fields) in [
        ("?cursor=x", vec!["cursor"]),
        ("?cursor=", vec!["cursor"]),
        ("?cursor=YQ", vec!["cursor"]),
        // The encodings of "a\nb" and "1\nä".
        ("?cursor=YQpi", vec!["cursor"]),
        ("?cursor=MQrDpA", vec!["cursor"]),
        ("?limit=ten", vec!["limit"]),
        ("?limit=1&limit=2&cursor=x", vec!["limit", "cursor"]),
    ] {
        for list in [ORGANIZATIONS, "/api/admin/users"] {
            let answer = app.admin().get(&format!("{list}{query}")).refused(400, "validation_error");
            assert_eq!(answer.fields(), fields, "{list}{query}");
        }
    }
}

fn the_portal_shows_a_change_with_the_next_request() {
    let app = App::start();
    let hiring = app.hiring();
    let anonymous = app.anonymous();
    for round in 0..50 {
        let name = format!("Acme {round}");
        app.admin().patch(&organization_path(&hiring), &json!({ "name": name })).expect(200);
        assert_eq!(anonymous.get(&hiring.portal()).expect(200).json()["org"]["name"], name);
    }
    app.admin()
        .patch(&organization_path(&hiring), &json!({ "portal": { "theme": { "showSalary": false } } }))
        .expect(200);
    assert_eq!(anonymous.get(&hiring.portal()).expect(200).json()["roles"][0].get("salaryMin"), None);
    app.admin().patch(&organization_path(&hiring), &json!({ "portal": { "enabled": false } })).expect(200);
    anonymous.get(&hiring.portal()).refused(404, "not_found");
    app.admin()
        .patch(&organization_path(&hiring), &json!({ "portal": { "enabled": true }, "slug": "moved" }))
        .expect(200);
    anonymous.get(&hiring.portal()).refused(404, "not_found");
    anonymous.get("/api/public/portal/moved").expect(200);
}

fn a_disabled_organization_has_no_portal_and_no_signup_links() {
    let app = App::start();
    let (hiring, anonymous) = (app.hiring(), app.anonymous());
    let apply = || anonymous.post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": hiring.role_id }));
    let link = apply().expect(200).json()["inviteUrl"].as_str().unwrap().to_owned();
    let link = &link[link.find("/signup/").unwrap()..];
    anonymous.get(link).expect(200);
    let role = format!("{}/roles/{}", hiring.portal(), hiring.role_id);
    anonymous.get(&role).expect(200);
    app.admin().patch(&organization_path(&hiring), &json!({ "enabled": false })).expect(200);
    anonymous.get(&hiring.portal()).refused(404, "not_found");
    anonymous.get(&role).refused(404, "not_found");
    apply().refused(404, "not_found");
    anonymous.get(link).expect(404);
    app.admin().patch(&organization_path(&hiring), &json!({ "enabled": true })).expect(200);
    anonymous.get(&hiring.portal()).expect(200);
    anonymous.get(link).expect(200);
}

fn only_admins_see_a_disabled_organization() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    app.admin().patch(&organization_path(&hiring), &json!({ "enabled": false })).expect(200);
    owner.post_empty(&hiring.reject(0)).refused(404, "not_found");
    owner.post_empty(&hiring.hire(0)).refused(404, "not_found");
    owner.get("/api/v1/me").expect(200);
    assert_eq!(app.admin().get(&organization_path(&hiring)).expect(200).json()["data"]["enabled"], false);
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    app.admin().patch(&organization_path(&hiring), &json!({ "enabled": true })).expect(200);
    owner.post_empty(&hiring.reject(1)).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

//! `GET /api/admin/activity`: platform activity, which shares one hash chain with the activity of organizations. Two
//! kinds of activity of organizations are tested here too: changes to HR integrations, and downloads of attachments.

use appliance::domain::attachment::MediaType;
use serde_json::{Value, json};

use crate::attachment::apply_with;
use crate::support::{Answer, App};

crate::tests![
    creating_and_revoking_a_key_is_recorded,
    refusals_of_a_key_are_recorded_once_an_hour_with_a_count,
    the_reason_for_refusing_a_key_is_recorded,
    pending_counts_are_written_when_the_service_stops,
    creating_and_changing_users_is_recorded,
    sign_ins_and_failed_sign_ins_are_recorded,
    changes_to_an_hr_integration_are_recorded_without_secrets,
    downloading_an_attachment_is_recorded,
    the_list_is_paged_and_filtered_by_action,
    rows_have_no_personal_data,
    refused_acts_are_not_recorded,
];

const ACTIVITY: &str = "/api/admin/activity";
const KEYS: &str = "/api/admin/api-keys";
const USERS: &str = "/api/admin/users";
const PASSWORD: &str = "correct horse battery";

/// Returns the rows of one action, newest first.
fn rows(app: &App, action: &str) -> Vec<Value> {
    let page = app.admin().get(&format!("{ACTIVITY}?action={action}&limit=200")).expect(200).json();
    page["data"].as_array().unwrap().clone()
}

/// Returns the states before and after the act, from each row of one action.
fn states(app: &App, action: &str) -> Vec<Value> {
    rows(app, action).into_iter().map(|row| json!([row["before"], row["after"]])).collect()
}

/// Waits until an action has this many rows, and returns their states.
fn states_when_recorded(app: &App, action: &str, count: usize) -> Vec<Value> {
    let has_all = |answer: &Answer| answer.json()["data"].as_array().unwrap().len() >= count;
    app.admin().get_until(&format!("{ACTIVITY}?action={action}&limit=200"), has_all);
    states(app, action)
}

fn creating_and_revoking_a_key_is_recorded() {
    let app = App::start();
    let created = app.admin().post(KEYS, &json!({ "name": "n", "userId": "user_admin", "scopes": ["roles:read"] }));
    let created = created.expect(200).json()["data"].take();
    let row = rows(&app, "api_key.created").remove(0);
    assert_eq!(
        row["after"],
        json!({
            "apiKeyId": created["id"], "userId": "user_admin", "scopes": ["roles:read"], "scopesExplicit": true,
            "expiresAt": created["expiresAt"],
        })
    );
    assert_eq!(
        (&row["before"], &row["user"]["id"], &row["candidateId"]),
        (&Value::Null, &json!("user_admin"), &Value::Null)
    );
    assert_eq!(row["apiKeyId"], app.admin().get("/api/v1/me").expect(200).json()["auth"]["keyId"]);
    for _ in 0..2 {
        app.admin().delete(&format!("{KEYS}/{}", created["id"].as_str().unwrap())).expect(200);
    }
    let revoked = json!([{ "apiKeyId": created["id"], "userId": "user_admin" }, null]);
    assert_eq!(states(&app, "api_key.revoked"), [revoked], "revoking again writes nothing");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn refusals_of_a_key_are_recorded_once_an_hour_with_a_count() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.admin().delete(&format!("{KEYS}/{id}")).expect(200);
    let states = |count: u64| json!([null, { "apiKeyId": id, "reason": "revoked", "count": count }]);
    for _ in 0..7 {
        app.key(&secret).get("/api/v1/me").refused(401, "unauthorized");
    }
    assert_eq!(states_when_recorded(&app, "api_key.refused", 1), [states(1)]);
    app.pass(3_599);
    app.key(&secret).get(KEYS).refused(401, "unauthorized");
    app.pass(1);
    assert_eq!(states_when_recorded(&app, "api_key.refused", 2), [states(7), states(1)]);
    // The refusal of an unknown key is never recorded.
    app.key("rpk_none").get("/api/v1/me").refused(401, "unauthorized");
    let unknown = appliance::domain::api_key::KeySecret::generate(|bytes| bytes.fill(7));
    app.key(unknown.reveal()).get("/api/v1/me").refused(401, "unauthorized");
    app.pass(3_600);
    app.key(&secret).get("/api/v1/me").refused(401, "unauthorized");
    assert_eq!(states_when_recorded(&app, "api_key.refused", 3), [states(1), states(7), states(1)]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_reason_for_refusing_a_key_is_recorded() {
    let app = App::start();
    let hiring = app.hiring();
    let disabled = app.user(&hiring.staff("owner"));
    app.admin().patch(&format!("{USERS}/{}", hiring.staff("owner")), &json!({ "enabled": false })).expect(200);
    disabled.get("/api/v1/me").refused(401, "unauthorized");
    let short = app.make_key_with(&json!({ "name": "n", "userId": "user_admin", "expiresInDays": 1 })).1;
    // The service caches the key here. A day later, it refuses the key from memory and still records the refusal of an
    // expired key.
    app.key(&short).get("/api/v1/me").expect(200);
    app.pass(86_400);
    app.key(&short).get("/api/v1/me").refused(401, "unauthorized");
    let reasons = states_when_recorded(&app, "api_key.refused", 2);
    let reasons: Vec<&str> = reasons.iter().map(|states| states[1]["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["expired", "user_disabled"]);
}

fn pending_counts_are_written_when_the_service_stops() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.admin().delete(&format!("{KEYS}/{id}")).expect(200);
    for _ in 0..4 {
        app.key(&secret).get("/api/v1/me").refused(401, "unauthorized");
    }
    app.stop();
    app.start_again();
    let counts: Vec<u64> =
        states(&app, "api_key.refused").iter().map(|states| states[1]["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [3, 1]);
}

fn creating_and_changing_users_is_recorded() {
    let app = App::start();
    let ada = json!({ "email": "ada@example.org", "name": "Ada" });
    let id = app.admin().post(USERS, &ada).expect(200).json()["data"]["id"].take();
    let user = |role: &str, enabled: bool| json!({ "userId": id, "platformRole": role, "enabled": enabled });
    assert_eq!(states(&app, "user.created"), [json!([null, user("user", true)])]);
    let path = format!("{USERS}/{}", id.as_str().unwrap());
    for change in [
        json!({ "platformRole": "admin" }),
        json!({ "enabled": false }),
        json!({ "email": "lovelace@example.org", "name": "Ada L." }),
        json!({ "name": "Ada L." }),
    ] {
        app.admin().patch(&path, &change).expect(200);
    }
    let mut renamed = user("admin", false);
    renamed["changed"] = json!(["email", "name"]);
    assert_eq!(
        states(&app, "user.changed"),
        [
            json!([user("admin", false), renamed]),
            json!([user("admin", true), user("admin", false)]),
            json!([user("user", true), user("admin", true)]),
        ]
    );
}

fn sign_ins_and_failed_sign_ins_are_recorded() {
    let app = App::start();
    let hiring = app.hiring();
    let (email, id) = (hiring.email("owner"), hiring.staff("owner"));
    app.set_password(&email, PASSWORD);
    app.sign_in(&email, PASSWORD);
    let row = rows(&app, "session.signed_in").remove(0);
    assert_eq!((&row["user"]["id"], &row["apiKeyId"]), (&json!(id), &Value::Null));
    let wrong = json!({ "email": email, "password": "wrong horse battery" });
    for _ in 0..3 {
        app.anonymous().post("/api/auth/sign-in", &wrong).refused(401, "unauthorized");
    }
    let nobody = json!({ "email": "nobody@example.org", "password": PASSWORD });
    app.anonymous().post("/api/auth/sign-in", &nobody).refused(401, "unauthorized");
    let failed = |count: u64| json!([null, { "userId": id, "count": count }]);
    assert_eq!(states_when_recorded(&app, "session.sign_in_failed", 1), [failed(1)]);
    app.pass(3_600);
    assert_eq!(states_when_recorded(&app, "session.sign_in_failed", 2), [failed(2), failed(1)]);
    assert_eq!(
        rows(&app, "session.sign_in_failed")[0]["user"],
        Value::Null,
        "the actor of a failed sign-in is unknown"
    );
    assert_eq!(rows(&app, "session.signed_in").len(), 1);
}

fn changes_to_an_hr_integration_are_recorded_without_secrets() {
    let app = App::start();
    let hiring = app.hiring();
    let integration = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    let body = json!({ "url": "https://hr.example:8443/hook/token-in-path?key=k", "enabled": true });
    app.admin().put(&integration, &body).expect(200);
    app.admin().put(&integration, &json!({ "url": "https://hr.example:8443/other", "rotateSecret": true })).expect(200);
    app.admin().delete(&integration).expect(200);
    let client = app.admin();
    let path = format!("/api/v1/organizations/{}/activity", hiring.organization_id);
    let states = |action: &str| -> Vec<Value> {
        let page = client.get(&format!("{path}?action={action}")).expect(200);
        assert!(!page.text().contains("token-in-path") && !page.text().contains("whsec_"), "{}", page.text());
        let page = page.json();
        page["data"].as_array().unwrap().iter().map(|row| json!([row["before"], row["after"]])).collect()
    };
    let target = json!({ "origin": "https://hr.example:8443", "enabled": true });
    let changed = json!({ "origin": "https://hr.example:8443", "enabled": true, "newUrl": true, "newSecret": true });
    assert_eq!(states("hr_integration.put"), [json!([target, changed]), json!([null, changed])]);
    assert_eq!(states("hr_integration.removed"), [json!([target, null])]);
}

fn downloading_an_attachment_is_recorded() {
    let app = App::start();
    let hiring = app.hiring();
    let path = apply_with(&app, &hiring, 0, "Ada Lovelace.pdf", MediaType::Pdf, b"%PDF-1.7 of mine");
    let owner = app.user(&hiring.staff("owner"));
    owner.get(&path).expect(200);
    owner.send("HEAD", &path, &[], b"").expect(200);
    let id = path.rsplit('/').next().unwrap();
    let opened = "SELECT user_id, candidate_id IS NOT NULL, detail FROM activities WHERE action = 'document.opened'";
    let detail = format!(r#"{{"before":null,"after":{{"documentId":"{id}"}}}}"#);
    assert_eq!(app.sql(opened), [format!("{}|1|{detail}", hiring.staff("owner"))], "a HEAD request is not recorded");
    app.user(&hiring.staff("member")).get(&format!("{path}0")).refused(404, "not_found");
    assert_eq!(app.sql(opened).len(), 1);
}

fn the_list_is_paged_and_filtered_by_action() {
    let app = App::start();
    for _ in 0..5 {
        app.make_key("user_admin");
    }
    let all = app.admin().get(ACTIVITY).expect(200).json()["data"].take();
    assert_eq!(all.as_array().unwrap().len(), 5);
    assert_eq!(all[0]["previousHash"], all[1]["hash"]);
    let (mut found, mut next) = (Vec::new(), String::new());
    loop {
        let page = app.admin().get(&format!("{ACTIVITY}?limit=2{next}")).expect(200).json();
        found.extend(page["data"].as_array().unwrap().clone());
        let Some(cursor) = page["pagination"]["nextCursor"].as_str() else { break };
        next = format!("&cursor={cursor}");
    }
    assert_eq!(json!(found), all);
    assert_eq!(app.admin().get(&format!("{ACTIVITY}?action=user.created")).expect(200).json()["data"], json!([]));
    let wrong = app.admin().get(&format!("{ACTIVITY}?action=none&limit=x")).refused(400, "validation_error");
    assert_eq!(wrong.fields(), ["action", "limit"]);
    // A cursor in an organization's activity is not valid in this list.
    let hiring = app.hiring();
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    app.admin().post_empty(&hiring.reject(1)).expect(200);
    let others = format!("/api/v1/organizations/{}/activity?limit=1", hiring.organization_id);
    let cursor = app.admin().get(&others).expect(200).json()["pagination"]["nextCursor"].as_str().unwrap().to_owned();
    app.admin().get(&format!("{ACTIVITY}?cursor={cursor}")).refused(400, "validation_error");
}

fn rows_have_no_personal_data() {
    let app = App::start();
    let user = json!({ "email": "quixworth@example.org", "name": "Quixworth" });
    let id = app.admin().post(USERS, &user).expect(200).json()["data"]["id"].as_str().unwrap().to_owned();
    app.admin().post(KEYS, &json!({ "name": "of Quixworth", "userId": id })).expect(200);
    app.admin().patch(&format!("{USERS}/{id}"), &json!({ "name": "Quixworth Two" })).expect(200);
    app.set_password("quixworth@example.org", PASSWORD);
    app.sign_in("quixworth@example.org", PASSWORD);
    let named = "SELECT count(*) FROM main.activities WHERE detail LIKE '%quixworth%' OR detail LIKE '%127.0.0.1%'";
    assert_eq!(app.sql(named), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM main.activities"), ["4"]);
}

fn refused_acts_are_not_recorded() {
    let app = App::start();
    app.admin().post(KEYS, &json!({ "name": "n", "userId": "user_none" })).refused(404, "not_found");
    app.admin().delete(&format!("{KEYS}/key_none")).refused(404, "not_found");
    app.admin().patch(&format!("{USERS}/user_admin"), &json!({ "enabled": false })).refused(409, "conflict");
    let taken = json!({ "email": "admin@appliance.example", "name": "X" });
    app.admin().post(USERS, &taken).refused(409, "conflict");
    assert_eq!(app.admin().get(ACTIVITY).expect(200).json()["data"], json!([]));
}

//! `DELETE /api/admin/api-keys/{id}`: a revoked key is dead for good, and what it did stays on record.

use serde_json::{Value, json};

use crate::support::App;

crate::tests![
    revoking_is_answered_with_success,
    a_revoked_key_is_refused_from_the_next_request_on,
    a_revoked_key_is_refused_everywhere,
    other_keys_of_the_user_live_on,
    revoking_again_is_a_success_and_changes_nothing,
    a_revoked_key_stays_listed_as_disabled,
    the_log_of_a_revoked_key_stays,
    a_key_that_has_ended_can_be_revoked,
    a_revocation_outlives_a_restart,
    an_admin_revokes_the_key_they_call_with,
    a_key_that_another_process_revoked_is_dead_at_once,
    an_unknown_key_is_not_found,
    only_admins_revoke_keys,
    a_body_and_a_query_change_nothing,
];

const ME: &str = "/api/v1/me";
const KEYS: &str = "/api/admin/api-keys";

fn path(id: &str) -> String {
    format!("{KEYS}/{id}")
}

fn item(app: &App, id: &str) -> Value {
    let all = app.admin().get(KEYS).expect(200).json();
    all["data"].as_array().unwrap().iter().find(|key| key["id"] == id).unwrap().clone()
}

fn revoking_is_answered_with_success() {
    let app = App::start();
    let (id, _) = app.make_key("user_admin");
    let answer = app.admin().delete(&path(&id)).expect(200);
    assert_eq!(answer.json(), json!({ "success": true }));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

fn a_revoked_key_is_refused_from_the_next_request_on() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    client.get(ME).expect(200);
    app.admin().delete(&path(&id)).expect(200);
    // On the connection it has, and on a new one.
    for refused in [client.get(ME), app.key(&secret).get(ME)] {
        let refused = refused.refused(401, "unauthorized");
        assert!(refused.header("www-authenticate").unwrap().ends_with(", error=\"invalid_token\""));
    }
}

fn a_revoked_key_is_refused_everywhere() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    app.admin().delete(&path(&id)).expect(200);
    client.post_empty(&hiring.reject(0)).refused(401, "unauthorized");
    client.post_empty(&hiring.hire(0)).refused(401, "unauthorized");
    client.post(KEYS, &json!({ "name": "n", "userId": "user_admin" })).refused(401, "unauthorized");
    client.get(KEYS).refused(401, "unauthorized");
    client.get(&format!("{KEYS}/{id}/usage")).refused(401, "unauthorized");
    client.delete(&path(&id)).refused(401, "unauthorized");
    // Nothing of it was done.
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(app.admin().get(KEYS).expect(200).json()["data"].as_array().unwrap().len(), 2);
}

fn other_keys_of_the_user_live_on() {
    let app = App::start();
    let hiring = app.hiring();
    let (first, _) = app.make_key(&hiring.staff("owner"));
    let (second, secret) = app.make_key(&hiring.staff("owner"));
    app.admin().delete(&path(&first)).expect(200);
    app.key(&secret).get(ME).expect(200);
    assert_eq!((&item(&app, &first)["enabled"], &item(&app, &second)["enabled"]), (&json!(false), &json!(true)));
}

fn revoking_again_is_a_success_and_changes_nothing() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.pass(60);
    app.admin().delete(&path(&id)).expect(200);
    let once = item(&app, &id);
    assert_eq!(once["updatedAt"], "2026-11-21T09:01:00.000000Z");
    app.pass(60);
    assert_eq!(app.admin().delete(&path(&id)).expect(200).json(), json!({ "success": true }));
    assert_eq!(item(&app, &id), once);
    app.key(&secret).get(ME).expect(401);
}

fn a_revoked_key_stays_listed_as_disabled() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    app.pass(60);
    app.key(&secret).get(ME).expect(200);
    let mut expected = item(&app, &id);
    app.pass(60);
    app.admin().delete(&path(&id)).expect(200);
    app.key(&secret).get(ME).expect(401);
    expected["enabled"] = json!(false);
    expected["updatedAt"] = json!("2026-11-21T09:02:00.000000Z");
    assert_eq!(item(&app, &id), expected);
    assert_eq!(expected["lastRequest"], "2026-11-21T09:01:00.000000Z");
}

fn the_log_of_a_revoked_key_stays() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    client.get(ME).expect(200);
    client.post_empty(&hiring.reject(0)).expect(200);
    app.admin().delete(&path(&id)).expect(200);
    client.get(ME).expect(401);
    client.post_empty(&hiring.reject(1)).expect(401);
    let data = app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200).json()["data"].clone();
    let rows = data["rows"].as_array().unwrap();
    let routes: Vec<&str> = rows.iter().map(|row| row["authEndpoint"].as_str().unwrap()).collect();
    assert_eq!(routes, ["/api/v1/candidate-steps/{id}/reject", "/api/v1/me"]);
    assert_eq!(data["key"]["requestCount"], 2);
}

fn a_key_that_has_ended_can_be_revoked() {
    let app = App::start();
    let (id, _) = app.make_key_with(&json!({ "name": "n", "userId": "user_admin", "expiresInDays": 1 }));
    app.pass(2 * 86_400);
    app.admin().delete(&path(&id)).expect(200);
    let key = item(&app, &id);
    assert_eq!((&key["enabled"], &key["updatedAt"]), (&json!(false), &json!("2026-11-23T09:00:00.000000Z")));
}

fn a_revocation_outlives_a_restart() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.key(&secret).get(ME).expect(200);
    app.admin().delete(&path(&id)).expect(200);
    app.stop();
    app.start_again();
    app.key(&secret).get(ME).refused(401, "unauthorized");
    assert_eq!(item(&app, &id)["enabled"], false);
}

fn an_admin_revokes_the_key_they_call_with() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let own = app.key(&secret);
    assert_eq!(own.delete(&path(&id)).expect(200).json(), json!({ "success": true }));
    own.get(ME).refused(401, "unauthorized");
    own.delete(&path(&id)).refused(401, "unauthorized");
    let data = app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200).json()["data"].clone();
    assert_eq!(data["key"]["requestCount"], 1, "the request that revoked it was authenticated by it");
    assert_eq!((&data["rows"][0]["method"], &data["rows"][0]["path"]), (&json!("DELETE"), &json!(path(&id))));
}

fn a_key_that_another_process_revoked_is_dead_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    client.get(ME).expect(200);
    app.change(&format!("UPDATE api_keys SET enabled = 0 WHERE id = '{id}'"));
    client.get(ME).refused(401, "unauthorized");
    client.post_empty(&hiring.reject(0)).refused(401, "unauthorized");
    let key = item(&app, &id);
    assert_eq!((&key["enabled"], &key["requestCount"]), (&json!(false), &json!(1)));
    app.admin().post_empty(&hiring.reject(0)).expect(200);
}

fn an_unknown_key_is_not_found() {
    let app = App::start();
    let long = "x".repeat(65);
    for id in ["key_01k00000000000000000000000", "nope", "%20", "a%2Fb", "%C3%A4", "%00", &long, "1", "%25"] {
        app.admin().delete(&path(id)).refused(404, "not_found");
    }
    // Neither its text nor its start names a key.
    let (id, secret) = app.make_key("user_admin");
    app.admin().delete(&path(&secret)).refused(404, "not_found");
    app.admin().delete(&path(&secret[..8])).refused(404, "not_found");
    app.admin().delete(&path(&id.to_uppercase())).refused(404, "not_found");
    app.key(&secret).get(ME).expect(200);
}

fn only_admins_revoke_keys() {
    let app = App::start();
    let hiring = app.hiring();
    for org_role in ["owner", "admin", "moderator", "hr_representative", "member"] {
        let (id, secret) = app.make_key(&hiring.staff(org_role));
        // Not even their own; and whether there is such a key is not told.
        app.key(&secret).delete(&path(&id)).refused(403, "forbidden");
        app.key(&secret).delete(&path("nope")).refused(403, "forbidden");
        app.key(&secret).get(ME).expect(200);
    }
    let (id, secret) = app.make_key("user_admin");
    app.anonymous().delete(&path(&id)).refused(401, "unauthorized");
    app.key("rpk_no").delete(&path(&id)).refused(401, "unauthorized");
    app.set_password("admin@appliance.example", "correct horse battery");
    let session = app.sign_in("admin@appliance.example", "correct horse battery");
    session.with_header("Sec-Fetch-Site", "same-origin").delete(&path(&id)).refused(401, "unauthorized");
    app.key(&secret).get(ME).expect(200);
}

fn a_body_and_a_query_change_nothing() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let answer =
        app.admin().send("DELETE", &format!("{}?enabled=true", path(&id)), &[("Content-Type", "text/plain")], b"{");
    assert_eq!(answer.expect(200).json(), json!({ "success": true }));
    app.key(&secret).get(ME).expect(401);
    // Where the body is not read, the connection still is of use.
    let (id, _) = app.make_key("user_admin");
    let admin = app.admin();
    admin.send("DELETE", &path(&id), &[("Content-Type", "application/json")], br#"{"enabled":true}"#).expect(200);
    admin.get(ME).expect(200);
}

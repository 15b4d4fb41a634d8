//! `DELETE /api/admin/api-keys/{id}`: a revoked key is refused permanently, and its usage log remains.

use serde_json::{Value, json};

use crate::support::App;

crate::tests![
    revoking_a_key_succeeds,
    a_revoked_key_is_refused_on_its_next_request,
    a_revoked_key_is_refused_on_endpoints_for_decisions_and_keys,
    the_users_other_keys_work_after_a_revocation,
    revoking_a_key_again_succeeds_and_changes_nothing,
    a_revoked_key_stays_listed_as_disabled,
    the_usage_log_of_a_revoked_key_stays,
    an_expired_key_can_be_revoked,
    a_revocation_survives_a_restart,
    an_admin_can_revoke_the_key_that_they_are_using,
    a_key_revoked_by_another_process_is_refused_at_once,
    an_unknown_key_is_not_found,
    only_admins_revoke_keys,
    bodies_and_query_parameters_are_ignored,
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

fn revoking_a_key_succeeds() {
    let app = App::start();
    let (id, _) = app.make_key("user_admin");
    let answer = app.admin().delete(&path(&id)).expect(200);
    assert_eq!(answer.json(), json!({ "success": true }));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

fn a_revoked_key_is_refused_on_its_next_request() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    client.get(ME).expect(200);
    app.admin().delete(&path(&id)).expect(200);
    // The key is refused on its open connection and on a new one.
    for refused in [client.get(ME), app.key(&secret).get(ME)] {
        let refused = refused.refused(401, "unauthorized");
        assert!(refused.header("www-authenticate").unwrap().ends_with(", error=\"invalid_token\""));
    }
}

fn a_revoked_key_is_refused_on_endpoints_for_decisions_and_keys() {
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
    // None of the refused requests had an effect.
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(app.admin().get(KEYS).expect(200).json()["data"].as_array().unwrap().len(), 2);
}

fn the_users_other_keys_work_after_a_revocation() {
    let app = App::start();
    let hiring = app.hiring();
    let (first, _) = app.make_key(&hiring.staff("owner"));
    let (second, secret) = app.make_key(&hiring.staff("owner"));
    app.admin().delete(&path(&first)).expect(200);
    app.key(&secret).get(ME).expect(200);
    assert_eq!((&item(&app, &first)["enabled"], &item(&app, &second)["enabled"]), (&json!(false), &json!(true)));
}

fn revoking_a_key_again_succeeds_and_changes_nothing() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.pass(60);
    app.admin().delete(&path(&id)).expect(200);
    let revoked = item(&app, &id);
    assert_eq!(revoked["updatedAt"], "2026-11-21T09:01:00.000000Z");
    app.pass(60);
    assert_eq!(app.admin().delete(&path(&id)).expect(200).json(), json!({ "success": true }));
    assert_eq!(item(&app, &id), revoked);
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

fn the_usage_log_of_a_revoked_key_stays() {
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

fn an_expired_key_can_be_revoked() {
    let app = App::start();
    let (id, _) = app.make_key_with(&json!({ "name": "n", "userId": "user_admin", "expiresInDays": 1 }));
    app.pass(2 * 86_400);
    app.admin().delete(&path(&id)).expect(200);
    let key = item(&app, &id);
    assert_eq!((&key["enabled"], &key["updatedAt"]), (&json!(false), &json!("2026-11-23T09:00:00.000000Z")));
}

fn a_revocation_survives_a_restart() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.key(&secret).get(ME).expect(200);
    app.admin().delete(&path(&id)).expect(200);
    app.stop();
    app.start_again();
    app.key(&secret).get(ME).refused(401, "unauthorized");
    assert_eq!(item(&app, &id)["enabled"], false);
}

fn an_admin_can_revoke_the_key_that_they_are_using() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let own = app.key(&secret);
    assert_eq!(own.delete(&path(&id)).expect(200).json(), json!({ "success": true }));
    own.get(ME).refused(401, "unauthorized");
    own.delete(&path(&id)).refused(401, "unauthorized");
    let data = app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200).json()["data"].clone();
    assert_eq!(data["key"]["requestCount"], 1, "the revoking request was made with this key");
    assert_eq!((&data["rows"][0]["method"], &data["rows"][0]["path"]), (&json!("DELETE"), &json!(path(&id))));
}

fn a_key_revoked_by_another_process_is_refused_at_once() {
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
    // Neither a key's secret nor the first characters of the secret identify the key.
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
        // Staff cannot revoke even their own keys, and the refusal does not reveal whether a key exists.
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

fn bodies_and_query_parameters_are_ignored() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let answer =
        app.admin().send("DELETE", &format!("{}?enabled=true", path(&id)), &[("Content-Type", "text/plain")], b"{");
    assert_eq!(answer.expect(200).json(), json!({ "success": true }));
    app.key(&secret).get(ME).expect(401);
    // The connection stays usable although the endpoint ignores the body.
    let (id, _) = app.make_key("user_admin");
    let admin = app.admin();
    admin.send("DELETE", &path(&id), &[("Content-Type", "application/json")], br#"{"enabled":true}"#).expect(200);
    admin.get(ME).expect(200);
}

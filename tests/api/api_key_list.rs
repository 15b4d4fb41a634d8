//! `GET /api/admin/api-keys`: every key with its usage and its owner.

use serde_json::{Value, json};

use crate::support::App;

crate::tests![
    a_listed_key_has_every_field,
    the_admins_first_key_is_listed_like_any_other,
    keys_are_listed_newest_first,
    revoked_and_expired_keys_stay_listed,
    requests_are_counted_and_dated,
    the_owner_is_shown_with_current_data,
    an_owner_without_a_membership_has_no_organization_and_no_organization_role,
    the_first_membership_in_an_interchange_document_is_the_oldest,
    memberships_from_an_earlier_import_are_older,
    only_admins_list_keys,
    a_head_request_returns_no_body,
    query_parameters_are_ignored,
];

const KEYS: &str = "/api/admin/api-keys";

fn list(app: &App) -> Vec<Value> {
    let answer = app.admin().get(KEYS).expect(200).json();
    let members: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(members, ["success", "data"]);
    assert_eq!(answer["success"], true);
    answer["data"].as_array().unwrap().clone()
}

fn item(app: &App, id: &str) -> Value {
    list(app).into_iter().find(|key| key["id"] == id).unwrap()
}

fn a_listed_key_has_every_field() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": "Payroll", "userId": hiring.staff("moderator"), "scopes": ["roles:read"] });
    let (id, secret) = app.make_key_with(&body);
    let expected = json!({
        "id": id,
        "name": "Payroll",
        "prefix": "rpk_",
        "start": secret[..8],
        "scopes": ["roles:read"],
        "enabled": true,
        "createdAt": "2026-11-21T09:00:00.000000Z",
        "updatedAt": "2026-11-21T09:00:00.000000Z",
        "lastRequest": null,
        "expiresAt": "2027-02-19T09:00:00.000000Z",
        "requestCount": 0,
        "owner": {
            "id": "user_1_moderator",
            "email": "moderator@org-1.example",
            "name": "The moderator",
            "platformRole": "user",
            "orgRole": "moderator",
            "organizationId": "org_1",
        },
    });
    assert_eq!(list(&app)[0], expected);
}

fn the_admins_first_key_is_listed_like_any_other() {
    let app = App::start();
    let keys = list(&app);
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0]["name"], "admin");
    assert_eq!(keys[0]["start"], app.admin_secret()[..8]);
    assert_eq!(keys[0]["requestCount"], 0, "the answer does not count the list request itself");
    let expected = json!({
        "id": "user_admin", "email": "admin@appliance.example", "name": "Admin", "platformRole": "admin",
        "orgRole": null, "organizationId": null,
    });
    assert_eq!(keys[0]["owner"], expected);
    assert_eq!(list(&app)[0]["requestCount"], 1);
}

fn keys_are_listed_newest_first() {
    let app = App::start();
    let mut created: Vec<String> = Vec::new();
    // Some keys are created at the same time, and others later.
    for number in 0..6 {
        created.insert(0, app.make_key("user_admin").0);
        if number % 2 == 1 {
            app.pass(60);
        }
    }
    let listed: Vec<String> = list(&app).iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed[..6], created);
    assert_eq!(listed.len(), 7);
    assert_eq!(list(&app)[6]["name"], "admin");
}

fn revoked_and_expired_keys_stay_listed() {
    let app = App::start();
    let (expired, _) = app.make_key_with(&json!({ "name": "short", "userId": "user_admin", "expiresInDays": 1 }));
    let (revoked, _) = app.make_key("user_admin");
    app.admin().delete(&format!("{KEYS}/{revoked}")).expect(200);
    app.pass(10 * 86_400);
    assert_eq!(list(&app).len(), 3);
    let expired = item(&app, &expired);
    // The key has expired, but nobody has revoked it.
    assert_eq!((&expired["enabled"], &expired["name"]), (&json!(true), &json!("short")));
    assert_eq!(expired["expiresAt"], "2026-11-22T09:00:00.000000Z");
    assert_eq!(expired["updatedAt"], "2026-11-21T09:00:00.000000Z");
    assert_eq!(item(&app, &revoked)["enabled"], false);
}

fn requests_are_counted_and_dated() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let (idle, _) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    for (count, minute) in [(1, "01"), (2, "02"), (3, "03")] {
        app.pass(60);
        client.get("/api/v1/me").expect(200);
        let key = item(&app, &id);
        assert_eq!(key["requestCount"], count);
        assert_eq!(key["lastRequest"], format!("2026-11-21T09:{minute}:00.000000Z"));
        assert_eq!(key["updatedAt"], "2026-11-21T09:00:00.000000Z", "a request does not change updatedAt");
    }
    let idle = item(&app, &idle);
    assert_eq!((&idle["requestCount"], &idle["lastRequest"]), (&json!(0), &Value::Null));
}

fn the_owner_is_shown_with_current_data() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, _) = app.make_key(&hiring.staff("member"));
    app.change("UPDATE users SET platform_role = 'admin', name = 'Ada' WHERE id = 'user_1_member'");
    app.change("UPDATE memberships SET org_role = 'owner' WHERE user_id = 'user_1_member'");
    let owner = item(&app, &id)["owner"].clone();
    assert_eq!((&owner["platformRole"], &owner["name"]), (&json!("admin"), &json!("Ada")));
    assert_eq!(owner["orgRole"], "owner");
}

fn an_owner_without_a_membership_has_no_organization_and_no_organization_role() {
    let app = App::start();
    app.import(&json!({ "users": [{ "id": "user_alone", "email": "Alone@Example.org", "name": "Alone" }] }));
    let (id, _) = app.make_key("user_alone");
    let expected = json!({
        "id": "user_alone", "email": "Alone@Example.org", "name": "Alone", "platformRole": "user",
        "orgRole": null, "organizationId": null,
    });
    assert_eq!(item(&app, &id)["owner"], expected);
}

/// Returns an organization with one member, for an interchange document.
fn organization(id: &str, user_id: &str, org_role: &str) -> Value {
    json!({ "id": id, "slug": id, "name": id, "members": [{ "userId": user_id, "orgRole": org_role }] })
}

fn membership(app: &App, user_id: &str) -> (Value, Value) {
    let (id, _) = app.make_key(user_id);
    let owner = item(app, &id)["owner"].clone();
    (owner["orgRole"].clone(), owner["organizationId"].clone())
}

fn the_first_membership_in_an_interchange_document_is_the_oldest() {
    let app = App::start();
    for (user_id, first, second) in [("user_a", "a-first", "b-second"), ("user_b", "z-first", "y-second")] {
        app.import(&json!({
            "users": [{ "id": user_id, "email": format!("{user_id}@example.org"), "name": user_id }],
            "organizations": [organization(first, user_id, "member"), organization(second, user_id, "owner")],
        }));
        assert_eq!(membership(&app, user_id), (json!("member"), json!(first)));
    }
}

fn memberships_from_an_earlier_import_are_older() {
    let app = App::start();
    let user = json!({ "id": "user_a", "email": "a@example.org", "name": "A" });
    app.import(&json!({ "users": [user], "organizations": [organization("n", "user_a", "hr_representative")] }));
    // The other imports run at the same clock time, an hour later, and after the clock is set back.
    app.import(&json!({ "organizations": [organization("m", "user_a", "owner")] }));
    app.pass(3_600);
    app.import(&json!({ "organizations": [organization("l", "user_a", "admin")] }));
    app.world.set(appliance::domain::timestamp::Timestamp::from_micros(1_700_000_000_000_000));
    app.import(&json!({ "organizations": [organization("k", "user_a", "member")] }));
    assert_eq!(membership(&app, "user_a"), (json!("hr_representative"), json!("n")));
}

fn only_admins_list_keys() {
    let app = App::start();
    let hiring = app.hiring();
    for org_role in ["owner", "admin", "moderator", "hr_representative", "member"] {
        app.user(&hiring.staff(org_role)).get(KEYS).refused(403, "forbidden");
    }
    app.anonymous().get(KEYS).refused(401, "unauthorized");
    app.key("rpk_no").get(KEYS).refused(401, "unauthorized");
    app.set_password("admin@appliance.example", "correct horse battery");
    app.sign_in("admin@appliance.example", "correct horse battery").get(KEYS).refused(401, "unauthorized");
}

fn a_head_request_returns_no_body() {
    let app = App::start();
    let (id, _) = app.make_key("user_admin");
    let head = app.admin().send("HEAD", KEYS, &[], b"").expect(200);
    assert_eq!(head.body, b"");
    assert!(head.header("content-length").unwrap().parse::<usize>().unwrap() > id.len());
    assert_eq!(head.header("content-type"), Some("application/json"));
}

fn query_parameters_are_ignored() {
    let app = App::start();
    app.make_key("user_admin");
    let answer = app.admin().get("/api/admin/api-keys?limit=1&limit=abc&enabled=false").expect(200);
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 2);
}

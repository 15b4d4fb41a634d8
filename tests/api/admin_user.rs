//! `/api/admin/users`: admins create, list, read, change and disable users.

use serde_json::{Value, json};

use crate::support::{Answer, App};

crate::tests![
    creating_a_user_returns_every_field,
    all_validation_errors_are_reported_together,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    a_taken_address_is_a_conflict,
    a_change_leaves_omitted_fields_unchanged,
    correcting_an_address_ends_the_users_sessions,
    changing_to_another_users_address_is_a_conflict,
    a_refused_change_changes_nothing,
    memberships_are_listed_oldest_first,
    users_are_listed_newest_first_in_pages,
    the_email_parameter_finds_the_user_with_that_address,
    keys_do_not_work_while_their_user_is_disabled,
    disabling_a_user_ends_their_sessions_for_good,
    a_sign_in_of_a_disabled_user_gets_the_same_answer_as_one_with_a_wrong_password,
    a_new_key_of_a_disabled_user_works_after_the_user_is_enabled,
    demoting_an_admin_takes_effect_at_once,
    the_last_enabled_admin_cannot_be_disabled_or_demoted,
    a_disabled_admin_does_not_count_as_a_remaining_admin,
];

const USERS: &str = "/api/admin/users";
const PASSWORD: &str = "correct horse battery";

fn create(app: &App, body: &Value) -> Answer {
    app.admin().post(USERS, body)
}

/// Creates a user with this name and returns their id.
fn create_named(app: &App, name: &str) -> String {
    let body = json!({ "email": format!("{name}@example.org"), "name": name });
    create(app, &body).expect(200).json()["data"]["id"].as_str().unwrap().to_owned()
}

fn path(id: &str) -> String {
    format!("{USERS}/{id}")
}

fn change(app: &App, id: &str, body: &Value) -> Answer {
    app.admin().patch(&path(id), body)
}

fn creating_a_user_returns_every_field() {
    let app = App::start();
    app.pass(60);
    let body = json!({ "email": "Ada@Example.org", "name": "Ada Lovelace", "platformRole": "admin", "enabled": false });
    let answer = create(&app, &body).expect(200);
    let id = answer.json()["data"]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("user_"), "{id}");
    let mut expected = json!({
        "id": id, "email": "Ada@Example.org", "name": "Ada Lovelace", "platformRole": "admin", "enabled": false,
        "createdAt": "2026-11-21T09:01:00.000000Z", "updatedAt": "2026-11-21T09:01:00.000000Z", "memberships": [],
    });
    assert_eq!(answer.json(), json!({ "success": true, "data": expected }));
    assert_eq!(app.admin().get(&path(&id)).expect(200).json(), answer.json());
    expected.as_object_mut().unwrap().remove("memberships");
    let list = app.admin().get(USERS).expect(200).json();
    assert_eq!(list["data"][0], expected);
    assert_eq!(list["data"][1]["id"], "user_admin");
    let plain = create(&app, &json!({ "email": "b@example.org", "name": "B", "platformRole": null })).expect(200);
    let data = &plain.json()["data"];
    assert_eq!((&data["platformRole"], &data["enabled"]), (&json!("user"), &json!(true)));
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    assert_eq!(create(&app, &json!({})).refused(400, "validation_error").fields(), ["email", "name"]);
    let wrong = json!({ "email": "ada", "name": "", "platformRole": "owner", "enabled": 1 });
    assert_eq!(
        create(&app, &wrong).refused(400, "validation_error").fields(),
        ["email", "name", "platformRole", "enabled"]
    );
    for role in [json!("Admin"), json!(""), json!(1)] {
        let body = json!({ "email": "ada@example.org", "name": "Ada", "platformRole": role });
        assert_eq!(create(&app, &body).refused(400, "validation_error").fields(), ["platformRole"]);
    }
    assert_eq!(app.sql("SELECT count(*) FROM users"), ["1"]);
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let app = App::start();
    let email = |characters: usize| format!("{}@example.org", "ä".repeat(characters - 12));
    let body = |email: String, name: String| json!({ "email": email, "name": name });
    create(&app, &body(email(254), "ä".repeat(255))).expect(200);
    let answer = create(&app, &body(email(255), "ä".repeat(256))).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["email", "name"]);
    let id = create_named(&app, "ada");
    change(&app, &id, &json!({ "name": "ä".repeat(255) })).expect(200);
    let answer = change(&app, &id, &json!({ "name": "ä".repeat(256) })).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["name"]);
}

fn a_taken_address_is_a_conflict() {
    let app = App::start();
    let id = create_named(&app, "ada");
    let again = json!({ "email": "ADA@example.ORG", "name": "Another" });
    let answer = create(&app, &again).refused(409, "conflict");
    assert_eq!(answer.json()["detail"], "a user with this email address already exists");
    // A disabled user still holds their address.
    change(&app, &id, &json!({ "enabled": false })).expect(200);
    create(&app, &again).refused(409, "conflict");
    assert_eq!(app.sql("SELECT count(*) FROM users"), ["2"]);
}

fn a_change_leaves_omitted_fields_unchanged() {
    let app = App::start();
    let id = create_named(&app, "ada");
    let mut expected = app.admin().get(&path(&id)).expect(200).json()["data"].clone();
    app.pass(60);
    for nothing in [json!({}), json!({ "name": null, "platformRole": null, "enabled": null, "email": null })] {
        assert_eq!(change(&app, &id, &nothing).expect(200).json()["data"], expected);
    }
    expected["updatedAt"] = json!("2026-11-21T09:01:00.000000Z");
    for (name, value) in [("name", json!("Ada L.")), ("platformRole", json!("admin")), ("enabled", json!(false))] {
        expected[name] = value.clone();
        assert_eq!(change(&app, &id, &json!({ name: value })).expect(200).json()["data"], expected);
    }
}

fn correcting_an_address_ends_the_users_sessions() {
    let app = App::start();
    let id = create_named(&app, "ada");
    app.set_password("ada@example.org", PASSWORD);
    let (session, key) = (app.sign_in("ada@example.org", PASSWORD), app.user(&id));
    let changed = change(&app, &id, &json!({ "email": "Lovelace@Example.org" })).expect(200).json();
    assert_eq!(changed["data"]["email"], "Lovelace@Example.org");
    session.get("/api/v1/me").refused(401, "unauthorized");
    assert_eq!(key.get("/api/v1/me").expect(200).json()["user"]["email"], "Lovelace@Example.org");
    let old = json!({ "email": "ada@example.org", "password": PASSWORD });
    app.anonymous().post("/api/auth/sign-in", &old).refused(401, "unauthorized");
    let session = app.sign_in("lovelace@example.org", PASSWORD);
    // Another spelling of the same address is not a change of address.
    change(&app, &id, &json!({ "email": "LOVELACE@example.org" })).expect(200);
    session.get("/api/v1/me").expect(200);
    create_named(&app, "ada");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn changing_to_another_users_address_is_a_conflict() {
    let app = App::start();
    let (ada, bob) = (create_named(&app, "ada"), create_named(&app, "bob"));
    let before = app.admin().get(&path(&ada)).expect(200).json();
    change(&app, &ada, &json!({ "email": "BOB@example.org", "name": "X" })).refused(409, "conflict");
    for wrong in [json!(""), json!(" "), json!("ada"), json!(7), json!(format!("{}@example.org", "a".repeat(243)))] {
        let answer = change(&app, &ada, &json!({ "email": wrong })).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["email"], "{wrong}");
    }
    assert_eq!(app.admin().get(&path(&ada)).expect(200).json(), before);
    change(&app, &bob, &json!({ "email": "bob@example.org" })).expect(200);
}

fn a_refused_change_changes_nothing() {
    let app = App::start();
    let id = create_named(&app, "ada");
    let before = app.admin().get(&path(&id)).expect(200).json();
    let wrong = json!({ "name": " ", "platformRole": "root", "enabled": 0 });
    let answer = change(&app, &id, &wrong).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["name", "platformRole", "enabled"]);
    change(&app, &id, &json!({ "name": "X", "enabled": "no" })).refused(400, "validation_error");
    change(&app, "none", &json!({ "name": "X" })).refused(404, "not_found");
    assert_eq!(app.admin().get(&path(&id)).expect(200).json(), before);
}

fn memberships_are_listed_oldest_first() {
    let app = App::start();
    let (first, second) = (app.hiring(), app.hiring());
    let id = create_named(&app, "ada");
    for (hiring, role) in [(&second, "owner"), (&first, "member")] {
        let path = format!("/api/admin/organizations/{}/memberships/{id}", hiring.organization_id);
        app.admin().put(&path, &json!({ "orgRole": role })).expect(200);
    }
    let expected = json!([
        { "organizationId": "org_2", "organizationSlug": "acme-2", "orgRole": "owner", "createdAt": "2026-11-21T09:00:00.000000Z" },
        { "organizationId": "org_1", "organizationSlug": "acme-1", "orgRole": "member", "createdAt": "2026-11-21T09:00:00.000001Z" },
    ]);
    assert_eq!(app.admin().get(&path(&id)).expect(200).json()["data"]["memberships"], expected);
    assert_eq!(change(&app, &id, &json!({ "name": "Ada" })).expect(200).json()["data"]["memberships"], expected);
}

fn users_are_listed_newest_first_in_pages() {
    let app = App::start();
    for nth in 0..7 {
        create_named(&app, &format!("user-{nth}"));
        app.pass(nth % 2);
    }
    let sorted = app.sql("SELECT id FROM users ORDER BY created_at DESC, id DESC");
    for limit in [1, 3, 8] {
        let (mut found, mut next) = (Vec::new(), String::new());
        while let Some(page) = Some(app.admin().get(&format!("{USERS}?limit={limit}{next}")).expect(200).json()) {
            let ids = page["data"].as_array().unwrap().iter().map(|user| user["id"].as_str().unwrap().to_owned());
            found.extend(ids);
            let Some(cursor) = page["pagination"]["nextCursor"].as_str() else { break };
            next = format!("&cursor={cursor}");
        }
        assert_eq!(found, sorted, "in pages of {limit}");
    }
}

fn the_email_parameter_finds_the_user_with_that_address() {
    let app = App::start();
    let id = create_named(&app, "ada");
    change(&app, &id, &json!({ "enabled": false })).expect(200);
    let found = |email: &str| {
        let page = app.admin().get(&format!("{USERS}?email={email}")).expect(200).json();
        assert_eq!(page["pagination"], json!({ "limit": 50, "hasMore": false, "nextCursor": null }));
        page["data"].as_array().unwrap().iter().map(|user| user["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(found("ada%40example.org"), [json!(id)]);
    assert_eq!(found("%20ADA@Example.org"), [json!(id)]);
    for nobody in ["ada", "ada@example.or", "", "@", "%25"] {
        assert_eq!(found(nobody), Vec::<Value>::new(), "{nobody:?}");
    }
    let twice = app.admin().get(&format!("{USERS}?email=a&email=b&limit=x")).refused(400, "validation_error");
    assert_eq!(twice.fields(), ["limit", "email"]);
}

fn keys_do_not_work_while_their_user_is_disabled() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = hiring.staff("owner");
    let (client, other) = (app.user(&owner), app.user(&owner));
    client.get("/api/v1/me").expect(200);
    client.post_empty(&hiring.reject(0)).expect(200);
    for _ in 0..3 {
        assert_eq!(change(&app, &owner, &json!({ "enabled": false })).expect(200).json()["data"]["enabled"], false);
        for client in [&client, &other] {
            client.get("/api/v1/me").refused(401, "unauthorized");
            client.post_empty(&hiring.reject(1)).refused(401, "unauthorized");
        }
        change(&app, &owner, &json!({ "enabled": true })).expect(200);
        client.get("/api/v1/me").expect(200);
        other.get("/api/v1/me").expect(200);
    }
    client.post_empty(&hiring.reject(1)).expect(200);
    let enabled = app.sql("SELECT count(*) FROM api_keys WHERE enabled = 0");
    assert_eq!(enabled, ["0"], "disabling a user does not revoke their keys");
}

fn disabling_a_user_ends_their_sessions_for_good() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    app.set_password(&hiring.email("member"), PASSWORD);
    let session = app.sign_in(&hiring.email("owner"), PASSWORD);
    let others = app.sign_in(&hiring.email("member"), PASSWORD);
    session.get("/api/v1/me").expect(200);
    change(&app, &hiring.staff("owner"), &json!({ "enabled": false })).expect(200);
    session.get("/api/v1/me").refused(401, "unauthorized");
    change(&app, &hiring.staff("owner"), &json!({ "enabled": true })).expect(200);
    session.get("/api/v1/me").refused(401, "unauthorized");
    others.get("/api/v1/me").expect(200);
    app.sign_in(&hiring.email("owner"), PASSWORD).get("/api/v1/me").expect(200);
}

fn a_sign_in_of_a_disabled_user_gets_the_same_answer_as_one_with_a_wrong_password() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    change(&app, &hiring.staff("owner"), &json!({ "enabled": false })).expect(200);
    let sign_in = |email: &str, password: &str| {
        let body = json!({ "email": email, "password": password });
        let answer = app.anonymous().post("/api/auth/sign-in", &body).refused(401, "unauthorized");
        assert_eq!(answer.header("set-cookie"), None);
        let mut body = answer.json();
        body.as_object_mut().unwrap().remove("requestId");
        body
    };
    let right = sign_in(&hiring.email("owner"), PASSWORD);
    assert_eq!(right, sign_in(&hiring.email("owner"), "wrong horse battery"));
    assert_eq!(right, sign_in("nobody@example.org", PASSWORD));
    change(&app, &hiring.staff("owner"), &json!({ "enabled": true })).expect(200);
    app.sign_in(&hiring.email("owner"), PASSWORD).get("/api/v1/me").expect(200);
}

fn a_new_key_of_a_disabled_user_works_after_the_user_is_enabled() {
    let app = App::start();
    let id = create_named(&app, "ada");
    change(&app, &id, &json!({ "enabled": false })).expect(200);
    let client = app.user(&id);
    client.get("/api/v1/me").refused(401, "unauthorized");
    change(&app, &id, &json!({ "enabled": true })).expect(200);
    client.get("/api/v1/me").expect(200);
}

fn demoting_an_admin_takes_effect_at_once() {
    let app = App::start();
    let id = create_named(&app, "ada");
    let client = app.user(&id);
    client.get(USERS).refused(403, "forbidden");
    change(&app, &id, &json!({ "platformRole": "admin" })).expect(200);
    client.get(USERS).expect(200);
    // Admins may demote themselves as long as another admin is left.
    client.patch(&path(&id), &json!({ "platformRole": "user" })).expect(200);
    client.get(USERS).refused(403, "forbidden");
    client.patch(&path(&id), &json!({ "platformRole": "admin" })).refused(403, "forbidden");
}

fn the_last_enabled_admin_cannot_be_disabled_or_demoted() {
    let app = App::start();
    let detail =
        "this is the last enabled admin, who can be neither disabled nor demoted; make another user an admin first";
    for last in [
        json!({ "enabled": false }),
        json!({ "platformRole": "user" }),
        json!({ "platformRole": "user", "enabled": false, "name": "X" }),
    ] {
        let answer = change(&app, "user_admin", &last).refused(409, "conflict");
        assert_eq!(answer.json()["detail"], detail);
    }
    change(&app, "user_admin", &json!({ "name": "Admin", "platformRole": "admin", "enabled": true })).expect(200);
    assert_eq!(app.sql("SELECT name, platform_role, enabled FROM users"), ["Admin|admin|1"]);
    let second = create_named(&app, "ada");
    let client = app.user(&second);
    change(&app, &second, &json!({ "platformRole": "admin" })).expect(200);
    client.patch(&path("user_admin"), &json!({ "enabled": false })).expect(200);
    app.admin().get(USERS).refused(401, "unauthorized");
    client.patch(&path(&second), &json!({ "platformRole": "user" })).refused(409, "conflict");
}

fn a_disabled_admin_does_not_count_as_a_remaining_admin() {
    let app = App::start();
    let second = create_named(&app, "ada");
    change(&app, &second, &json!({ "platformRole": "admin", "enabled": false })).expect(200);
    change(&app, "user_admin", &json!({ "enabled": false })).refused(409, "conflict");
    // Demoting a disabled admin does not change how many admins are enabled.
    change(&app, &second, &json!({ "platformRole": "user" })).expect(200);
    change(&app, &second, &json!({ "platformRole": "admin" })).expect(200);
    change(&app, &second, &json!({ "enabled": true })).expect(200);
    change(&app, "user_admin", &json!({ "platformRole": "user" })).expect(200);
}

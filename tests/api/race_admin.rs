//! Races between admin requests: one sequential order explains all the answers, and the database agrees with it.

use serde_json::{Value, json};

use crate::rounds::rounds;
use crate::support::race::{Lane, assert_sound, connected_clients, count, run_together};
use crate::support::{Answer, App};

crate::tests![
    concurrent_creations_give_a_slug_to_one_organization,
    concurrent_changes_give_a_slug_to_one_organization,
    concurrent_changes_to_an_organization_all_take_effect,
    concurrent_identical_changes_are_recorded_once,
    concurrent_creations_give_an_address_to_one_user,
    admins_who_disable_each_other_leave_one_enabled,
    admins_who_demote_or_disable_themselves_leave_one_admin,
    concurrent_changes_to_a_user_all_take_effect,
    concurrent_puts_make_one_membership,
    concurrent_removals_remove_a_membership_once,
    a_membership_after_a_concurrent_put_and_removal_agrees_with_the_activity,
    requests_that_start_after_their_user_was_disabled_are_refused,
];

const ROUNDS: usize = rounds(15, 40);
const ORGANIZATIONS: &str = "/api/admin/organizations";
const USERS: &str = "/api/admin/users";

fn id(answer: &Answer) -> String {
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

fn organization(app: &App, slug: &str) -> String {
    id(&app.admin().post(ORGANIZATIONS, &json!({ "slug": slug, "name": "Acme" })).expect(200))
}

fn user(app: &App, name: &str, platform_role: &str) -> String {
    let body = json!({ "email": format!("{name}@example.org"), "name": name, "platformRole": platform_role });
    id(&app.admin().post(USERS, &body).expect(200))
}

/// Creates a request of the platform admin.
fn lane(app: &App, method: &'static str, path: &str, body: &Value) -> Lane {
    Lane::new(method, path, app.admin_secret()).with_body(body)
}

fn concurrent_creations_give_a_slug_to_one_organization() {
    let app = App::start();
    let mut clients = connected_clients(&app, 6);
    for round in 0..ROUNDS {
        let body = json!({ "slug": format!("acme-{round}"), "name": "Acme" });
        let post = lane(&app, "POST", ORGANIZATIONS, &body);
        let answers = run_together(&mut clients, |_, client| post.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 5));
    }
    let figures = "SELECT (SELECT count(*) FROM organizations), (SELECT count(*) FROM organization_statuses),
                     (SELECT count(*) FROM activities WHERE action = 'organization.created')";
    assert_eq!(app.sql(figures), [format!("{ROUNDS}|{ROUNDS}|{ROUNDS}")]);
    assert_sound(&app);
}

fn concurrent_changes_give_a_slug_to_one_organization() {
    let app = App::start();
    let paths = ["a", "b"].map(|slug| format!("{ORGANIZATIONS}/{}", organization(&app, slug)));
    let mut clients = connected_clients(&app, 2);
    for round in 0..ROUNDS {
        let lanes = [0, 1].map(|nth| lane(&app, "PATCH", &paths[nth], &json!({ "slug": format!("to-{round}") })));
        let answers = run_together(&mut clients, |nth, client| lanes[nth].send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 1), "round {round}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'organization.changed'"), [ROUNDS.to_string()]);
    assert_sound(&app);
}

/// Each request changes a different field, and no change is lost.
fn concurrent_changes_to_an_organization_all_take_effect() {
    let app = App::start();
    let path = format!("{ORGANIZATIONS}/{}", organization(&app, "acme"));
    let mut clients = connected_clients(&app, 4);
    for round in 1..=ROUNDS {
        let bodies = [
            json!({ "name": format!("Acme {round}") }),
            json!({ "domain": format!("{round}.example") }),
            json!({ "retentionDays": round }),
            json!({ "portal": { "theme": { "round": round } } }),
        ];
        let lanes = bodies.map(|body| lane(&app, "PATCH", &path, &body));
        let answers = run_together(&mut clients, |nth, client| lanes[nth].send(client));
        assert_eq!(count(&answers, 200), 4);
        let now = app.admin().get(&path).expect(200).json()["data"].clone();
        assert_eq!(
            (&now["name"], &now["domain"]),
            (&json!(format!("Acme {round}")), &json!(format!("{round}.example")))
        );
        assert_eq!((&now["retentionDays"], &now["portal"]["theme"]["round"]), (&json!(round), &json!(round)));
    }
    let changes = app.sql("SELECT count(*) FROM activities WHERE action = 'organization.changed'");
    assert_eq!(changes, [(4 * ROUNDS).to_string()]);
    assert_sound(&app);
}

fn concurrent_identical_changes_are_recorded_once() {
    let app = App::start();
    let path = format!("{ORGANIZATIONS}/{}", organization(&app, "acme"));
    let mut clients = connected_clients(&app, 6);
    for round in 0..ROUNDS {
        let patch = lane(&app, "PATCH", &path, &json!({ "enabled": round % 2 == 1 }));
        let answers = run_together(&mut clients, |_, client| patch.send(client));
        assert_eq!(count(&answers, 200), 6);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'organization.changed'"), [ROUNDS.to_string()]);
    assert_sound(&app);
}

fn concurrent_creations_give_an_address_to_one_user() {
    let app = App::start();
    let mut clients = connected_clients(&app, 6);
    for round in 0..ROUNDS {
        let post = lane(&app, "POST", USERS, &json!({ "email": format!("{round}@example.org"), "name": "Ada" }));
        let answers = run_together(&mut clients, |_, client| post.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 5));
    }
    assert_eq!(app.sql("SELECT count(*) FROM users"), [(ROUNDS + 1).to_string()]);
    assert_sound(&app);
}

/// The only two admins disable each other. When the second request is handled, its sender is already disabled.
fn admins_who_disable_each_other_leave_one_enabled() {
    let app = App::start();
    let mut clients = connected_clients(&app, 2);
    let mut admins = ["user_admin".to_owned(), user(&app, "second", "admin")];
    let mut secrets = [app.admin_secret().to_owned(), app.make_key(&admins[1]).1];
    for round in 0..ROUNDS {
        let lanes = [0, 1].map(|nth| {
            let other = format!("{USERS}/{}", admins[1 - nth]);
            Lane::new("PATCH", &other, &secrets[nth]).with_body(&json!({ "enabled": false }))
        });
        let answers = run_together(&mut clients, |nth, client| lanes[nth].send(client));
        assert_eq!((count(&answers, 200), count(&answers, 401)), (1, 1), "round {round}");
        let winner = answers.iter().position(|answer| answer.status == 200).unwrap();
        assert_eq!(app.sql("SELECT id FROM users WHERE enabled = 1"), [admins[winner].clone()]);
        // The winner enables the other admin again.
        let back =
            app.key(&secrets[winner]).patch(&format!("{USERS}/{}", admins[1 - winner]), &json!({ "enabled": true }));
        back.expect(200);
        admins.swap(0, round % 2);
        secrets.swap(0, round % 2);
    }
    assert_sound(&app);
}

fn admins_who_demote_or_disable_themselves_leave_one_admin() {
    let app = App::start();
    let admins: Vec<String> = (0..4).map(|nth| user(&app, &format!("admin-{nth}"), "admin")).collect();
    let secrets: Vec<String> = admins.iter().map(|id| app.make_key(id).1).collect();
    app.key(&secrets[0]).patch(&format!("{USERS}/user_admin"), &json!({ "platformRole": "user" })).expect(200);
    let mut clients = connected_clients(&app, 4);
    for round in 0..ROUNDS {
        let body = [json!({ "platformRole": "user" }), json!({ "enabled": false })][round % 2].clone();
        let lanes: Vec<Lane> = admins
            .iter()
            .zip(&secrets)
            .map(|(id, secret)| Lane::new("PATCH", &format!("{USERS}/{id}"), secret).with_body(&body))
            .collect();
        let answers = run_together(&mut clients, |nth, client| lanes[nth].send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (3, 1), "round {round}");
        let left = answers.iter().position(|answer| answer.status == 409).unwrap();
        for id in admins.iter().filter(|id| **id != admins[left]) {
            let back = json!({ "platformRole": "admin", "enabled": true });
            app.key(&secrets[left]).patch(&format!("{USERS}/{id}"), &back).expect(200);
        }
    }
    assert_sound(&app);
}

fn concurrent_changes_to_a_user_all_take_effect() {
    let app = App::start();
    let path = format!("{USERS}/{}", user(&app, "ada", "user"));
    let mut clients = connected_clients(&app, 3);
    for round in 0..ROUNDS {
        let role = ["user", "admin"][round % 2];
        let bodies = [
            json!({ "name": format!("Ada {round}") }),
            json!({ "platformRole": role }),
            json!({ "enabled": round % 2 == 0 }),
        ];
        let lanes = bodies.map(|body| lane(&app, "PATCH", &path, &body));
        let answers = run_together(&mut clients, |nth, client| lanes[nth].send(client));
        assert_eq!(count(&answers, 200), 3);
        let now = app.admin().get(&path).expect(200).json()["data"].clone();
        let expected = (json!(format!("Ada {round}")), json!(role), json!(round % 2 == 0));
        assert_eq!((now["name"].clone(), now["platformRole"].clone(), now["enabled"].clone()), expected);
    }
    assert_sound(&app);
}

fn concurrent_puts_make_one_membership() {
    let app = App::start();
    let organization = organization(&app, "acme");
    let mut clients = connected_clients(&app, 6);
    for round in 0..ROUNDS {
        let path = format!("{ORGANIZATIONS}/{organization}/memberships/{}", user(&app, &format!("u{round}"), "user"));
        let put = lane(&app, "PUT", &path, &json!({ "orgRole": "member" }));
        let answers = run_together(&mut clients, |_, client| put.send(client));
        assert_eq!(count(&answers, 200), 6);
        let all: Vec<Value> = answers.iter().map(|answer| answer.json()["data"].clone()).collect();
        assert!(all.iter().all(|one| *one == all[0]));
    }
    let figures =
        "SELECT (SELECT count(*) FROM memberships), (SELECT count(*) FROM activities WHERE action = 'membership.put')";
    assert_eq!(app.sql(figures), [format!("{ROUNDS}|{ROUNDS}")]);
    assert_sound(&app);
}

fn concurrent_removals_remove_a_membership_once() {
    let app = App::start();
    let organization = organization(&app, "acme");
    let path = format!("{ORGANIZATIONS}/{organization}/memberships/{}", user(&app, "ada", "user"));
    let mut clients = connected_clients(&app, 6);
    for _ in 0..ROUNDS {
        app.admin().put(&path, &json!({ "orgRole": "owner" })).expect(200);
        let remove = Lane::new("DELETE", &path, app.admin_secret());
        let answers = run_together(&mut clients, |_, client| remove.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 404)), (1, 5));
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'membership.removed'"), [ROUNDS.to_string()]);
    assert_sound(&app);
}

fn a_membership_after_a_concurrent_put_and_removal_agrees_with_the_activity() {
    let app = App::start();
    let organization = organization(&app, "acme");
    let path = format!("{ORGANIZATIONS}/{organization}/memberships/{}", user(&app, "ada", "user"));
    let mut clients = connected_clients(&app, 2);
    let lanes =
        [lane(&app, "PUT", &path, &json!({ "orgRole": "owner" })), Lane::new("DELETE", &path, app.admin_secret())];
    let mut removed = 0;
    for round in 0..ROUNDS {
        let answers = run_together(&mut clients, |nth, client| lanes[nth].send(client));
        answers[0].clone().expect(200);
        removed += count(&answers[1..], 200);
        let there = app.sql("SELECT count(*) FROM memberships").join("");
        let rows =
            app.sql("SELECT action FROM activities WHERE action LIKE 'membership.%' ORDER BY number DESC LIMIT 1");
        assert_eq!(there == "1", rows.join("") == "membership.put", "round {round}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'membership.removed'"), [removed.to_string()]);
    assert_sound(&app);
}

fn requests_that_start_after_their_user_was_disabled_are_refused() {
    let app = App::start();
    let owner = app.hiring().staff("owner");
    let key = app.make_key(&owner).1;
    let (call, path) = (Lane::new("GET", "/api/v1/me", &key), format!("{USERS}/{owner}"));
    let mut clients = connected_clients(&app, 4);
    for round in 0..ROUNDS {
        let disable = lane(&app, "PATCH", &path, &json!({ "enabled": false }));
        let late = std::sync::atomic::AtomicBool::new(false);
        run_together(&mut clients, |number, client| {
            if number == 0 {
                disable.send(client).expect(200);
                return late.store(true, std::sync::atomic::Ordering::SeqCst);
            }
            loop {
                let is_late = late.load(std::sync::atomic::Ordering::SeqCst);
                let status = call.send(client).status;
                assert!(matches!(status, 200 | 401), "{status}");
                assert!(
                    !is_late || status == 401,
                    "round {round}: a request that was sent after the user was disabled was accepted"
                );
                if is_late {
                    return;
                }
            }
        });
        app.admin().patch(&path, &json!({ "enabled": true })).expect(200);
        app.key(&key).get("/api/v1/me").expect(200);
    }
    assert_sound(&app);
}

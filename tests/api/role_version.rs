//! The version of a role: the `ETag` of answers, and `If-Match` on requests that change the role or its steps.

use serde_json::{Value, json};

use crate::portal::change_role;
use crate::role_closing_day::wait_for_run;
use crate::support::race::{Runner, count, race};
use crate::support::roles::{activity_count, create, draft, read, role, staff};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    every_answer_with_a_role_has_its_version,
    a_version_is_never_repeated,
    applications_decisions_and_reads_do_not_change_the_version,
    an_imported_role_has_its_id_as_its_version,
    if_none_match_is_ignored,
    a_change_to_the_current_version_is_made,
    a_change_to_an_older_version_is_refused_and_changes_nothing,
    one_matching_strong_tag_in_the_list_is_enough_and_weak_tags_never_match,
    a_malformed_if_match_is_reported_with_all_other_errors,
    a_refusal_names_who_changed_what_and_when,
    a_refusal_names_at_most_ten_changes,
    the_refusal_of_a_version_that_the_role_never_had_names_only_the_newest_change,
    a_refusal_names_no_user_for_a_change_by_the_service,
    rights_and_existence_are_checked_before_the_version_and_states_after_it,
    the_refusal_of_a_version_is_not_stored_for_the_idempotency_key,
    only_one_of_several_concurrent_changes_to_a_version_is_made,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "moderator");
    (app, hiring, client)
}

fn tag(answer: &Answer) -> String {
    answer.header("etag").unwrap().to_owned()
}

fn current(client: &Client, path: &str) -> String {
    tag(&client.get(path).expect(200))
}

fn send(client: &Client, (method, path, body): &(&str, String, Value), if_match: &str) -> Answer {
    client.send(method, path, &[("If-Match", if_match)], body.to_string().as_bytes())
}

fn patch(client: &Client, path: &str, body: &Value, if_match: &str) -> Answer {
    send(client, &("PATCH", path.to_owned(), body.clone()), if_match)
}

/// Returns one request for each endpoint that honours `If-Match`, with the path of the role that the request changes.
/// Each request has a role of its own, which has two steps and the status that the request needs.
fn writes(client: &Client, hiring: &Hiring) -> Vec<(String, (&'static str, String, Value))> {
    let new = || draft(client, hiring, &["Call", "Offer"]);
    let step = |path: &str, index: usize| read(client, path)["steps"][index]["id"].as_str().unwrap().to_owned();
    let opened = || {
        let path = new();
        client.post_empty(&format!("{path}/open")).expect(200);
        path
    };
    let closed = || {
        let path = opened();
        client.post(&format!("{path}/close"), &json!({ "reason": "r" })).expect(200);
        path
    };
    let paths: [String; 9] = [new(), new(), new(), opened(), closed(), new(), new(), new(), new()];
    let [patch, delete, open, close, reopen, add, order, change, remove] = paths.clone();
    let ids = [step(&order, 1), step(&order, 0)];
    let (changed, removed) = (step(&change, 0), step(&remove, 0));
    let requests = [
        ("PATCH", patch, json!({ "name": "Other" })),
        ("DELETE", delete, json!({})),
        ("POST", format!("{open}/open"), json!({})),
        ("POST", format!("{close}/close"), json!({ "reason": "r" })),
        ("POST", format!("{reopen}/reopen"), json!({})),
        ("POST", format!("{add}/steps"), json!({ "name": "Trial" })),
        ("PUT", format!("{order}/steps/order"), json!({ "stepIds": ids })),
        ("PATCH", format!("{change}/steps/{changed}"), json!({ "name": "Talk" })),
        ("DELETE", format!("{remove}/steps/{removed}"), json!({})),
    ];
    paths.into_iter().zip(requests).collect()
}

fn every_answer_with_a_role_has_its_version() {
    let (_app, hiring, client) = start();
    let created = client.post(&hiring.roles(), &json!({ "name": "A", "steps": [{ "name": "Call" }] })).expect(200);
    let path = role(created.json()["data"]["id"].as_str().unwrap());
    assert_eq!(current(&client, &path), tag(&created));
    assert!(tag(&created).starts_with("\"act_"), "{}", tag(&created));
    let head = client.send("HEAD", &path, &[], b"").expect(200);
    assert_eq!(head.header("etag"), Some(tag(&created).as_str()));
    assert_eq!(client.get(&path).expect(200).header("cache-control"), Some("no-store"));
    for (path, request) in writes(&client, &hiring) {
        let before = current(&client, &path);
        let (method, target, body) = &request;
        let answer = client.send(method, target, &[], body.to_string().as_bytes()).expect(200);
        assert_ne!(answer.header("etag"), Some(before.as_str()), "{method} {target}");
        if (*method, target) == ("DELETE", &path) {
            assert_eq!(answer.header("etag"), None);
        } else {
            assert_eq!(tag(&answer), current(&client, &path), "{method} {target}");
        }
    }
}

fn a_version_is_never_repeated() {
    let (_app, hiring, client) = start();
    let mut seen = vec![current(&client, &hiring.role())];
    for name in ["A", "B", "A", "B"] {
        seen.push(tag(&client.patch(&hiring.role(), &json!({ "name": name })).expect(200)));
    }
    let newest = seen.last().unwrap().clone();
    assert_eq!(tag(&client.patch(&hiring.role(), &json!({ "name": "B" })).expect(200)), newest);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

fn applications_decisions_and_reads_do_not_change_the_version() {
    let (app, hiring, client) = start();
    client.patch(&hiring.role(), &json!({ "name": "A" })).expect(200);
    let before = current(&client, &hiring.role());
    let candidate = json!({ "name": "Ada", "email": "ada@example.org", "roleId": hiring.role_id });
    client.post(&hiring.candidates_path(), &candidate).expect(200);
    client.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    client.post_empty(&hiring.reject(1)).expect(200);
    client.post_empty(&hiring.hire(0)).expect(200);
    client.post_empty(&hiring.hire(2)).expect(200);
    assert_eq!(read(&client, &hiring.role())["status"], "filled");
    client.patch(&hiring.candidate_path(0), &json!({ "name": "Ada Lovelace" })).expect(200);
    assert_eq!(current(&client, &hiring.role()), before);
    patch(&client, &hiring.role(), &json!({ "positions": 3 }), &before).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_imported_role_has_its_id_as_its_version() {
    let (_app, hiring, client) = start();
    let before = current(&client, &hiring.role());
    assert_eq!(before, format!("\"{}\"", hiring.role_id));
    let changed = patch(&client, &hiring.role(), &json!({ "name": "A" }), &before).expect(200);
    client.patch(&hiring.role(), &json!({ "name": "B" })).expect(200);
    let refusal = patch(&client, &hiring.role(), &json!({ "name": "C" }), &before).refused(412, "precondition_failed");
    assert_eq!(refusal.json()["changes"].as_array().unwrap().len(), 2);
    assert_eq!(format!("\"{}\"", refusal.json()["changes"][1]["activityId"].as_str().unwrap()), tag(&changed));
    let unchanged = role(create(&client, &hiring, &json!({ "name": "A" }))["id"].as_str().unwrap());
    let other = patch(&client, &unchanged, &json!({}), &before).refused(412, "precondition_failed");
    assert_eq!(other.json()["changes"].as_array().unwrap().len(), 1);
}

fn if_none_match_is_ignored() {
    let (_app, hiring, client) = start();
    for version in [current(&client, &hiring.role()), "*".to_owned()] {
        let headers = [("If-None-Match", version.as_str())];
        let answer = client.send("GET", &hiring.role(), &headers, b"").expect(200);
        assert_eq!(answer.json()["data"]["id"], hiring.role_id.as_str());
        client.send("PATCH", &hiring.role(), &headers, b"{}").expect(200);
    }
}

fn a_change_to_the_current_version_is_made() {
    let (app, hiring, client) = start();
    for (path, request) in writes(&client, &hiring) {
        let seen = current(&client, &path);
        send(&client, &request, &seen).expect(200);
    }
    for (_, request) in writes(&client, &hiring) {
        send(&client, &request, "*").expect(200);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_change_to_an_older_version_is_refused_and_changes_nothing() {
    let (app, hiring, client) = start();
    for (path, request) in writes(&client, &hiring) {
        let seen = current(&client, &path);
        client.patch(&path, &json!({ "department": "New" })).expect(200);
        let (before, activities) = (read(&client, &path), activity_count(&app));
        let refusal = send(&client, &request, &seen).refused(412, "precondition_failed");
        assert_eq!(refusal.json()["changes"][0]["members"], json!(["department"]));
        assert_eq!((read(&client, &path), activity_count(&app)), (before, activities), "{request:?}");
        assert_eq!(refusal.header("etag"), None);
        send(&client, &request, &current(&client, &path)).expect(200);
    }
}

fn one_matching_strong_tag_in_the_list_is_enough_and_weak_tags_never_match() {
    let (_app, hiring, client) = start();
    let seen = current(&client, &hiring.role());
    for (field, status) in [
        (format!("\"other\", {seen}"), 200),
        (format!("\"a,b\",{seen} , W/\"c\""), 200),
        (format!("W/{seen}"), 412),
        ("\"other\"".to_owned(), 412),
        ("\"\"".to_owned(), 412),
        (seen.to_uppercase(), 412),
    ] {
        patch(&client, &hiring.role(), &json!({}), &field).expect(status);
    }
    let twice = [("If-Match", "\"other\""), ("If-Match", seen.as_str())];
    client.send("PATCH", &hiring.role(), &twice, b"{}").expect(200);
}

fn a_malformed_if_match_is_reported_with_all_other_errors() {
    let (_app, hiring, client) = start();
    for field in ["", "x", "\"a", "\"a\" \"b\"", "*, \"a\"", "W/*"] {
        let refusal = patch(&client, &hiring.role(), &json!({ "name": " " }), field).refused(400, "validation_error");
        assert_eq!(refusal.fields(), ["name", "If-Match"], "{field}");
    }
    for (_, request) in writes(&client, &hiring) {
        assert_eq!(send(&client, &request, "x").refused(400, "validation_error").fields(), ["If-Match"], "{request:?}");
    }
    client.send("PATCH", &hiring.role(), &[("If-Match", "x")], b"[]").refused(400, "bad_request");
    client.send("GET", &hiring.role(), &[("If-Match", "x")], b"").expect(200);
}

fn a_refusal_names_who_changed_what_and_when() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call"]);
    let seen = current(&client, &path);
    app.pass(60);
    client.patch(&path, &json!({ "salaryMin": 1, "name": "Rigger" })).expect(200);
    app.pass(60);
    let owner = staff(&app, &hiring, "owner");
    let step = read(&owner, &path)["steps"][0]["id"].as_str().unwrap().to_owned();
    owner.patch(&format!("{path}/steps/{step}"), &json!({ "name": "Talk" })).expect(200);
    owner.post(&format!("{path}/steps"), &json!({ "name": "Offer" })).expect(200);
    let problem = patch(&client, &path, &json!({ "name": "A" }), &seen).refused(412, "precondition_failed").json();
    let names = app.sql("SELECT id, name FROM users WHERE id LIKE '%_owner' OR id LIKE '%_moderator' ORDER BY id");
    let author = |org_role: &str| {
        let id = hiring.staff(org_role);
        let row = names.iter().find(|row| row.starts_with(&format!("{id}|"))).unwrap();
        json!({ "id": id, "name": row.split('|').nth(1).unwrap() })
    };
    let changes = problem["changes"].as_array().unwrap();
    let shown: Vec<Value> =
        changes.iter().map(|change| json!([change["action"], change["at"], change["by"], change["members"]])).collect();
    let (first, second) = ("2026-11-21T09:01:00.000000Z", "2026-11-21T09:02:00.000000Z");
    let expected = [
        json!(["role_step.added", second, author("owner"), []]),
        json!(["role_step.changed", second, author("owner"), ["name"]]),
        json!(["role.changed", first, author("moderator"), ["name", "salaryMin"]]),
    ];
    assert_eq!(shown, expected);
    let name = author("owner")["name"].as_str().unwrap().to_owned();
    let detail = problem["detail"].as_str().unwrap();
    let named = format!("{name} added a step at {second}, and there were 2 other changes; read the role again");
    assert!(detail.contains(&named), "{detail}");
    assert_eq!(problem["title"], "Precondition Failed");
}

fn a_refusal_names_at_most_ten_changes() {
    let (_app, hiring, client) = start();
    let seen = current(&client, &hiring.role());
    for number in 1..=11 {
        client.patch(&hiring.role(), &json!({ "name": format!("Role {number}") })).expect(200);
        let refusal = patch(&client, &hiring.role(), &json!({}), &seen).refused(412, "precondition_failed").json();
        assert_eq!(refusal["changes"].as_array().unwrap().len(), number.min(10));
    }
}

fn the_refusal_of_a_version_that_the_role_never_had_names_only_the_newest_change() {
    let (app, hiring, client) = start();
    let other = app.hiring();
    let elsewhere = staff(&app, &other, "owner");
    elsewhere.patch(&other.role(), &json!({ "name": "Secret plan" })).expect(200);
    let foreign = current(&elsewhere, &other.role());
    client.patch(&hiring.role(), &json!({ "name": "A" })).expect(200);
    client.patch(&hiring.role(), &json!({ "location": "B" })).expect(200);
    client.post_empty(&hiring.reject(0)).expect(200);
    let decision = app.sql("SELECT id FROM activities ORDER BY number DESC LIMIT 1")[0].clone();
    for never in [foreign, format!("\"{decision}\""), "\"none\"".to_owned(), format!("\"{}\"", other.role_id)] {
        let refusal = patch(&client, &hiring.role(), &json!({}), &never).refused(412, "precondition_failed");
        assert_eq!(refusal.json()["changes"].as_array().unwrap().len(), 1, "{never}");
        assert_eq!(refusal.json()["changes"][0]["members"], json!(["location"]), "{never}");
        let detail = refusal.json()["detail"].as_str().unwrap().to_owned();
        let (begin, change) = ("the role is not at a version that If-Match names", "changed the location of the role");
        assert!(detail.starts_with(begin) && detail.contains(change), "{detail}");
    }
    let refusal = patch(&elsewhere, &role(&app.hiring().role_id), &json!({}), "\"none\"");
    refusal.refused(404, "not_found");
    // Nobody has changed this imported role, so the refusal names no change.
    let third = app.hiring();
    let refusal = patch(&staff(&app, &third, "owner"), &third.role(), &json!({}), "\"none\"");
    let problem = refusal.refused(412, "precondition_failed").json();
    assert_eq!(problem.get("changes"), None);
    assert!(problem["detail"].as_str().unwrap().starts_with("the role is not at a version"), "{problem}");
}

fn a_refusal_names_no_user_for_a_change_by_the_service() {
    let app = App::start();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "closesOn": "2026-11-21" })));
    let client = staff(&app, &hiring, "owner");
    let seen = current(&client, &hiring.role());
    app.pass(86_400);
    wait_for_run(&app);
    let problem = patch(&client, &hiring.role(), &json!({}), &seen).refused(412, "precondition_failed").json();
    let change = &problem["changes"][0];
    assert_eq!((&change["action"], &change["by"]), (&json!("role.closed"), &Value::Null));
    assert!(problem["detail"].as_str().unwrap().contains(": the service closed the role at "), "{problem}");
}

fn rights_and_existence_are_checked_before_the_version_and_states_after_it() {
    let (app, hiring, client) = start();
    let other = app.hiring();
    let (member, elsewhere) = (staff(&app, &hiring, "member"), staff(&app, &other, "owner"));
    for if_match in ["\"none\"".to_owned(), current(&client, &hiring.role()), "*".to_owned()] {
        patch(&member, &hiring.role(), &json!({ "name": "A" }), &if_match).refused(403, "forbidden");
        patch(&elsewhere, &hiring.role(), &json!({ "name": "A" }), &if_match).refused(404, "not_found");
        patch(&client, &role("none"), &json!({ "name": "A" }), &if_match).refused(404, "not_found");
    }
    let open = ("POST", format!("{}/open", hiring.role()), json!({}));
    send(&client, &open, "\"none\"").refused(412, "precondition_failed");
    send(&client, &open, "*").refused(409, "conflict");
    let step = |id: &str| ("PATCH", format!("{}/steps/{id}", hiring.role()), json!({ "name": "A" }));
    let removed = step(&hiring.role_steps[3]);
    client.delete(&removed.1).expect(200);
    send(&client, &removed, "\"none\"").refused(412, "precondition_failed");
    send(&client, &removed, "*").refused(409, "conflict");
    send(&client, &step(&other.role_steps[0]), "\"none\"").refused(404, "not_found");
}

fn the_refusal_of_a_version_is_not_stored_for_the_idempotency_key() {
    let (_app, hiring, client) = start();
    let path = draft(&client, &hiring, &[]);
    let seen = current(&client, &path);
    client.patch(&path, &json!({ "name": "A" })).expect(200);
    let add = |if_match: &str| {
        let headers = [("If-Match", if_match), ("Idempotency-Key", "k"), ("Content-Type", "application/json")];
        client.send("POST", &format!("{path}/steps"), &headers, br#"{"name":"Call"}"#)
    };
    add(&seen).refused(412, "precondition_failed");
    let newest = current(&client, &path);
    let first = add(&newest).expect(200);
    let again = add(&newest).expect(200);
    assert_eq!((again.body.clone(), again.header("idempotency-replayed")), (first.body.clone(), Some("true")));
    assert_eq!(again.header("etag"), None);
    assert_eq!(read(&client, &path)["steps"].as_array().unwrap().len(), 1);
}

fn only_one_of_several_concurrent_changes_to_a_version_is_made() {
    let (app, hiring, client) = start();
    for round in 0..5 {
        let version = current(&client, &hiring.role());
        let runner = |number: usize| {
            let client = client.with_header("If-Match", &version);
            let body = json!({ "name": format!("Round {round}, client {number}") }).to_string();
            Runner { client, method: "PATCH", path: hiring.role(), body }
        };
        let answers = race((0..8).map(runner).collect());
        assert_eq!((count(&answers, 200), count(&answers, 412)), (1, 7));
        let made = answers.iter().find(|answer| answer.status == 200).unwrap();
        assert_eq!(read(&client, &hiring.role()), made.json()["data"]);
    }
    assert_eq!(activity_count(&app), 5);
    assert_eq!(app.check(), Vec::<String>::new());
}

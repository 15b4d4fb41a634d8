//! The `Idempotency-Key` field: a request takes effect once, and a repeat gets the stored response. These tests also
//! cover which responses are stored, for how long, and for whom.

use serde_json::{Value, json};

use crate::access_matrix::line::{Line, admin, manages, request_to};
use crate::access_matrix::lines::lines;
use crate::support::app::Options;
use crate::support::hiring::first_role_of;
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    every_staff_and_admin_post_takes_effect_once,
    a_repeat_gets_the_first_answer_despite_later_changes,
    refusals_that_depend_on_state_are_stored,
    a_404_for_missing_rights_is_not_replayed,
    a_stored_404_is_not_replayed,
    refusals_that_do_not_depend_on_state_are_not_stored,
    another_request_with_the_same_key_is_refused,
    equivalent_json_bodies_are_the_same_request,
    an_idempotency_key_can_be_quoted_and_has_a_maximum_length,
    idempotency_keys_are_separate_for_each_api_key,
    a_stored_response_expires_after_a_day,
    expired_responses_are_deleted_a_few_at_a_time,
    stored_responses_survive_a_restart,
    a_response_with_a_secret_is_not_stored,
    dry_runs_ignore_the_idempotency_key,
    only_staff_and_admin_posts_are_idempotent,
    a_caller_who_lost_access_gets_no_stored_response,
    the_stored_response_about_an_erased_candidate_is_gone,
    two_hundred_concurrent_repeats_make_one_hire,
    only_one_of_different_concurrent_requests_with_one_key_takes_effect,
    a_failed_transaction_stores_no_response,
    repeats_are_in_the_usage_log,
];

/// Returns the same client with this idempotency key on every request.
fn with_key(client: &Client, key: &str) -> Client {
    client.with_header("Idempotency-Key", key)
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotency-replayed").is_some_and(|value| value == "true")
}

/// Returns the body of an answer without its request id.
fn without_request_id(answer: &Answer) -> Value {
    let mut body = answer.json();
    if answer.status >= 400 {
        body["requestId"].take();
    }
    body
}

/// Asserts that the second answer replays the first.
#[track_caller]
fn assert_replayed(first: &Answer, second: &Answer) {
    assert!(is_replayed(second) && !is_replayed(first), "{}", second.text());
    assert_eq!((second.status, without_request_id(second)), (first.status, without_request_id(first)));
    assert_eq!(second.header("content-type"), first.header("content-type"));
    assert_eq!(second.header("cache-control"), first.header("cache-control"));
    assert_ne!(second.header("x-request-id"), first.header("x-request-id"));
}

/// Returns lines for the POST routes that the access matrix does not list, because `access` tests them.
fn lines_outside_the_matrix() -> Vec<Line> {
    vec![
        manages("POST /api/v1/candidate-steps/{id}/reject", |_, hiring| request_to(hiring.reject(0))),
        manages("POST /api/v1/candidate-steps/{id}/hire", |_, hiring| request_to(hiring.hire(0))),
        admin("POST /api/admin/api-keys", |_, hiring| {
            request_to("/api/admin/api-keys").with(json!({ "name": "n", "userId": hiring.staff("owner") }))
        }),
    ]
}

/// A new POST route of staff or admins must be idempotent. Its line in the access matrix supplies the request for this
/// test.
fn every_staff_and_admin_post_takes_effect_once() {
    let app = App::start();
    let client = app.admin();
    let table = appliance::http::routes::table();
    let lines: Vec<Line> = lines_outside_the_matrix()
        .into_iter()
        .chain(lines())
        .filter(|line| line.route_name.starts_with("POST "))
        .collect();
    let known = table.routes().iter().filter(|route| route.accepts_idempotency_key()).count();
    assert_eq!(lines.len(), known);
    for (number, line) in lines.iter().enumerate() {
        let request = (line.request)(&app, &app.hiring());
        let send_with = |key: &str| request.send(&with_key(&client, key), "POST");
        let key = format!("key-{number}");
        let unread = send_with("\"open").refused(400, "validation_error");
        assert_eq!(unread.fields(), ["Idempotency-Key"], "{}", line.route_name);
        let first = send_with(&key).expect(request.granted.0);
        let after = state(&app);
        let second = send_with(&key);
        if app.sql(&format!("SELECT answer FROM idempotency_keys WHERE idempotency_key = '{key}'")) == ["null"] {
            let id = first.json()["data"]["id"].as_str().unwrap().to_owned();
            let problem = second.refused(409, "conflict").json();
            assert!(problem["detail"].as_str().unwrap().contains(&id), "{}: {problem}", line.route_name);
        } else {
            assert_replayed(&first, &second);
        }
        let other = if request.path.contains('?') { "&other=1" } else { "?other=1" };
        let other = crate::access_matrix::line::Request { path: format!("{}{other}", request.path), ..request.clone() };
        other.send(&with_key(&client, &key), "POST").refused(422, "idempotency_key_reused");
        // A refusal has no data about the candidate.
        if line.route_name.contains("/candidate") && request.granted.0 < 400 {
            let erased = "UPDATE idempotency_keys SET answer = NULL, made_id = NULL WHERE candidate_id IS NOT NULL";
            app.change(erased);
            send_with(&key).refused(410, "gone");
        }
        assert_eq!(state(&app), after, "{}", line.route_name);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_repeat_gets_the_first_answer_despite_later_changes() {
    let (app, hiring, staff) = start();
    let repeated = with_key(&staff, "\"hire-1\"");
    let body = json!({ "notes": "welcome" });
    let first = repeated.post(&hiring.hire(0), &body).expect(200);
    assert_eq!(first.header("idempotency-replayed"), None);
    app.pass(60);
    assert_replayed(&first, &repeated.post(&hiring.hire(0), &body));
    staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    let second = repeated.post(&hiring.hire(0), &body);
    assert_replayed(&first, &second);
    assert_eq!(second.body, first.body, "the replayed body is identical");
    assert_eq!(actions(&app), ["candidate_step.hired", "candidate_step.hire_reversed"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn refusals_that_depend_on_state_are_stored() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
    let staff = app.user(&hiring.staff("owner"));
    staff.post_empty(&hiring.hire(1)).expect(200);
    let filled = with_key(&staff, "filled").post_empty(&hiring.hire(0)).refused(400, "bad_request");
    let hired = with_key(&staff, "hired").post_empty(&hiring.hire(1)).refused(409, "conflict");
    let nowhere = "/api/v1/candidate-steps/none/hire";
    let missing = with_key(&staff, "missing").post_empty(nowhere).refused(404, "not_found");
    // The position is free again, and the candidate can be hired again.
    staff.post_empty(&hiring.decision(1, 3, "reject")).expect(200);
    staff.post(&hiring.decision(1, 3, "reopen"), &json!({ "reason": "a mistake" })).expect(200);
    assert_replayed(&filled, &with_key(&staff, "filled").post_empty(&hiring.hire(0)));
    assert_replayed(&hired, &with_key(&staff, "hired").post_empty(&hiring.hire(1)));
    // A 404 can result from missing rights, so the request is checked again.
    assert!(
        !is_replayed(&with_key(&staff, "missing").post_empty(nowhere).refused(404, "not_found"))
            && !is_replayed(&missing)
    );
    with_key(&staff, "filled-2").post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(app.sql("SELECT status, hired FROM roles"), ["filled|1"]);
}

/// The step exists throughout, but the caller cannot see it until they become a member.
fn a_404_for_missing_rights_is_not_replayed() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let id = other.staff("owner");
    let stranger = with_key(&app.user(&id), "k");
    stranger.post_empty(&hiring.reject(0)).refused(404, "not_found");
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["0"]);
    let membership = format!("/api/admin/organizations/{}/memberships/{id}", hiring.organization_id);
    app.admin().put(&membership, &json!({ "orgRole": "moderator" })).expect(200);
    assert!(!is_replayed(&stranger.post_empty(&hiring.reject(0)).expect(200)));
    assert!(is_replayed(&stranger.post_empty(&hiring.reject(0)).expect(200)));
}

/// A file can contain stored responses with status 404 that must not be replayed.
fn a_stored_404_is_not_replayed() {
    let (app, hiring, staff) = start();
    let repeated = with_key(&staff, "k");
    repeated.post_empty(&hiring.reject(0)).expect(200);
    app.change("UPDATE idempotency_keys SET status = 404");
    let fresh = repeated.post_empty(&hiring.reject(0)).refused(409, "conflict");
    assert!(!is_replayed(&fresh));
    assert_replayed(&fresh, &repeated.post_empty(&hiring.reject(0)));
}

fn refusals_that_do_not_depend_on_state_are_not_stored() {
    let app = App::with(Options { per_minute: Some(20), ..Options::default() });
    let hiring = app.hiring();
    let (_, secret) = app.make_key(&hiring.staff("owner"));
    let owner = with_key(&app.key(&secret), "k");
    let send =
        |media_type: &str, body: &[u8]| owner.send("POST", &hiring.hire(0), &[("Content-Type", media_type)], body);
    send("text/plain", b"{}").refused(415, "unsupported_media_type");
    send("application/json", &vec![b' '; 128 * 1_024 + 1]).refused(413, "payload_too_large");
    send("application/json", b"{").refused(400, "bad_request");
    send("application/json", b"{\"hiredDate\":1}").refused(400, "bad_request");
    let narrow = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] });
    with_key(&app.key(&app.make_key_with(&narrow).1), "k")
        .post_empty(&hiring.hire(0))
        .refused(403, "insufficient_scope");
    with_key(&app.anonymous(), "k").post_empty(&hiring.hire(0)).refused(401, "unauthorized");
    // A member without authority is promoted, and the request then succeeds.
    let member = with_key(&app.user(&hiring.staff("member")), "k");
    member.post_empty(&hiring.reject(1)).refused(403, "forbidden");
    app.change("UPDATE memberships SET org_role = 'moderator' WHERE org_role = 'member'");
    assert!(!is_replayed(&member.post_empty(&hiring.reject(1)).expect(200)));
    while owner.send("POST", &hiring.hire(0), &[], b"{").status != 429 {}
    assert_eq!(
        app.sql("SELECT idempotency_key, status FROM idempotency_keys"),
        ["k|200"],
        "only the member's response is stored"
    );
    app.pass(60);
    assert!(!is_replayed(&owner.post_empty(&hiring.hire(0)).expect(200)));
}

fn another_request_with_the_same_key_is_refused() {
    let (app, hiring, staff) = start();
    let repeated = with_key(&staff, "k");
    repeated.post(&hiring.reject(0), &json!({ "outcomeNotes": "no" })).expect(200);
    let path = hiring.reject(0);
    for (path, body) in [
        (path.clone(), json!({ "outcomeNotes": "yes" })),
        (path.clone(), json!({ "outcomeNotes": "no", "unknown": 1 })),
        (path.clone(), json!({})),
        (format!("{path}?a=1"), json!({ "outcomeNotes": "no" })),
        (hiring.reject(1), json!({ "outcomeNotes": "no" })),
        (hiring.decision(0, 1, "hire"), json!({ "outcomeNotes": "no" })),
        ("/api/v1/candidate-steps/none/reject".to_owned(), json!({ "outcomeNotes": "no" })),
    ] {
        let problem = repeated.post(&path, &body).refused(422, "idempotency_key_reused").json();
        assert_eq!(problem["title"], "Unprocessable Entity", "{path} {body}");
        assert_eq!(problem["detail"], "this Idempotency-Key was used for another request; use a new one");
    }
    assert_eq!(actions(&app), ["candidate_step.rejected"]);
    repeated.post(&path, &json!({ "outcomeNotes": "no" })).expect(200);
}

fn equivalent_json_bodies_are_the_same_request() {
    let (_app, hiring, staff) = start();
    let send = |key: &str, body: &str| with_key(&staff, key).send("POST", &hiring.reject(0), &[], body.as_bytes());
    let first = send("k", r#"{"outcomeNotes":"ä","outcomeType":"other"}"#).expect(200);
    assert_replayed(&first, &send("k", "{ \"outcomeType\": \"other\",\n \"outcomeNotes\": \"\\u00e4\" }"));
    send("k", r#"{"outcomeNotes":"ä","outcomeType":"Other"}"#).refused(422, "idempotency_key_reused");
    // An absent body is equivalent to an empty object.
    let first = send("empty", "").refused(409, "conflict");
    assert_replayed(&first, &send("empty", "{}"));
}

fn an_idempotency_key_can_be_quoted_and_has_a_maximum_length() {
    let (app, hiring, staff) = start();
    let first = with_key(&staff, "a key").post_empty(&hiring.reject(0)).expect(200);
    assert_replayed(&first, &with_key(&staff, "\"a key\"").post_empty(&hiring.reject(0)));
    let longest = "k".repeat(255);
    let first = with_key(&staff, &longest).post_empty(&hiring.reject(1)).expect(200);
    assert_replayed(&first, &with_key(&staff, &format!("\"{longest}\"")).post_empty(&hiring.reject(1)));
    for wrong in ["", "\"\"", "\"open", "\"a\"b", "\"a\";p=1", "ä", &"k".repeat(256)] {
        let refused = with_key(&staff, wrong).post_empty(&hiring.reject(2)).refused(400, "validation_error");
        assert_eq!(refused.fields(), ["Idempotency-Key"], "{wrong:?}");
    }
    with_key(&with_key(&staff, "one"), "two").post_empty(&hiring.reject(2)).refused(400, "validation_error");
    assert_eq!(actions(&app).len(), 2);
}

fn idempotency_keys_are_separate_for_each_api_key() {
    let (app, hiring, staff) = start();
    let other = app.user(&hiring.staff("hr_representative"));
    let elsewhere = app.hiring();
    with_key(&staff, "k").post_empty(&hiring.reject(0)).expect(200);
    let second = with_key(&other, "k").post_empty(&hiring.reject(0)).refused(409, "conflict");
    assert!(!is_replayed(&second));
    let theirs = with_key(&app.user(&elsewhere.staff("owner")), "k");
    assert!(!is_replayed(&theirs.post_empty(&elsewhere.reject(0)).expect(200)));
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["3"]);
}

fn a_stored_response_expires_after_a_day() {
    let (app, hiring, staff) = start();
    let repeated = with_key(&staff, "k");
    let first = repeated.post_empty(&hiring.reject(0)).expect(200);
    app.pass(24 * 60 * 60 - 1);
    assert_replayed(&first, &repeated.post_empty(&hiring.reject(0)));
    app.pass(1);
    let fresh = repeated.post_empty(&hiring.reject(0)).refused(409, "conflict");
    assert!(!is_replayed(&fresh));
    // The key can be used for another request, whose response is stored for another day.
    app.pass(24 * 60 * 60);
    let other = repeated.post_empty(&hiring.reject(1)).expect(200);
    app.pass(24 * 60 * 60 - 1);
    assert_replayed(&other, &repeated.post_empty(&hiring.reject(1)));
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["1"]);
}

fn expired_responses_are_deleted_a_few_at_a_time() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.reject(1)).expect(200);
    let again = hiring.reject(1);
    for number in 0..40 {
        with_key(&staff, &format!("old-{number}")).post_empty(&again).refused(409, "conflict");
    }
    app.pass(24 * 60 * 60);
    let left = || app.sql("SELECT count(*) FROM idempotency_keys WHERE idempotency_key LIKE 'old-%'").join("");
    for (key, expected) in [("new-1", "24"), ("new-2", "8"), ("new-3", "0"), ("new-4", "0")] {
        with_key(&staff, key).post_empty(&again).refused(409, "conflict");
        assert_eq!(left(), expected);
    }
    staff.post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["4"], "a request without a key stores no response");
}

fn stored_responses_survive_a_restart() {
    let (app, hiring, staff) = start();
    let first = with_key(&staff, "k").post_empty(&hiring.hire(0)).expect(200);
    app.stop();
    app.start_again();
    assert_replayed(&first, &with_key(&staff, "k").post_empty(&hiring.hire(0)));
    assert_eq!(actions(&app), ["candidate_step.hired"]);
}

fn a_response_with_a_secret_is_not_stored() {
    let (app, hiring, _) = start();
    let repeated = with_key(&app.admin(), "new-key");
    let body = json!({ "name": "payroll", "userId": hiring.staff("owner") });
    let created = repeated.post("/api/admin/api-keys", &body).expect(200).json()["data"].take();
    for _ in 0..2 {
        let answer = repeated.post("/api/admin/api-keys", &body).refused(409, "conflict");
        assert!(!is_replayed(&answer));
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(created["id"].as_str().unwrap()), "{problem}");
    }
    let stored = app.sql("SELECT status, answer, made_id FROM idempotency_keys");
    assert_eq!(stored, [format!("200|null|{}", created["id"].as_str().unwrap())]);
    assert_eq!(app.sql("SELECT count(*) FROM api_keys WHERE name = 'payroll'"), ["1"]);
    let other = json!({ "name": "another", "userId": hiring.staff("owner") });
    repeated.post("/api/admin/api-keys", &other).refused(422, "idempotency_key_reused");
}

fn dry_runs_ignore_the_idempotency_key() {
    let (app, hiring, staff) = start();
    let path = hiring.hire(0);
    let dry_run = with_key(&staff, "k").post_empty(&format!("{path}?dryRun=true")).expect(200);
    assert!(!is_replayed(&dry_run));
    with_key(&staff, "\"open").post_empty(&format!("{path}?dryRun=true")).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["0"]);
    let first = with_key(&staff, "k").post_empty(&path).expect(200);
    with_key(&staff, "k").post_empty(&format!("{path}?dryRun=true")).refused(409, "conflict");
    assert_replayed(&first, &with_key(&staff, "k").post_empty(&path));
}

fn only_staff_and_admin_posts_are_idempotent() {
    let (app, hiring, _) = start();
    let admin = with_key(&app.admin(), "\"open");
    admin.get("/api/v1/me").expect(200);
    let path = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    let body = json!({ "url": "https://hr.example.com/hooks" });
    let secret = || admin.put(&path, &body).expect(200).text();
    secret();
    assert!(!secret().contains("replayed"));
    admin.delete(&path).expect(200);
    admin.delete(&path).refused(404, "not_found");
    let apply = json!({ "roleId": hiring.role_id });
    with_key(&app.anonymous(), "\"open").post(&format!("{}/apply", hiring.portal()), &apply).expect(200);
    let sign_in = json!({ "email": "nobody@example.com", "password": "long enough it is" });
    with_key(&app.anonymous(), "\"open").post("/api/auth/sign-in", &sign_in).refused(401, "unauthorized");
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["0"]);
}

fn a_caller_who_lost_access_gets_no_stored_response() {
    let app = App::start();
    for (change, undo, status, code) in [
        ("UPDATE memberships SET org_role = 'member' WHERE org_role = 'moderator'", true, 403, "forbidden"),
        ("UPDATE organizations SET enabled = 0", true, 404, "not_found"),
        ("DELETE FROM memberships WHERE org_role = 'moderator'", false, 404, "not_found"),
        ("UPDATE users SET enabled = 0 WHERE id LIKE '%moderator'", false, 401, "unauthorized"),
    ] {
        let hiring = app.hiring();
        let repeated = with_key(&app.user(&hiring.staff("moderator")), "k");
        let first = repeated.post_empty(&hiring.hire(0)).expect(200);
        app.change(change);
        repeated.post_empty(&hiring.hire(0)).refused(status, code);
        if undo {
            let id = hiring.staff("moderator");
            app.change("UPDATE organizations SET enabled = 1");
            app.change(&format!("UPDATE memberships SET org_role = 'moderator' WHERE user_id = '{id}'"));
            assert_replayed(&first, &repeated.post_empty(&hiring.hire(0)));
        }
    }
    let hiring = app.hiring();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let repeated = with_key(&app.key(&secret), "k");
    repeated.post_empty(&hiring.hire(0)).expect(200);
    app.admin().delete(&format!("/api/admin/api-keys/{key_id}")).expect(200);
    repeated.post_empty(&hiring.hire(0)).refused(401, "unauthorized");
    // An admin who was demoted gets no stored response either.
    app.change("INSERT INTO users SELECT 'user_second', 'second@x.example', 'second@x.example', 'Second', 'admin', 1, NULL, NULL, 0, 0");
    let second = with_key(&app.user("user_second"), "k");
    let body = json!({ "name": "n", "userId": "user_none" });
    second.post("/api/admin/api-keys", &body).refused(404, "not_found");
    app.change("UPDATE users SET platform_role = 'user' WHERE id = 'user_second'");
    second.post("/api/admin/api-keys", &body).refused(403, "forbidden");
}

fn the_stored_response_about_an_erased_candidate_is_gone() {
    let (app, hiring, staff) = start();
    let body = json!({ "outcomeNotes": "she mentioned an illness" });
    with_key(&staff, "k").post(&hiring.reject(0), &body).expect(200);
    with_key(&staff, "other").post(&hiring.reject(1), &body).expect(200);
    let refused = with_key(&staff, "refused").post(&hiring.reject(0), &body).refused(409, "conflict");
    let candidate = &hiring.candidates[0].candidate_id;
    let stored = app.sql("SELECT idempotency_key, candidate_id FROM idempotency_keys ORDER BY idempotency_key");
    assert_eq!(stored[..2], [format!("k|{candidate}"), format!("other|{}", hiring.candidates[1].candidate_id)]);
    app.admin().delete(&format!("/api/v1/candidates/{candidate}")).expect(200);
    let stored = format!("SELECT answer, hex(fingerprint) FROM idempotency_keys WHERE candidate_id = '{candidate}'");
    assert_eq!(app.sql(&stored), [format!("null|{}", "0".repeat(64))]);
    with_key(&staff, "k").post(&hiring.reject(0), &body).refused(410, "gone");
    with_key(&staff, "k").post(&hiring.reject(0), &json!({})).refused(410, "gone");
    assert_eq!(with_key(&staff, "other").post(&hiring.reject(1), &body).expect(200).json()["success"], true);
    assert_replayed(&refused, &with_key(&staff, "refused").post(&hiring.reject(0), &body));
}

fn two_hundred_concurrent_repeats_make_one_hire() {
    let (app, hiring, _) = start();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let hire = || Runner::post(with_key(&app.key(&secret), "the-hire"), &hiring.hire(0));
    let answers = race((0..200).map(|_| hire()).collect());
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
    assert_eq!(answers.iter().filter(|answer| is_replayed(answer)).count(), 199);
    assert_eq!(actions(&app), ["candidate_step.hired"]);
    assert_eq!(app.sql("SELECT status, hired FROM roles"), ["open|1"]);
    let usage = app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage?limit=1")).expect(200).json();
    assert_eq!(usage["data"]["key"]["requestCount"], 200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn only_one_of_different_concurrent_requests_with_one_key_takes_effect() {
    let app = App::start();
    for _ in 0..20 {
        let hiring = app.hiring();
        let (_, secret) = app.make_key(&hiring.staff("owner"));
        let count_before = actions(&app).len();
        let reject = |number: usize| Runner::post(with_key(&app.key(&secret), "k"), &hiring.reject(number % 2));
        let answers = race((0..8).map(reject).collect());
        let won: Vec<usize> = (0..8).filter(|number| answers[*number].status == 200).collect();
        assert!(won.len() == 4 && won.iter().all(|number| number % 2 == won[0] % 2), "{won:?}");
        for answer in answers.into_iter().filter(|answer| answer.status != 200) {
            answer.refused(422, "idempotency_key_reused");
        }
        assert_eq!(actions(&app).len(), count_before + 1);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

/// The response, the act and its usage row are stored in one transaction.
fn a_failed_transaction_stores_no_response() {
    let (app, hiring, staff) = start();
    let repeated = with_key(&staff, "k");
    let stored = || app.sql("SELECT count(*) FROM idempotency_keys").join("");
    for table in ["idempotency_keys", "api_key_usage", "activities"] {
        app.forbid("INSERT", table);
        repeated.post_empty(&hiring.hire(0)).refused(500, "internal_error");
        app.allow(table);
        assert_eq!((stored(), actions(&app).len()), ("0".to_owned(), 0), "{table}");
    }
    let lock = app.lock();
    repeated.post_empty(&hiring.hire(0)).refused(503, "unavailable");
    lock.release();
    assert_eq!((stored(), actions(&app).len()), ("0".to_owned(), 0));
    let first = repeated.post_empty(&hiring.hire(0)).expect(200);
    assert_replayed(&first, &repeated.post_empty(&hiring.hire(0)));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn repeats_are_in_the_usage_log() {
    let (app, hiring, _) = start();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let repeated = with_key(&app.key(&secret), "k");
    repeated.post_empty(&hiring.hire(0)).expect(200);
    repeated.post_empty(&hiring.hire(0)).expect(200);
    repeated.post_empty(&hiring.hire(1)).refused(422, "idempotency_key_reused");
    let usage = app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage")).expect(200).json();
    let paths: Vec<&Value> = usage["data"]["rows"].as_array().unwrap().iter().map(|row| &row["path"]).collect();
    assert_eq!(paths, [&json!(hiring.hire(1)), &json!(hiring.hire(0)), &json!(hiring.hire(0))]);
}

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

/// Returns the recorded actions, in order.
fn actions(app: &App) -> Vec<String> {
    app.sql("SELECT action FROM activities ORDER BY number")
}

/// Returns the rows of the tables that the acts of staff and admins change most often.
fn state(app: &App) -> Vec<String> {
    let tables = [
        "organizations",
        "users",
        "memberships",
        "api_keys",
        "roles",
        "role_steps",
        "candidates",
        "candidate_roles",
        "candidate_role_steps",
        "organization_statuses",
        "activities",
        "hr_integrations",
        "hr_deliveries",
    ];
    tables.into_iter().flat_map(|table| app.sql(&format!("SELECT * FROM {table}"))).collect()
}

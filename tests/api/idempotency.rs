//! The `Idempotency-Key`: a request is carried out once, however often it is sent, and a repeat is given the answer of the
//! first; what is kept for that, what is not, for how long and for whom.

use serde_json::{Value, json};

use appliance::http::server::table::Table;

use crate::support::app::Options;
use crate::support::hiring::role_of;
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, Hiring};
use crate::tenancy_of_staff::line::{Line, admin, ask, manages};
use crate::tenancy_of_staff::lines::lines;

crate::tests![
    every_post_of_staff_and_admins_is_carried_out_once,
    a_repeat_is_given_the_first_answer_whatever_happened_since,
    a_refusal_that_came_of_the_state_of_things_is_kept,
    a_404_of_missing_rights_is_not_replayed,
    a_404_that_an_older_version_stored_is_not_replayed,
    a_refusal_for_who_asks_or_how_is_not_kept,
    another_request_under_the_same_key_is_refused,
    a_body_is_the_same_however_it_is_written,
    a_key_comes_in_quotes_or_bare_and_is_bounded,
    a_key_is_the_api_keys_own,
    an_answer_is_kept_for_a_day,
    answers_past_their_time_are_cleared_away_a_few_at_once,
    a_started_service_knows_what_was_answered_before,
    an_answer_that_holds_a_secret_is_not_kept,
    a_try_takes_no_heed_of_it,
    whatever_is_no_post_of_staff_or_admins_takes_no_heed_of_it,
    who_may_not_any_more_is_given_nothing,
    an_answer_about_a_candidate_who_was_erased_is_gone,
    two_hundred_repeats_at_once_are_one_hire,
    requests_at_once_under_one_key_are_one_of_them,
    what_did_not_happen_is_not_kept,
    a_repeat_is_in_the_usage_log,
];

/// The same caller, asking under this key.
fn under(client: &Client, key: &str) -> Client {
    client.with_header("Idempotency-Key", key)
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotency-replayed").is_some_and(|value| value == "true")
}

/// The body of an answer but for the id of the request that it answers.
fn unnamed(answer: &Answer) -> Value {
    let mut body = answer.json();
    if answer.status >= 400 {
        body["requestId"].take();
    }
    body
}

/// The second answer repeats the first.
#[track_caller]
fn require_repeated(first: &Answer, second: &Answer) {
    assert!(is_replayed(second) && !is_replayed(first), "{}", second.text());
    assert_eq!((second.status, unnamed(second)), (first.status, unnamed(first)));
    assert_eq!(second.header("content-type"), first.header("content-type"));
    assert_eq!(second.header("cache-control"), first.header("cache-control"));
    assert_ne!(second.header("x-request-id"), first.header("x-request-id"));
}

/// The contract's own, beside the lines that the matrix has.
fn contract() -> Vec<Line> {
    vec![
        manages("POST /api/v1/candidate-steps/{id}/reject", |_, ground| ask(ground.reject(0))),
        manages("POST /api/v1/candidate-steps/{id}/hire", |_, ground| ask(ground.hire(0))),
        admin("POST /api/admin/api-keys", |_, ground| {
            ask("/api/admin/api-keys").with(json!({ "name": "n", "userId": ground.staff("owner") }))
        }),
    ]
}

/// Whoever adds a POST has it carried out once; its line in the matrix is how this test asks it.
fn every_post_of_staff_and_admins_is_carried_out_once() {
    let app = App::start();
    let client = app.admin();
    let table = Table::new();
    let lines: Vec<Line> =
        contract().into_iter().chain(lines()).filter(|line| line.place.starts_with("POST ")).collect();
    let known = table.routes().iter().filter(|route| route.takes_idempotency_key()).count();
    assert_eq!(lines.len(), known);
    for (number, line) in lines.iter().enumerate() {
        let asked = (line.ask)(&app, &app.hiring());
        let ask = |key: &str| asked.send(&under(&client, key), "POST");
        let key = format!("key-{number}");
        let unread = ask("\"open").refused(400, "validation_error");
        assert_eq!(unread.fields(), ["Idempotency-Key"], "{}", line.place);
        let first = ask(&key).expect(asked.granted.0);
        let after = everything(&app);
        let second = ask(&key);
        if app.sql(&format!("SELECT answer FROM idempotency_keys WHERE idempotency_key = '{key}'")) == ["null"] {
            let id = first.json()["data"]["id"].as_str().unwrap().to_owned();
            let problem = second.refused(409, "conflict").json();
            assert!(problem["detail"].as_str().unwrap().contains(&id), "{}: {problem}", line.place);
        } else {
            require_repeated(&first, &second);
        }
        let other = if asked.path.contains('?') { "&other=1" } else { "?other=1" };
        let other = crate::tenancy_of_staff::line::Asked { path: format!("{}{other}", asked.path), ..asked.clone() };
        other.send(&under(&client, &key), "POST").refused(422, "idempotency_key_reused");
        if line.place.contains("/candidate") {
            let erased = "UPDATE idempotency_keys SET answer = NULL, made_id = NULL WHERE candidate_id IS NOT NULL";
            app.change(erased);
            ask(&key).refused(410, "gone");
        }
        assert_eq!(everything(&app), after, "{}", line.place);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_repeat_is_given_the_first_answer_whatever_happened_since() {
    let (app, hiring, staff) = start();
    let once = under(&staff, "\"hire-1\"");
    let body = json!({ "notes": "welcome" });
    let first = once.post(&hiring.hire(0), &body).expect(200);
    assert_eq!(first.header("idempotency-replayed"), None);
    app.pass(60);
    require_repeated(&first, &once.post(&hiring.hire(0), &body));
    staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    let second = once.post(&hiring.hire(0), &body);
    require_repeated(&first, &second);
    assert_eq!(second.body, first.body, "to the byte");
    assert_eq!(acts(&app), ["candidate_step.hired", "candidate_step.hire_reversed"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_refusal_that_came_of_the_state_of_things_is_kept() {
    let app = App::start();
    let hiring = app.hiring_with(|document| role_of(document)["positions"] = json!(1));
    let staff = app.user(&hiring.staff("owner"));
    staff.post_empty(&hiring.hire(1)).expect(200);
    let filled = under(&staff, "filled").post_empty(&hiring.hire(0)).refused(400, "bad_request");
    let hired = under(&staff, "hired").post_empty(&hiring.hire(1)).refused(409, "conflict");
    let nowhere = "/api/v1/candidate-steps/none/hire";
    let missing = under(&staff, "missing").post_empty(nowhere).refused(404, "not_found");
    // The position is free again, and the candidate can be hired again.
    staff.post_empty(&hiring.decision(1, 3, "reject")).expect(200);
    staff.post(&hiring.decision(1, 3, "reopen"), &json!({ "reason": "a mistake" })).expect(200);
    require_repeated(&filled, &under(&staff, "filled").post_empty(&hiring.hire(0)));
    require_repeated(&hired, &under(&staff, "hired").post_empty(&hiring.hire(1)));
    // A 404 may come of missing rights, so it is asked anew.
    assert!(
        !is_replayed(&under(&staff, "missing").post_empty(nowhere).refused(404, "not_found")) && !is_replayed(&missing)
    );
    under(&staff, "filled-2").post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(app.sql("SELECT status, hired FROM roles"), ["filled|1"]);
}

/// The step is there all the time; the caller cannot see it until somebody makes them a member.
fn a_404_of_missing_rights_is_not_replayed() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let id = other.staff("owner");
    let stranger = under(&app.user(&id), "k");
    stranger.post_empty(&hiring.reject(0)).refused(404, "not_found");
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["0"]);
    let membership = format!("/api/admin/organizations/{}/memberships/{id}", hiring.organization_id);
    app.admin().put(&membership, &json!({ "orgRole": "moderator" })).expect(200);
    assert!(!is_replayed(&stranger.post_empty(&hiring.reject(0)).expect(200)));
    assert!(is_replayed(&stranger.post_empty(&hiring.reject(0)).expect(200)));
}

/// For a day after an upgrade the file has 404s that the older program stored.
fn a_404_that_an_older_version_stored_is_not_replayed() {
    let (app, hiring, staff) = start();
    let once = under(&staff, "k");
    once.post_empty(&hiring.reject(0)).expect(200);
    app.change("UPDATE idempotency_keys SET status = 404");
    let anew = once.post_empty(&hiring.reject(0)).refused(409, "conflict");
    assert!(!is_replayed(&anew));
    require_repeated(&anew, &once.post_empty(&hiring.reject(0)));
}

fn a_refusal_for_who_asks_or_how_is_not_kept() {
    let app = App::with(Options { per_minute: Some(20), ..Options::default() });
    let hiring = app.hiring();
    let (_, secret) = app.make_key(&hiring.staff("owner"));
    let owner = under(&app.key(&secret), "k");
    let send =
        |media_type: &str, body: &[u8]| owner.send("POST", &hiring.hire(0), &[("Content-Type", media_type)], body);
    send("text/plain", b"{}").refused(415, "unsupported_media_type");
    send("application/json", &vec![b' '; 128 * 1_024 + 1]).refused(413, "payload_too_large");
    send("application/json", b"{").refused(400, "bad_request");
    send("application/json", b"{\"hiredDate\":1}").refused(400, "bad_request");
    let narrow = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] });
    under(&app.key(&app.make_key_with(&narrow).1), "k").post_empty(&hiring.hire(0)).refused(403, "insufficient_scope");
    under(&app.anonymous(), "k").post_empty(&hiring.hire(0)).refused(401, "unauthorized");
    // A member who may not is promoted, and may.
    let member = under(&app.user(&hiring.staff("member")), "k");
    member.post_empty(&hiring.reject(1)).refused(403, "forbidden");
    app.change("UPDATE memberships SET org_role = 'moderator' WHERE org_role = 'member'");
    assert!(!is_replayed(&member.post_empty(&hiring.reject(1)).expect(200)));
    while owner.send("POST", &hiring.hire(0), &[], b"{").status != 429 {}
    assert_eq!(app.sql("SELECT idempotency_key, status FROM idempotency_keys"), ["k|200"], "the member's");
    app.pass(60);
    assert!(!is_replayed(&owner.post_empty(&hiring.hire(0)).expect(200)));
}

fn another_request_under_the_same_key_is_refused() {
    let (app, hiring, staff) = start();
    let once = under(&staff, "k");
    once.post(&hiring.reject(0), &json!({ "outcomeNotes": "no" })).expect(200);
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
        let problem = once.post(&path, &body).refused(422, "idempotency_key_reused").json();
        assert_eq!(problem["title"], "Unprocessable Entity", "{path} {body}");
        assert_eq!(problem["detail"], "this Idempotency-Key was used for another request; take a new one");
    }
    assert_eq!(acts(&app), ["candidate_step.rejected"]);
    once.post(&path, &json!({ "outcomeNotes": "no" })).expect(200);
}

fn a_body_is_the_same_however_it_is_written() {
    let (_app, hiring, staff) = start();
    let send = |key: &str, body: &str| under(&staff, key).send("POST", &hiring.reject(0), &[], body.as_bytes());
    let first = send("k", r#"{"outcomeNotes":"ä","outcomeType":"other"}"#).expect(200);
    require_repeated(&first, &send("k", "{ \"outcomeType\": \"other\",\n \"outcomeNotes\": \"\\u00e4\" }"));
    send("k", r#"{"outcomeNotes":"ä","outcomeType":"Other"}"#).refused(422, "idempotency_key_reused");
    // No body is an empty object.
    let first = send("empty", "").refused(409, "conflict");
    require_repeated(&first, &send("empty", "{}"));
}

fn a_key_comes_in_quotes_or_bare_and_is_bounded() {
    let (app, hiring, staff) = start();
    let first = under(&staff, "a key").post_empty(&hiring.reject(0)).expect(200);
    require_repeated(&first, &under(&staff, "\"a key\"").post_empty(&hiring.reject(0)));
    let longest = "k".repeat(255);
    let first = under(&staff, &longest).post_empty(&hiring.reject(1)).expect(200);
    require_repeated(&first, &under(&staff, &format!("\"{longest}\"")).post_empty(&hiring.reject(1)));
    for wrong in ["", "\"\"", "\"open", "\"a\"b", "\"a\";p=1", "ä", &"k".repeat(256)] {
        let refused = under(&staff, wrong).post_empty(&hiring.reject(2)).refused(400, "validation_error");
        assert_eq!(refused.fields(), ["Idempotency-Key"], "{wrong:?}");
    }
    under(&under(&staff, "one"), "two").post_empty(&hiring.reject(2)).refused(400, "validation_error");
    assert_eq!(acts(&app).len(), 2);
}

fn a_key_is_the_api_keys_own() {
    let (app, hiring, staff) = start();
    let other = app.user(&hiring.staff("hr_representative"));
    let elsewhere = app.hiring();
    under(&staff, "k").post_empty(&hiring.reject(0)).expect(200);
    let second = under(&other, "k").post_empty(&hiring.reject(0)).refused(409, "conflict");
    assert!(!is_replayed(&second));
    let theirs = under(&app.user(&elsewhere.staff("owner")), "k");
    assert!(!is_replayed(&theirs.post_empty(&elsewhere.reject(0)).expect(200)));
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["3"]);
}

fn an_answer_is_kept_for_a_day() {
    let (app, hiring, staff) = start();
    let once = under(&staff, "k");
    let first = once.post_empty(&hiring.reject(0)).expect(200);
    app.pass(24 * 60 * 60 - 1);
    require_repeated(&first, &once.post_empty(&hiring.reject(0)));
    app.pass(1);
    let anew = once.post_empty(&hiring.reject(0)).refused(409, "conflict");
    assert!(!is_replayed(&anew));
    // The key is free for another request, and that one is kept for a day again.
    app.pass(24 * 60 * 60);
    let other = once.post_empty(&hiring.reject(1)).expect(200);
    app.pass(24 * 60 * 60 - 1);
    require_repeated(&other, &once.post_empty(&hiring.reject(1)));
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["1"]);
}

fn answers_past_their_time_are_cleared_away_a_few_at_once() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.reject(1)).expect(200);
    let again = hiring.reject(1);
    for number in 0..40 {
        under(&staff, &format!("old-{number}")).post_empty(&again).refused(409, "conflict");
    }
    app.pass(24 * 60 * 60);
    let left = || app.sql("SELECT count(*) FROM idempotency_keys WHERE idempotency_key LIKE 'old-%'").join("");
    for (key, expected) in [("new-1", "24"), ("new-2", "8"), ("new-3", "0"), ("new-4", "0")] {
        under(&staff, key).post_empty(&again).refused(409, "conflict");
        assert_eq!(left(), expected);
    }
    staff.post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["4"], "nothing is kept of one without a key");
}

fn a_started_service_knows_what_was_answered_before() {
    let (app, hiring, staff) = start();
    let first = under(&staff, "k").post_empty(&hiring.hire(0)).expect(200);
    app.stop();
    app.start_again();
    require_repeated(&first, &under(&staff, "k").post_empty(&hiring.hire(0)));
    assert_eq!(acts(&app), ["candidate_step.hired"]);
}

fn an_answer_that_holds_a_secret_is_not_kept() {
    let (app, hiring, _) = start();
    let once = under(&app.admin(), "new-key");
    let body = json!({ "name": "payroll", "userId": hiring.staff("owner") });
    let made = once.post("/api/admin/api-keys", &body).expect(200).json()["data"].take();
    for _ in 0..2 {
        let answer = once.post("/api/admin/api-keys", &body).refused(409, "conflict");
        assert!(!is_replayed(&answer));
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(made["id"].as_str().unwrap()), "{problem}");
    }
    let kept = app.sql("SELECT status, answer, made_id FROM idempotency_keys");
    assert_eq!(kept, [format!("200|null|{}", made["id"].as_str().unwrap())]);
    assert_eq!(app.sql("SELECT count(*) FROM api_keys WHERE name = 'payroll'"), ["1"]);
    let other = json!({ "name": "another", "userId": hiring.staff("owner") });
    once.post("/api/admin/api-keys", &other).refused(422, "idempotency_key_reused");
}

fn a_try_takes_no_heed_of_it() {
    let (app, hiring, staff) = start();
    let path = hiring.hire(0);
    let tried = under(&staff, "k").post_empty(&format!("{path}?dryRun=true")).expect(200);
    assert!(!is_replayed(&tried));
    under(&staff, "\"open").post_empty(&format!("{path}?dryRun=true")).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["0"]);
    let first = under(&staff, "k").post_empty(&path).expect(200);
    under(&staff, "k").post_empty(&format!("{path}?dryRun=true")).refused(409, "conflict");
    require_repeated(&first, &under(&staff, "k").post_empty(&path));
}

fn whatever_is_no_post_of_staff_or_admins_takes_no_heed_of_it() {
    let (app, hiring, _) = start();
    let admin = under(&app.admin(), "\"open");
    admin.get("/api/v1/me").expect(200);
    let path = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    let body = json!({ "url": "https://hr.example.com/hooks" });
    let secret = || admin.put(&path, &body).expect(200).text();
    secret();
    assert!(!secret().contains("replayed"));
    admin.delete(&path).expect(200);
    admin.delete(&path).refused(404, "not_found");
    let apply = json!({ "roleId": hiring.role_id });
    under(&app.anonymous(), "\"open").post(&format!("{}/apply", hiring.portal()), &apply).expect(200);
    let sign_in = json!({ "email": "nobody@example.com", "password": "long enough it is" });
    under(&app.anonymous(), "\"open").post("/api/auth/sign-in", &sign_in).refused(401, "unauthorized");
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys"), ["0"]);
}

fn who_may_not_any_more_is_given_nothing() {
    let app = App::start();
    for (change, undo, status, code) in [
        ("UPDATE memberships SET org_role = 'member' WHERE org_role = 'moderator'", true, 403, "forbidden"),
        ("UPDATE organizations SET enabled = 0", true, 404, "not_found"),
        ("DELETE FROM memberships WHERE org_role = 'moderator'", false, 404, "not_found"),
        ("UPDATE users SET enabled = 0 WHERE id LIKE '%moderator'", false, 401, "unauthorized"),
    ] {
        let hiring = app.hiring();
        let once = under(&app.user(&hiring.staff("moderator")), "k");
        let first = once.post_empty(&hiring.hire(0)).expect(200);
        app.change(change);
        once.post_empty(&hiring.hire(0)).refused(status, code);
        if undo {
            let id = hiring.staff("moderator");
            app.change("UPDATE organizations SET enabled = 1");
            app.change(&format!("UPDATE memberships SET org_role = 'moderator' WHERE user_id = '{id}'"));
            require_repeated(&first, &once.post_empty(&hiring.hire(0)));
        }
    }
    let hiring = app.hiring();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let once = under(&app.key(&secret), "k");
    once.post_empty(&hiring.hire(0)).expect(200);
    app.admin().delete(&format!("/api/admin/api-keys/{key_id}")).expect(200);
    once.post_empty(&hiring.hire(0)).refused(401, "unauthorized");
    // An admin who is none any more.
    app.change("INSERT INTO users SELECT 'user_second', 'second@x.example', 'second@x.example', 'Second', 'admin', 1, NULL, 0, 0");
    let second = under(&app.user("user_second"), "k");
    let body = json!({ "name": "n", "userId": "user_none" });
    second.post("/api/admin/api-keys", &body).refused(404, "not_found");
    app.change("UPDATE users SET platform_role = 'user' WHERE id = 'user_second'");
    second.post("/api/admin/api-keys", &body).refused(403, "forbidden");
}

fn an_answer_about_a_candidate_who_was_erased_is_gone() {
    let (app, hiring, staff) = start();
    let body = json!({ "outcomeNotes": "she told us of her illness" });
    under(&staff, "k").post(&hiring.reject(0), &body).expect(200);
    under(&staff, "other").post(&hiring.reject(1), &body).expect(200);
    let refused = under(&staff, "refused").post(&hiring.reject(0), &body).refused(409, "conflict");
    let candidate = &hiring.candidates[0].candidate_id;
    let kept = app.sql("SELECT idempotency_key, candidate_id FROM idempotency_keys ORDER BY idempotency_key");
    assert_eq!(kept[..2], [format!("k|{candidate}"), format!("other|{}", hiring.candidates[1].candidate_id)]);
    app.admin().delete(&format!("/api/v1/candidates/{candidate}")).expect(200);
    let asked = format!("SELECT answer, hex(fingerprint) FROM idempotency_keys WHERE candidate_id = '{candidate}'");
    assert_eq!(app.sql(&asked), [format!("null|{}", "0".repeat(64))]);
    under(&staff, "k").post(&hiring.reject(0), &body).refused(410, "gone");
    under(&staff, "k").post(&hiring.reject(0), &json!({})).refused(410, "gone");
    assert_eq!(under(&staff, "other").post(&hiring.reject(1), &body).expect(200).json()["success"], true);
    require_repeated(&refused, &under(&staff, "refused").post(&hiring.reject(0), &body));
}

fn two_hundred_repeats_at_once_are_one_hire() {
    let (app, hiring, _) = start();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let hire = || Runner::post(under(&app.key(&secret), "the-hire"), &hiring.hire(0));
    let answers = race((0..200).map(|_| hire()).collect());
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
    assert_eq!(answers.iter().filter(|answer| is_replayed(answer)).count(), 199);
    assert_eq!(acts(&app), ["candidate_step.hired"]);
    assert_eq!(app.sql("SELECT status, hired FROM roles"), ["open|1"]);
    let usage = app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage?limit=1")).expect(200).json();
    assert_eq!(usage["data"]["key"]["requestCount"], 200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn requests_at_once_under_one_key_are_one_of_them() {
    let app = App::start();
    for _ in 0..20 {
        let hiring = app.hiring();
        let (_, secret) = app.make_key(&hiring.staff("owner"));
        let acts_before = acts(&app).len();
        let reject = |number: usize| Runner::post(under(&app.key(&secret), "k"), &hiring.reject(number % 2));
        let answers = race((0..8).map(reject).collect());
        let won: Vec<usize> = (0..8).filter(|number| answers[*number].status == 200).collect();
        assert!(won.len() == 4 && won.iter().all(|number| number % 2 == won[0] % 2), "{won:?}");
        for answer in answers.into_iter().filter(|answer| answer.status != 200) {
            answer.refused(422, "idempotency_key_reused");
        }
        assert_eq!(acts(&app).len(), acts_before + 1);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

/// The answer is kept with the act, the usage row and all else, or none of them is there.
fn what_did_not_happen_is_not_kept() {
    let (app, hiring, staff) = start();
    let once = under(&staff, "k");
    let kept = || app.sql("SELECT count(*) FROM idempotency_keys").join("");
    for table in ["idempotency_keys", "api_key_usage", "activities"] {
        app.change(&format!(
            "CREATE TRIGGER forbidden BEFORE INSERT ON {table} BEGIN SELECT raise(ABORT, 'forbidden'); END"
        ));
        once.post_empty(&hiring.hire(0)).refused(500, "internal_error");
        app.change("DROP TRIGGER forbidden");
        assert_eq!((kept(), acts(&app).len()), ("0".to_owned(), 0), "{table}");
    }
    // Another process has the file.
    let other = rusqlite::Connection::open(&app.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    once.post_empty(&hiring.hire(0)).refused(503, "unavailable");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!((kept(), acts(&app).len()), ("0".to_owned(), 0));
    let first = once.post_empty(&hiring.hire(0)).expect(200);
    require_repeated(&first, &once.post_empty(&hiring.hire(0)));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_repeat_is_in_the_usage_log() {
    let (app, hiring, _) = start();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let once = under(&app.key(&secret), "k");
    once.post_empty(&hiring.hire(0)).expect(200);
    once.post_empty(&hiring.hire(0)).expect(200);
    once.post_empty(&hiring.hire(1)).refused(422, "idempotency_key_reused");
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

/// What was done, in its order.
fn acts(app: &App) -> Vec<String> {
    app.sql("SELECT action FROM activities ORDER BY number")
}

/// Everything that an act can change.
fn everything(app: &App) -> Vec<String> {
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

//! `dryRun=true` on the decisions: everything is checked and answered as it would be, and nothing is there afterwards but
//! the usage row.

use serde_json::{Value, json};

use crate::support::hiring::{role_of, set_steps};
use crate::support::race::{Lane, connected, together};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_try_is_answered_as_the_act_would_be_and_changes_nothing,
    what_would_be_refused_is_refused_all_the_same,
    a_try_is_in_the_usage_log,
    tries_together_fill_no_position,
    what_is_neither_true_nor_false_is_refused,
    false_and_nothing_act,
    a_try_writes_nothing_where_nothing_can_be_written,
];

const DECISIONS: [(&str, usize); 4] = [("reject", 1), ("hire", 2), ("validate", 1), ("reopen", 1)];

/// A candidate for each decision: the first at the second step, the third rejected there.
fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        role_of(document)["positions"] = json!(1);
        set_steps(document, 2, "Not Selected", &["validated", "rejected", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("moderator"));
    (app, hiring, staff)
}

fn candidate(decision: &str) -> usize {
    if decision == "reopen" { 2 } else { 0 }
}

fn body(decision: &str) -> Value {
    if decision == "reopen" { json!({ "reason": "a mistake" }) } else { json!({ "outcomeNotes": "x" }) }
}

fn a_try_is_answered_as_the_act_would_be_and_changes_nothing() {
    for (decision, step) in DECISIONS {
        let (app, hiring, staff) = start();
        let path = hiring.decision(candidate(decision), step, decision);
        let before = everything(&app);
        let mut answers = [0, 1].map(|_| {
            let mut tried = staff.post(&format!("{path}?dryRun=true"), &body(decision)).expect(200).json();
            assert_eq!(tried["dryRun"].take(), true);
            tried.as_object_mut().unwrap().remove("dryRun");
            assert_eq!(everything(&app), before, "{decision}");
            tried
        });
        // The clock has not moved, so the time is that of the act as well.
        let done = staff.post(&path, &body(decision)).expect(200).json();
        assert_eq!(answers.each_mut().map(Value::take), [done.clone(), done], "{decision}");
        assert_ne!(everything(&app), before, "{decision}");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn what_would_be_refused_is_refused_all_the_same() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let member = app.user(&hiring.staff("member"));
    let narrow = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": ["candidates:write"] });
    let narrow = app.key(&app.make_key_with(&narrow).1);
    let before = everything(&app);
    for (decision, step) in DECISIONS {
        let tried = |client: &Client, hiring: &Hiring, candidate: usize, step: usize| {
            client.post(&format!("{}?dryRun=true", hiring.decision(candidate, step, decision)), &body(decision))
        };
        let mine = candidate(decision);
        tried(&app.anonymous(), &hiring, mine, step).refused(401, "unauthorized");
        tried(&narrow, &hiring, mine, step).refused(403, "insufficient_scope");
        tried(&staff, &other, mine, step).refused(404, "not_found");
        tried(&member, &hiring, mine, step).refused(403, "forbidden");
        // Rejected twice, hired once rejected, passed once rejected, reopened though it is not rejected.
        let (candidate, step) = if decision == "reopen" { (2, 0) } else { (2, 1) };
        tried(&staff, &hiring, candidate, step).refused(409, "conflict");
    }
    let date = json!({ "hiredDate": "yesterday" });
    staff.post(&format!("{}?dryRun=true", hiring.hire(0)), &date).refused(400, "bad_request");
    assert_eq!(everything(&app), before);
    staff.post_empty(&hiring.hire(1)).expect(200);
    let filled = staff.post_empty(&format!("{}?dryRun=true", hiring.hire(0))).refused(400, "bad_request");
    assert_eq!(filled.json()["detail"], "positions already filled");
}

fn a_try_is_in_the_usage_log() {
    let (app, hiring, _) = start();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let path = hiring.hire(0);
    app.key(&secret).post_empty(&format!("{path}?dryRun=true")).expect(200);
    app.key(&secret).post_empty(&format!("{}?dryRun=true", hiring.reject(2))).refused(409, "conflict");
    let log = app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage")).expect(200).json();
    let rows = log["data"]["rows"].as_array().unwrap();
    let paths: Vec<&Value> = rows.iter().map(|row| &row["path"]).collect();
    assert_eq!(paths, [&json!(hiring.reject(2)), &json!(path)]);
    assert_eq!(rows[1]["authEndpoint"], "/api/v1/candidate-steps/{id}/hire");
}

fn tries_together_fill_no_position() {
    let (app, hiring, _) = start();
    let (_, secret) = app.make_key(&hiring.staff("owner"));
    let mut clients = connected(&app, 8);
    for _ in 0..20 {
        let answers = together(&mut clients, |number, client| {
            Lane::new("POST", &format!("{}?dryRun=true", hiring.hire(number % 2)), &secret).send(client)
        });
        assert!(answers.iter().all(|answer| answer.status == 200));
    }
    assert_eq!(app.sql("SELECT status, hired FROM roles"), ["open|0"]);
    app.key(&secret).post_empty(&hiring.hire(0)).expect(200);
}

fn what_is_neither_true_nor_false_is_refused() {
    let (app, hiring, staff) = start();
    let before = everything(&app);
    for (decision, step) in DECISIONS {
        let path = hiring.decision(candidate(decision), step, decision);
        for query in ["dryRun=", "dryRun", "dryRun=1", "dryRun=True", "dryRun=true&dryRun=true"] {
            let refused = staff.post(&format!("{path}?{query}"), &body(decision)).refused(400, "validation_error");
            assert_eq!(refused.fields(), ["dryRun"], "{decision} {query}");
        }
    }
    // Beside a fault that the contract has a code for, it is one more fault of that kind.
    let wrong = json!({ "outcomeNotes": 1 });
    let both = staff.post(&format!("{}?dryRun=no", hiring.reject(0)), &wrong).refused(400, "bad_request");
    assert_eq!(both.fields(), ["outcomeNotes", "dryRun"]);
    assert_eq!(everything(&app), before);
}

fn false_and_nothing_act() {
    let (app, hiring, staff) = start();
    let answer = staff.post_empty(&format!("{}?dryRun=false", hiring.reject(0))).expect(200).json();
    assert_eq!(answer.get("dryRun"), None);
    staff.post_empty(&format!("{}?dryrun=true", hiring.reject(1))).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["2"]);
}

/// A try that wrote would be an error here.
fn a_try_writes_nothing_where_nothing_can_be_written() {
    let (app, hiring, staff) = start();
    for table in ["candidate_role_steps", "candidate_roles", "roles", "organization_statuses"] {
        app.change(&format!(
            "CREATE TRIGGER forbidden_{table} BEFORE UPDATE ON {table} BEGIN SELECT raise(ABORT, 'forbidden'); END"
        ));
    }
    for (decision, step) in DECISIONS {
        let path = hiring.decision(candidate(decision), step, decision);
        staff.post(&format!("{path}?dryRun=true"), &body(decision)).expect(200);
        staff.post(&path, &body(decision)).refused(500, "internal_error");
    }
}

/// Everything in the file but the usage log, and what follows from it.
fn everything(app: &App) -> Vec<String> {
    let tables = [
        "candidate_role_steps",
        "candidate_roles",
        "roles",
        "organization_statuses",
        "activities",
        "hr_deliveries",
        "portal_changes",
        "invitations",
        "idempotency_keys",
    ];
    tables.into_iter().flat_map(|table| app.sql(&format!("SELECT * FROM {table}"))).collect()
}

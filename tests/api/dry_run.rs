//! `dryRun=true` on decisions: the request is checked and answered like the real decision, but only its usage row is
//! stored.

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::race::{Lane, connected_clients, run_together};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_dry_run_is_answered_like_the_decision_and_changes_nothing,
    a_dry_run_is_refused_like_the_decision,
    dry_runs_are_in_the_usage_log,
    concurrent_dry_runs_fill_no_position,
    values_of_dry_run_other_than_true_and_false_are_refused,
    requests_with_dry_run_false_or_absent_take_effect,
    dry_runs_succeed_on_tables_that_refuse_updates,
];

const DECISIONS: [(&str, usize); 5] = [("reject", 1), ("hire", 2), ("validate", 1), ("move", 3), ("reopen", 1)];

/// Starts a service with an organization whose role has one position. The first candidate is at the second step, and
/// the third was rejected there.
fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        first_role_of(document)["positions"] = json!(1);
        set_steps(document, 2, "Not Selected", &["validated", "rejected", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("moderator"));
    (app, hiring, staff)
}

fn candidate(decision: &str) -> usize {
    if decision == "reopen" { 2 } else { 0 }
}

fn body(decision: &str) -> Value {
    let has_reason = matches!(decision, "move" | "reopen");
    if has_reason { json!({ "reason": "a mistake" }) } else { json!({ "outcomeNotes": "x" }) }
}

fn a_dry_run_is_answered_like_the_decision_and_changes_nothing() {
    for (decision, step) in DECISIONS {
        let (app, hiring, staff) = start();
        let path = hiring.decision(candidate(decision), step, decision);
        let before = state(&app);
        let mut answers = [0, 1].map(|_| {
            let mut dry_run = staff.post(&format!("{path}?dryRun=true"), &body(decision)).expect(200).json();
            assert_eq!(dry_run["dryRun"].take(), true);
            dry_run.as_object_mut().unwrap().remove("dryRun");
            assert_eq!(state(&app), before, "{decision}");
            dry_run
        });
        // The clock has not moved, so the answers have the same times.
        let done = staff.post(&path, &body(decision)).expect(200).json();
        assert_eq!(answers.each_mut().map(Value::take), [done.clone(), done], "{decision}");
        assert_ne!(state(&app), before, "{decision}");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn a_dry_run_is_refused_like_the_decision() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let member = app.user(&hiring.staff("member"));
    let narrow = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": ["candidates:write"] });
    let narrow = app.key(&app.make_key_with(&narrow).1);
    let before = state(&app);
    for (decision, step) in DECISIONS {
        let dry_run = |client: &Client, hiring: &Hiring, candidate: usize, step: usize| {
            client.post(&format!("{}?dryRun=true", hiring.decision(candidate, step, decision)), &body(decision))
        };
        let mine = candidate(decision);
        dry_run(&app.anonymous(), &hiring, mine, step).refused(401, "unauthorized");
        dry_run(&narrow, &hiring, mine, step).refused(403, "insufficient_scope");
        dry_run(&staff, &other, mine, step).refused(404, "not_found");
        dry_run(&member, &hiring, mine, step).refused(403, "forbidden");
        // These requests decide again on a rejected candidate, or reopen a step that is not rejected.
        let (candidate, step) = if decision == "reopen" { (2, 0) } else { (2, 1) };
        dry_run(&staff, &hiring, candidate, step).refused(409, "conflict");
    }
    let date = json!({ "hiredDate": "yesterday" });
    staff.post(&format!("{}?dryRun=true", hiring.hire(0)), &date).refused(400, "bad_request");
    assert_eq!(state(&app), before);
    staff.post_empty(&hiring.hire(1)).expect(200);
    let filled = staff.post_empty(&format!("{}?dryRun=true", hiring.hire(0))).refused(400, "bad_request");
    assert_eq!(filled.json()["detail"], "positions already filled");
}

fn dry_runs_are_in_the_usage_log() {
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

fn concurrent_dry_runs_fill_no_position() {
    let (app, hiring, _) = start();
    let (_, secret) = app.make_key(&hiring.staff("owner"));
    let mut clients = connected_clients(&app, 8);
    for _ in 0..20 {
        let answers = run_together(&mut clients, |number, client| {
            Lane::new("POST", &format!("{}?dryRun=true", hiring.hire(number % 2)), &secret).send(client)
        });
        assert!(answers.iter().all(|answer| answer.status == 200));
    }
    assert_eq!(app.sql("SELECT status, hired FROM roles"), ["open|0"]);
    app.key(&secret).post_empty(&hiring.hire(0)).expect(200);
}

fn values_of_dry_run_other_than_true_and_false_are_refused() {
    let (app, hiring, staff) = start();
    let before = state(&app);
    for (decision, step) in DECISIONS {
        let path = hiring.decision(candidate(decision), step, decision);
        for query in ["dryRun=", "dryRun", "dryRun=1", "dryRun=True", "dryRun=true&dryRun=true"] {
            let refused = staff.post(&format!("{path}?{query}"), &body(decision)).refused(400, "validation_error");
            assert_eq!(refused.fields(), ["dryRun"], "{decision} {query}");
        }
    }
    // If the request has another error too, the invalid parameter is reported under that error's code.
    let wrong = json!({ "outcomeNotes": 1 });
    let both = staff.post(&format!("{}?dryRun=no", hiring.reject(0)), &wrong).refused(400, "bad_request");
    assert_eq!(both.fields(), ["outcomeNotes", "dryRun"]);
    assert_eq!(state(&app), before);
}

fn requests_with_dry_run_false_or_absent_take_effect() {
    let (app, hiring, staff) = start();
    let answer = staff.post_empty(&format!("{}?dryRun=false", hiring.reject(0))).expect(200).json();
    assert_eq!(answer.get("dryRun"), None);
    staff.post_empty(&format!("{}?dryrun=true", hiring.reject(1))).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["2"]);
}

/// In this test, four tables refuse updates, so a dry run that updated one of them would fail.
fn dry_runs_succeed_on_tables_that_refuse_updates() {
    let (app, hiring, staff) = start();
    for table in ["candidate_role_steps", "candidate_roles", "roles", "organization_statuses"] {
        app.forbid("UPDATE", table);
    }
    for (decision, step) in DECISIONS {
        let path = hiring.decision(candidate(decision), step, decision);
        staff.post(&format!("{path}?dryRun=true"), &body(decision)).expect(200);
        staff.post(&path, &body(decision)).refused(500, "internal_error");
    }
}

/// Returns the rows of every table that a decision could change, except the usage log.
fn state(app: &App) -> Vec<String> {
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

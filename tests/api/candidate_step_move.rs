//! `POST /api/v1/candidate-steps/{id}/move`: moves a candidate to any other step of the application, forward or
//! back.

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_move_forward_skips_the_steps_between,
    a_move_back_makes_the_later_steps_pending,
    moving_back_restores_the_exact_state,
    a_candidate_moved_to_the_final_step_can_be_hired_there,
    an_application_rejected_after_a_move_is_reopened_at_the_rejected_step,
    a_move_to_the_current_step_is_a_conflict,
    moving_an_ended_application_is_a_conflict,
    an_erased_candidate_cannot_be_moved,
    a_step_of_another_organization_is_treated_like_an_unknown_step,
    a_move_leaves_an_imported_application_at_the_target_step_only,
    applications_of_closed_and_filled_roles_can_be_moved,
    a_move_writes_an_activity_row_with_the_states_before_and_after,
    a_move_changes_no_counts_and_is_not_delivered,
    the_board_and_the_report_follow_a_move,
    a_repeated_request_moves_once,
    a_long_reason_and_other_errors_are_reported_together,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";
/// The time at which the candidate applied.
const APPLIED: &str = "2026-11-01T10:00:00.000000Z";
/// The time at which the first step of the application was validated.
const VALIDATED: &str = "2026-11-02T10:00:00.000000Z";

fn a_move_forward_skips_the_steps_between() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    let answer = move_to(&staff, &hiring, 0, 3);
    let step = json!({
        "id": hiring.candidates[0].steps[3],
        "roleId": hiring.role_id,
        "roleStepId": hiring.role_steps[3],
        "candidateRoleId": hiring.candidates[0].application_id,
        "name": "Offer",
        "order": 4,
        "stepType": "offer",
        "status": "in_progress",
    });
    assert_eq!(answer, json!({ "success": true, "step": step }));
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "skipped", "in_progress"]);
    assert_eq!(validation_times(&app, &hiring, 0), [micros(VALIDATED), micros(NOW)]);
    assert_eq!(current_step(&app, &hiring, 0), format!("In Progress|{}|{}", hiring.role_steps[3], micros(NOW)));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_move_back_makes_the_later_steps_pending() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    app.set_clock(NOW);
    let step = move_to(&staff, &hiring, 0, 0)["step"].take();
    assert_eq!((&step["status"], step.get("validatedAt")), (&json!("in_progress"), None));
    assert_eq!(hiring.step_statuses(&app, 0), ["in_progress", "pending", "pending", "pending"]);
    assert_eq!(validation_times(&app, &hiring, 0), Vec::<i64>::new());
    assert_eq!(current_step(&app, &hiring, 0), format!("In Progress|{}|{}", hiring.role_steps[0], micros(APPLIED)));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn moving_back_restores_the_exact_state() {
    let (app, hiring, staff) = start();
    let (before, since) = (state(&app), current_step(&app, &hiring, 0));
    for step in [2, 3] {
        app.pass(60);
        move_to(&staff, &hiring, 0, step);
        assert_ne!(state(&app), before);
        app.pass(60);
        move_to(&staff, &hiring, 0, 1);
        assert_eq!(state(&app), before);
        assert_eq!(current_step(&app, &hiring, 0), since, "the candidate's time at the step has not restarted");
    }
    // A move back also restores the exact state if a validation moved the candidate forward.
    staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    move_to(&staff, &hiring, 0, 1);
    assert_eq!((state(&app), current_step(&app, &hiring, 0)), (before, since));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_candidate_moved_to_the_final_step_can_be_hired_there() {
    let (app, hiring, staff) = start();
    move_to(&staff, &hiring, 0, 3);
    let problem = staff.post_empty(&hiring.decision(0, 3, "validate")).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("/hire"), "{problem}");
    staff.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "skipped", "validated"]);
    staff.post_empty(&hiring.decision(0, 1, "move")).refused(409, "conflict");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_application_rejected_after_a_move_is_reopened_at_the_rejected_step() {
    let (app, hiring, staff) = start();
    move_to(&staff, &hiring, 0, 2);
    let before = state(&app);
    staff.post_empty(&hiring.decision(0, 2, "reject")).expect(200);
    staff.post(&hiring.decision(0, 1, "move"), &reason()).refused(409, "conflict");
    staff.post(&hiring.decision(0, 2, "reopen"), &reason()).expect(200);
    assert_eq!(state(&app), before);
    // A candidate whose hire was reversed can also be moved after the application is reopened.
    staff.post_empty(&hiring.hire(0)).expect(200);
    staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    staff.post(&hiring.decision(0, 3, "reopen"), &reason()).expect(200);
    move_to(&staff, &hiring, 0, 1);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_move_to_the_current_step_is_a_conflict() {
    let (app, hiring, staff) = start();
    let before = state(&app);
    let problem = staff.post(&hiring.decision(0, 1, "move"), &reason()).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the candidate is already at this step");
    assert_eq!((state(&app), app.sql("SELECT count(*) FROM activities")), (before, vec!["0".to_owned()]));
    move_to(&staff, &hiring, 0, 2);
    staff.post_empty(&hiring.decision(0, 2, "move")).refused(409, "conflict");
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["1"]);
}

fn moving_an_ended_application_is_a_conflict() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Hired", &["validated", "skipped", "skipped", "validated"]);
        set_steps(document, 1, "Not Selected", &["validated", "in_progress", "rejected", "pending"]);
        set_steps(document, 2, "Withdrawn", &["validated", "in_progress", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("owner"));
    let before = state(&app);
    for (candidate, words) in [(0, "already been hired"), (1, "already been rejected"), (2, "has withdrawn")] {
        for step in 0..4 {
            let path = hiring.decision(candidate, step, "move");
            let problem = staff.post_empty(&path).refused(409, "conflict").json();
            assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        }
    }
    assert_eq!((state(&app), app.sql("SELECT count(*) FROM activities")), (before, vec!["0".to_owned()]));
}

fn an_erased_candidate_cannot_be_moved() {
    let (app, hiring, staff) = start();
    app.admin().delete(&hiring.candidate_path(0)).expect(200);
    let before = state(&app);
    let problem = staff.post(&hiring.decision(0, 2, "move"), &reason()).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("erased"), "{problem}");
    assert_eq!(state(&app), before);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_step_of_another_organization_is_treated_like_an_unknown_step() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let detail = |path: &str| {
        let mut problem = staff.post(path, &reason()).refused(404, "not_found").json();
        problem["requestId"].take();
        problem
    };
    let foreign = detail(&other.decision(0, 2, "move"));
    assert_eq!(foreign, detail("/api/v1/candidate-steps/none/move"));
    assert_eq!(foreign, detail(&format!("{}?dryRun=true", other.decision(0, 2, "move"))));
    assert_eq!(other.step_statuses(&app, 0), hiring.step_statuses(&app, 0));
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

/// An import can place a candidate at several steps, or at none.
fn a_move_leaves_an_imported_application_at_the_target_step_only() {
    for (before, step, expected) in [
        (["in_progress", "in_progress", "pending", "pending"], 1, ["validated", "in_progress", "pending", "pending"]),
        (["in_progress", "pending", "in_progress", "pending"], 1, ["validated", "in_progress", "pending", "pending"]),
        (["validated", "pending", "pending", "pending"], 3, ["validated", "validated", "skipped", "in_progress"]),
        (["validated", "pending", "pending", "pending"], 0, ["in_progress", "pending", "pending", "pending"]),
        (["validated", "validated", "skipped", "skipped"], 2, ["validated", "validated", "in_progress", "pending"]),
    ] {
        let app = App::start();
        let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &before));
        let staff = app.user(&hiring.staff("moderator"));
        move_to(&staff, &hiring, 0, step);
        assert_eq!(hiring.step_statuses(&app, 0), expected, "{before:?} to {step}");
        let current = format!("In Progress|{}|", hiring.role_steps[step]);
        assert!(current_step(&app, &hiring, 0).starts_with(&current), "{before:?} to {step}");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn applications_of_closed_and_filled_roles_can_be_moved() {
    let app = App::start();
    for status in ["closed", "filled"] {
        let hiring = app.hiring_with(|document| {
            let role = first_role_of(document);
            (role["status"], role["positions"]) = (json!(status), json!(1));
            set_steps(document, 1, "Hired", &["validated", "skipped", "skipped", "validated"]);
        });
        let staff = app.user(&hiring.staff("admin"));
        move_to(&staff, &hiring, 0, 2);
        assert_eq!(hiring.step_statuses(&app, 0)[2], "in_progress", "{status}");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_move_writes_an_activity_row_with_the_states_before_and_after() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    move_to(&staff, &hiring, 0, 3);
    staff.post_empty(&hiring.decision(1, 0, "move")).expect(200);
    let steps = &hiring.candidates[0].steps;
    let step = |index: usize, status: &str, validated_at: Option<&str>| {
        json!({
            "id": steps[index], "status": status, "rejectedAt": null, "rejectionReason": null, "outcomeType": null,
            "outcomeReason": null, "validatedAt": validated_at,
        })
    };
    let expected = json!({
        "before": {
            "application": "In Progress", "role": "open", "hire": null,
            "steps": [step(1, "in_progress", None), step(2, "pending", None), step(3, "pending", None)],
        },
        "after": {
            "application": "In Progress", "role": "open", "hire": null,
            "steps": [step(1, "validated", Some(NOW)), step(2, "skipped", None), step(3, "in_progress", None)],
            "reason": "a second look",
        },
    });
    let rows = app.sql("SELECT action, candidate_role_step_id, detail FROM activities ORDER BY number");
    let [action, addressed, detail] = rows[0].splitn(3, '|').collect::<Vec<_>>()[..] else {
        panic!("expected three columns")
    };
    assert_eq!((action, addressed), ("candidate_step.moved", steps[3].as_str()));
    assert_eq!(serde_json::from_str::<Value>(detail).unwrap(), expected);
    assert!(rows[1].contains(VALIDATED) && !rows[1].contains("reason\":\""), "{}", rows[1]);
    let path = format!("{}/activity?action=candidate_step.moved", hiring.candidate_path(0));
    let listed = app.admin().get(&path).expect(200).json()["data"].take();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["after"]), (1, &expected["after"]));
}

fn a_move_changes_no_counts_and_is_not_delivered() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        document["organizations"][0]["hrIntegration"] =
            json!({ "url": "https://hr.example.com/hooks", "secret": secret, "enabled": false });
    });
    let staff = app.user(&hiring.staff("owner"));
    let counts = || app.sql("SELECT * FROM organization_statuses");
    let before = (counts(), app.sql("SELECT * FROM roles"), app.sql("SELECT * FROM portal_changes"));
    for step in [3, 0, 2, 1] {
        move_to(&staff, &hiring, 0, step);
        let after = (counts(), app.sql("SELECT * FROM roles"), app.sql("SELECT * FROM portal_changes"));
        assert_eq!(after, before, "to {step}");
    }
    let deliveries = app.admin().get("/api/admin/hr-deliveries").expect(200).json()["data"].take();
    assert_eq!(deliveries, json!([]));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_board_and_the_report_follow_a_move() {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user_with_all(&hiring.staff("owner"));
    let board = || {
        let board = staff.get(&format!("/api/v1/roles/{}/board", hiring.role_id)).expect(200).json()["data"].take();
        let steps = board["steps"].as_array().unwrap().clone();
        let names = |step: &Value| {
            let names = step["candidates"].as_array().unwrap().iter().map(|one| one["candidate"]["name"].to_string());
            names.collect::<Vec<_>>().join(" ").replace('"', "").replace("Candidate ", "")
        };
        steps.iter().map(names).collect::<Vec<_>>()
    };
    assert_eq!(board(), ["", "1 2 3", "", ""]);
    app.pass(60);
    move_to(&staff, &hiring, 1, 3);
    move_to(&staff, &hiring, 0, 0);
    assert_eq!(board(), ["1", "3", "", "2"]);
    let report = staff.get(&format!("/api/v1/roles/{}/report", hiring.role_id)).expect(200).json()["data"].take();
    let numbers = ["reached", "inProgress", "validated", "skipped"];
    let funnel: Vec<_> =
        report["funnel"].as_array().unwrap().iter().map(|step| numbers.map(|name| step[name].to_string())).collect();
    let expected = [["3", "1", "2", "0"], ["2", "1", "1", "0"], ["0", "0", "0", "1"], ["1", "1", "0", "0"]];
    assert_eq!(funnel, expected);
    app.pass(60);
    move_to(&staff, &hiring, 1, 1);
    assert_eq!(board(), ["1", "2 3", "", ""], "the candidate is at the same position as before");
}

fn a_repeated_request_moves_once() {
    let (app, hiring, staff) = start();
    let repeated = staff.with_header("Idempotency-Key", "move-1");
    let path = hiring.decision(0, 2, "move");
    let dry_run = repeated.post(&format!("{path}?dryRun=true"), &reason()).expect(200).json();
    assert_eq!((&dry_run["dryRun"], &dry_run["step"]["status"]), (&json!(true), &json!("in_progress")));
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
    let first = repeated.post(&path, &reason()).expect(200);
    move_to(&staff, &hiring, 0, 1);
    let second = repeated.post(&path, &reason()).expect(200);
    assert_eq!((second.header("idempotency-replayed"), &second.body), (Some("true"), &first.body));
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["2"]);
}

fn a_long_reason_and_other_errors_are_reported_together() {
    let (app, hiring, staff) = start();
    let path = hiring.decision(0, 2, "move");
    for wrong in [json!("ä".repeat(10_001)), json!(1), json!(["a"]), json!("a\u{0}b")] {
        let body = json!({ "reason": wrong });
        assert_eq!(staff.post(&path, &body).refused(400, "validation_error").fields(), ["reason"]);
        let both = staff.post(&format!("{path}?dryRun=1"), &body).refused(400, "validation_error");
        assert_eq!(both.fields(), ["reason", "dryRun"]);
    }
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
    staff.post(&path, &json!({ "reason": "ä".repeat(10_000), "unknown": [1] })).expect(200);
    staff.post(&hiring.decision(1, 2, "move"), &json!({ "reason": null })).expect(200);
}

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

fn reason() -> Value {
    json!({ "reason": "a second look" })
}

#[track_caller]
fn move_to(staff: &Client, hiring: &Hiring, candidate: usize, step: usize) -> Value {
    staff.post(&hiring.decision(candidate, step, "move"), &reason()).expect(200).json()
}

/// Returns an application's status, its current step, and the time when the candidate arrived there.
fn current_step(app: &App, hiring: &Hiring, candidate: usize) -> String {
    let id = &hiring.candidates[candidate].application_id;
    app.sql(&format!("SELECT status, at_role_step_id, at_since FROM candidate_roles WHERE id = '{id}'")).join("")
}

/// Returns the times at which the validated steps of an application were validated, in the order of the steps.
fn validation_times(app: &App, hiring: &Hiring, candidate: usize) -> Vec<i64> {
    let id = &hiring.candidates[candidate].application_id;
    let times = app.sql(&format!(
        "SELECT validated_at FROM candidate_role_steps
         WHERE candidate_role_id = '{id}' AND validated_at IS NOT NULL
         ORDER BY step_order"
    ));
    times.iter().map(|time| time.parse().unwrap()).collect()
}

/// Returns the rows of applications, steps, roles and counts, without the times of their last changes.
fn state(app: &App) -> Vec<String> {
    let queries = [
        "SELECT * FROM candidate_role_steps ORDER BY id",
        "SELECT id, status, at_role_step_id, at_since, hired_date FROM candidate_roles ORDER BY id",
        "SELECT id, status, hired FROM roles ORDER BY id",
        "SELECT * FROM organization_statuses ORDER BY organization_id",
    ];
    queries.into_iter().flat_map(|sql| app.sql(sql)).collect()
}

fn micros(text: &str) -> i64 {
    use appliance::domain::timestamp::{Rounding, Timestamp};
    Timestamp::parse(text, Rounding::Down).unwrap().micros()
}

//! `POST /api/v1/candidate-steps/{id}/validate`: which step it accepts, where it moves the candidate, and what it
//! records.

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_validation_returns_the_step_and_the_next_step,
    validations_lead_to_the_final_step_which_only_a_hire_validates,
    only_the_current_step_can_be_validated,
    validating_a_step_of_an_ended_application_is_a_conflict,
    an_imported_application_without_a_step_in_progress_continues_at_its_first_pending_step,
    applications_of_a_closed_role_can_be_validated,
    a_validation_writes_an_activity_row_with_the_states_before_and_after,
    validating_a_parallel_step_does_not_change_the_time_at_the_current_step,
    long_notes_and_other_errors_are_reported_together,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";

fn a_validation_returns_the_step_and_the_next_step() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    let answer = staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200).json();
    let step = |index: usize, name: &str, kind: &str, status: &str| {
        json!({
            "id": hiring.candidates[0].steps[index],
            "roleId": hiring.role_id,
            "roleStepId": hiring.role_steps[index],
            "candidateRoleId": hiring.candidates[0].application_id,
            "name": name,
            "order": index + 1,
            "stepType": kind,
            "status": status,
        })
    };
    let mut validated = step(1, "Call", "screening", "validated");
    validated["validatedAt"] = json!(NOW);
    let next = step(2, "Interview", "interview", "in_progress");
    assert_eq!(answer, json!({ "success": true, "step": validated, "nextStep": next }));
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
    assert_eq!(current_step(&app, &hiring, 0), format!("In Progress|{}|{}", hiring.role_steps[2], micros(NOW)));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn validations_lead_to_the_final_step_which_only_a_hire_validates() {
    let (app, hiring, staff) = start();
    for step in 1..3 {
        let next = staff.post_empty(&hiring.decision(0, step, "validate")).expect(200).json()["nextStep"].take();
        assert_eq!(next["id"], hiring.candidates[0].steps[step + 1]);
    }
    let problem = staff.post_empty(&hiring.decision(0, 3, "validate")).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("/hire"), "{problem}");
    staff.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated"; 4]);
    assert_eq!(current_step(&app, &hiring, 0), "Hired|null|null");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn only_the_current_step_can_be_validated() {
    let app = App::start();
    let steps = ["validated", "in_progress", "skipped", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &steps));
    let staff = app.user(&hiring.staff("owner"));
    for (step, words) in [(0, "already validated"), (2, "skipped"), (3, "pending")] {
        let problem = staff.post_empty(&hiring.decision(0, step, "validate")).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    assert_eq!(hiring.step_statuses(&app, 0), steps);
    // The skipped step stays skipped.
    let next = staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200).json()["nextStep"].take();
    assert_eq!(next["id"], hiring.candidates[0].steps[3]);
    staff.post_empty(&hiring.decision(0, 1, "validate")).refused(409, "conflict");
}

fn validating_a_step_of_an_ended_application_is_a_conflict() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Hired", &["validated", "skipped", "skipped", "validated"]);
        set_steps(document, 1, "Not Selected", &["validated", "in_progress", "rejected", "pending"]);
        set_steps(document, 2, "Withdrawn", &["validated", "in_progress", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("owner"));
    for (candidate, words) in [(0, "hired"), (1, "rejected"), (2, "withdrawn")] {
        let path = hiring.decision(candidate, 1, "validate");
        let problem = staff.post_empty(&path).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn an_imported_application_without_a_step_in_progress_continues_at_its_first_pending_step() {
    let app = App::start();
    let steps = ["validated", "pending", "pending", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &steps));
    let staff = app.user(&hiring.staff("moderator"));
    staff.post_empty(&hiring.decision(0, 2, "validate")).refused(409, "conflict");
    staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn applications_of_a_closed_role_can_be_validated() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["status"] = json!("closed"));
    let staff = app.user(&hiring.staff("admin"));
    staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    assert_eq!(hiring.step_statuses(&app, 0)[2], "in_progress");
}

fn a_validation_writes_an_activity_row_with_the_states_before_and_after() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    staff.post(&hiring.decision(0, 1, "validate"), &json!({ "outcomeNotes": "knows turbines" })).expect(200);
    staff.post_empty(&hiring.decision(1, 1, "validate")).expect(200);
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
            "steps": [step(1, "in_progress", None), step(2, "pending", None)],
        },
        "after": {
            "application": "In Progress", "role": "open", "hire": null,
            "steps": [step(1, "validated", Some(NOW)), step(2, "in_progress", None)],
            "outcomeNotes": "knows turbines",
        },
    });
    let rows = app.sql("SELECT action, candidate_role_step_id, detail FROM activities ORDER BY number");
    let [action, addressed, detail] = rows[0].splitn(3, '|').collect::<Vec<_>>()[..] else {
        panic!("expected three columns")
    };
    assert_eq!((action, addressed), ("candidate_step.validated", steps[1].as_str()));
    assert_eq!(serde_json::from_str::<Value>(detail).unwrap(), expected);
    assert!(!rows[1].contains("outcomeNotes"), "{}", rows[1]);
}

/// An import can place a candidate at two steps. Validating one of them leaves the candidate at the other.
fn validating_a_parallel_step_does_not_change_the_time_at_the_current_step() {
    let app = App::start();
    let steps = ["in_progress", "in_progress", "pending", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &steps));
    let staff = app.user(&hiring.staff("owner"));
    let before = current_step(&app, &hiring, 0);
    app.pass(60);
    let next = staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200).json()["nextStep"].take();
    assert_eq!(next["id"], hiring.candidates[0].steps[0]);
    assert_eq!(hiring.step_statuses(&app, 0), ["in_progress", "validated", "pending", "pending"]);
    assert_eq!(current_step(&app, &hiring, 0), before);
}

fn long_notes_and_other_errors_are_reported_together() {
    let (app, hiring, staff) = start();
    let path = hiring.decision(0, 1, "validate");
    for wrong in [json!("ä".repeat(10_001)), json!(1), json!(["a"])] {
        let body = json!({ "outcomeNotes": wrong });
        assert_eq!(staff.post(&path, &body).refused(400, "validation_error").fields(), ["outcomeNotes"]);
        let both = staff.post(&format!("{path}?dryRun=1"), &body).refused(400, "validation_error");
        assert_eq!(both.fields(), ["outcomeNotes", "dryRun"]);
    }
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
    staff.post(&path, &json!({ "outcomeNotes": "ä".repeat(10_000), "unknown": [1] })).expect(200);
}

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

/// Returns an application's status, its current step, and the time when the candidate arrived there.
fn current_step(app: &App, hiring: &Hiring, candidate: usize) -> String {
    let id = &hiring.candidates[candidate].application_id;
    app.sql(&format!("SELECT status, at_role_step_id, at_since FROM candidate_roles WHERE id = '{id}'")).join("")
}

fn micros(text: &str) -> i64 {
    use appliance::domain::timestamp::{Rounding, Timestamp};
    Timestamp::parse(text, Rounding::Down).unwrap().micros()
}

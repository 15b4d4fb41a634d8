//! `POST /api/v1/candidate-steps/{id}/reopen`: takes back a rejection at any step, but never restores a hire.

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring};

crate::tests![
    reopening_a_step_removes_every_trace_of_the_rejection,
    reopening_any_step_restores_the_exact_state,
    the_application_is_restored_when_its_last_rejection_is_reopened,
    reopening_restores_the_status_withdrawn,
    reopening_does_not_restore_a_reversed_hire,
    a_reopening_is_not_delivered_to_the_hr_system,
    applications_of_closed_and_filled_roles_can_be_reopened,
    reopening_a_step_that_is_not_rejected_is_a_conflict,
    reopening_an_imported_rejection_restores_an_assumed_status,
    reopening_a_rejection_with_an_erased_detail_restores_an_assumed_status,
    the_activity_of_a_reopening_holds_the_reopened_rejection,
    repeated_rejections_and_reopenings_restore_the_same_state,
    a_reopening_without_a_reason_of_1_to_10000_characters_is_refused,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";

fn reopening_a_step_removes_every_trace_of_the_rejection() {
    let (app, hiring, staff) = start();
    let before = state(&app);
    let body = json!({ "outcomeNotes": "no", "outcomeType": "other", "outcomeReason": "why" });
    let since = format!("SELECT at_since FROM candidate_roles WHERE id = '{}'", hiring.candidates[0].application_id);
    let since_before = app.sql(&since);
    staff.post(&hiring.reject(0), &body).expect(200);
    app.set_clock(NOW);
    let answer = reopen(&staff, &hiring, 0, 1);
    let step = json!({
        "id": hiring.candidates[0].steps[1],
        "roleId": hiring.role_id,
        "roleStepId": hiring.role_steps[1],
        "candidateRoleId": hiring.candidates[0].application_id,
        "name": "Call",
        "order": 2,
        "stepType": "screening",
        "status": "in_progress",
    });
    assert_eq!(answer, json!({ "success": true, "step": step }));
    assert_eq!(state(&app), before);
    assert_ne!(since_before, [micros(NOW).to_string()]);
    assert_eq!(app.sql(&since), since_before, "the time at the step includes the time before the rejection");
    assert_eq!(app.check(), Vec::<String>::new());
}

/// The candidate is at the second of four steps. The first step has its own validation time, and the third step is
/// skipped.
fn reopening_any_step_restores_the_exact_state() {
    let app = App::start();
    let steps = ["validated", "in_progress", "skipped", "pending"];
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &steps);
        first_role_of(document)["candidates"][0]["steps"][0]["validatedAt"] = json!("2026-11-02T10:00:00.123456Z");
    });
    let staff = app.user(&hiring.staff("owner"));
    let before = state(&app);
    for (step, status) in steps.into_iter().enumerate() {
        staff.post_empty(&hiring.decision(0, step, "reject")).expect(200);
        assert_ne!(state(&app), before);
        let shown = reopen(&staff, &hiring, 0, step)["step"].take();
        assert_eq!(shown["status"], status);
        let validated_at = (step == 0).then(|| json!("2026-11-02T10:00:00.123456Z"));
        assert_eq!(shown.get("validatedAt"), validated_at.as_ref());
        assert_eq!(state(&app), before, "at {step}");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_application_is_restored_when_its_last_rejection_is_reopened() {
    let (app, hiring, staff) = start();
    let before = state(&app);
    for step in [1, 0, 3] {
        staff.post_empty(&hiring.decision(0, step, "reject")).expect(200);
    }
    for step in [1, 3] {
        reopen(&staff, &hiring, 0, step);
        assert_eq!(application(&app, &hiring, 0), "Not Selected", "the first step is still rejected");
        assert_eq!(app.check(), Vec::<String>::new());
    }
    staff.post_empty(&hiring.hire(0)).refused(409, "conflict");
    reopen(&staff, &hiring, 0, 0);
    assert_eq!(state(&app), before);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn reopening_restores_the_status_withdrawn() {
    let app = App::start();
    let steps = ["validated", "in_progress", "pending", "pending"];
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Withdrawn", &steps);
        set_steps(document, 1, "Withdrawn", &["validated", "rejected", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("owner"));
    let before = state(&app);
    staff.post_empty(&hiring.decision(0, 1, "reject")).expect(200);
    assert_eq!(application(&app, &hiring, 0), "Not Selected");
    reopen(&staff, &hiring, 0, 1);
    assert_eq!(state(&app), before);
    let refused = staff.post(&hiring.decision(1, 1, "reopen"), &reason()).refused(409, "conflict");
    assert!(refused.text().contains("withdrawn"), "{}", refused.text());
    assert_eq!(app.check(), Vec::<String>::new());
}

fn reopening_does_not_restore_a_reversed_hire() {
    for (rejected, expected) in [
        (0, ["in_progress", "pending", "pending", "pending"]),
        (1, ["validated", "in_progress", "pending", "pending"]),
        (2, ["validated", "validated", "in_progress", "pending"]),
        (3, ["validated", "validated", "skipped", "in_progress"]),
    ] {
        let app = App::start();
        let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
        let staff = app.user(&hiring.staff("owner"));
        let body = json!({ "notes": "welcome", "offerAcceptedDate": "2026-11-19", "externalPositionId": "A-1" });
        staff.post(&hiring.decision(0, 1, "hire"), &body).expect(200);
        staff.post_empty(&hiring.decision(0, rejected, "reject")).expect(200);
        let shown = reopen(&staff, &hiring, 0, rejected)["step"].take();
        assert_eq!((&shown["status"], shown.get("validatedAt")), (&json!("in_progress"), None));
        assert_eq!(hiring.step_statuses(&app, 0), expected, "at {rejected}");
        let columns = "status, hired_date, offer_accepted_date, external_position_id, hire_notes, at_role_step_id";
        let id = &hiring.candidates[0].application_id;
        let found = app.sql(&format!("SELECT {columns} FROM candidate_roles WHERE id = '{id}'"));
        assert_eq!(found, [format!("In Progress|null|null|null|null|{}", hiring.role_steps[rejected])]);
        assert_eq!(app.sql("SELECT status, hired FROM roles"), ["open|0"]);
        assert_eq!(app.check(), Vec::<String>::new());
        staff.post_empty(&hiring.hire(0)).expect(200);
        assert_eq!(app.sql("SELECT status, hired FROM roles"), ["filled|1"]);
    }
}

fn a_reopening_is_not_delivered_to_the_hr_system() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        document["organizations"][0]["hrIntegration"] =
            json!({ "url": "https://hr.example.com/hooks", "secret": secret, "enabled": false });
    });
    let staff = app.user(&hiring.staff("owner"));
    staff.post_empty(&hiring.hire(0)).expect(200);
    staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    reopen(&staff, &hiring, 0, 3);
    staff.post_empty(&hiring.hire(0)).expect(200);
    let deliveries = app.admin().get("/api/admin/hr-deliveries").expect(200).json()["data"].take();
    let types: Vec<&str> = deliveries.as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["candidate.hired", "candidate.hire_reversed", "candidate.hired"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn applications_of_closed_and_filled_roles_can_be_reopened() {
    let app = App::start();
    for status in ["closed", "filled"] {
        let hiring = app.hiring_with(|document| {
            let role = first_role_of(document);
            (role["status"], role["positions"]) = (json!(status), json!(1));
            set_steps(document, 1, "Hired", &["validated", "skipped", "skipped", "validated"]);
        });
        let staff = app.user(&hiring.staff("owner"));
        staff.post_empty(&hiring.reject(0)).expect(200);
        reopen(&staff, &hiring, 0, 1);
        assert_eq!(application(&app, &hiring, 0), "In Progress", "{status}");
        staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
        staff.post_empty(&hiring.hire(0)).refused(400, "bad_request");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn reopening_a_step_that_is_not_rejected_is_a_conflict() {
    let app = App::start();
    let steps = ["validated", "in_progress", "skipped", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &steps));
    let staff = app.user(&hiring.staff("owner"));
    for (step, words) in ["validated", "in progress", "skipped", "pending"].into_iter().enumerate() {
        let problem = staff.post(&hiring.decision(0, step, "reopen"), &reason()).refused(409, "conflict").json();
        assert_eq!(problem["detail"], format!("the step is not rejected: it is {words}"));
    }
    staff.post_empty(&hiring.reject(0)).expect(200);
    reopen(&staff, &hiring, 0, 1);
    staff.post(&hiring.decision(0, 1, "reopen"), &reason()).refused(409, "conflict");
}

fn reopening_an_imported_rejection_restores_an_assumed_status() {
    for (before, step, expected) in [
        (["validated", "rejected", "pending", "pending"], 1, ["validated", "in_progress", "pending", "pending"]),
        (["validated", "in_progress", "rejected", "pending"], 2, ["validated", "in_progress", "pending", "pending"]),
        (["rejected", "in_progress", "pending", "pending"], 0, ["skipped", "in_progress", "pending", "pending"]),
    ] {
        let app = App::start();
        let hiring = app.hiring_with(|document| set_steps(document, 0, "Not Selected", &before));
        let staff = app.user(&hiring.staff("owner"));
        reopen(&staff, &hiring, 0, step);
        assert_eq!(hiring.step_statuses(&app, 0), expected, "{before:?}");
        assert_eq!(application(&app, &hiring, 0), "In Progress");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn reopening_a_rejection_with_an_erased_detail_restores_an_assumed_status() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.decision(0, 0, "reject")).expect(200);
    app.change(
        "UPDATE candidates SET erased_at = 1;
         UPDATE activities SET detail = '{}', salt = NULL WHERE candidate_id IS NOT NULL;
         UPDATE candidates SET erased_at = NULL",
    );
    reopen(&staff, &hiring, 0, 0);
    assert_eq!(hiring.step_statuses(&app, 0), ["skipped", "in_progress", "pending", "pending"]);
    assert!(app.check().iter().all(|finding| finding.contains("the detail was removed")), "{:?}", app.check());
}

fn the_activity_of_a_reopening_holds_the_reopened_rejection() {
    let (app, hiring, staff) = start();
    let body = json!({ "outcomeNotes": "no", "outcomeType": "other" });
    staff.post(&hiring.reject(0), &body).expect(200);
    reopen(&staff, &hiring, 0, 1);
    let rows = app.sql("SELECT action, detail FROM activities ORDER BY number");
    let details: Vec<(String, Value)> = rows
        .iter()
        .map(|row| row.split_once('|').unwrap())
        .map(|(action, detail)| (action.to_owned(), serde_json::from_str(detail).unwrap()))
        .collect();
    let [(rejected, rejection), (reopened, reopening)] = &details[..] else {
        panic!("expected two activity rows: {rows:?}")
    };
    assert_eq!((rejected.as_str(), reopened.as_str()), ("candidate_step.rejected", "candidate_step.reopened"));
    let mut after = reopening["after"].clone();
    assert_eq!(after["reason"].take(), "a mistake");
    after.as_object_mut().unwrap().remove("reason");
    assert_eq!(reopening["before"], rejection["after"], "`before` has the rejection with its notes and outcome");
    assert_eq!(after, rejection["before"]);
    assert_eq!(rejection["after"]["steps"][0]["rejectionReason"], "no");
}

fn repeated_rejections_and_reopenings_restore_the_same_state() {
    let (app, hiring, staff) = start();
    let before = state(&app);
    for _ in 0..3 {
        staff.post_empty(&hiring.reject(0)).expect(200);
        reopen(&staff, &hiring, 0, 1);
        staff.post_empty(&hiring.decision(0, 0, "reject")).expect(200);
        reopen(&staff, &hiring, 0, 0);
        assert_eq!(state(&app), before);
    }
    // A rejection at the next step is reopened there and not at the step of an earlier rejection.
    staff.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    staff.post_empty(&hiring.decision(0, 2, "reject")).expect(200);
    reopen(&staff, &hiring, 0, 2);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_reopening_without_a_reason_of_1_to_10000_characters_is_refused() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.reject(0)).expect(200);
    let path = hiring.decision(0, 1, "reopen");
    assert_eq!(staff.post_empty(&path).refused(400, "validation_error").fields(), ["reason"]);
    for wrong in [json!(null), json!(""), json!(" \t"), json!(1), json!("ä".repeat(10_001))] {
        let refused = staff.post(&path, &json!({ "reason": wrong })).refused(400, "validation_error");
        assert_eq!(refused.fields(), ["reason"], "{wrong}");
    }
    let both = staff.post(&format!("{path}?dryRun=maybe"), &json!({})).refused(400, "validation_error");
    assert_eq!(both.fields(), ["reason", "dryRun"]);
    assert_eq!(application(&app, &hiring, 0), "Not Selected");
    staff.post(&path, &json!({ "reason": "ä".repeat(10_000) })).expect(200);
}

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

fn reason() -> Value {
    json!({ "reason": "a mistake" })
}

#[track_caller]
fn reopen(staff: &Client, hiring: &Hiring, candidate: usize, step: usize) -> Value {
    staff.post(&hiring.decision(candidate, step, "reopen"), &reason()).expect(200).json()
}

fn application(app: &App, hiring: &Hiring, candidate: usize) -> String {
    let id = &hiring.candidates[candidate].application_id;
    app.sql(&format!("SELECT status FROM candidate_roles WHERE id = '{id}'")).join("")
}

/// Returns the rows of applications, steps, roles and counts, without the times of their last changes and without
/// the times at which candidates arrived at their current steps (`at_since`).
fn state(app: &App) -> Vec<String> {
    let applications = "SELECT id, status, at_role_step_id, hired_date, hire_notes FROM candidate_roles ORDER BY id";
    let queries = [
        "SELECT * FROM candidate_role_steps ORDER BY id",
        applications,
        "SELECT id, status, hired FROM roles ORDER BY id",
        "SELECT * FROM organization_statuses ORDER BY organization_id",
    ];
    queries.into_iter().flat_map(|sql| app.sql(sql)).collect()
}

fn micros(text: &str) -> i64 {
    use appliance::domain::timestamp::{Rounding, Timestamp};
    Timestamp::parse(text, Rounding::Down).unwrap().micros()
}

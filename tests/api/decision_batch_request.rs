//! `POST /api/v1/roles/{id}/decisions`: dry runs, repeated requests, and the limits and errors of requests.

use serde_json::{Value, json};

use crate::decision_batch::{applications, assert_sound, decide, outcomes, path, reject_all, start, traces};
use crate::support::crowd;

crate::tests![
    a_batch_has_1_to_500_items,
    invalid_fields_are_reported_together,
    the_step_of_a_move_must_be_a_step_of_the_role,
    a_role_of_another_organization_is_treated_like_an_unknown_role,
    a_dry_run_is_answered_like_the_batch_and_changes_nothing,
    a_repeated_request_decides_once,
    the_stored_response_about_an_erased_candidate_is_gone,
];

fn a_batch_has_1_to_500_items() {
    let (app, hiring, staff) = start();
    crowd::add(&app, &hiring, 501);
    let ids: Vec<String> = (0..501).map(|number| format!("app_crowd_{number:05}")).collect();
    let step = "cstep_crowd_00500_1";
    let before = traces(&app);
    for (applications, steps) in [(json!([]), json!([])), (json!(ids), json!([])), (json!(ids[..500]), json!([step]))] {
        let body = json!({ "action": "reject", "candidateRoleIds": applications, "candidateStepIds": steps });
        let problem = staff.post(&path(&hiring), &body).refused(400, "validation_error");
        assert_eq!(problem.fields(), ["candidateRoleIds"]);
    }
    staff.post(&path(&hiring), &json!({ "action": "reject" })).refused(400, "validation_error");
    assert_eq!(traces(&app), before);
    let answer = decide(&staff, &hiring, &json!({ "action": "reject", "candidateRoleIds": ids[..500] }));
    assert_eq!((&answer["done"], &answer["refused"]), (&json!(500), &json!(0)));
    let one = decide(&staff, &hiring, &json!({ "action": "reject", "candidateRoleIds": ids[500..] }));
    assert_eq!(outcomes(&one), ["done"]);
    assert_eq!(app.sql("SELECT count(*) FROM candidate_roles WHERE status = 'Not Selected'"), ["501"]);
    assert_sound(&app);
}

fn invalid_fields_are_reported_together() {
    let (app, hiring, staff) = start();
    let before = traces(&app);
    let ids = applications(&hiring);
    let long = "ä".repeat(256);
    for (body, expected) in [
        (json!({}), vec!["action", "candidateRoleIds"]),
        (json!({ "action": "withdraw", "candidateRoleIds": ids }), vec!["action"]),
        (json!({ "action": "move", "candidateRoleIds": ids, "reason": 1 }), vec!["roleStepId", "reason"]),
        (
            json!({ "action": "validate", "candidateRoleIds": [1], "outcomeNotes": [] }),
            vec!["outcomeNotes", "candidateRoleIds"],
        ),
        (
            json!({ "action": "reject", "candidateRoleIds": ids, "outcomeType": long, "outcomeReason": long, "outcomeNotes": "ä".repeat(10_001) }),
            vec!["outcomeNotes", "outcomeType", "outcomeReason"],
        ),
        (
            json!({ "action": "reject", "candidateRoleIds": ids, "roleStepId": "x", "reason": "y" }),
            vec!["roleStepId", "reason"],
        ),
        (
            json!({ "action": "validate", "candidateRoleIds": ids, "outcomeType": "x", "outcomeReason": "y" }),
            vec!["outcomeType", "outcomeReason"],
        ),
        (
            json!({ "action": "move", "candidateRoleIds": ids, "roleStepId": hiring.role_steps[1], "outcomeNotes": "x" }),
            vec!["outcomeNotes"],
        ),
    ] {
        let fields = staff.post(&path(&hiring), &body).refused(400, "validation_error").fields();
        assert_eq!(without_repeats(fields), expected, "{body}");
        let both = staff.post(&format!("{}?dryRun=1", path(&hiring)), &body).refused(400, "validation_error").fields();
        assert_eq!(both.last().map(String::as_str), Some("dryRun"), "{body}");
    }
    staff.post(&path(&hiring), &json!([])).refused(400, "bad_request");
    assert_eq!(traces(&app), before);
    let body = json!({
        "action": "reject", "candidateRoleIds": ids, "outcomeType": long.split_at(510).0, "outcomeNotes": "ä".repeat(10_000),
        "unknown": [], "reason": null,
    });
    assert_eq!(outcomes(&decide(&staff, &hiring, &body)), ["done"; 3]);
}

fn the_step_of_a_move_must_be_a_step_of_the_role() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let problem = |step: &str| {
        let body = json!({ "action": "move", "roleStepId": step, "candidateRoleIds": applications(&hiring) });
        let mut problem = staff.post(&path(&hiring), &body).refused(404, "not_found").json();
        problem["requestId"].take();
        problem
    };
    let unknown = problem("none");
    assert_eq!(unknown["detail"], "the role has no such step");
    assert_eq!([problem(&other.role_steps[2]), problem("ä")], [unknown.clone(), unknown]);
    // A step that was added to the role after a candidate applied is not a step of that candidate's application.
    let added = app.user_with_all(&hiring.staff("owner"));
    let body = json!({ "name": "Trial day", "stepType": "other" });
    let step = added.post(&format!("/api/v1/roles/{}/steps", hiring.role_id), &body).expect(200).json();
    let step = step["data"]["id"].as_str().unwrap().to_owned();
    let body = json!({ "action": "move", "roleStepId": step, "candidateRoleIds": applications(&hiring) });
    let answer = decide(&staff, &hiring, &body);
    assert_eq!(outcomes(&answer), ["conflict"; 3]);
    assert_eq!(answer["items"][0]["detail"], "the application does not have this step");
}

fn a_role_of_another_organization_is_treated_like_an_unknown_role() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let problem = |role: &str| {
        let path = format!("/api/v1/roles/{role}/decisions");
        let mut problem = staff.post(&path, &reject_all(&hiring)).refused(404, "not_found").json();
        problem["requestId"].take();
        problem
    };
    assert_eq!(problem(&other.role_id), problem("none"));
    app.user(&hiring.staff("member")).post(&path(&hiring), &reject_all(&hiring)).refused(403, "forbidden");
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn a_dry_run_is_answered_like_the_batch_and_changes_nothing() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.hire(2)).expect(200);
    let before = traces(&app);
    let mut body = reject_all(&hiring);
    body["candidateRoleIds"].as_array_mut().unwrap().push(json!("none"));
    let mut dry_run = staff.post(&format!("{}?dryRun=true", path(&hiring)), &body).expect(200).json();
    assert_eq!(traces(&app), before);
    assert_eq!(app.sql("SELECT count(*) FROM decision_batches"), ["0"]);
    assert_eq!((dry_run["dryRun"].take(), &dry_run["batchId"]), (json!(true), &Value::Null));
    let answer = decide(&staff, &hiring, &body);
    assert_eq!(outcomes(&answer), ["done", "done", "conflict", "not_found"]);
    for member in ["done", "refused", "items"] {
        assert_eq!(dry_run[member], answer[member]);
    }
}

fn a_repeated_request_decides_once() {
    let (app, hiring, staff) = start();
    let repeated = staff.with_header("Idempotency-Key", "batch-1");
    let first = repeated.post(&path(&hiring), &reject_all(&hiring)).expect(200);
    staff.post(&hiring.decision(0, 1, "reopen"), &json!({ "reason": "a mistake" })).expect(200);
    let second = repeated.post(&path(&hiring), &reject_all(&hiring)).expect(200);
    assert_eq!((second.header("idempotency-replayed"), &second.body), (Some("true"), &first.body));
    let other = json!({ "action": "validate", "candidateRoleIds": applications(&hiring) });
    repeated.post(&path(&hiring), &other).refused(422, "idempotency_key_reused");
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["4"]);
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
    // Without the key, the same request is a new batch.
    assert_eq!(outcomes(&decide(&staff, &hiring, &reject_all(&hiring))), ["done", "conflict", "conflict"]);
}

fn the_stored_response_about_an_erased_candidate_is_gone() {
    let (app, hiring, staff) = start();
    let repeated = staff.with_header("Idempotency-Key", "batch-1");
    let application = &hiring.candidates[0].application_id;
    let body = json!({ "action": "reject", "candidateRoleIds": [application, "none"], "outcomeNotes": "an illness" });
    repeated.post(&path(&hiring), &body).expect(200);
    app.admin().delete(&hiring.candidate_path(0)).expect(200);
    repeated.post(&path(&hiring), &body).refused(410, "gone");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn without_repeats(mut fields: Vec<String>) -> Vec<String> {
    fields.dedup();
    fields
}

//! `POST /api/v1/candidate-roles/{id}/withdraw`: staff withdraw an application on behalf of the candidate.

use serde_json::{Value, json};

use crate::support::hiring::set_steps;
use crate::support::{App, Client, Hiring};

crate::tests![
    withdrawing_an_application_leaves_its_steps_unchanged,
    withdrawing_an_ended_application_is_a_conflict,
    the_reason_is_recorded_in_the_activity,
    a_reason_of_a_wrong_type_or_length_is_refused,
    the_status_counts_follow_a_withdrawal,
    a_withdrawn_application_can_be_rejected_but_not_hired,
    a_withdrawal_needs_the_scope_pipeline_write,
];

fn withdraw_path(hiring: &Hiring, candidate: usize) -> String {
    format!("/api/v1/candidate-roles/{}/withdraw", hiring.candidates[candidate].application_id)
}

fn organization_with_owner(app: &App) -> (Hiring, Client) {
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    (hiring, owner)
}

fn withdrawing_an_application_leaves_its_steps_unchanged() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let read = || owner.get(&hiring.candidate_path(0)).expect(200).json()["data"]["applications"][0].take();
    let before = read();
    app.pass(60);
    let answer = owner.post_empty(&withdraw_path(&hiring, 0)).expect(200).json();
    assert_eq!(answer["success"], true);
    let after = &answer["data"];
    assert_eq!((&after["status"], &after["currentStep"]), (&json!("Withdrawn"), &Value::Null));
    assert_eq!((&after["steps"], &after["appliedAt"]), (&before["steps"], &before["appliedAt"]));
    assert!(after["updatedAt"].as_str() > before["updatedAt"].as_str());
    assert_eq!(read(), *after);
    let found = owner.get(&format!("{}?status=Withdrawn", hiring.candidates_path())).expect(200).json();
    assert_eq!(found["data"][0]["id"], hiring.candidates[0].candidate_id);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn withdrawing_an_ended_application_is_a_conflict() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    owner.post_empty(&withdraw_path(&hiring, 0)).expect(200);
    owner.post_empty(&hiring.hire(1)).expect(200);
    owner.post_empty(&hiring.reject(2)).expect(200);
    let before = app.sql("SELECT id, status, updated_at FROM candidate_roles");
    for (candidate, status) in [(0, "already Withdrawn"), (1, "Hired"), (2, "Not Selected")] {
        let refused = owner.post_empty(&withdraw_path(&hiring, candidate)).refused(409, "conflict");
        let words = format!("the application is {status}");
        assert!(refused.json()["detail"].as_str().unwrap().starts_with(&words), "{}", refused.text());
    }
    assert_eq!(app.sql("SELECT id, status, updated_at FROM candidate_roles"), before);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_reason_is_recorded_in_the_activity() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    owner.post(&withdraw_path(&hiring, 0), &json!({ "reason": "Stays \"there\"" })).expect(200);
    owner.post(&withdraw_path(&hiring, 1), &json!({ "reason": null })).expect(200);
    let rows = app.sql(
        "SELECT action, user_id, role_id, candidate_id, candidate_role_id, candidate_role_step_id, detail
         FROM activities ORDER BY number",
    );
    let row = |candidate: usize, after: &str| {
        let ids_of = &hiring.candidates[candidate];
        let detail = format!(r#"{{"before":{{"application":"In Progress"}},"after":{after}}}"#);
        let ids =
            [&hiring.staff("owner"), &hiring.role_id, &ids_of.candidate_id, &ids_of.application_id, &ids_of.steps[1]];
        format!("candidate_role.withdrawn|{}|{detail}", ids.map(String::as_str).join("|"))
    };
    let with_reason = r#"{"application":"Withdrawn","reason":"Stays \"there\""}"#;
    assert_eq!(rows, [row(0, with_reason), row(1, r#"{"application":"Withdrawn"}"#)]);
}

fn a_reason_of_a_wrong_type_or_length_is_refused() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let path = withdraw_path(&hiring, 0);
    for wrong in [json!(1), json!(["x"]), json!("ä".repeat(10_001))] {
        let refused = owner.post(&path, &json!({ "reason": wrong })).refused(400, "validation_error");
        assert_eq!(refused.fields(), ["reason"]);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
    owner.post(&path, &json!({ "reason": "ä".repeat(10_000) })).expect(200);
}

fn the_status_counts_follow_a_withdrawal() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let figures = || app.sql("SELECT in_progress, hired, not_selected, withdrawn FROM organization_statuses");
    assert_eq!(figures(), ["3|0|0|0"]);
    owner.post_empty(&withdraw_path(&hiring, 0)).expect(200);
    assert_eq!(figures(), ["2|0|0|1"]);
    let added = json!({ "name": "Ada", "email": "ada@example.org", "roleId": hiring.role_id });
    owner.post(&hiring.candidates_path(), &added).expect(200);
    assert_eq!(figures(), ["3|0|0|1"]);
}

fn a_withdrawn_application_can_be_rejected_but_not_hired() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    owner.post_empty(&withdraw_path(&hiring, 0)).expect(200);
    owner.post_empty(&hiring.hire(0)).refused(409, "conflict");
    owner.post_empty(&hiring.reject(0)).expect(200);
    let read = owner.get(&hiring.candidate_path(0)).expect(200).json();
    assert_eq!(read["data"]["applications"][0]["status"], "Not Selected");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_withdrawal_needs_the_scope_pipeline_write() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["in_progress", "pending", "pending", "pending"]);
    });
    let key =
        json!({ "name": "test", "userId": hiring.staff("owner"), "scopes": ["candidates:write", "candidates:read"] });
    let client = app.key(&app.make_key_with(&key).1);
    client.post_empty(&withdraw_path(&hiring, 0)).refused(403, "insufficient_scope");
    app.user(&hiring.staff("hr_representative")).post_empty(&withdraw_path(&hiring, 0)).expect(200);
}

//! `GET /api/v1/roles/{id}/in-progress`: the candidates whose applications to a role are in progress.

use serde_json::{Value, json};

use crate::decision_batch::{decide, outcomes};
use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    the_remaining_candidates_of_a_filled_role_are_listed_and_decided_on_together,
    the_remaining_candidates_of_a_closed_role_are_listed,
    ended_applications_and_erased_candidates_are_not_listed,
    a_candidate_without_a_current_step_is_listed,
    paging_reaches_the_end_while_candidates_are_decided_on,
    invalid_parameters_are_reported_together,
    a_role_of_another_organization_is_treated_like_an_unknown_role,
];

fn path(hiring: &Hiring) -> String {
    format!("/api/v1/roles/{}/in-progress", hiring.role_id)
}

fn staff(app: &App, hiring: &Hiring) -> Client {
    app.user_with_all(&hiring.staff("owner"))
}

#[track_caller]
fn list(client: &Client, path: &str) -> Value {
    client.get(path).expect(200).json()["data"].take()
}

fn ids(data: &Value) -> Vec<String> {
    let entries = data["candidates"].as_array().unwrap().iter();
    entries.map(|entry| entry["candidateRoleId"].as_str().unwrap().to_owned()).collect()
}

fn entry(hiring: &Hiring, nth: usize) -> Value {
    let ids = &hiring.candidates[nth];
    json!({
        "candidate": { "id": ids.candidate_id, "name": format!("Candidate {}", nth + 1) },
        "candidateRoleId": ids.application_id,
        "appliedAt": "2026-11-01T10:00:00.000000Z",
        "step": { "candidateStepId": ids.steps[1], "name": "Call", "since": "2026-11-02T10:00:00.000000Z" },
    })
}

fn the_remaining_candidates_of_a_filled_role_are_listed_and_decided_on_together() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
    let staff = staff(&app, &hiring);
    assert_eq!(list(&staff, &path(&hiring))["roleStatus"], "open");
    staff.post_empty(&hiring.hire(1)).expect(200);
    let data = list(&staff, &path(&hiring));
    let expected = json!({
        "roleId": hiring.role_id, "roleStatus": "filled", "total": 2,
        "candidates": [entry(&hiring, 0), entry(&hiring, 2)],
        "pagination": { "limit": 50, "hasMore": false, "nextCursor": null },
    });
    assert_eq!(data, expected);
    let body = json!({ "action": "reject", "outcomeReason": "role_filled", "candidateRoleIds": ids(&data) });
    assert_eq!(outcomes(&decide(&staff, &hiring, &body)), ["done"; 2]);
    let data = list(&staff, &path(&hiring));
    assert_eq!((&data["total"], &data["candidates"]), (&json!(0), &json!([])));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_remaining_candidates_of_a_closed_role_are_listed() {
    let app = App::start();
    let hiring = app.hiring();
    let staff = staff(&app, &hiring);
    let reason = json!({ "reason": "a hiring freeze" });
    staff.post(&format!("/api/v1/roles/{}/close", hiring.role_id), &reason).expect(200);
    let data = list(&staff, &path(&hiring));
    assert_eq!((&data["roleStatus"], &data["total"]), (&json!("closed"), &json!(3)));
    assert_eq!(data["candidates"], json!([entry(&hiring, 0), entry(&hiring, 1), entry(&hiring, 2)]));
}

fn ended_applications_and_erased_candidates_are_not_listed() {
    let app = App::start();
    let hiring = app.hiring();
    let staff = staff(&app, &hiring);
    staff.post_empty(&hiring.reject(0)).expect(200);
    staff.delete(&hiring.candidate_path(1)).expect(200);
    let data = list(&staff, &path(&hiring));
    assert_eq!((&data["total"], ids(&data)), (&json!(1), vec![hiring.candidates[2].application_id.clone()]));
}

fn a_candidate_without_a_current_step_is_listed() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["validated", "validated", "skipped", "skipped"]);
    });
    let staff = staff(&app, &hiring);
    let data = list(&staff, &path(&hiring));
    assert_eq!((&data["total"], &data["candidates"][0]["step"]), (&json!(3), &Value::Null));
    let body = json!({ "action": "reject", "candidateRoleIds": ids(&data) });
    assert_eq!(outcomes(&decide(&staff, &hiring, &body)), ["done"; 3]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn paging_reaches_the_end_while_candidates_are_decided_on() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 205);
    let staff = staff(&app, &hiring);
    let first = list(&staff, &format!("{}?limit=201", path(&hiring)));
    assert_eq!((&first["total"], ids(&first).len()), (&json!(208), 200));
    let body = json!({ "action": "reject", "candidateRoleIds": ids(&first) });
    assert_eq!(decide(&staff, &hiring, &body)["done"], 200);
    let cursor = first["pagination"]["nextCursor"].as_str().unwrap();
    let second = list(&staff, &format!("{}?limit=0&cursor={cursor}", path(&hiring)));
    assert_eq!((&second["total"], &second["pagination"]["limit"]), (&json!(8), &json!(1)));
    let second = list(&staff, &format!("{}?cursor={cursor}", path(&hiring)));
    assert_eq!(ids(&second), (197..205).map(|number| format!("app_crowd_{number:05}")).collect::<Vec<_>>());
    assert_eq!(second["pagination"]["hasMore"], false);
}

fn invalid_parameters_are_reported_together() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let staff = staff(&app, &hiring);
    let wrong = staff.get(&format!("{}?limit=x&cursor=%20", path(&hiring))).refused(400, "validation_error");
    assert_eq!(wrong.fields(), ["limit", "cursor"]);
    let theirs = list(&app.admin(), &format!("{}?limit=1", path(&other)))["pagination"]["nextCursor"].take();
    let foreign = format!("{}?cursor={}", path(&hiring), theirs.as_str().unwrap());
    assert_eq!(staff.get(&foreign).refused(400, "validation_error").fields(), ["cursor"]);
}

fn a_role_of_another_organization_is_treated_like_an_unknown_role() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let staff = staff(&app, &hiring);
    let problem = |role: &str| {
        let path = format!("/api/v1/roles/{role}/in-progress");
        let mut problem = staff.get(&path).refused(404, "not_found").json();
        problem["requestId"].take();
        problem
    };
    assert_eq!(problem(&other.role_id), problem("none"));
}

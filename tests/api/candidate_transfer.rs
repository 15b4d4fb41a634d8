//! `POST /api/v1/candidate-roles/{id}/transfer`: transfers a candidate from one role to another.

use serde_json::{Value, json};

use crate::support::race::{Lane, assert_sound, connected_clients, count, run_together};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_candidate_leaves_one_pipeline_and_joins_another_at_its_first_step,
    both_applications_get_an_activity_row,
    only_applications_in_progress_are_transferred,
    the_target_role_must_be_open_and_have_steps,
    a_candidate_joins_a_role_only_once,
    erased_and_held_candidates_are_not_transferred,
    roles_and_applications_of_other_organizations_are_not_found,
    a_dry_run_is_answered_like_the_transfer_and_changes_nothing,
    a_repeated_request_transfers_once,
    invalid_fields_are_reported_together,
    eight_concurrent_transfers_make_one_transfer,
];

/// Creates another open role with two steps, and returns its id.
pub(crate) fn other_role(app: &App, hiring: &Hiring) -> String {
    let role = draft(app, hiring, &["Application", "Trial day"]);
    app.admin().post_empty(&format!("/api/v1/roles/{role}/open")).expect(200);
    role
}

fn draft(app: &App, hiring: &Hiring, steps: &[&str]) -> String {
    let admin = app.admin();
    let path = format!("/api/v1/organizations/{}/roles", hiring.organization_id);
    let role = admin.post(&path, &json!({ "name": "Planner" })).expect(200).json();
    let role = role["data"]["id"].as_str().unwrap().to_owned();
    for step in steps {
        let body = json!({ "name": step, "stepType": "other" });
        admin.post(&format!("/api/v1/roles/{role}/steps"), &body).expect(200);
    }
    role
}

fn start() -> (App, Hiring, Client, String) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    let other = other_role(&app, &hiring);
    (app, hiring, staff, other)
}

fn path(hiring: &Hiring, candidate: usize) -> String {
    format!("/api/v1/candidate-roles/{}/transfer", hiring.candidates[candidate].application_id)
}

fn to(role: &str) -> Value {
    json!({ "roleId": role, "reason": "Fits better" })
}

/// Returns the applications of the `candidate`-th candidate, oldest first.
fn applications(app: &App, hiring: &Hiring, candidate: usize) -> Vec<String> {
    let id = &hiring.candidates[candidate].candidate_id;
    app.sql(&format!(
        "SELECT a.role_id, a.status,
           (SELECT group_concat(s.status ORDER BY s.step_order) FROM candidate_role_steps s WHERE s.candidate_role_id = a.id)
         FROM candidate_roles a WHERE a.candidate_id = '{id}' ORDER BY a.applied_at"
    ))
}

fn a_candidate_leaves_one_pipeline_and_joins_another_at_its_first_step() {
    let (app, hiring, staff, other) = start();
    let answer = staff.post(&path(&hiring, 0), &to(&other)).expect(200).json();
    let ids = &hiring.candidates[0];
    let joined = &answer["data"]["joined"];
    let expected = json!({
        "success": true,
        "data": {
            "candidateId": ids.candidate_id,
            "left": { "candidateRoleId": ids.application_id, "roleId": hiring.role_id, "status": "Withdrawn" },
            "joined": {
                "candidateRoleId": joined["candidateRoleId"], "roleId": other, "status": "In Progress",
                "step": { "roleStepId": joined["step"]["roleStepId"], "name": "Application", "stepType": "other" },
            },
        },
    });
    assert_eq!(answer, expected);
    let left = format!("{}|Withdrawn|validated,in_progress,pending,pending", hiring.role_id);
    assert_eq!(applications(&app, &hiring, 0), [left, format!("{other}|In Progress|in_progress,pending")]);
    let board = app.admin().get(&format!("/api/v1/roles/{other}/board")).expect(200).json();
    let entry = &board["data"]["steps"][0]["candidates"][0];
    assert_eq!((&entry["candidateRoleId"], &entry["secondsInStep"]), (&joined["candidateRoleId"], &json!(0)));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn both_applications_get_an_activity_row() {
    let (app, hiring, staff, other) = start();
    let answer = staff.post(&path(&hiring, 0), &to(&other)).expect(200).json();
    let joined = answer["data"]["joined"]["candidateRoleId"].as_str().unwrap();
    let rows = app.sql(&format!(
        "SELECT action, role_id, candidate_role_id, user_id FROM activities WHERE candidate_id = '{}' ORDER BY number",
        hiring.candidates[0].candidate_id
    ));
    let (left, user) = (&hiring.candidates[0].application_id, hiring.staff("hr_representative"));
    let withdrawn = format!("candidate_role.withdrawn|{}|{left}|{user}", hiring.role_id);
    assert_eq!(rows, [withdrawn, format!("candidate_role.added|{other}|{joined}|{user}")]);
    let activity = app.admin().get(&format!("{}/activity", hiring.candidate_path(0))).expect(200).json();
    assert_eq!(activity["data"][1]["after"]["reason"], "Fits better");
}

fn only_applications_in_progress_are_transferred() {
    let (app, hiring, staff, other) = start();
    staff.post_empty(&hiring.hire(0)).expect(200);
    staff.post_empty(&hiring.reject(1)).expect(200);
    let withdraw = format!("/api/v1/candidate-roles/{}/withdraw", hiring.candidates[2].application_id);
    staff.post_empty(&withdraw).expect(200);
    for (candidate, words) in [(0, "Hired"), (1, "Not Selected"), (2, "Withdrawn")] {
        let problem = staff.post(&path(&hiring, candidate), &to(&other)).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        assert_eq!(applications(&app, &hiring, candidate).len(), 1);
    }
}

fn the_target_role_must_be_open_and_have_steps() {
    let (app, hiring, staff, other) = start();
    let refused = |role: &str, words: &str| {
        let problem = staff.post(&path(&hiring, 0), &to(role)).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    };
    refused(&draft(&app, &hiring, &["Application"]), "a draft");
    refused(&hiring.role_id, "already for this role");
    app.admin().post(&format!("/api/v1/roles/{other}/close"), &json!({ "reason": "a hiring freeze" })).expect(200);
    refused(&other, "closed");
    let without_steps = draft(&app, &hiring, &[]);
    app.change(&format!("UPDATE roles SET status = 'open' WHERE id = '{without_steps}'"));
    refused(&without_steps, "no steps");
    assert_eq!(applications(&app, &hiring, 0).len(), 1);
}

fn a_candidate_joins_a_role_only_once() {
    let (app, hiring, staff, other) = start();
    let answer = staff.post(&path(&hiring, 0), &to(&other)).expect(200).json();
    let joined = answer["data"]["joined"]["candidateRoleId"].as_str().unwrap();
    let back = format!("/api/v1/candidate-roles/{joined}/transfer");
    let problem = staff.post(&back, &to(&hiring.role_id)).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the candidate has already applied to this role");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn erased_and_held_candidates_are_not_transferred() {
    let (app, hiring, staff, other) = start();
    app.admin().put(&format!("{}/hold", hiring.candidate_path(0)), &json!({ "reason": "a case" })).expect(200);
    app.admin().delete(&hiring.candidate_path(1)).expect(200);
    for (candidate, words) in [(0, "legal hold"), (1, "erased")] {
        let problem = staff.post(&path(&hiring, candidate), &to(&other)).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        assert_eq!(applications(&app, &hiring, candidate).len(), 1);
    }
}

fn roles_and_applications_of_other_organizations_are_not_found() {
    let (app, hiring, staff, other) = start();
    let theirs = app.hiring();
    let problem = |client: &Client, path: &str, role: &str| {
        let mut problem = client.post(path, &to(role)).refused(404, "not_found").json();
        problem["requestId"].take();
        problem
    };
    let no_role = problem(&staff, &path(&hiring, 0), "none");
    assert_eq!(problem(&staff, &path(&hiring, 0), &theirs.role_id), no_role);
    assert_eq!(problem(&app.admin(), &path(&hiring, 0), &theirs.role_id), no_role);
    let no_application = problem(&staff, "/api/v1/candidate-roles/none/transfer", &other);
    assert_eq!(problem(&staff, &path(&theirs, 0), &other), no_application);
    assert_eq!(problem(&staff, &path(&theirs, 0), &theirs.role_id), no_application);
    assert_eq!(app.sql("SELECT count(*) FROM candidate_roles"), ["6"]);
}

fn a_dry_run_is_answered_like_the_transfer_and_changes_nothing() {
    let (app, hiring, staff, other) = start();
    let before = (applications(&app, &hiring, 0), app.sql("SELECT count(*) FROM activities"));
    let mut dry_run = staff.post(&format!("{}?dryRun=true", path(&hiring, 0)), &to(&other)).expect(200).json();
    assert_eq!((applications(&app, &hiring, 0), app.sql("SELECT count(*) FROM activities")), before);
    assert_eq!(dry_run["dryRun"].take(), true);
    dry_run.as_object_mut().unwrap().remove("dryRun");
    let mut done = staff.post(&path(&hiring, 0), &to(&other)).expect(200).json();
    assert!(done["data"]["joined"]["candidateRoleId"].take().is_string());
    assert_eq!(dry_run, done);
    staff.post(&format!("{}?dryRun=true", path(&hiring, 0)), &to(&other)).refused(409, "conflict");
}

fn a_repeated_request_transfers_once() {
    let (app, hiring, staff, other) = start();
    let repeated = staff.with_header("Idempotency-Key", "transfer-1");
    let first = repeated.post(&path(&hiring, 0), &to(&other)).expect(200);
    let second = repeated.post(&path(&hiring, 0), &to(&other)).expect(200);
    assert_eq!((second.header("idempotency-replayed"), &second.body), (Some("true"), &first.body));
    assert_eq!(applications(&app, &hiring, 0).len(), 2);
    app.admin().delete(&hiring.candidate_path(0)).expect(200);
    repeated.post(&path(&hiring, 0), &to(&other)).refused(410, "gone");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn invalid_fields_are_reported_together() {
    let (_app, hiring, staff, other) = start();
    let path = path(&hiring, 0);
    let wrong = staff.post(&format!("{path}?dryRun=1"), &json!({ "reason": 1 })).refused(400, "validation_error");
    assert_eq!(wrong.fields(), ["roleId", "reason", "dryRun"]);
    staff.post(&path, &json!([])).refused(400, "bad_request");
    let long = |length: usize| json!({ "roleId": other, "reason": "ä".repeat(length) });
    assert_eq!(staff.post(&path, &long(10_001)).refused(400, "validation_error").fields(), ["reason"]);
    staff.post(&path, &long(10_000)).expect(200);
}

fn eight_concurrent_transfers_make_one_transfer() {
    let (app, hiring, _, other) = start();
    let secret = app.make_key(&hiring.staff("owner")).1;
    let mut clients = connected_clients(&app, 8);
    for candidate in 0..3 {
        let transfer = Lane::new("POST", &path(&hiring, candidate), &secret).with_body(&to(&other));
        let answers = run_together(&mut clients, |_, client| transfer.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7));
        assert_eq!(applications(&app, &hiring, candidate).len(), 2);
    }
    assert_sound(&app);
}

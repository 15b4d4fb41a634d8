//! `POST /api/v1/roles/{id}/decisions/{batchId}/undo`: undoes one decision on many applications.

use serde_json::{Value, json};

use crate::decision_batch::{applications, assert_sound, decide, outcomes, path, reject_all, start, traces};
use crate::support::stored_signup::new_status_link;
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    an_undone_batch_of_200_leaves_the_candidates_pages_byte_for_byte_as_before,
    decisions_that_were_followed_by_another_act_are_reported_and_not_undone,
    decisions_on_candidates_who_are_erased_or_under_a_legal_hold_are_reported_and_not_undone,
    a_batch_can_be_undone_for_less_than_10_minutes,
    only_the_person_who_decided_can_undo_a_batch_and_only_once,
    undos_of_unknown_batches_and_of_batches_of_other_roles_get_the_same_answer,
    a_dry_run_is_answered_like_the_undo_and_changes_nothing,
    a_repeated_request_undoes_once,
    the_stored_response_about_an_erased_candidate_is_gone,
];

/// Makes a batch and undoes it. Returns the path of the undo.
pub(crate) fn path_of_undone(app: &App, hiring: &Hiring) -> String {
    let owner = app.user(&hiring.staff("owner"));
    let body = json!({ "action": "reject", "candidateRoleIds": [hiring.candidates[0].application_id] });
    let undo = undo_path(hiring, &decide(&owner, hiring, &body));
    owner.post_empty(&undo).expect(200);
    undo
}

fn an_undone_batch_of_200_leaves_the_candidates_pages_byte_for_byte_as_before() {
    const CANDIDATES: usize = 200;
    let (app, hiring, staff) = start();
    crowd::add(&app, &hiring, CANDIDATES);
    let ids: Vec<String> = (0..CANDIDATES).map(|number| format!("app_crowd_{number:05}")).collect();
    let writer = app.user_with_all(&hiring.staff("owner"));
    let link = |id: &String| {
        let answer = writer.post_empty(&format!("/api/v1/candidate-roles/{id}/status-link")).expect(200).json();
        crate::support::stored_signup::status_link_in(&answer)
    };
    let links: Vec<String> = ids.iter().map(link).collect();
    let before = (pages(&app, &links), state(&app));
    // Three quarters of the crowd are not at the last step, so their steps can be validated.
    let validated = ids.len() / 4 * 3;
    for (body, done) in [
        (json!({ "action": "reject", "outcomeNotes": "Quixworth" }), CANDIDATES),
        (json!({ "action": "validate", "outcomeNotes": "Quixworth" }), validated),
        (json!({ "action": "move", "roleStepId": hiring.role_steps[3], "reason": "Quixworth" }), validated),
    ] {
        let mut body = body;
        body["candidateRoleIds"] = json!(ids);
        let answer = decide(&staff, &hiring, &body);
        assert_eq!(answer["done"], done);
        app.pass(599);
        let during = pages(&app, &links);
        let undone = staff.post_empty(&undo_path(&hiring, &answer)).expect(200).json();
        assert_eq!((&undone["done"], &undone["refused"]), (&json!(done), &json!(0)));
        let after = (pages(&app, &links), state(&app));
        assert!(during == before.0 && after.0 == before.0, "{}", body["action"]);
        assert_eq!(after.1, before.1, "{}", body["action"]);
    }
    app.pass(4 * 24 * 3_600);
    assert!(pages(&app, &links) == before.0);
    assert_sound(&app);
}

fn decisions_that_were_followed_by_another_act_are_reported_and_not_undone() {
    let (app, hiring, staff) = start();
    let answer = decide(&staff, &hiring, &reject_all(&hiring));
    let reason = json!({ "reason": "a second look" });
    app.user(&hiring.staff("owner")).post(&hiring.decision(1, 1, "reopen"), &reason).expect(200);
    staff.post_empty(&hiring.decision(2, 1, "undo")).expect(200);
    let undone = staff.post_empty(&undo_path(&hiring, &answer)).expect(200).json();
    assert_eq!(outcomes(&undone), ["done", "conflict", "conflict"]);
    assert_eq!((&undone["batchId"], &undone["undoUntil"]), (&answer["batchId"], &Value::Null));
    let ids = &hiring.candidates[1];
    let item = &undone["items"][1];
    let expected = json!({
        "candidateRoleId": ids.application_id, "candidateStepId": ids.steps[1], "candidateId": ids.candidate_id,
        "outcome": "conflict", "detail": "the application was changed after this decision",
        "lastDecision": {
            "action": "candidate_step.reopened", "at": item["lastDecision"]["at"],
            "user": { "id": hiring.staff("owner"), "name": "The owner" },
        },
    });
    assert_eq!(*item, expected);
    assert_eq!(undone["items"][2]["lastDecision"]["action"], "candidate_step.undone");
    for candidate in 0..3 {
        let statuses = ["validated", "in_progress", "pending", "pending"];
        assert_eq!(hiring.step_statuses(&app, candidate), statuses);
    }
    let actions = app.sql("SELECT action, count(*) FROM activities GROUP BY action ORDER BY action");
    assert_eq!(actions, ["candidate_step.rejected|3", "candidate_step.reopened|1", "candidate_step.undone|2"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn decisions_on_candidates_who_are_erased_or_under_a_legal_hold_are_reported_and_not_undone() {
    let (app, hiring, staff) = start();
    let answer = decide(&staff, &hiring, &reject_all(&hiring));
    app.admin().delete(&hiring.candidate_path(0)).expect(200);
    app.admin().put(&format!("{}/hold", hiring.candidate_path(1)), &json!({ "reason": "a lawsuit" })).expect(200);
    let undone = staff.post_empty(&undo_path(&hiring, &answer)).expect(200).json();
    assert_eq!(outcomes(&undone), ["conflict", "conflict", "done"]);
    assert!(undone["items"][0]["detail"].as_str().unwrap().contains("erased"), "{undone}");
    assert!(undone["items"][1]["detail"].as_str().unwrap().contains("legal hold"), "{undone}");
    assert_eq!(hiring.step_statuses(&app, 1)[1], "rejected");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_batch_can_be_undone_for_less_than_10_minutes() {
    let (app, hiring, staff) = start();
    let undo = undo_path(&hiring, &decide(&staff, &hiring, &reject_all(&hiring)));
    app.pass(599);
    assert_eq!(outcomes(&staff.post_empty(&undo).expect(200).json()), ["done"; 3]);
    let answer = decide(&staff, &hiring, &reject_all(&hiring));
    app.pass(600);
    let problem = staff.post_empty(&undo_path(&hiring, &answer)).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("at least 10 minutes old"), "{problem}");
    assert_eq!(hiring.step_statuses(&app, 0)[1], "rejected");
}

fn only_the_person_who_decided_can_undo_a_batch_and_only_once() {
    let (app, hiring, staff) = start();
    let undo = undo_path(&hiring, &decide(&staff, &hiring, &reject_all(&hiring)));
    let before = traces(&app);
    for other in [app.user(&hiring.staff("owner")), app.admin(), app.user(&hiring.staff("member"))] {
        other.post_empty(&undo).refused(403, "forbidden");
    }
    assert_eq!(traces(&app), before);
    staff.post_empty(&undo).expect(200);
    let problem = staff.post_empty(&undo).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "these decisions have already been undone");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn undos_of_unknown_batches_and_of_batches_of_other_roles_get_the_same_answer() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let theirs = decide(&app.user(&other.staff("owner")), &other, &reject_all(&other));
    let mine = decide(&staff, &hiring, &reject_all(&hiring));
    let problem = |client: &Client, path: &str| {
        let mut problem = client.post_empty(path).refused(404, "not_found").json();
        problem["requestId"].take();
        problem
    };
    let unknown = problem(&staff, &format!("{}/none/undo", path(&hiring)));
    assert_eq!(problem(&staff, &undo_path(&hiring, &theirs)), unknown);
    assert_eq!(problem(&app.admin(), &undo_path(&hiring, &theirs)), unknown);
    let no_role = problem(&staff, &undo_path(&other, &theirs));
    assert_eq!(problem(&staff, &undo_path(&other, &mine)), no_role);
    assert_eq!(problem(&staff, "/api/v1/roles/none/decisions/none/undo"), no_role);
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'candidate_step.undone'"), ["0"]);
}

fn a_dry_run_is_answered_like_the_undo_and_changes_nothing() {
    let (app, hiring, staff) = start();
    let undo = undo_path(&hiring, &decide(&staff, &hiring, &reject_all(&hiring)));
    staff.post_empty(&hiring.decision(2, 1, "undo")).expect(200);
    let before = traces(&app);
    staff.post_empty(&format!("{undo}?dryRun=1")).refused(400, "validation_error");
    let mut dry_run = staff.post_empty(&format!("{undo}?dryRun=true")).expect(200).json();
    assert_eq!(traces(&app), before);
    assert_eq!(dry_run["dryRun"].take(), true);
    dry_run.as_object_mut().unwrap().remove("dryRun");
    assert_eq!(staff.post_empty(&undo).expect(200).json(), dry_run);
    assert_eq!(outcomes(&dry_run), ["done", "done", "conflict"]);
}

fn a_repeated_request_undoes_once() {
    let (app, hiring, staff) = start();
    let undo = undo_path(&hiring, &decide(&staff, &hiring, &reject_all(&hiring)));
    let repeated = staff.with_header("Idempotency-Key", "undo-1");
    let first = repeated.post_empty(&undo).expect(200);
    let second = repeated.post_empty(&undo).expect(200);
    assert_eq!((second.header("idempotency-replayed"), &second.body), (Some("true"), &first.body));
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["6"]);
}

fn the_stored_response_about_an_erased_candidate_is_gone() {
    let (app, hiring, staff) = start();
    let body = json!({ "action": "reject", "candidateRoleIds": [applications(&hiring)[0]] });
    let undo = undo_path(&hiring, &decide(&staff, &hiring, &body));
    let repeated = staff.with_header("Idempotency-Key", "undo-1");
    repeated.post_empty(&undo).expect(200);
    let link = new_status_link(&app, &hiring, 0);
    app.anonymous().get(&link).expect(200);
    app.admin().delete(&hiring.candidate_path(0)).expect(200);
    repeated.post_empty(&undo).refused(410, "gone");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn undo_path(hiring: &Hiring, batch: &Value) -> String {
    format!("{}/{}/undo", path(hiring), batch["batchId"].as_str().unwrap())
}

/// Returns the status pages and the downloads, without the time of each export.
fn pages(app: &App, links: &[String]) -> Vec<(String, Value)> {
    let page = |link: &String| {
        let mut data = app.anonymous().get(&format!("{link}/data")).expect(200).json();
        data["exportedAt"].take();
        (app.anonymous().get(link).expect(200).text(), data)
    };
    links.iter().map(page).collect()
}

/// Returns the applications, steps and counts, without the times of the last changes. The crowd's times at the steps
/// are not those of real applications, so those times are left out too.
fn state(app: &App) -> Vec<String> {
    let queries = [
        "SELECT * FROM candidate_role_steps ORDER BY id",
        "SELECT id, status, at_role_step_id FROM candidate_roles ORDER BY id",
        "SELECT * FROM organization_statuses ORDER BY organization_id",
    ];
    queries.into_iter().flat_map(|sql| app.sql(sql)).collect()
}

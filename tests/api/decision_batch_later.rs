//! `POST /api/v1/roles/{id}/decisions` with the action `later`: puts many applications aside. `…/undo`: restores the
//! previous later marks.

use serde_json::{Value, json};

use crate::decision_batch::{applications, assert_sound, decide, outcomes, path, reject_all, start, traces};
use crate::support::hiring::set_steps;
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    a_batch_does_what_single_marks_do,
    applications_are_put_aside_at_any_step,
    an_application_that_already_has_the_due_day_is_reported_as_done_and_an_undo_skips_it,
    an_undo_restores_the_earlier_due_days,
    a_mark_that_was_followed_by_another_act_is_reported_and_not_undone,
    a_batch_with_an_invalid_due_day_is_refused,
    only_the_action_later_accepts_a_due_day_and_it_refuses_the_fields_of_other_actions,
    a_dry_run_changes_nothing,
    five_hundred_applications_are_put_aside_in_one_batch,
    marks_on_erased_candidates_are_reported_and_not_undone,
    check_reports_a_batch_of_marks_that_contradicts_the_activity,
];

fn later(hiring: &Hiring, days: i64) -> Value {
    json!({ "action": "later", "days": days, "candidateRoleIds": applications(hiring) })
}

fn undo(staff: &Client, hiring: &Hiring, batch: &Value) -> Value {
    let path = format!("{}/{}/undo", path(hiring), batch["batchId"].as_str().unwrap());
    staff.post_empty(&path).expect(200).json()
}

/// Returns the due day of each application in the database, or an empty string if the application has no later mark.
fn marks(app: &App) -> Vec<String> {
    app.sql("SELECT coalesce(later_due_on, '') FROM candidate_roles ORDER BY id")
}

fn mark_path(hiring: &Hiring, candidate: usize) -> String {
    format!("/api/v1/candidate-roles/{}/later", hiring.candidates[candidate].application_id)
}

fn a_batch_does_what_single_marks_do() {
    for due in [json!({ "days": 3 }), json!({ "dueOn": "2026-11-24" })] {
        let singly = {
            let (app, hiring, staff) = start();
            for candidate in 0..3 {
                staff.put(&mark_path(&hiring, candidate), &due).expect(200);
            }
            traces(&app)
        };
        let (app, hiring, staff) = start();
        let mut batch = due.clone();
        (batch["action"], batch["candidateRoleIds"]) = (json!("later"), applications(&hiring));
        let answer = decide(&staff, &hiring, &batch);
        assert_eq!((outcomes(&answer), &answer["done"]), (vec!["done"; 3], &json!(3)));
        assert_eq!(answer["items"][0]["candidateStepId"], hiring.candidates[0].steps[1].as_str());
        assert!(answer["undoUntil"].is_string(), "{answer}");
        assert_eq!(traces(&app), singly);
        assert_eq!(marks(&app), ["2026-11-24"; 3]);
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn applications_are_put_aside_at_any_step() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 1, "In Progress", &["validated", "skipped", "in_progress", "pending"]);
        set_steps(document, 2, "In Progress", &["validated", "validated", "validated", "skipped"]);
    });
    let staff = app.user(&hiring.staff("moderator"));
    let batch = decide(&staff, &hiring, &later(&hiring, 7));
    assert_eq!(outcomes(&batch), ["done"; 3]);
    assert_eq!(marks(&app), ["2026-11-28"; 3]);
    assert_eq!(app.check(), Vec::<String>::new());
    assert_eq!(outcomes(&undo(&staff, &hiring, &batch)), ["done"; 3]);
    assert_eq!(marks(&app), [""; 3]);
    // The batch refuses the mark for a candidate who has left the named step.
    let steps = json!([hiring.candidates[0].steps[1], hiring.candidates[1].steps[1], hiring.candidates[2].steps[3]]);
    let answer = decide(&staff, &hiring, &json!({ "action": "later", "days": 1, "candidateStepIds": steps }));
    assert_eq!(outcomes(&answer), ["done", "conflict", "conflict"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_application_that_already_has_the_due_day_is_reported_as_done_and_an_undo_skips_it() {
    let (app, hiring, staff) = start();
    staff.put(&mark_path(&hiring, 0), &json!({ "days": 3 })).expect(200);
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    assert_eq!(outcomes(&batch), ["done"; 3]);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["3"]);
    let again = decide(&staff, &hiring, &later(&hiring, 3));
    assert_eq!(
        (outcomes(&again), &again["batchId"], &again["undoUntil"]),
        (vec!["done"; 3], &Value::Null, &Value::Null)
    );
    let undone = undo(&staff, &hiring, &batch);
    assert_eq!((outcomes(&undone), &undone["done"]), (vec!["done"; 2], &json!(2)));
    assert_eq!(marks(&app), ["2026-11-24", "", ""]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_undo_restores_the_earlier_due_days() {
    let (app, hiring, staff) = start();
    staff.put(&mark_path(&hiring, 1), &json!({ "days": 30 })).expect(200);
    let before = traces(&app);
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    app.pass(599);
    assert_eq!(outcomes(&undo(&staff, &hiring, &batch)), ["done"; 3]);
    assert_eq!(marks(&app), ["", "2026-12-21", ""]);
    assert_eq!(traces(&app)[..before.len() - 1], before[..before.len() - 1]);
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    let path = format!("{}/{}/undo", path(&hiring), batch["batchId"].as_str().unwrap());
    app.user(&hiring.staff("owner")).post_empty(&path).refused(403, "forbidden");
    app.pass(600);
    staff.post_empty(&path).refused(409, "conflict");
    assert_eq!(marks(&app), ["2026-11-24"; 3]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_mark_that_was_followed_by_another_act_is_reported_and_not_undone() {
    let (app, hiring, staff) = start();
    let owner = app.user(&hiring.staff("owner"));
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    owner.put(&mark_path(&hiring, 0), &json!({ "days": 9 })).expect(200);
    owner.delete(&mark_path(&hiring, 1)).expect(200);
    owner.post_empty(&hiring.reject(2)).expect(200);
    let undone = undo(&staff, &hiring, &batch);
    assert_eq!(outcomes(&undone), ["conflict"; 3]);
    for (item, action) in
        [(0, "candidate_role.put_aside"), (1, "candidate_role.taken_up"), (2, "candidate_step.rejected")]
    {
        let item = &undone["items"][item];
        assert_eq!(item["detail"], "the application was changed after this decision");
        assert_eq!(
            (&item["lastDecision"]["action"], &item["lastDecision"]["user"]["name"]),
            (&json!(action), &json!("The owner"))
        );
    }
    assert_eq!(marks(&app), ["2026-11-30", "", ""]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_batch_with_an_invalid_due_day_is_refused() {
    let (app, hiring, staff) = start();
    let before = traces(&app);
    for (due, field) in [
        (json!({}), "dueOn"),
        (json!({ "days": null, "dueOn": null }), "dueOn"),
        (json!({ "days": 1, "dueOn": "2026-11-24" }), "dueOn"),
        (json!({ "days": 0 }), "days"),
        (json!({ "days": 366 }), "days"),
        (json!({ "days": "3" }), "days"),
        (json!({ "dueOn": "2026-11-21" }), "dueOn"),
        (json!({ "dueOn": "2027-11-22" }), "dueOn"),
        (json!({ "dueOn": "2027-02-29" }), "dueOn"),
    ] {
        let mut body = due.clone();
        (body["action"], body["candidateRoleIds"]) = (json!("later"), applications(&hiring));
        for query in ["", "?dryRun=true"] {
            let problem = staff.post(&format!("{}{query}", path(&hiring)), &body).refused(400, "validation_error");
            assert_eq!(problem.fields(), [field], "{due}{query}");
        }
    }
    assert_eq!(traces(&app), before);
    let last = json!({ "action": "later", "days": 365, "candidateRoleIds": applications(&hiring) });
    assert_eq!(outcomes(&decide(&staff, &hiring, &last)), ["done"; 3]);
    assert_eq!(marks(&app), ["2027-11-21"; 3]);
}

fn only_the_action_later_accepts_a_due_day_and_it_refuses_the_fields_of_other_actions() {
    let (app, hiring, staff) = start();
    let mut body = reject_all(&hiring);
    (body["days"], body["dueOn"]) = (json!(3), json!("2026-11-24"));
    assert_eq!(staff.post(&path(&hiring), &body).refused(400, "validation_error").fields(), ["days", "dueOn"]);
    let mut body = later(&hiring, 3);
    for member in ["outcomeNotes", "outcomeType", "outcomeReason", "roleStepId", "reason"] {
        body[member] = json!("x");
    }
    let fields = staff.post(&path(&hiring), &body).refused(400, "validation_error").fields();
    assert_eq!(fields, ["outcomeNotes", "outcomeType", "outcomeReason", "roleStepId", "reason"]);
    assert_eq!(marks(&app).concat(), "");
}

fn a_dry_run_changes_nothing() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.reject(0)).expect(200);
    let before = traces(&app);
    let dry_run = staff.post(&format!("{}?dryRun=true", path(&hiring)), &later(&hiring, 3)).expect(200).json();
    assert_eq!(outcomes(&dry_run), ["conflict", "done", "done"]);
    assert_eq!((&dry_run["batchId"], traces(&app)), (&Value::Null, before));
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    assert_eq!(batch["items"], dry_run["items"]);
    let before = traces(&app);
    let undo_path = format!("{}/{}/undo?dryRun=true", path(&hiring), batch["batchId"].as_str().unwrap());
    assert_eq!(outcomes(&staff.post_empty(&undo_path).expect(200).json()), ["done"; 2]);
    assert_eq!(traces(&app), before);
    assert_eq!(outcomes(&undo(&staff, &hiring, &batch)), ["done"; 2]);
}

fn five_hundred_applications_are_put_aside_in_one_batch() {
    let (app, hiring, staff) = start();
    crowd::add(&app, &hiring, 500);
    let ids: Vec<String> = (0..500).map(|number| format!("app_crowd_{number:05}")).collect();
    let batch = decide(&staff, &hiring, &json!({ "action": "later", "dueOn": "2026-12-24", "candidateRoleIds": ids }));
    assert_eq!((&batch["done"], &batch["refused"]), (&json!(500), &json!(0)));
    let marked = "SELECT count(*) FROM candidate_roles WHERE later_due_on = '2026-12-24'";
    assert_eq!(app.sql(marked), ["500"]);
    assert_eq!(undo(&staff, &hiring, &batch)["done"], 500);
    assert_eq!(app.sql(marked), ["0"]);
    assert_sound(&app);
}

fn marks_on_erased_candidates_are_reported_and_not_undone() {
    let (app, hiring, staff) = start();
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    app.admin().delete(&hiring.candidate_path(0)).expect(200);
    let undone = undo(&staff, &hiring, &batch);
    assert_eq!(outcomes(&undone), ["conflict", "done", "done"]);
    assert!(undone["items"][0]["detail"].as_str().unwrap().contains("erased"), "{undone}");
    assert_eq!(outcomes(&decide(&staff, &hiring, &later(&hiring, 3))), ["not_found", "done", "done"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn check_reports_a_batch_of_marks_that_contradicts_the_activity() {
    let (app, hiring, staff) = start();
    let batch = decide(&staff, &hiring, &later(&hiring, 3));
    let id = batch["batchId"].as_str().unwrap();
    for change in ["UPDATE decision_batches SET action = 'reject'", "DELETE FROM decision_batch_items"] {
        app.sql(change);
        assert_eq!(app.check(), [format!("decision batch {id} does not agree with the activity")], "{change}");
        app.sql("UPDATE decision_batches SET action = 'later'");
    }
}

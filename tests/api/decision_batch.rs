//! `POST /api/v1/roles/{id}/decisions`: one decision on many applications to a role.

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::stored_signup::new_status_link;
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    a_batch_does_what_the_single_acts_do,
    each_candidate_is_decided_on_at_the_current_step,
    a_refused_item_shows_who_decided_and_when,
    a_batch_reverses_no_hire,
    a_decision_on_a_candidate_who_has_left_the_named_step_is_refused,
    unknown_ids_and_ids_of_other_organizations_and_erased_candidates_have_the_same_outcome,
    an_application_named_twice_is_decided_on_once,
    candidates_see_the_rejections_after_the_delay,
    the_remaining_candidates_of_a_filled_or_closed_role_are_rejected_together,
    one_decision_that_cannot_be_saved_does_not_stop_the_others,
    a_batch_is_stored_for_a_day,
    check_reports_a_batch_that_contradicts_the_activity,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";
const DAY: u64 = 24 * 60 * 60;

fn a_batch_does_what_the_single_acts_do() {
    for (action, step, body) in [
        ("reject", 1, json!({ "outcomeNotes": "n", "outcomeType": "other", "outcomeReason": "role_filled" })),
        ("validate", 1, json!({ "outcomeNotes": "n" })),
        ("move", 3, json!({ "reason": "r" })),
    ] {
        let singly = {
            let (app, hiring, staff) = start();
            for candidate in 0..3 {
                staff.post(&hiring.decision(candidate, step, action), &body).expect(200);
            }
            traces(&app)
        };
        let (app, hiring, staff) = start();
        let mut batch = body.clone();
        (batch["action"], batch["candidateRoleIds"]) = (json!(action), applications(&hiring));
        if action == "move" {
            batch["roleStepId"] = json!(hiring.role_steps[3]);
        }
        let answer = decide(&staff, &hiring, &batch);
        let item = |candidate: usize| {
            let ids = &hiring.candidates[candidate];
            json!({
                "candidateRoleId": ids.application_id, "candidateStepId": ids.steps[step],
                "candidateId": ids.candidate_id, "outcome": "done",
            })
        };
        let id = app.sql("SELECT id FROM decision_batches").join("");
        let items = [item(0), item(1), item(2)];
        let expected = json!({
            "success": true, "batchId": id, "undoUntil": answer["undoUntil"], "done": 3, "refused": 0, "items": items,
        });
        assert_eq!(answer, expected, "{action}");
        assert_eq!(traces(&app), singly, "{action}");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn each_candidate_is_decided_on_at_the_current_step() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 1, "In Progress", &["validated", "skipped", "in_progress", "pending"]);
        set_steps(document, 2, "In Progress", &["validated", "pending", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("moderator"));
    let move_all = json!({
        "action": "move", "roleStepId": hiring.role_steps[3], "reason": null, "candidateRoleIds": applications(&hiring),
    });
    assert_eq!(outcomes(&decide(&staff, &hiring, &move_all)), ["done"; 3]);
    let expected = [
        ["validated", "validated", "skipped", "in_progress"],
        ["validated", "skipped", "validated", "in_progress"],
        ["validated", "validated", "skipped", "in_progress"],
    ];
    for (candidate, expected) in expected.into_iter().enumerate() {
        assert_eq!(hiring.step_statuses(&app, candidate), expected);
    }
    let validate = json!({ "action": "validate", "candidateRoleIds": applications(&hiring) });
    let answer = decide(&staff, &hiring, &validate);
    assert_eq!((outcomes(&answer), &answer["batchId"]), (vec!["conflict"; 3], &Value::Null));
    assert!(answer["items"][0]["detail"].as_str().unwrap().contains("/hire"), "{answer}");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_refused_item_shows_who_decided_and_when() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    app.user(&hiring.staff("owner")).post_empty(&hiring.reject(1)).expect(200);
    let link = new_status_link(&app, &hiring, 2);
    app.anonymous().send("POST", &format!("{link}/withdraw"), &FORM, b"confirm=withdraw");
    let answer = decide(&staff, &hiring, &reject_all(&hiring));
    assert_eq!(outcomes(&answer), ["done", "conflict", "conflict"]);
    assert_eq!((&answer["done"], &answer["refused"]), (&json!(1), &json!(2)));
    let ids = &hiring.candidates[1];
    let expected = json!({
        "candidateRoleId": ids.application_id, "candidateStepId": null, "candidateId": ids.candidate_id,
        "outcome": "conflict", "detail": "the candidate has already been rejected for this role; reopen the rejected step first",
        "lastDecision": {
            "action": "candidate_step.rejected", "at": NOW,
            "user": { "id": hiring.staff("owner"), "name": "The owner" },
        },
    });
    assert_eq!(answer["items"][1], expected);
    let withdrawn = &answer["items"][2]["lastDecision"];
    assert_eq!((&withdrawn["action"], &withdrawn["user"]), (&json!("candidate_role.withdrawn"), &Value::Null));
    assert_eq!(app.check(), Vec::<String>::new());
}

const FORM: [(&str, &str); 1] = [("Content-Type", "application/x-www-form-urlencoded")];

fn a_batch_reverses_no_hire() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.hire(0)).expect(200);
    let answer = decide(&staff, &hiring, &reject_all(&hiring));
    assert_eq!(outcomes(&answer), ["conflict", "done", "done"]);
    assert_eq!(answer["items"][0]["detail"], "the candidate has already been hired for this role");
    assert_eq!(app.sql("SELECT hired FROM roles"), ["1"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_decision_on_a_candidate_who_has_left_the_named_step_is_refused() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.decision(1, 1, "validate")).expect(200);
    let steps: Vec<&str> = hiring.candidates.iter().map(|candidate| candidate.steps[1].as_str()).collect();
    let answer = decide(&staff, &hiring, &json!({ "action": "reject", "candidateStepIds": steps }));
    assert_eq!(outcomes(&answer), ["done", "conflict", "done"]);
    let item = &answer["items"][1];
    assert_eq!((&item["candidateStepId"], &item["detail"]), (&json!(steps[1]), &json!(LEFT)));
    assert_eq!(item["lastDecision"]["action"], "candidate_step.validated");
    assert_eq!(hiring.step_statuses(&app, 1), ["validated", "validated", "in_progress", "pending"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

const LEFT: &str = "the candidate is no longer at this step";

fn unknown_ids_and_ids_of_other_organizations_and_erased_candidates_have_the_same_outcome() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    app.admin().delete(&hiring.candidate_path(1)).expect(200);
    let before = traces(&app);
    let applications = ["none", "ä", "", &other.candidates[0].application_id, &hiring.candidates[1].application_id];
    let steps = ["none", &other.candidates[0].steps[1], &hiring.candidates[1].steps[1], &hiring.role_steps[1]];
    let body = json!({ "action": "reject", "candidateRoleIds": applications, "candidateStepIds": steps });
    for (query, client) in [("", &staff), ("?dryRun=true", &staff), ("", &app.admin())] {
        let answer = client.post(&format!("{}{query}", path(&hiring)), &body).expect(200).json();
        let detail = "the role has no such application or step";
        let item = |application: Option<&str>, step: Option<&str>| {
            json!({
                "candidateRoleId": application, "candidateStepId": step, "candidateId": null,
                "outcome": "not_found", "detail": detail,
            })
        };
        let items =
            applications.iter().map(|id| item(Some(id), None)).chain(steps.iter().map(|id| item(None, Some(id))));
        assert_eq!(answer["items"], items.collect::<Value>());
    }
    assert_eq!(traces(&app), before);
    assert_eq!(app.sql("SELECT count(*) FROM decision_batches"), ["0"]);
}

fn an_application_named_twice_is_decided_on_once() {
    let (app, hiring, staff) = start();
    let ids = &hiring.candidates[0];
    let body = json!({
        "action": "reject",
        "candidateRoleIds": [ids.application_id, hiring.candidates[1].application_id, ids.application_id],
        "candidateStepIds": [ids.steps[1]],
    });
    let dry_run = staff.post(&format!("{}?dryRun=true", path(&hiring)), &body).expect(200).json();
    let answer = decide(&staff, &hiring, &body);
    assert_eq!(outcomes(&answer), ["done", "done", "conflict", "conflict"]);
    assert_eq!(answer["items"], dry_run["items"]);
    assert_eq!(answer["items"][2]["detail"], "the request names this application twice");
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'candidate_step.rejected'"), ["2"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn candidates_see_the_rejections_after_the_delay() {
    let (app, hiring, staff) = start();
    let links = [0, 1].map(|candidate| new_status_link(&app, &hiring, candidate));
    let pages = || links.clone().map(|link| app.anonymous().get(&link).expect(200).text());
    let before = pages();
    decide(&staff, &hiring, &reject_all(&hiring));
    app.pass(3 * DAY - 1);
    assert_eq!(pages(), before);
    app.pass(1);
    assert!(pages().iter().all(|page| page.contains("You were not selected this time")));
}

fn the_remaining_candidates_of_a_filled_or_closed_role_are_rejected_together() {
    for status in ["filled", "closed"] {
        let app = App::start();
        let hiring = app.hiring_with(|document| {
            let role = first_role_of(document);
            (role["status"], role["positions"]) = (json!(status), json!(1));
            set_steps(document, 1, "Hired", &["validated", "skipped", "skipped", "validated"]);
        });
        let staff = app.user(&hiring.staff("hr_representative"));
        assert_eq!(outcomes(&decide(&staff, &hiring, &reject_all(&hiring))), ["done", "conflict", "done"]);
        assert_eq!(app.sql("SELECT status, hired FROM roles"), [format!("{status}|1")]);
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn one_decision_that_cannot_be_saved_does_not_stop_the_others() {
    let (app, hiring, staff) = start();
    let damaged = &hiring.candidates[1];
    app.forbid_where("UPDATE", "candidate_roles", &format!("old.id = '{}'", damaged.application_id));
    let answer = decide(&staff, &hiring, &reject_all(&hiring));
    assert_eq!(outcomes(&answer), ["done", "internal_error", "done"]);
    assert!(!answer.to_string().contains("forbidden"), "{answer}");
    assert_eq!(hiring.step_statuses(&app, 1), ["validated", "in_progress", "pending", "pending"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["2"]);
    assert_eq!(app.sql("SELECT count(*) FROM decision_batch_items"), ["2"]);
    app.allow("candidate_roles");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_batch_is_stored_for_a_day() {
    let (app, hiring, staff) = start();
    crowd::add(&app, &hiring, 7);
    let ids = |numbers: std::ops::Range<u64>| numbers.map(|number| format!("app_crowd_{number:05}")).collect::<Value>();
    for number in 0..5 {
        decide(&staff, &hiring, &json!({ "action": "reject", "candidateRoleIds": ids(number..number + 1) }));
    }
    app.pass(DAY);
    decide(&staff, &hiring, &json!({ "action": "reject", "candidateRoleIds": ids(5..6) }));
    assert_eq!(app.sql("SELECT count(*) FROM decision_batches"), ["6"]);
    app.pass(1);
    decide(&staff, &hiring, &json!({ "action": "reject", "candidateRoleIds": ids(6..7) }));
    let counts = "SELECT count(*) FROM decision_batches UNION ALL SELECT count(*) FROM decision_batch_items";
    assert_eq!(app.sql(counts), ["3", "3"], "4 of the 5 expired batches were deleted");
    assert_sound(&app);
}

fn check_reports_a_batch_that_contradicts_the_activity() {
    let (app, hiring, staff) = start();
    decide(&staff, &hiring, &reject_all(&hiring));
    let id = app.sql("SELECT id FROM decision_batches").join("");
    for change in [
        "UPDATE decision_batches SET action = 'move'",
        &format!("UPDATE decision_batches SET action = 'reject', user_id = '{}'", hiring.staff("owner")),
        "DELETE FROM decision_batch_items",
    ] {
        app.change(change);
        assert_eq!(app.check(), [format!("decision batch {id} does not agree with the activity")], "{change}");
    }
}

pub(crate) fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

pub(crate) fn path(hiring: &Hiring) -> String {
    format!("/api/v1/roles/{}/decisions", hiring.role_id)
}

pub(crate) fn applications(hiring: &Hiring) -> Value {
    hiring.candidates.iter().map(|candidate| json!(candidate.application_id)).collect()
}

pub(crate) fn reject_all(hiring: &Hiring) -> Value {
    json!({ "action": "reject", "outcomeNotes": "filled", "candidateRoleIds": applications(hiring) })
}

#[track_caller]
pub(crate) fn decide(staff: &Client, hiring: &Hiring, body: &Value) -> Value {
    staff.post(&path(hiring), body).expect(200).json()
}

pub(crate) fn outcomes(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["outcome"].as_str().unwrap()).collect()
}

/// Asserts that `appliance check` reports nothing except that the crowd has no entries in the word index.
pub(crate) fn assert_sound(app: &App) {
    let mut findings = app.check();
    findings.retain(|finding| !finding.contains("the word index lacks"));
    assert_eq!(findings, Vec::<String>::new());
}

/// Returns the steps, applications, roles, counts and activity, without the random ids and hashes of the activity.
pub(crate) fn traces(app: &App) -> Vec<String> {
    let queries = [
        "SELECT * FROM candidate_role_steps ORDER BY id",
        "SELECT * FROM candidate_roles ORDER BY id",
        "SELECT id, status, hired FROM roles ORDER BY id",
        "SELECT * FROM organization_statuses ORDER BY organization_id",
        "SELECT number, organization_id, at, action, user_id, role_id, candidate_id, candidate_role_id,
           candidate_role_step_id, detail
         FROM activities ORDER BY number",
    ];
    queries.into_iter().flat_map(|sql| app.sql(sql)).collect()
}

//! `PUT` and `DELETE /api/v1/candidates/{id}/hold`: a candidate who is held is not erased.

use serde_json::{Value, json};

use crate::candidate_erase::{path, start};
use crate::support::{App, Hiring};

crate::tests![
    a_hold_is_kept_with_its_reason_and_told_as_an_activity,
    the_same_hold_again_changes_nothing_and_another_reason_does,
    a_release_is_an_activity_and_none_where_nobody_is_held,
    an_erased_candidate_cannot_be_held,
    a_hold_needs_a_reason_of_a_bounded_length,
    an_erasure_takes_the_reasons_of_holds_too,
];

fn hold_path(hiring: &Hiring) -> String {
    format!("{}/hold", path(hiring, 0))
}

fn activities(app: &App) -> Vec<String> {
    app.sql("SELECT action, candidate_id, detail FROM activities ORDER BY number")
}

fn told(action: &str, hiring: &Hiring, before: &Value, after: &Value) -> String {
    let detail = json!({ "before": { "holdReason": before }, "after": { "holdReason": after } });
    format!("{action}|{}|{detail}", hiring.candidates[0].candidate_id)
}

fn a_hold_is_kept_with_its_reason_and_told_as_an_activity() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let answer = owner.put(&hold_path(&hiring), &json!({ "reason": "  a case " })).expect(200).json();
    let id = &hiring.candidates[0].candidate_id;
    assert_eq!(answer, json!({ "success": true, "data": { "id": id, "holdReason": "a case" } }));
    let held = "SELECT hold_reason FROM candidates ORDER BY number";
    assert_eq!(app.sql(held), ["a case", "null", "null"]);
    assert_eq!(activities(&app), [told("candidate.held", &hiring, &Value::Null, &json!("a case"))]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_same_hold_again_changes_nothing_and_another_reason_does() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for reason in ["a case", "a case", "another"] {
        owner.put(&hold_path(&hiring), &json!({ "reason": reason })).expect(200);
    }
    let expected = [
        told("candidate.held", &hiring, &Value::Null, &json!("a case")),
        told("candidate.held", &hiring, &json!("a case"), &json!("another")),
    ];
    assert_eq!(activities(&app), expected);
}

fn a_release_is_an_activity_and_none_where_nobody_is_held() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("admin"));
    let id = &hiring.candidates[0].candidate_id;
    let released = json!({ "success": true, "data": { "id": id, "holdReason": null } });
    assert_eq!(owner.delete(&hold_path(&hiring)).expect(200).json(), released);
    assert_eq!(activities(&app), Vec::<String>::new());
    owner.put(&hold_path(&hiring), &json!({ "reason": "a case" })).expect(200);
    assert_eq!(owner.delete(&hold_path(&hiring)).expect(200).json(), released);
    assert_eq!(activities(&app)[1], told("candidate.released", &hiring, &json!("a case"), &Value::Null));
    assert_eq!(app.sql("SELECT count(*) FROM candidates WHERE hold_reason IS NOT NULL"), ["0"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erased_candidate_cannot_be_held() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.delete(&path(&hiring, 0)).expect(200);
    let problem = owner.put(&hold_path(&hiring), &json!({ "reason": "a case" })).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("erased"), "{problem}");
    owner.delete(&hold_path(&hiring)).expect(200);
}

fn a_hold_needs_a_reason_of_a_bounded_length() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let wrong = [json!({}), json!({ "reason": null }), json!({ "reason": " " }), json!({ "reason": 7 })];
    let long = |characters: usize| json!({ "reason": "ä".repeat(characters) });
    for body in wrong.into_iter().chain([long(1_001)]) {
        let problem = owner.put(&hold_path(&hiring), &body).refused(400, "validation_error");
        assert_eq!(problem.fields(), ["reason"], "{body}");
    }
    owner.put(&hold_path(&hiring), &long(1_000)).expect(200);
}

fn an_erasure_takes_the_reasons_of_holds_too() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.put(&hold_path(&hiring), &json!({ "reason": "a case of Quixworth" })).expect(200);
    owner.delete(&hold_path(&hiring)).expect(200);
    owner.delete(&path(&hiring, 0)).expect(200);
    let details = app.sql("SELECT detail FROM activities WHERE action IN ('candidate.held', 'candidate.released')");
    assert_eq!(details, ["{}", "{}"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

//! `PUT` and `DELETE /api/v1/candidates/{id}/hold`: a legal hold prevents the erasure of a candidate.

use serde_json::{Value, json};

use crate::candidate_erase::{path, start};
use crate::support::{App, Hiring};

crate::tests![
    a_hold_stores_its_reason_and_writes_an_activity_row,
    repeating_a_hold_writes_an_activity_row_only_for_another_reason,
    a_release_writes_an_activity_row_only_when_a_hold_existed,
    an_erased_candidate_cannot_be_held,
    a_hold_without_a_reason_of_1_to_1000_characters_is_refused,
    an_erasure_removes_the_reasons_of_holds,
];

fn hold_path(hiring: &Hiring) -> String {
    format!("{}/hold", path(hiring, 0))
}

fn activities(app: &App) -> Vec<String> {
    app.sql("SELECT action, candidate_id, detail FROM activities ORDER BY number")
}

fn activity_row(action: &str, hiring: &Hiring, before: &Value, after: &Value) -> String {
    let detail = json!({ "before": { "holdReason": before }, "after": { "holdReason": after } });
    format!("{action}|{}|{detail}", hiring.candidates[0].candidate_id)
}

fn a_hold_stores_its_reason_and_writes_an_activity_row() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let answer = owner.put(&hold_path(&hiring), &json!({ "reason": "  a case " })).expect(200).json();
    let id = &hiring.candidates[0].candidate_id;
    assert_eq!(answer, json!({ "success": true, "data": { "id": id, "holdReason": "a case" } }));
    let held = "SELECT hold_reason FROM candidates ORDER BY number";
    assert_eq!(app.sql(held), ["a case", "null", "null"]);
    assert_eq!(activities(&app), [activity_row("candidate.held", &hiring, &Value::Null, &json!("a case"))]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn repeating_a_hold_writes_an_activity_row_only_for_another_reason() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for reason in ["a case", "a case", "another"] {
        owner.put(&hold_path(&hiring), &json!({ "reason": reason })).expect(200);
    }
    let expected = [
        activity_row("candidate.held", &hiring, &Value::Null, &json!("a case")),
        activity_row("candidate.held", &hiring, &json!("a case"), &json!("another")),
    ];
    assert_eq!(activities(&app), expected);
}

fn a_release_writes_an_activity_row_only_when_a_hold_existed() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("admin"));
    let id = &hiring.candidates[0].candidate_id;
    let released = json!({ "success": true, "data": { "id": id, "holdReason": null } });
    assert_eq!(owner.delete(&hold_path(&hiring)).expect(200).json(), released);
    assert_eq!(activities(&app), Vec::<String>::new());
    owner.put(&hold_path(&hiring), &json!({ "reason": "a case" })).expect(200);
    assert_eq!(owner.delete(&hold_path(&hiring)).expect(200).json(), released);
    assert_eq!(activities(&app)[1], activity_row("candidate.released", &hiring, &json!("a case"), &Value::Null));
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

fn a_hold_without_a_reason_of_1_to_1000_characters_is_refused() {
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

fn an_erasure_removes_the_reasons_of_holds() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.put(&hold_path(&hiring), &json!({ "reason": "a case of Quixworth" })).expect(200);
    owner.delete(&hold_path(&hiring)).expect(200);
    owner.delete(&path(&hiring, 0)).expect(200);
    let details = app.sql("SELECT detail FROM activities WHERE action IN ('candidate.held', 'candidate.released')");
    assert_eq!(details, ["{}", "{}"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

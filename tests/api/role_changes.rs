//! `GET /api/v1/roles/{id}/changes`: the acts on the applications of a role after a cursor.

use serde_json::{Value, json};

use crate::attachment;
use crate::support::roles::{draft, staff};
use crate::support::signup::Form;
use crate::support::{App, Client, Hiring};

crate::tests![
    the_first_answer_has_a_cursor_and_no_changes,
    each_change_names_the_act_the_user_the_time_and_the_ids,
    a_signup_is_a_change_without_a_user,
    changes_to_other_roles_and_acts_that_only_read_are_not_listed,
    acts_on_erased_candidates_are_not_listed,
    changes_to_the_role_itself_are_not_listed_but_change_the_etag,
    an_answer_covers_at_most_two_hundred_acts,
    an_answer_that_covers_only_acts_on_an_erased_candidate_has_a_next_cursor,
    an_unknown_value_of_after_is_refused,
    a_role_of_another_organization_is_treated_like_an_unknown_role,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "owner");
    (app, hiring, client)
}

fn path(hiring: &Hiring) -> String {
    format!("{}/changes", hiring.role())
}

fn changes(client: &Client, hiring: &Hiring, after: &str) -> Value {
    let query = if after.is_empty() { String::new() } else { format!("?after={after}") };
    client.get(&format!("{}{query}", path(hiring))).expect(200).json()["data"].take()
}

fn current(client: &Client, hiring: &Hiring) -> String {
    changes(client, hiring, "")["current"].as_str().unwrap().to_owned()
}

fn actions(changes: &Value) -> Vec<&str> {
    changes["changes"].as_array().unwrap().iter().map(|change| change["action"].as_str().unwrap()).collect()
}

fn the_first_answer_has_a_cursor_and_no_changes() {
    let (_app, hiring, client) = start();
    // An imported role has no activity, so its first cursor is its own id.
    let id = hiring.role_id.as_str();
    let expected = json!({ "changes": [], "next": null, "current": id, "etag": format!("\"{id}\"") });
    assert_eq!(changes(&client, &hiring, ""), expected);
    assert_eq!(changes(&client, &hiring, id), expected);
    client.post_empty(&hiring.reject(0)).expect(200);
    let after = current(&client, &hiring);
    assert!(after.starts_with("act_"), "{after}");
    assert_eq!(actions(&changes(&client, &hiring, "")), Vec::<&str>::new());
    assert_eq!(actions(&changes(&client, &hiring, &after)), Vec::<&str>::new());
    assert_eq!(actions(&changes(&client, &hiring, id)), ["candidate_step.rejected"]);
}

fn each_change_names_the_act_the_user_the_time_and_the_ids() {
    let (app, hiring, client) = start();
    let moderator = staff(&app, &hiring, "moderator");
    let after = current(&client, &hiring);
    moderator.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    app.pass(60);
    client.post_empty(&format!("/api/v1/candidate-roles/{}/withdraw", hiring.candidates[1].application_id)).expect(200);
    let found = changes(&client, &hiring, &after);
    let ids = app.sql("SELECT id FROM activities ORDER BY number");
    let author = |org_role: &str| {
        let id = hiring.staff(org_role);
        let name = app.sql(&format!("SELECT name FROM users WHERE id = '{id}'"))[0].clone();
        json!({ "id": id, "name": name })
    };
    let [first, second, _] = hiring.candidates.as_slice() else { panic!("expected three candidates") };
    let expected = json!([
        { "activityId": ids[0], "action": "candidate_step.validated", "at": "2026-11-21T09:00:00.000000Z",
          "by": author("moderator"), "candidateId": first.candidate_id, "candidateRoleId": first.application_id,
          "candidateStepId": first.steps[1] },
        { "activityId": ids[1], "action": "candidate_role.withdrawn", "at": "2026-11-21T09:01:00.000000Z",
          "by": author("owner"), "candidateId": second.candidate_id, "candidateRoleId": second.application_id,
          "candidateStepId": found["changes"][1]["candidateStepId"] },
    ]);
    assert_eq!(found["changes"], expected);
    assert_eq!((&found["next"], &found["current"]), (&Value::Null, &json!(ids[1])));
    let rest = changes(&client, &hiring, &ids[0]);
    assert_eq!(actions(&rest), ["candidate_role.withdrawn"]);
    assert_eq!(actions(&changes(&staff(&app, &hiring, "member"), &hiring, &after)).len(), 2);
}

fn a_signup_is_a_change_without_a_user() {
    let (app, hiring, client) = start();
    let after = current(&client, &hiring);
    Form::for_role(&app, &hiring).send(&app).expect(303);
    let found = changes(&client, &hiring, &after);
    let last = found["changes"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["action"], &last["by"]), (&json!("candidate_role.signed_up"), &Value::Null));
}

fn changes_to_other_roles_and_acts_that_only_read_are_not_listed() {
    let (app, hiring, client) = start();
    let document = attachment::applied(&app, &hiring);
    let after = current(&client, &hiring);
    client.get(&document).expect(200);
    client.get(&format!("{}/export", hiring.candidate_path(0))).expect(200);
    client.patch(&hiring.candidate_path(0), &json!({ "name": "Ada" })).expect(200);
    let other = draft(&client, &hiring, &["Call"]);
    client.post_empty(&format!("{other}/open")).expect(200);
    let body = json!({ "name": "B", "email": "b@example.org", "roleId": other.rsplit('/').next().unwrap() });
    client.post(&hiring.candidates_path(), &body).expect(200);
    let found = changes(&client, &hiring, &after);
    assert_eq!(actions(&found), Vec::<&str>::new());
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'document.opened'"), ["1"]);
}

fn acts_on_erased_candidates_are_not_listed() {
    let (_app, hiring, client) = start();
    let after = current(&client, &hiring);
    client.post_empty(&hiring.reject(0)).expect(200);
    client.post_empty(&hiring.reject(1)).expect(200);
    client.delete(&hiring.candidate_path(0)).expect(200);
    let found = changes(&client, &hiring, &after);
    assert_eq!(actions(&found), ["candidate_step.rejected"]);
    assert_eq!(found["changes"][0]["candidateId"], hiring.candidates[1].candidate_id.as_str());
}

fn changes_to_the_role_itself_are_not_listed_but_change_the_etag() {
    let (_app, hiring, client) = start();
    let before = changes(&client, &hiring, "");
    let tag = client.patch(&hiring.role(), &json!({ "name": "A" })).expect(200).header("etag").unwrap().to_owned();
    let found = changes(&client, &hiring, before["current"].as_str().unwrap());
    assert_eq!((actions(&found), &found["etag"]), (Vec::new(), &json!(tag)));
    assert_ne!(found["etag"], before["etag"]);
    assert_eq!(found["current"], json!(tag.trim_matches('"')));
}

/// Moves the first candidate this many times, alternately forward and back.
fn act(client: &Client, hiring: &Hiring, acts: usize) {
    for number in 0..acts {
        let step = if number % 2 == 0 { 2 } else { 1 };
        client.post_empty(&hiring.decision(0, step, "move")).expect(200);
    }
}

fn an_answer_covers_at_most_two_hundred_acts() {
    let (_app, hiring, client) = start();
    act(&client, &hiring, 200);
    let whole = changes(&client, &hiring, &hiring.role_id);
    assert_eq!((actions(&whole).len(), &whole["next"]), (200, &Value::Null));
    act(&client, &hiring, 1);
    let first = changes(&client, &hiring, &hiring.role_id);
    assert_eq!((actions(&first).len(), first["next"].as_str()), (200, whole["current"].as_str()));
    let rest = changes(&client, &hiring, first["next"].as_str().unwrap());
    assert_eq!((actions(&rest).len(), &rest["next"]), (1, &Value::Null));
    assert_eq!((&rest["current"], &rest["changes"][0]["activityId"]), (&first["current"], &first["current"]));
}

fn an_answer_that_covers_only_acts_on_an_erased_candidate_has_a_next_cursor() {
    let (_app, hiring, client) = start();
    act(&client, &hiring, 201);
    client.post_empty(&hiring.reject(1)).expect(200);
    client.delete(&hiring.candidate_path(0)).expect(200);
    let first = changes(&client, &hiring, &hiring.role_id);
    assert_eq!(actions(&first).len(), 0);
    let rest = changes(&client, &hiring, first["next"].as_str().unwrap());
    assert_eq!((actions(&rest), &rest["next"]), (vec!["candidate_step.rejected"], &Value::Null));
}

fn an_unknown_value_of_after_is_refused() {
    let (app, hiring, client) = start();
    let other = app.hiring();
    let elsewhere = staff(&app, &other, "owner");
    elsewhere.post_empty(&other.reject(0)).expect(200);
    let foreign = current(&elsewhere, &other);
    for after in ["", "1", "act_none", "no%20id", &foreign, &other.role_id] {
        let refusal = client.get(&format!("{}?after={after}", path(&hiring))).refused(400, "validation_error");
        assert_eq!(refusal.fields(), ["after"], "{after}");
    }
    let twice = format!("{}?after={id}&after={id}", path(&hiring), id = hiring.role_id);
    assert_eq!(client.get(&twice).refused(400, "validation_error").fields(), ["after"]);
}

fn a_role_of_another_organization_is_treated_like_an_unknown_role() {
    let (app, hiring, client) = start();
    client.post_empty(&hiring.reject(0)).expect(200);
    let elsewhere = staff(&app, &app.hiring(), "owner");
    for query in [String::new(), format!("?after={}", hiring.role_id), "?after=none".to_owned()] {
        let hidden = elsewhere.get(&format!("{}{query}", path(&hiring))).refused(404, "not_found");
        let unknown = elsewhere.get(&format!("/api/v1/roles/none/changes{query}")).refused(404, "not_found");
        assert_eq!(hidden.json()["detail"], unknown.json()["detail"]);
    }
}

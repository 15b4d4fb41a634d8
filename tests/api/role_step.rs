//! `/api/v1/roles/{id}/steps`: role steps are added, renamed, reordered and removed while applications are in progress.

use appliance::interchange::{self, Secrets};
use appliance::store;
use serde_json::{Value, json};

use crate::support::roles::{activity_count, draft, last_activity, read, staff};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_step_is_added_last_or_at_the_given_position,
    a_position_beyond_the_end_is_refused,
    a_fifty_first_step_is_refused,
    renaming_a_step_does_not_change_the_steps_of_applications,
    invalid_fields_are_refused,
    reordering_puts_all_steps_in_order,
    an_order_that_does_not_list_exactly_the_current_steps_is_refused,
    a_removed_step_stays_readable_while_applications_have_it,
    a_removed_step_without_applications_is_gone,
    the_only_step_of_an_open_or_closed_role_cannot_be_removed,
    a_removed_step_cannot_be_changed,
    applications_in_progress_follow_their_own_steps,
    steps_of_another_role_are_not_found,
    a_changed_pipeline_survives_export_and_import,
    callers_without_authority_cannot_change_steps,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "admin");
    (app, hiring, client)
}

fn steps(path: &str) -> String {
    format!("{path}/steps")
}

/// Returns the names of a role's steps with their order.
fn names_with_order(client: &Client, path: &str) -> Vec<String> {
    let role = read(client, path);
    let step = |step: &Value| format!("{} {}", step["name"].as_str().unwrap(), step["order"]);
    role["steps"].as_array().unwrap().iter().map(step).collect()
}

fn ids(client: &Client, path: &str) -> Vec<String> {
    let role = read(client, path);
    role["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the steps and states of all applications, which a change to the pipeline must not affect.
fn applications(app: &App) -> Vec<String> {
    app.sql(
        "SELECT s.*, a.status, a.at_role_step_id FROM candidate_role_steps s
         JOIN candidate_roles a ON a.id = s.candidate_role_id ORDER BY s.id",
    )
}

fn a_step_is_added_last_or_at_the_given_position() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &[]);
    let add = |body: Value| client.post(&steps(&path), &body).expect(200).json()["data"].take();
    let step = add(json!({ "name": "Interview", "stepType": "interview" }));
    let expected =
        json!({ "id": step["id"], "name": "Interview", "order": 1, "stepType": "interview", "removed": false });
    assert_eq!(step, expected);
    let (action, role_id, detail) = last_activity(&app);
    assert_eq!((action.as_str(), role_id.as_str()), ("role_step.added", path.rsplit('/').next().unwrap()));
    assert_eq!((&detail["before"], &detail["after"]["order"]), (&Value::Null, &json!(1)));
    app.pass(1);
    assert_eq!(add(json!({ "name": "Offer" }))["order"], 2);
    assert_eq!(add(json!({ "name": "Call", "order": 1 }))["order"], 1);
    assert_eq!(add(json!({ "name": "Trial", "order": 3, "stepType": null }))["stepType"], "other");
    assert_eq!(add(json!({ "name": "End", "order": 5 }))["order"], 5);
    assert_eq!(names_with_order(&client, &path), ["Call 1", "Interview 2", "Trial 3", "Offer 4", "End 5"]);
    assert_eq!(read(&client, &path)["updatedAt"], "2026-11-21T09:00:01.000000Z");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_position_beyond_the_end_is_refused() {
    let (_app, hiring, client) = start();
    for order in [6, 50] {
        let answer = client.post(&steps(&hiring.role()), &json!({ "name": "A", "order": order }));
        let problem = answer.refused(400, "validation_error");
        assert_eq!(problem.json()["detail"], "order must be between 1 and 5");
    }
    for order in [json!(0), json!(51), json!(-1), json!(1.0), json!("1")] {
        let answer = client.post(&steps(&hiring.role()), &json!({ "order": order })).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["name", "order"]);
    }
    client.post(&steps(&hiring.role()), &json!({ "name": "A", "order": 5 })).expect(200);
}

fn a_fifty_first_step_is_refused() {
    let (_app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call"; 49]);
    client.post(&steps(&path), &json!({ "name": "A", "order": 50 })).expect(200);
    let problem = client.post(&steps(&path), &json!({ "name": "A", "order": 50 })).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the role has 50 steps; remove one before you add another");
    client.delete(&format!("{}/{}", steps(&path), ids(&client, &path)[7])).expect(200);
    client.post(&steps(&path), &json!({ "name": "A" })).expect(200);
    assert_eq!(ids(&client, &path).len(), 50);
}

fn renaming_a_step_does_not_change_the_steps_of_applications() {
    let (app, hiring, client) = start();
    let before = applications(&app);
    let path = format!("{}/{}", steps(&hiring.role()), hiring.role_steps[1]);
    let answer = client.patch(&path, &json!({ "name": "First talk", "stepType": "interview" })).expect(200).json();
    let expected = json!({ "id": hiring.role_steps[1], "name": "First talk", "order": 2, "stepType": "interview", "removed": false });
    assert_eq!(answer, json!({ "success": true, "data": expected }));
    assert_eq!(read(&client, &hiring.role())["steps"][1], expected);
    assert_eq!(applications(&app), before);
    let (action, role_id, detail) = last_activity(&app);
    assert_eq!((action.as_str(), &role_id), ("role_step.changed", &hiring.role_id));
    assert_eq!((&detail["before"]["name"], &detail["after"]["name"]), (&json!("Call"), &json!("First talk")));
    let count = activity_count(&app);
    for body in [json!({}), json!({ "name": null, "stepType": null }), json!({ "name": "First talk" })] {
        assert_eq!(client.patch(&path, &body).expect(200).json()["data"], expected);
    }
    assert_eq!(activity_count(&app), count);
}

fn invalid_fields_are_refused() {
    let (_app, hiring, client) = start();
    let path = format!("{}/{}", steps(&hiring.role()), hiring.role_steps[1]);
    let wrong = json!({ "name": " ", "stepType": "party" });
    assert_eq!(client.patch(&path, &wrong).refused(400, "validation_error").fields(), ["name", "stepType"]);
    assert_eq!(
        client.post(&steps(&hiring.role()), &wrong).refused(400, "validation_error").fields(),
        ["name", "stepType"]
    );
    for (length, status) in [(255, 200), (256, 400)] {
        client.patch(&path, &json!({ "name": "ä".repeat(length) })).expect(status);
        client.post(&steps(&hiring.role()), &json!({ "name": "ä".repeat(length) })).expect(status);
    }
    for path in [path, format!("{}/order", steps(&hiring.role()))] {
        let method = if path.ends_with("order") { "PUT" } else { "PATCH" };
        client.send(method, &path, &[], b"[]").refused(400, "bad_request");
    }
}

fn reordering_puts_all_steps_in_order() {
    let (app, hiring, client) = start();
    let before = applications(&app);
    let path = format!("{}/order", steps(&hiring.role()));
    let order: Vec<String> = hiring.role_steps.iter().rev().cloned().collect();
    let answer = client.put(&path, &json!({ "stepIds": order })).expect(200).json();
    let positions: Vec<_> = answer["data"].as_array().unwrap().iter().map(|step| step["order"].clone()).collect();
    assert_eq!(positions, [json!(1), json!(2), json!(3), json!(4)]);
    assert_eq!(names_with_order(&client, &hiring.role()), ["Offer 1", "Interview 2", "Call 3", "Application 4"]);
    assert_eq!(applications(&app), before);
    let (action, _, detail) = last_activity(&app);
    assert_eq!(action, "role_step.reordered");
    assert_eq!((&detail["before"]["stepIds"], &detail["after"]["stepIds"]), (&json!(hiring.role_steps), &json!(order)));
    let count = activity_count(&app);
    client.put(&path, &json!({ "stepIds": order })).expect(200);
    assert_eq!(activity_count(&app), count);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_order_that_does_not_list_exactly_the_current_steps_is_refused() {
    let (app, hiring, client) = start();
    let (path, other) = (format!("{}/order", steps(&hiring.role())), app.hiring());
    let [a, b, c, d] = hiring.role_steps.as_slice() else { panic!("expected four steps") };
    for wrong in [
        json!([a, b, c]),
        json!([a, b, c, c]),
        json!([a, b, c, d, d]),
        json!([a, b, c, d, "x"]),
        json!([a, b, c, d, "no id"]),
        json!([a, b, c, other.role_steps[3]]),
        json!([]),
        json!([1]),
        json!("a"),
        json!(null),
    ] {
        let answer = client.put(&path, &json!({ "stepIds": wrong })).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["stepIds"], "{wrong}");
    }
    assert_eq!(names_with_order(&client, &hiring.role())[0], "Application 1");
    assert_eq!(activity_count(&app), 0);
}

fn a_removed_step_stays_readable_while_applications_have_it() {
    let (app, hiring, client) = start();
    let before = applications(&app);
    let path = format!("{}/{}", steps(&hiring.role()), hiring.role_steps[1]);
    assert_eq!(client.delete(&path).expect(200).json(), json!({ "success": true }));
    assert_eq!(names_with_order(&client, &hiring.role()), ["Application 1", "Interview 2", "Offer 3", "Call null"]);
    let removed =
        json!({ "id": hiring.role_steps[1], "name": "Call", "order": null, "stepType": "screening", "removed": true });
    assert_eq!(read(&client, &hiring.role())["steps"][3], removed);
    assert_eq!(applications(&app), before);
    let (action, _, detail) = last_activity(&app);
    assert_eq!(action, "role_step.removed");
    assert_eq!((&detail["before"]["order"], &detail["after"]), (&json!(2), &Value::Null));
    let order: Vec<&String> = [3, 0, 2].iter().map(|index: &usize| &hiring.role_steps[*index]).collect();
    let answer = client.put(&format!("{}/order", steps(&hiring.role())), &json!({ "stepIds": order })).expect(200);
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 4);
    assert_eq!(names_with_order(&client, &hiring.role()), ["Offer 1", "Application 2", "Interview 3", "Call null"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_removed_step_without_applications_is_gone() {
    let (app, hiring, client) = start();
    let added = client.post(&steps(&hiring.role()), &json!({ "name": "New", "order": 2 })).expect(200).json();
    assert_eq!(names_with_order(&client, &hiring.role())[1], "New 2");
    client.delete(&format!("{}/{}", steps(&hiring.role()), added["data"]["id"].as_str().unwrap())).expect(200);
    assert_eq!(names_with_order(&client, &hiring.role()), ["Application 1", "Call 2", "Interview 3", "Offer 4"]);
    let path = draft(&client, &hiring, &["Only"]);
    client.delete(&format!("{}/{}", steps(&path), ids(&client, &path)[0])).expect(200);
    assert_eq!(names_with_order(&client, &path), Vec::<String>::new());
    client.delete(&path).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_only_step_of_an_open_or_closed_role_cannot_be_removed() {
    let (_app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Only"]);
    client.post_empty(&format!("{path}/open")).expect(200);
    let only = format!("{}/{}", steps(&path), ids(&client, &path)[0]);
    let problem = client.delete(&only).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("only step"));
    client.post(&format!("{path}/close"), &json!({ "reason": "r" })).expect(200);
    client.delete(&only).refused(409, "conflict");
    client.post(&steps(&path), &json!({ "name": "Other" })).expect(200);
    client.delete(&only).expect(200);
    assert_eq!(names_with_order(&client, &path), ["Other 1"]);
}

fn a_removed_step_cannot_be_changed() {
    let (_app, hiring, client) = start();
    let path = format!("{}/{}", steps(&hiring.role()), hiring.role_steps[0]);
    client.delete(&path).expect(200);
    client.delete(&path).refused(409, "conflict");
    client.patch(&path, &json!({ "name": "A" })).refused(409, "conflict");
    let all = json!({ "stepIds": hiring.role_steps });
    client.put(&format!("{}/order", steps(&hiring.role())), &all).refused(400, "validation_error");
}

fn applications_in_progress_follow_their_own_steps() {
    let (app, hiring, client) = start();
    for step in &hiring.role_steps[1..] {
        client.delete(&format!("{}/{step}", steps(&hiring.role()))).expect(200);
    }
    client.post(&steps(&hiring.role()), &json!({ "name": "New end" })).expect(200);
    let hired = client.post_empty(&hiring.decision(0, 1, "hire")).expect(200).json();
    assert_eq!((&hired["step"]["name"], &hired["step"]["order"]), (&json!("Offer"), &json!(4)));
    let rejected = client.post_empty(&hiring.reject(1)).expect(200).json();
    assert_eq!(rejected["step"]["roleStepId"], hiring.role_steps[1]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn steps_of_another_role_are_not_found() {
    let (_app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call"]);
    for step in [hiring.role_steps[0].as_str(), "none", "no%20id"] {
        let path = format!("{}/{step}", steps(&path));
        client.patch(&path, &json!({ "name": "A" })).refused(404, "not_found");
        client.delete(&path).refused(404, "not_found");
    }
    client.post("/api/v1/roles/none/steps", &json!({ "name": "A" })).refused(404, "not_found");
    client.put("/api/v1/roles/none/steps/order", &json!({ "stepIds": [] })).refused(404, "not_found");
}

fn a_changed_pipeline_survives_export_and_import() {
    let (app, hiring, client) = start();
    client.delete(&format!("{}/{}", steps(&hiring.role()), hiring.role_steps[1])).expect(200);
    client.post(&steps(&hiring.role()), &json!({ "name": "New", "order": 1 })).expect(200);
    client.post(&format!("{}/close", hiring.role()), &json!({ "reason": "no budget" })).expect(200);
    let role = read(&client, &hiring.role());
    let exported = export(&app);
    let again = App::start();
    // The admin already exists in the new database.
    let users = exported["users"].as_array().unwrap().iter().filter(|user| user["id"] != "user_admin");
    let users: Vec<&Value> = users.collect();
    again.import(&json!({ "users": users, "organizations": exported["organizations"] }));
    let mut imported = read(&again.admin(), &hiring.role());
    imported["updatedAt"] = role["updatedAt"].clone();
    assert_eq!(imported, role);
    assert_eq!(applications(&again), applications(&app));
    assert_eq!(again.check(), Vec::<String>::new());
    assert_eq!(export(&again)["organizations"], exported["organizations"]);
}

fn export(app: &App) -> Value {
    let mut out = Vec::new();
    let world = app.world.as_ref();
    let exported =
        store::read_alone(&app.path, world, |tx| Ok(interchange::export(tx, Secrets::LeftOut, &mut out).is_ok()));
    assert!(exported.unwrap());
    serde_json::from_slice(&out).unwrap()
}

fn callers_without_authority_cannot_change_steps() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let (all, one) = (steps(&hiring.role()), format!("{}/{}", steps(&hiring.role()), hiring.role_steps[0]));
    for (client, status, code) in
        [(staff(&app, &hiring, "member"), 403, "forbidden"), (staff(&app, &other, "owner"), 404, "not_found")]
    {
        client.post(&all, &json!({ "name": "A" })).refused(status, code);
        client.patch(&one, &json!({ "name": "A" })).refused(status, code);
        client.delete(&one).refused(status, code);
        client.put(&format!("{all}/order"), &json!({ "stepIds": hiring.role_steps })).refused(status, code);
    }
    assert_eq!(activity_count(&app), 0);
}

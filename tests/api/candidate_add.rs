//! `POST /api/v1/organizations/{id}/candidates`: staff add a person to a role by hand.

use serde_json::{Value, json};

use crate::support::hiring::first_role_of;
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    an_added_candidate_starts_at_the_roles_first_step,
    an_application_starts_at_the_given_time,
    adding_a_known_address_adds_an_application_to_its_candidate,
    the_same_address_in_another_organization_belongs_to_another_candidate,
    applying_to_the_same_role_again_is_a_conflict,
    adding_a_candidate_to_a_role_that_is_not_open_is_a_conflict,
    removed_steps_are_not_copied_to_an_application,
    a_role_of_another_organization_is_not_found,
    all_validation_errors_are_reported_together,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    hostile_text_is_returned_unchanged,
    an_added_candidate_can_be_hired,
    activity_records_the_candidate_and_each_application,
    the_address_of_an_erased_candidate_can_be_added_again,
];

fn owner(app: &App, hiring: &Hiring) -> Client {
    app.user_with_all(&hiring.staff("owner"))
}

fn input(hiring: &Hiring, name: &str, email: &str) -> Value {
    json!({ "name": name, "email": email, "roleId": hiring.role_id })
}

fn add(app: &App, hiring: &Hiring, body: &Value) -> Answer {
    owner(app, hiring).post(&hiring.candidates_path(), body)
}

/// Creates an organization with a second open role.
fn with_two_roles(app: &App) -> (Hiring, String) {
    let hiring = app.hiring_with(|document| {
        let id = document["organizations"][0]["id"].as_str().unwrap().to_owned();
        let steps = json!([{ "name": "Call" }, { "name": "Offer", "stepType": "offer" }]);
        let second = json!({ "id": format!("{id}_second"), "name": "Welder", "status": "open", "steps": steps });
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(second);
    });
    let second = format!("{}_second", hiring.organization_id);
    (hiring, second)
}

fn an_added_candidate_starts_at_the_roles_first_step() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = add(&app, &hiring, &input(&hiring, " Ada Lovelace", "Ada@Example.org")).expect(200).json();
    assert_eq!(answer["success"], true);
    let candidate = &answer["data"];
    assert!(candidate["id"].as_str().unwrap().starts_with("cand_"));
    assert_eq!(candidate["organizationId"], hiring.organization_id);
    assert_eq!((&candidate["name"], &candidate["email"]), (&json!(" Ada Lovelace"), &json!("Ada@Example.org")));
    assert_eq!((&candidate["held"], &candidate["erased"]), (&json!(false), &json!(false)));
    let application = &candidate["applications"][0];
    assert_eq!(candidate["applications"].as_array().unwrap().len(), 1);
    assert_eq!(application["roleId"], hiring.role_id);
    assert_eq!(application["roleName"], "Engineer");
    assert_eq!(application["status"], "In Progress");
    assert_eq!(application["appliedAt"], candidate["createdAt"]);
    assert_eq!(application["currentStep"]["roleStepId"], hiring.role_steps[0]);
    assert_eq!(application["currentStep"]["id"], application["steps"][0]["id"]);
    assert_eq!(application["currentStep"]["since"], application["appliedAt"]);
    let name_order_and_status = |step: &Value| (step["name"].clone(), step["order"].clone(), step["status"].clone());
    let steps: Vec<_> = application["steps"].as_array().unwrap().iter().map(name_order_and_status).collect();
    let expected = [
        ("Application", 1, "in_progress"),
        ("Call", 2, "pending"),
        ("Interview", 3, "pending"),
        ("Offer", 4, "pending"),
    ];
    assert_eq!(steps, expected.map(|(name, order, status)| (json!(name), json!(order), json!(status))));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_application_starts_at_the_given_time() {
    let app = App::start();
    let hiring = app.hiring();
    for (number, (given, shown)) in
        [("2026-03-01", "2026-03-01T00:00:00.000000Z"), ("2026-03-01T10:00:00.5+02:00", "2026-03-01T08:00:00.500000Z")]
            .iter()
            .enumerate()
    {
        let mut body = input(&hiring, "Ada", &format!("{number}@example.org"));
        body["appliedAt"] = json!(given);
        let application = add(&app, &hiring, &body).expect(200).json()["data"]["applications"][0].take();
        assert_eq!((&application["appliedAt"], &application["currentStep"]["since"]), (&json!(shown), &json!(shown)));
    }
}

fn adding_a_known_address_adds_an_application_to_its_candidate() {
    let app = App::start();
    let (hiring, second) = with_two_roles(&app);
    let first = add(&app, &hiring, &input(&hiring, "Ada Lovelace", "ada@example.org")).expect(200).json();
    app.pass(60);
    let body = json!({ "name": "A. King", "email": "ADA@example.ORG", "roleId": second });
    let again = add(&app, &hiring, &body).expect(200).json();
    assert_eq!(again["data"]["id"], first["data"]["id"]);
    assert_eq!(again["data"]["name"], "Ada Lovelace");
    assert_eq!(again["data"]["email"], "ada@example.org");
    let applications = again["data"]["applications"].as_array().unwrap();
    assert_eq!(applications.len(), 2);
    // The newest application comes first.
    assert_eq!((&applications[0]["roleId"], &applications[0]["roleName"]), (&json!(second), &json!("Welder")));
    assert_eq!(applications[1], first["data"]["applications"][0]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_same_address_in_another_organization_belongs_to_another_candidate() {
    let app = App::start();
    let (here, there) = (app.hiring(), app.hiring());
    let one = add(&app, &here, &input(&here, "Ada", "ada@example.org")).expect(200).json();
    let other = add(&app, &there, &input(&there, "Ada", "ada@example.org")).expect(200).json();
    assert_ne!(one["data"]["id"], other["data"]["id"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn applying_to_the_same_role_again_is_a_conflict() {
    let app = App::start();
    let hiring = app.hiring();
    add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).expect(200);
    let refused = add(&app, &hiring, &input(&hiring, "Ada", "Ada@example.org")).refused(409, "conflict");
    assert_eq!(refused.json()["detail"], "the candidate has already applied to this role");
    // The conflict remains after the application has ended.
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    let email = app.sql("SELECT email FROM candidates ORDER BY number LIMIT 1").join("");
    add(&app, &hiring, &input(&hiring, "Ada", &email)).refused(409, "conflict");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn adding_a_candidate_to_a_role_that_is_not_open_is_a_conflict() {
    let app = App::start();
    for (status, words) in [("draft", "is a draft"), ("closed", "is closed"), ("filled", "is filled")] {
        let hiring = app.hiring_with(|document| {
            let role = first_role_of(document);
            role["status"] = json!(status);
            if status == "filled" {
                role["positions"] = json!(1);
                role["candidates"][0]["status"] = json!("Hired");
                role["candidates"][0].as_object_mut().unwrap().remove("steps");
            }
        });
        let refused = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).refused(409, "conflict");
        assert!(refused.json()["detail"].as_str().unwrap().contains(words), "{}", refused.text());
    }
    let hiring = app.hiring();
    app.change(&format!("UPDATE role_steps SET step_order = NULL WHERE role_id = '{}'", hiring.role_id));
    let refused = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).refused(409, "conflict");
    assert!(refused.json()["detail"].as_str().unwrap().contains("has no steps"), "{}", refused.text());
    assert_eq!(app.sql("SELECT count(*) FROM candidates WHERE name = 'Ada'"), ["0"]);
}

fn removed_steps_are_not_copied_to_an_application() {
    let app = App::start();
    let hiring = app.hiring();
    app.change(&format!("UPDATE role_steps SET step_order = NULL WHERE id = '{}'", hiring.role_steps[0]));
    let answer = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).expect(200).json();
    let application = &answer["data"]["applications"][0];
    let steps = application["steps"].as_array().unwrap();
    let names_and_orders: Vec<_> =
        steps.iter().map(|step| (step["name"].as_str().unwrap(), step["order"].as_i64().unwrap())).collect();
    assert_eq!(names_and_orders, [("Call", 1), ("Interview", 2), ("Offer", 3)]);
    assert_eq!(application["currentStep"]["name"], "Call");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_role_of_another_organization_is_not_found() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    for role in [theirs.role_id.as_str(), "none", "no id"] {
        let body = json!({ "name": "Ada", "email": "ada@example.org", "roleId": role });
        let refused = add(&app, &mine, &body).refused(404, "not_found");
        assert_eq!(refused.json()["detail"], "there is no role with this roleId in the organization");
        // An admin who sees both organizations gets the same refusal.
        app.user_with_all("user_admin").post(&mine.candidates_path(), &body).refused(404, "not_found");
    }
    assert_eq!(app.sql("SELECT count(*) FROM candidates WHERE name = 'Ada'"), ["0"]);
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    let faults = |body: Value| add(&app, &hiring, &body).refused(400, "validation_error").fields();
    assert_eq!(faults(json!({})), ["name", "email", "roleId"]);
    let body = json!({ "name": 1, "email": [], "roleId": {}, "appliedAt": "yesterday" });
    assert_eq!(faults(body), ["name", "email", "roleId", "appliedAt"]);
    let body = json!({ "name": " \t", "email": "", "roleId": null, "appliedAt": 1 });
    assert_eq!(faults(body), ["name", "email", "roleId", "appliedAt"]);
    for email in ["ada", "@example.org", "ada@", "a b@example.org", "a@b@c", "a@b\n.c"] {
        assert_eq!(faults(input(&hiring, "Ada", email)), ["email"], "{email}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let longest = format!("{}@example.org", "ä".repeat(242));
    let answer = add(&app, &hiring, &input(&hiring, &"ö".repeat(255), &longest)).expect(200).json();
    assert_eq!(answer["data"]["email"], longest);
    assert_eq!(answer["data"]["name"].as_str().unwrap().chars().count(), 255);
    let refused = add(&app, &hiring, &input(&hiring, &"ö".repeat(256), &format!("a{longest}")));
    assert_eq!(refused.refused(400, "validation_error").fields(), ["name", "email"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn hostile_text_is_returned_unchanged() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = owner(&app, &hiring);
    let names = ["Robert'); DROP TABLE candidates;--", "<script>alert(1)</script>", "%_*\"[]{}\\", "王小明 👩‍🚀"];
    for (number, name) in names.iter().enumerate() {
        let email = format!("o'{number}_*{{$}}@example.org");
        let added = owner.post(&hiring.candidates_path(), &input(&hiring, name, &email)).expect(200).json();
        let path = format!("/api/v1/candidates/{}", added["data"]["id"].as_str().unwrap());
        let read = owner.get(&path).expect(200).json();
        assert_eq!((&read["data"]["name"], &read["data"]["email"]), (&json!(name), &json!(email)));
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_added_candidate_can_be_hired() {
    let app = App::start();
    let hiring = app.hiring();
    let added = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).expect(200).json();
    let step = added["data"]["applications"][0]["currentStep"]["id"].as_str().unwrap().to_owned();
    let owner = owner(&app, &hiring);
    owner.post_empty(&format!("/api/v1/candidate-steps/{step}/hire")).expect(200);
    let path = format!("/api/v1/candidates/{}", added["data"]["id"].as_str().unwrap());
    let application = owner.get(&path).expect(200).json()["data"]["applications"][0].take();
    assert_eq!((&application["status"], &application["currentStep"]), (&json!("Hired"), &Value::Null));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn activity_records_the_candidate_and_each_application() {
    let app = App::start();
    let (hiring, second) = with_two_roles(&app);
    let added = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).expect(200).json();
    add(&app, &hiring, &json!({ "name": "A", "email": "ada@example.org", "roleId": second })).expect(200);
    let id = added["data"]["id"].as_str().unwrap();
    let rows = app.sql(
        "SELECT action, user_id, candidate_id, role_id, candidate_role_id IS NOT NULL, detail FROM activities ORDER BY number",
    );
    let (owner, at) = (hiring.staff("owner"), added["data"]["createdAt"].as_str().unwrap());
    let applied = |role: &str| {
        let detail = format!(r#"{{"before":null,"after":{{"application":"In Progress","appliedAt":"{at}"}}}}"#);
        format!("candidate_role.added|{owner}|{id}|{role}|1|{detail}")
    };
    let person = r#"{"before":null,"after":{"name":"Ada","email":"ada@example.org"}}"#;
    assert_eq!(
        rows,
        [format!("candidate.added|{owner}|{id}|null|0|{person}"), applied(&hiring.role_id), applied(&second),]
    );
}

/// An erasure replaces the address of the candidate.
fn the_address_of_an_erased_candidate_can_be_added_again() {
    let app = App::start();
    let hiring = app.hiring();
    let first = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).expect(200).json();
    let id = first["data"]["id"].as_str().unwrap();
    erase(&app, id);
    let again = add(&app, &hiring, &input(&hiring, "Ada", "ada@example.org")).expect(200).json();
    assert_ne!(again["data"]["id"], first["data"]["id"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Changes a candidate into the tombstone that an erasure leaves.
pub(crate) fn erase(app: &App, id: &str) {
    app.change(&format!(
        "DELETE FROM candidate_words WHERE candidate_number = (SELECT number FROM candidates WHERE id = '{id}');
         UPDATE candidates SET name = 'Erased', email = id, email_key = id, erased_at = 1 WHERE id = '{id}'"
    ));
}

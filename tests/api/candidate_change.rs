//! `PATCH /api/v1/candidates/{id}`: staff change a candidate's name or address.

use serde_json::{Value, json};

use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_search_finds_the_changed_name_and_address,
    a_change_leaves_omitted_fields_unchanged,
    a_change_without_effect_writes_no_activity,
    the_case_of_a_candidates_own_address_can_be_changed,
    an_address_of_another_candidate_is_a_conflict,
    an_address_used_in_another_organization_is_accepted,
    an_erased_candidate_cannot_be_changed,
    all_validation_errors_are_reported_together,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    hostile_text_is_returned_unchanged,
    activity_records_the_values_before_and_after_a_change,
];

fn patch(client: &Client, path: &str, body: &Value) -> Answer {
    client.send("PATCH", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

/// Creates an organization and a key of its owner.
fn organization_with_owner(app: &App) -> (Hiring, Client) {
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    (hiring, owner)
}

fn search(client: &Client, hiring: &Hiring, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{}?{query}", hiring.candidates_path())).expect(200).json();
    page["data"].as_array().unwrap().iter().map(|candidate| candidate["id"].clone()).collect()
}

fn a_search_finds_the_changed_name_and_address() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let before = owner.get(&hiring.candidate_path(0)).expect(200).json()["data"].take();
    app.pass(60);
    let body = json!({ "name": "Zoë Ångström", "email": "Zoe@New.example" });
    let after = patch(&owner, &hiring.candidate_path(0), &body).expect(200).json()["data"].take();
    assert_eq!((&after["name"], &after["email"]), (&json!("Zoë Ångström"), &json!("Zoe@New.example")));
    assert_eq!(after["applications"], before["applications"]);
    assert_eq!(after["createdAt"], before["createdAt"]);
    assert!(after["updatedAt"].as_str() > before["updatedAt"].as_str());
    assert_eq!(owner.get(&hiring.candidate_path(0)).expect(200).json()["data"], after);
    let id = json!(hiring.candidates[0].candidate_id);
    for query in ["q=zoe", "name=angstrom", "email=zoe@new.example", "q=new%20zoe"] {
        assert_eq!(search(&owner, &hiring, query), std::slice::from_ref(&id), "{query}");
    }
    let email = before["email"].as_str().unwrap();
    for query in [format!("email={email}"), "name=1".to_owned(), "name=candidate%201".to_owned()] {
        assert_eq!(search(&owner, &hiring, &query), Vec::<Value>::new(), "{query}");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_change_leaves_omitted_fields_unchanged() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let path = hiring.candidate_path(0);
    let email = owner.get(&path).expect(200).json()["data"]["email"].clone();
    let named = patch(&owner, &path, &json!({ "name": "Ada", "email": null })).expect(200).json()["data"].take();
    assert_eq!((&named["name"], &named["email"]), (&json!("Ada"), &email));
    let moved = patch(&owner, &path, &json!({ "email": "ada@example.org" })).expect(200).json()["data"].take();
    assert_eq!((&moved["name"], &moved["email"]), (&json!("Ada"), &json!("ada@example.org")));
    assert_eq!(search(&owner, &hiring, "q=ada"), [moved["id"].clone()]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_change_without_effect_writes_no_activity() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let path = hiring.candidate_path(0);
    let before = owner.get(&path).expect(200).json()["data"].take();
    app.pass(60);
    for body in [json!({}), json!({ "name": before["name"], "email": before["email"] }), json!({ "id": "other" })] {
        assert_eq!(patch(&owner, &path, &body).expect(200).json()["data"], before, "{body}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn the_case_of_a_candidates_own_address_can_be_changed() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let path = hiring.candidate_path(0);
    let email = owner.get(&path).expect(200).json()["data"]["email"].as_str().unwrap().to_uppercase();
    let after = patch(&owner, &path, &json!({ "email": email })).expect(200).json();
    assert_eq!(after["data"]["email"], email);
    assert_eq!(search(&owner, &hiring, &format!("email={email}")).len(), 1);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_address_of_another_candidate_is_a_conflict() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let taken =
        owner.get(&hiring.candidate_path(1)).expect(200).json()["data"]["email"].as_str().unwrap().to_uppercase();
    let body = json!({ "name": "Ada", "email": taken });
    let refused = patch(&owner, &hiring.candidate_path(0), &body).refused(409, "conflict");
    assert_eq!(refused.json()["detail"], "another candidate in the organization has this email");
    assert_eq!(search(&owner, &hiring, "name=ada"), Vec::<Value>::new());
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn an_address_used_in_another_organization_is_accepted() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let (elsewhere, _) = organization_with_owner(&app);
    let path = elsewhere.candidate_path(0);
    let email = app.user("user_admin").get(&path).expect(200).json()["data"]["email"].clone();
    patch(&owner, &hiring.candidate_path(0), &json!({ "email": email })).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erased_candidate_cannot_be_changed() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    super::candidate_add::erase(&app, &hiring.candidates[0].candidate_id);
    for body in [json!({ "name": "Ada" }), json!({ "email": "ada@example.org" }), json!({})] {
        let refused = patch(&owner, &hiring.candidate_path(0), &body).refused(409, "conflict");
        assert_eq!(refused.json()["detail"], "the candidate was erased; there is nothing left to change");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let faults =
        |body: Value| patch(&owner, &hiring.candidate_path(0), &body).refused(400, "validation_error").fields();
    for (name, email) in
        [(json!(1), json!(2)), (json!(" \n"), json!("ada")), (json!([]), json!("a b@c")), (json!(""), json!(""))]
    {
        assert_eq!(faults(json!({ "name": name, "email": email })), ["name", "email"]);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let (name, email) = ("ö".repeat(255), format!("{}@example.org", "ä".repeat(242)));
    let body = json!({ "name": name, "email": email });
    let after = patch(&owner, &hiring.candidate_path(0), &body).expect(200).json()["data"].take();
    assert_eq!((&after["name"], &after["email"]), (&json!(name), &json!(email)));
    let body = json!({ "name": format!("{name}o"), "email": format!("a{email}") });
    let refused = patch(&owner, &hiring.candidate_path(0), &body).refused(400, "validation_error");
    assert_eq!(refused.fields(), ["name", "email"]);
    // The name has more words than the word index stores for one candidate.
    let words: String = (0..120).map(|number| format!("{}{} ", char::from(b'a' + number % 26), number % 10)).collect();
    patch(&owner, &hiring.candidate_path(0), &json!({ "name": words.get(..250) })).expect(200);
    patch(&owner, &hiring.candidate_path(0), &json!({ "name": "Ada" })).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn hostile_text_is_returned_unchanged() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    for name in ["'; DELETE FROM candidates;--", "<b>&amp;", "%_\\\"", "👩‍🚀"] {
        let after = patch(&owner, &hiring.candidate_path(0), &json!({ "name": name })).expect(200).json();
        assert_eq!(after["data"]["name"], name);
        assert_eq!(owner.get(&hiring.candidate_path(0)).expect(200).json(), after);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn activity_records_the_values_before_and_after_a_change() {
    let app = App::start();
    let (hiring, owner) = organization_with_owner(&app);
    let email = owner.get(&hiring.candidate_path(0)).expect(200).json()["data"]["email"].as_str().unwrap().to_owned();
    patch(&owner, &hiring.candidate_path(0), &json!({ "name": "Ada" })).expect(200);
    let rows = app.sql("SELECT action, user_id, api_key_id IS NOT NULL, candidate_id, role_id, detail FROM activities");
    let (user, id) = (hiring.staff("owner"), &hiring.candidates[0].candidate_id);
    let detail = format!(
        r#"{{"before":{{"name":"Candidate 1","email":"{email}"}},"after":{{"name":"Ada","email":"{email}"}}}}"#
    );
    assert_eq!(rows, [format!("candidate.changed|{user}|1|{id}|null|{detail}")]);
}

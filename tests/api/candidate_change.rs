//! `PATCH /api/v1/candidates/{id}`: a candidate's name or address is changed.

use serde_json::{Value, json};

use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_name_and_an_address_are_changed_and_found_anew,
    what_is_not_given_stays,
    what_stays_as_it_is_is_no_change,
    the_case_of_ones_own_address_can_be_changed,
    an_address_that_another_has_is_a_conflict,
    an_address_of_another_organizations_candidate_is_free,
    who_was_erased_stays_as_they_are,
    all_fields_at_fault_are_told_at_once,
    limits_are_met_on_both_sides,
    hostile_text_comes_back_as_it_was_sent,
    what_was_done_is_on_record,
];

fn patch(client: &Client, path: &str, body: &Value) -> Answer {
    client.send("PATCH", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

/// An organization with its owner.
fn place(app: &App) -> (Hiring, Client) {
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    (hiring, owner)
}

fn found(client: &Client, hiring: &Hiring, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{}?{query}", hiring.candidates_path())).expect(200).json();
    page["data"].as_array().unwrap().iter().map(|candidate| candidate["id"].clone()).collect()
}

fn a_name_and_an_address_are_changed_and_found_anew() {
    let app = App::start();
    let (hiring, owner) = place(&app);
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
        assert_eq!(found(&owner, &hiring, query), std::slice::from_ref(&id), "{query}");
    }
    let email = before["email"].as_str().unwrap();
    for query in [format!("email={email}"), "name=1".to_owned(), "name=candidate%201".to_owned()] {
        assert_eq!(found(&owner, &hiring, &query), Vec::<Value>::new(), "{query}");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn what_is_not_given_stays() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let path = hiring.candidate_path(0);
    let email = owner.get(&path).expect(200).json()["data"]["email"].clone();
    let named = patch(&owner, &path, &json!({ "name": "Ada", "email": null })).expect(200).json()["data"].take();
    assert_eq!((&named["name"], &named["email"]), (&json!("Ada"), &email));
    let moved = patch(&owner, &path, &json!({ "email": "ada@example.org" })).expect(200).json()["data"].take();
    assert_eq!((&moved["name"], &moved["email"]), (&json!("Ada"), &json!("ada@example.org")));
    assert_eq!(found(&owner, &hiring, "q=ada"), [moved["id"].clone()]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn what_stays_as_it_is_is_no_change() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let path = hiring.candidate_path(0);
    let before = owner.get(&path).expect(200).json()["data"].take();
    app.pass(60);
    for body in [json!({}), json!({ "name": before["name"], "email": before["email"] }), json!({ "id": "other" })] {
        assert_eq!(patch(&owner, &path, &body).expect(200).json()["data"], before, "{body}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn the_case_of_ones_own_address_can_be_changed() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let path = hiring.candidate_path(0);
    let email = owner.get(&path).expect(200).json()["data"]["email"].as_str().unwrap().to_uppercase();
    let after = patch(&owner, &path, &json!({ "email": email })).expect(200).json();
    assert_eq!(after["data"]["email"], email);
    assert_eq!(found(&owner, &hiring, &format!("email={email}")).len(), 1);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_address_that_another_has_is_a_conflict() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let taken =
        owner.get(&hiring.candidate_path(1)).expect(200).json()["data"]["email"].as_str().unwrap().to_uppercase();
    let body = json!({ "name": "Ada", "email": taken });
    let refused = patch(&owner, &hiring.candidate_path(0), &body).refused(409, "conflict");
    assert_eq!(refused.json()["detail"], "another candidate of the organization has this email");
    assert_eq!(found(&owner, &hiring, "name=ada"), Vec::<Value>::new());
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn an_address_of_another_organizations_candidate_is_free() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let (elsewhere, _) = place(&app);
    let path = elsewhere.candidate_path(0);
    let email = app.user("user_admin").get(&path).expect(200).json()["data"]["email"].clone();
    patch(&owner, &hiring.candidate_path(0), &json!({ "email": email })).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn who_was_erased_stays_as_they_are() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    super::candidate_add::erase(&app, &hiring.candidates[0].candidate_id);
    for body in [json!({ "name": "Ada" }), json!({ "email": "ada@example.org" }), json!({})] {
        let refused = patch(&owner, &hiring.candidate_path(0), &body).refused(409, "conflict");
        assert_eq!(refused.json()["detail"], "the candidate was erased; there is nothing left to change");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn all_fields_at_fault_are_told_at_once() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let faults =
        |body: Value| patch(&owner, &hiring.candidate_path(0), &body).refused(400, "validation_error").fields();
    for (name, email) in
        [(json!(1), json!(2)), (json!(" \n"), json!("ada")), (json!([]), json!("a b@c")), (json!(""), json!(""))]
    {
        assert_eq!(faults(json!({ "name": name, "email": email })), ["name", "email"]);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn limits_are_met_on_both_sides() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let (name, email) = ("ö".repeat(255), format!("{}@example.org", "ä".repeat(242)));
    let body = json!({ "name": name, "email": email });
    let after = patch(&owner, &hiring.candidate_path(0), &body).expect(200).json()["data"].take();
    assert_eq!((&after["name"], &after["email"]), (&json!(name), &json!(email)));
    let body = json!({ "name": format!("{name}o"), "email": format!("a{email}") });
    let refused = patch(&owner, &hiring.candidate_path(0), &body).refused(400, "validation_error");
    assert_eq!(refused.fields(), ["name", "email"]);
    // More words than are kept of one candidate.
    let words: String = (0..120).map(|number| format!("{}{} ", char::from(b'a' + number % 26), number % 10)).collect();
    patch(&owner, &hiring.candidate_path(0), &json!({ "name": words.get(..250) })).expect(200);
    patch(&owner, &hiring.candidate_path(0), &json!({ "name": "Ada" })).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn hostile_text_comes_back_as_it_was_sent() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    for name in ["'; DELETE FROM candidates;--", "<b>&amp;", "%_\\\"", "👩‍🚀"] {
        let after = patch(&owner, &hiring.candidate_path(0), &json!({ "name": name })).expect(200).json();
        assert_eq!(after["data"]["name"], name);
        assert_eq!(owner.get(&hiring.candidate_path(0)).expect(200).json(), after);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn what_was_done_is_on_record() {
    let app = App::start();
    let (hiring, owner) = place(&app);
    let email = owner.get(&hiring.candidate_path(0)).expect(200).json()["data"]["email"].as_str().unwrap().to_owned();
    patch(&owner, &hiring.candidate_path(0), &json!({ "name": "Ada" })).expect(200);
    let rows = app.sql("SELECT action, user_id, api_key_id IS NOT NULL, candidate_id, role_id, detail FROM activities");
    let (user, id) = (hiring.staff("owner"), &hiring.candidates[0].candidate_id);
    let detail = format!(
        r#"{{"before":{{"name":"Candidate 1","email":"{email}"}},"after":{{"name":"Ada","email":"{email}"}}}}"#
    );
    assert_eq!(rows, [format!("candidate.changed|{user}|1|{id}|null|{detail}")]);
}

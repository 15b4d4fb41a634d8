//! Unknown JSON members of a request body are ignored and named in the `warnings` of a successful answer.

use serde_json::{Value, json};

use crate::support::{Answer, App};

crate::tests![
    decisions_and_dry_runs_warn_about_unknown_members,
    warnings_name_nested_members_with_their_path,
    a_request_without_unknown_members_gets_no_warnings,
    a_refusal_has_no_warnings,
    warnings_are_limited_in_length_and_number,
    answers_with_shared_schemas_have_warnings,
    a_stored_response_has_its_warnings,
    members_of_free_form_objects_are_not_unknown,
];

/// Returns the fields that an answer's `warnings` name.
fn warned_fields(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let warnings = body["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    warnings.iter().map(|warning| warning["field"].as_str().unwrap_or("-").to_owned()).collect()
}

fn decisions_and_dry_runs_warn_about_unknown_members() {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("owner"));
    let body = json!({ "outcomeNote": "a typing error", "outcomeType": "other", "reason": null });
    let dry_run = staff.post(&format!("{}?dryRun=true", hiring.reject(0)), &body).expect(200);
    assert_eq!(warned_fields(&dry_run), ["outcomeNote", "reason"]);
    let rejected = staff.post(&hiring.reject(0), &body).expect(200);
    assert_eq!(warned_fields(&rejected), ["outcomeNote", "reason"]);
    let warning = &rejected.json()["warnings"][0];
    assert_eq!(warning["code"], "unknown_member");
    assert_eq!(warning["detail"], "there is no member outcomeNote here, so it was ignored");
    assert_eq!(rejected.json()["step"]["outcomeType"], "other");
    // Both names of the note are known, although only one of the two notes is stored.
    let hired = staff.post(&hiring.hire(1), &json!({ "notes": "a", "outcomeNotes": "b", "note": "c" })).expect(200);
    assert_eq!(warned_fields(&hired), ["note"]);
}

fn warnings_name_nested_members_with_their_path() {
    let app = App::start();
    let hiring = app.hiring();
    let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
    let body = json!({ "portal": { "enabled": true, "colour": 1 }, "nmae": "x" });
    assert_eq!(warned_fields(&app.admin().patch(&organization, &body).expect(200)), ["nmae", "portal.colour"]);
    let steps = json!([{ "name": "One" }, { "name": "Two", "kind": "interview" }]);
    let roles = format!("/api/v1/organizations/{}/roles", hiring.organization_id);
    let created = app.admin().post(&roles, &json!({ "name": "Engineer", "steps": steps })).expect(200);
    assert_eq!(warned_fields(&created), ["steps[1].kind"], "the warning names the step by its index");
}

fn a_request_without_unknown_members_gets_no_warnings() {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("owner"));
    let rejected = staff.post(&hiring.reject(0), &json!({ "outcomeNotes": null, "outcomeType": "other" })).expect(200);
    let members: Vec<String> = rejected.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["success", "step"]);
    let created = app.admin().post("/api/admin/api-keys", &json!({ "name": "n", "userId": "user_admin" })).expect(200);
    let members: Vec<String> = created.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["success", "data"]);
    let apply = format!("/api/public/portal/{}/apply", hiring.slug);
    let invited = app.anonymous().post(&apply, &json!({ "roleId": hiring.role_id, "locale": null })).expect(200);
    assert_eq!(invited.json().as_object().unwrap().len(), 1);
    let with = app.anonymous().post(&apply, &json!({ "roleId": hiring.role_id, "source": "x" })).expect(200);
    assert_eq!(with.json()["inviteUrl"], invited.json()["inviteUrl"]);
    assert_eq!(warned_fields(&with), ["source"]);
}

fn a_refusal_has_no_warnings() {
    let app = App::start();
    let body = json!({ "name": "n", "userId": "user_none", "expiresIn": 3 });
    let refused = app.admin().post("/api/admin/api-keys", &body).refused(404, "not_found");
    assert_eq!(refused.json()["warnings"], Value::Null);
    let refused = app.admin().post("/api/admin/api-keys", &json!({ "expiresIn": 3 })).refused(400, "validation_error");
    assert_eq!(refused.json()["warnings"], Value::Null);
}

fn warnings_are_limited_in_length_and_number() {
    let app = App::start();
    let mut body = json!({ "email": "ada@example.org", "name": "Ada" });
    for number in 0..500 {
        body[format!("{number:03}{}", "x".repeat(200))] = json!(1);
    }
    let created = app.admin().post("/api/admin/users", &body).expect(200).json();
    let warnings = created["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 21);
    assert_eq!(warnings[0]["field"], format!("000{}…", "x".repeat(61)));
    assert_eq!(warnings[20]["detail"], "480 more members were ignored");
}

/// The test client checks each answer against its schema in the API description. The schemas of these answers list
/// `warnings`.
fn answers_with_shared_schemas_have_warnings() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = format!("/api/admin/users/{}", hiring.staff("owner"));
    assert_eq!(warned_fields(&app.admin().patch(&owner, &json!({ "name": "Ada", "role": 1 })).expect(200)), ["role"]);
    app.set_password(&hiring.email("owner"), "correct horse battery");
    let body = json!({ "email": hiring.email("owner"), "password": "correct horse battery", "remember": true });
    assert_eq!(warned_fields(&app.anonymous().post("/api/auth/sign-in", &body).expect(200)), ["remember"]);
}

fn a_stored_response_has_its_warnings() {
    let app = App::start();
    let hiring = app.hiring();
    let repeated = app.user(&hiring.staff("owner")).with_header("Idempotency-Key", "k");
    let body = json!({ "colour": "red" });
    let first = repeated.post(&hiring.reject(0), &body).expect(200);
    let second = repeated.post(&hiring.reject(0), &body).expect(200);
    assert_eq!(second.header("idempotency-replayed"), Some("true"));
    assert_eq!(second.body, first.body);
    assert_eq!(warned_fields(&second), ["colour"]);
}

fn members_of_free_form_objects_are_not_unknown() {
    let app = App::start();
    let hiring = app.hiring();
    let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
    let theme = json!({ "portal": { "theme": { "primaryColor": "#0f766e", "font": { "own": 1 } } } });
    assert_eq!(app.admin().patch(&organization, &theme).expect(200).json()["warnings"], Value::Null);
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    let description = json!({ "description": { "anything": { "goes": 1 } } });
    assert_eq!(app.admin().patch(&role, &description).expect(200).json()["warnings"], json!([]));
}

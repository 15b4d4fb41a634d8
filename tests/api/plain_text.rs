//! The characters that strings may contain, on every endpoint. Lines, notes and JSON have separate rules.

use appliance::interchange::{self, Secrets};
use appliance::store;
use serde_json::{Value, json};

use crate::support::{Answer, App};

crate::tests![
    lines_with_hidden_characters_are_refused_in_requests_of_staff_and_admins,
    names_spelled_with_joiners_are_accepted,
    addresses_with_header_or_link_syntax_are_refused_in_requests_of_staff_and_admins,
    a_stored_address_that_is_now_invalid_still_works,
    notes_accept_line_breaks_but_no_other_control_characters,
    json_nested_more_than_32_levels_deep_is_refused,
    an_activity_row_with_json_nested_too_deeply_is_shown_without_its_detail,
];

/// Returns the only field that the refusal names, and the reason.
#[track_caller]
fn fault(answer: &Answer) -> (String, String) {
    let detail = answer.json();
    let errors = detail["errors"].as_array().unwrap_or_else(|| panic!("{detail}"));
    assert_eq!(errors.len(), 1, "{detail}");
    let text = |name: &str| errors[0][name].as_str().unwrap().to_owned();
    (text("field"), text("detail"))
}

/// Returns an array that is nested to this depth.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!([]), |inner, _| json!([inner]))
}

fn lines_with_hidden_characters_are_refused_in_requests_of_staff_and_admins() {
    let app = App::start();
    let hiring = app.hiring();
    let (admin, owner) = (app.admin(), app.user_with_all(&hiring.staff("owner")));
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    for (c, kind) in [
        ("\0", "must have no NUL character (U+0000)"),
        ("\u{1b}", "must have no control character (U+001B)"),
        ("\n", "must have no line break (U+000A)"),
        ("\u{202e}", "must have no character that changes the direction of text (U+202E)"),
        ("\u{2066}", "must have no character that changes the direction of text (U+2066)"),
        ("\u{200b}", "must have no invisible character (U+200B)"),
        ("\u{200d}", "must have no invisible character (U+200D)"),
        ("\u{e0041}", "must have no invisible character (U+E0041)"),
    ] {
        let text = format!("a{c}b");
        let person = json!({ "name": text, "email": "new@example.org", "roleId": hiring.role_id });
        let steps = json!({ "name": "Cook", "steps": [{ "name": text }] });
        let key = json!({ "name": text, "userId": "user_admin", "expiresInDays": 1 });
        for (answer, field) in [
            (owner.post(&hiring.candidates_path(), &person), "name"),
            (owner.patch(&hiring.candidate_path(0), &json!({ "name": text })), "name"),
            (owner.post(&hiring.roles(), &json!({ "name": text })), "name"),
            (owner.post(&hiring.roles(), &steps), "steps[0].name"),
            (owner.patch(&role, &json!({ "department": text })), "department"),
            (owner.patch(&role, &json!({ "location": text })), "location"),
            (owner.post(&hiring.reject(0), &json!({ "outcomeReason": text })), "outcomeReason"),
            (owner.post(&hiring.reject(0), &json!({ "outcomeType": text })), "outcomeType"),
            (owner.post(&hiring.hire(0), &json!({ "externalPositionId": text })), "externalPositionId"),
            (admin.post("/api/admin/organizations", &json!({ "slug": "new", "name": text })), "name"),
            (admin.post("/api/admin/users", &json!({ "email": "new@example.org", "name": text })), "name"),
            (admin.post("/api/admin/api-keys", &key), "name"),
        ] {
            assert_eq!(fault(&answer.expect(400)), (field.to_owned(), kind.to_owned()));
        }
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn names_spelled_with_joiners_are_accepted() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for (nth, name) in ["می\u{200c}خواهم", "ശ്രീരാജന്\u{200d}", "Ada 👩\u{200d}💻", "葛\u{e0100}城", "Ma\u{308}dchen"]
        .into_iter()
        .enumerate()
    {
        let person = json!({ "name": name, "email": format!("{nth}@example.org"), "roleId": hiring.role_id });
        let answer = owner.post(&hiring.candidates_path(), &person).expect(200).json();
        assert_eq!(answer["data"]["name"], name);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn addresses_with_header_or_link_syntax_are_refused_in_requests_of_staff_and_admins() {
    let app = App::start();
    let hiring = app.hiring();
    let (admin, owner) = (app.admin(), app.user_with_all(&hiring.staff("owner")));
    for email in ["a@b?bcc=c@d.example", "mailto:a@b", "<a@b>", "a&b@c", "\"a\"@b", "a%0ab@c", "a@b/c", "a\u{200b}b@c"]
    {
        let person = json!({ "name": "Ada", "email": email, "roleId": hiring.role_id });
        for answer in [
            owner.post(&hiring.candidates_path(), &person),
            owner.patch(&hiring.candidate_path(0), &json!({ "email": email })),
            admin.post("/api/admin/users", &json!({ "email": email, "name": "Ada" })),
        ] {
            let (field, why) = fault(&answer.refused(400, "validation_error"));
            assert_eq!(field, "email", "{email}");
            assert!(why.starts_with("must be an email address of at most 254 characters, without"), "{why}");
        }
    }
    let person = json!({ "name": "Ada", "email": "o'brien+jobs@example.org", "roleId": hiring.role_id });
    owner.post(&hiring.candidates_path(), &person).expect(200);
}

fn a_stored_address_that_is_now_invalid_still_works() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let old = |table: &str, id: &str| {
        app.change(&format!(
            "UPDATE {table} SET email = 'a&b@example.org', email_key = 'a&b@example.org' WHERE id = '{id}'"
        ));
    };
    old("users", &hiring.staff("member"));
    app.set_password("a&b@example.org", "correct horse battery");
    app.sign_in("a&b@example.org", "correct horse battery").get("/api/v1/me").expect(200);
    let candidate = hiring.candidate_path(0);
    old("candidates", candidate.rsplit('/').next().unwrap());
    assert_eq!(owner.get(&candidate).expect(200).json()["data"]["email"], "a&b@example.org");
    let found = owner.get(&format!("{}?email=a%26b@example.org", hiring.candidates_path())).expect(200).json();
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    owner.patch(&candidate, &json!({ "name": "Renamed" })).expect(200);
}

fn notes_accept_line_breaks_but_no_other_control_characters() {
    let app = App::start();
    let hiring = app.hiring();
    let (admin, owner) = (app.admin(), app.user_with_all(&hiring.staff("owner")));
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
    for (c, kind) in
        [("\0", "must have no NUL character (U+0000)"), ("\u{8}", "must have no control character (U+0008)")]
    {
        let text = format!("one\n\ttwo{c}");
        let body = json!({ "format": "markdown", "body": text });
        for (answer, field) in [
            (owner.post(&hiring.reject(0), &json!({ "outcomeNotes": text })), "outcomeNotes"),
            (owner.post(&hiring.hire(0), &json!({ "notes": text })), "notes"),
            (owner.post(&format!("{role}/close"), &json!({ "reason": text })), "reason"),
            (owner.put(&format!("{}/hold", hiring.candidate_path(0)), &json!({ "reason": text })), "reason"),
            (admin.patch(&organization, &json!({ "privacyNotice": text })), "privacyNotice"),
            (owner.patch(&role, &json!({ "description": body })), "description"),
            (admin.patch(&organization, &json!({ "portal": { "theme": { "x": text } } })), "portal.theme.x"),
        ] {
            assert_eq!(fault(&answer.expect(400)), (field.to_owned(), kind.to_owned()));
        }
    }
    let body = json!({ "format": "markdown", "body": "one\r\n\ttwo" });
    owner.patch(&role, &json!({ "description": body })).expect(200);
    admin.patch(&organization, &json!({ "privacyNotice": "one\r\n\ttwo" })).expect(200);
    owner.post(&hiring.reject(0), &json!({ "outcomeNotes": "one\n\ttwo \u{200f}" })).expect(200);
}

fn json_nested_more_than_32_levels_deep_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let (admin, owner) = (app.admin(), app.user_with_all(&hiring.staff("owner")));
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
    let description = |depth: usize| json!({ "description": { "a": nested(depth - 1) } });
    let theme = |depth: usize| json!({ "portal": { "theme": { "a": nested(depth - 1) } } });
    owner.patch(&role, &description(32)).expect(200);
    admin.patch(&organization, &theme(32)).expect(200);
    let detail = "must be nested at most 32 levels deep".to_owned();
    for depth in [33, 100] {
        let answer = owner.patch(&role, &description(depth)).refused(400, "validation_error");
        assert_eq!(fault(&answer), ("description".to_owned(), detail.clone()));
        let mut body = description(depth);
        body["name"] = json!("Cook");
        let answer = owner.post(&hiring.roles(), &body).refused(400, "validation_error");
        assert_eq!(fault(&answer), ("description".to_owned(), detail.clone()));
        let answer = admin.patch(&organization, &theme(depth)).refused(400, "validation_error");
        assert_eq!(fault(&answer), ("portal.theme.a".to_owned(), detail.clone()));
    }
    owner.get(&format!("{role}/activity")).expect(200);
}

/// A stored description can be nested so deeply that the activity row of its change is nested more deeply than the JSON
/// parser accepts.
fn an_activity_row_with_json_nested_too_deeply_is_shown_without_its_detail() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    owner.patch(&role, &json!({ "name": "Before" })).expect(200);
    let deep = json!({ "a": nested(125) });
    app.change(&format!("UPDATE roles SET description = '{deep}' WHERE id = '{}'", hiring.role_id));
    let detail = json!({ "before": { "description": {} }, "after": { "description": deep } });
    app.drop_trigger("activities_stay_as_they_are", "activities");
    app.change(&format!(
        "UPDATE activities SET detail = '{detail}' WHERE number = (SELECT max(number) FROM activities)"
    ));
    for path in [format!("{role}/activity"), format!("/api/v1/organizations/{}/activity", hiring.organization_id)] {
        let row = owner.get(&path).expect(200).json()["data"][0].take();
        let shown = (&row["action"], &row["before"], &row["after"], &row["erased"]);
        assert_eq!(shown, (&json!("role.changed"), &Value::Null, &Value::Null, &json!(false)));
    }
    let (world, mut out) = (app.world.as_ref(), Vec::new());
    let export = |tx: &store::Tx<'_>| Ok(interchange::export(tx, Secrets::LeftOut, &mut out).unwrap());
    let notices = store::read_alone(&app.path, world, export).unwrap();
    let left_out = format!("not in the document: the description of the role {}", hiring.role_id);
    assert_eq!(notices, [format!("{left_out} (nested more than 32 levels deep)")]);
    assert!(interchange::parse(&out, world).is_ok(), "the document can be imported");
}

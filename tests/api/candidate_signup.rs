//! The signup data that staff see on the board and with a candidate's applications.

use serde_json::{Value, json};

use crate::support::stored_signup::{CV, add_candidate, insert_signup};
use crate::support::{App, Hiring};

crate::tests![
    staff_see_the_signup_of_an_application,
    candidate_lists_omit_the_signup,
    a_long_board_shows_each_candidate_with_their_own_signup,
    a_later_signup_is_not_shown_as_the_applications_signup,
];

fn signup(email: &str, token: &str, withdrew_at: &Value) -> Value {
    let at = "2026-11-21T09:00:00.000000Z";
    json!({
        "submittedAt": at, "name": "Ada <b>Typed</b>", "email": email, "phone": "+44 20 7946",
        "links": ["https://ada.example"], "note": "First line\nSecond line", "locale": "en", "consentedAt": at,
        "documents": [{
            "id": format!("doc_{token}"), "fileName": "My CV.pdf", "mediaType": "application/pdf", "bytes": CV.len(),
            "createdAt": at,
        }],
        "withdrewAt": withdrew_at,
    })
}

fn board(hiring: &Hiring) -> String {
    format!("/api/v1/roles/{}/board", hiring.role_id)
}

fn staff_see_the_signup_of_an_application() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let application = add_candidate(&app, &hiring, "ada@example.org");
    let path = insert_signup(&app, &hiring, Some(&application), "ADA@example.org", "t1");
    let expected = signup("ADA@example.org", "t1", &Value::Null);
    let shown = owner.get(&board(&hiring)).expect(200).json();
    let entry = &shown["data"]["steps"][0]["candidates"][0];
    assert_eq!(entry["signup"], expected);
    assert_eq!(shown["data"]["steps"][1]["candidates"][0]["signup"], Value::Null);
    let page = owner.get(&format!("{}?stepId={}", board(&hiring), hiring.role_steps[0])).expect(200).json();
    assert_eq!(page["data"][0]["signup"], expected);
    let id = entry["candidate"]["id"].as_str().unwrap();
    let read = || owner.get(&format!("/api/v1/candidates/{id}")).expect(200).json()["data"].take();
    assert_eq!(read()["applications"][0]["signup"], expected);
    // The signup does not overwrite the stored name and address of the candidate.
    assert_eq!((&read()["name"], &read()["email"]), (&json!("Ada Original"), &json!("ada@example.org")));
    app.pass(60);
    app.anonymous().post_empty(&format!("{path}/withdraw")).expect(303);
    let withdrew = json!("2026-11-21T09:01:00.000000Z");
    assert_eq!(read()["applications"][0]["signup"], signup("ADA@example.org", "t1", &withdrew));
    assert_eq!(
        owner.get(&hiring.candidate_path(0)).expect(200).json()["data"]["applications"][0]["signup"],
        Value::Null
    );
}

fn candidate_lists_omit_the_signup() {
    let app = App::start();
    let hiring = app.hiring();
    let application = add_candidate(&app, &hiring, "ada@example.org");
    insert_signup(&app, &hiring, Some(&application), "ada@example.org", "t1");
    let list = app.user_with_all(&hiring.staff("owner")).get(&hiring.candidates_path()).expect(200).json();
    assert!(list["data"][0]["applications"][0].get("signup").is_none(), "{list}");
}

fn a_long_board_shows_each_candidate_with_their_own_signup() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for number in 0..120 {
        let application = add_candidate(&app, &hiring, &format!("p{number}@example.org"));
        if number % 2 == 0 {
            insert_signup(&app, &hiring, Some(&application), &format!("p{number}@example.org"), &format!("t{number}"));
        }
    }
    let page = owner.get(&format!("{}?stepId={}&limit=200", board(&hiring), hiring.role_steps[0])).expect(200).json();
    let emails: Vec<&Value> = page["data"].as_array().unwrap().iter().map(|entry| &entry["signup"]["email"]).collect();
    let mut typed: Vec<&str> = emails.iter().filter_map(|email| email.as_str()).collect();
    typed.sort_unstable();
    typed.dedup();
    assert_eq!((emails.len(), typed.len()), (120, 60));
    for entry in page["data"].as_array().unwrap() {
        let document = &entry["signup"]["documents"][0]["id"];
        let email = &entry["signup"]["email"];
        assert_eq!(document.is_string(), email.is_string());
        if let (Some(document), Some(email)) = (document.as_str(), email.as_str()) {
            assert_eq!(
                document.strip_prefix("doc_t"),
                email.strip_prefix('p').map(|rest| rest.split('@').next().unwrap())
            );
        }
    }
}

fn a_later_signup_is_not_shown_as_the_applications_signup() {
    let app = App::start();
    let hiring = app.hiring();
    let application = add_candidate(&app, &hiring, "ada@example.org");
    insert_signup(&app, &hiring, None, "ada@example.org", "shadow");
    let shown = app.user_with_all(&hiring.staff("owner")).get(&board(&hiring)).expect(200).json();
    let entry = &shown["data"]["steps"][0]["candidates"][0];
    assert_eq!((&entry["candidateRoleId"], &entry["signup"]), (&json!(application), &Value::Null));
}

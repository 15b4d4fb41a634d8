//! `POST /api/v1/candidate-roles/{id}/status-link`: staff create a new status link for an application.

use serde_json::json;

use crate::support::App;
use crate::support::stored_signup::{insert_signup, new_status_link, status_link_in, status_link_path};

crate::tests![
    a_new_link_opens_the_status_page_and_disables_the_old_link,
    a_token_has_43_characters_and_the_file_stores_only_its_digest,
    activity_records_a_new_link_without_the_link,
    a_new_link_retains_the_language_unless_another_is_given,
    a_language_that_is_not_a_language_tag_is_refused,
    the_page_of_a_new_link_still_shows_a_withdrawal,
    an_erased_candidate_gets_no_link,
    repeating_a_request_does_not_show_the_link_again,
    an_erasure_removes_the_stored_response,
    an_unknown_application_is_not_found,
    creating_a_link_requires_the_scope_candidates_write,
];

fn a_new_link_opens_the_status_page_and_disables_the_old_link() {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user_with_all(&hiring.staff("hr_representative"));
    let answer = staff.post_empty(&status_link_path(&hiring, 0)).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let data = &answer.json()["data"];
    let first = status_link_in(&answer.json());
    let expected = json!({
        "id": hiring.candidates[0].application_id,
        "url": format!("http://{}{first}", app.address),
        "locale": "en",
        "issuedAt": "2026-11-21T09:00:00.000000Z",
    });
    assert_eq!(*data, expected);
    app.anonymous().get(&first).expect(200);
    let second = new_status_link(&app, &hiring, 0);
    app.anonymous().get(&first).expect(404);
    let page = app.anonymous().get(&second).expect(200).text();
    assert!(page.contains("Candidate 1"), "{page}");
    assert_eq!(app.sql("SELECT count(*) FROM status_pages"), ["1"]);
}

fn a_token_has_43_characters_and_the_file_stores_only_its_digest() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    let token = path.strip_prefix("/status/").unwrap();
    assert_eq!(token.len(), 43);
    let digest = appliance::domain::status_page::token_digest(token);
    assert_eq!(app.sql("SELECT digest FROM status_pages"), [format!("{digest:?}")]);
    for table in ["status_pages", "activities", "idempotency_keys", "api_key_usage"] {
        assert!(!app.sql(&format!("SELECT * FROM {table}")).concat().contains(token), "{table}");
    }
}

fn activity_records_a_new_link_without_the_link() {
    let app = App::start();
    let hiring = app.hiring();
    new_status_link(&app, &hiring, 1);
    let ids = &hiring.candidates[1];
    let row = app.sql("SELECT action, user_id, role_id, candidate_id, candidate_role_id, detail FROM activities");
    let ids = [&hiring.staff("owner"), &hiring.role_id, &ids.candidate_id, &ids.application_id];
    let ids = ids.map(String::as_str).join("|");
    let detail = r#"{"before":null,"after":{"locale":"en"}}"#;
    assert_eq!(row, [format!("candidate_role.status_link_issued|{ids}|{detail}")]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_new_link_retains_the_language_unless_another_is_given() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let locale = |body: &serde_json::Value| {
        owner.post(&status_link_path(&hiring, 0), body).expect(200).json()["data"]["locale"].take()
    };
    assert_eq!(locale(&json!({ "locale": "fr" })), "fr");
    assert_eq!(locale(&json!({})), "fr");
    assert_eq!(locale(&json!({ "locale": null })), "fr");
    assert_eq!(locale(&json!({ "locale": "de-CH" })), "de-CH");
    // Without an earlier status page, the new link uses the signup's language.
    insert_signup(&app, &hiring, Some(&hiring.candidates[1].application_id), "a@example.org", "spanish");
    app.change("DELETE FROM status_pages; UPDATE signups SET locale = 'es'");
    let answer = owner.post_empty(&status_link_path(&hiring, 1)).expect(200).json();
    assert_eq!(answer["data"]["locale"], "es");
}

fn a_language_that_is_not_a_language_tag_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for wrong in [json!("e"), json!("../x"), json!(7), json!(format!("en{}", "-abcdefgh".repeat(29)))] {
        let refused = owner.post(&status_link_path(&hiring, 0), &json!({ "locale": wrong }));
        assert_eq!(refused.refused(400, "validation_error").fields(), ["locale"]);
    }
    owner.send("POST", &status_link_path(&hiring, 0), &[], b"[]").refused(400, "bad_request");
    assert_eq!(app.sql("SELECT count(*) FROM status_pages"), ["0"]);
    owner.post(&status_link_path(&hiring, 0), &json!({ "locale": "zh-Hant" })).expect(200);
}

fn the_page_of_a_new_link_still_shows_a_withdrawal() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    app.anonymous().post_empty(&format!("{path}/withdraw")).expect(303);
    let page = app.anonymous().get(&new_status_link(&app, &hiring, 0)).expect(200).text();
    assert!(page.contains("The application was withdrawn"), "{page}");
}

fn an_erased_candidate_gets_no_link() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.delete(&hiring.candidate_path(0)).expect(200);
    owner.post_empty(&status_link_path(&hiring, 0)).refused(409, "conflict");
}

fn repeating_a_request_does_not_show_the_link_again() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner")).with_header("Idempotency-Key", "once");
    let path = status_link_in(&owner.post_empty(&status_link_path(&hiring, 0)).expect(200).json());
    let refused = owner.post_empty(&status_link_path(&hiring, 0)).refused(409, "conflict");
    assert!(!refused.text().contains(path.strip_prefix("/status/").unwrap()));
    app.anonymous().get(&path).expect(200);
}

fn an_erasure_removes_the_stored_response() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let repeated = owner.with_header("Idempotency-Key", "link-for-quixworth");
    repeated.post_empty(&status_link_path(&hiring, 0)).expect(200);
    owner.delete(&hiring.candidate_path(0)).expect(200);
    repeated.post_empty(&status_link_path(&hiring, 0)).refused(410, "gone");
    assert!(!app.sql("SELECT * FROM idempotency_keys").concat().contains("quixworth"));
}

fn an_unknown_application_is_not_found() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.user_with_all(&hiring.staff("owner"));
    for id in ["app_nobody", "%20", &"x".repeat(65)] {
        owner.post_empty(&format!("/api/v1/candidate-roles/{id}/status-link")).refused(404, "not_found");
    }
    owner.post_empty(&status_link_path(&other, 0)).refused(404, "not_found");
    assert_eq!(app.sql("SELECT count(*) FROM status_pages"), ["0"]);
}

fn creating_a_link_requires_the_scope_candidates_write() {
    let app = App::start();
    let hiring = app.hiring();
    let key = |scopes: &[&str]| {
        app.key(&app.make_key_with(&json!({ "name": "k", "userId": hiring.staff("owner"), "scopes": scopes })).1)
    };
    let path = status_link_path(&hiring, 0);
    key(&["candidates:read", "pipeline:write"]).post_empty(&path).refused(403, "insufficient_scope");
    app.user_with_all(&hiring.staff("member")).post_empty(&path).refused(403, "forbidden");
    key(&["candidates:write"]).post_empty(&path).expect(200);
}

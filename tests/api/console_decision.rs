//! `/app/{orgSlug}/applications/{id}/…`: the decisions of staff in the browser, and the pages and messages that
//! follow.

use serde_json::json;

use crate::support::console::{app_path, follow};
use crate::support::hiring::set_steps;
use crate::support::race::{assert_sound, run_together};
use crate::support::stored_signup::new_status_link;
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    each_decision_changes_the_application_and_leads_back_to_the_candidates_page,
    an_advance_names_the_step_to_which_it_moves_the_candidate,
    a_rejection_stores_the_documented_reason_with_its_type,
    the_message_names_the_time_at_which_the_status_page_shows_the_decision,
    the_effects_of_a_hire_are_shown_first_and_then_carried_out,
    the_last_hire_fills_the_role_and_a_further_hire_is_not_offered,
    the_message_about_a_hire_for_a_role_that_is_not_public_does_not_mention_the_career_page,
    a_hire_without_the_required_position_code_shows_the_form_with_the_typed_values,
    a_decision_from_an_old_page_is_refused_with_the_current_step,
    a_partial_request_gets_the_refusal_as_a_dialog,
    the_person_who_made_the_last_decision_can_undo_it_for_ten_minutes,
    a_plain_member_may_not_decide_and_sees_no_form,
    a_form_returns_only_to_a_page_of_the_console,
    an_invalid_field_changes_nothing,
    notes_have_the_same_limit_as_in_the_api,
    a_step_of_another_application_is_not_found,
    a_decision_in_the_browser_is_recorded_with_the_user_and_without_an_api_key,
    one_of_two_people_who_decide_at_the_same_time_is_refused,
    hostile_text_in_every_field_is_shown_as_text,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let recruiter = app.browser(&hiring, "hr_representative");
    (app, hiring, recruiter)
}

fn act_path(hiring: &Hiring, candidate: usize, act: &str) -> String {
    app_path(hiring, &format!("applications/{}/{act}", hiring.candidates[candidate].application_id))
}

fn candidate_path(hiring: &Hiring, candidate: usize) -> String {
    app_path(hiring, &format!("candidates/{}", hiring.candidates[candidate].candidate_id))
}

/// Sends the form of an act at a step of the candidate's application.
fn act(client: &Client, hiring: &Hiring, candidate: usize, act: &str, step: usize, more: &[(&str, &str)]) -> Answer {
    let step = hiring.candidates[candidate].steps[step].clone();
    let fields = [&[("step", step.as_str())], more].concat();
    client.submit(&act_path(hiring, candidate, act), &fields)
}

fn status(app: &App, hiring: &Hiring, candidate: usize) -> String {
    let id = &hiring.candidates[candidate].application_id;
    app.sql(&format!("SELECT status FROM candidate_roles WHERE id = '{id}'")).remove(0)
}

#[track_caller]
fn assert_has(answer: &Answer, texts: &[&str]) {
    for text in texts {
        assert!(answer.text().contains(text), "{text} is not in:\n{}", answer.text());
    }
}

fn each_decision_changes_the_application_and_leads_back_to_the_candidates_page() {
    let (app, hiring, recruiter) = start();
    let ended = ["validated", "rejected", "pending", "pending"];
    for (name, step, more, application, steps, message) in [
        (
            "advance",
            1,
            &[][..],
            "In Progress",
            ["validated", "validated", "in_progress", "pending"],
            "is now at Interview.",
        ),
        (
            "move",
            1,
            &[("reason", "Too early")],
            "In Progress",
            ["validated", "in_progress", "pending", "pending"],
            "is now at Call.",
        ),
        ("move", 3, &[], "In Progress", ["validated", "validated", "skipped", "in_progress"], "is now at Offer."),
        ("move", 1, &[], "In Progress", ["validated", "in_progress", "pending", "pending"], "is now at Call."),
        ("reject", 1, &[], "Not Selected", ended, "was rejected at Call."),
        (
            "reopen",
            1,
            &[("reason", "A mistake")],
            "In Progress",
            ["validated", "in_progress", "pending", "pending"],
            "is back at Call.",
        ),
        (
            "withdraw",
            1,
            &[("reason", "Asked by phone")],
            "Withdrawn",
            ["validated", "in_progress", "pending", "pending"],
            "was withdrawn.",
        ),
    ] {
        let answer = act(&recruiter, &hiring, 0, name, step, more).expect(303);
        let id = &hiring.candidates[0].application_id;
        assert_eq!(answer.header("location"), Some(format!("{}?done={id}", candidate_path(&hiring, 0)).as_str()));
        assert_eq!(hiring.step_statuses(&app, 0), steps, "{name}");
        assert_eq!(status(&app, &hiring, 0), application, "{name}");
        assert_has(
            &follow(&recruiter, answer),
            &[&format!("Candidate 1 {message}")
                .replace("Candidate 1 was withdrawn", "The application of Candidate 1 was withdrawn")],
        );
    }
    // The page shows where a withdrawn application ended, although its steps did not change.
    let page = recruiter.get(&candidate_path(&hiring, 0)).expect(200);
    assert_has(&page, &["<li class=\"rejected\"><b dir=\"auto\">Call</b> <span class=\"quiet\">Withdrawn"]);
    assert!(!page.text().contains("here now"));
    assert_eq!(app.check(), Vec::<String>::new());
}

/// An imported application can have several steps in progress. A validation then moves the candidate to another step in
/// progress, not to a pending step.
fn an_advance_names_the_step_to_which_it_moves_the_candidate() {
    for (steps, label, after) in [
        (
            ["in_progress", "pending", "in_progress", "pending"],
            "Advance to Interview",
            ["validated", "pending", "in_progress", "pending"],
        ),
        (
            ["in_progress", "in_progress", "skipped", "skipped"],
            "Advance to Call",
            ["validated", "in_progress", "skipped", "skipped"],
        ),
    ] {
        let app = App::start();
        let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &steps));
        let recruiter = app.browser(&hiring, "hr_representative");
        assert_has(&recruiter.get(&candidate_path(&hiring, 0)).expect(200), &[label]);
        act(&recruiter, &hiring, 0, "advance", 0, &[("seen", &hiring.candidates[0].steps[0])]).expect(303);
        assert_eq!(hiring.step_statuses(&app, 0), after);
    }
}

fn a_rejection_stores_the_documented_reason_with_its_type() {
    let (app, hiring, recruiter) = start();
    let fields = [("reason", "accepted_other_offer"), ("notes", "Starts in May\r\nat a competitor.")];
    let page = follow(&recruiter, act(&recruiter, &hiring, 0, "reject", 1, &fields));
    let id = &hiring.candidates[0].steps[1];
    let columns = "outcome_type, outcome_reason, replace(rejection_reason, char(10), '/')";
    let row = app.sql(&format!("SELECT {columns} FROM candidate_role_steps WHERE id = '{id}'"));
    assert_eq!(row, ["rejected_by_candidate|accepted_other_offer|Starts in May/at a competitor."]);
    assert_has(&page, &["Accepted another offer", "Starts in May\nat a competitor."]);
}

fn the_message_names_the_time_at_which_the_status_page_shows_the_decision() {
    let (app, hiring, recruiter) = start();
    let admin = app.admin();
    let settings = format!("/api/admin/organizations/{}", hiring.organization_id);
    let reject = |candidate| follow(&recruiter, act(&recruiter, &hiring, candidate, "reject", 1, &[]));
    assert_has(&reject(0), &["The candidate has no status page. Tell the candidate yourself."]);
    new_status_link(&app, &hiring, 1);
    app.set_clock("2026-11-21T09:12:33Z");
    let advanced = follow(&recruiter, act(&recruiter, &hiring, 1, "advance", 1, &[]));
    assert_has(&advanced, &["The candidate’s status page shows the decision from 21 November 2026, 09:22."]);
    let rejected = follow(&recruiter, act(&recruiter, &hiring, 1, "reject", 2, &[]));
    let hire = recruiter.get(&act_path(&hiring, 2, "hire")).expect(200);
    assert_has(&hire, &["The candidate has no status page."]);
    assert_has(&rejected, &["The candidate’s status page shows the decision from 24 November 2026, 09:12."]);
    for (hours, text) in [
        (json!(0), "shows the decision now"),
        (json!(null), "never shows the decision"),
        (json!(24), "from 22 November"),
    ] {
        admin.patch(&settings, &json!({ "decisionVisibleAfterHours": hours })).expect(200);
        let path = format!("{}?done={}", candidate_path(&hiring, 1), hiring.candidates[1].application_id);
        assert_has(&recruiter.get(&path).expect(200), &[text]);
    }
}

fn the_effects_of_a_hire_are_shown_first_and_then_carried_out() {
    let (app, hiring, recruiter) = start();
    let path = act_path(&hiring, 0, "hire");
    let page = recruiter.get(&path).expect(200);
    let skips = "The hire skips these steps: Interview.";
    let takes = "The hire takes position 1 of 2 for Engineer.";
    assert_has(&page, &[takes, skips, "No HR system is connected", "Hire Candidate 1"]);
    assert_has(&page, &["The candidate has no status page."]);
    assert!(!page.text().contains("last position"));
    assert_eq!(status(&app, &hiring, 0), "In Progress");
    let fields = [("hiredDate", "2026-12-01"), ("offerAcceptedDate", ""), ("notes", "Welcome")];
    let page = follow(&recruiter, recruiter.submit(&path, &fields));
    assert_has(&page, &["Candidate 1 was hired.", "1 December 2026", "Welcome"]);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "skipped", "validated"]);
    let integration = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    app.admin().put(&integration, &json!({ "url": "https://hr.example/in", "enabled": true })).expect(200);
    let effects = ["position 2 of 2", "The career page then no longer shows", "The HR system is notified immediately."];
    assert_has(&recruiter.get(&act_path(&hiring, 1, "hire")).expect(200), &effects);
    app.admin().put(&integration, &json!({ "url": "https://hr.example/in", "enabled": false })).expect(200);
    assert_has(&recruiter.get(&act_path(&hiring, 1, "hire")).expect(200), &["The HR integration is switched off."]);
}

fn the_last_hire_fills_the_role_and_a_further_hire_is_not_offered() {
    let (app, hiring, recruiter) = start();
    recruiter.submit(&act_path(&hiring, 0, "hire"), &[]).expect(303);
    let page = follow(&recruiter, recruiter.submit(&act_path(&hiring, 1, "hire"), &[]));
    assert_has(&page, &["The role is filled, and the career page no longer shows it."]);
    let full = "All positions of the role are filled.";
    let page = recruiter.get(&act_path(&hiring, 2, "hire")).expect(200);
    assert!(page.text().contains(full) && !page.text().contains("<form method=\"post\" action=\"/app/acme"));
    assert_has(&recruiter.submit(&act_path(&hiring, 2, "hire"), &[]).expect(400), &[full]);
    assert_has(&recruiter.get(&act_path(&hiring, 1, "hire")).expect(200), &["has already ended"]);
    recruiter.submit(&act_path(&hiring, 1, "hire"), &[]).expect(409);
    // Reversing a hire frees the position.
    let page = follow(&recruiter, act(&recruiter, &hiring, 1, "reject", 3, &[("reason", "declined_offer")]));
    assert_has(&page, &["The hire of Candidate 2 was reversed.", "Declined our offer"]);
    recruiter.submit(&act_path(&hiring, 2, "hire"), &[]).expect(303);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_message_about_a_hire_for_a_role_that_is_not_public_does_not_mention_the_career_page() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["roles"][0]["public"] = json!(false);
        document["organizations"][0]["roles"][0]["positions"] = json!(1);
    });
    let recruiter = app.browser(&hiring, "owner");
    let path = act_path(&hiring, 0, "hire");
    let page = recruiter.get(&path).expect(200);
    assert_has(&page, &["This is the last position, so the hire fills the role."]);
    let page = follow(&recruiter, recruiter.submit(&path, &[]));
    assert_has(&page, &["The role is filled."]);
    assert!(!page.text().contains("career page no longer shows"));
}

fn a_hire_without_the_required_position_code_shows_the_form_with_the_typed_values() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["requireExternalPositionId"] = json!(true);
    });
    let recruiter = app.browser(&hiring, "owner");
    let path = act_path(&hiring, 0, "hire");
    assert_has(
        &recruiter.get(&path).expect(200),
        &["Your organization requires it", "name=\"externalPositionId\" required"],
    );
    for code in ["", "  "] {
        let fields = [("externalPositionId", code), ("notes", "Typed <b>before</b>")];
        let page = recruiter.submit(&path, &fields).expect(400);
        assert_has(&page, &["Enter the position code.", "Typed &#60;b&#62;before&#60;/b&#62;</textarea>"]);
    }
    let page = recruiter.submit(&path, &[("externalPositionId", "P-1"), ("hiredDate", "soon")]).expect(400);
    assert_has(&page, &["Enter a date.", "value=\"soon\"", "value=\"P-1\""]);
    recruiter.submit(&path, &[("externalPositionId", &"x".repeat(256))]).expect(400);
    assert_eq!(status(&app, &hiring, 0), "In Progress");
    recruiter.submit(&path, &[("externalPositionId", &"x".repeat(255))]).expect(303);
    assert_eq!(status(&app, &hiring, 0), "Hired");
}

fn a_decision_from_an_old_page_is_refused_with_the_current_step() {
    let (app, hiring, recruiter) = start();
    let ingrid = app.browser(&hiring, "moderator");
    act(&ingrid, &hiring, 0, "advance", 1, &[]).expect(303);
    app.pass(120);
    let seen = hiring.candidates[0].steps[1].clone();
    let id = &hiring.candidates[0].candidate_id;
    for (name, more) in [
        ("advance", &[][..]),
        ("move", &[]),
        ("reject", &[("reason", "other")]),
        ("reopen", &[("reason", "x")]),
        ("withdraw", &[]),
        ("hire", &[]),
    ] {
        let fields = [&[("seen", seen.as_str())], more].concat();
        let page = act(&recruiter, &hiring, 0, name, 1, &fields).expect(409);
        let decided = "Passed Call, by The moderator, 2 minutes ago.";
        assert_has(
            &page,
            &["Nothing was changed", decided, "Candidate 1 is at Interview.", &format!("candidates/{id}\"")],
        );
    }
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
    // The states of applications that have ended are compared too.
    act(&ingrid, &hiring, 0, "reject", 2, &[("seen", &hiring.candidates[0].steps[2])]).expect(303);
    let page = act(&recruiter, &hiring, 0, "withdraw", 2, &[("seen", &hiring.candidates[0].steps[2])]).expect(409);
    assert_has(
        &page,
        &["Rejected at Interview, by The moderator", "The status of Candidate 1’s application is “Not selected”."],
    );
    act(&recruiter, &hiring, 0, "reopen", 2, &[("seen", "Not Selected"), ("reason", "x")]).expect(303);
}

fn a_partial_request_gets_the_refusal_as_a_dialog() {
    let (_app, hiring, recruiter) = start();
    act(&recruiter, &hiring, 0, "advance", 1, &[]).expect(303);
    let module = recruiter.with_header("X-Part", "1");
    let answer = act(&module, &hiring, 0, "advance", 1, &[]).expect(409);
    assert!(answer.text().starts_with("<template data-dialog>"), "{}", answer.text());
    assert_has(&answer, &["Passed Call, by The hr_representative, just now.", "Candidate 1 is at Interview."]);
    let parts = follow(&module, act(&module, &hiring, 0, "advance", 2, &[]));
    let for_parts = ["<template data-for=\"applications\">", "<template data-for=\"activity\">", "<template data-say>"];
    assert_has(&parts, &for_parts);
    assert!(!parts.text().contains("<html"));
}

fn the_person_who_made_the_last_decision_can_undo_it_for_ten_minutes() {
    let (app, hiring, recruiter) = start();
    let undo = |client: &Client, candidate| client.submit(&act_path(&hiring, candidate, "undo"), &[]);
    let before = hiring.step_statuses(&app, 0);
    for (name, step) in [("advance", 1), ("move", 3), ("reject", 1)] {
        let page = follow(&recruiter, act(&recruiter, &hiring, 0, name, step, &[]));
        assert_has(&page, &["data-key=\"z\"", &format!("action=\"{}\"", act_path(&hiring, 0, "undo"))]);
        let page = follow(&recruiter, undo(&recruiter, 0));
        assert_has(&page, &["The last decision about Candidate 1 was undone.", "Decision undone"]);
        assert!(!page.text().contains("status page"));
        assert!(!page.text().contains("data-key=\"z\""));
        assert_eq!(hiring.step_statuses(&app, 0), before, "{name}");
        undo(&recruiter, 0).expect(409);
    }
    let owner = app.browser(&hiring, "owner");
    act(&recruiter, &hiring, 1, "advance", 1, &[]).expect(303);
    undo(&owner, 1).expect(403);
    undo(&app.browser(&hiring, "member"), 1).expect(403);
    act(&owner, &hiring, 1, "advance", 2, &[]).expect(303);
    assert_has(&undo(&recruiter, 1).expect(409), &["Passed Interview, by The owner, just now."]);
    // A hire cannot be undone, and its message offers no undo.
    let hired = follow(&recruiter, recruiter.submit(&act_path(&hiring, 2, "hire"), &[]));
    assert!(!hired.text().contains("data-key=\"z\""));
    undo(&recruiter, 2).expect(409);
    act(&recruiter, &hiring, 0, "advance", 1, &[]).expect(303);
    app.pass(600);
    let late = recruiter.get(&format!("{}?done={}", candidate_path(&hiring, 0), hiring.candidates[0].application_id));
    assert!(!late.expect(200).text().contains("data-key=\"z\""));
    undo(&recruiter, 0).expect(409);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_plain_member_may_not_decide_and_sees_no_form() {
    let (app, hiring, _) = start();
    let member = app.browser(&hiring, "member");
    let page = member.get(&candidate_path(&hiring, 0)).expect(200);
    assert_has(&page, &["may decide.", "disabled"]);
    assert!(!page.text().contains("/reject\"") && !page.text().contains("/hire"));
    member.get(&act_path(&hiring, 0, "hire")).expect(403);
    for name in ["advance", "move", "reject", "reopen", "withdraw", "hire"] {
        // The service refuses the member before it compares the state that the form names.
        act(&member, &hiring, 0, name, 1, &[("seen", "Hired"), ("reason", "other")]).expect(403);
    }
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
    app.import(&json!({ "users": [{ "id": "user_root", "email": "root@x.example", "name": "Root", "platformRole": "admin" }] }));
    act(&app.browser_of("root@x.example"), &hiring, 0, "advance", 1, &[]).expect(303);
}

fn a_form_returns_only_to_a_page_of_the_console() {
    let (_app, hiring, recruiter) = start();
    let board = app_path(&hiring, "roles/role_1?step=2#card");
    for (back, expected) in [
        (board.as_str(), app_path(&hiring, "roles/role_1?step=2&done=")),
        ("/app", "/app?done=".to_owned()),
        ("https://evil.example/app", format!("{}?done=", candidate_path(&hiring, 0))),
        ("//evil.example", format!("{}?done=", candidate_path(&hiring, 0))),
        ("/app\r\nX: y", format!("{}?done=", candidate_path(&hiring, 0))),
    ] {
        let step = if back == board { 3 } else { 1 };
        let answer = act(&recruiter, &hiring, 0, "move", step, &[("back", back)]);
        if answer.status == 400 {
            assert!(back.contains('\r'), "{back}");
            continue;
        }
        let answer = answer.expect(303);
        assert!(answer.header("location").unwrap().starts_with(&expected), "{back}");
        act(&recruiter, &hiring, 0, "move", 2, &[]).expect(303);
    }
    let page = recruiter.get(&format!("{}?back=%2Fapp%3Fa%3D1", act_path(&hiring, 0, "hire"))).expect(200);
    assert_has(&page, &["href=\"/app?a=1\""]);
    recruiter.get(&format!("{}?back=a&back=b", act_path(&hiring, 0, "hire"))).expect(400);
}

fn an_invalid_field_changes_nothing() {
    let (app, hiring, recruiter) = start();
    let too_many = [("back", "/app"), ("back", "/app")];
    for (name, more) in [
        ("reject", &[("reason", "because")][..]),
        ("reject", &[("notes", "a\0b")]),
        ("move", &[("reason", "a\u{7}b")]),
        ("withdraw", &[("reason", "a\0b")]),
        ("advance", &too_many),
        ("hire", &too_many),
    ] {
        let step = if name == "move" { 3 } else { 1 };
        act(&recruiter, &hiring, 0, name, step, more).expect(400);
    }
    act(&recruiter, &hiring, 1, "reject", 1, &[]).expect(303);
    for reason in [&[][..], &[("reason", " \r\n ")]] {
        let page = act(&recruiter, &hiring, 1, "reopen", 1, reason).expect(400);
        assert_has(&page, &["Nothing was changed", "missing or invalid"]);
    }
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
    assert_eq!(status(&app, &hiring, 1), "Not Selected");
}

fn notes_have_the_same_limit_as_in_the_api() {
    let (_app, hiring, recruiter) = start();
    act(&recruiter, &hiring, 0, "reject", 1, &[("notes", &"ä".repeat(10_001))]).expect(400);
    act(&recruiter, &hiring, 0, "reject", 1, &[("notes", &"ä".repeat(10_000))]).expect(303);
}

fn a_step_of_another_application_is_not_found() {
    let (_app, hiring, recruiter) = start();
    let path = act_path(&hiring, 0, "advance");
    for step in [hiring.candidates[1].steps[1].as_str(), "cstep_none", "", "not an id"] {
        recruiter.submit(&path, &[("step", step)]).expect(404);
    }
}

fn a_decision_in_the_browser_is_recorded_with_the_user_and_without_an_api_key() {
    let (app, hiring, recruiter) = start();
    let page = follow(&recruiter, act(&recruiter, &hiring, 0, "advance", 1, &[]));
    assert_has(&page, &["Passed Call", "<bdi>The hr_representative</bdi> in the browser"]);
    let row = app.sql("SELECT user_id, api_key_id IS NULL FROM activities ORDER BY number DESC LIMIT 1");
    assert_eq!(row, [format!("{}|1", hiring.staff("hr_representative"))]);
    app.user(&hiring.staff("owner")).post_empty(&hiring.decision(0, 2, "validate")).expect(200);
    assert_has(&recruiter.get(&candidate_path(&hiring, 0)).expect(200), &["<bdi>The owner</bdi> with an API key"]);
}

fn one_of_two_people_who_decide_at_the_same_time_is_refused() {
    let (app, hiring, recruiter) = start();
    let seen = hiring.candidates[0].steps[1].clone();
    let mut people = [recruiter, app.browser(&hiring, "owner")];
    for candidate in 0..3 {
        let seen = seen.replace("_1_2", &format!("_{}_2", candidate + 1));
        let answers = run_together(&mut people, |nth, client| {
            let name = ["advance", "reject"][nth];
            act(client, &hiring, candidate, name, 1, &[("seen", &seen)])
        });
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 409]);
    }
    assert_sound(&app);
}

fn hostile_text_in_every_field_is_shown_as_text() {
    const SCRIPT: &str = "<script>alert(1)</script>\"'&{{ x }}";
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let organization = &mut document["organizations"][0];
        organization["name"] = json!(SCRIPT);
        organization["roles"][0]["name"] = json!(SCRIPT);
        organization["roles"][0]["steps"][1]["name"] = json!(SCRIPT);
        organization["roles"][0]["steps"][2]["name"] = json!(SCRIPT);
        organization["roles"][0]["candidates"][0]["name"] = json!(SCRIPT);
        organization["roles"][0]["candidates"][0]["steps"][1]["name"] = json!(SCRIPT);
        document["users"][3]["name"] = json!(SCRIPT);
    });
    let recruiter = app.browser(&hiring, "hr_representative");
    let hire = recruiter.get(&act_path(&hiring, 0, "hire")).expect(200);
    let advanced = follow(&recruiter, act(&recruiter, &hiring, 0, "move", 2, &[("reason", SCRIPT)]));
    let refused = act(&recruiter, &hiring, 0, "advance", 1, &[("seen", SCRIPT)]).expect(409);
    let rejected = follow(&recruiter, act(&recruiter, &hiring, 0, "reject", 2, &[("notes", SCRIPT)]));
    let typed =
        recruiter.submit(&act_path(&hiring, 1, "hire"), &[("hiredDate", SCRIPT), ("notes", SCRIPT)]).expect(400);
    for page in [hire, advanced, refused, rejected, typed] {
        let text = page.text();
        assert!(!text.contains("<script>") && text.contains("&#60;script&#62;alert(1)"), "{text}");
        assert!(!text.contains("'&{{"), "{text}");
    }
}

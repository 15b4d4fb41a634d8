//! Pages of the staff console that show what others change: `GET …/changes` of boards, candidates, review queues and
//! roles.

use serde_json::json;

use crate::support::app::Options;
use crate::support::console::{app_path, follow};
use crate::support::hiring::first_role_of;
use crate::support::signup::Form;
use crate::support::stored_signup::{add_candidate, insert_signup};
use crate::support::{Answer, App, Client, Hiring, crowd};

crate::tests![
    an_answer_without_changes_is_empty,
    a_board_shows_the_move_of_somebody_else,
    ones_own_acts_are_not_announced,
    several_changes_are_announced_in_one_sentence,
    a_board_removes_erased_candidates_and_shows_changed_names,
    a_board_shows_hires_and_free_positions,
    the_first_application_adds_the_buttons_to_the_board,
    a_change_to_the_role_adds_a_notice_and_replaces_nothing,
    ones_own_change_elsewhere_is_shown_but_not_announced,
    a_candidates_page_gets_the_application_that_changed,
    a_page_of_older_activity_does_not_get_newer_activity,
    an_erasure_removes_the_data_from_the_candidates_page,
    a_queue_shows_what_others_decide,
    an_erased_candidate_leaves_no_name_in_a_queue,
    acts_on_other_roles_change_nothing_but_the_cursor,
    many_changes_come_in_several_answers,
    a_request_without_a_cursor_gets_one,
    an_unknown_cursor_is_refused_as_gone,
    repeated_and_invalid_parameters_are_refused,
    asking_for_changes_does_not_extend_the_session,
    the_messages_are_in_the_language_of_the_user,
    hostile_names_in_changes_are_shown_as_text,
];

/// Starts a service with an organization, and a browser of its owner.
fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    app.set_clock("2026-11-21T09:00:00Z");
    let owner = app.browser(&hiring, "owner");
    (app, hiring, owner)
}

fn board(hiring: &Hiring) -> String {
    app_path(hiring, &format!("roles/{}", hiring.role_id))
}

/// Returns the URL of the next changes. A page contains this URL, and so does each answer with changes.
#[track_caller]
fn source(answer: &Answer) -> String {
    let text = answer.text();
    let rest = text.split_once("id=\"live\" hidden data-url=\"").unwrap_or_else(|| panic!("{text}")).1;
    rest.split_once('"').unwrap().0.replace("&#38;", "&")
}

/// Opens a page, and returns the URL of its next changes.
#[track_caller]
fn open(client: &Client, path: &str) -> String {
    source(&client.get(path).expect(200))
}

fn ask(client: &Client, source: &str) -> Answer {
    client.with_header("X-Part", "1").get(source)
}

#[track_caller]
fn assert_has(answer: &Answer, texts: &[&str]) {
    for text in texts {
        assert!(answer.text().contains(text), "{text} is not in:\n{}", answer.text());
    }
}

/// Returns the message that announces the acts of others.
fn news(answer: &Answer) -> Option<String> {
    let text = answer.text();
    let rest = text.split_once("<template data-news><p dir=\"auto\">")?.1;
    Some(rest.split_once('<')?.0.to_owned())
}

/// Carries out a decision as the organization's user with this organization role.
fn decide(app: &App, hiring: &Hiring, org_role: &str, candidate: usize, decision: &str) {
    let step = if decision == "hire" { 3 } else { 1 };
    let path = hiring.decision(candidate, step, decision);
    app.user_with_all(&hiring.staff(org_role)).post(&path, &json!({ "reason": "a test" })).expect(200);
}

fn an_answer_without_changes_is_empty() {
    let (app, hiring, owner) = start();
    decide(&app, &hiring, "moderator", 2, "validate");
    let role = board(&hiring);
    let queue = app_path(&hiring, &format!("review?role={}&step={}", hiring.role_id, hiring.role_steps[1]));
    let queue = follow(&owner, owner.get(&queue));
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    let pages = [role.clone(), candidate, format!("{role}/edit"), format!("{role}/steps")];
    let sources: Vec<String> = pages.iter().map(|path| open(&owner, path)).chain([source(&queue)]).collect();
    for source in sources {
        let answer = ask(&owner, &source).expect(204);
        assert!(answer.text().is_empty(), "{source}");
    }
}

fn a_board_shows_the_move_of_somebody_else() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    decide(&app, &hiring, "moderator", 0, "validate");
    let answer = ask(&owner, &first).expect(200);
    let id = &hiring.candidates[0].application_id;
    assert_has(
        &answer,
        &[
            &format!("<template data-for=\"c-{id}\"></template>"),
            &format!("<template data-append=\"end-{}\"", hiring.role_steps[2]),
            &format!("value=\"{}\"", hiring.candidates[0].steps[2]),
            &format!("id=\"count-{}\">2</span>", hiring.role_steps[1]),
            &format!("id=\"count-{}\">1</span>", hiring.role_steps[2]),
        ],
    );
    for unchanged in [&hiring.candidates[1].application_id, "<html", "data-for=\"hired\"", "data-for=\"changed\""] {
        assert!(
            !answer.text().contains(&format!("c-{unchanged}\"")) && !answer.text().contains("<html"),
            "{unchanged}"
        );
    }
    assert_eq!(news(&answer).as_deref(), Some("The moderator moved Candidate 1 to Interview"));
    let next = source(&answer);
    ask(&owner, &next).expect(204);
    decide(&app, &hiring, "moderator", 1, "reject");
    let answer = ask(&owner, &next).expect(200);
    assert_eq!(news(&answer).as_deref(), Some("The moderator rejected Candidate 2"));
    assert!(!answer.text().contains("data-append"), "{}", answer.text());
    // A plain member gets the cards without the controls.
    let member = app.browser(&hiring, "member");
    let parts = ask(&member, &first).expect(200).text();
    assert!(parts.contains("c-app_1_1") && !parts.contains("checkbox") && !parts.contains("id=\"bar\""), "{parts}");
}

fn ones_own_acts_are_not_announced() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    decide(&app, &hiring, "owner", 0, "validate");
    let answer = ask(&owner, &first).expect(200);
    assert!(answer.text().contains("data-append") && news(&answer).is_none(), "{}", answer.text());
}

fn several_changes_are_announced_in_one_sentence() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    decide(&app, &hiring, "moderator", 0, "validate");
    decide(&app, &hiring, "admin", 1, "reject");
    decide(&app, &hiring, "owner", 2, "reject");
    assert_eq!(news(&ask(&owner, &first)).as_deref(), Some("2 changes by The admin, The moderator"));
    // Only the newest act on a candidate is announced.
    let first = open(&owner, &board(&hiring));
    decide(&app, &hiring, "admin", 1, "reopen");
    decide(&app, &hiring, "admin", 1, "reject");
    assert_eq!(news(&ask(&owner, &first)).as_deref(), Some("The admin rejected Candidate 2"));
}

fn a_board_removes_erased_candidates_and_shows_changed_names() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    let moderator = app.user_with_all(&hiring.staff("moderator"));
    moderator.patch(&hiring.candidate_path(1), &json!({ "name": "Amélie Byrne" })).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert_has(&answer, &["Amélie Byrne</a>", "Amélie Byrne: Name or address changed, by The moderator"]);
    let next = source(&answer);
    app.user_with_all(&hiring.staff("admin")).delete(&hiring.candidate_path(0)).expect(200);
    let answer = ask(&owner, &next).expect(200);
    assert_has(&answer, &["<template data-for=\"c-app_1_1\"></template>", "id=\"count-step_1_2\">2</span>"]);
    assert!(!answer.text().contains("data-append"), "{}", answer.text());
    assert_eq!(news(&answer).as_deref(), Some("The data of a candidate was erased"));
}

fn a_board_shows_hires_and_free_positions() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    decide(&app, &hiring, "moderator", 0, "hire");
    let answer = ask(&owner, &first).expect(200);
    assert_has(
        &answer,
        &["Open positions: 1 of 2", "<ol id=\"hired\"><li class=\"card\"><a id=\"hired-cand_1_1\"", "on "],
    );
    assert_eq!(news(&answer).as_deref(), Some("The moderator hired Candidate 1"));
    let next = source(&answer);
    let reject = hiring.decision(0, 3, "reject");
    app.user_with_all(&hiring.staff("moderator")).post(&reject, &json!({})).expect(200);
    let answer = ask(&owner, &next).expect(200);
    assert_has(&answer, &["Open positions: 2 of 2", "<ol id=\"hired\"></ol>"]);
}

fn the_first_application_adds_the_buttons_to_the_board() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["candidates"] = json!([]));
    let owner = app.browser(&hiring, "owner");
    let first = open(&owner, &board(&hiring));
    Form::for_role(&app, &hiring).send(&app).expect(303);
    let answer = ask(&owner, &first).expect(200);
    assert_has(
        &answer,
        &["<template data-for=\"nobody\"></template>", "id=\"bar-advance\"", "Review 1 new application", "data-append"],
    );
    assert!(news(&answer).unwrap().ends_with(" applied"), "{}", answer.text());
}

fn a_change_to_the_role_adds_a_notice_and_replaces_nothing() {
    let (app, hiring, owner) = start();
    let role = board(&hiring);
    let pages = [role.clone(), format!("{role}/edit"), format!("{role}/steps")];
    let sources = pages.each_ref().map(|path| open(&owner, path));
    app.set_clock("2026-11-21T14:03:00Z");
    let moderator = app.user_with_all(&hiring.staff("moderator"));
    // The browser's session has ended in the meantime.
    let owner = app.browser(&hiring, "owner");
    moderator.patch(&format!("/api/v1/roles/{}", hiring.role_id), &json!({ "department": "Research" })).expect(200);
    for (path, source) in pages.iter().zip(&sources) {
        let answer = ask(&owner, source).expect(200);
        let notice = "The moderator changed this role (14:03)";
        assert_has(&answer, &[&format!("id=\"changed\" dir=\"auto\">{notice}. <a href=\"{path}\">")]);
        assert_eq!(news(&answer).as_deref(), Some(notice));
        assert!(!answer.text().contains("Research") && !answer.text().contains("<form"), "{}", answer.text());
    }
    let sources = sources.each_ref().map(|first| source(&ask(&owner, first)));
    moderator
        .patch(&format!("/api/v1/roles/{}/steps/{}", hiring.role_id, hiring.role_steps[1]), &json!({ "name": "Chat" }))
        .expect(200);
    for source in &sources {
        let answer = ask(&owner, source).expect(200);
        assert_eq!(news(&answer).as_deref(), Some("The moderator changed the steps of this role (14:03)"));
    }
}

fn ones_own_change_elsewhere_is_shown_but_not_announced() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &format!("{}/edit", board(&hiring)));
    let by_key = app.user_with_all(&hiring.staff("owner"));
    by_key.patch(&format!("/api/v1/roles/{}", hiring.role_id), &json!({ "department": "Research" })).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert_has(&answer, &["The owner changed this role (09:00)"]);
    assert_eq!(news(&answer), None);
}

fn a_candidates_page_gets_the_application_that_changed() {
    let (app, hiring, owner) = start();
    let path = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    let first = open(&owner, &path);
    decide(&app, &hiring, "moderator", 1, "validate");
    let answer = ask(&owner, &first).expect(200);
    assert!(!answer.text().contains("data-for=\"activity\"") && news(&answer).is_none(), "{}", answer.text());
    decide(&app, &hiring, "moderator", 0, "validate");
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert_has(
        &answer,
        &[
            "<template data-for=\"application-app_1_1\" data-append=\"applications\" data-held=\"",
            "value=\"cstep_1_1_3\"",
            "<template data-for=\"activity\">",
            "Passed Call",
            "<h1 id=\"title\">Candidate 1</h1>",
        ],
    );
    assert_eq!(news(&answer).as_deref(), Some("The moderator moved Candidate 1 to Interview"));
    // Opening an attachment adds an activity row, but changes no application.
    let cv = insert_signup(&app, &hiring, Some("app_1_1"), "candidate-1@people-1.example", "first");
    assert!(cv.starts_with("/status/"));
    let moderator = app.browser(&hiring, "moderator");
    moderator.get(&app_path(&hiring, "documents/doc_first/file")).expect(200);
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert_has(&answer, &["File opened"]);
    assert_eq!(news(&answer), None);
}

fn a_page_of_older_activity_does_not_get_newer_activity() {
    let (app, hiring, owner) = start();
    decide(&app, &hiring, "moderator", 0, "validate");
    let oldest = app.sql("SELECT id FROM activities ORDER BY number DESC LIMIT 1").remove(0);
    let path = app_path(&hiring, &format!("candidates/{}?before={oldest}", hiring.candidates[0].candidate_id));
    let first = open(&owner, &path);
    app.user_with_all(&hiring.staff("admin")).post(&hiring.decision(0, 1, "move"), &json!({})).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert!(
        answer.text().contains("application-app_1_1") && !answer.text().contains("data-for=\"activity\""),
        "{}",
        answer.text()
    );
    assert!(source(&answer).contains("older=1"), "{}", source(&answer));
}

fn an_erasure_removes_the_data_from_the_candidates_page() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id)));
    app.user_with_all(&hiring.staff("admin")).delete(&hiring.candidate_path(0)).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert_has(&answer, &["was erased", "data-for=\"facts\"", "data-for=\"application-app_1_1\""]);
    for gone in ["Candidate 1", "candidate-1@", "data-held", "/advance\""] {
        assert!(!answer.text().contains(gone), "{gone}: {}", answer.text());
    }
}

fn queue(client: &Client, hiring: &Hiring) -> Answer {
    let path = format!("review?role={}&step={}", hiring.role_id, hiring.role_steps[1]);
    follow(client, client.get(&app_path(hiring, &path)))
}

fn a_queue_shows_what_others_decide() {
    let (app, hiring, owner) = start();
    let first = source(&queue(&owner, &hiring));
    assert!(first.contains("&at=app_1_1&after="), "{first}");
    app.pass(60);
    decide(&app, &hiring, "moderator", 1, "reject");
    let answer = ask(&owner, &first).expect(200);
    assert_has(&answer, &["<template data-for=\"q-app_1_2\"><li id=\"q-app_1_2\">", "rejected by The moderator"]);
    assert!(
        !answer.text().contains("q-app_1_1") && !answer.text().contains("data-for=\"meanwhile\""),
        "{}",
        answer.text()
    );
    // A decision on the shown candidate adds a notice and does not replace the forms.
    decide(&app, &hiring, "moderator", 0, "validate");
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert_has(
        &answer,
        &["data-for=\"meanwhile\"", "Somebody was faster: advanced by The moderator, just now.", "id=\"here\""],
    );
    assert!(!answer.text().contains("<form"), "{}", answer.text());
    // An undo of the decision removes the notice.
    app.user_with_all(&hiring.staff("moderator")).post_empty(&hiring.decision(0, 1, "undo")).expect(200);
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert_has(&answer, &["<div id=\"meanwhile\"></div>"]);
    // Candidates who apply later are in the next queue.
    add_candidate(&app, &hiring, "late@people.example");
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert!(!answer.text().contains("data-for=\"q-") && news(&answer).is_none(), "{}", answer.text());
}

fn an_erased_candidate_leaves_no_name_in_a_queue() {
    let (app, hiring, owner) = start();
    let first = source(&queue(&owner, &hiring));
    let admin = app.user_with_all(&hiring.staff("admin"));
    admin.delete(&hiring.candidate_path(1)).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert_has(&answer, &["<template data-for=\"q-app_1_2\">", "class=\"done\"", "The data of a candidate was erased"]);
    assert!(
        !answer.text().contains("Candidate 2") && !answer.text().contains("data-for=\"middle\""),
        "{}",
        answer.text()
    );
    admin.delete(&hiring.candidate_path(0)).expect(200);
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert_has(
        &answer,
        &["data-for=\"middle\"", "data-for=\"about\"", "data-for=\"decision\"", "data-for=\"q-app_1_1\""],
    );
    assert!(!answer.text().contains("Candidate 1") && !answer.text().contains("<form"), "{}", answer.text());
}

fn acts_on_other_roles_change_nothing_but_the_cursor() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    let moderator = app.user_with_all(&hiring.staff("moderator"));
    let roles = format!("/api/v1/organizations/{}/roles", hiring.organization_id);
    moderator.post(&roles, &json!({ "name": "Another", "steps": [{ "name": "Applied" }] })).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert_eq!(answer.text().matches("<template").count(), 1, "{}", answer.text());
    ask(&owner, &source(&answer)).expect(204);
    // Acts in other organizations do not move the cursor.
    let other = app.hiring();
    decide(&app, &other, "moderator", 0, "validate");
    ask(&owner, &source(&answer)).expect(204);
}

fn many_changes_come_in_several_answers() {
    let app = App::with(Options { per_minute: None, ..Options::default() });
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 300);
    let owner = app.browser(&hiring, "owner");
    let first = open(&owner, &board(&hiring));
    let moderator = app.user_with_all(&hiring.staff("moderator"));
    let items: Vec<_> = (0..201).map(|nth| json!(format!("app_crowd_{nth:05}"))).collect();
    let path = format!("/api/v1/roles/{}/decisions", hiring.role_id);
    let body = json!({ "action": "reject", "candidateRoleIds": items });
    moderator.post(&path, &body).expect(200);
    let answer = ask(&owner, &first).expect(200);
    assert!(answer.text().contains("data-more"), "{}", answer.text());
    assert_eq!(answer.text().matches("<template data-for=\"c-app_crowd").count(), 200);
    assert_eq!(news(&answer).as_deref(), Some("200 changes by The moderator"));
    let answer = ask(&owner, &source(&answer)).expect(200);
    assert_eq!(answer.text().matches("<template data-for=\"c-app_crowd").count(), 1);
    assert!(!answer.text().contains("data-more"), "{}", answer.text());
    ask(&owner, &source(&answer)).expect(204);
}

fn a_request_without_a_cursor_gets_one() {
    let (app, hiring, owner) = start();
    decide(&app, &hiring, "moderator", 0, "validate");
    let role = board(&hiring);
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    let review = app_path(&hiring, "review");
    for path in [role.clone(), candidate, review, format!("{role}/edit")] {
        let answer = ask(&owner, &format!("{path}/changes")).expect(200);
        assert_eq!(answer.text().matches("<template").count(), 1, "{}", answer.text());
        ask(&owner, &source(&answer)).expect(204);
    }
}

fn an_unknown_cursor_is_refused_as_gone() {
    let (app, hiring, owner) = start();
    let other = app.hiring();
    decide(&app, &other, "moderator", 0, "validate");
    decide(&app, &hiring, "moderator", 0, "validate");
    let foreign = app.sql("SELECT id FROM activities WHERE candidate_role_id = 'app_2_1'").remove(0);
    let own = app.sql("SELECT id FROM activities WHERE candidate_role_id = 'app_1_1'").remove(0);
    let role = board(&hiring);
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    let review = app_path(&hiring, "review");
    for path in [role.clone(), candidate, review, format!("{role}/edit")] {
        for cursor in ["none", "", &foreign, &other.organization_id, &other.role_id, "%3Cscript%3E"] {
            ask(&owner, &format!("{path}/changes?after={cursor}")).expect(410);
        }
    }
    // Not every row of a role's activity identifies a version of the role.
    ask(&owner, &format!("{role}/edit/changes?after={own}")).expect(410);
}

fn repeated_and_invalid_parameters_are_refused() {
    let (_app, hiring, owner) = start();
    let role = board(&hiring);
    for path in [format!("{role}/changes"), format!("{role}/edit/changes")] {
        ask(&owner, &format!("{path}?after=a&after=b")).expect(400);
    }
    ask(&owner, &format!("{role}/edit/changes?page=edit&page=steps")).expect(400);
    ask(&owner, &app_path(&hiring, "review/changes?begun=soon")).expect(400);
    ask(&owner, &app_path(&hiring, "review/changes?role=role_none&after=x")).expect(410);
    ask(&owner, &app_path(&hiring, "review/changes?role=role_none")).expect(404);
}

fn asking_for_changes_does_not_extend_the_session() {
    let (app, hiring, owner) = start();
    let role = board(&hiring);
    let sources = [role.clone(), format!("{role}/edit")].each_ref().map(|path| open(&owner, path));
    let last_seen =
        || app.sql("SELECT s.last_seen_at, u.last_seen_at FROM sessions s JOIN users u ON u.id = s.user_id");
    let before = last_seen();
    for _ in 0..29 {
        app.pass(60);
        sources.iter().for_each(|source| drop(ask(&owner, source).expect(204)));
    }
    assert_eq!(last_seen(), before);
    app.pass(59);
    ask(&owner, &sources[0]).expect(204);
    app.pass(1);
    let answer = ask(&owner, &sources[0]).expect(401);
    assert!(answer.text().contains("data-dialog"), "{}", answer.text());
    owner.get(&role).expect(303);
}

fn the_messages_are_in_the_language_of_the_user() {
    let (app, hiring, owner) = start();
    let first = open(&owner, &board(&hiring));
    decide(&app, &hiring, "moderator", 0, "validate");
    for (tag, expected) in [
        ("en", "The moderator moved Candidate 1 to Interview"),
        ("de", "The moderator hat Candidate 1 in den Schritt Interview verschoben"),
        ("fr", "The moderator a déplacé Candidate 1 vers Interview"),
        ("es", "The moderator ha movido a Candidate 1 a Interview"),
    ] {
        let answer = ask(&owner.with_header("Accept-Language", tag), &first).expect(200);
        assert_eq!(news(&answer).as_deref(), Some(expected));
    }
}

fn hostile_names_in_changes_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let hostile = json!("<script>alert(1)</script>\"'&");
        first_role_of(document)["candidates"][0]["name"] = hostile.clone();
        first_role_of(document)["steps"][2]["name"] = hostile.clone();
        document["users"][2]["name"] = hostile;
    });
    let owner = app.browser(&hiring, "owner");
    let role = board(&hiring);
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    let pages = [role.clone(), candidate, format!("{role}/edit")].map(|path| open(&owner, &path));
    let queue = source(&queue(&owner, &hiring));
    decide(&app, &hiring, "moderator", 0, "validate");
    let moderator = app.user_with_all(&hiring.staff("moderator"));
    moderator.patch(&format!("/api/v1/roles/{}", hiring.role_id), &json!({ "name": "<script>alert" })).expect(200);
    for source in pages.iter().chain([&queue]) {
        let text = ask(&owner, source).expect(200).text();
        assert!(text.contains("&#60;script&#62;alert(1)") && !text.contains("<script>alert"), "{text}");
    }
}

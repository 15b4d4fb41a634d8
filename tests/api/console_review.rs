//! `GET /app/{orgSlug}/review`: the queue in which staff review applications one after another.

use serde_json::json;

use crate::support::console::{app_path, follow};
use crate::support::stored_signup::{add_candidate, insert_signup};
use crate::support::{Answer, App, Client, Hiring, crowd};

crate::tests![
    a_queue_begins_at_the_time_of_the_request_and_its_url_contains_that_time,
    each_decision_leads_to_the_next_candidate_until_nobody_is_left,
    the_list_of_a_queue_is_fixed_when_the_queue_begins,
    a_candidate_on_whom_somebody_else_decides_is_marked_and_stays_in_the_list,
    only_candidates_who_were_at_the_step_are_in_its_queue,
    a_queue_over_all_roles_has_the_new_applications_of_open_roles,
    a_queue_has_at_most_200_applications,
    the_attachment_is_shown_beside_the_decision,
    partial_requests_get_the_parts_of_the_page,
    unknown_roles_and_steps_and_invalid_start_times_are_refused,
    hostile_names_in_the_queue_are_shown_as_text,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    app.set_clock("2026-11-21T09:00:00Z");
    let recruiter = app.browser(&hiring, "hr_representative");
    (app, hiring, recruiter)
}

/// Begins a queue for the second step, where the organization's candidates are.
fn begin(client: &Client, hiring: &Hiring) -> Answer {
    let path = format!("review?role={}&step={}", hiring.role_id, hiring.role_steps[1]);
    follow(client, client.get(&app_path(hiring, &path)))
}

#[track_caller]
fn assert_has(answer: &Answer, texts: &[&str]) {
    for text in texts {
        assert!(answer.text().contains(text), "{text} is not in:\n{}", answer.text());
    }
}

/// Returns the names in the list, each with its remark.
fn list(answer: &Answer) -> Vec<String> {
    let text = answer.text();
    let entries = text.split("data-queue").skip(1).filter(|entry| entry.contains("<small"));
    let between = |text: &str, from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0.to_owned());
    let entry = |entry: &str| {
        let name = between(entry, "<bdi>", "</bdi>").unwrap();
        let note = between(entry, "<small class=\"quiet\"><bdi>", "</bdi>").unwrap();
        format!("{name}: {note}")
    };
    entries.map(entry).collect()
}

/// Sends the form of an act as the page shows it.
fn decide(client: &Client, page: &Answer, act: &str) -> Answer {
    let text = page.text();
    let form = text.split("<form").find(|form| form.contains(&format!("/{act}\""))).unwrap();
    let value = |name: &str| {
        let from = format!("name=\"{name}\" value=\"");
        form.split_once(from.as_str()).unwrap().1.split_once('"').unwrap().0.replace("&#38;", "&")
    };
    let action = form.split_once("action=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    let (seen, back, step) = (value("seen"), value("back"), value("step"));
    client.submit(&action, &[("seen", &seen), ("back", &back), ("step", &step)])
}

fn a_queue_begins_at_the_time_of_the_request_and_its_url_contains_that_time() {
    let (_app, hiring, recruiter) = start();
    let path = app_path(&hiring, &format!("review?role={}&step={}", hiring.role_id, hiring.role_steps[1]));
    let answer = recruiter.get(&path).expect(303);
    assert_eq!(answer.header("location"), Some(format!("{path}&begun=1795251600000000").as_str()));
    let page = begin(&recruiter, &hiring);
    assert_has(&page, &["Candidate 1", "Engineer · Call · 1 of 3", "Advance to Interview", "candidate-1@people"]);
    let applied = "applied 19 days ago";
    assert_eq!(list(&page), [1, 2, 3].map(|nth| format!("Candidate {nth}: {applied}")));
}

fn each_decision_leads_to_the_next_candidate_until_nobody_is_left() {
    let (app, hiring, recruiter) = start();
    let page = begin(&recruiter, &hiring);
    let second = follow(&recruiter, decide(&recruiter, &page, "advance"));
    assert_has(&second, &["Engineer · Call · 2 of 3", "Candidate 1 is now at Interview.", "Candidate 2</h1>"]);
    let third = follow(&recruiter, decide(&recruiter, &second, "reject"));
    assert_has(&third, &["Engineer · Call · 3 of 3", "Candidate 2 was rejected at Call."]);
    assert_eq!(list(&third), ["Candidate 1: advanced", "Candidate 2: rejected", "Candidate 3: applied 19 days ago"]);
    let last = follow(&recruiter, decide(&recruiter, &third, "advance"));
    assert_has(&last, &["Nothing left to review", "All 3 applications in this queue have a decision."]);
    assert_eq!(list(&last).len(), 3);
    app.pass(1);
    let again = begin(&recruiter, &hiring);
    assert_has(&again, &["Nobody is waiting here"]);
}

fn the_list_of_a_queue_is_fixed_when_the_queue_begins() {
    let (app, hiring, recruiter) = start();
    let page = begin(&recruiter, &hiring);
    app.pass(60);
    let late = add_candidate(&app, &hiring, "late@mail.example");
    let first =
        app.sql(&format!("SELECT id FROM candidate_role_steps WHERE candidate_role_id = '{late}' ORDER BY step_order"));
    let advance = app_path(&hiring, &format!("applications/{late}/advance"));
    recruiter.submit(&advance, &[("step", &first[0])]).expect(303);
    assert_eq!(list(&begin(&recruiter, &hiring)).len(), 4);
    let second = follow(&recruiter, decide(&recruiter, &page, "advance"));
    assert_has(&second, &["2 of 3"]);
    // A candidate who is moved back to the step has the same position in the list as before.
    let move_back = app_path(&hiring, &format!("applications/{}/move", hiring.candidates[0].application_id));
    recruiter.submit(&move_back, &[("step", &hiring.candidates[0].steps[1])]).expect(303);
    let third = follow(&recruiter, decide(&recruiter, &second, "advance"));
    assert_has(&third, &["3 of 3"]);
    let first = follow(&recruiter, decide(&recruiter, &third, "advance"));
    assert_has(&first, &["1 of 3", "Candidate 1</h1>"]);
}

fn a_candidate_on_whom_somebody_else_decides_is_marked_and_stays_in_the_list() {
    let (app, hiring, recruiter) = start();
    let page = begin(&recruiter, &hiring);
    let ingrid = app.browser(&hiring, "moderator");
    let other = begin(&ingrid, &hiring);
    let other = follow(&ingrid, decide(&ingrid, &other, "advance"));
    decide(&ingrid, &other, "reject").expect(303);
    app.pass(180);
    decide(&recruiter, &page, "reject").expect(409);
    let path = page.text().split("data-url=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    let page = recruiter.get(&path).expect(200);
    let marks = ["Candidate 1: advanced by The moderator", "Candidate 2: rejected by The moderator"];
    assert_eq!(list(&page)[..2], marks);
    assert_has(
        &page,
        &["Somebody was faster: advanced by The moderator, 3 minutes ago.", "Engineer · Interview · 1 of 3"],
    );
}

fn only_candidates_who_were_at_the_step_are_in_its_queue() {
    let (app, hiring, recruiter) = start();
    let acts = |candidate: usize, act: &str, step: usize| {
        let path = app_path(&hiring, &format!("applications/{}/{act}", hiring.candidates[candidate].application_id));
        recruiter.submit(&path, &[("step", &hiring.candidates[candidate].steps[step])]).expect(303);
    };
    acts(0, "advance", 1);
    app.pass(60);
    let page = begin(&recruiter, &hiring);
    assert_eq!(list(&page).len(), 2);
    // Decisions at another step and earlier decisions add nobody.
    acts(0, "reject", 2);
    // Candidates who leave the step by a withdrawal or a hire stay in the list.
    acts(1, "withdraw", 1);
    submit_hire(&recruiter, &hiring, 2);
    let path = page.text().split("data-url=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    assert_eq!(list(&recruiter.get(&path).expect(200)), ["Candidate 2: withdrawn", "Candidate 3: hired"]);
}

fn submit_hire(client: &Client, hiring: &Hiring, candidate: usize) {
    let path = app_path(hiring, &format!("applications/{}/hire", hiring.candidates[candidate].application_id));
    client.submit(&path, &[]).expect(303);
}

fn a_queue_over_all_roles_has_the_new_applications_of_open_roles() {
    let (app, hiring, recruiter) = start();
    let all = || follow(&recruiter, recruiter.get(&app_path(&hiring, "review")));
    assert_has(&all(), &["Nobody is waiting here"]);
    crowd::add(&app, &hiring, 2);
    for candidate in 0..2 {
        let path = app_path(&hiring, &format!("applications/{}/move", hiring.candidates[candidate].application_id));
        recruiter.submit(&path, &[("step", &hiring.candidates[candidate].steps[0])]).expect(303);
    }
    app.pass(1);
    let page = all();
    let found = list(&page);
    assert!(found.iter().any(|name| name.starts_with("Candidate 1")), "{found:?}");
    let next = follow(&recruiter, decide(&recruiter, &page, "advance"));
    assert_eq!(list(&next).len(), found.len());
    app.user_with_all(&hiring.staff("owner"))
        .post(&format!("/api/v1/roles/{}/close", hiring.role_id), &json!({ "reason": "other" }))
        .expect(200);
    app.pass(1);
    assert_has(&all(), &["Nobody is waiting here"]);
}

fn a_queue_has_at_most_200_applications() {
    let (app, hiring, recruiter) = start();
    crowd::add(&app, &hiring, 820);
    let page = begin(&recruiter, &hiring);
    assert_eq!(list(&page).len(), 200);
    assert_has(&page, &["1 of 200"]);
    // Withdrawn applications are in no queue.
    app.change("UPDATE candidate_roles SET status = 'Withdrawn', at_role_step_id = NULL, at_since = NULL");
    assert_has(&begin(&recruiter, &hiring), &["Nobody is waiting here"]);
}

fn the_attachment_is_shown_beside_the_decision() {
    let (app, hiring, recruiter) = start();
    insert_signup(&app, &hiring, Some(&hiring.candidates[0].application_id), "candidate-1@people-1.example", "first");
    let page = begin(&recruiter, &hiring);
    let frame = format!("<iframe class=\"file\" src=\"/app/{}/documents/doc_first/file\"", hiring.slug);
    assert_has(&page, &[&frame, "My CV.pdf", "First line\nSecond line", "+44 20 7946", "https://ada.example"]);
    // Opening the page of the queue does not count as opening the attachment. Only the browser's request for the file
    // does.
    assert!(app.sql("SELECT id FROM activities WHERE action = 'document.opened'").is_empty());
}

fn partial_requests_get_the_parts_of_the_page() {
    let (_app, hiring, recruiter) = start();
    let module = recruiter.with_header("X-Part", "1");
    let parts = begin(&module, &hiring);
    assert!(!parts.text().contains("<html"));
    assert_has(
        &parts,
        &["<template data-for=\"title\"><h1 id=\"title\">Candidate 1</h1>", "data-for=\"review\" data-focus"],
    );
    let next = follow(&module, decide(&module, &parts, "advance"));
    assert_has(&next, &["Candidate 2</h1>", "<template data-say>", "Candidate 1 is now at Interview."]);
}

fn unknown_roles_and_steps_and_invalid_start_times_are_refused() {
    let (app, hiring, recruiter) = start();
    let other = app.hiring();
    let (role, step) = (&hiring.role_id, &hiring.role_steps[1]);
    for (query, status) in [
        (format!("role={role}"), 303),
        ("role=role_none".to_owned(), 404),
        ("role=!".to_owned(), 404),
        (format!("role={}", other.role_id), 404),
        (format!("role={role}&step=step_none"), 404),
        (format!("role={role}&step={}", other.role_steps[0]), 404),
        (format!("role={role}&step={step}&begun=soon"), 400),
        (format!("role={role}&step={step}&begun=-1"), 400),
        (format!("role={role}&step={step}&begun=9223372036854775808"), 400),
        (format!("role={role}&step={step}&begun=9223372036854775807"), 200),
        (format!("role={role}&role={role}"), 400),
        (format!("role={role}&step={step}&begun=0&at=app_none"), 200),
        (format!("role={role}&step={step}&begun=0&at={}", other.candidates[0].application_id), 200),
    ] {
        recruiter.get(&app_path(&hiring, &format!("review?{query}"))).expect(status);
    }
}

fn hostile_names_in_the_queue_are_shown_as_text() {
    const SCRIPT: &str = "<script>alert(1)</script>\"'&";
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let role = &mut document["organizations"][0]["roles"][0];
        role["name"] = json!(SCRIPT);
        role["steps"][1]["name"] = json!(SCRIPT);
        for candidate in role["candidates"].as_array_mut().unwrap() {
            candidate["name"] = json!(SCRIPT);
            candidate["steps"][1]["name"] = json!(SCRIPT);
        }
        document["users"][2]["name"] = json!(SCRIPT);
    });
    let recruiter = app.browser(&hiring, "hr_representative");
    let page = begin(&recruiter, &hiring);
    let ingrid = app.browser(&hiring, "moderator");
    let next = follow(&ingrid, decide(&ingrid, &begin(&ingrid, &hiring), "advance"));
    let path = page.text().split("data-url=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    for page in [page, next, recruiter.get(&path).expect(200)] {
        let text = page.text();
        assert!(!text.contains("<script>") && text.contains("&#60;script&#62;alert(1)"), "{text}");
    }
}

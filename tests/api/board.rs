//! `GET /api/v1/roles/{id}/board`: the candidates at each step and the time since they arrived there, in an order
//! that stays the same while candidates move.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    the_board_shows_each_step_with_its_candidates,
    the_candidate_who_has_waited_longest_comes_first,
    the_time_at_a_step_grows_with_the_clock,
    an_advanced_candidate_goes_to_the_end_of_the_next_step,
    a_reopened_application_returns_to_its_earlier_position,
    decided_applications_leave_the_board_and_are_counted,
    a_removed_step_is_shown_while_candidates_are_there,
    an_application_without_a_current_step_is_only_counted,
    each_step_is_paged_separately,
    pages_of_a_step_reach_its_end_while_candidates_come_and_go,
    a_page_has_1_to_200_candidates,
    all_invalid_parameters_are_reported_together,
    a_step_of_another_role_is_not_found,
];

fn path(hiring: &Hiring) -> String {
    format!("/api/v1/roles/{}/board", hiring.role_id)
}

/// Returns a client of the owner that can read the board and make decisions.
fn staff(app: &App, hiring: &Hiring) -> Client {
    let scopes = ["candidates:read", "pipeline:write"];
    app.key(&app.make_key_with(&json!({ "name": "test", "userId": hiring.staff("owner"), "scopes": scopes })).1)
}

#[track_caller]
fn board(client: &Client, hiring: &Hiring) -> Value {
    client.get(&path(hiring)).expect(200).json()["data"].take()
}

/// Returns the number of candidates at each step.
fn counts(board: &Value) -> Vec<i64> {
    board["steps"].as_array().unwrap().iter().map(|step| step["count"].as_i64().unwrap()).collect()
}

/// Returns the names of the candidates that a step or a page shows.
fn names(entries: &Value) -> Vec<String> {
    let entries = entries.as_array().unwrap().iter();
    entries.map(|entry| entry["candidate"]["name"].as_str().unwrap().to_owned()).collect()
}

fn the_board_shows_each_step_with_its_candidates() {
    let app = App::start();
    let hiring = app.hiring();
    let entry = |nth: usize| {
        let ids = &hiring.candidates[nth];
        json!({
            "candidate": { "id": ids.candidate_id, "name": format!("Candidate {}", nth + 1) },
            "candidateRoleId": ids.application_id,
            "candidateStepId": ids.steps[1],
            "appliedAt": "2026-11-01T10:00:00.000000Z",
            "since": "2026-11-02T10:00:00.000000Z",
            "secondsInStep": 19 * 86_400 - 3_600,
            "signup": null,
        })
    };
    let step = |nth: usize, name: &str, kind: &str, candidates: Vec<Value>| {
        json!({
            "id": hiring.role_steps[nth], "name": name, "order": nth + 1, "stepType": kind, "removed": false,
            "count": candidates.len(), "candidates": candidates,
            "pagination": { "limit": 50, "hasMore": false, "nextCursor": null },
        })
    };
    let answer = app.user(&hiring.staff("member")).get(&path(&hiring)).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let expected = json!({
        "roleId": hiring.role_id,
        "applications": { "inProgress": 3, "hired": 0, "notSelected": 0, "withdrawn": 0 },
        "steps": [
            step(0, "Application", "application", vec![]),
            step(1, "Call", "screening", vec![entry(0), entry(1), entry(2)]),
            step(2, "Interview", "interview", vec![]),
            step(3, "Offer", "offer", vec![]),
        ],
    });
    assert_eq!(answer.json(), json!({ "success": true, "data": expected }));
    let page = app.user(&hiring.staff("member")).get(&format!("{}?stepId={}", path(&hiring), hiring.role_steps[1]));
    let pagination = json!({ "limit": 50, "hasMore": false, "nextCursor": null });
    let expected = json!({ "success": true, "data": [entry(0), entry(1), entry(2)], "pagination": pagination });
    assert_eq!(page.expect(200).json(), expected);
}

fn the_candidate_who_has_waited_longest_comes_first() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let candidates = first_role_of(document)["candidates"].as_array_mut().unwrap();
        for (candidate, day) in candidates.iter_mut().zip(["07", "05", "06"]) {
            candidate["steps"][0]["validatedAt"] = json!(format!("2026-11-{day}T10:00:00Z"));
        }
    });
    let board = board(&staff(&app, &hiring), &hiring);
    let call = &board["steps"][1]["candidates"];
    assert_eq!(names(call), ["Candidate 2", "Candidate 3", "Candidate 1"]);
    assert_eq!(call[0]["since"], "2026-11-05T10:00:00.000000Z");
}

fn the_time_at_a_step_grows_with_the_clock() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    let seconds = || board(&client, &hiring)["steps"][1]["candidates"][0]["secondsInStep"].as_i64().unwrap();
    let before = seconds();
    app.pass(90);
    assert_eq!(seconds(), before + 90);
    app.set_clock("2026-11-02T09:59:59Z");
    assert_eq!(seconds(), 0, "the time is not negative after the clock is set back");
}

fn an_advanced_candidate_goes_to_the_end_of_the_next_step() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    for candidate in [2, 0] {
        app.pass(60);
        client.post_empty(&hiring.decision(candidate, 1, "validate")).expect(200);
    }
    let seen = board(&client, &hiring);
    assert_eq!(counts(&seen), [0, 1, 2, 0]);
    let interview = &seen["steps"][2]["candidates"];
    assert_eq!(names(interview), ["Candidate 3", "Candidate 1"]);
    assert_eq!(interview[0]["candidateStepId"], hiring.candidates[2].steps[2]);
    assert_eq!([&interview[0]["secondsInStep"], &interview[1]["secondsInStep"]], [60, 0]);
}

fn a_reopened_application_returns_to_its_earlier_position() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    for candidate in [2, 0] {
        app.pass(60);
        client.post_empty(&hiring.decision(candidate, 1, "validate")).expect(200);
    }
    client.post_empty(&hiring.decision(2, 2, "reject")).expect(200);
    assert_eq!(counts(&board(&client, &hiring)), [0, 1, 1, 0]);
    app.pass(60);
    client.post(&hiring.decision(2, 2, "reopen"), &json!({ "reason": "a mistake" })).expect(200);
    // The time at the step counts from the first arrival.
    let seen = board(&client, &hiring);
    let interview = &seen["steps"][2]["candidates"];
    assert_eq!(names(interview), ["Candidate 3", "Candidate 1"]);
    assert_eq!([&interview[0]["secondsInStep"], &interview[1]["secondsInStep"]], [120, 60]);
}

fn decided_applications_leave_the_board_and_are_counted() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 2, "Withdrawn", &["validated", "in_progress", "pending", "pending"]);
    });
    let client = staff(&app, &hiring);
    assert_eq!(counts(&board(&client, &hiring)), [0, 2, 0, 0]);
    client.post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(counts(&board(&client, &hiring)), [0, 1, 0, 0]);
    client.post_empty(&hiring.hire(1)).expect(200);
    let board = board(&client, &hiring);
    assert_eq!(counts(&board), [0, 0, 0, 0]);
    let ended = json!({ "inProgress": 0, "hired": 1, "notSelected": 1, "withdrawn": 1 });
    assert_eq!(board["applications"], ended);
}

fn a_removed_step_is_shown_while_candidates_are_there() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    app.change(&format!("UPDATE role_steps SET step_order = NULL WHERE id = '{}'", hiring.role_steps[1]));
    let seen = board(&client, &hiring);
    assert_eq!(counts(&seen), [0, 0, 0, 3]);
    let last = &seen["steps"][3];
    let shown = [&last["id"], &last["name"], &last["order"], &last["removed"]];
    assert_eq!(shown, [&json!(hiring.role_steps[1]), &json!("Call"), &Value::Null, &json!(true)]);
    for candidate in 0..3 {
        client.post_empty(&hiring.reject(candidate)).expect(200);
    }
    assert_eq!(counts(&board(&client, &hiring)), [0, 0, 0]);
    let page = client.get(&format!("{}?stepId={}", path(&hiring), hiring.role_steps[1])).expect(200).json();
    assert_eq!((&page["data"], &page["pagination"]["hasMore"]), (&json!([]), &json!(false)));
}

fn an_application_without_a_current_step_is_only_counted() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["validated", "validated", "validated", "skipped"]);
    });
    let board = board(&staff(&app, &hiring), &hiring);
    assert_eq!(counts(&board), [0, 2, 0, 0]);
    assert_eq!(board["applications"]["inProgress"], 3);
}

fn each_step_is_paged_separately() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 10);
    let client = staff(&app, &hiring);
    let seen = client.get(&format!("{}?limit=2", path(&hiring))).expect(200).json();
    let steps = seen["data"]["steps"].as_array().unwrap();
    assert_eq!(counts(&seen["data"]), [3, 6, 2, 2]);
    for (step, more) in steps.iter().zip([true, true, false, false]) {
        let pagination = &step["pagination"];
        assert_eq!((step["candidates"].as_array().unwrap().len(), &pagination["limit"]), (2, &json!(2)));
        assert_eq!((&pagination["hasMore"], pagination["nextCursor"].is_string()), (&json!(more), more));
    }
    let next = format!("stepId={}&cursor={}", hiring.role_steps[0], text(&steps[0]["pagination"]["nextCursor"]));
    let page = client.get(&format!("{}?limit=2&{next}", path(&hiring))).expect(200).json();
    assert_eq!(names(&page["data"]), ["Crowd 00008"]);
    assert_eq!(page["pagination"], json!({ "limit": 2, "hasMore": false, "nextCursor": null }));
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Returns all candidates of a step, read page by page. `between` runs after each page with the page's number.
fn walk(client: &Client, path: &str, limit: usize, mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    for number in 0.. {
        let page = client.get(&format!("{path}&limit={limit}{cursor}")).expect(200).json();
        let found = names(&page["data"]);
        let next = page["pagination"]["nextCursor"].as_str().map(str::to_owned);
        assert_eq!(page["pagination"]["hasMore"], next.is_some());
        assert!(next.is_none() || found.len() == limit, "only the last page may have fewer candidates");
        assert!(!found.is_empty() || all.is_empty(), "the page after hasMore is empty");
        all.extend(found);
        between(number);
        let Some(next) = next else { break };
        cursor = format!("&cursor={next}");
    }
    all
}

/// The test adds 10,000 applications, 2,500 of them at the third step.
fn pages_of_a_step_reach_its_end_while_candidates_come_and_go() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 10_000);
    let client = staff(&app, &hiring);
    let seen = board(&client, &hiring);
    assert_eq!(counts(&seen), [2_500, 2_503, 2_500, 2_500]);
    assert_eq!(seen["applications"]["inProgress"], 10_003);
    let step = format!("{}?stepId={}", path(&hiring), hiring.role_steps[2]);
    let here = |nth: usize| nth * 4 + 2;
    let name = |nth: usize| format!("Crowd {nth:05}");
    let everybody: Vec<String> = (0..2_500).map(|nth| name(here(nth))).collect();
    for limit in [199, 200] {
        assert_eq!(walk(&client, &step, limit, |_| {}), everybody, "{limit}");
    }
    // After each page, one candidate on it leaves, one candidate of a later page leaves, and one candidate arrives.
    let (mut gone, mut arrived) = (BTreeSet::new(), Vec::new());
    let found = walk(&client, &step, 200, |page| {
        let (seen, ahead) = (here(page * 200 + 7), here((page * 200 + 450).min(2_499)));
        client.post_empty(&crowd::decision(seen, 3, "reject")).expect(200);
        let moved = client.post_empty(&crowd::decision(ahead, 3, "validate"));
        assert!(moved.status == 200 || gone.contains(&name(ahead)), "{}", moved.text());
        gone.insert(name(ahead));
        app.pass(1);
        client.post_empty(&crowd::decision(page * 4 + 1, 2, "validate")).expect(200);
        arrived.push(name(page * 4 + 1));
    });
    // Candidates who left before their page was read are missing. All others appear once; the arrivals come last.
    let stayed: Vec<String> = everybody.into_iter().filter(|name| !gone.contains(name)).collect();
    let arrived: Vec<String> = arrived.into_iter().take(found.len() - stayed.len()).collect();
    assert_eq!(found, [stayed, arrived].concat());
    assert!(found.len() > 2_480, "{}", found.len());
}

fn a_page_has_1_to_200_candidates() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 1_000);
    let client = staff(&app, &hiring);
    for (limit, rows) in [("1", 1), ("200", 200), ("201", 200), ("99999999999999999999", 200), ("0", 1), ("-1", 1)] {
        let page = client.get(&format!("{}?limit={limit}&stepId={}", path(&hiring), hiring.role_steps[0]));
        let page = page.expect(200).json();
        assert_eq!((names(&page["data"]).len(), &page["pagination"]["limit"]), (rows, &json!(rows)), "{limit}");
        let seen = client.get(&format!("{}?limit={limit}", path(&hiring))).expect(200).json();
        for step in seen["data"]["steps"].as_array().unwrap() {
            assert_eq!(step["candidates"].as_array().unwrap().len(), rows, "{limit}");
        }
    }
    assert_eq!(names(&board(&client, &hiring)["steps"][0]["candidates"]).len(), 50);
}

fn all_invalid_parameters_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 8);
    let client = staff(&app, &hiring);
    let step = &hiring.role_steps[1];
    let seen = client.get(&format!("{}?limit=1", path(&hiring))).expect(200).json();
    let cursor = text(&seen["data"]["steps"][1]["pagination"]["nextCursor"]);
    client.get(&format!("{}?stepId={step}&cursor={cursor}", path(&hiring))).expect(200);
    for (query, fields) in [
        ("limit=x".to_owned(), vec!["limit"]),
        (format!("cursor={cursor}"), vec!["cursor"]),
        (format!("stepId={step}&cursor=x"), vec!["cursor"]),
        // These are encoded like cursors: one contains "now" with an id, and the other a time without an id.
        (format!("stepId={step}&cursor=bm93CmFwcF8x"), vec!["cursor"]),
        (format!("stepId={step}&cursor=MQ"), vec!["cursor"]),
        (format!("stepId={step}&stepId={step}&limit=&cursor=%2F"), vec!["stepId", "limit", "cursor"]),
    ] {
        let answer = client.get(&format!("{}?{query}", path(&hiring))).refused(400, "validation_error");
        assert_eq!(answer.fields(), fields, "{query}");
    }
}

fn a_step_of_another_role_is_not_found() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let client = staff(&app, &hiring);
    for step in [&other.role_steps[1], "none", "no%20id", ""] {
        client.get(&format!("{}?stepId={step}", path(&hiring))).refused(404, "not_found");
    }
}

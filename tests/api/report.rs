//! `GET /api/v1/roles/{id}/report`: the funnel of a role, the time to hire, and who ended the applications
//! that led to no hire.

use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    a_role_without_applications_reports_zeros,
    the_funnel_follows_each_decision,
    withdrawn_applications_are_counted_as_reached_but_not_in_progress_at_their_step,
    a_removed_step_is_reported_while_applications_have_it,
    the_time_to_hire_runs_from_the_application_to_the_hired_date,
    a_reversed_hire_is_not_counted,
    the_first_rejection_decides_who_ended_an_application,
    at_most_fifty_other_outcome_types_are_named,
    the_counts_of_ten_thousand_applications_are_consistent,
];

fn staff(app: &App, hiring: &Hiring) -> Client {
    let scopes = ["roles:read", "candidates:read", "pipeline:write"];
    app.key(&app.make_key_with(&json!({ "name": "test", "userId": hiring.staff("owner"), "scopes": scopes })).1)
}

#[track_caller]
fn report(client: &Client, hiring: &Hiring) -> Value {
    client.get(&format!("/api/v1/roles/{}/report", hiring.role_id)).expect(200).json()["data"].take()
}

/// Returns, for each step, the counts `reached`, `inProgress`, `validated`, `rejected` and `skipped`.
fn funnel(report: &Value) -> Vec<[i64; 5]> {
    let steps = report["funnel"].as_array().unwrap().iter();
    let names = ["reached", "inProgress", "validated", "rejected", "skipped"];
    steps.map(|step| names.map(|name| step[name].as_i64().unwrap())).collect()
}

/// Returns the count of each outcome type, and the counts `further`, `unspecified` and `withdrawn`.
fn endings(report: &Value) -> (Vec<(String, i64)>, [i64; 3]) {
    let ended = &report["endedBy"];
    let types = ended["outcomeTypes"].as_array().unwrap().iter();
    let types =
        types.map(|one| (one["outcomeType"].as_str().unwrap().to_owned(), one["applications"].as_i64().unwrap()));
    (types.collect(), ["further", "unspecified", "withdrawn"].map(|name| ended[name].as_i64().unwrap()))
}

fn a_role_without_applications_reports_zeros() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["candidates"] = json!([]));
    let answer = app.user(&hiring.staff("member")).get(&format!("/api/v1/roles/{}/report", hiring.role_id));
    let kinds = [("Application", "application"), ("Call", "screening"), ("Interview", "interview"), ("Offer", "offer")];
    let funnel: Vec<Value> = hiring
        .role_steps
        .iter()
        .zip(kinds)
        .zip(1..)
        .map(|((id, (name, kind)), order)| {
            json!({
                "stepId": id, "name": name, "order": order, "stepType": kind, "removed": false,
                "reached": 0, "inProgress": 0, "validated": 0, "rejected": 0, "skipped": 0,
            })
        })
        .collect();
    let types = ["rejected_by_organization", "rejected_by_candidate", "other"]
        .map(|known| json!({ "outcomeType": known, "applications": 0 }));
    let expected = json!({
        "roleId": hiring.role_id,
        "total": 0,
        "applications": { "inProgress": 0, "hired": 0, "notSelected": 0, "withdrawn": 0 },
        "funnel": funnel,
        "timeToHire": { "hires": 0, "median": null, "mean": null, "fastest": null, "slowest": null },
        "endedBy": { "outcomeTypes": types, "further": 0, "unspecified": 0, "withdrawn": 0 },
    });
    assert_eq!(answer.expect(200).json(), json!({ "success": true, "data": expected }));
}

fn the_funnel_follows_each_decision() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    let seen = || funnel(&report(&client, &hiring));
    assert_eq!(seen(), [[3, 0, 3, 0, 0], [3, 3, 0, 0, 0], [0; 5], [0; 5]]);
    client.post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(seen(), [[3, 0, 3, 0, 0], [3, 2, 0, 1, 0], [0; 5], [0; 5]]);
    client.post_empty(&hiring.decision(1, 1, "hire")).expect(200);
    assert_eq!(seen(), [[3, 0, 3, 0, 0], [3, 1, 1, 1, 0], [0, 0, 0, 0, 1], [1, 0, 1, 0, 0]]);
    // A rejection at a step that the candidate never reached counts that step as reached, but not the steps in
    // between.
    client.post_empty(&hiring.decision(2, 3, "reject")).expect(200);
    assert_eq!(seen(), [[3, 0, 3, 0, 0], [3, 0, 1, 1, 0], [0, 0, 0, 0, 1], [2, 0, 1, 1, 0]]);
    let report = report(&client, &hiring);
    let applications = json!({ "inProgress": 0, "hired": 1, "notSelected": 2, "withdrawn": 0 });
    assert_eq!((&report["applications"], &report["total"]), (&applications, &json!(3)));
}

fn withdrawn_applications_are_counted_as_reached_but_not_in_progress_at_their_step() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Withdrawn", &["validated", "in_progress", "pending", "pending"]);
    });
    let report = report(&staff(&app, &hiring), &hiring);
    assert_eq!(funnel(&report)[..2], [[3, 0, 3, 0, 0], [3, 2, 0, 0, 0]]);
    assert_eq!(endings(&report).1, [0, 0, 1]);
}

fn a_removed_step_is_reported_while_applications_have_it() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    client.post_empty(&hiring.reject(0)).expect(200);
    app.change(&format!("UPDATE role_steps SET step_order = NULL WHERE id = '{}'", hiring.role_steps[1]));
    app.change("INSERT INTO role_steps (id, role_id, name, step_type) VALUES ('unused', 'role_1', 'Unused', 'other')");
    let report = report(&client, &hiring);
    assert_eq!(funnel(&report), [[3, 0, 3, 0, 0], [0; 5], [0; 5], [3, 2, 0, 1, 0]]);
    let last = &report["funnel"][3];
    let shown = [&last["stepId"], &last["order"], &last["removed"]];
    assert_eq!(shown, [&json!(hiring.role_steps[1]), &Value::Null, &json!(true)]);
}

fn the_time_to_hire_runs_from_the_application_to_the_hired_date() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(3));
    let client = staff(&app, &hiring);
    let hire = |candidate: usize, date: &str| {
        client.post(&hiring.hire(candidate), &json!({ "hiredDate": date })).expect(200);
        report(&client, &hiring)["timeToHire"].take()
    };
    // All candidates applied on 2026-11-01 at 10:00.
    let ten_days = json!({ "seconds": 864_000, "days": 10.0 });
    let one = json!({ "hires": 1, "median": ten_days, "mean": ten_days, "fastest": ten_days, "slowest": ten_days });
    assert_eq!(hire(0, "2026-11-11T10:00:00Z"), one);
    // The time to hire is 0 if the hire is dated before the application.
    let (none, five_days) = (json!({ "seconds": 0, "days": 0.0 }), json!({ "seconds": 432_000, "days": 5.0 }));
    let two = json!({ "hires": 2, "median": five_days, "mean": five_days, "fastest": none, "slowest": ten_days });
    assert_eq!(hire(1, "2026-11-01"), two);
    let (fast, mean) = (json!({ "seconds": 3_600, "days": 0.04 }), json!({ "seconds": 289_200, "days": 3.35 }));
    let three = json!({ "hires": 3, "median": fast, "mean": mean, "fastest": none, "slowest": ten_days });
    assert_eq!(hire(2, "2026-11-01T11:00:00Z"), three);
}

fn a_reversed_hire_is_not_counted() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    client.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(report(&client, &hiring)["timeToHire"]["hires"], 1);
    client.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    let report = report(&client, &hiring);
    assert_eq!(
        report["timeToHire"],
        json!({
            "hires": 0, "median": null, "mean": null, "fastest": null, "slowest": null,
        })
    );
    assert_eq!(endings(&report).1, [0, 1, 0]);
}

fn the_first_rejection_decides_who_ended_an_application() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring);
    let reject = |candidate: usize, step: usize, outcome_type: Value| {
        app.pass(1);
        let body = json!({ "outcomeType": outcome_type });
        client.post(&hiring.decision(candidate, step, "reject"), &body).expect(200);
    };
    reject(0, 2, json!("rejected_by_candidate"));
    reject(0, 1, json!("rejected_by_organization"));
    reject(1, 1, json!("moved abroad"));
    reject(2, 1, Value::Null);
    reject(2, 0, json!("other"));
    let (types, rest) = endings(&report(&client, &hiring));
    let shown: Vec<(&str, i64)> = types.iter().map(|(text, count)| (text.as_str(), *count)).collect();
    let known = [("rejected_by_organization", 0), ("rejected_by_candidate", 1), ("other", 0), ("moved abroad", 1)];
    assert_eq!((shown, rest), (known.to_vec(), [0, 1, 0]));
}

fn at_most_fifty_other_outcome_types_are_named() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 60);
    let client = staff(&app, &hiring);
    for nth in 0..55 {
        // The last outcome type occurs twice, and each of the others occurs once.
        let body = json!({ "outcomeType": format!("reason {:02}", nth.min(53)) });
        client.post(&crowd::decision(nth, 1, "reject"), &body).expect(200);
    }
    client.post(&crowd::decision(55, 1, "reject"), &json!({ "outcomeType": "  " })).expect(200);
    let (types, rest) = endings(&report(&client, &hiring));
    assert_eq!(types.len(), 53);
    assert_eq!(types[3..5], [("reason 53".to_owned(), 2), ("reason 00".to_owned(), 1)]);
    assert_eq!(types[52], ("reason 48".to_owned(), 1));
    assert_eq!(rest, [4, 1, 0]);
}

/// All counts cover the same applications, whichever way they are counted, and agree with the board.
fn the_counts_of_ten_thousand_applications_are_consistent() {
    let app = App::start();
    let hiring = app.hiring();
    crowd::add(&app, &hiring, 10_000);
    let client = staff(&app, &hiring);
    for nth in 0..12 {
        let body = json!({ "outcomeType": "rejected_by_organization" });
        client.post(&crowd::decision(nth, 1 + nth % 4, "reject"), &body).expect(200);
    }
    client.post_empty(&crowd::decision(12, 1, "hire")).expect(200);
    let report = report(&client, &hiring);
    assert_eq!(report["total"], 10_003);
    let applications = json!({ "inProgress": 9_990, "hired": 1, "notSelected": 12, "withdrawn": 0 });
    assert_eq!(report["applications"], applications);
    let (types, rest) = endings(&report);
    assert_eq!((types[0].1, rest), (12, [0; 3]));
    let board = client.get(&format!("/api/v1/roles/{}/board", hiring.role_id)).expect(200).json();
    let here: Vec<i64> =
        board["data"]["steps"].as_array().unwrap().iter().map(|step| step["count"].as_i64().unwrap()).collect();
    let funnel = funnel(&report);
    assert_eq!(funnel.iter().map(|step| step[1]).collect::<Vec<_>>(), here);
    assert_eq!(funnel.iter().map(|step| step[1]).sum::<i64>(), 9_990);
    assert_eq!(funnel.iter().map(|step| step[3]).sum::<i64>(), 12);
    for [reached, in_progress, validated, rejected, _] in funnel {
        assert_eq!(reached, in_progress + validated + rejected);
    }
}

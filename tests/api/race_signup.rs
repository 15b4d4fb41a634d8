//! Races between signups, and between a signup and an act by staff: each signup gets a confirmation or a clear refusal,
//! and the database agrees with all answers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::support::app::Options;
use super::support::hiring::first_role_of;
use super::support::race::{connected_clients, count, run_together};
use super::support::signup::{Form, signup_path, signup_path_of, status_path};
use super::support::{Answer, App, Hiring};

crate::tests![
    a_hundred_signups_while_their_role_closes_are_confirmed_or_refused,
    a_form_sent_twenty_times_concurrently_makes_one_application,
    twenty_concurrent_forms_with_one_address_make_one_application,
    concurrent_signups_to_eight_roles_make_one_candidate,
    a_signup_during_an_addition_by_staff_makes_one_application,
];

/// Starts a service that trusts the client addresses that proxies on this machine report.
fn start() -> App {
    App::with(Options { trusted_proxies: vec!["127.0.0.1/32"], ..Options::default() })
}

fn number(app: &App, sql: &str) -> usize {
    app.sql(sql)[0].parse().unwrap()
}

/// Returns forms for the link, each for a different candidate.
fn forms(app: &App, path: &str, count: usize) -> Vec<Form> {
    let forms = (0..count).map(|number| Form::fresh(app, path).with("email", &format!("{number}@example.org")));
    let forms = forms.collect();
    app.pass(3);
    forms
}

fn a_hundred_signups_while_their_role_closes_are_confirmed_or_refused() {
    const CANDIDATES: usize = 100;
    let (mut before, mut after) = (0, 0);
    for round in 0..40 {
        let app = start();
        let hiring = app.hiring_with(|document| first_role_of(document)["candidates"] = json!([]));
        let path = signup_path(&app, &hiring);
        let forms = forms(&app, &path, CANDIDATES);
        let owner = app.make_key_with_all(&hiring.staff("owner")).1;
        let close = format!("{}/close", hiring.role());
        let mut clients = connected_clients(&app, CANDIDATES + 1);
        // The role is closed during the signups, after a different number of requests in each round.
        let (started, close_after) = (AtomicUsize::new(0), round * 17 % CANDIDATES);
        let answers = run_together(&mut clients, |number, client| match forms.get(number) {
            Some(form) => {
                started.fetch_add(1, Ordering::SeqCst);
                form.send_by(client)
            }
            None => {
                while started.load(Ordering::SeqCst) < close_after {
                    std::thread::yield_now();
                }
                let authorization = format!("Bearer {owner}");
                let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
                client.send("POST", &close, &headers, b"{\"reason\":\"found\"}").expect(200)
            }
        });
        let answers = &answers[..CANDIDATES];
        assert_agreement(&app, &hiring, answers);
        before += count(answers, 303);
        after += count(answers, 410);
        if before >= CANDIDATES && after >= CANDIDATES {
            return;
        }
    }
    panic!("{before} signups came before the closing of the role, and {after} after it");
}

/// Asserts that each signup was confirmed or refused, and that the database has exactly the candidates of the
/// confirmed signups.
fn assert_agreement(app: &App, hiring: &Hiring, answers: &[Answer]) {
    let confirmed: BTreeSet<String> = answers.iter().filter(|answer| answer.status == 303).map(status_path).collect();
    let refused = answers.iter().filter(|answer| answer.status == 410);
    let refused = refused.filter(|answer| answer.text().contains("Your application was not sent.")).count();
    assert_eq!(confirmed.len() + refused, answers.len(), "{:?}", answers.iter().map(|a| a.status).collect::<Vec<_>>());
    for table in ["candidates", "candidate_roles", "status_pages WHERE candidate_role_id IS NOT NULL"] {
        assert_eq!(number(app, &format!("SELECT count(*) FROM {table}")), confirmed.len(), "{table}");
    }
    assert_eq!(number(app, "SELECT count(candidate_role_id) FROM signups"), confirmed.len());
    assert_eq!(number(app, "SELECT count(*) FROM candidate_role_steps"), confirmed.len() * 4);
    // No signup happened after the role was closed.
    let late = "SELECT count(*) FROM activities a, activities c
                WHERE c.action = 'role.closed' AND a.action = 'candidate_role.signed_up' AND a.number > c.number";
    assert_eq!(number(app, late), 0);
    let status =
        format!("SELECT in_progress FROM organization_statuses WHERE organization_id = '{}'", hiring.organization_id);
    assert_eq!(number(app, &status), confirmed.len());
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_form_sent_twenty_times_concurrently_makes_one_application() {
    let app = start();
    let hiring = app.hiring();
    for round in 0..10 {
        let form = Form::for_role(&app, &hiring).with("email", &format!("{round}@example.org"));
        let mut clients = connected_clients(&app, 20);
        let answers = run_together(&mut clients, |_, client| form.send_by(client));
        let links: BTreeSet<String> = answers.iter().map(status_path).collect();
        assert_eq!(links.len(), 1, "round {round}");
    }
    assert_eq!(app.sql("SELECT count(*), count(candidate_role_id) FROM signups"), ["10|10"]);
    assert_eq!(app.sql("SELECT count(*) FROM status_pages"), ["10"]);
    assert_eq!(app.sql("SELECT count(*) FROM candidates"), ["13"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn twenty_concurrent_forms_with_one_address_make_one_application() {
    let app = start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for round in 0..10 {
        let forms: Vec<Form> = forms(&app, &path, 20);
        let email = format!("ada-{round}@example.org");
        let mut clients = connected_clients(&app, 20);
        let answers = run_together(&mut clients, |number, client| forms[number].with("email", &email).send_by(client));
        let links: BTreeSet<String> = answers.iter().map(status_path).collect();
        assert_eq!(links.len(), 20, "round {round}");
    }
    assert_eq!(app.sql("SELECT count(*), count(candidate_role_id) FROM signups"), ["200|10"]);
    assert_eq!(app.sql("SELECT count(*), count(signup_id) FROM status_pages"), ["200|190"]);
    assert_eq!(app.sql("SELECT count(*) FROM candidates"), ["13"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn concurrent_signups_to_eight_roles_make_one_candidate() {
    let app = start();
    let hiring = app.hiring_with(|document| {
        let more = (1..8).map(|number| {
            json!({ "id": format!("role_{number}_more"), "name": "Welder", "status": "open", "public": true,
                "steps": [{ "name": "Call" }] })
        });
        document["organizations"][0]["roles"].as_array_mut().unwrap().extend(more);
    });
    let roles = app.sql("SELECT id FROM roles");
    let paths: Vec<String> = roles.iter().map(|role| signup_path_of(&app, &hiring, role)).collect();
    for round in 0..10 {
        let forms: Vec<Form> = paths.iter().map(|path| Form::fresh(&app, path)).collect();
        app.pass(3);
        let email = format!("ada-{round}@example.org");
        let mut clients = connected_clients(&app, roles.len());
        let answers = run_together(&mut clients, |number, client| forms[number].with("email", &email).send_by(client));
        answers.iter().for_each(|answer| drop(status_path(answer)));
    }
    assert_eq!(app.sql("SELECT count(*) FROM candidates"), ["13"]);
    assert_eq!(app.sql("SELECT count(candidate_role_id) FROM signups"), ["80"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_signup_during_an_addition_by_staff_makes_one_application() {
    let app = start();
    let hiring = app.hiring();
    let key = app.make_key_with_all(&hiring.staff("owner")).1;
    let path = signup_path(&app, &hiring);
    for round in 0..40 {
        let form = Form::for_link(&app, &path).with("email", &format!("{round}@example.org"));
        let body = json!({ "name": "Ada", "email": form.value("email"), "roleId": hiring.role_id }).to_string();
        let headers = [("Authorization", format!("Bearer {key}")), ("Content-Type", "application/json".to_owned())];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let mut clients = connected_clients(&app, 2);
        let answers = run_together(&mut clients, |number, client| match number {
            0 => form.send_by(client),
            _ => client.send("POST", &hiring.candidates_path(), &headers, body.as_bytes()),
        });
        status_path(&answers[0]);
        let had_applied =
            number(&app, "SELECT candidate_role_id IS NOT NULL FROM signups ORDER BY number DESC LIMIT 1");
        assert_eq!(answers[1].status, if had_applied == 1 { 409 } else { 200 }, "round {round}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM candidates"), ["43"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

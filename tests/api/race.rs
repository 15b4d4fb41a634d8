//! Races of decisions, of requests with one API key (also during its revocation), and of requests for signup links:
//! one sequential order explains all the answers, and the database agrees with it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::rounds::rounds;
use super::support::App;
use super::support::race::{First, Lane, assert_sound, connected_clients, count, duel, run_together, statuses};

crate::tests![
    two_concurrent_hires_fill_the_last_position_once,
    sixteen_concurrent_hires_at_a_step_make_one_hire,
    a_concurrent_hire_and_rejection_happen_in_sequence,
    requests_that_start_after_an_acknowledged_revocation_are_refused,
    a_request_during_its_keys_revocation_is_logged_or_refused,
    a_rejection_during_its_keys_revocation_is_all_or_nothing,
    concurrent_requests_of_one_key_are_each_counted_and_dated,
    concurrent_link_requests_get_the_same_link,
    eight_concurrent_rejections_of_a_step_make_one_rejection,
];

pub(crate) const ROUNDS: usize = rounds(50, 200);

/// The number of rounds for which one imported organization is used.
pub(crate) const ORGANIZATION_ROUNDS: usize = rounds(50, 200);

/// An organization with many roles. Each role has two steps, and all roles have the same number of applications.
pub(crate) struct RaceOrganization {
    organization_id: String,
    slug: String,
    /// The key of its owner.
    pub(crate) key: String,
}

impl RaceOrganization {
    pub(crate) fn role_id(&self, role: usize) -> String {
        format!("{}_role_{role}", self.organization_id)
    }

    /// Returns the id of an application's step. All numbers start at 0.
    pub(crate) fn step_id(&self, role: usize, candidate: usize, step: usize) -> String {
        format!("{}_cstep_{role}_{candidate}_{step}", self.organization_id)
    }

    pub(crate) fn application_id(&self, role: usize, candidate: usize) -> String {
        format!("{}_app_{role}_{candidate}", self.organization_id)
    }

    /// Creates the request for a decision on an application at a step.
    pub(crate) fn decide(&self, decision: &str, role: usize, candidate: usize, step: usize) -> Lane {
        let path = format!("/api/v1/candidate-steps/{}/{decision}", self.step_id(role, candidate, step));
        Lane::new("POST", &path, &self.key)
    }
}

/// Imports a new organization with this many open public roles, and with this many positions and applications for
/// each role.
pub(crate) fn import_organization(app: &App, roles: usize, positions: usize, candidates: usize) -> RaceOrganization {
    let hiring = app.hiring_with(|document| {
        let organization = &mut document["organizations"][0];
        let id = organization["id"].as_str().unwrap().to_owned();
        organization["roles"] = (0..roles).map(|number| role(&id, number, positions, candidates)).collect();
    });
    let key = app.make_key(&hiring.staff("owner")).1;
    RaceOrganization { organization_id: hiring.organization_id, slug: hiring.slug, key }
}

fn role(organization: &str, number: usize, positions: usize, candidates: usize) -> Value {
    let step_id = |step: usize| format!("{organization}_step_{number}_{step}");
    let steps = |candidate: usize| -> Value {
        let step = |(index, status): (usize, &str)| {
            json!({
                "id": format!("{organization}_cstep_{number}_{candidate}_{index}"),
                "roleStepId": step_id(index),
                "status": status,
            })
        };
        ["in_progress", "pending"].into_iter().enumerate().map(step).collect()
    };
    let candidate = |candidate: usize| {
        json!({
            "applicationId": format!("{organization}_app_{number}_{candidate}"),
            "name": format!("Candidate {candidate}"),
            "email": format!("candidate-{candidate}@{number}.example"),
            "steps": steps(candidate),
        })
    };
    json!({
        "id": format!("{organization}_role_{number}"),
        "name": format!("Role {number}"),
        "status": "open",
        "public": true,
        "positions": positions,
        "steps": [
            { "id": step_id(0), "name": "Interview", "stepType": "interview" },
            { "id": step_id(1), "name": "Offer", "stepType": "offer" },
        ],
        "candidates": (0..candidates).map(candidate).collect::<Value>(),
    })
}

/// Returns the role to use in this round. Imports a new organization first if the last one is used up.
pub(crate) fn role_for_round(
    app: &App,
    organizations: &mut Vec<RaceOrganization>,
    round: usize,
    positions: usize,
    candidates: usize,
) -> usize {
    if round / ORGANIZATION_ROUNDS == organizations.len() {
        organizations.push(import_organization(app, ORGANIZATION_ROUNDS, positions, candidates));
    }
    round % ORGANIZATION_ROUNDS
}

fn usage(app: &App, key_id: &str) -> Value {
    app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage?limit=500")).expect(200).json()["data"].take()
}

/// Asserts that no request of a revoked key is logged later than the revocation of that key. The log lists requests in
/// the order in which they happened.
fn assert_no_use_after_revocation(app: &App) {
    let late_use = "SELECT k.id, u.at, d.at
                FROM api_key_usage d
                JOIN api_keys k ON d.path = '/api/admin/api-keys/' || k.id
                JOIN api_key_usage u ON u.key_number = k.number
                WHERE d.method = 'DELETE' AND u.at > d.at";
    assert_eq!(app.sql(late_use), Vec::<String>::new());
}

fn two_concurrent_hires_fill_the_last_position_once() {
    let app = App::start();
    let (organizations, mut expected) = (RefCell::new(Vec::new()), Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, 2);
            let organization = organizations.last().unwrap();
            [0, 1].map(|candidate| organization.decide("hire", role, candidate, 1))
        },
        |round, answers| {
            let winner = answers.iter().position(|answer| answer.status == 200).expect("one of the two hires succeeds");
            let loser = answers[1 - winner].clone().refused(400, "bad_request");
            assert_eq!(loser.json()["detail"], "positions already filled");
            let (organizations, role) = (organizations.borrow(), round % ORGANIZATION_ROUNDS);
            let organization = organizations.last().unwrap();
            assert_eq!(answers[winner].json()["step"]["id"], organization.step_id(role, winner, 1));
            expected.push(format!(
                "{}|filled|1|{}",
                organization.role_id(role),
                organization.application_id(role, winner)
            ));
            [First::Left, First::Right][winner]
        },
    );
    let mut hired = app.sql(
        "SELECT r.id, r.status, r.hired, a.id FROM roles r
         JOIN candidate_roles a ON a.role_id = r.id AND a.status = 'Hired'",
    );
    hired.sort();
    expected.sort();
    assert_eq!(hired, expected);
    assert_sound(&app);
}

fn sixteen_concurrent_hires_at_a_step_make_one_hire() {
    let app = App::start();
    let organization = import_organization(&app, 1, ROUNDS + 1, ROUNDS);
    let mut clients = connected_clients(&app, 16);
    for round in 0..ROUNDS {
        let hire = organization.decide("hire", 0, round, 1);
        let answers = run_together(&mut clients, |_, client| hire.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 15), "round {round}: {:?}", statuses(&answers));
        for answer in answers.into_iter().filter(|answer| answer.status == 409) {
            answer.refused(409, "conflict");
        }
    }
    let hires = "SELECT count(DISTINCT candidate_role_id), count(*), min(action), max(action) FROM activities";
    assert_eq!(app.sql(hires), [format!("{ROUNDS}|{ROUNDS}|candidate_step.hired|candidate_step.hired")]);
    assert_eq!(app.sql("SELECT status, positions, hired FROM roles"), [format!("open|{}|{ROUNDS}", ROUNDS + 1)]);
    assert_sound(&app);
}

/// The hire addresses the final step. The rejection addresses the same step or, every other round, the step before
/// it.
fn a_concurrent_hire_and_rejection_happen_in_sequence() {
    let app = App::start();
    let (organizations, mut expected) = (RefCell::new(Vec::new()), Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, 1);
            let organization = organizations.last().unwrap();
            [organization.decide("hire", role, 0, 1), organization.decide("reject", role, 0, round % 2)]
        },
        |round, answers| {
            let [hire, reject] = answers else { panic!("expected two answers") };
            let (organizations, role) = (organizations.borrow(), round % ORGANIZATION_ROUNDS);
            let organization = organizations.last().unwrap();
            assert_eq!(reject.clone().expect(200).json()["step"]["status"], "rejected");
            let (first, actions) = match hire.status {
                200 => (First::Left, "candidate_step.hired,candidate_step.hire_reversed"),
                _ => {
                    let refused = hire.clone().refused(409, "conflict");
                    assert_eq!(refused.json()["detail"], "the candidate has already been rejected for this role");
                    (First::Right, "candidate_step.rejected")
                }
            };
            // The other step is the one that the rejection does not address. A rejection before the hire leaves that
            // step unchanged. After the hire, that step is the final step, whose validation the rejection reverses, or
            // the first step, which the hire has skipped.
            let steps = match (round % 2, first) {
                (0, _) => "rejected,pending",
                (_, First::Left) => "skipped,rejected",
                (_, First::Right) => "in_progress,rejected",
            };
            let (role, application) = (organization.role_id(role), organization.application_id(role, 0));
            expected.push(format!("{role}|open|0|{application}|Not Selected|null|{steps}|{actions}"));
            first
        },
    );
    let mut found = app.sql(
        "SELECT r.id, r.status, r.hired, a.id, a.status, a.hired_date,
           (SELECT group_concat(s.status ORDER BY s.step_order) FROM candidate_role_steps s
            WHERE s.candidate_role_id = a.id AND (s.status = 'validated') = (s.validated_at IS NOT NULL)),
           (SELECT group_concat(v.action ORDER BY v.number) FROM activities v WHERE v.candidate_role_id = a.id)
         FROM roles r JOIN candidate_roles a ON a.role_id = r.id
         WHERE a.status <> 'In Progress'",
    );
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_sound(&app);
}

fn requests_that_start_after_an_acknowledged_revocation_are_refused() {
    let app = App::start();
    let owner = app.hiring().staff("owner");
    let admin_secret = app.admin_secret().to_owned();
    let mut clients = connected_clients(&app, 4);
    let mut accepted_total = 0;
    for round in 0..ROUNDS {
        let (key_id, key) = app.make_key(&owner);
        let (call, revoked) = (Lane::new("GET", "/api/v1/me", &key), AtomicBool::new(false));
        let revoke = Lane::new("DELETE", &format!("/api/admin/api-keys/{key_id}"), &admin_secret);
        let accepted: usize = run_together(&mut clients, |number, client| {
            if number > 0 {
                return calls_until_refused(&call, client, &revoked);
            }
            // In two of every three rounds, the revocation comes a little later, while the other clients send requests.
            for _ in 0..round % 3 {
                call.send(client);
            }
            revoke.send(client).expect(200);
            revoked.store(true, Ordering::SeqCst);
            round % 3
        })
        .into_iter()
        .sum();
        let usage = usage(&app, &key_id);
        assert_eq!(usage["key"]["requestCount"], accepted, "round {round}");
        assert_eq!(usage["rows"].as_array().unwrap().len(), accepted, "round {round}");
        accepted_total += accepted;
    }
    assert!(accepted_total >= ROUNDS, "the keys were in use: {accepted_total} requests");
    assert_no_use_after_revocation(&app);
    assert_sound(&app);
}

/// Sends requests until a request that started after the acknowledged revocation is refused. Returns the number of
/// accepted requests.
fn calls_until_refused(call: &Lane, client: &super::support::Client, revoked: &AtomicBool) -> usize {
    let (mut accepted, mut refused) = (0, 0);
    loop {
        let is_late = revoked.load(Ordering::SeqCst);
        let answer = call.send(client);
        if answer.status == 200 {
            assert!(!is_late, "a request that started after the acknowledged revocation was accepted");
            assert_eq!(refused, 0, "a request was accepted after one on the same connection was refused");
            accepted += 1;
        } else {
            answer.refused(401, "unauthorized");
            refused += 1;
        }
        if is_late {
            return accepted;
        }
    }
}

fn a_request_during_its_keys_revocation_is_logged_or_refused() {
    let app = App::start();
    let owner = app.hiring().staff("owner");
    let key = RefCell::default();
    duel(
        &app,
        |_| {
            *key.borrow_mut() = app.make_key(&owner);
            let (key_id, secret): &(String, String) = &key.borrow();
            let revoke = Lane::new("DELETE", &format!("/api/admin/api-keys/{key_id}"), app.admin_secret());
            [Lane::new("GET", "/api/v1/me", secret), revoke]
        },
        |_, answers| {
            answers[1].clone().expect(200);
            let usage = usage(&app, &key.borrow().0);
            let logged = (&usage["key"]["requestCount"], usage["rows"].as_array().unwrap().len());
            if answers[0].status == 200 {
                assert_eq!(logged, (&json!(1), 1));
                return First::Left;
            }
            answers[0].clone().refused(401, "unauthorized");
            assert_eq!(logged, (&json!(0), 0));
            First::Right
        },
    );
    assert_eq!(app.sql("SELECT count(*) FROM api_keys WHERE enabled = 1"), ["1"], "only the admin's key is left");
    assert_no_use_after_revocation(&app);
    assert_sound(&app);
}

fn a_rejection_during_its_keys_revocation_is_all_or_nothing() {
    let app = App::start();
    let (organizations, mut expected) = (RefCell::new(Vec::new()), Vec::new());
    let key_id = RefCell::new(String::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, 1);
            let organization = organizations.last().unwrap();
            let owner = format!("user_{}_owner", organization.organization_id.trim_start_matches("org_"));
            let (id, secret) = app.make_key(&owner);
            let revoke = Lane::new("DELETE", &format!("/api/admin/api-keys/{id}"), app.admin_secret());
            let path = format!("/api/v1/candidate-steps/{}/reject", organization.step_id(role, 0, 0));
            let reject = Lane::new("POST", &path, &secret).with_body(&json!({ "outcomeNotes": id }));
            *key_id.borrow_mut() = id;
            [reject, revoke]
        },
        |round, answers| {
            answers[1].clone().expect(200);
            let (organizations, key_id) = (organizations.borrow(), key_id.borrow());
            let step_id = organizations.last().unwrap().step_id(round % ORGANIZATION_ROUNDS, 0, 0);
            if answers[0].status == 200 {
                expected.push(format!("{step_id}|rejected|{key_id}|Not Selected|1|1"));
                return First::Left;
            }
            answers[0].clone().refused(401, "unauthorized");
            expected.push(format!("{step_id}|in_progress|null|In Progress|0|0"));
            First::Right
        },
    );
    let mut found = app.sql(
        "SELECT s.id, s.status, s.rejection_reason, a.status,
           (SELECT count(*) FROM activities v JOIN api_keys k ON k.id = v.api_key_id
            WHERE v.candidate_role_step_id = s.id AND k.id = s.rejection_reason),
           (SELECT count(*) FROM api_key_usage u WHERE u.path = '/api/v1/candidate-steps/' || s.id || '/reject')
         FROM candidate_role_steps s JOIN candidate_roles a ON a.id = s.candidate_role_id
         WHERE s.step_order = 1",
    );
    found.sort();
    found.retain(|line| !line.contains("|in_progress|") || expected.contains(line));
    expected.sort();
    assert_eq!(found, expected);
    assert_no_use_after_revocation(&app);
    assert_sound(&app);
}

fn concurrent_requests_of_one_key_are_each_counted_and_dated() {
    const CALLS: usize = 8;
    let app = App::start();
    let (key_id, key) = app.make_key(&app.hiring().staff("owner"));
    let call = Lane::new("GET", "/api/v1/me", &key);
    let mut clients = connected_clients(&app, CALLS);
    let mut newest = String::new();
    for round in 1..=ROUNDS {
        let answers = run_together(&mut clients, |_, client| call.send(client));
        assert_eq!(count(&answers, 200), CALLS, "round {round}: {:?}", statuses(&answers));
        let page = app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage?limit={CALLS}")).expect(200).json();
        let (rows, known) = (page["data"]["rows"].as_array().unwrap(), &page["data"]["key"]);
        let times: Vec<&str> = rows.iter().rev().map(|row| row["timestamp"].as_str().unwrap()).collect();
        assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
        assert_eq!(times.len(), CALLS);
        assert!(newest.as_str() < times[0], "the rows of round {round} are later than all earlier rows");
        assert_eq!(known["requestCount"], round * CALLS);
        assert_eq!(known["lastRequest"], times[CALLS - 1]);
        times[CALLS - 1].clone_into(&mut newest);
    }
    let calls = (ROUNDS * CALLS).to_string();
    let figures = "SELECT count(*), count(DISTINCT u.at), count(DISTINCT u.number), max(u.number)
                   FROM api_key_usage u JOIN api_keys k ON k.number = u.key_number";
    assert_eq!(app.sql(&format!("{figures} WHERE k.id = '{key_id}'")), [[calls.as_str(); 4].join("|")]);
    assert_sound(&app);
}

fn concurrent_link_requests_get_the_same_link() {
    let app = App::start();
    let organization = import_organization(&app, ROUNDS, 1, 0);
    let mut clients = connected_clients(&app, 8);
    let path = format!("/api/public/portal/{}/apply", organization.slug);
    let mut links = Vec::new();
    for round in 0..ROUNDS {
        let role_id = organization.role_id(round);
        let apply = Lane::new("POST", &path, "").with_body(&json!({ "roleId": role_id }));
        let answers = run_together(&mut clients, |_, client| apply.send(client).expect(200).json()["inviteUrl"].take());
        assert!(answers.iter().all(|link| *link == answers[0]), "round {round}: {answers:?}");
        let link = answers[0].as_str().unwrap().strip_suffix("?locale=en").unwrap();
        links.push(format!("{role_id}|{}", link.rsplit('/').next().unwrap()));
    }
    let mut found = app.sql("SELECT role_id, token FROM invitations");
    found.sort();
    links.sort();
    assert_eq!(found, links);
    assert_sound(&app);
}

fn eight_concurrent_rejections_of_a_step_make_one_rejection() {
    let app = App::start();
    let organization = import_organization(&app, 1, 1, ROUNDS);
    let mut clients = connected_clients(&app, 8);
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let answers = run_together(&mut clients, |number, client| {
            let body = json!({ "outcomeNotes": format!("by {number}") });
            organization.decide("reject", 0, round, 0).with_body(&body).send(client)
        });
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}: {:?}", statuses(&answers));
        let winner = answers.iter().position(|answer| answer.status == 200).unwrap();
        assert_eq!(answers[winner].json()["step"]["rejectionReason"], format!("by {winner}"));
        expected.push(format!("{}|by {winner}|1", organization.step_id(0, round, 0)));
    }
    let mut found = app.sql(
        "SELECT s.id, s.rejection_reason, (SELECT count(*) FROM activities v WHERE v.candidate_role_step_id = s.id)
         FROM candidate_role_steps s WHERE s.status = 'rejected'",
    );
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_sound(&app);
}

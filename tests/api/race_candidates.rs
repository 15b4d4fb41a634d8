//! Races between requests about candidates: one sequential order explains all the answers, the database agrees with it,
//! and later reads see the result.

use serde_json::{Value, json};

use super::rounds::rounds;
use super::support::hiring::first_role_of;
use super::support::race::{DUEL_ROUNDS_MAX, First, Lane, assert_sound, connected_clients, count, duel, run_together};
use super::support::{Answer, App, Hiring};

crate::tests![
    eight_concurrent_additions_of_an_address_make_one_application,
    concurrent_additions_to_eight_roles_make_one_candidate,
    eight_concurrent_withdrawals_make_one_withdrawal,
    a_concurrent_withdrawal_and_hire_exclude_each_other,
    a_concurrent_withdrawal_and_rejection_happen_in_sequence,
    concurrent_changes_give_an_address_to_one_candidate,
    concurrent_changes_to_a_name_happen_in_sequence,
    a_concurrent_addition_and_change_give_an_address_to_one_candidate,
    reads_on_every_connection_see_acknowledged_changes,
];

const ROUNDS: usize = rounds(30, 100);

/// The maximum number of applications that one call of `duel` needs: one for each round.
const APPLICATIONS: usize = DUEL_ROUNDS_MAX;

/// An organization whose applications are all in progress, and the key of its owner.
struct RaceOrganization {
    hiring: Hiring,
    key: String,
}

impl RaceOrganization {
    fn new(app: &App, applications: usize, roles: usize) -> Self {
        let hiring = app.hiring_with(|document| {
            let role = first_role_of(document);
            let steps = [json!({ "id": "call", "name": "Call" }), json!({ "id": "offer", "name": "Offer" })];
            role["steps"] = json!(steps);
            role["positions"] = json!(applications + 1);
            role["candidates"] = (0..applications).map(candidate).collect();
            let more = (1..roles).map(|number| {
                json!({ "id": format!("role_{number}_more"), "name": "Welder", "status": "open", "steps": [{ "name": "Call" }] })
            });
            let more: Vec<Value> = more.collect();
            document["organizations"][0]["roles"].as_array_mut().unwrap().extend(more);
        });
        let key = app.make_key_with_all(&hiring.staff("owner")).1;
        Self { hiring, key }
    }

    fn post(&self, path: &str) -> Lane {
        Lane::new("POST", path, &self.key)
    }

    fn add(&self, email: &str, role: &str) -> Lane {
        let body = json!({ "name": "Ada", "email": email, "roleId": role });
        self.post(&self.hiring.candidates_path()).with_body(&body)
    }

    fn withdraw(&self, number: usize) -> Lane {
        self.post(&format!("/api/v1/candidate-roles/app_{number}/withdraw"))
    }

    fn decide(&self, number: usize, decision: &str) -> Lane {
        self.post(&format!("/api/v1/candidate-steps/call_{number}/{decision}"))
    }

    fn patch(&self, number: usize, body: &Value) -> Lane {
        Lane::new("PATCH", &format!("/api/v1/candidates/cand_{number}"), &self.key).with_body(body)
    }
}

fn candidate(number: usize) -> Value {
    json!({
        "id": format!("cand_{number}"),
        "applicationId": format!("app_{number}"),
        "name": format!("Candidate {number}"),
        "email": format!("{number}@example.org"),
        "steps": [
            { "id": format!("call_{number}"), "roleStepId": "call", "status": "in_progress" },
            { "id": format!("offer_{number}"), "roleStepId": "offer", "status": "pending" },
        ],
    })
}

/// Returns each application that is not in progress, with its recorded actions in order.
fn actions(app: &App) -> Vec<String> {
    app.sql(
        "SELECT a.id, a.status, a.at_role_step_id,
           (SELECT group_concat(v.action ORDER BY v.number) FROM activities v WHERE v.candidate_role_id = a.id)
         FROM candidate_roles a
         WHERE a.status <> 'In Progress'
         ORDER BY a.candidate_number",
    )
}

fn eight_concurrent_additions_of_an_address_make_one_application() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, 0, 1);
    let mut clients = connected_clients(&app, 8);
    for round in 0..ROUNDS {
        let add = organization.add(&format!("ada-{round}@example.org"), &organization.hiring.role_id);
        let answers = run_together(&mut clients, |_, client| add.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}");
    }
    let rounds = ROUNDS.to_string();
    assert_eq!(app.sql("SELECT count(*) FROM candidates"), std::slice::from_ref(&rounds));
    assert_eq!(app.sql("SELECT count(*) FROM candidate_roles"), std::slice::from_ref(&rounds));
    let actions = app.sql("SELECT action, count(*) FROM activities GROUP BY action ORDER BY action");
    assert_eq!(actions, [format!("candidate.added|{rounds}"), format!("candidate_role.added|{rounds}")]);
    assert_sound(&app);
}

fn concurrent_additions_to_eight_roles_make_one_candidate() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, 0, 8);
    let mut clients = connected_clients(&app, 8);
    for round in 0..ROUNDS {
        let email = format!("ada-{round}@example.org");
        let role = |number: usize| match number {
            0 => organization.hiring.role_id.clone(),
            _ => format!("role_{number}_more"),
        };
        let answers = run_together(&mut clients, |number, client| organization.add(&email, &role(number)).send(client));
        assert_eq!(count(&answers, 200), 8, "round {round}");
        let id = |answer: &Answer| answer.json()["data"]["id"].as_str().unwrap().to_owned();
        assert!(answers.iter().all(|answer| id(answer) == id(&answers[0])), "round {round}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM candidates"), [ROUNDS.to_string()]);
    assert_eq!(app.sql("SELECT DISTINCT count(*) FROM candidate_roles GROUP BY candidate_id"), ["8"]);
    assert_sound(&app);
}

fn eight_concurrent_withdrawals_make_one_withdrawal() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, ROUNDS, 1);
    let mut clients = connected_clients(&app, 8);
    for round in 0..ROUNDS {
        let withdraw = organization.withdraw(round);
        let answers = run_together(&mut clients, |_, client| withdraw.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}");
    }
    let expected: Vec<String> =
        (0..ROUNDS).map(|number| format!("app_{number}|Withdrawn|null|candidate_role.withdrawn")).collect();
    assert_eq!(actions(&app), expected);
    assert_sound(&app);
}

fn a_concurrent_withdrawal_and_hire_exclude_each_other() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, APPLICATIONS, 1);
    let mut expected = Vec::new();
    duel(
        &app,
        |round| [organization.withdraw(round), organization.decide(round, "hire")],
        |round, answers| {
            if answers[0].status == 200 {
                let refused = answers[1].clone().refused(409, "conflict");
                assert_eq!(refused.json()["detail"], "the candidate has withdrawn the application");
                expected.push(format!("app_{round}|Withdrawn|null|candidate_role.withdrawn"));
                return First::Left;
            }
            answers[1].clone().expect(200);
            let refused = answers[0].clone().refused(409, "conflict");
            assert!(refused.json()["detail"].as_str().unwrap().starts_with("the application is Hired"));
            expected.push(format!("app_{round}|Hired|null|candidate_step.hired"));
            First::Right
        },
    );
    assert_eq!(actions(&app), expected);
    assert_sound(&app);
}

fn a_concurrent_withdrawal_and_rejection_happen_in_sequence() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, APPLICATIONS, 1);
    let mut expected = Vec::new();
    duel(
        &app,
        |round| [organization.withdraw(round), organization.decide(round, "reject")],
        |round, answers| {
            answers[1].clone().expect(200);
            let (first, actions) = match answers[0].status {
                200 => (First::Left, "candidate_role.withdrawn,candidate_step.rejected"),
                _ => {
                    let refused = answers[0].clone().refused(409, "conflict");
                    assert!(refused.json()["detail"].as_str().unwrap().starts_with("the application is Not Selected"));
                    (First::Right, "candidate_step.rejected")
                }
            };
            expected.push(format!("app_{round}|Not Selected|null|{actions}"));
            first
        },
    );
    assert_eq!(actions(&app), expected);
    assert_sound(&app);
}

fn concurrent_changes_give_an_address_to_one_candidate() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, 2, 1);
    let mut owner = 0;
    duel(
        &app,
        |round| {
            let body = json!({ "email": format!("wanted-{round}@example.org") });
            [0, 1].map(|number| organization.patch(number, &body))
        },
        |round, answers| {
            owner = answers.iter().position(|answer| answer.status == 200).expect("one of the two changes succeeds");
            let refused = answers[1 - owner].clone().refused(409, "conflict");
            assert_eq!(refused.json()["detail"], "another candidate in the organization has this email");
            let email = format!("wanted-{round}@example.org");
            assert_eq!(answers[owner].json()["data"]["email"], email);
            let found =
                app.key(&organization.key).get(&format!("{}?email={email}", organization.hiring.candidates_path()));
            assert_eq!(found.expect(200).json()["data"][0]["id"], format!("cand_{owner}"));
            [First::Left, First::Right][owner]
        },
    );
    assert_sound(&app);
}

fn concurrent_changes_to_a_name_happen_in_sequence() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, 1, 1);
    let mut clients = connected_clients(&app, 8);
    for round in 0..ROUNDS {
        let name = |number: usize| json!({ "name": format!("Name{round}x{number}") });
        let answers = run_together(&mut clients, |number, client| organization.patch(0, &name(number)).send(client));
        assert_eq!(count(&answers, 200), 8, "round {round}");
        for (number, answer) in answers.iter().enumerate() {
            assert_eq!(answer.json()["data"]["name"], name(number)["name"]);
        }
    }
    // Each change started from the state that the previous one left.
    let broken = "SELECT count(*) FROM activities a JOIN activities b ON b.number = a.number + 1
                  WHERE json_extract(a.detail, '$.after') <> json_extract(b.detail, '$.before')";
    assert_eq!(app.sql(broken), ["0"]);
    let last = "SELECT c.name = json_extract(a.detail, '$.after.name') FROM candidates c, activities a
                WHERE a.number = (SELECT max(number) FROM activities)";
    assert_eq!(app.sql(last), ["1"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), [(8 * ROUNDS).to_string()]);
    assert_sound(&app);
}

fn a_concurrent_addition_and_change_give_an_address_to_one_candidate() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, 1, 1);
    duel(
        &app,
        |round| {
            let email = format!("wanted-{round}@example.org");
            [organization.add(&email, &organization.hiring.role_id), organization.patch(0, &json!({ "email": email }))]
        },
        |_, answers| {
            // The addition either creates a candidate or conflicts with the candidate who took the address and has
            // already applied to the role.
            if answers[0].status == 200 {
                answers[1].clone().refused(409, "conflict");
                return First::Left;
            }
            answers[0].clone().refused(409, "conflict");
            answers[1].clone().expect(200);
            First::Right
        },
    );
    assert_sound(&app);
}

fn reads_on_every_connection_see_acknowledged_changes() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, ROUNDS, 1);
    let owner = app.anonymous();
    let mut clients = connected_clients(&app, 12);
    let list = |query: &str| {
        Lane::new("GET", &format!("{}?{query}", organization.hiring.candidates_path()), &organization.key)
    };
    let first = |answer: Answer| answer.expect(200).json()["data"][0].take();
    for round in 0..ROUNDS / 4 {
        let email = format!("seen-{round}@example.org");
        let added =
            organization.add(&email, &organization.hiring.role_id).send(&owner).expect(200).json()["data"].take();
        let (newest, by_email) = (list("limit=1"), list(&format!("email={email}")));
        for found in run_together(&mut clients, |number, client| [&newest, &by_email][number % 2].send(client)) {
            assert_eq!(first(found)["id"], added["id"], "round {round}");
        }
        organization.patch(round, &json!({ "name": format!("Changed{round}") })).send(&owner).expect(200);
        let (by_name, read) = (list(&format!("name=changed{round}")), read(&organization, round));
        for found in run_together(&mut clients, |_, client| by_name.send(client)) {
            assert_eq!(first(found)["id"], format!("cand_{round}"), "round {round}");
        }
        organization.withdraw(round).send(&owner).expect(200);
        let withdrawn = list(&format!("status=Withdrawn&name=changed{round}"));
        for (number, found) in run_together(&mut clients, |number, client| [&read, &withdrawn][number % 2].send(client))
            .into_iter()
            .enumerate()
        {
            let found = if number % 2 == 0 { found.expect(200).json()["data"].take() } else { first(found) };
            assert_eq!(found["applications"][0]["status"], "Withdrawn", "round {round}");
        }
    }
    assert_sound(&app);
}

fn read(organization: &RaceOrganization, number: usize) -> Lane {
    Lane::new("GET", &format!("/api/v1/candidates/cand_{number}"), &organization.key)
}

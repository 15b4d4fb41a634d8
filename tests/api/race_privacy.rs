//! Races of erasures, holds, exports and decisions: one sequential order explains all the answers, the database agrees
//! with it, and no personal data of erased candidates is left.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::rounds::rounds;
use super::support::race::{First, Lane, assert_sound, connected_clients, duel, run_together, statuses};
use super::support::{Answer, App};

crate::tests![
    concurrent_erasures_of_a_candidate_make_one_erasure,
    a_concurrent_erasure_and_hire_leave_no_personal_data,
    a_concurrent_erasure_and_hold_exclude_each_other,
    concurrent_holds_happen_in_sequence,
    concurrent_releases_make_one_release,
    concurrent_exports_are_all_recorded,
    a_concurrent_export_and_erasure_happen_in_sequence,
];

const ROUNDS: usize = rounds(50, 200);

/// An organization whose only role has a position for everybody.
struct RaceOrganization {
    id: String,
    /// The key of its owner.
    key: String,
}

impl RaceOrganization {
    fn import(app: &App) -> Self {
        let hiring = app.hiring_with(|document| {
            let organization = &mut document["organizations"][0];
            let id = organization["id"].as_str().unwrap().to_owned();
            organization["roles"] = json!([role(&id)]);
        });
        Self { id: hiring.organization_id.clone(), key: app.make_key_with_all(&hiring.staff("owner")).1 }
    }

    fn candidate_id(&self, candidate: usize) -> String {
        format!("{}_cand_{candidate}", self.id)
    }

    fn erase(&self, candidate: usize) -> Lane {
        Lane::new("DELETE", &format!("/api/v1/candidates/{}", self.candidate_id(candidate)), &self.key)
    }

    fn hold(&self, candidate: usize, reason: &str) -> Lane {
        let path = format!("/api/v1/candidates/{}/hold", self.candidate_id(candidate));
        Lane::new("PUT", &path, &self.key).with_body(&json!({ "reason": reason }))
    }

    fn release(&self, candidate: usize) -> Lane {
        Lane::new("DELETE", &format!("/api/v1/candidates/{}/hold", self.candidate_id(candidate)), &self.key)
    }

    fn export(&self, candidate: usize) -> Lane {
        Lane::new("GET", &format!("/api/v1/candidates/{}/export", self.candidate_id(candidate)), &self.key)
    }

    fn hire(&self, candidate: usize) -> Lane {
        let path = format!("/api/v1/candidate-steps/{}_cstep_{candidate}/hire", self.id);
        Lane::new("POST", &path, &self.key).with_body(&json!({ "notes": "Quixworth", "externalPositionId": "P-1" }))
    }
}

fn role(organization: &str) -> Value {
    let candidate = |number: usize| {
        json!({
            "id": format!("{organization}_cand_{number}"),
            "name": format!("Quixworth {number}"),
            "email": format!("quixworth-{number}@mail.example"),
            "steps": [{ "id": format!("{organization}_cstep_{number}"), "roleStepId": format!("{organization}_step"),
                "status": "in_progress" }],
        })
    };
    json!({
        "id": format!("{organization}_role"), "name": "Engineer", "status": "open", "positions": 2 * ROUNDS,
        "steps": [{ "id": format!("{organization}_step"), "name": "Offer", "stepType": "offer" }],
        "candidates": (0..ROUNDS).map(candidate).collect::<Value>(),
    })
}

/// Returns the organization and the candidate to use in this round. Imports a new organization first if the last one is
/// used up.
fn organization_for_round<'a>(
    app: &App,
    organizations: &'a mut Vec<RaceOrganization>,
    round: usize,
) -> (&'a RaceOrganization, usize) {
    if round / ROUNDS == organizations.len() {
        organizations.push(RaceOrganization::import(app));
    }
    (&organizations[round / ROUNDS], round % ROUNDS)
}

/// Returns the recorded actions about a candidate, in order.
fn actions(app: &App, candidate: &str) -> Vec<String> {
    app.sql(&format!("SELECT action FROM activities WHERE candidate_id = '{candidate}' ORDER BY number"))
}

fn concurrent_erasures_of_a_candidate_make_one_erasure() {
    let app = App::start();
    let organization = RaceOrganization::import(&app);
    let mut clients = connected_clients(&app, 4);
    for round in 0..ROUNDS {
        let lane = organization.erase(round);
        let answers = run_together(&mut clients, |_, client| lane.send(client));
        let first = answers[0].clone().expect(200).json();
        assert!(answers.iter().all(|answer| answer.clone().expect(200).json() == first));
        let done = actions(&app, &organization.candidate_id(round));
        assert_eq!(done, ["candidate_role.withdrawn", "candidate.erased"]);
    }
    assert_sound(&app);
}

fn a_concurrent_erasure_and_hire_leave_no_personal_data() {
    let app = App::start();
    let organizations = RefCell::new(Vec::new());
    let lanes = |round: usize| {
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        [organization.erase(at), organization.hire(at)]
    };
    duel(&app, lanes, |round, answers| {
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        let done = actions(&app, &organization.candidate_id(at));
        match *statuses(answers) {
            [200, 409] => {
                assert_eq!(done, ["candidate_role.withdrawn", "candidate.erased"]);
                First::Left
            }
            [200, 200] => {
                assert_eq!(done, ["candidate_step.hired", "candidate.erased"]);
                First::Right
            }
            ref other => panic!("{other:?}: {}", answers[0].text()),
        }
    });
    let left = "SELECT count(*) FROM candidate_roles a JOIN candidates c ON c.id = a.candidate_id
                WHERE c.erased_at IS NOT NULL AND (a.hire_notes IS NOT NULL OR a.external_position_id IS NOT NULL)";
    assert_eq!(app.sql(left), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE detail LIKE '%Quixworth%'"), ["0"]);
    assert_sound(&app);
}

fn a_concurrent_erasure_and_hold_exclude_each_other() {
    let app = App::start();
    let organizations = RefCell::new(Vec::new());
    let lanes = |round: usize| {
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        [organization.erase(at), organization.hold(at, "a case")]
    };
    duel(&app, lanes, |round, answers| {
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        let done = actions(&app, &organization.candidate_id(at));
        match *statuses(answers) {
            [200, 409] => {
                assert_eq!(done, ["candidate_role.withdrawn", "candidate.erased"]);
                First::Left
            }
            [409, 200] => {
                assert_eq!(done, ["candidate.held"]);
                First::Right
            }
            ref other => panic!("{other:?}: {}", answers[0].text()),
        }
    });
    assert_sound(&app);
}

fn concurrent_holds_happen_in_sequence() {
    let app = App::start();
    let organizations = RefCell::new(Vec::new());
    let lanes = |round: usize| {
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        [organization.hold(at, "left"), organization.hold(at, "right")]
    };
    duel(&app, lanes, |round, answers| {
        assert_eq!(statuses(answers), [200, 200]);
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        let id = organization.candidate_id(at);
        let reasons = app.sql(&format!(
            "SELECT json_extract(detail, '$.before.holdReason'), json_extract(detail, '$.after.holdReason') FROM activities
             WHERE candidate_id = '{id}' ORDER BY number"
        ));
        let last = app.sql(&format!("SELECT hold_reason FROM candidates WHERE id = '{id}'"));
        match [reasons[0].as_str(), reasons[1].as_str(), last[0].as_str()] {
            ["null|left", "left|right", "right"] => First::Left,
            ["null|right", "right|left", "left"] => First::Right,
            other => panic!("{other:?}"),
        }
    });
    assert_sound(&app);
}

fn concurrent_releases_make_one_release() {
    let app = App::start();
    let organization = RaceOrganization::import(&app);
    let mut clients = connected_clients(&app, 4);
    for round in 0..ROUNDS {
        organization.hold(round, "a case").send(&clients[0]).expect(200);
        let lane = organization.release(round);
        let answers = run_together(&mut clients, |_, client| lane.send(client));
        assert!(answers.iter().all(|answer| answer.clone().expect(200).json()["data"]["holdReason"].is_null()));
        assert_eq!(actions(&app, &organization.candidate_id(round)), ["candidate.held", "candidate.released"]);
    }
    assert_sound(&app);
}

fn concurrent_exports_are_all_recorded() {
    let app = App::start();
    let organization = RaceOrganization::import(&app);
    let mut clients = connected_clients(&app, 4);
    for round in 0..ROUNDS {
        let lane = organization.export(round);
        let answers = run_together(&mut clients, |_, client| lane.send(client));
        let done = |answer: &Answer| answer.clone().expect(200).json()["data"]["activity"].as_array().unwrap().len();
        let mut before: Vec<usize> = answers.iter().map(done).collect();
        before.sort_unstable();
        assert_eq!(before, [0, 1, 2, 3]);
    }
    assert_sound(&app);
}

fn a_concurrent_export_and_erasure_happen_in_sequence() {
    let app = App::start();
    let organizations = RefCell::new(Vec::new());
    let lanes = |round: usize| {
        let mut organizations = organizations.borrow_mut();
        let (organization, at) = organization_for_round(&app, &mut organizations, round);
        [organization.export(at), organization.erase(at)]
    };
    duel(&app, lanes, |_, answers| {
        assert_eq!(statuses(answers), [200, 200]);
        let data = answers[0].json()["data"].clone();
        if data["erasedAt"].is_null() {
            assert!(data["candidate"]["name"].as_str().unwrap().starts_with("Quixworth"));
            First::Left
        } else {
            assert!(!answers[0].text().contains("Quixworth"), "{}", answers[0].text());
            First::Right
        }
    });
    assert_sound(&app);
}

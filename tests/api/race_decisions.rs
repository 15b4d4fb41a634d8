//! Races of validations, moves and reopenings among themselves and with other decisions: one sequential order explains
//! all the answers, and the database agrees with it.

use std::cell::RefCell;

use serde_json::json;

use super::race::{ORGANIZATION_ROUNDS, ROUNDS, RaceOrganization, import_organization, role_for_round};
use super::support::race::{First, assert_sound, connected_clients, count, duel, run_together, statuses};
use super::support::{Answer, App};

crate::tests![
    eight_concurrent_validations_of_a_step_make_one_validation,
    eight_concurrent_moves_to_a_step_make_one_move,
    eight_concurrent_reopenings_of_a_step_make_one_reopening,
    a_concurrent_validation_and_rejection_happen_in_sequence,
    a_concurrent_move_and_validation_exclude_each_other,
    a_concurrent_move_and_rejection_happen_in_sequence,
    a_concurrent_move_and_hire_happen_in_sequence,
    concurrent_moves_to_two_steps_happen_in_sequence,
    a_concurrent_reopening_and_hire_happen_in_sequence,
];

/// Every application with activity: its status, the statuses of its steps, and its recorded actions.
const APPLICATIONS: &str = "SELECT a.id, a.status,
     (SELECT group_concat(s.status ORDER BY s.step_order) FROM candidate_role_steps s WHERE s.candidate_role_id = a.id),
     (SELECT group_concat(v.action ORDER BY v.number) FROM activities v WHERE v.candidate_role_id = a.id)
   FROM candidate_roles a
   WHERE EXISTS (SELECT 1 FROM activities v WHERE v.candidate_role_id = a.id)";

fn assert_applications(app: &App, mut expected: Vec<String>) {
    let mut found = app.sql(APPLICATIONS);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_sound(app);
}

fn eight_concurrent_validations_of_a_step_make_one_validation() {
    let app = App::start();
    let organization = import_organization(&app, 1, 1, ROUNDS);
    let mut clients = connected_clients(&app, 8);
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let validate = organization.decide("validate", 0, round, 0);
        let answers = run_together(&mut clients, |_, client| validate.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}: {:?}", statuses(&answers));
        let application = organization.application_id(0, round);
        expected.push(format!("{application}|In Progress|validated,in_progress|candidate_step.validated"));
    }
    assert_applications(&app, expected);
}

fn eight_concurrent_moves_to_a_step_make_one_move() {
    let app = App::start();
    let organization = import_organization(&app, 1, 1, ROUNDS);
    let mut clients = connected_clients(&app, 8);
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let act = organization.decide("move", 0, round, 1);
        let answers = run_together(&mut clients, |_, client| act.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}: {:?}", statuses(&answers));
        let application = organization.application_id(0, round);
        expected.push(format!("{application}|In Progress|validated,in_progress|candidate_step.moved"));
    }
    assert_applications(&app, expected);
}

fn eight_concurrent_reopenings_of_a_step_make_one_reopening() {
    let app = App::start();
    let organization = import_organization(&app, 1, 1, ROUNDS);
    let mut clients = connected_clients(&app, 8);
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        reject(&app, &organization, 0, round);
        let reopen = organization.decide("reopen", 0, round, 0).with_body(&json!({ "reason": "a mistake" }));
        let answers = run_together(&mut clients, |_, client| reopen.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}: {:?}", statuses(&answers));
        let actions = "candidate_step.rejected,candidate_step.reopened";
        expected.push(format!("{}|In Progress|in_progress,pending|{actions}", organization.application_id(0, round)));
    }
    assert_applications(&app, expected);
}

fn a_concurrent_validation_and_rejection_happen_in_sequence() {
    let app = App::start();
    let (organizations, mut expected) = (RefCell::new(Vec::new()), Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, 1);
            let organization = organizations.last().unwrap();
            [organization.decide("validate", role, 0, 0), organization.decide("reject", role, 0, 0)]
        },
        |round, answers| {
            assert_eq!(answers[1].clone().expect(200).json()["step"]["status"], "rejected");
            let application = application(&organizations.borrow(), round);
            if answers[0].status == 200 {
                let actions = "candidate_step.validated,candidate_step.rejected";
                expected.push(format!("{application}|Not Selected|rejected,in_progress|{actions}"));
                return First::Left;
            }
            answers[0].clone().refused(409, "conflict");
            expected.push(format!("{application}|Not Selected|rejected,pending|candidate_step.rejected"));
            First::Right
        },
    );
    assert_applications(&app, expected);
}

/// The validation of the first step and the move to the second leave the steps in the same state, so the decision that
/// comes second is refused.
fn a_concurrent_move_and_validation_exclude_each_other() {
    duel_of([("move", 1), ("validate", 0)], |answers| {
        let statuses = [answers[0].status, answers[1].status];
        let first = match statuses {
            [200, 409] => First::Left,
            [409, 200] => First::Right,
            _ => panic!("{statuses:?}"),
        };
        let action = if first == First::Left { "moved" } else { "validated" };
        (first, format!("In Progress|validated,in_progress|candidate_step.{action}"))
    });
}

fn a_concurrent_move_and_rejection_happen_in_sequence() {
    duel_of([("move", 1), ("reject", 0)], |answers| {
        assert_eq!(answers[1].clone().expect(200).json()["step"]["status"], "rejected");
        if answers[0].status == 200 {
            let actions = "candidate_step.moved,candidate_step.rejected";
            return (First::Left, format!("Not Selected|rejected,in_progress|{actions}"));
        }
        answers[0].clone().refused(409, "conflict");
        (First::Right, "Not Selected|rejected,pending|candidate_step.rejected".to_owned())
    });
}

fn a_concurrent_move_and_hire_happen_in_sequence() {
    duel_of([("move", 1), ("hire", 1)], |answers| {
        answers[1].clone().expect(200);
        if answers[0].status == 200 {
            let actions = "candidate_step.moved,candidate_step.hired";
            return (First::Left, format!("Hired|validated,validated|{actions}"));
        }
        answers[0].clone().refused(409, "conflict");
        (First::Right, "Hired|skipped,validated|candidate_step.hired".to_owned())
    });
}

/// The candidate is at the first step, so a move to it is possible only after the move to the second.
fn concurrent_moves_to_two_steps_happen_in_sequence() {
    duel_of([("move", 1), ("move", 0)], |answers| {
        answers[0].clone().expect(200);
        if answers[1].status == 200 {
            let actions = "candidate_step.moved,candidate_step.moved";
            return (First::Left, format!("In Progress|in_progress,pending|{actions}"));
        }
        answers[1].clone().refused(409, "conflict");
        (First::Right, "In Progress|validated,in_progress|candidate_step.moved".to_owned())
    });
}

/// Races two decisions on a new application in each round. Each decision has a name and a step. `judge` returns which
/// decision came first, and the application's expected status, steps and actions.
fn duel_of(decisions: [(&str, usize); 2], judge: impl Fn(&[Answer]) -> (First, String)) {
    let app = App::start();
    let (organizations, mut expected) = (RefCell::new(Vec::new()), Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, 1);
            let organization = organizations.last().unwrap();
            decisions.map(|(decision, step)| organization.decide(decision, role, 0, step))
        },
        |round, answers| {
            let (first, row) = judge(answers);
            expected.push(format!("{}|{row}", application(&organizations.borrow(), round)));
            first
        },
    );
    assert_applications(&app, expected);
}

fn a_concurrent_reopening_and_hire_happen_in_sequence() {
    let app = App::start();
    let (organizations, mut expected) = (RefCell::new(Vec::new()), Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, 1);
            let organization = organizations.last().unwrap();
            reject(&app, organization, role, 0);
            let reopen = organization.decide("reopen", role, 0, 0).with_body(&json!({ "reason": "a mistake" }));
            [reopen, organization.decide("hire", role, 0, 1)]
        },
        |round, answers| {
            assert_eq!(answers[0].clone().expect(200).json()["step"]["status"], "in_progress");
            let application = application(&organizations.borrow(), round);
            let actions = "candidate_step.rejected,candidate_step.reopened";
            if answers[1].status == 200 {
                expected.push(format!("{application}|Hired|skipped,validated|{actions},candidate_step.hired"));
                return First::Left;
            }
            answers[1].clone().refused(409, "conflict");
            expected.push(format!("{application}|In Progress|in_progress,pending|{actions}"));
            First::Right
        },
    );
    assert_applications(&app, expected);
}

fn reject(app: &App, organization: &RaceOrganization, role: usize, candidate: usize) {
    organization.decide("reject", role, candidate, 0).send(&app.anonymous()).expect(200);
}

fn application(organizations: &[RaceOrganization], round: usize) -> String {
    organizations.last().unwrap().application_id(round % ORGANIZATION_ROUNDS, 0)
}

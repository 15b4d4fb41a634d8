//! Races of decision batches among themselves and with single decisions: one sequential order explains all the answers,
//! and the database agrees with it.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::race::{ORGANIZATION_ROUNDS, ROUNDS, RaceOrganization, import_organization, role_for_round};
use super::support::race::{First, Lane, assert_sound, connected_clients, count, duel, run_together};
use super::support::{Answer, App};

crate::tests![
    eight_concurrent_batches_decide_on_each_application_once,
    a_concurrent_batch_and_hire_happen_in_sequence,
    a_concurrent_batch_and_validation_happen_in_sequence,
    eight_concurrent_undos_of_a_batch_make_one_undo,
    concurrent_undos_of_a_batch_and_of_one_decision_happen_in_sequence,
];

/// The number of applications in each batch.
const ITEMS: usize = 3;

fn batch(organization: &RaceOrganization, role: usize) -> Lane {
    let path = format!("/api/v1/roles/{}/decisions", organization.role_id(role));
    let ids: Vec<String> = (0..ITEMS).map(|candidate| organization.step_id(role, candidate, 0)).collect();
    Lane::new("POST", &path, &organization.key).with_body(&json!({ "action": "reject", "candidateStepIds": ids }))
}

fn outcomes(answer: &Answer) -> Vec<String> {
    let answer = answer.clone().expect(200).json();
    let outcome = |item: &Value| item["outcome"].as_str().unwrap().to_owned();
    answer["items"].as_array().unwrap().iter().map(outcome).collect()
}

fn eight_concurrent_batches_decide_on_each_application_once() {
    let app = App::start();
    let organization = import_organization(&app, ROUNDS, 1, ITEMS);
    let mut clients = connected_clients(&app, 8);
    for round in 0..ROUNDS {
        let batch = batch(&organization, round);
        let answers = run_together(&mut clients, |_, client| batch.send(client));
        let winners = answers.iter().filter(|answer| outcomes(answer) == ["done"; ITEMS]).count();
        let losers = answers.iter().filter(|answer| outcomes(answer) == ["conflict"; ITEMS]).count();
        assert_eq!((winners, losers), (1, 7), "round {round}");
    }
    let rejections = ROUNDS * ITEMS;
    assert_eq!(
        app.sql("SELECT action, count(*) FROM activities GROUP BY action"),
        [format!("candidate_step.rejected|{rejections}")]
    );
    assert_sound(&app);
}

fn a_concurrent_batch_and_hire_happen_in_sequence() {
    duel_with("hire", |batch, hire| {
        if batch == ["done"; ITEMS] {
            hire.clone().refused(409, "conflict");
            return First::Left;
        }
        assert_eq!(batch, ["done", "conflict", "done"]);
        hire.clone().expect(200);
        First::Right
    });
}

fn a_concurrent_batch_and_validation_happen_in_sequence() {
    duel_with("validate", |batch, validation| {
        if batch == ["done"; ITEMS] {
            validation.clone().refused(409, "conflict");
            return First::Left;
        }
        assert_eq!(batch, ["done", "conflict", "done"]);
        validation.clone().expect(200);
        First::Right
    });
}

/// Makes a decision batch, and returns the request that undoes it.
fn undo_of(app: &App, organization: &RaceOrganization, role: usize) -> Lane {
    let batch = batch(organization, role).send(&app.anonymous()).expect(200).json();
    let id = batch["batchId"].as_str().unwrap();
    Lane::new("POST", &format!("/api/v1/roles/{}/decisions/{id}/undo", organization.role_id(role)), &organization.key)
}

fn eight_concurrent_undos_of_a_batch_make_one_undo() {
    let app = App::start();
    let organization = import_organization(&app, ROUNDS, 1, ITEMS);
    let mut clients = connected_clients(&app, 8);
    for round in 0..ROUNDS {
        let undo = undo_of(&app, &organization, round);
        let answers = run_together(&mut clients, |_, client| undo.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}");
    }
    let undos = app.sql("SELECT count(*) FROM activities WHERE action = 'candidate_step.undone'");
    assert_eq!(undos, [(ROUNDS * ITEMS).to_string()]);
    assert_sound(&app);
}

fn concurrent_undos_of_a_batch_and_of_one_decision_happen_in_sequence() {
    let app = App::start();
    let organizations = RefCell::new(Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, ITEMS);
            let organization = organizations.last().unwrap();
            [undo_of(&app, organization, role), organization.decide("undo", role, 1, 0)]
        },
        |_, answers| {
            if outcomes(&answers[0]) == ["done"; ITEMS] {
                answers[1].clone().refused(409, "conflict");
                return First::Left;
            }
            assert_eq!(outcomes(&answers[0]), ["done", "conflict", "done"]);
            answers[1].clone().expect(200);
            First::Right
        },
    );
    let twice = "SELECT candidate_role_id FROM activities WHERE action = 'candidate_step.undone'
       GROUP BY candidate_role_id HAVING count(*) <> 1";
    assert_eq!(app.sql(twice), Vec::<String>::new());
    assert_sound(&app);
}

/// Races a batch against a decision on its second application. `judge` gets the outcomes of the batch and the answer to
/// the decision, and returns which of the two requests came first.
fn duel_with(decision: &str, judge: impl Fn(&[String], &Answer) -> First) {
    let app = App::start();
    let organizations = RefCell::new(Vec::new());
    duel(
        &app,
        |round| {
            let mut organizations = organizations.borrow_mut();
            let role = role_for_round(&app, &mut organizations, round, 1, ITEMS);
            let organization = organizations.last().unwrap();
            [batch(organization, role), organization.decide(decision, role, 1, 0)]
        },
        |round, answers| {
            let first = judge(&outcomes(&answers[0]), &answers[1]);
            let application = organizations.borrow().last().unwrap().application_id(round % ORGANIZATION_ROUNDS, 1);
            let sql = format!("SELECT count(*) FROM activities WHERE candidate_role_id = '{application}'");
            assert_eq!(app.sql(&sql), ["1"], "round {round}");
            first
        },
    );
    assert_sound(&app);
}

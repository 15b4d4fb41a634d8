//! The export of a file in which candidates were hired, rejected or moved is a document that `import` accepts.

use appliance::domain::activity::Action;
use appliance::domain::candidate_step::{
    Decision, HireInput, MoveInput, RejectInput, StepFacts, hire, move_to, reject,
};
use appliance::domain::id::{CandidateStepId, Id, UserId};
use appliance::domain::refusal::Refusal;
use appliance::domain::timestamp::Timestamp;
use appliance::domain::user::{Auth, PlatformRole, Principal};
use appliance::interchange::{self, Secrets};
use appliance::store::activity;
use appliance::store::candidate_step;
use appliance::store::{Error, act_alone};
use appliance::world::World;
use serde_json::{Value, json};

use crate::support::{CANDIDATES, File, ROLE, read, set, with, world};

type Rule = fn(&StepFacts, Timestamp) -> Result<Decision, Refusal>;

const HIRE: (Action, Rule) = (Action::Hired, |facts, now| {
    let input = HireInput { notes: Some("Starts in May.".to_owned()), ..HireInput::default() };
    hire(facts, &input, now)
});

const REJECT: (Action, Rule) = (Action::Rejected, |facts, now| {
    let input = RejectInput { outcome_type: Some("other".to_owned()), ..RejectInput::default() };
    reject(facts, &input, now)
});

const MOVE: (Action, Rule) = (Action::Moved, |facts, now| move_to(facts, &MoveInput::default(), now));

fn decide(file: &File, step: &str, (action, rule): (Action, Rule)) {
    let who = Principal {
        user_id: UserId::parse("user_1").unwrap(),
        email: "ada@example.org".to_owned(),
        platform_role: PlatformRole::Admin,
        auth: Auth::Session { digest: [0; 32] },
    };
    let world: &dyn World = world();
    let decided = act_alone(&file.path(), world, |tx| {
        let facts = candidate_step::load(tx, &who, &CandidateStepId::parse(step).unwrap())?.unwrap();
        let decision = rule(&facts, tx.now).map_err(Error::Refused)?;
        candidate_step::save(tx, &who, action, &facts, &decision, &activity::stamp(world))
    });
    decided.unwrap();
}

/// Creates a file with a role that has one position and one application. The application has this status and three
/// steps: `a`, `b` and `c`, with these statuses.
fn file(status: &str, steps: [&str; 3]) -> File {
    let role_steps = json!([{ "id": "1", "name": "1" }, { "id": "2", "name": "2" }, { "id": "3", "name": "3" }]);
    let steps: Vec<Value> = [("a", "1", steps[0]), ("b", "2", steps[1]), ("c", "3", steps[2])]
        .iter()
        .map(|(id, of, status)| json!({ "id": id, "roleStepId": of, "status": status }))
        .collect();
    let candidate = json!({ "name": "Cleo", "email": "cleo@example.org", "status": status, "steps": steps });
    let mut document = with(CANDIDATES, json!([candidate]));
    set(&mut document, &format!("{ROLE}/positions"), json!(1));
    set(&mut document, &format!("{ROLE}/steps"), role_steps);
    let file = File::new();
    file.import(&read(&document)).unwrap();
    file
}

#[test]
fn the_results_of_hires_rejections_and_moves_can_be_imported() {
    let current = ["validated", "in_progress", "pending"];
    for (status, steps, decisions) in [
        ("In Progress", current, &[("a", HIRE)] as &[_]),
        ("In Progress", current, &[("c", HIRE)]),
        ("In Progress", current, &[("b", REJECT)]),
        ("In Progress", current, &[("c", REJECT), ("a", REJECT), ("b", REJECT)]),
        ("In Progress", current, &[("b", HIRE), ("b", REJECT)]),
        ("In Progress", current, &[("b", HIRE), ("c", REJECT), ("a", REJECT)]),
        ("In Progress", current, &[("a", MOVE)]),
        ("In Progress", current, &[("c", MOVE)]),
        ("In Progress", ["in_progress", "pending", "pending"], &[("c", MOVE)]),
        ("In Progress", ["in_progress", "pending", "pending"], &[("c", MOVE), ("b", MOVE), ("b", REJECT)]),
        ("In Progress", ["in_progress", "in_progress", "pending"], &[("c", MOVE), ("c", HIRE)]),
        ("Withdrawn", current, &[("b", REJECT)]),
        ("Withdrawn", ["validated", "validated", "validated"], &[("a", REJECT)]),
    ] {
        let before = file(status, steps);
        for (step, decision) in decisions {
            decide(&before, step, *decision);
        }
        let exported = before.export(Secrets::Included);
        let document = interchange::parse(exported.as_bytes(), world()).unwrap_or_else(|findings| panic!("{findings}"));
        let after = File::new();
        after.import(&document).unwrap();
        assert_eq!(after.export(Secrets::Included), exported);
        assert_eq!((before.unsound(), after.unsound()), (Vec::new(), Vec::new()));
    }
}

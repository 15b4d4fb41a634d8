//! Races between acts on a status page, decisions by staff, and requests for a new status link: one sequential order
//! explains all the answers, and the database agrees with it.

use serde_json::{Value, json};

use super::rounds::rounds;
use super::support::race::{First, Lane, connected_clients, duel, run_together};
use super::support::stored_signup::status_link_in;
use super::support::{Answer, App, Client, Hiring};

crate::tests![
    after_a_concurrent_withdrawal_and_rejection_the_page_shows_the_withdrawal,
    a_concurrent_deletion_and_hire_disable_the_link_and_lose_no_hire,
    concurrent_new_links_leave_one_that_works,
    concurrent_deletions_make_one_deletion,
];

const ROUNDS: usize = rounds(50, 200);

/// An organization whose only role has a position for everybody.
struct RaceOrganization {
    hiring: Hiring,
    key: String,
    owner: Client,
}

impl RaceOrganization {
    fn import(app: &App) -> Self {
        let hiring = app.hiring_with(|document| {
            let organization = &mut document["organizations"][0];
            let id = organization["id"].as_str().unwrap().to_owned();
            organization["roles"] = json!([role(&id)]);
        });
        let key = app.make_key_with_all(&hiring.staff("owner")).1;
        Self { owner: app.key(&key), key, hiring }
    }

    fn id(&self, kind: &str, candidate: usize) -> String {
        format!("{}_{kind}_{candidate}", self.hiring.organization_id)
    }

    fn new_link(&self, candidate: usize) -> String {
        format!("/api/v1/candidate-roles/{}/status-link", self.id("app", candidate))
    }

    fn link(&self, candidate: usize) -> String {
        status_link_in(&self.owner.post_empty(&self.new_link(candidate)).expect(200).json())
    }

    fn decide(&self, candidate: usize, decision: &str) -> Lane {
        Lane::new("POST", &format!("/api/v1/candidate-steps/{}/{decision}", self.id("cstep", candidate)), &self.key)
    }

    fn actions(&self, app: &App, candidate: usize) -> Vec<String> {
        let id = self.id("cand", candidate);
        app.sql(&format!(
            "SELECT action FROM activities
             WHERE candidate_id = '{id}' AND action <> 'candidate_role.status_link_issued' ORDER BY number"
        ))
    }
}

fn role(organization: &str) -> Value {
    let candidate = |number: usize| {
        json!({
            "id": format!("{organization}_cand_{number}"), "applicationId": format!("{organization}_app_{number}"),
            "name": format!("Quixworth {number}"), "email": format!("quixworth-{number}@mail.example"),
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

/// Returns the candidate to use in this round. Imports a new organization first if the last one is used up.
fn candidate_for_round(app: &App, organizations: &mut Vec<RaceOrganization>, round: usize) -> usize {
    if organizations.len() <= round / ROUNDS {
        organizations.push(RaceOrganization::import(app));
    }
    round % ROUNDS
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

fn after_a_concurrent_withdrawal_and_rejection_the_page_shows_the_withdrawal() {
    let app = App::start();
    let organizations = std::cell::RefCell::new(Vec::new());
    let links = std::cell::RefCell::new(Vec::new());
    let lanes = |round: usize| {
        let mut organizations = organizations.borrow_mut();
        let candidate = candidate_for_round(&app, &mut organizations, round);
        let organization = organizations.last().unwrap();
        let link = organization.link(candidate);
        links.borrow_mut().push(link.clone());
        [Lane::new("POST", &format!("{link}/withdraw"), ""), organization.decide(candidate, "reject")]
    };
    duel(&app, lanes, |round, answers| {
        assert_eq!(statuses(answers), [303, 200]);
        let page = app.anonymous().get(&links.borrow()[round]).expect(200).text();
        assert!(page.contains("The application was withdrawn"), "{page}");
        let organizations = organizations.borrow();
        let (organization, candidate) = (organizations.last().unwrap(), round % ROUNDS);
        let done = organization.actions(&app, candidate);
        match [done[0].as_str(), done[1].as_str()] {
            ["candidate_role.withdrawn", "candidate_step.rejected"] => First::Left,
            ["candidate_step.rejected", "candidate_role.withdrawn"] => First::Right,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_concurrent_deletion_and_hire_disable_the_link_and_lose_no_hire() {
    let app = App::start();
    let organizations = std::cell::RefCell::new(Vec::new());
    let lanes = |round: usize| {
        let mut organizations = organizations.borrow_mut();
        let candidate = candidate_for_round(&app, &mut organizations, round);
        let organization = organizations.last().unwrap();
        let link = organization.link(candidate);
        [Lane::new("POST", &format!("{link}/delete"), ""), organization.decide(candidate, "hire")]
    };
    duel(&app, lanes, |round, answers| {
        let organizations = organizations.borrow();
        let done = organizations.last().unwrap().actions(&app, round % ROUNDS);
        match statuses(answers)[..] {
            [200, 409] => {
                assert_eq!(done, ["candidate_role.withdrawn", "candidate.erased"]);
                First::Left
            }
            [200, 200] => {
                // A hired candidate is erased only after the decision is visible to them.
                assert_eq!(done, ["candidate_step.hired", "candidate_role.deletion_asked"]);
                First::Right
            }
            ref other => panic!("{other:?}: {}", answers[0].text()),
        }
    });
    assert_eq!(app.sql("SELECT count(*) FROM status_pages"), ["0"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn concurrent_new_links_leave_one_that_works() {
    let app = App::start();
    let organization = RaceOrganization::import(&app);
    let mut clients = connected_clients(&app, 2);
    for candidate in 0..ROUNDS / 4 {
        let lane = Lane::new("POST", &organization.new_link(candidate), &organization.key);
        let answers = run_together(&mut clients, |_, client| lane.send(client));
        let alive = |answer: &Answer| {
            assert_eq!(answer.status, 200);
            app.anonymous().get(&status_link_in(&answer.json())).status == 200
        };
        assert_eq!(answers.iter().filter(|answer| alive(answer)).count(), 1);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn concurrent_deletions_make_one_deletion() {
    let app = App::start();
    let organization = RaceOrganization::import(&app);
    let mut clients = connected_clients(&app, 2);
    for candidate in 0..ROUNDS / 4 {
        let lane = Lane::new("POST", &format!("{}/delete", organization.link(candidate)), "");
        let mut seen = statuses(&run_together(&mut clients, |_, client| lane.send(client)));
        seen.sort_unstable();
        assert_eq!(seen, [200, 404]);
        assert_eq!(organization.actions(&app, candidate), ["candidate_role.withdrawn", "candidate.erased"]);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

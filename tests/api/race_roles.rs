//! Races between changes to roles and their steps: one sequential order explains all the answers, and the database
//! agrees with it.

use std::cell::Cell;

use serde_json::{Value, json};

use super::rounds::rounds;
use super::support::race::{First, Lane, connected_clients, count, duel, run_together};
use super::support::roles::staff;
use super::support::{Answer, App, Client, Hiring};

crate::tests![
    concurrently_created_roles_all_exist,
    concurrent_identical_state_changes_of_a_role_make_one_change,
    concurrent_deletions_delete_a_draft_once,
    concurrent_changes_happen_in_sequence,
    concurrently_added_steps_all_get_a_position,
    concurrent_additions_add_the_fiftieth_step_once,
    concurrent_reorderings_leave_one_of_the_orders,
    concurrent_removals_remove_a_step_once,
    concurrent_removals_leave_the_last_step,
    a_hire_during_a_reduction_of_positions_fills_a_position_or_finds_none,
    a_hire_and_a_concurrent_closing_of_the_role_happen_in_sequence,
    an_opening_and_a_concurrent_deletion_of_a_draft_exclude_each_other,
    a_reordering_during_a_removal_applies_to_all_steps_or_none,
    a_reordering_during_an_addition_applies_to_all_steps_or_none,
];

/// The number of clients that send a request at the same moment.
const CLIENTS: usize = 8;

/// The number of rounds of a race between requests from `CLIENTS` clients.
const ROUNDS: usize = rounds(12, 25);

/// The number of roles in one imported organization.
const ROLES: usize = rounds(50, 200);

/// An organization with many identical roles. Each round uses a different role.
struct RaceOrganization {
    hiring: Hiring,
    key: String,
    client: Client,
    used: Cell<usize>,
}

impl RaceOrganization {
    /// Imports an organization whose roles are copies of this role, with their own ids.
    fn new(app: &App, role: &Value) -> Self {
        let hiring = app.hiring_with(|document| {
            let organization = document["organizations"][0]["id"].as_str().unwrap().to_owned();
            document["organizations"][0]["roles"] =
                (0..ROLES).map(|number| numbered(role, &organization, number)).collect();
        });
        let scopes = ["roles:read", "roles:write", "pipeline:write"];
        let key = json!({ "name": "k", "userId": hiring.staff("owner"), "scopes": scopes });
        let (key, client) = (app.make_key_with(&key).1, staff(app, &hiring, "owner"));
        Self { hiring, key, client, used: Cell::new(0) }
    }

    /// Returns the number of an unused role.
    fn next_unused(&self) -> usize {
        self.used.replace(self.used.get() + 1)
    }

    fn id(&self, kind: &str, number: usize) -> String {
        format!("{}_{kind}_{number}", self.hiring.organization_id)
    }

    fn role(&self, number: usize) -> String {
        format!("/api/v1/roles/{}", self.id("role", number))
    }

    fn lane(&self, method: &'static str, path: &str) -> Lane {
        Lane::new(method, path, &self.key)
    }

    /// Reads the role as the API shows it.
    fn read(&self, number: usize) -> Value {
        self.client.get(&self.role(number)).expect(200).json()["data"].take()
    }

    /// Returns the ids of the role's steps that are not removed.
    fn steps(&self, number: usize) -> Vec<String> {
        let role = self.read(number);
        let current = role["steps"].as_array().unwrap().iter().filter(|step| step["removed"] == false);
        current.map(|step| step["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Creates the request that hires the role's `candidate`-th candidate, counted from 0, at the second step.
    fn hire(&self, number: usize, candidate: usize) -> Lane {
        let step = self.id(&format!("cstep_{candidate}_1"), number);
        self.lane("POST", &format!("/api/v1/candidate-steps/{step}/hire"))
    }
}

/// Returns the role with ids derived from its number.
fn numbered(role: &Value, organization: &str, number: usize) -> Value {
    let id = |kind: &str| format!("{organization}_{kind}_{number}");
    let mut role = role.clone();
    role["id"] = json!(id("role"));
    for (position, step) in role["steps"].as_array_mut().unwrap().iter_mut().enumerate() {
        step["id"] = json!(id(&format!("step_{position}")));
    }
    for (nth, candidate) in role["candidates"].as_array_mut().into_iter().flatten().enumerate() {
        candidate["email"] = json!(format!("{nth}@{number}.example"));
        let statuses = candidate["steps"].take();
        let step = |(position, status): (usize, &Value)| {
            let (id, role_step_id) = (id(&format!("cstep_{nth}_{position}")), id(&format!("step_{position}")));
            json!({ "id": id, "roleStepId": role_step_id, "status": status })
        };
        candidate["steps"] = statuses.as_array().unwrap().iter().enumerate().map(step).collect();
    }
    role
}

fn steps(count: usize) -> Value {
    (0..count).map(|number| json!({ "name": format!("Step {number}") })).collect()
}

fn draft(steps_count: usize) -> Value {
    json!({ "name": "Role", "steps": steps(steps_count) })
}

/// Sends a request from every client at the same moment, and returns the answers.
fn send_from_all(clients: &mut [Client], lane: impl Fn(usize) -> Lane) -> Vec<Answer> {
    let lanes: Vec<Lane> = (0..clients.len()).map(lane).collect();
    run_together(clients, |number, client| lanes[number].send(client))
}

fn assert_sound(app: &App) {
    assert_eq!(app.check(), Vec::<String>::new());
    // The positions in a pipeline have no gaps.
    let gaps = "SELECT role_id, count(*), max(step_order) FROM role_steps WHERE step_order IS NOT NULL
                GROUP BY role_id HAVING count(*) <> max(step_order)";
    assert_eq!(app.sql(gaps), Vec::<String>::new());
}

fn concurrently_created_roles_all_exist() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(1));
    let mut clients = connected_clients(&app, CLIENTS);
    let body = json!({ "name": "Made", "steps": steps(3) });
    for round in 1..=ROUNDS {
        let answers =
            send_from_all(&mut clients, |_| organization.lane("POST", &organization.hiring.roles()).with_body(&body));
        assert_eq!(count(&answers, 200), CLIENTS);
        let created = app.sql("SELECT count(*) FROM roles WHERE name = 'Made'");
        assert_eq!(created, [(round * CLIENTS).to_string()]);
    }
    assert_sound(&app);
}

fn concurrent_identical_state_changes_of_a_role_make_one_change() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(1));
    let mut clients = connected_clients(&app, CLIENTS);
    let body = json!({ "reason": "r" });
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        for (act, status) in [("open", "open"), ("close", "closed"), ("reopen", "open")] {
            let path = format!("{}/{act}", organization.role(number));
            let answers = send_from_all(&mut clients, |_| organization.lane("POST", &path).with_body(&body));
            assert_eq!((count(&answers, 200), count(&answers, 409)), (1, CLIENTS - 1), "{act}");
            assert_eq!(organization.read(number)["status"], status);
        }
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), [(3 * ROUNDS).to_string()]);
    assert_sound(&app);
}

fn concurrent_deletions_delete_a_draft_once() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(2));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let path = organization.role(organization.next_unused());
        let answers = send_from_all(&mut clients, |_| organization.lane("DELETE", &path));
        assert_eq!((count(&answers, 200), count(&answers, 404)), (1, CLIENTS - 1));
    }
    assert_sound(&app);
}

/// Each change starts from the state that the previous one left.
fn concurrent_changes_happen_in_sequence() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(1));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        let (path, step) = (organization.role(number), organization.steps(number).remove(0));
        let answers = send_from_all(&mut clients, |nth| {
            let body = json!({ "name": format!("Name {nth}") });
            let path = if nth % 2 == 0 { path.clone() } else { format!("{path}/steps/{step}") };
            organization.lane("PATCH", &path).with_body(&body)
        });
        assert_eq!(count(&answers, 200), CLIENTS);
        for (action, first) in [("role.changed", "Role"), ("role_step.changed", "Step 0")] {
            let details = app.sql(&format!(
                "SELECT detail FROM activities WHERE action = '{action}' AND role_id = '{}' ORDER BY number",
                organization.id("role", number)
            ));
            assert_eq!(details.len(), CLIENTS / 2);
            let mut name = json!(first);
            for detail in details {
                let mut detail: Value = serde_json::from_str(&detail).unwrap();
                assert_eq!(detail["before"]["name"], name);
                name = detail["after"]["name"].take();
            }
            let role = organization.read(number);
            let shown = if action == "role.changed" { &role["name"] } else { &role["steps"][0]["name"] };
            assert_eq!(*shown, name);
        }
    }
    assert_sound(&app);
}

fn concurrently_added_steps_all_get_a_position() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(1));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        let path = format!("{}/steps", organization.role(number));
        let body = |nth: usize| if nth < 4 { json!({ "name": "A", "order": 1 }) } else { json!({ "name": "B" }) };
        let answers = send_from_all(&mut clients, |nth| organization.lane("POST", &path).with_body(&body(nth)));
        assert_eq!(count(&answers, 200), CLIENTS);
        assert_eq!(organization.steps(number).len(), CLIENTS + 1);
    }
    assert_sound(&app);
}

fn concurrent_additions_add_the_fiftieth_step_once() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(49));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        let path = format!("{}/steps", organization.role(number));
        let body = json!({ "name": "Last", "order": 1 });
        let answers = send_from_all(&mut clients, |_| organization.lane("POST", &path).with_body(&body));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, CLIENTS - 1));
        assert_eq!(organization.steps(number).len(), 50);
    }
    assert_sound(&app);
}

fn concurrent_reorderings_leave_one_of_the_orders() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(CLIENTS));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        let path = format!("{}/steps/order", organization.role(number));
        let rotated = |by: usize| {
            let mut order = organization.steps(number);
            order.rotate_left(by);
            order
        };
        let orders: Vec<Vec<String>> = (0..CLIENTS).map(rotated).collect();
        let body = |nth: usize| json!({ "stepIds": orders[nth] });
        let answers = send_from_all(&mut clients, |nth| organization.lane("PUT", &path).with_body(&body(nth)));
        assert_eq!(count(&answers, 200), CLIENTS);
        assert!(orders.contains(&organization.steps(number)));
    }
    assert_sound(&app);
}

fn concurrent_removals_remove_a_step_once() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &draft(3));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        let path = format!("{}/steps/{}", organization.role(number), organization.steps(number)[0]);
        let answers = send_from_all(&mut clients, |_| organization.lane("DELETE", &path));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, CLIENTS - 1));
        assert_eq!(organization.steps(number).len(), 2);
    }
    assert_sound(&app);
}

fn concurrent_removals_leave_the_last_step() {
    let app = App::start();
    let organization = RaceOrganization::new(&app, &json!({ "name": "Role", "status": "open", "steps": steps(2) }));
    let mut clients = connected_clients(&app, CLIENTS);
    for _ in 0..ROUNDS {
        let number = organization.next_unused();
        let both = organization.steps(number);
        let path = |nth: usize| format!("{}/steps/{}", organization.role(number), both[nth % 2]);
        let answers = send_from_all(&mut clients, |nth| organization.lane("DELETE", &path(nth)));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, CLIENTS - 1));
        assert_eq!(organization.steps(number).len(), 1);
    }
    assert_sound(&app);
}

/// Races two requests on a role that no earlier round used, until each request has come first often enough. `judge`
/// gets the role's number and returns whether the left request came first.
fn race_on_roles(
    role: &Value,
    lanes: impl Fn(&RaceOrganization, usize) -> [Lane; 2],
    judge: impl Fn(&RaceOrganization, usize, &[Answer]) -> bool,
) {
    let app = App::start();
    let organizations = std::cell::RefCell::new(Vec::<RaceOrganization>::new());
    let at = |round: usize| (round / ROLES, round % ROLES);
    duel(
        &app,
        |round| {
            let (position, number) = at(round);
            if organizations.borrow().len() == position {
                organizations.borrow_mut().push(RaceOrganization::new(&app, role));
            }
            lanes(&organizations.borrow()[position], number)
        },
        |round, answers| {
            let (position, number) = at(round);
            if judge(&organizations.borrow()[position], number, answers) { First::Left } else { First::Right }
        },
    );
    assert_sound(&app);
}

fn a_hire_during_a_reduction_of_positions_fills_a_position_or_finds_none() {
    let role = json!({
        "name": "Role", "status": "open", "positions": 2, "steps": steps(2), "candidates": [
            { "name": "A", "status": "In Progress", "steps": ["in_progress", "pending"] },
            { "name": "B", "status": "Hired", "steps": ["validated", "validated"] },
        ],
    });
    race_on_roles(
        &role,
        |organization, number| {
            let fewer = organization.lane("PATCH", &organization.role(number)).with_body(&json!({ "positions": 1 }));
            [organization.hire(number, 0), fewer]
        },
        |organization, number, answers| {
            let shown = organization.read(number);
            let seats = (shown["positions"].as_i64().unwrap(), shown["hired"].as_i64().unwrap());
            assert_eq!(shown["status"], "filled");
            match (answers[0].status, answers[1].status) {
                (200, 409) => {
                    assert_eq!(seats, (2, 2));
                    true
                }
                (400, 200) => {
                    assert_eq!(seats, (1, 1));
                    false
                }
                other => panic!("{other:?}"),
            }
        },
    );
}

fn a_hire_and_a_concurrent_closing_of_the_role_happen_in_sequence() {
    let role = json!({
        "name": "Role", "status": "open", "positions": 2, "steps": steps(2),
        "candidates": [{ "name": "A", "status": "In Progress", "steps": ["in_progress", "pending"] }],
    });
    race_on_roles(
        &role,
        |organization, number| {
            let close = organization.lane("POST", &format!("{}/close", organization.role(number)));
            [organization.hire(number, 0), close.with_body(&json!({ "reason": "r" }))]
        },
        |organization, number, answers| {
            assert_eq!(answers[1].status, 200);
            let shown = organization.read(number);
            assert_eq!(shown["status"], "closed");
            assert_eq!(shown["hired"] == 1, answers[0].status == 200);
            assert!(matches!(answers[0].status, 200 | 400));
            answers[0].status == 200
        },
    );
}

fn an_opening_and_a_concurrent_deletion_of_a_draft_exclude_each_other() {
    race_on_roles(
        &draft(1),
        |organization, number| {
            let path = organization.role(number);
            [organization.lane("POST", &format!("{path}/open")), organization.lane("DELETE", &path)]
        },
        |organization, number, answers| match (answers[0].status, answers[1].status) {
            (200, 409) => {
                assert_eq!(organization.read(number)["status"], "open");
                true
            }
            (404, 200) => {
                organization.client.get(&organization.role(number)).expect(404);
                false
            }
            other => panic!("{other:?}"),
        },
    );
}

fn a_reordering_during_a_removal_applies_to_all_steps_or_none() {
    race_on_roles(
        &draft(3),
        |organization, number| {
            let (path, mut order) = (format!("{}/steps", organization.role(number)), organization.steps(number));
            let remove = organization.lane("DELETE", &format!("{path}/{}", order[1]));
            order.reverse();
            [organization.lane("PUT", &format!("{path}/order")).with_body(&json!({ "stepIds": order })), remove]
        },
        |organization, number, answers| {
            assert_eq!((answers[1].status, organization.steps(number).len()), (200, 2));
            let is_reversed = organization.steps(number)[0] == organization.id("step_2", number);
            assert_eq!(answers[0].status, if is_reversed { 200 } else { 400 });
            is_reversed
        },
    );
}

fn a_reordering_during_an_addition_applies_to_all_steps_or_none() {
    race_on_roles(
        &draft(3),
        |organization, number| {
            let (path, mut order) = (format!("{}/steps", organization.role(number)), organization.steps(number));
            let add = organization.lane("POST", &path).with_body(&json!({ "name": "New" }));
            order.reverse();
            [organization.lane("PUT", &format!("{path}/order")).with_body(&json!({ "stepIds": order })), add]
        },
        |organization, number, answers| {
            assert_eq!((answers[1].status, organization.steps(number).len()), (200, 4));
            let is_reversed = organization.steps(number)[0] == organization.id("step_2", number);
            assert_eq!(answers[0].status, if is_reversed { 200 } else { 400 });
            is_reversed
        },
    );
}

//! `POST /api/v1/candidate-steps/{id}/undo`: the person who made the last decision undoes it, and the decision leaves
//! no trace on the status page.

use serde_json::{Value, json};

use crate::support::hiring::set_steps;
use crate::support::race::{assert_sound, connected_clients, count, run_together, statuses};
use crate::support::stored_signup::new_status_link;
use crate::support::{App, Client, Hiring};

crate::tests![
    an_undo_restores_the_exact_state,
    an_undone_decision_never_shows_on_the_status_page,
    an_undone_rejection_leaves_no_trace_even_if_it_was_shown,
    a_decision_on_a_held_or_erased_candidate_is_not_undone,
    an_undo_is_possible_for_less_than_10_minutes,
    a_decision_by_another_person_is_not_undone,
    the_refusal_names_the_person_who_has_acted_since,
    a_withdrawal_by_the_candidate_prevents_the_undo,
    hires_reversals_reopenings_and_withdrawals_are_not_undone,
    a_decision_can_be_undone_only_once,
    an_undo_with_another_api_key_of_the_same_person_succeeds,
    the_activity_of_an_undo_holds_the_undone_decision,
    an_undo_repeated_with_an_idempotency_key_acts_once,
    a_dry_run_changes_nothing,
    a_demoted_person_cannot_undo,
    steps_of_other_organizations_are_not_found,
    an_application_can_be_decided_again_after_an_undo,
    eight_concurrent_undos_undo_one_decision,
];

const UNDO_SECONDS: u64 = 600;

struct Fixture {
    app: App,
    hiring: Hiring,
    staff: Client,
    page: String,
}

impl Fixture {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let staff = app.user(&hiring.staff("hr_representative"));
        let page = new_status_link(&app, &hiring, 0);
        Self { app, hiring, staff, page }
    }

    fn decide(&self, step: usize, decision: &str) {
        let body = json!({ "outcomeNotes": "Quixworth", "reason": "Quixworth" });
        self.staff.post(&self.hiring.decision(0, step, decision), &body).expect(200);
    }

    fn undo(&self) -> Value {
        self.staff.post_empty(&self.path()).expect(200).json()
    }

    /// Returns the path of an undo, which can name any step of the application.
    fn path(&self) -> String {
        self.hiring.decision(0, 0, "undo")
    }

    /// Returns the status page in two languages and the download of the candidate's data, each with its header fields
    /// except the request id and the date. The path of the page is replaced, because the path is random.
    fn public(&self) -> Vec<(Vec<(String, String)>, String)> {
        let paths = [self.page.clone(), format!("{}?lang=de", self.page), format!("{}/data", self.page)];
        let answer = |path: &String| {
            let answer = self.app.anonymous().get(path).expect(200);
            let is_stable = |(name, _): &&(String, String)| name != "x-request-id" && name != "date";
            let text = answer.text().replace(&self.page, "/status/…");
            (answer.headers.iter().filter(is_stable).cloned().collect(), text)
        };
        paths.iter().map(answer).collect()
    }
}

/// The decisions that can be undone, with the step that the path names and the recorded action.
const DECISIONS: [(&str, usize, &str); 4] = [
    ("validate", 1, "candidate_step.validated"),
    ("move", 3, "candidate_step.moved"),
    ("move", 0, "candidate_step.moved"),
    ("reject", 1, "candidate_step.rejected"),
];

/// Returns the rows of applications, steps, roles and counts, without the times of their last changes.
fn state(app: &App) -> Vec<String> {
    let applications =
        "SELECT id, status, at_role_step_id, at_since, hired_date, hire_notes FROM candidate_roles ORDER BY id";
    let queries = [
        "SELECT * FROM candidate_role_steps ORDER BY id",
        applications,
        "SELECT id, status, hired FROM roles ORDER BY id",
        "SELECT * FROM organization_statuses ORDER BY organization_id",
    ];
    queries.into_iter().flat_map(|sql| app.sql(sql)).collect()
}

fn an_undo_restores_the_exact_state() {
    for (decision, step, action) in DECISIONS {
        let fixture = Fixture::new();
        let before = state(&fixture.app);
        fixture.app.pass(60);
        fixture.decide(step, decision);
        assert_ne!(state(&fixture.app), before);
        fixture.app.pass(60);
        let answer = fixture.undo();
        assert_eq!((&answer["success"], &answer["undone"]), (&json!(true), &json!(action)));
        assert_eq!(answer["step"]["id"], json!(fixture.hiring.candidates[0].steps[step]));
        let status = ["validated", "in_progress", "pending", "pending"][step];
        assert_eq!((&answer["step"]["status"], answer.get("dryRun")), (&json!(status), None));
        assert_eq!(answer["step"].get("rejectedAt"), None);
        assert_eq!(state(&fixture.app), before, "{decision}");
        assert_eq!(fixture.app.check(), Vec::<String>::new());
    }
}

/// Compares the status page, at several times, with that of a service in which nobody made a decision. By default, a
/// rejection becomes visible on the page after 72 hours.
fn an_undone_decision_never_shows_on_the_status_page() {
    for (decision, step, _) in DECISIONS {
        let (fixture, plain) = (Fixture::new(), Fixture::new());
        let assert_same = |when: &str| assert_eq!(fixture.public(), plain.public(), "{decision} {when}");
        let pass = |seconds: u64| {
            fixture.app.pass(seconds);
            plain.app.pass(seconds);
        };
        assert_same("before");
        fixture.decide(step, decision);
        assert_same("at the decision");
        pass(UNDO_SECONDS - 1);
        assert_same("in the last second for an undo");
        fixture.undo();
        assert_same("at the undo");
        for seconds in [1, 1, UNDO_SECONDS, 72 * 3_600, 72 * 3_600] {
            pass(seconds);
            assert_same("after the undo");
        }
    }
}

fn an_undone_rejection_leaves_no_trace_even_if_it_was_shown() {
    for delay in ["0", "NULL"] {
        let (fixture, plain) = (Fixture::new(), Fixture::new());
        for fixture in [&fixture, &plain] {
            fixture.app.change(&format!("UPDATE organizations SET decision_visible_after_hours = {delay}"));
        }
        fixture.decide(1, "reject");
        assert_eq!(fixture.public() != plain.public(), delay == "0");
        fixture.app.pass(UNDO_SECONDS - 1);
        plain.app.pass(UNDO_SECONDS - 1);
        fixture.undo();
        for seconds in [0, UNDO_SECONDS, 80 * 3_600] {
            fixture.app.pass(seconds);
            plain.app.pass(seconds);
            assert_eq!(fixture.public(), plain.public());
        }
    }
}

fn a_decision_on_a_held_or_erased_candidate_is_not_undone() {
    let fixture = Fixture::new();
    fixture.decide(1, "reject");
    let candidate = fixture.hiring.candidate_path(0);
    let owner = fixture.app.user_with_all(&fixture.hiring.staff("owner"));
    let refused = |words: &str| {
        let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    };
    owner.send("PUT", &format!("{candidate}/hold"), &[], br#"{ "reason": "Lawsuit" }"#).expect(200);
    refused("under a legal hold");
    owner.send("DELETE", &format!("{candidate}/hold"), &[], b"").expect(200);
    fixture.undo();
    fixture.decide(1, "reject");
    owner.send("DELETE", &candidate, &[], b"").expect(200);
    refused("erased");
}

fn an_undo_is_possible_for_less_than_10_minutes() {
    for (decision, step, instead) in [("reject", 1, "POST …/reopen"), ("validate", 1, "POST …/move")] {
        let fixture = Fixture::new();
        fixture.decide(step, decision);
        fixture.app.pass(UNDO_SECONDS - 1);
        fixture.undo();
        fixture.decide(step, decision);
        let before = state(&fixture.app);
        fixture.app.pass(UNDO_SECONDS);
        let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().ends_with(instead), "{problem}");
        assert_eq!(state(&fixture.app), before);
    }
}

fn a_decision_by_another_person_is_not_undone() {
    let fixture = Fixture::new();
    let other = fixture.app.user(&fixture.hiring.staff("owner"));
    let nothing = other.post_empty(&fixture.path()).refused(409, "conflict").json();
    assert!(nothing["detail"].as_str().unwrap().starts_with("nobody has made a decision"), "{nothing}");
    fixture.decide(1, "reject");
    for client in [&other, &fixture.app.admin()] {
        let problem = client.post_empty(&fixture.path()).refused(403, "forbidden").json();
        assert!(problem["detail"].as_str().unwrap().starts_with("only the person who made"), "{problem}");
    }
    fixture.app.user(&fixture.hiring.staff("member")).post_empty(&fixture.path()).refused(403, "forbidden");
    fixture.undo();
}

fn the_refusal_names_the_person_who_has_acted_since() {
    let fixture = Fixture::new();
    let owner = fixture.app.user(&fixture.hiring.staff("owner"));
    fixture.decide(1, "validate");
    fixture.app.pass(60);
    owner.post_empty(&fixture.hiring.decision(0, 2, "reject")).expect(200);
    let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail
            .starts_with("The owner rejected the candidate at 2026-11-21T09:01:00.000000Z, so you can no longer undo"),
        "{detail}"
    );
    // The owner can undo the later decision. The earlier decision still cannot be undone.
    owner.post_empty(&fixture.path()).expect(200);
    let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().starts_with("The owner undid a decision at"), "{problem}");
    assert_eq!(fixture.hiring.step_statuses(&fixture.app, 0), ["validated", "validated", "in_progress", "pending"]);
}

fn a_withdrawal_by_the_candidate_prevents_the_undo() {
    for decision in ["reject", "validate"] {
        let fixture = Fixture::new();
        fixture.decide(1, decision);
        fixture.app.anonymous().post_empty(&format!("{}/withdraw", fixture.page)).expect(303);
        let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("the candidate withdrew the application at 2026-11-21T09:00:00"), "{detail}");
    }
}

fn hires_reversals_reopenings_and_withdrawals_are_not_undone() {
    let fixture = Fixture::new();
    let refused = |words: &str| {
        let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    };
    fixture.decide(3, "hire");
    refused("a hire cannot be undone");
    fixture.decide(3, "reject");
    refused("the reversal of a hire is final");
    fixture.decide(3, "reopen");
    refused("a reopening cannot be undone");
    let path = format!("/api/v1/candidate-roles/{}/withdraw", fixture.hiring.candidates[0].application_id);
    fixture.staff.post_empty(&path).expect(200);
    refused("a withdrawal cannot be undone");
}

fn a_decision_can_be_undone_only_once() {
    let fixture = Fixture::new();
    fixture.decide(1, "validate");
    fixture.decide(2, "reject");
    fixture.undo();
    let problem = fixture.staff.post_empty(&fixture.path()).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "your last decision has already been undone");
    assert_eq!(fixture.hiring.step_statuses(&fixture.app, 0), ["validated", "validated", "in_progress", "pending"]);
}

fn an_undo_with_another_api_key_of_the_same_person_succeeds() {
    let fixture = Fixture::new();
    fixture.decide(1, "reject");
    fixture.app.user(&fixture.hiring.staff("hr_representative")).post_empty(&fixture.path()).expect(200);
}

fn the_activity_of_an_undo_holds_the_undone_decision() {
    let fixture = Fixture::new();
    fixture.decide(1, "reject");
    fixture.undo();
    let path = format!("{}/activity", fixture.hiring.candidate_path(0));
    let reader = fixture.app.user_with_all(&fixture.hiring.staff("owner"));
    let rows = reader.get(&path).expect(200).json()["data"].take();
    let [undone, rejected] = [&rows[0], &rows[1]];
    assert_eq!(
        (&undone["action"], &rejected["action"]),
        (&json!("candidate_step.undone"), &json!("candidate_step.rejected"))
    );
    assert_eq!(undone["candidateStepId"], rejected["candidateStepId"]);
    assert_eq!(undone["user"]["id"], json!(fixture.hiring.staff("hr_representative")));
    assert_eq!(undone["before"], rejected["after"]);
    let mut after = undone["after"].clone();
    assert_eq!(after.as_object_mut().unwrap().remove("undone"), Some(json!("candidate_step.rejected")));
    assert_eq!(after, rejected["before"]);
}

fn an_undo_repeated_with_an_idempotency_key_acts_once() {
    let fixture = Fixture::new();
    fixture.decide(1, "reject");
    let key = [("Idempotency-Key", "undo-1")];
    let first = fixture.staff.send("POST", &fixture.path(), &key, b"").expect(200);
    let again = fixture.staff.send("POST", &fixture.path(), &key, b"").expect(200);
    assert_eq!(first.text(), again.text());
    assert_eq!(fixture.app.sql("SELECT count(*) FROM activities WHERE action = 'candidate_step.undone'"), ["1"]);
    fixture.app.change("UPDATE idempotency_keys SET answer = NULL, made_id = NULL WHERE candidate_id IS NOT NULL");
    fixture.staff.send("POST", &fixture.path(), &key, b"").refused(410, "gone");
}

fn a_dry_run_changes_nothing() {
    let fixture = Fixture::new();
    fixture.decide(1, "reject");
    let before = state(&fixture.app);
    let mut dry_run = fixture.staff.post_empty(&format!("{}?dryRun=true", fixture.path())).expect(200).json();
    assert_eq!(state(&fixture.app), before);
    assert_eq!(dry_run.as_object_mut().unwrap().remove("dryRun"), Some(json!(true)));
    assert_eq!(dry_run, fixture.undo());
    fixture.staff.post_empty(&format!("{}?dryRun=true", fixture.path())).refused(409, "conflict");
}

fn a_demoted_person_cannot_undo() {
    let fixture = Fixture::new();
    fixture.decide(1, "reject");
    let user = fixture.hiring.staff("hr_representative");
    fixture.app.change(&format!("UPDATE memberships SET org_role = 'member' WHERE user_id = '{user}'"));
    fixture.staff.post_empty(&fixture.path()).refused(403, "forbidden");
    fixture.app.change(&format!("DELETE FROM memberships WHERE user_id = '{user}'"));
    fixture.staff.post_empty(&fixture.path()).refused(404, "not_found");
}

fn steps_of_other_organizations_are_not_found() {
    let fixture = Fixture::new();
    let other = fixture.app.hiring();
    fixture.app.user(&other.staff("owner")).post_empty(&other.reject(0)).expect(200);
    let unknown = fixture.staff.post_empty("/api/v1/candidate-steps/cstep_none/undo").refused(404, "not_found");
    let foreign = fixture.staff.post_empty(&other.decision(0, 1, "undo")).refused(404, "not_found");
    let body = |text: String| {
        let mut body: Value = serde_json::from_str(&text).unwrap();
        body["requestId"].take();
        body
    };
    assert_eq!(body(foreign.text()), body(unknown.text()));
    assert_eq!(other.step_statuses(&fixture.app, 0)[1], "rejected");
}

fn an_application_can_be_decided_again_after_an_undo() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Withdrawn", &["validated", "in_progress", "pending", "pending"]);
    });
    let staff = app.user(&hiring.staff("owner"));
    let before = state(&app);
    for _ in 0..3 {
        staff.post_empty(&hiring.reject(0)).expect(200);
        staff.post_empty(&hiring.decision(0, 3, "undo")).expect(200);
        assert_eq!(state(&app), before);
    }
    staff.post_empty(&hiring.reject(1)).expect(200);
    staff.post_empty(&hiring.decision(1, 1, "undo")).expect(200);
    staff.post_empty(&hiring.reject(1)).expect(200);
    staff.post(&hiring.decision(1, 1, "reopen"), &json!({ "reason": "a mistake" })).expect(200);
    staff.post_empty(&hiring.hire(1)).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn eight_concurrent_undos_undo_one_decision() {
    let fixture = Fixture::new();
    let (_, key) = fixture.app.make_key(&fixture.hiring.staff("hr_representative"));
    let mut clients = connected_clients(&fixture.app, 8);
    let undo = crate::support::race::Lane::new("POST", &fixture.path(), &key);
    for round in 0..10 {
        fixture.decide(1, if round % 2 == 0 { "reject" } else { "validate" });
        let answers = run_together(&mut clients, |_, client| undo.send(client));
        assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 7), "round {round}: {:?}", statuses(&answers));
        assert_eq!(fixture.hiring.step_statuses(&fixture.app, 0), ["validated", "in_progress", "pending", "pending"]);
    }
    assert_sound(&fixture.app);
}

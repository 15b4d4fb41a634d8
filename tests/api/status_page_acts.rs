//! `POST /status/{token}/withdraw`, `…/delete` and `GET …/data`: the acts and the download that a status link allows.

use std::time::Duration;

use appliance::world::World as _;
use serde_json::json;

use crate::support::stored_signup::{CV, add_candidate, insert_signup, new_status_link, row_counts};
use crate::support::{App, Client, Hiring};

crate::tests![
    an_application_can_be_withdrawn_repeatedly,
    a_hidden_decision_stays_and_the_page_shows_the_withdrawal,
    a_decision_after_a_withdrawal_is_not_shown,
    a_visibly_ended_application_cannot_be_withdrawn,
    the_download_has_the_signup_and_names_its_attachments,
    the_download_without_a_signup_has_the_name_and_address,
    deleting_the_only_application_erases_the_candidate,
    a_deletion_does_not_remove_other_applications_of_the_candidate,
    a_deletion_with_other_applications_does_not_change_the_decision,
    a_deletion_during_a_hidden_hire_looks_like_any_other_and_is_delayed,
    a_delayed_deletion_is_carried_out_when_the_hire_is_reversed,
    a_delayed_deletion_waits_while_the_clock_is_ahead,
    a_deletion_during_a_hidden_hire_of_another_application_is_delayed,
    a_delayed_deletion_does_not_remove_later_applications,
    a_requested_deletion_does_not_wait_for_delayed_deletions,
    a_deletion_under_a_legal_hold_shows_a_notice_and_is_recorded,
    a_later_signup_is_withdrawn_and_deleted_on_its_own,
    a_deletion_removes_stored_responses,
    a_new_link_of_a_deleted_signup_shows_nothing_that_was_typed,
];

const EMAIL: &str = "quixworth@example.org";

struct Fixture {
    app: App,
    hiring: Hiring,
    owner: Client,
    /// The id of an application with a signup. `path` is the path of its status page.
    application: String,
    path: String,
}

impl Fixture {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let owner = app.user_with_all(&hiring.staff("owner"));
        let application = add_candidate(&app, &hiring, EMAIL);
        let path = insert_signup(&app, &hiring, Some(&application), EMAIL, "the-link");
        Self { app, hiring, owner, application, path }
    }

    fn page(&self) -> String {
        self.app.anonymous().get(&self.path).expect(200).text()
    }

    fn act(&self, act: &str) -> crate::support::Answer {
        self.app.anonymous().post_empty(&format!("{}/{act}", self.path))
    }

    fn decide(&self, decision: &str) {
        let sql = format!(
            "SELECT id FROM candidate_role_steps WHERE candidate_role_id = '{}' ORDER BY step_order",
            self.application
        );
        let step = self.app.sql(&sql).remove(0);
        let body = json!({ "reason": "a mistake" });
        self.owner.post(&format!("/api/v1/candidate-steps/{step}/{decision}"), &body).expect(200);
    }

    fn status(&self) -> String {
        self.app.sql(&format!("SELECT status FROM candidate_roles WHERE id = '{}'", self.application)).remove(0)
    }

    /// Creates and opens another role, and adds an application of the candidate to it.
    fn apply_elsewhere(&self) {
        let role = json!({ "name": "Other", "steps": [{ "name": "Call" }] });
        let role = self.owner.post(&self.hiring.roles(), &role).expect(200).json()["data"]["id"].take();
        let role = role.as_str().unwrap();
        self.owner.post_empty(&format!("/api/v1/roles/{role}/open")).expect(200);
        let body = json!({ "name": "Ada", "email": EMAIL, "roleId": role });
        self.owner.post(&self.hiring.candidates_path(), &body).expect(200);
    }

    fn candidate_id(&self) -> String {
        self.app.sql(&format!("SELECT candidate_id FROM candidate_roles WHERE id = '{}'", self.application)).remove(0)
    }

    fn last_actions(&self, count: usize) -> Vec<String> {
        self.app.sql(&format!(
            "SELECT action FROM (SELECT action, number FROM activities ORDER BY number DESC LIMIT {count}) AS newest ORDER BY number"
        ))
    }

    /// Returns whether a row about candidates or a stored response still contains this text.
    fn contains_text(&self, word: &str) -> bool {
        let tables = ["candidates", "candidate_words", "signups", "documents", "activities", "idempotency_keys"];
        let all = tables.iter().flat_map(|table| self.app.sql(&format!("SELECT * FROM {table}")));
        all.into_iter().any(|row| row.to_lowercase().contains(&word.to_lowercase()))
    }

    fn assert_sound(&self) {
        assert_eq!(self.app.check(), Vec::<String>::new());
    }
}

fn an_application_can_be_withdrawn_repeatedly() {
    let fixture = Fixture::new();
    for _ in 0..2 {
        let answer = fixture.act("withdraw").expect(303);
        assert_eq!(answer.header("location"), Some(fixture.path.as_str()));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        fixture.app.pass(60);
    }
    let page = fixture.page();
    assert!(page.contains("<h2>The application was withdrawn</h2>") && !page.contains("/withdraw\""), "{page}");
    assert!(page.contains("<li class=\"ended\">Application <span class=\"state\">Ended here</span></li>"), "{page}");
    assert!(!page.contains("Still to come"), "{page}");
    assert_eq!(fixture.status(), "Withdrawn");
    let row = fixture.app.sql("SELECT user_id, detail FROM activities WHERE action = 'candidate_role.withdrawn'");
    assert_eq!(row, [r#"null|{"before":{"application":"In Progress"},"after":{"application":"Withdrawn"}}"#]);
    assert_eq!(fixture.app.sql("SELECT withdrawn FROM organization_statuses"), ["1"]);
    let data = fixture.app.anonymous().get(&format!("{}/data", fixture.path)).expect(200).json();
    assert_eq!((&data["status"], &data["withdrawnAt"]), (&json!("Withdrawn"), &json!("2026-11-21T09:00:00.000000Z")));
    fixture.assert_sound();
}

fn a_hidden_decision_stays_and_the_page_shows_the_withdrawal() {
    let [decided, other] = [Fixture::new(), Fixture::new()];
    decided.decide("reject");
    for fixture in [&decided, &other] {
        fixture.act("withdraw").expect(303);
    }
    let without_port = |fixture: &Fixture| fixture.page().replace(&fixture.app.address.to_string(), "");
    assert_eq!(without_port(&decided), without_port(&other));
    assert_eq!((decided.status(), other.status()), ("Not Selected".to_owned(), "Withdrawn".to_owned()));
    assert_eq!(decided.last_actions(2), ["candidate_step.rejected", "candidate_role.withdrawn"]);
    let read = decided.owner.get(&format!("/api/v1/candidates/{}", decided.candidate_id())).expect(200).json();
    let application = &read["data"]["applications"][0];
    assert_eq!(application["status"], "Not Selected");
    assert_eq!(application["signup"]["withdrewAt"], "2026-11-21T09:00:00.000000Z");
    // The page still hides the decision after the organization's delay.
    decided.app.pass(100 * 3_600);
    assert_eq!(without_port(&decided), without_port(&other));
    decided.assert_sound();
}

fn a_decision_after_a_withdrawal_is_not_shown() {
    let fixture = Fixture::new();
    fixture.act("withdraw").expect(303);
    let page = fixture.page();
    fixture.app.pass(60);
    fixture.decide("reject");
    fixture.app.pass(100 * 3_600);
    assert_eq!(fixture.page(), page);
}

fn a_visibly_ended_application_cannot_be_withdrawn() {
    let fixture = Fixture::new();
    fixture.decide("reject");
    fixture.app.pass(72 * 3_600);
    let page = fixture.page();
    fixture.act("withdraw").expect(303);
    assert_eq!(fixture.page(), page);
    assert!(page.contains("You were not selected this time"));
    assert_eq!(fixture.app.sql("SELECT withdrawn_at FROM status_pages"), ["null"]);
    assert_eq!(fixture.last_actions(1), ["candidate_step.rejected"]);
}

fn the_download_has_the_signup_and_names_its_attachments() {
    let fixture = Fixture::new();
    let answer = fixture.app.anonymous().get(&format!("{}/data", fixture.path)).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"application.json\""));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-robots-tag"), Some("noindex, nofollow"));
    let at = "2026-11-21T09:00:00.000000Z";
    let expected = json!({
        "exportedAt": at,
        "organization": "Acme 1",
        "role": "Engineer",
        "status": "In Progress",
        "appliedAt": at,
        "withdrawnAt": null,
        "steps": [
            { "name": "Application", "stage": "current" },
            { "name": "Call", "stage": "upcoming" },
            { "name": "Interview", "stage": "upcoming" },
            { "name": "Offer", "stage": "upcoming" },
        ],
        "candidate": null,
        "sent": {
            "name": "Ada <b>Typed</b>", "email": EMAIL, "phone": "+44 20 7946", "links": ["https://ada.example"],
            "note": "First line\nSecond line", "locale": "en", "consentedAt": at,
            "documents": [{
                "id": "doc_the-link", "fileName": "My CV.pdf", "mediaType": "application/pdf", "bytes": CV.len(),
                "createdAt": at, "path": "/status/the-link/documents/doc_the-link",
            }],
        },
    });
    assert_eq!(answer.json(), expected);
}

fn the_download_without_a_signup_has_the_name_and_address() {
    let app = App::start();
    let hiring = app.hiring();
    let data = app.anonymous().get(&format!("{}/data", new_status_link(&app, &hiring, 0))).expect(200).json();
    assert_eq!(data["candidate"], json!({ "name": "Candidate 1", "email": "candidate-1@people-1.example" }));
    assert_eq!(data["sent"], json!(null));
}

fn deleting_the_only_application_erases_the_candidate() {
    let fixture = Fixture::new();
    assert_eq!(row_counts(&fixture.app), "1|1|2|1");
    let answer = fixture.act("delete").expect(200);
    assert!(answer.text().contains("<h1>Your data has been deleted</h1>"), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(row_counts(&fixture.app), "0|0|0|0");
    assert_eq!(fixture.status(), "Withdrawn");
    assert_eq!(fixture.last_actions(2), ["candidate_role.withdrawn", "candidate.erased"]);
    assert!(
        !fixture.contains_text("quixworth")
            && !fixture.contains_text("Ada Original")
            && !fixture.contains_text("Typed")
    );
    fixture.app.anonymous().get(&fixture.path).expect(404);
    fixture.act("delete").expect(404);
    fixture.assert_sound();
}

fn a_deletion_does_not_remove_other_applications_of_the_candidate() {
    let fixture = Fixture::new();
    fixture.apply_elsewhere();
    fixture.act("delete").expect(200);
    assert_eq!(row_counts(&fixture.app), "0|0|0|0");
    assert_eq!(fixture.status(), "Withdrawn");
    assert_eq!(fixture.last_actions(2), ["candidate_role.withdrawn", "candidate_role.signup_deleted"]);
    let read = fixture.owner.get(&format!("/api/v1/candidates/{}", fixture.candidate_id())).expect(200).json();
    assert_eq!((&read["data"]["name"], &read["data"]["erased"]), (&json!("Ada Original"), &json!(false)));
    let applications = read["data"]["applications"].as_array().unwrap();
    let mut shown: Vec<_> = applications.iter().map(|one| (one["status"].as_str().unwrap(), &one["signup"])).collect();
    shown.sort_by_key(|(status, _)| *status);
    assert_eq!(shown, [("In Progress", &json!(null)), ("Withdrawn", &json!(null))]);
    assert!(!fixture.contains_text("Typed"));
    fixture.assert_sound();
}

fn a_deletion_with_other_applications_does_not_change_the_decision() {
    let fixture = Fixture::new();
    fixture.apply_elsewhere();
    fixture.decide("reject");
    fixture.act("delete").expect(200);
    assert_eq!(fixture.status(), "Not Selected");
    assert_eq!(row_counts(&fixture.app), "0|0|0|0");
    fixture.assert_sound();
}

fn a_deletion_under_a_legal_hold_shows_a_notice_and_is_recorded() {
    let fixture = Fixture::new();
    let candidate = fixture.candidate_id();
    let hold = format!("/api/v1/candidates/{candidate}/hold");
    fixture.owner.put(&hold, &json!({ "reason": "Quixworth against Acme" })).expect(200);
    assert!(!fixture.page().contains("cannot be deleted yet"));
    for _ in 0..2 {
        let answer = fixture.act("delete").expect(303);
        assert_eq!(answer.header("location"), Some(format!("{}#held", fixture.path).as_str()));
    }
    let page = fixture.page();
    assert!(page.contains("id=\"held\"") && page.contains("You asked for this on 21 November 2026"), "{page}");
    assert!(!page.contains("against Acme"), "{page}");
    let asked = "SELECT candidate_id, user_id FROM activities WHERE action = 'candidate.erasure_asked'";
    assert_eq!(fixture.app.sql(asked), [format!("{candidate}|null")]);
    assert_eq!(row_counts(&fixture.app), "1|1|2|1");
    fixture.owner.delete(&hold).expect(200);
    assert!(!fixture.page().contains("cannot be deleted yet"));
    fixture.act("delete").expect(200);
    assert_eq!(row_counts(&fixture.app), "0|0|0|0");
    fixture.assert_sound();
}

fn a_later_signup_is_withdrawn_and_deleted_on_its_own() {
    let fixture = Fixture::new();
    let later = insert_signup(&fixture.app, &fixture.hiring, None, EMAIL, "shadow");
    let before = fixture.app.sql("SELECT count(*) FROM activities");
    fixture.app.anonymous().post_empty(&format!("{later}/withdraw")).expect(303);
    assert!(fixture.app.anonymous().get(&later).expect(200).text().contains("The application was withdrawn"));
    assert_eq!(fixture.status(), "In Progress");
    fixture.app.anonymous().post_empty(&format!("{later}/delete")).expect(200);
    assert_eq!(row_counts(&fixture.app), "1|1|2|1");
    assert_eq!(fixture.app.sql("SELECT count(*) FROM activities"), before);
    assert!(fixture.page().contains("Your application is in progress"));
    fixture.assert_sound();
}

fn a_deletion_removes_stored_responses() {
    let fixture = Fixture::new();
    fixture.apply_elsewhere();
    let path = format!("/api/v1/candidate-roles/{}/withdraw", fixture.application);
    let client = fixture.owner.with_header("Idempotency-Key", "k-1");
    assert!(client.post_empty(&path).expect(200).text().contains("Typed"));
    fixture.act("delete").expect(200);
    assert!(!fixture.contains_text("Typed"));
    client.post_empty(&path).refused(410, "gone");
}

fn a_new_link_of_a_deleted_signup_shows_nothing_that_was_typed() {
    let fixture = Fixture::new();
    fixture.apply_elsewhere();
    fixture.act("delete").expect(200);
    let path = format!("/api/v1/candidate-roles/{}/status-link", fixture.application);
    let answer = fixture.owner.post_empty(&path).expect(200).json();
    let page = fixture.app.anonymous().get(&crate::support::stored_signup::status_link_in(&answer)).expect(200).text();
    assert!(page.contains("The application was withdrawn") && !page.contains("Typed"), "{page}");
}

const ERASED: &str = "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL";

/// The status, header fields and body of an answer, without the fields that differ in each answer.
type Seen = (u16, Vec<(String, String)>, String);

/// Returns the answers to requests through the link, before, during and after a deletion.
fn answers(fixture: &Fixture) -> Vec<Seen> {
    let shown = |answer: crate::support::Answer| {
        let changing = ["date", "x-request-id"];
        let headers = answer.headers.iter().filter(|(name, _)| !changing.contains(&name.as_str())).cloned();
        (answer.status, headers.collect(), answer.text())
    };
    let get = |path: &str| shown(fixture.app.anonymous().get(&format!("{}{path}", fixture.path)));
    vec![
        get(""),
        shown(fixture.act("delete")),
        get(""),
        get("/data"),
        shown(fixture.act("delete")),
        shown(fixture.act("withdraw")),
    ]
}

fn a_deletion_during_a_hidden_hire_looks_like_any_other_and_is_delayed() {
    let (plain, fixture) = (Fixture::new(), Fixture::new());
    fixture.decide("hire");
    assert_eq!(answers(&fixture), answers(&plain));
    assert_eq!(plain.app.sql(ERASED), ["1"]);
    // Staff still see the hired candidate with the whole signup, and see that the deletion was requested.
    assert_eq!((fixture.app.sql(ERASED), fixture.status()), (vec!["0".to_owned()], "Hired".to_owned()));
    assert_eq!(fixture.last_actions(1), ["candidate_role.deletion_asked"]);
    let read = fixture.owner.get(&format!("/api/v1/candidates/{}", fixture.candidate_id())).expect(200).json();
    assert_eq!(read["data"]["email"], EMAIL);
    assert!(!read["data"]["applications"][0]["signup"].is_null());
    fixture.assert_sound();
    // The background job runs every minute, but does not erase the candidate before the hire is visible.
    fixture.app.pass(72 * 3_600 - 1);
    let pending = fixture.app.sql("SELECT count(*) FROM erasures_asked");
    assert_eq!((pending, fixture.app.sql(ERASED)), (vec!["1".to_owned()], vec!["0".to_owned()]));
    fixture.app.pass(61);
    crate::attachment::wait_until(&fixture.app, ERASED, "1");
    assert_eq!((fixture.status(), fixture.last_actions(1)), ("Hired".to_owned(), vec!["candidate.erased".to_owned()]));
    assert_eq!(fixture.app.sql("SELECT count(*) FROM erasures_asked"), ["0"]);
    assert!(
        !fixture.contains_text("quixworth")
            && !fixture.contains_text("Ada Original")
            && !fixture.contains_text("Typed")
    );
    fixture.assert_sound();
}

fn a_delayed_deletion_is_carried_out_when_the_hire_is_reversed() {
    let fixture = Fixture::new();
    fixture.app.change("UPDATE organizations SET decision_visible_after_hours = NULL");
    fixture.decide("hire");
    fixture.act("delete").expect(200);
    fixture.app.pass(30 * 24 * 3_600);
    assert_eq!(fixture.app.sql(ERASED), ["0"]);
    fixture.decide("reject");
    fixture.app.pass(61);
    crate::attachment::wait_until(&fixture.app, ERASED, "1");
    assert_eq!(fixture.status(), "Not Selected");
    fixture.assert_sound();
}

fn a_delayed_deletion_waits_while_the_clock_is_ahead() {
    let fixture = Fixture::new();
    fixture.app.pass(3_601);
    fixture.decide("hire");
    fixture.act("delete").expect(200);
    let now = fixture.app.world.now();
    fixture.app.world.set(now.plus(Duration::from_secs(73 * 3_600)));
    // The background job removes this request to delete another candidate, who has no hire. The missing row shows that
    // the job has run.
    fixture.app.change(&format!(
        "INSERT INTO erasures_asked (candidate_number, candidate_role_id, asked_at)
         SELECT number, NULL, {} FROM candidates WHERE id <> '{}' LIMIT 1",
        i64::MAX,
        fixture.candidate_id()
    ));
    fixture.app.pass(61);
    crate::attachment::wait_until(&fixture.app, "SELECT count(*) FROM erasures_asked", "1");
    assert_eq!(fixture.app.sql(ERASED), ["0"], "the hire is visible only according to the wrong clock");
    fixture.app.world.set(now.plus(Duration::from_secs(61)));
    fixture.app.pass(72 * 3_600);
    crate::attachment::wait_until(&fixture.app, ERASED, "1");
    fixture.assert_sound();
}

fn a_deletion_during_a_hidden_hire_of_another_application_is_delayed() {
    let fixture = Fixture::new();
    fixture.apply_elsewhere();
    fixture.decide("hire");
    // The candidate is retained for the other application, so only the signup of the hired application is deleted
    // now.
    fixture.act("delete").expect(200);
    let other = "SELECT id FROM candidate_roles WHERE status = 'In Progress' AND candidate_id = ";
    let other = fixture.app.sql(&format!("{other}'{}'", fixture.candidate_id())).remove(0);
    let path = insert_signup(&fixture.app, &fixture.hiring, Some(&other), EMAIL, "other-link");
    fixture.app.anonymous().post_empty(&format!("{path}/delete")).expect(200);
    fixture.app.anonymous().get(&path).expect(404);
    assert_eq!(fixture.app.sql(ERASED), ["0"], "the hire is still hidden, although its application's page is gone");
    fixture.app.pass(73 * 3_600);
    crate::attachment::wait_until(&fixture.app, ERASED, "1");
    assert!(!fixture.contains_text("quixworth"));
    fixture.assert_sound();
}

fn a_delayed_deletion_does_not_remove_later_applications() {
    let fixture = Fixture::new();
    fixture.decide("hire");
    fixture.act("delete").expect(200);
    fixture.apply_elsewhere();
    fixture.app.pass(73 * 3_600);
    crate::attachment::wait_until(&fixture.app, "SELECT count(*) FROM erasures_asked", "0");
    assert_eq!((fixture.app.sql(ERASED), row_counts(&fixture.app)), (vec!["0".to_owned()], "0|0|0|0".to_owned()));
    assert_eq!(fixture.status(), "Hired");
    fixture.assert_sound();
}

/// More deletions than fit in one page of the scan are delayed indefinitely, and the first erasure after them fails.
/// The next requested deletion must still be carried out.
fn a_requested_deletion_does_not_wait_for_delayed_deletions() {
    let fixture = Fixture::new();
    fixture.app.change("UPDATE organizations SET decision_visible_after_hours = NULL");
    fixture.decide("hire");
    fixture.act("delete").expect(200);
    let hired = fixture.candidate_id();
    fixture.app.change(&format!(
        "CREATE TEMP TABLE copies AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1002)
           SELECT i, (SELECT max(number) FROM candidates) + i AS number FROM n;
         INSERT INTO candidates (number, id, organization_id, name, email, email_key, created_at, updated_at)
           SELECT k.number, 'copy_' || k.i, c.organization_id, 'Copy', '', 'copy' || k.i, 0, 0
           FROM copies k JOIN candidates c ON c.id = '{hired}';
         INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status, applied_at,
             updated_at, hired_date)
           SELECT 'copyapp_' || k.i, a.organization_id, 'copy_' || k.i, k.number, a.role_id, a.status, 0, 0, a.hired_date
           FROM copies k JOIN candidate_roles a ON a.candidate_id = '{hired}' AND k.i <= 1000;
         INSERT INTO activities (number, id, organization_id, at, action, role_id, candidate_id, candidate_role_id, detail,
             salt, detail_hash, hash)
           SELECT (SELECT max(number) FROM activities) + k.i, 'copyact_' || k.i, a.organization_id, a.at, a.action, a.role_id,
             'copy_' || k.i, 'copyapp_' || k.i, a.detail, a.salt, a.detail_hash, randomblob(32)
           FROM copies k JOIN activities a ON a.candidate_id = '{hired}' AND a.action = 'candidate_step.hired' AND k.i <= 1000
           ORDER BY k.i;
         INSERT INTO erasures_asked (candidate_number, candidate_role_id, asked_at) SELECT number, NULL, i FROM copies;"
    ));
    fixture.app.forbid_where("DELETE", "erasures_asked", "old.asked_at = 1001");
    fixture.app.pass(61);
    crate::attachment::wait_until(&fixture.app, ERASED, "1");
    assert_eq!(fixture.app.sql("SELECT id FROM candidates WHERE erased_at IS NOT NULL"), ["copy_1002"]);
    assert_eq!(fixture.app.sql("SELECT count(*) FROM erasures_asked"), ["1002"]);
}

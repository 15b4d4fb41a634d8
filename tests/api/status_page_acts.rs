//! `POST /status/{token}/withdraw`, `…/delete` and `GET …/data`: what whoever has the link can do.

use std::time::Duration;

use appliance::world::World as _;
use serde_json::json;

use crate::support::sent::{CV, added, link, rows, signed_up};
use crate::support::{App, Client, Hiring};

crate::tests![
    an_application_is_taken_back_and_again_is_fine,
    a_decision_that_does_not_show_stays_and_the_page_shows_the_withdrawal,
    what_is_decided_behind_a_withdrawal_is_not_shown,
    an_application_that_has_visibly_ended_is_not_taken_back,
    the_download_has_what_was_sent_and_names_its_documents,
    the_download_of_who_was_added_has_who_they_are,
    a_deletion_leaves_nothing_of_the_only_application,
    a_deletion_leaves_the_other_applications_of_the_candidate,
    a_deletion_beside_others_leaves_a_decision_as_it_is,
    a_deletion_before_a_hire_shows_is_answered_as_any_and_waits_for_it,
    a_deletion_before_a_hire_shows_is_carried_out_once_the_hire_is_reversed,
    a_deletion_before_a_hire_shows_waits_while_the_clock_is_ahead,
    a_deletion_beside_a_hidden_hire_of_another_application_waits_too,
    a_deletion_that_waits_keeps_what_others_have_sent_since,
    who_is_held_is_told_so_and_that_they_asked_is_on_record,
    a_signup_that_changed_nothing_is_taken_back_and_deleted_alone,
    a_deletion_forgets_the_answers_that_are_kept_for_repeats,
    a_deleted_application_gets_a_new_link_and_shows_nothing_that_was_typed,
];

const EMAIL: &str = "quixworth@example.org";

struct Place {
    app: App,
    hiring: Hiring,
    owner: Client,
    /// The id of an application that its candidate made, and the path of its page.
    application: String,
    path: String,
}

impl Place {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let owner = app.user_with_all(&hiring.staff("owner"));
        let application = added(&app, &hiring, EMAIL);
        let path = signed_up(&app, &hiring, Some(&application), EMAIL, "the-link");
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

    /// The candidate's other application, to a role of its own.
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
            "SELECT action FROM (SELECT action, number FROM activities ORDER BY number DESC LIMIT {count}) ORDER BY number"
        ))
    }

    /// Whether any row still has a word of it.
    fn has(&self, word: &str) -> bool {
        let tables = ["candidates", "candidate_words", "signups", "documents", "activities", "idempotency_keys"];
        let all = tables.iter().flat_map(|table| self.app.sql(&format!("SELECT * FROM {table}")));
        all.into_iter().any(|row| row.to_lowercase().contains(&word.to_lowercase()))
    }

    fn is_sound(&self) {
        assert_eq!(self.app.check(), Vec::<String>::new());
    }
}

fn an_application_is_taken_back_and_again_is_fine() {
    let place = Place::new();
    for _ in 0..2 {
        let answer = place.act("withdraw").expect(303);
        assert_eq!(answer.header("location"), Some(place.path.as_str()));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        place.app.pass(60);
    }
    let page = place.page();
    assert!(page.contains("<h2>The application was withdrawn</h2>") && !page.contains("/withdraw\""), "{page}");
    assert!(page.contains("<li class=\"ended\">Application <span class=\"state\">Ended here</span></li>"), "{page}");
    assert!(!page.contains("Still to come"), "{page}");
    assert_eq!(place.status(), "Withdrawn");
    let row = place.app.sql("SELECT user_id, detail FROM activities WHERE action = 'candidate_role.withdrawn'");
    assert_eq!(row, [r#"null|{"before":{"application":"In Progress"},"after":{"application":"Withdrawn"}}"#]);
    assert_eq!(place.app.sql("SELECT withdrawn FROM organization_statuses"), ["1"]);
    let data = place.app.anonymous().get(&format!("{}/data", place.path)).expect(200).json();
    assert_eq!((&data["status"], &data["withdrawnAt"]), (&json!("Withdrawn"), &json!("2026-11-21T09:00:00.000000Z")));
    place.is_sound();
}

fn a_decision_that_does_not_show_stays_and_the_page_shows_the_withdrawal() {
    let [decided, other] = [Place::new(), Place::new()];
    decided.decide("reject");
    for place in [&decided, &other] {
        place.act("withdraw").expect(303);
    }
    let without_port = |place: &Place| place.page().replace(&place.app.address.to_string(), "");
    assert_eq!(without_port(&decided), without_port(&other));
    assert_eq!((decided.status(), other.status()), ("Not Selected".to_owned(), "Withdrawn".to_owned()));
    assert_eq!(decided.last_actions(2), ["candidate_step.rejected", "candidate_role.withdrawn"]);
    let read = decided.owner.get(&format!("/api/v1/candidates/{}", decided.candidate_id())).expect(200).json();
    let application = &read["data"]["applications"][0];
    assert_eq!(application["status"], "Not Selected");
    assert_eq!(application["signup"]["withdrewAt"], "2026-11-21T09:00:00.000000Z");
    // Nor does it show when its hour comes.
    decided.app.pass(100 * 3_600);
    assert_eq!(without_port(&decided), without_port(&other));
    decided.is_sound();
}

fn what_is_decided_behind_a_withdrawal_is_not_shown() {
    let place = Place::new();
    place.act("withdraw").expect(303);
    let page = place.page();
    place.app.pass(60);
    place.decide("reject");
    place.app.pass(100 * 3_600);
    assert_eq!(place.page(), page);
}

fn an_application_that_has_visibly_ended_is_not_taken_back() {
    let place = Place::new();
    place.decide("reject");
    place.app.pass(72 * 3_600);
    let page = place.page();
    place.act("withdraw").expect(303);
    assert_eq!(place.page(), page);
    assert!(page.contains("You were not selected this time"));
    assert_eq!(place.app.sql("SELECT withdrawn_at FROM status_pages"), ["null"]);
    assert_eq!(place.last_actions(1), ["candidate_step.rejected"]);
}

fn the_download_has_what_was_sent_and_names_its_documents() {
    let place = Place::new();
    let answer = place.app.anonymous().get(&format!("{}/data", place.path)).expect(200);
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

fn the_download_of_who_was_added_has_who_they_are() {
    let app = App::start();
    let hiring = app.hiring();
    let data = app.anonymous().get(&format!("{}/data", link(&app, &hiring, 0))).expect(200).json();
    assert_eq!(data["candidate"], json!({ "name": "Candidate 1", "email": "candidate-1@people-1.example" }));
    assert_eq!(data["sent"], json!(null));
}

fn a_deletion_leaves_nothing_of_the_only_application() {
    let place = Place::new();
    assert_eq!(rows(&place.app), "1|1|2|1");
    let answer = place.act("delete").expect(200);
    assert!(answer.text().contains("<h1>Your data has been deleted</h1>"), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(rows(&place.app), "0|0|0|0");
    assert_eq!(place.status(), "Withdrawn");
    assert_eq!(place.last_actions(2), ["candidate_role.withdrawn", "candidate.erased"]);
    assert!(!place.has("quixworth") && !place.has("Ada Kept") && !place.has("Typed"));
    place.app.anonymous().get(&place.path).expect(404);
    place.act("delete").expect(404);
    place.is_sound();
}

fn a_deletion_leaves_the_other_applications_of_the_candidate() {
    let place = Place::new();
    place.apply_elsewhere();
    place.act("delete").expect(200);
    assert_eq!(rows(&place.app), "0|0|0|0");
    assert_eq!(place.status(), "Withdrawn");
    assert_eq!(place.last_actions(2), ["candidate_role.withdrawn", "candidate_role.signup_deleted"]);
    let read = place.owner.get(&format!("/api/v1/candidates/{}", place.candidate_id())).expect(200).json();
    assert_eq!((&read["data"]["name"], &read["data"]["erased"]), (&json!("Ada Kept"), &json!(false)));
    let applications = read["data"]["applications"].as_array().unwrap();
    let mut told: Vec<_> = applications.iter().map(|one| (one["status"].as_str().unwrap(), &one["signup"])).collect();
    told.sort_by_key(|(status, _)| *status);
    assert_eq!(told, [("In Progress", &json!(null)), ("Withdrawn", &json!(null))]);
    assert!(!place.has("Typed"));
    place.is_sound();
}

fn a_deletion_beside_others_leaves_a_decision_as_it_is() {
    let place = Place::new();
    place.apply_elsewhere();
    place.decide("reject");
    place.act("delete").expect(200);
    assert_eq!(place.status(), "Not Selected");
    assert_eq!(rows(&place.app), "0|0|0|0");
    place.is_sound();
}

fn who_is_held_is_told_so_and_that_they_asked_is_on_record() {
    let place = Place::new();
    let candidate = place.candidate_id();
    let hold = format!("/api/v1/candidates/{candidate}/hold");
    place.owner.put(&hold, &json!({ "reason": "Quixworth against Acme" })).expect(200);
    assert!(!place.page().contains("cannot be deleted yet"));
    for _ in 0..2 {
        let answer = place.act("delete").expect(303);
        assert_eq!(answer.header("location"), Some(format!("{}#held", place.path).as_str()));
    }
    let page = place.page();
    assert!(page.contains("id=\"held\"") && page.contains("You asked for it on 21 November 2026"), "{page}");
    assert!(!page.contains("against Acme"), "{page}");
    let asked = "SELECT candidate_id, user_id FROM activities WHERE action = 'candidate.erasure_asked'";
    assert_eq!(place.app.sql(asked), [format!("{candidate}|null")]);
    assert_eq!(rows(&place.app), "1|1|2|1");
    place.owner.delete(&hold).expect(200);
    assert!(!place.page().contains("cannot be deleted yet"));
    place.act("delete").expect(200);
    assert_eq!(rows(&place.app), "0|0|0|0");
    place.is_sound();
}

fn a_signup_that_changed_nothing_is_taken_back_and_deleted_alone() {
    let place = Place::new();
    let shadow = signed_up(&place.app, &place.hiring, None, EMAIL, "shadow");
    let before = place.app.sql("SELECT count(*) FROM activities");
    place.app.anonymous().post_empty(&format!("{shadow}/withdraw")).expect(303);
    assert!(place.app.anonymous().get(&shadow).expect(200).text().contains("The application was withdrawn"));
    assert_eq!(place.status(), "In Progress");
    place.app.anonymous().post_empty(&format!("{shadow}/delete")).expect(200);
    assert_eq!(rows(&place.app), "1|1|2|1");
    assert_eq!(place.app.sql("SELECT count(*) FROM activities"), before);
    assert!(place.page().contains("Your application is in progress"));
    place.is_sound();
}

fn a_deletion_forgets_the_answers_that_are_kept_for_repeats() {
    let place = Place::new();
    place.apply_elsewhere();
    let path = format!("/api/v1/candidate-roles/{}/withdraw", place.application);
    let client = place.owner.with_header("Idempotency-Key", "k-1");
    assert!(client.post_empty(&path).expect(200).text().contains("Typed"));
    place.act("delete").expect(200);
    assert!(!place.has("Typed"));
    client.post_empty(&path).refused(410, "gone");
}

fn a_deleted_application_gets_a_new_link_and_shows_nothing_that_was_typed() {
    let place = Place::new();
    place.apply_elsewhere();
    place.act("delete").expect(200);
    let path = format!("/api/v1/candidate-roles/{}/status-link", place.application);
    let answer = place.owner.post_empty(&path).expect(200).json();
    let page = place.app.anonymous().get(&crate::support::sent::path_of(&answer)).expect(200).text();
    assert!(page.contains("The application was withdrawn") && !page.contains("Typed"), "{page}");
}

const ERASED: &str = "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL";

/// Status, header fields and body of an answer, without the fields that change each time.
type Seen = (u16, Vec<(String, String)>, String);

/// The answers of the link before, during and after a deletion by it.
fn answers(place: &Place) -> Vec<Seen> {
    let told = |answer: crate::support::Answer| {
        let changing = ["date", "x-request-id"];
        let headers = answer.headers.iter().filter(|(name, _)| !changing.contains(&name.as_str())).cloned();
        (answer.status, headers.collect(), answer.text())
    };
    let get = |path: &str| told(place.app.anonymous().get(&format!("{}{path}", place.path)));
    vec![
        get(""),
        told(place.act("delete")),
        get(""),
        get("/data"),
        told(place.act("delete")),
        told(place.act("withdraw")),
    ]
}

fn a_deletion_before_a_hire_shows_is_answered_as_any_and_waits_for_it() {
    let (plain, place) = (Place::new(), Place::new());
    place.decide("hire");
    assert_eq!(answers(&place), answers(&plain));
    assert_eq!(plain.app.sql(ERASED), ["1"]);
    // Staff still have whom they have hired, with all that was sent, and see that they asked.
    assert_eq!((place.app.sql(ERASED), place.status()), (vec!["0".to_owned()], "Hired".to_owned()));
    assert_eq!(place.last_actions(1), ["candidate_role.deletion_asked"]);
    let read = place.owner.get(&format!("/api/v1/candidates/{}", place.candidate_id())).expect(200).json();
    assert_eq!(read["data"]["email"], EMAIL);
    assert!(!read["data"]["applications"][0]["signup"].is_null());
    place.is_sound();
    // Whoever looks every minute erases nobody before the hire shows.
    place.app.pass(72 * 3_600 - 1);
    let looked = place.app.sql("SELECT count(*) FROM erasures_asked");
    assert_eq!((looked, place.app.sql(ERASED)), (vec!["1".to_owned()], vec!["0".to_owned()]));
    place.app.pass(61);
    crate::document::until(&place.app, ERASED, "1");
    assert_eq!((place.status(), place.last_actions(1)), ("Hired".to_owned(), vec!["candidate.erased".to_owned()]));
    assert_eq!(place.app.sql("SELECT count(*) FROM erasures_asked"), ["0"]);
    assert!(!place.has("quixworth") && !place.has("Ada Kept") && !place.has("Typed"));
    place.is_sound();
}

fn a_deletion_before_a_hire_shows_is_carried_out_once_the_hire_is_reversed() {
    let place = Place::new();
    place.app.change("UPDATE organizations SET decision_visible_after_hours = NULL");
    place.decide("hire");
    place.act("delete").expect(200);
    place.app.pass(30 * 24 * 3_600);
    assert_eq!(place.app.sql(ERASED), ["0"]);
    place.decide("reject");
    place.app.pass(61);
    crate::document::until(&place.app, ERASED, "1");
    assert_eq!(place.status(), "Not Selected");
    place.is_sound();
}

fn a_deletion_before_a_hire_shows_waits_while_the_clock_is_ahead() {
    let place = Place::new();
    place.app.pass(3_601);
    place.decide("hire");
    place.act("delete").expect(200);
    let now = place.app.world.now();
    place.app.world.set(now.plus(Duration::from_secs(73 * 3_600)));
    // Somebody without a hire, so that the test knows when the service has looked.
    place.app.change(&format!(
        "INSERT INTO erasures_asked (candidate_number, candidate_role_id, asked_at)
         SELECT number, NULL, {} FROM candidates WHERE id <> '{}' LIMIT 1",
        i64::MAX,
        place.candidate_id()
    ));
    place.app.pass(61);
    crate::document::until(&place.app, "SELECT count(*) FROM erasures_asked", "1");
    assert_eq!(place.app.sql(ERASED), ["0"], "only a wrong clock shows the hire");
    place.app.world.set(now.plus(Duration::from_secs(61)));
    place.app.pass(72 * 3_600);
    crate::document::until(&place.app, ERASED, "1");
    place.is_sound();
}

fn a_deletion_beside_a_hidden_hire_of_another_application_waits_too() {
    let place = Place::new();
    place.apply_elsewhere();
    place.decide("hire");
    // The other application is the reason to keep the candidate, so what was sent with the hired one goes now.
    place.act("delete").expect(200);
    let other = "SELECT id FROM candidate_roles WHERE status = 'In Progress' AND candidate_id = ";
    let other = place.app.sql(&format!("{other}'{}'", place.candidate_id())).remove(0);
    let path = signed_up(&place.app, &place.hiring, Some(&other), EMAIL, "other-link");
    place.app.anonymous().post_empty(&format!("{path}/delete")).expect(200);
    place.app.anonymous().get(&path).expect(404);
    assert_eq!(place.app.sql(ERASED), ["0"], "the hire is hidden, whose page is gone");
    place.app.pass(73 * 3_600);
    crate::document::until(&place.app, ERASED, "1");
    assert!(!place.has("quixworth"));
    place.is_sound();
}

fn a_deletion_that_waits_keeps_what_others_have_sent_since() {
    let place = Place::new();
    place.decide("hire");
    place.act("delete").expect(200);
    place.apply_elsewhere();
    place.app.pass(73 * 3_600);
    crate::document::until(&place.app, "SELECT count(*) FROM erasures_asked", "0");
    assert_eq!((place.app.sql(ERASED), rows(&place.app)), (vec!["0".to_owned()], "0|0|0|0".to_owned()));
    assert_eq!(place.status(), "Hired");
    place.is_sound();
}

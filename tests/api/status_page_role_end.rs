//! `GET /status/{token}`: candidates with an application in progress see that the role was filled or closed, but only
//! after the organization's delay and not before the hire that filled the role is visible.

use serde_json::{Value, json};

use crate::support::hiring::first_role_of;
use crate::support::roles::read;
use crate::support::stored_signup::{add_candidate, insert_signup, new_status_link};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_role_is_shown_as_closed_after_the_delay_until_it_reopens,
    a_role_is_shown_as_filled_only_when_the_hire_that_filled_it_is_shown,
    a_hired_candidate_never_reads_that_the_role_was_closed,
    a_closing_and_reopening_within_the_delay_are_never_shown,
    the_delay_of_the_organization_decides_when_the_end_of_a_role_is_shown,
    the_page_shows_at_once_that_a_position_is_free_again,
    a_role_filled_by_a_change_to_its_positions_is_shown_as_filled_after_the_delay,
    closing_a_filled_role_does_not_restart_the_delay,
    ended_applications_and_applications_to_other_roles_do_not_show_the_end_of_the_role,
    a_hidden_rejection_and_a_later_signup_do_not_differ_from_an_application_in_progress,
    the_end_of_a_role_is_shown_in_every_language,
    the_end_of_an_imported_role_is_shown_after_the_delay,
    staff_see_how_many_applications_are_in_progress_when_a_role_ends,
];

const HOUR: u64 = 3_600;

const RUNNING: &str = "<h2>Your application is in progress</h2>";
const FILLED: &str = "<h2>The position has been filled</h2>";
const CLOSED: &str = "<h2>The role has been closed</h2>";

/// A role with two positions and three candidates, and the status page of each candidate.
struct Fixture {
    app: App,
    hiring: Hiring,
    owner: Client,
    paths: [String; 3],
}

impl Fixture {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let owner = app.user_with_all(&hiring.staff("owner"));
        let paths = [0, 1, 2].map(|candidate| new_status_link(&app, &hiring, candidate));
        Self { app, hiring, owner, paths }
    }

    fn page_at(&self, path: &str) -> String {
        self.app.anonymous().get(path).expect(200).text()
    }

    fn page(&self, candidate: usize) -> String {
        self.page_at(&self.paths[candidate])
    }

    /// Returns the page and the download, without the time of the export.
    fn seen(&self, candidate: usize) -> (String, Value) {
        let mut data = self.app.anonymous().get(&format!("{}/data", self.paths[candidate])).expect(200).json();
        data["exportedAt"].take();
        (self.page(candidate), data)
    }

    /// Asserts that a candidate whose application is in progress sees this heading, and that the download agrees.
    #[track_caller]
    fn shows(&self, candidate: usize, heading: &str) {
        let (page, data) = self.seen(candidate);
        assert!(page.contains(heading), "{page}");
        assert_eq!(page.contains("from time to time"), heading == RUNNING, "{page}");
        assert!(page.contains("/withdraw\"") && page.contains("aria-current=\"step\""), "{page}");
        let end = match heading {
            FILLED => json!("filled"),
            CLOSED => json!("closed"),
            _ => Value::Null,
        };
        assert_eq!((&data["status"], &data["roleEnd"]), (&json!("In Progress"), &end));
        assert!(!page.contains("Quixworth"), "{page}");
    }

    fn decide(&self, candidate: usize, step: usize, decision: &str) {
        let path = self.hiring.decision(candidate, step, decision);
        self.owner.post(&path, &json!({ "reason": "Quixworth" })).expect(200);
    }

    fn close(&self) -> Value {
        let path = format!("{}/close", self.hiring.role());
        self.owner.post(&path, &json!({ "reason": "Quixworth" })).expect(200).json()["data"].take()
    }

    fn reopen(&self) {
        self.owner.post_empty(&format!("{}/reopen", self.hiring.role())).expect(200);
    }

    fn delay(&self, hours: &str) {
        self.app.change(&format!("UPDATE organizations SET decision_visible_after_hours = {hours}"));
    }
}

fn a_role_is_shown_as_closed_after_the_delay_until_it_reopens() {
    let fixture = Fixture::new();
    let before = fixture.seen(0);
    fixture.shows(0, RUNNING);
    fixture.close();
    assert_eq!(fixture.seen(0), before);
    fixture.app.pass(72 * HOUR - 1);
    assert_eq!(fixture.seen(0), before);
    fixture.app.pass(1);
    fixture.shows(0, CLOSED);
    fixture.reopen();
    assert_eq!(fixture.seen(0), before);
}

fn a_role_is_shown_as_filled_only_when_the_hire_that_filled_it_is_shown() {
    let fixture = Fixture::new();
    let before = fixture.seen(2);
    fixture.decide(0, 1, "hire");
    fixture.app.pass(10 * HOUR);
    fixture.decide(1, 1, "hire");
    assert_eq!(read(&fixture.owner, &fixture.hiring.role())["status"], "filled");
    fixture.app.pass(72 * HOUR - 1);
    assert_eq!(fixture.seen(2), before);
    assert!(fixture.page(0).contains("You got the job"));
    fixture.shows(1, RUNNING);
    fixture.app.pass(1);
    fixture.shows(2, FILLED);
    assert!(fixture.page(1).contains("You got the job"));
}

fn a_hired_candidate_never_reads_that_the_role_was_closed() {
    let fixture = Fixture::new();
    for candidate in [0, 1] {
        fixture.decide(candidate, 1, "hire");
    }
    fixture.app.pass(HOUR);
    fixture.close();
    for hour in 1..=80 {
        let (hired, other) = (fixture.page(0), fixture.page(2));
        let is_shown = hour >= 72;
        assert_eq!(hired.contains("You got the job"), is_shown, "{hour}");
        assert_eq!(hired.contains(RUNNING), !is_shown, "{hour}");
        assert_eq!(other.contains(CLOSED), is_shown, "{hour}");
        fixture.app.pass(HOUR);
    }
}

fn a_closing_and_reopening_within_the_delay_are_never_shown() {
    let fixture = Fixture::new();
    let before = fixture.seen(0);
    fixture.close();
    fixture.app.pass(71 * HOUR);
    fixture.reopen();
    for _ in 0..3 {
        assert_eq!(fixture.seen(0), before);
        fixture.app.pass(HOUR);
    }
    // The delay of a second closing begins with that closing.
    fixture.close();
    fixture.app.pass(72 * HOUR - 1);
    assert_eq!(fixture.seen(0), before);
    fixture.app.pass(1);
    fixture.shows(0, CLOSED);
}

fn the_delay_of_the_organization_decides_when_the_end_of_a_role_is_shown() {
    let fixture = Fixture::new();
    fixture.delay("NULL");
    let before = fixture.seen(0);
    fixture.close();
    fixture.app.pass(365 * 24 * HOUR);
    assert_eq!(fixture.seen(0), before);
    fixture.delay("0");
    fixture.shows(0, CLOSED);
    let fixture = Fixture::new();
    fixture.delay("0");
    fixture.close();
    fixture.shows(0, CLOSED);
}

fn the_page_shows_at_once_that_a_position_is_free_again() {
    let fixture = Fixture::new();
    fixture.delay("0");
    for candidate in [0, 1] {
        fixture.decide(candidate, 1, "hire");
    }
    fixture.shows(2, FILLED);
    fixture.owner.patch(&fixture.hiring.role(), &json!({ "positions": 3 })).expect(200);
    fixture.shows(2, RUNNING);
    fixture.owner.patch(&fixture.hiring.role(), &json!({ "positions": 2 })).expect(200);
    fixture.shows(2, FILLED);
    fixture.decide(0, 3, "reject");
    fixture.shows(2, RUNNING);
}

fn a_role_filled_by_a_change_to_its_positions_is_shown_as_filled_after_the_delay() {
    let fixture = Fixture::new();
    fixture.decide(0, 1, "hire");
    fixture.app.pass(100 * HOUR);
    fixture.owner.patch(&fixture.hiring.role(), &json!({ "positions": 1 })).expect(200);
    fixture.app.pass(72 * HOUR - 1);
    fixture.shows(2, RUNNING);
    fixture.app.pass(1);
    fixture.shows(2, FILLED);
    // A change to the location does not restart the delay.
    fixture.owner.patch(&fixture.hiring.role(), &json!({ "location": "Kiel" })).expect(200);
    fixture.shows(2, FILLED);
}

fn closing_a_filled_role_does_not_restart_the_delay() {
    let fixture = Fixture::new();
    for candidate in [0, 1] {
        fixture.decide(candidate, 1, "hire");
    }
    fixture.app.pass(72 * HOUR);
    fixture.shows(2, FILLED);
    fixture.close();
    fixture.shows(2, CLOSED);
    // All positions of the role are still filled.
    fixture.reopen();
    fixture.shows(2, FILLED);
}

fn ended_applications_and_applications_to_other_roles_do_not_show_the_end_of_the_role() {
    let fixture = Fixture::new();
    let elsewhere = fixture.app.hiring();
    let other = new_status_link(&fixture.app, &elsewhere, 0);
    fixture.delay("0");
    let before = fixture.page_at(&other);
    fixture.decide(0, 1, "reject");
    fixture.app.anonymous().post_empty(&format!("{}/withdraw", fixture.paths[1])).expect(303);
    let decided = [fixture.seen(0), fixture.seen(1)];
    fixture.close();
    fixture.shows(2, CLOSED);
    assert_eq!([fixture.seen(0), fixture.seen(1)], decided);
    assert_eq!(fixture.page_at(&other), before);
    assert!(before.contains(RUNNING));
}

fn a_hidden_rejection_and_a_later_signup_do_not_differ_from_an_application_in_progress() {
    let fixture = Fixture::new();
    let application = add_candidate(&fixture.app, &fixture.hiring, "ada@example.org");
    let first = insert_signup(&fixture.app, &fixture.hiring, Some(&application), "ada@example.org", "first");
    let later = insert_signup(&fixture.app, &fixture.hiring, None, "ada@example.org", "later");
    fixture.close();
    fixture.app.pass(60 * HOUR);
    fixture.decide(0, 1, "reject");
    fixture.app.pass(12 * HOUR);
    fixture.shows(0, CLOSED);
    fixture.shows(1, CLOSED);
    let of_first = fixture.page_at(&first);
    assert!(of_first.contains(CLOSED), "{of_first}");
    let masked = |page: &str, token: &str| page.replace(token, "token");
    assert_eq!(masked(&fixture.page_at(&later), "later"), masked(&of_first, "first"));
    fixture.app.anonymous().post_empty(&format!("{later}/withdraw")).expect(303);
    assert!(fixture.page_at(&later).contains("The application was withdrawn"));
}

fn the_end_of_a_role_is_shown_in_every_language() {
    let fixture = Fixture::new();
    fixture.delay("0");
    let heading = |tag: &str, words: &str, heading: &str| {
        let page = fixture.page_at(&format!("{}?lang={tag}", fixture.paths[2]));
        assert!(page.contains(&format!("<h2>{heading}</h2>")) && page.contains(words), "{tag}: {page}");
        assert!(page.contains("Acme 1 ") && !page.contains('{'), "{tag}: {page}");
    };
    fixture.close();
    heading("en", "no longer accepts applications", "The role has been closed");
    heading("de", "keine Bewerbungen mehr an", "Die Ausschreibung ist geschlossen");
    heading("fr", "n’accepte plus de candidatures", "Le poste est fermé");
    heading("es", "ya no acepta candidaturas", "El puesto se ha cerrado");
    fixture.reopen();
    for candidate in [0, 1] {
        fixture.decide(candidate, 1, "hire");
    }
    heading("en", "has hired for this role", "The position has been filled");
    heading("de", "hat die Stelle besetzt", "Die Stelle ist besetzt");
    heading("fr", "a pourvu ce poste", "Le poste est pourvu");
    heading("es", "ha cubierto este puesto", "El puesto ya está cubierto");
}

fn the_end_of_an_imported_role_is_shown_after_the_delay() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["status"] = json!("closed"));
    let path = new_status_link(&app, &hiring, 0);
    let page = || app.anonymous().get(&path).expect(200).text();
    app.pass(72 * HOUR - 1);
    assert!(page().contains(RUNNING));
    app.pass(1);
    assert!(page().contains(CLOSED));
}

fn staff_see_how_many_applications_are_in_progress_when_a_role_ends() {
    let fixture = Fixture::new();
    for candidate in [0, 1] {
        fixture.decide(candidate, 1, "hire");
    }
    let counts = json!({ "inProgress": 1, "hired": 2, "notSelected": 0, "withdrawn": 0 });
    assert_eq!(read(&fixture.owner, &fixture.hiring.role())["applications"], counts);
    assert_eq!(fixture.close()["applications"], counts);
    let list = format!("{}?roleId={}&status=In%20Progress", fixture.hiring.candidates_path(), fixture.hiring.role_id);
    let rows = fixture.owner.get(&list).expect(200).json()["data"].take();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["id"], fixture.hiring.candidates[2].candidate_id.as_str());
}

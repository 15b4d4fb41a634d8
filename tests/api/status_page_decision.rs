//! `GET /status/{token}`: from when on a candidate sees what was decided. Until then the page is the same, byte for byte.

use serde_json::json;

use crate::support::hiring::set_steps;
use crate::support::sent::link;
use crate::support::{App, Client, Hiring};

crate::tests![
    a_rejection_shows_from_its_hour_on,
    a_hire_shows_from_its_hour_on,
    the_reversal_of_a_hire_shows_from_its_hour_on,
    a_decision_shows_at_once_where_the_organization_waits_for_nothing,
    a_decision_never_shows_where_the_organization_wants_it_so,
    a_move_shows_at_once,
    a_rejection_that_was_undone_in_time_was_never_seen,
    a_rejection_that_was_seen_is_undone_at_once,
    another_delay_counts_from_the_next_request_on,
    what_an_import_decided_waits_for_its_hour,
    nothing_else_of_the_answer_tells_of_a_decision,
];

const HOUR: u64 = 3_600;

struct Place {
    app: App,
    hiring: Hiring,
    owner: Client,
    path: String,
}

impl Place {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let owner = app.user_with_all(&hiring.staff("owner"));
        let path = link(&app, &hiring, 0);
        Self { app, hiring, owner, path }
    }

    fn page(&self) -> String {
        self.app.anonymous().get(&self.path).expect(200).text()
    }

    /// The download, without the time of its making.
    fn data(&self) -> serde_json::Value {
        let mut data = self.app.anonymous().get(&format!("{}/data", self.path)).expect(200).json();
        data["exportedAt"].take();
        data
    }

    fn decide(&self, step: usize, decision: &str) {
        let body = json!({ "reason": "Quixworth", "outcomeNotes": "Quixworth" });
        self.owner.post(&self.hiring.decision(0, step, decision), &body).expect(200);
    }

    fn delay(&self, hours: &str) {
        self.app.change(&format!("UPDATE organizations SET decision_visible_after_hours = {hours}"));
    }

    /// Lets the page be the same until the decision that was just taken is this old, and different then.
    #[track_caller]
    fn shows_after(&self, before: &(String, serde_json::Value), hours: u64, heading: &str) {
        assert_eq!((self.page(), self.data()), *before);
        self.app.pass(hours * HOUR - 1);
        assert_eq!((self.page(), self.data()), *before);
        self.app.pass(1);
        let page = self.page();
        assert!(page.contains(&format!("<h2>{heading}</h2>")) && page != before.0, "{page}");
        assert_ne!(self.data(), before.1);
        assert!(!page.contains("Quixworth") && !self.data().to_string().contains("Quixworth"));
    }

    fn seen(&self) -> (String, serde_json::Value) {
        (self.page(), self.data())
    }
}

const RUNNING: &str = "<h2>Your application is in progress</h2>";

fn a_rejection_shows_from_its_hour_on() {
    let place = Place::new();
    let before = place.seen();
    assert!(before.0.contains(RUNNING));
    place.decide(1, "reject");
    place.shows_after(&before, 72, "You were not selected this time");
    let page = place.page();
    assert!(page.contains("<li class=\"ended\">Call <span class=\"state\">Ended here</span></li>"), "{page}");
    assert!(!page.contains("Interview") && !page.contains("/withdraw\""), "{page}");
    assert_eq!(place.data()["status"], "Not Selected");
}

fn a_hire_shows_from_its_hour_on() {
    let place = Place::new();
    let before = place.seen();
    place.decide(1, "hire");
    place.shows_after(&before, 72, "You got the job");
    let page = place.page();
    assert!(page.contains("<li class=\"upcoming\">Interview <span class=\"state\">Not needed</span></li>"), "{page}");
    assert!(page.contains("<li class=\"done\">Offer <span class=\"state\">Done</span></li>"), "{page}");
}

fn the_reversal_of_a_hire_shows_from_its_hour_on() {
    let place = Place::new();
    place.decide(1, "hire");
    place.app.pass(100 * HOUR);
    let hired = place.seen();
    place.decide(3, "reject");
    place.shows_after(&hired, 72, "You were not selected this time");
}

fn a_decision_shows_at_once_where_the_organization_waits_for_nothing() {
    let place = Place::new();
    place.delay("0");
    place.decide(1, "reject");
    assert!(place.page().contains("You were not selected this time"));
}

fn a_decision_never_shows_where_the_organization_wants_it_so() {
    let place = Place::new();
    place.delay("NULL");
    let before = place.seen();
    place.decide(1, "reject");
    place.app.pass(365 * 24 * HOUR);
    assert_eq!(place.seen(), before);
}

fn a_move_shows_at_once() {
    let place = Place::new();
    for delay in ["72", "NULL"] {
        place.delay(delay);
        let step = if delay == "72" { 1 } else { 2 };
        place.decide(step, "validate");
        let name = ["Interview", "Offer"][step - 1];
        assert!(place.page().contains(&format!("<li class=\"current\" aria-current=\"step\">{name} ")));
    }
}

fn a_rejection_that_was_undone_in_time_was_never_seen() {
    let place = Place::new();
    let before = place.seen();
    place.decide(1, "reject");
    place.app.pass(71 * HOUR);
    place.decide(1, "reopen");
    for _ in 0..3 {
        assert_eq!(place.seen(), before);
        place.app.pass(HOUR);
    }
    place.decide(1, "validate");
    assert!(place.page().contains("aria-current=\"step\">Interview "));
}

fn a_rejection_that_was_seen_is_undone_at_once() {
    let place = Place::new();
    let before = place.seen();
    place.decide(1, "reject");
    place.app.pass(72 * HOUR);
    assert_ne!(place.seen(), before);
    place.decide(1, "reopen");
    assert_eq!(place.seen(), before);
}

fn another_delay_counts_from_the_next_request_on() {
    let place = Place::new();
    let before = place.seen();
    place.decide(1, "reject");
    place.app.pass(2 * HOUR);
    place.delay("2");
    let after = place.seen();
    assert_ne!(after, before);
    place.delay("3");
    assert_eq!(place.seen(), before);
    place.app.pass(HOUR);
    assert_eq!(place.seen(), after);
}

fn what_an_import_decided_waits_for_its_hour() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Not Selected", &["validated", "rejected", "pending", "pending"]);
        set_steps(document, 1, "Hired", &["validated", "skipped", "skipped", "validated"]);
    });
    for candidate in 0..2 {
        let path = link(&app, &hiring, candidate);
        assert!(app.anonymous().get(&path).expect(200).text().contains(RUNNING), "{candidate}");
    }
    app.pass(72 * HOUR);
    for (candidate, heading) in [(0, "You were not selected this time"), (1, "You got the job")] {
        let path = link(&app, &hiring, candidate);
        assert!(app.anonymous().get(&path).expect(200).text().contains(heading), "{candidate}");
    }
}

fn nothing_else_of_the_answer_tells_of_a_decision() {
    let place = Place::new();
    let headers = || {
        let answer = place.app.anonymous().get(&place.path).expect(200);
        let is_same = |(name, _): &&(String, String)| name != "x-request-id" && name != "date";
        answer.headers.iter().filter(is_same).cloned().collect::<Vec<_>>()
    };
    let before = headers();
    // The last position is taken, and the role is filled.
    place.decide(1, "hire");
    place.owner.post_empty(&place.hiring.hire(1)).expect(200);
    assert_eq!(headers(), before);
    assert!(place.page().contains(RUNNING));
}

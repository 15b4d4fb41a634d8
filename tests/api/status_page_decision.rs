//! `GET /status/{token}`: the time at which candidates see a decision. Until that time, the page stays the same, byte
//! for byte.

use serde_json::json;

use crate::support::hiring::set_steps;
use crate::support::stored_signup::new_status_link;
use crate::support::{App, Client, Hiring};

crate::tests![
    a_rejection_is_shown_after_the_delay,
    a_hire_is_shown_after_the_delay,
    the_reversal_of_a_hire_is_shown_after_the_delay,
    a_decision_without_a_delay_is_shown_at_once,
    decisions_of_an_organization_that_never_shows_them_stay_hidden,
    an_advance_is_shown_after_the_undo_period,
    a_move_is_shown_after_the_undo_period,
    a_move_reversed_within_the_undo_period_is_never_shown,
    a_candidate_who_withdraws_never_sees_a_hidden_advance,
    a_rejection_reopened_within_the_delay_is_never_shown,
    the_reopening_of_a_visible_rejection_is_shown_at_once,
    a_changed_delay_takes_effect_with_the_next_request,
    imported_decisions_are_shown_after_the_delay,
    the_header_fields_do_not_reveal_a_decision,
];

const HOUR: u64 = 3_600;

/// The number of seconds for which a decision can be undone and a move to another step is hidden.
const UNDO_SECONDS: u64 = 600;

struct Fixture {
    app: App,
    hiring: Hiring,
    owner: Client,
    path: String,
}

impl Fixture {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let owner = app.user_with_all(&hiring.staff("owner"));
        let path = new_status_link(&app, &hiring, 0);
        Self { app, hiring, owner, path }
    }

    fn page(&self) -> String {
        self.app.anonymous().get(&self.path).expect(200).text()
    }

    /// Returns the download without the time of the export.
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

    /// Asserts that the page and its download stay the same until the latest decision is this many hours old, and that
    /// they then change.
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

    /// Asserts that the page and its download stay the same until the latest act can no longer be undone, and that they
    /// then change.
    #[track_caller]
    fn shows_after_undo_period(&self, before: &(String, serde_json::Value)) {
        assert_eq!(self.seen(), *before);
        self.app.pass(UNDO_SECONDS - 1);
        assert_eq!(self.seen(), *before);
        self.app.pass(1);
        let after = self.seen();
        assert!(after.0 != before.0 && after.1 != before.1, "{}", after.0);
    }

    fn seen(&self) -> (String, serde_json::Value) {
        (self.page(), self.data())
    }
}

const RUNNING: &str = "<h2>Your application is in progress</h2>";

fn a_rejection_is_shown_after_the_delay() {
    let fixture = Fixture::new();
    let before = fixture.seen();
    assert!(before.0.contains(RUNNING));
    fixture.decide(1, "reject");
    fixture.shows_after(&before, 72, "You were not selected this time");
    let page = fixture.page();
    assert!(page.contains("<li class=\"ended\">Call <span class=\"state\">Ended here</span></li>"), "{page}");
    assert!(!page.contains("Interview") && !page.contains("/withdraw\""), "{page}");
    assert_eq!(fixture.data()["status"], "Not Selected");
}

fn a_hire_is_shown_after_the_delay() {
    let fixture = Fixture::new();
    let before = fixture.seen();
    fixture.decide(1, "hire");
    fixture.shows_after(&before, 72, "You got the job");
    let page = fixture.page();
    assert!(page.contains("<li class=\"upcoming\">Interview <span class=\"state\">Not needed</span></li>"), "{page}");
    assert!(page.contains("<li class=\"done\">Offer <span class=\"state\">Done</span></li>"), "{page}");
}

fn the_reversal_of_a_hire_is_shown_after_the_delay() {
    let fixture = Fixture::new();
    fixture.decide(1, "hire");
    fixture.app.pass(100 * HOUR);
    let hired = fixture.seen();
    fixture.decide(3, "reject");
    fixture.shows_after(&hired, 72, "You were not selected this time");
}

fn a_decision_without_a_delay_is_shown_at_once() {
    let fixture = Fixture::new();
    fixture.delay("0");
    fixture.decide(1, "reject");
    assert!(fixture.page().contains("You were not selected this time"));
    let fixture = Fixture::new();
    fixture.delay("0");
    fixture.decide(1, "validate");
    fixture.decide(3, "hire");
    assert!(fixture.page().contains("You got the job"));
    fixture.decide(3, "reject");
    assert!(fixture.page().contains("You were not selected this time"));
}

fn decisions_of_an_organization_that_never_shows_them_stay_hidden() {
    let fixture = Fixture::new();
    fixture.delay("NULL");
    let before = fixture.seen();
    fixture.decide(1, "reject");
    fixture.app.pass(365 * 24 * HOUR);
    assert_eq!(fixture.seen(), before);
}

fn an_advance_is_shown_after_the_undo_period() {
    let fixture = Fixture::new();
    for (delay, step, name) in [("72", 1, "Interview"), ("NULL", 2, "Offer")] {
        fixture.delay(delay);
        let before = fixture.seen();
        fixture.decide(step, "validate");
        fixture.shows_after_undo_period(&before);
        assert!(fixture.page().contains(&format!("<li class=\"current\" aria-current=\"step\">{name} ")));
    }
}

fn a_move_is_shown_after_the_undo_period() {
    let fixture = Fixture::new();
    for delay in ["72", "NULL", "0"] {
        fixture.delay(delay);
        let before = fixture.seen();
        fixture.decide(3, "move");
        fixture.shows_after_undo_period(&before);
        let page = fixture.page();
        assert!(page.contains("<li class=\"current\" aria-current=\"step\">Offer "), "{page}");
        assert!(
            page.contains("<li class=\"upcoming\">Interview <span class=\"state\">Not needed</span></li>"),
            "{page}"
        );
        assert!(!page.contains("Quixworth") && !fixture.data().to_string().contains("Quixworth"));
        let forward = fixture.seen();
        fixture.decide(1, "move");
        fixture.shows_after_undo_period(&forward);
        assert!(fixture.page().contains("<li class=\"current\" aria-current=\"step\">Call "));
    }
}

fn a_move_reversed_within_the_undo_period_is_never_shown() {
    let fixture = Fixture::new();
    let before = fixture.seen();
    for step in [3, 2] {
        fixture.decide(step, "move");
        fixture.app.pass(UNDO_SECONDS - 1);
        fixture.decide(1, "move");
        for _ in 0..3 {
            assert_eq!(fixture.seen(), before, "{step}");
            fixture.app.pass(UNDO_SECONDS / 2);
        }
        assert_eq!(fixture.seen(), before, "{step}");
    }
    // A hidden rejection stays hidden if the candidate is moved after the step has been reopened.
    fixture.decide(2, "reject");
    fixture.decide(2, "reopen");
    fixture.decide(2, "move");
    fixture.shows_after_undo_period(&before);
    assert!(fixture.page().contains("<li class=\"current\" aria-current=\"step\">Interview "));
    fixture.decide(1, "move");
    fixture.app.pass(UNDO_SECONDS);
    assert_eq!(fixture.seen(), before);
}

fn a_candidate_who_withdraws_never_sees_a_hidden_advance() {
    let (fixture, plain) = (Fixture::new(), Fixture::new());
    fixture.decide(1, "validate");
    for fixture in [&fixture, &plain] {
        fixture.app.pass(UNDO_SECONDS - 1);
        fixture.app.anonymous().post_empty(&format!("{}/withdraw", fixture.path)).expect(303);
    }
    for seconds in [0, 1, 80 * HOUR] {
        fixture.app.pass(seconds);
        plain.app.pass(seconds);
        assert_eq!(fixture.data(), plain.data());
        assert!(fixture.page().contains("<li class=\"ended\">Call "), "{}", fixture.page());
    }
}

fn a_rejection_reopened_within_the_delay_is_never_shown() {
    let fixture = Fixture::new();
    let before = fixture.seen();
    fixture.decide(1, "reject");
    fixture.app.pass(71 * HOUR);
    fixture.decide(1, "reopen");
    for _ in 0..3 {
        assert_eq!(fixture.seen(), before);
        fixture.app.pass(HOUR);
    }
    fixture.decide(1, "validate");
    fixture.shows_after_undo_period(&before);
    assert!(fixture.page().contains("aria-current=\"step\">Interview "));
}

fn the_reopening_of_a_visible_rejection_is_shown_at_once() {
    let fixture = Fixture::new();
    let before = fixture.seen();
    fixture.decide(1, "reject");
    fixture.app.pass(72 * HOUR);
    assert_ne!(fixture.seen(), before);
    fixture.decide(1, "reopen");
    assert_eq!(fixture.seen(), before);
}

fn a_changed_delay_takes_effect_with_the_next_request() {
    let fixture = Fixture::new();
    let before = fixture.seen();
    fixture.decide(1, "reject");
    fixture.app.pass(2 * HOUR);
    fixture.delay("2");
    let after = fixture.seen();
    assert_ne!(after, before);
    fixture.delay("3");
    assert_eq!(fixture.seen(), before);
    fixture.app.pass(HOUR);
    assert_eq!(fixture.seen(), after);
}

fn imported_decisions_are_shown_after_the_delay() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Not Selected", &["validated", "rejected", "pending", "pending"]);
        set_steps(document, 1, "Hired", &["validated", "skipped", "skipped", "validated"]);
    });
    for candidate in 0..2 {
        let path = new_status_link(&app, &hiring, candidate);
        assert!(app.anonymous().get(&path).expect(200).text().contains(RUNNING), "{candidate}");
    }
    app.pass(72 * HOUR);
    for (candidate, heading) in [(0, "You were not selected this time"), (1, "You got the job")] {
        let path = new_status_link(&app, &hiring, candidate);
        assert!(app.anonymous().get(&path).expect(200).text().contains(heading), "{candidate}");
    }
}

fn the_header_fields_do_not_reveal_a_decision() {
    let fixture = Fixture::new();
    let headers = || {
        let answer = fixture.app.anonymous().get(&fixture.path).expect(200);
        let is_same = |(name, _): &&(String, String)| name != "x-request-id" && name != "date";
        answer.headers.iter().filter(is_same).cloned().collect::<Vec<_>>()
    };
    let before = headers();
    // The two hires take both positions, so the role is filled.
    fixture.decide(1, "hire");
    fixture.owner.post_empty(&fixture.hiring.hire(1)).expect(200);
    assert_eq!(headers(), before);
    assert!(fixture.page().contains(RUNNING));
}

//! The retention clock: who is erased by the service itself, on which day, and who is not.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::document::until;
use crate::support::hiring::role_of;
use crate::support::{App, Hiring};

crate::tests![
    a_candidate_is_erased_when_so_many_whole_days_have_passed_since_the_decision,
    a_day_begins_where_the_organization_is,
    whoever_is_held_or_still_in_progress_stays,
    the_newest_decision_counts_and_every_application_must_have_ended,
    a_candidate_without_an_application_counts_from_their_last_change,
    many_are_erased_in_bites,
    an_organization_without_a_retention_keeps_everybody,
];

/// How often the clock is looked at, and a little.
const LOOK_S: u64 = 601;

/// A service with two organizations. The second has nobody but for one candidate who is erased at the next look: by then, the
/// look at the first one is over.
struct Clock {
    app: App,
    hiring: Hiring,
    sentinel: Hiring,
}

impl Clock {
    /// The service begins with a look. The sentinel is there before it, so it is over, too, before anything else happens:
    /// from then on there is none until the clock moves.
    fn start(change: impl FnOnce(&mut Value)) -> Self {
        let app = App::start();
        let hiring = app.hiring_with(change);
        let sentinel = app.hiring();
        let clock = Self { app, hiring, sentinel };
        clock.app.stop();
        clock.put_sentinel();
        clock.app.start_again();
        clock.wait_for_sentinel();
        clock
    }

    fn keep(&self, settings: &Value) {
        let path = format!("/api/admin/organizations/{}", self.hiring.organization_id);
        self.app.admin().send("PATCH", &path, &[], settings.to_string().as_bytes()).expect(200);
    }

    fn reject(&self, candidate: usize) {
        self.app.admin().post(&self.hiring.reject(candidate), &json!({})).expect(200);
    }

    /// The very same row at every look: a walk that is not over yet has passed it.
    fn put_sentinel(&self) {
        let id = &self.sentinel.organization_id;
        self.app.change(&format!(
            "INSERT INTO candidates (id, organization_id, name, email, email_key, created_at, updated_at)
             VALUES ('sentinel', '{id}', '.', 'sentinel@x', 'sentinel@x', 0, 0)
             ON CONFLICT DO UPDATE SET erased_at = NULL, updated_at = 0;
             UPDATE organizations SET retention_days = 1 WHERE id = '{id}';"
        ));
    }

    fn wait_for_sentinel(&self) {
        until(&self.app, "SELECT erased_at IS NOT NULL FROM candidates WHERE id = 'sentinel'", "1");
    }

    /// Lets the service look at this time; who of the organization is erased then.
    fn look_at(&self, time: &str) -> Vec<String> {
        self.put_sentinel();
        // Both clocks at once: the look is at this very time.
        let time = Timestamp::parse(time, Rounding::Down).unwrap().micros();
        self.app.world.set(Timestamp::from_micros(time - i64::try_from(LOOK_S).unwrap() * 1_000_000));
        self.app.pass(LOOK_S);
        self.wait_for_sentinel();
        self.app.sql(&format!(
            "SELECT id FROM candidates WHERE organization_id = '{}' AND erased_at IS NOT NULL ORDER BY number",
            self.hiring.organization_id
        ))
    }

    fn id(&self, candidate: usize) -> String {
        self.hiring.candidates[candidate].candidate_id.clone()
    }
}

fn a_candidate_is_erased_when_so_many_whole_days_have_passed_since_the_decision() {
    let clock = Clock::start(|_| {});
    clock.keep(&json!({ "retentionDays": 30 }));
    clock.reject(0);
    assert_eq!(clock.look_at("2026-12-21T23:59:59.999999Z"), Vec::<String>::new());
    assert_eq!(clock.look_at("2026-12-22T00:00:00Z"), [clock.id(0)]);
    let app = &clock.app;
    let row = format!(
        "SELECT action, user_id, api_key_id FROM activities WHERE candidate_id = '{}' ORDER BY number",
        clock.id(0)
    );
    assert_eq!(app.sql(&row)[1..], ["candidate.erased|null|null"]);
    let list = std::fs::read_to_string(appliance::store::file::beside(&app.path, ".erased")).unwrap();
    assert!(list.lines().any(|line| line == clock.id(0)), "{list}");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_day_begins_where_the_organization_is() {
    let clock = Clock::start(|_| {});
    clock.keep(&json!({ "retentionDays": 30, "timeZone": "Europe/Berlin" }));
    clock.reject(0);
    assert_eq!(clock.look_at("2026-12-21T22:59:59.999999Z"), Vec::<String>::new());
    assert_eq!(clock.look_at("2026-12-21T23:00:00Z"), [clock.id(0)]);
}

fn whoever_is_held_or_still_in_progress_stays() {
    let clock = Clock::start(|_| {});
    clock.keep(&json!({ "retentionDays": 1 }));
    clock.reject(0);
    clock.reject(2);
    let hold = format!("/api/v1/candidates/{}/hold", clock.id(0));
    clock.app.admin().put(&hold, &json!({ "reason": "a case" })).expect(200);
    assert_eq!(clock.look_at("2027-11-21T00:00:00Z"), [clock.id(2)]);
    clock.app.admin().delete(&hold).expect(200);
    assert_eq!(clock.look_at("2027-11-21T01:00:00Z"), [clock.id(0), clock.id(2)]);
    assert_eq!(clock.app.check(), Vec::<String>::new());
}

fn the_newest_decision_counts_and_every_application_must_have_ended() {
    // The first candidate has applied twice.
    let clock = Clock::start(|document| {
        let mut again = role_of(document).clone();
        again["id"] = json!("role_again");
        again["steps"] = json!([{ "id": "step_again", "name": "Call" }]);
        let mut candidate = again["candidates"][0].clone();
        candidate["applicationId"] = json!("app_again");
        candidate["steps"] = json!([{ "id": "cstep_again", "roleStepId": "step_again", "status": "in_progress" }]);
        again["candidates"] = json!([candidate]);
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(again);
    });
    clock.keep(&json!({ "retentionDays": 2 }));
    clock.reject(0);
    assert_eq!(clock.look_at("2026-12-01T12:00:00Z"), Vec::<String>::new());
    clock.app.admin().post("/api/v1/candidate-steps/cstep_again/reject", &json!({})).expect(200);
    assert_eq!(clock.look_at("2026-12-03T23:00:00Z"), Vec::<String>::new());
    assert_eq!(clock.look_at("2026-12-04T00:00:00Z"), [clock.id(0)]);
}

fn a_candidate_without_an_application_counts_from_their_last_change() {
    let clock = Clock::start(|_| {});
    clock.keep(&json!({ "retentionDays": 1 }));
    clock.app.change(&format!(
        "INSERT INTO candidates (id, organization_id, name, email, email_key, created_at, updated_at)
         VALUES ('alone', '{}', '.', 'a@x', 'a@x', 0, unixepoch('2026-11-21 12:00:00') * 1000000)",
        clock.hiring.organization_id
    ));
    assert_eq!(clock.look_at("2026-11-22T23:00:00Z"), Vec::<String>::new());
    assert_eq!(clock.look_at("2026-11-23T00:00:00Z"), ["alone"]);
}

fn many_are_erased_in_bites() {
    const MANY: usize = 100;
    let clock = Clock::start(|document| {
        let candidate = |nth: usize| {
            json!({ "id": format!("many_{nth:03}"), "name": format!("Quixworth {nth}"), "email": format!("q{nth}@x.example"),
                "status": "Hired" })
        };
        role_of(document)["positions"] = json!(MANY + 1);
        role_of(document)["candidates"] = (0..MANY).map(candidate).collect();
    });
    clock.keep(&json!({ "retentionDays": 1 }));
    assert_eq!(clock.look_at("2027-11-21T00:00:00Z").len(), MANY);
    assert_eq!(clock.app.sql("SELECT count(*) FROM candidate_words WHERE word LIKE 'quix%'"), ["0"]);
    assert_eq!(clock.app.check(), Vec::<String>::new());
}

fn an_organization_without_a_retention_keeps_everybody() {
    let clock = Clock::start(|_| {});
    clock.reject(0);
    assert_eq!(clock.look_at("2027-06-01T00:00:00Z"), Vec::<String>::new());
    clock.keep(&json!({ "retentionDays": 30 }));
    assert_eq!(clock.look_at("2027-06-01T01:00:00Z"), [clock.id(0)]);
    clock.keep(&json!({ "retentionDays": null }));
    clock.reject(1);
    assert_eq!(clock.look_at("2027-11-01T00:00:00Z"), [clock.id(0)]);
}

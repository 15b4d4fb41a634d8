//! Retention: which candidates the service erases automatically, on which day, and what these erasures wait for.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::support::hiring::first_role_of;
use crate::support::{Answer, App, Hiring};

crate::tests![
    a_candidate_due_on_one_day_is_erased_on_a_later_day,
    the_erasure_list_names_retention_as_the_reason,
    days_begin_in_the_organizations_time_zone,
    a_decision_a_hold_or_a_changed_setting_makes_a_candidate_not_due,
    a_candidate_with_an_application_in_progress_is_not_erased,
    the_retention_period_starts_at_the_newest_decision_when_every_application_has_ended,
    without_an_application_the_retention_period_starts_at_the_last_change,
    the_retention_period_after_an_imported_decision_starts_at_the_date_of_the_decision,
    in_a_small_organization_more_than_twenty_erasures_a_day_wait_for_a_confirmation,
    a_clock_that_jumps_ahead_erases_nobody,
    a_clock_jump_is_believed_after_an_uptime_of_the_same_length,
    an_admin_who_confirms_the_time_ends_the_wait,
    a_clock_jump_while_the_service_was_stopped_delays_retention_too,
    nobody_is_erased_in_the_first_hour_after_a_start,
    a_start_on_an_older_copy_does_not_repeat_retention_erasures,
    a_wrong_confirmation_is_refused,
];

/// A service with an organization, 70 minutes after the start of the service.
struct Clock {
    app: App,
    hiring: Hiring,
}

impl Clock {
    fn start(change: impl FnOnce(&mut Value)) -> Self {
        let app = App::start();
        let hiring = app.hiring_with(change);
        let clock = Self { app, hiring };
        clock.wait_for_run();
        clock.pass_until("2026-11-21T10:10:00Z");
        clock
    }

    fn path(&self) -> String {
        format!("/api/admin/organizations/{}", self.hiring.organization_id)
    }

    fn configure(&self, settings: &Value) {
        self.app.admin().send("PATCH", &self.path(), &[], settings.to_string().as_bytes()).expect(200);
    }

    fn reject(&self, candidate: usize) {
        self.app.admin().post(&self.hiring.reject(candidate), &json!({})).expect(200);
    }

    fn status(&self) -> Value {
        self.app.admin().get(&format!("{}/retention", self.path())).expect(200).json()["data"].clone()
    }

    fn confirm(&self, body: &Value) -> Answer {
        self.app.admin().post(&format!("{}/retention/confirm", self.path()), body)
    }

    fn now(&self) -> Timestamp {
        appliance::world::World::now(self.app.world.as_ref())
    }

    /// Waits for a retention run that ends at the current time.
    fn wait_for_run(&self) {
        let now = self.now().to_string();
        let began = std::time::Instant::now();
        while self.status()["lastRunAt"] != now {
            assert!(began.elapsed().as_secs() < 60, "no run at {now}: {}", self.status());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Advances the wall clock to this time and the monotonic clock by as much, and waits for the retention run.
    fn pass_until(&self, time: &str) {
        let then = Timestamp::parse(time, Rounding::Down).unwrap();
        let seconds = then.since(self.now()).as_secs();
        assert!(seconds > 600, "{time} is not after the next run");
        self.app.pass(seconds);
        self.wait_for_run();
    }

    /// Advances both clocks by this many seconds, and waits for the retention run.
    fn pass(&self, seconds: u64) {
        self.app.pass(seconds);
        self.wait_for_run();
    }

    /// Moves the wall clock by this many days, and then advances both clocks until the service notices.
    fn jump(&self, days: i64) {
        self.app.world.set(Timestamp::from_micros(self.now().micros() + days * DAY_S * 1_000_000));
        self.pass(700);
    }

    fn erased(&self) -> Vec<String> {
        self.app.sql(&format!(
            "SELECT id FROM candidates WHERE organization_id = '{}' AND erased_at IS NOT NULL ORDER BY number",
            self.hiring.organization_id
        ))
    }

    fn id(&self, candidate: usize) -> String {
        self.hiring.candidates[candidate].candidate_id.clone()
    }

    fn due(&self) -> Value {
        self.status()["dueCount"].clone()
    }
}

const NOBODY: [String; 0] = [];
const DAY_S: i64 = 86_400;

fn a_candidate_due_on_one_day_is_erased_on_a_later_day() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 30 }));
    clock.reject(0);
    clock.pass_until("2026-12-21T23:40:00Z");
    assert_eq!(clock.due(), 0);
    clock.pass_until("2026-12-22T00:00:00Z");
    assert_eq!((clock.due(), clock.status()["dueSince"].clone()), (json!(1), json!("2026-12-22T00:00:00.000000Z")));
    clock.pass_until("2026-12-22T23:40:00Z");
    assert_eq!(clock.erased(), NOBODY);
    clock.pass_until("2026-12-23T00:00:00Z");
    assert_eq!(clock.erased(), [clock.id(0)]);
    assert_eq!(clock.due(), 0);
    let app = &clock.app;
    let row = format!(
        "SELECT action, user_id, api_key_id FROM activities WHERE candidate_id = '{}' ORDER BY number",
        clock.id(0)
    );
    assert_eq!(app.sql(&row)[1..], ["candidate.erased|null|null"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_erasure_list_names_retention_as_the_reason() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 30 }));
    clock.reject(0);
    clock.pass_until("2026-12-22T00:00:00Z");
    clock.pass_until("2026-12-23T00:00:00Z");
    let list = std::fs::read_to_string(appliance::store::file::beside(&clock.app.path, ".erased")).unwrap();
    assert!(list.lines().any(|line| line == format!("{} retention", clock.id(0))), "{list}");
}

fn days_begin_in_the_organizations_time_zone() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 30, "timeZone": "Europe/Berlin" }));
    clock.reject(0);
    clock.pass_until("2026-12-21T22:40:00Z");
    assert_eq!(clock.due(), 0);
    clock.pass_until("2026-12-21T23:00:00Z");
    assert_eq!(clock.due(), 1);
    clock.pass_until("2026-12-22T22:40:00Z");
    assert_eq!(clock.erased(), NOBODY);
    clock.pass_until("2026-12-22T23:00:00Z");
    assert_eq!(clock.erased(), [clock.id(0)]);
}

fn a_decision_a_hold_or_a_changed_setting_makes_a_candidate_not_due() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 1 }));
    (0..3).for_each(|candidate| clock.reject(candidate));
    clock.pass_until("2026-11-25T00:00:00Z");
    assert_eq!(clock.due(), 3);
    let hold = format!("/api/v1/candidates/{}/hold", clock.id(0));
    clock.app.admin().put(&hold, &json!({ "reason": "a case" })).expect(200);
    let reopen = clock.hiring.decision(1, 1, "reopen");
    clock.app.admin().post(&reopen, &json!({ "reason": "a mistake" })).expect(200);
    clock.reject(1);
    assert_eq!(clock.due(), 2);
    clock.pass_until("2026-11-26T00:00:00Z");
    assert_eq!(clock.erased(), [clock.id(2)]);
    // After the release, both remaining candidates are due again on the next day.
    clock.app.admin().delete(&hold).expect(200);
    clock.pass_until("2026-11-27T00:00:00Z");
    assert_eq!((clock.erased(), clock.due()), (vec![clock.id(2)], json!(2)));
    clock.configure(&json!({ "retentionDays": 300 }));
    assert_eq!(clock.due(), 0);
    clock.configure(&json!({ "retentionDays": 1 }));
    clock.pass_until("2026-11-28T00:00:00Z");
    assert_eq!((clock.erased(), clock.due()), (vec![clock.id(2)], json!(2)));
    clock.configure(&json!({ "retentionDays": null }));
    clock.pass_until("2026-11-29T00:00:00Z");
    assert_eq!((clock.erased(), clock.due()), (vec![clock.id(2)], json!(0)));
    assert_eq!(clock.status()["waitsFor"], Value::Null);
    assert_eq!(clock.app.check(), Vec::<String>::new());
}

fn a_candidate_with_an_application_in_progress_is_not_erased() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 1 }));
    clock.reject(2);
    clock.pass_until("2027-06-01T00:00:00Z");
    clock.pass_until("2027-06-02T00:00:00Z");
    assert_eq!(clock.erased(), [clock.id(2)]);
}

fn the_retention_period_starts_at_the_newest_decision_when_every_application_has_ended() {
    // The first candidate has applied twice.
    let clock = Clock::start(|document| {
        let mut again = first_role_of(document).clone();
        again["id"] = json!("role_again");
        again["steps"] = json!([{ "id": "step_again", "name": "Call" }]);
        let mut candidate = again["candidates"][0].clone();
        candidate["applicationId"] = json!("app_again");
        candidate["steps"] = json!([{ "id": "cstep_again", "roleStepId": "step_again", "status": "in_progress" }]);
        again["candidates"] = json!([candidate]);
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(again);
    });
    clock.configure(&json!({ "retentionDays": 2 }));
    clock.reject(0);
    clock.pass_until("2026-12-01T12:00:00Z");
    assert_eq!(clock.due(), 0);
    clock.app.admin().post("/api/v1/candidate-steps/cstep_again/reject", &json!({})).expect(200);
    clock.pass_until("2026-12-03T23:40:00Z");
    assert_eq!(clock.due(), 0);
    clock.pass_until("2026-12-04T00:00:00Z");
    assert_eq!(clock.due(), 1);
    clock.pass_until("2026-12-05T00:00:00Z");
    assert_eq!(clock.erased(), [clock.id(0)]);
}

fn without_an_application_the_retention_period_starts_at_the_last_change() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 1 }));
    clock.app.change(&format!(
        "INSERT INTO candidates (id, organization_id, name, email, email_key, created_at, updated_at)
         VALUES ('alone', '{}', '.', 'a@x', 'a@x', 0, {})",
        clock.hiring.organization_id,
        Timestamp::parse("2026-11-21T12:00:00Z", Rounding::Down).unwrap().micros()
    ));
    clock.pass_until("2026-11-22T23:40:00Z");
    assert_eq!(clock.due(), 0);
    clock.pass_until("2026-11-23T00:00:00Z");
    clock.pass_until("2026-11-24T00:00:00Z");
    assert_eq!(clock.erased(), ["alone"]);
}

fn the_retention_period_after_an_imported_decision_starts_at_the_date_of_the_decision() {
    // The four added candidates were, in this order, rejected long ago, hired long ago, hired on a date in the future,
    // and rejected without a date.
    let clock = Clock::start(|document| {
        let steps: Vec<Value> = first_role_of(document)["steps"].as_array().unwrap().clone();
        let rejected = |id: &str, rejected_at: Option<&str>| {
            let own_step = |(nth, role_step): (usize, &Value)| {
                let status = if nth == 0 { "rejected" } else { "pending" };
                let mut step = json!({ "id": format!("{id}_{nth}"), "roleStepId": role_step["id"], "status": status });
                if let Some(at) = rejected_at.filter(|_| nth == 0) {
                    step["rejectedAt"] = json!(at);
                }
                step
            };
            json!({ "id": id, "name": id, "email": format!("{id}@x.example"), "status": "Not Selected",
                "steps": steps.iter().enumerate().map(own_step).collect::<Vec<_>>() })
        };
        let hired = |id: &str, at: &str| json!({ "id": id, "name": id, "email": format!("{id}@x.example"), "status": "Hired", "hiredDate": at });
        first_role_of(document)["positions"] = json!(5);
        let candidates = first_role_of(document)["candidates"].as_array_mut().unwrap();
        candidates.push(rejected("rejected_then", Some("2026-01-01")));
        candidates.push(hired("hired_then", "2026-01-01"));
        candidates.push(hired("hired_tomorrow", "2027-01-01"));
        candidates.push(rejected("rejected_now", None));
    });
    clock.configure(&json!({ "retentionDays": 30 }));
    clock.pass_until("2026-11-21T12:00:00Z");
    assert_eq!(clock.due(), 2);
    clock.pass_until("2026-11-22T00:00:00Z");
    assert_eq!(clock.erased(), ["rejected_then", "hired_then"]);
    // A date in the future is ignored, and the time of the import is used instead.
    clock.pass_until("2026-12-21T23:40:00Z");
    assert_eq!(clock.due(), 0);
    clock.pass_until("2026-12-22T00:00:00Z");
    clock.pass_until("2026-12-23T00:00:00Z");
    assert_eq!(clock.erased(), ["rejected_then", "hired_then", "hired_tomorrow", "rejected_now"]);
}

fn in_a_small_organization_more_than_twenty_erasures_a_day_wait_for_a_confirmation() {
    const MANY: usize = 100;
    let clock = Clock::start(|document| {
        let candidate = |nth: usize| {
            json!({ "id": format!("many_{nth:03}"), "name": format!("Quixworth {nth}"), "email": format!("q{nth}@x.example"),
                "status": "Hired" })
        };
        first_role_of(document)["positions"] = json!(MANY + 1);
        first_role_of(document)["candidates"] = (0..MANY).map(candidate).collect();
    });
    clock.configure(&json!({ "retentionDays": 1 }));
    clock.pass_until("2026-11-24T00:00:00Z");
    assert_eq!((clock.due(), clock.status()["waitsFor"].clone()), (json!(MANY), Value::Null));
    clock.pass_until("2026-11-25T00:00:00Z");
    clock.pass_until("2026-11-26T00:00:00Z");
    assert_eq!(clock.erased(), NOBODY);
    let status = clock.status();
    assert_eq!((&status["waitsFor"], &status["waitingCount"]), (&json!("confirmation"), &json!(MANY)));
    assert!(
        clock.confirm(&json!({ "dueCount": MANY - 1 })).expect(409).json()["detail"].as_str().unwrap().contains("100")
    );
    assert_eq!(clock.confirm(&json!({ "dueCount": MANY })).expect(200).json()["data"]["waitingCount"], 0);
    clock.pass(700);
    assert_eq!(clock.erased().len(), MANY);
    let row = "SELECT user_id, detail FROM activities WHERE action = 'retention.confirmed'";
    assert_eq!(clock.app.sql(row), [r#"user_admin|{"before":null,"after":{"dueCount":100}}"#]);
    assert_eq!(clock.app.sql("SELECT count(*) FROM candidate_words WHERE word LIKE 'quix%'"), ["0"]);
    assert_eq!(clock.app.check(), Vec::<String>::new());
}

fn a_clock_that_jumps_ahead_erases_nobody() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 180 }));
    (0..3).for_each(|candidate| clock.reject(candidate));
    clock.pass(3 * 86_400);
    clock.jump(360);
    assert_eq!((clock.erased(), clock.due()), (NOBODY.to_vec(), json!(0)));
    let status = clock.status();
    assert_eq!(status["waitsFor"], "clock");
    assert_eq!(status["clock"]["now"], clock.now().to_string());
    // The service believes a corrected clock again after the clock has been right for as long as it was wrong. `jump`
    // lets that much time pass.
    clock.jump(-360);
    assert_eq!((clock.status()["waitsFor"].clone(), clock.due()), (Value::Null, json!(0)));
    // Nobody is erased after a day with a wrong clock either.
    clock.jump(350);
    clock.pass(86_400);
    assert_eq!((clock.erased(), clock.due()), (NOBODY.to_vec(), json!(0)));
    clock.jump(-720);
    assert_eq!(clock.status()["waitsFor"], "clock");
}

fn a_clock_jump_is_believed_after_an_uptime_of_the_same_length() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 2 }));
    clock.reject(0);
    clock.jump(5);
    clock.pass(4 * 86_400);
    assert_eq!((clock.status()["waitsFor"].clone(), clock.due()), (json!("clock"), json!(0)));
    clock.pass(86_400);
    assert_eq!((clock.status()["waitsFor"].clone(), clock.due()), (Value::Null, json!(1)));
    assert_eq!(clock.erased(), NOBODY);
    clock.pass(86_400);
    assert_eq!(clock.erased(), [clock.id(0)]);
}

fn an_admin_who_confirms_the_time_ends_the_wait() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 30 }));
    clock.reject(0);
    clock.jump(60);
    clock.confirm(&json!({ "clock": "2026-11-21" })).expect(409);
    clock.confirm(&json!({ "clock": clock.now().to_string() })).expect(200);
    // The service picks up the confirmation within a second.
    while clock.status()["waitsFor"] != Value::Null {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    clock.pass(700);
    assert_eq!((clock.erased(), clock.due()), (NOBODY.to_vec(), json!(1)));
    clock.pass(86_400);
    assert_eq!(clock.erased(), [clock.id(0)]);
}

fn a_clock_jump_while_the_service_was_stopped_delays_retention_too() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 30 }));
    clock.reject(0);
    clock.app.stop();
    clock.app.world.set(clock.now().plus(std::time::Duration::from_secs(100 * 86_400)));
    clock.app.start_again();
    clock.wait_for_run();
    clock.pass(4_000);
    assert_eq!((clock.status()["waitsFor"].clone(), clock.due()), (json!("clock"), json!(0)));
    // The wait continues after a restart.
    clock.pass(99 * 86_400);
    clock.app.stop();
    clock.app.start_again();
    clock.wait_for_run();
    clock.pass(86_400);
    assert_eq!((clock.status()["waitsFor"].clone(), clock.due()), (Value::Null, json!(1)));
}

fn nobody_is_erased_in_the_first_hour_after_a_start() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 1 }));
    clock.reject(0);
    clock.pass_until("2026-11-24T23:30:00Z");
    assert_eq!(clock.due(), 1);
    clock.app.stop();
    clock.app.start_again();
    clock.wait_for_run();
    clock.pass(3_000);
    assert_eq!((clock.status()["waitsFor"].clone(), clock.erased()), (json!("start"), NOBODY.to_vec()));
    assert_eq!(clock.status()["clock"]["waitSeconds"], 600);
    clock.pass(700);
    assert_eq!(clock.erased(), [clock.id(0)]);
}

fn a_start_on_an_older_copy_does_not_repeat_retention_erasures() {
    let clock = Clock::start(|_| {});
    clock.configure(&json!({ "retentionDays": 30 }));
    clock.reject(0);
    let copy = appliance::store::file::beside(&clock.app.path, ".copy");
    appliance::store::file::backup(&clock.app.path, &copy).unwrap();
    clock.pass_until("2026-12-22T00:00:00Z");
    clock.pass_until("2026-12-23T00:00:00Z");
    assert_eq!(clock.erased(), [clock.id(0)]);
    // An explicit erasure is repeated; the erasure by retention is not.
    clock.app.admin().delete(&clock.hiring.candidate_path(1)).expect(200);
    clock.app.stop();
    std::fs::rename(&copy, &clock.app.path).unwrap();
    clock.app.start_again();
    assert_eq!(clock.erased(), [clock.id(1)]);
    // The copy is a month old. When the service believes the clock, retention finds the candidate due again.
    clock.wait_for_run();
    clock.pass(4_000);
    assert_eq!((clock.erased(), clock.status()["waitsFor"].clone()), (vec![clock.id(1)], json!("clock")));
    clock.pass(40 * 86_400);
    clock.pass(86_400);
    assert_eq!(clock.erased(), [clock.id(0), clock.id(1)]);
}

fn a_wrong_confirmation_is_refused() {
    let clock = Clock::start(|_| {});
    let path = format!("{}/retention/confirm", clock.path());
    let admin = clock.app.admin();
    admin.send("POST", &path, &[], b"no JSON").expect(400);
    admin.send("POST", &path, &[("Content-Type", "text/plain")], b"{}").refused(415, "unsupported_media_type");
    admin.send("POST", &path, &[], &vec![b' '; 128 * 1_024 + 1]).refused(413, "payload_too_large");
    for wrong in [json!({}), json!({ "dueCount": -1 }), json!({ "dueCount": "1" }), json!({ "clock": "noon" })] {
        clock.confirm(&wrong).expect(400);
    }
    clock.confirm(&json!({ "dueCount": 1 })).expect(409);
    clock
        .confirm(&json!({ "dueCount": 0, "clock": clock.now().plus(std::time::Duration::from_secs(61)).to_string() }))
        .expect(409);
    clock
        .confirm(&json!({ "dueCount": 0, "clock": clock.now().plus(std::time::Duration::from_secs(59)).to_string() }))
        .expect(200);
    for unknown in ["org_none", "@"] {
        admin.get(&format!("/api/admin/organizations/{unknown}/retention")).expect(404);
        let confirm = format!("/api/admin/organizations/{unknown}/retention/confirm");
        admin.post(&confirm, &json!({ "dueCount": 0 })).expect(404);
    }
    assert_eq!(clock.app.sql("SELECT count(*) FROM activities WHERE action = 'retention.confirmed'"), ["1"]);
}

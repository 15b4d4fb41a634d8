//! The order of deliveries, fairness between organizations, and deliveries across a restart.

use std::time::{Duration, Instant};

use appliance::domain::hr_dispatch::SUSPECT_ATTEMPTS_MAX;
use appliance::http::Stopped;
use serde_json::{Value, json};

use crate::hr_retry::WorkerProbe;
use crate::hr_send::{after_attempts, delivering, eventually, hire, hire_for, integrate, newest};
use crate::support::app::Hr;
use crate::support::hiring::first_role_of;
use crate::support::receiver::Message;
use crate::support::{App, Behaviour, Hiring, Receiver};

crate::tests![
    deliveries_of_an_application_arrive_in_order,
    a_failed_delivery_holds_only_later_deliveries_of_its_application,
    a_delivery_that_waits_for_a_retry_holds_later_deliveries_of_its_application,
    each_organization_has_one_attempt_at_a_time,
    hanging_hr_systems_do_not_delay_other_organizations,
    suspect_hr_systems_hold_at_most_half_the_permits,
    an_hr_system_that_timed_out_is_suspect_until_it_answers,
    a_delivery_that_waits_for_a_retry_is_sent_after_a_restart,
    stopping_does_not_wait_for_a_hanging_hr_system,
];

/// Creates an organization that can hire all three of its candidates.
fn with_three_positions(app: &App) -> Hiring {
    app.hiring_with(|document| first_role_of(document)["positions"] = json!(3))
}

/// Reverses a hire and returns the id of the delivery.
fn reverse(app: &App, hiring: &Hiring, candidate: usize) -> String {
    app.admin().post(&hiring.decision(candidate, 3, "reject"), &json!({})).expect(200);
    newest(app, hiring)
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::id).collect()
}

fn deliveries_of_an_application_arrive_in_order() {
    let (app, receiver) = (delivering(Hr::default()), Receiver::start());
    let hiring = with_three_positions(&app);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), false);
    let mut sent = Vec::new();
    for candidate in 0..3 {
        sent.push((hire(&app, &hiring, candidate), reverse(&app, &hiring, candidate)));
    }
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let seen = receiver.wait_for(6);
    for ((hired, reversed), candidate) in sent.iter().zip(&hiring.candidates) {
        let application = json!(candidate.application_id);
        let of_application: Vec<&Message> =
            seen.iter().filter(|message| message.json()["data"]["application"]["id"] == application).collect();
        assert_eq!(of_application.iter().map(|message| message.id()).collect::<Vec<_>>(), [hired, reversed]);
        assert_eq!(
            (of_application[0].event().as_str(), of_application[1].event().as_str()),
            ("candidate.hired", "candidate.hire_reversed")
        );
    }
}

fn a_failed_delivery_holds_only_later_deliveries_of_its_application() {
    let (app, receiver) = (delivering(Hr { schedule: "5s", ..Hr::default() }), Receiver::start());
    let (probe, hiring) = (WorkerProbe::new(&app), app.hiring());
    integrate(&app, &hiring.organization_id, &receiver.url("/"), false);
    let (hired, reversed) = (hire(&app, &hiring, 0), reverse(&app, &hiring, 0));
    let other = hire(&app, &hiring, 1);
    receiver.will([Behaviour::status(500), Behaviour::status(204), Behaviour::status(500), Behaviour::status(204)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    assert_eq!(after_attempts(&app, &other, 1)["state"], "delivered");
    app.pass(6);
    assert_eq!(after_attempts(&app, &hired, 2)["state"], "failed");
    app.pass(86_400);
    probe.wait(&app);
    let held = after_attempts(&app, &reversed, 0);
    assert_eq!((&held["state"], &held["nextAttemptAt"]), (&json!("pending"), &Value::Null));
    assert_eq!(held["held"], json!({ "reason": "earlier_delivery", "deliveryId": hired }));
    app.admin().post_empty(&format!("/api/admin/hr-deliveries/{hired}/retry")).expect(200);
    assert_eq!(after_attempts(&app, &reversed, 1)["state"], "delivered");
    assert_eq!(ids(&receiver.seen()), [&hired, &other, &hired, &hired, &reversed]);
}

fn a_delivery_that_waits_for_a_retry_holds_later_deliveries_of_its_application() {
    let (app, receiver) = (delivering(Hr::default()), Receiver::start());
    let (probe, hiring) = (WorkerProbe::new(&app), app.hiring());
    receiver.will([Behaviour::status(500), Behaviour::status(204)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let hired = hire(&app, &hiring, 0);
    after_attempts(&app, &hired, 1);
    let reversed = reverse(&app, &hiring, 0);
    probe.wait(&app);
    assert_eq!(after_attempts(&app, &reversed, 0)["held"]["deliveryId"], json!(hired));
    app.pass(6);
    assert_eq!(after_attempts(&app, &reversed, 1)["state"], "delivered");
    assert_eq!(ids(&receiver.seen()), [&hired, &hired, &reversed]);
}

fn each_organization_has_one_attempt_at_a_time() {
    let (app, receiver) = (delivering(Hr::default()), Receiver::start());
    let probe = WorkerProbe::new(&app);
    receiver.will([Behaviour::Hold]);
    let (hiring, other) = (with_three_positions(&app), app.hiring());
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    for candidate in 0..3 {
        hire(&app, &hiring, candidate);
    }
    for under_way in 1..=3 {
        receiver.wait_for(under_way);
        probe.wait(&app);
        assert_eq!(receiver.connections(), under_way, "the next delivery waits for the answer to this one");
        receiver.release(usize::from(under_way < 3));
    }
    integrate(&app, &other.organization_id, &receiver.url("/"), true);
    hire(&app, &other, 0);
    // The other organization's delivery arrives while the first organization's third delivery is unanswered.
    receiver.wait_for(4);
    receiver.release(2);
}

fn hanging_hr_systems_do_not_delay_other_organizations() {
    let (app, hanging, healthy) = (delivering(Hr::default()), Receiver::start(), Receiver::start());
    hanging.will([Behaviour::Hold]);
    let held: Vec<String> = (0..8).map(|_| hire_for(&app, &hanging.url("/"))).collect();
    hanging.wait_for(8);
    let id = hire_for(&app, &healthy.url("/"));
    assert_eq!(after_attempts(&app, &id, 1)["state"], "delivered");
    for id in &held {
        assert_eq!(after_attempts(&app, id, 0)["state"], "pending", "the delivery is still unanswered");
    }
    hanging.release(8);
    for id in &held {
        assert_eq!(after_attempts(&app, id, 1)["state"], "delivered");
    }
}

/// Imports organizations that have no members and whose HR systems listen at this URL. Marks the HR systems as suspect,
/// and queues a ping for each.
fn ping_many(app: &App, count: usize, url: &str) {
    let organizations: Vec<Value> = (0..count)
        .map(|nth| {
            let integration =
                json!({ "url": url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "enabled": true });
            json!({ "id": format!("many_{nth}"), "slug": format!("many-{nth}"), "name": "M", "hrIntegration": integration })
        })
        .collect();
    app.import(&json!({ "organizations": organizations }));
    // An HR system is suspect if the last attempt to reach it timed out.
    app.change("UPDATE hr_integrations SET timed_out = 1 WHERE organization_id LIKE 'many%'");
    let admin = app.admin();
    for nth in 0..count {
        admin.post_empty(&format!("/api/admin/organizations/many_{nth}/hr-integration/test")).expect(202);
    }
}

fn suspect_hr_systems_hold_at_most_half_the_permits() {
    let app = delivering(Hr { timeout: Duration::from_secs(120), ..Hr::default() });
    let (probe, receiver) = (WorkerProbe::new(&app), Receiver::start());
    receiver.will([Behaviour::Hold]);
    ping_many(&app, SUSPECT_ATTEMPTS_MAX + 5, &receiver.url("/"));
    receiver.wait_for(SUSPECT_ATTEMPTS_MAX);
    // The HR system of `probe` is healthy and still receives its messages. No further suspect HR system receives one.
    probe.wait(&app);
    assert_eq!(receiver.connections(), SUSPECT_ATTEMPTS_MAX);
    receiver.release(1);
    receiver.wait_for(SUSPECT_ATTEMPTS_MAX + 1);
    probe.wait(&app);
    assert_eq!(receiver.connections(), SUSPECT_ATTEMPTS_MAX + 1);
    receiver.release(SUSPECT_ATTEMPTS_MAX + 4);
    receiver.wait_for(SUSPECT_ATTEMPTS_MAX + 5);
}

fn an_hr_system_that_timed_out_is_suspect_until_it_answers() {
    let app = delivering(Hr { timeout: Duration::from_secs(2), ..Hr::default() });
    let (hiring, receiver) = (app.hiring(), Receiver::start());
    receiver.will([Behaviour::Silence, Behaviour::status(500), Behaviour::Silence, Behaviour::status(204)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let id = hire(&app, &hiring, 0);
    for (attempts, is_suspect) in [(1, "1"), (2, "0"), (3, "1"), (4, "0")] {
        after_attempts(&app, &id, attempts);
        assert_eq!(app.sql("SELECT timed_out FROM hr_integrations"), [is_suspect], "{attempts}");
        app.pass(3_600);
    }
}

fn a_delivery_that_waits_for_a_retry_is_sent_after_a_restart() {
    let (app, receiver) = (delivering(Hr::default()), Receiver::start());
    let (probe, hiring) = (WorkerProbe::new(&app), app.hiring());
    receiver.will([Behaviour::status(500), Behaviour::status(204)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let hired = hire(&app, &hiring, 0);
    after_attempts(&app, &hired, 1);
    let reversed = reverse(&app, &hiring, 0);
    assert_eq!(app.stop(), Stopped::Gracefully);
    app.pass(4);
    app.start_again();
    probe.wait(&app);
    assert_eq!(receiver.seen().len(), 1, "a restart does not bring a retry forward");
    app.pass(2);
    assert_eq!(after_attempts(&app, &reversed, 1)["state"], "delivered");
    assert_eq!(ids(&receiver.seen()), [&hired, &hired, &reversed]);
}

fn stopping_does_not_wait_for_a_hanging_hr_system() {
    let app = delivering(Hr { timeout: Duration::from_secs(120), ..Hr::default() });
    let (hiring, receiver) = (app.hiring(), Receiver::start());
    receiver.will([Behaviour::Silence, Behaviour::status(204)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let (first, second) = (hire(&app, &hiring, 0), hire(&app, &hiring, 1));
    receiver.wait_for(1);
    let began = Instant::now();
    assert_eq!(app.stop(), Stopped::Gracefully);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    app.start_again();
    // The attempt that was cut off is repeated, and the other delivery follows.
    eventually(&app, &second, |delivery| delivery["state"] == "delivered");
    assert_eq!(ids(&receiver.seen()), [&first, &first, &second]);
    assert_eq!(
        after_attempts(&app, &first, 1)["state"],
        "delivered",
        "the attempt that was cut off has no known result"
    );
    assert_eq!(app.check(), [] as [String; 0]);
}

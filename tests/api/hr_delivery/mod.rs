//! `/api/admin/hr-deliveries`: admins list, read and retry deliveries.

mod list;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::list::{
    a_filtered_list_is_paged, a_list_without_deliveries_is_an_empty_page, a_page_has_1_to_500_deliveries,
    all_invalid_parameters_are_reported_together,
    deliveries_are_listed_newest_first_and_filtered_by_organization_and_state,
    paging_reaches_the_end_while_deliveries_are_added,
};
use super::support::app::{Hr, Options};
use super::support::{Answer, App, Behaviour, Hiring, Receiver};

crate::tests![
    a_list_without_deliveries_is_an_empty_page,
    a_listed_delivery_has_every_field,
    pending_and_failed_deliveries_are_listed_with_their_last_attempt,
    a_single_delivery_has_its_message_and_every_attempt,
    the_newest_fifty_attempts_are_retained,
    a_held_delivery_names_the_reason,
    a_ping_has_its_documented_message,
    the_first_kib_of_an_answer_is_stored_and_escaped,
    deliveries_are_listed_newest_first_and_filtered_by_organization_and_state,
    paging_reaches_the_end_while_deliveries_are_added,
    a_filtered_list_is_paged,
    a_page_has_1_to_500_deliveries,
    all_invalid_parameters_are_reported_together,
    an_unknown_organization_or_delivery_is_not_found,
    retrying_a_failed_delivery_restarts_its_schedule_under_the_same_id,
    retrying_a_pending_delivery_sends_it_at_once,
    a_retry_of_a_delivery_that_cannot_be_sent_is_a_conflict,
    only_admins_read_and_retry_deliveries,
];

const DELIVERIES: &str = "/api/admin/hr-deliveries";

/// The time at which the test clock starts, as answers show it.
pub(super) const NOW: &str = "2026-11-21T09:00:00.000000Z";

/// Returns the time this many seconds after [`NOW`].
fn time_after(seconds: u64) -> Value {
    json!(format!("2026-11-21T09:{:02}:{:02}.000000Z", seconds / 60, seconds % 60))
}

/// The maximum time that a test waits for an expected state.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a service with this delivery schedule, and an HR system with this behaviour for one organization.
pub(super) fn start(schedule: &'static str, script: &[Behaviour]) -> (App, Hiring, Receiver) {
    let app = App::with(Options { hr: Some(Hr { schedule, ..Hr::default() }), ..Options::default() });
    let (hiring, receiver) = (app.hiring(), Receiver::start());
    receiver.will(script.to_vec());
    save(&app, &hiring, &json!({ "url": receiver.url("/hooks") }));
    (app, hiring, receiver)
}

/// Returns the path of an organization's integration.
pub(super) fn integration(hiring: &Hiring) -> String {
    format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id)
}

/// Saves an organization's integration and returns the answer's data.
pub(super) fn save(app: &App, hiring: &Hiring, body: &Value) -> Value {
    app.admin().put(&integration(hiring), body).expect(200).json()["data"].clone()
}

/// Queues a ping and returns its id.
pub(super) fn ping(app: &App, hiring: &Hiring) -> String {
    let answer = app.admin().post_empty(&format!("{}/test", integration(hiring))).expect(202);
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

/// Hires the `candidate`-th candidate and returns the id of the delivery.
pub(super) fn hire(app: &App, hiring: &Hiring, candidate: usize) -> String {
    app.admin().post_empty(&hiring.hire(candidate)).expect(200);
    newest(app, hiring)
}

/// Reverses the hire of the `candidate`-th candidate and returns the id of the delivery.
pub(super) fn reverse(app: &App, hiring: &Hiring, candidate: usize) -> String {
    app.admin().post_empty(&hiring.decision(candidate, 3, "reject")).expect(200);
    newest(app, hiring)
}

fn newest(app: &App, hiring: &Hiring) -> String {
    ids(&page(app, &format!("organizationId={}&limit=1", hiring.organization_id)))[0].clone()
}

fn page(app: &App, query: &str) -> Value {
    app.admin().get(&format!("{DELIVERIES}?{query}")).expect(200).json()
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn read(app: &App, id: &str) -> Value {
    app.admin().get(&format!("{DELIVERIES}/{id}")).expect(200).json()["data"].clone()
}

/// Polls until a delivery is as expected, and returns it.
#[track_caller]
pub(super) fn wait_until(app: &App, id: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let delivery = read(app, id);
        if is_expected(&delivery) {
            return delivery;
        }
        assert!(began.elapsed() < PATIENCE, "the delivery never reached the expected state: {delivery}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a delivery has had this many attempts, and returns it.
#[track_caller]
pub(super) fn after_attempts(app: &App, id: &str, attempts: u64) -> Value {
    wait_until(app, id, |delivery| delivery["attempts"] == attempts)
}

fn retry(app: &App, id: &str) -> Answer {
    app.admin().post_empty(&format!("{DELIVERIES}/{id}/retry"))
}

fn a_listed_delivery_has_every_field() {
    let accepted = Behaviour::Answer(201, vec![], b"{\"taken\":\"yes\"}".to_vec());
    let (app, hiring, _receiver) = start("5s", &[accepted]);
    let id = hire(&app, &hiring, 0);
    after_attempts(&app, &id, 1);
    let page = page(&app, "");
    let duration = &page["data"][0]["lastAttempt"]["durationMs"];
    assert!(duration.as_f64().unwrap() > 0.0, "{page}");
    let expected = json!({
        "id": id,
        "organizationId": hiring.organization_id,
        "applicationId": hiring.candidates[0].application_id,
        "type": "candidate.hired",
        "state": "delivered",
        "attempts": 1,
        "createdAt": NOW,
        "nextAttemptAt": null,
        "held": null,
        "lastAttempt":
            { "at": NOW, "durationMs": duration, "status": 201, "error": null, "answer": "{\"taken\":\"yes\"}" },
    });
    assert_eq!(page["data"], json!([expected]));
    let unique = id.strip_prefix("evt_").unwrap();
    assert!(unique.len() == 26 && unique.bytes().all(|byte| b"0123456789abcdefghjkmnpqrstvwxyz".contains(&byte)));
}

fn pending_and_failed_deliveries_are_listed_with_their_last_attempt() {
    let (app, hiring, receiver) = start("10s", &[Behaviour::status(503), Behaviour::HangUp]);
    app.world.fix_random(Some(0));
    let id = hire(&app, &hiring, 0);
    let waiting = after_attempts(&app, &id, 1);
    assert_eq!((&waiting["state"], &waiting["held"]), (&json!("pending"), &json!(null)));
    assert_eq!(waiting["nextAttemptAt"], time_after(10));
    assert_eq!((&waiting["lastAttempt"]["status"], &waiting["lastAttempt"]["answer"]), (&json!(503), &json!("")));
    app.pass(10);
    let failed = after_attempts(&app, &id, 2);
    assert_eq!((&failed["state"], &failed["nextAttemptAt"]), (&json!("failed"), &json!(null)));
    let last = &failed["lastAttempt"];
    assert_eq!((&last["status"], &last["answer"], &last["at"]), (&json!(null), &json!(null), &time_after(10)));
    assert!(last["error"].as_str().unwrap().starts_with("no response: "), "{last}");
    assert_eq!(page(&app, "state=failed")["data"][0]["lastAttempt"], *last);
    assert_eq!(receiver.seen().len(), 2);
}

fn a_single_delivery_has_its_message_and_every_attempt() {
    let script = [Behaviour::Answer(500, vec![], b"no".to_vec()), Behaviour::Raw(vec![b'?']), Behaviour::status(204)];
    let (app, hiring, receiver) = start("10s,10s", &script);
    let id = hire(&app, &hiring, 0);
    for attempts in 1..=2 {
        after_attempts(&app, &id, attempts);
        app.pass(20);
    }
    let delivery = after_attempts(&app, &id, 3);
    let mut expected = page(&app, "")["data"][0].clone();
    expected["payload"] = receiver.seen()[2].json();
    let history = delivery["history"].as_array().unwrap();
    let seen: Vec<Value> =
        history.iter().map(|attempt| json!([attempt["at"], attempt["status"], attempt["answer"]])).collect();
    assert_eq!(
        seen,
        [json!([time_after(0), 500, "no"]), json!([time_after(20), null, null]), json!([time_after(40), 204, ""])]
    );
    assert_eq!(history[2], delivery["lastAttempt"]);
    expected["history"] = delivery["history"].clone();
    assert_eq!(delivery, expected);
}

fn the_newest_fifty_attempts_are_retained() {
    let (app, hiring, _receiver) = start("10s", &[Behaviour::status(500)]);
    let id = hire(&app, &hiring, 0);
    after_attempts(&app, &id, 1);
    // A delivery can accumulate many attempts through retries over months.
    app.change(
        "WITH RECURSIVE series (value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM series WHERE value < 50)
         INSERT INTO hr_attempts (delivery_number, number, at, duration, status)
         SELECT 1, value, value, 0, 500 + value FROM series;
         UPDATE hr_deliveries SET attempts = 50",
    );
    assert_eq!(read(&app, &id)["history"].as_array().unwrap().len(), 50);
    retry(&app, &id).expect(200);
    let history = after_attempts(&app, &id, 51)["history"].as_array().unwrap().clone();
    assert_eq!((history.len(), &history[0]["status"], &history[49]["status"]), (50, &json!(502), &json!(500)));
}

fn a_held_delivery_names_the_reason() {
    let app = App::start();
    let hiring = app.hiring();
    let url = json!({ "url": "https://hr.example.com" });
    save(&app, &hiring, &url);
    let (hired, reversed) = (hire(&app, &hiring, 0), reverse(&app, &hiring, 0));
    let held = || [&hired, &reversed].map(|id| json!([read(&app, id)["held"], read(&app, id)["nextAttemptAt"]]));
    let held_by_earlier = json!([{ "reason": "earlier_delivery", "deliveryId": hired }, null]);
    assert_eq!(held(), [json!([null, NOW]), held_by_earlier.clone()]);
    save(&app, &hiring, &json!({ "url": "https://hr.example.com", "enabled": false }));
    let both = |reason: &str| [(); 2].map(|()| json!([{ "reason": reason }, null]));
    assert_eq!(held(), both("integration_disabled"));
    // A ping tests whether the integration would work, so nothing holds it.
    assert_eq!(read(&app, &ping(&app, &hiring))["held"], json!(null));
    app.admin().delete(&integration(&hiring)).expect(200);
    assert_eq!(held(), both("no_integration"));
    save(&app, &hiring, &url);
    assert_eq!(held(), [json!([null, NOW]), held_by_earlier]);
}

fn a_ping_has_its_documented_message() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let id = ping(&app, &hiring);
    let message = &receiver.wait_for(1)[0];
    let organization = json!({ "id": hiring.organization_id, "slug": hiring.slug, "name": "Acme 1" });
    let expected = json!({ "type": "ping", "version": 1, "timestamp": NOW, "data": { "organization": organization } });
    assert_eq!(message.json(), expected);
    assert_eq!((message.id(), message.request_line.as_str()), (id.as_str(), "POST /hooks HTTP/1.1"));
    assert_eq!(message.header("content-type"), "application/json");
    let delivery = after_attempts(&app, &id, 1);
    assert_eq!((&delivery["payload"], &delivery["type"]), (&expected, &json!("ping")));
    assert_eq!((&delivery["applicationId"], &delivery["state"]), (&json!(null), &json!("delivered")));
    // A ping has one attempt, and one more with each retry. It is sent even if the integration is disabled.
    receiver.will([Behaviour::status(500)]);
    save(&app, &hiring, &json!({ "url": receiver.url("/hooks"), "enabled": false }));
    let id = ping(&app, &hiring);
    for attempts in 1..=2 {
        let failed = after_attempts(&app, &id, attempts);
        assert_eq!((&failed["state"], &failed["nextAttemptAt"]), (&json!("failed"), &json!(null)));
        retry(&app, &id).expect(200);
    }
}

fn the_first_kib_of_an_answer_is_stored_and_escaped() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let x = |count: usize| "x".repeat(count);
    for (body, stored) in [
        (Vec::new(), String::new()),
        (x(1_024).into_bytes(), x(1_024)),
        (x(1_025).into_bytes(), x(1_024)),
        (x(65_536).into_bytes(), x(1_024)),
        ("ä".repeat(600).into_bytes(), "ä".repeat(512)),
        (format!("a{}", "ä".repeat(600)).into_bytes(), format!("a{}", "ä".repeat(511))),
        (b"a\0b\x1b[31m\r\n\x07\x7f\"\\</script>".to_vec(), "a b\u{1b}[31m\r\n\u{7}\u{7f}\"\\</script>".to_owned()),
        (b"\xff\xfe\xed\xa0\x80 \xc3".to_vec(), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd} \u{fffd}".to_owned()),
        (vec![0xff; 1_024], "\u{fffd}".repeat(341)),
    ] {
        receiver.will([Behaviour::Answer(200, vec![("Content-Type", "text/html".to_owned())], body)]);
        let id = ping(&app, &hiring);
        assert_eq!(after_attempts(&app, &id, 1)["lastAttempt"]["answer"], stored);
        for path in [format!("{DELIVERIES}/{id}"), format!("{DELIVERIES}?limit=1")] {
            let answer = app.admin().get(&path).expect(200);
            assert!(!answer.body.iter().any(|byte| *byte < b' '), "{}", answer.text());
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
    }
}

fn an_unknown_organization_or_delivery_is_not_found() {
    let app = App::start();
    app.hiring();
    for id in ["org_9", "ORG_1", "", "no%20id", "a%2Fb", &"x".repeat(65)] {
        let answer = app.admin().get(&format!("{DELIVERIES}?organizationId={id}")).refused(404, "not_found");
        assert_eq!(answer.json()["detail"], "there is no organization with this organizationId");
    }
    for id in ["evt_1", "no%20id", "%00", "a%2Fb", &"x".repeat(65)] {
        for answer in [app.admin().get(&format!("{DELIVERIES}/{id}")), retry(&app, id)] {
            assert_eq!(answer.refused(404, "not_found").json()["detail"], "there is no such delivery", "{id}");
        }
    }
}

fn retrying_a_failed_delivery_restarts_its_schedule_under_the_same_id() {
    let (app, hiring, receiver) = start("10s,20s", &[Behaviour::status(500)]);
    app.world.fix_random(Some(0));
    let id = hire(&app, &hiring, 0);
    for round in 0..2 {
        for (attempts, delay, next) in [(1, 10, 10), (2, 20, 30)] {
            let delivery = after_attempts(&app, &id, round * 3 + attempts);
            let next = time_after(round * 30 + next);
            assert_eq!((&delivery["state"], &delivery["nextAttemptAt"]), (&json!("pending"), &next));
            app.pass(delay);
        }
        let delivery = after_attempts(&app, &id, round * 3 + 3);
        assert_eq!((&delivery["state"], &delivery["nextAttemptAt"]), (&json!("failed"), &json!(null)));
        let mut expected = page(&app, "")["data"][0].clone();
        expected["state"] = json!("pending");
        expected["nextAttemptAt"] = time_after(round * 30 + 30);
        assert_eq!(retry(&app, &id).expect(200).json(), json!({ "success": true, "data": expected }));
    }
    let messages = receiver.wait_for(7);
    assert!(messages.iter().all(|message| message.id() == id && message.body == messages[0].body));
}

fn retrying_a_pending_delivery_sends_it_at_once() {
    let (app, hiring, receiver) = start("24h", &[Behaviour::status(500), Behaviour::status(204)]);
    let id = hire(&app, &hiring, 0);
    assert_eq!(after_attempts(&app, &id, 1)["state"], "pending");
    assert_eq!(retry(&app, &id).expect(200).json()["data"]["nextAttemptAt"], NOW);
    assert_eq!(after_attempts(&app, &id, 2)["state"], "delivered");
    assert_eq!(receiver.seen()[1].id(), id);
}

fn a_retry_of_a_delivery_that_cannot_be_sent_is_a_conflict() {
    let (app, hiring, receiver) = start("10s", &[Behaviour::status(500)]);
    let refused = |id: &str, detail: &str| {
        let before = read(&app, id);
        let answer = retry(&app, id).refused(409, "conflict");
        assert!(answer.json()["detail"].as_str().unwrap().starts_with(detail), "{}", answer.text());
        assert_eq!(read(&app, id), before);
    };
    let (hired, reversed) = (hire(&app, &hiring, 0), reverse(&app, &hiring, 0));
    after_attempts(&app, &hired, 1);
    refused(&reversed, "an earlier delivery for this application has not arrived");
    app.pass(11);
    assert_eq!(after_attempts(&app, &hired, 2)["state"], "failed");
    refused(&reversed, "an earlier delivery for this application has not arrived");
    let url = receiver.url("/hooks");
    save(&app, &hiring, &json!({ "url": url, "enabled": false }));
    [&hired, &reversed].iter().for_each(|id| refused(id, "the organization's HR integration is disabled"));
    app.admin().delete(&integration(&hiring)).expect(200);
    [&hired, &reversed].iter().for_each(|id| refused(id, "the organization has no HR integration"));
    // Enabling an integration does not send failed deliveries again. An admin retries them.
    save(&app, &hiring, &json!({ "url": url }));
    assert_eq!(
        (&read(&app, &hired)["state"], &read(&app, &reversed)["held"]["deliveryId"]),
        (&json!("failed"), &json!(hired))
    );
    receiver.will([Behaviour::status(204)]);
    retry(&app, &hired).expect(200);
    after_attempts(&app, &reversed, 1);
    [&hired, &reversed].iter().for_each(|id| refused(id, "the delivery has arrived"));
}

fn only_admins_read_and_retry_deliveries() {
    let app = App::with(Options { per_minute: Some(20), ..Options::default() });
    let hiring = app.hiring();
    save(&app, &hiring, &json!({ "url": "https://hr.example.com" }));
    let id = ping(&app, &hiring);
    let routes = [
        ("GET", DELIVERIES.to_owned()),
        ("GET", format!("{DELIVERIES}/{id}")),
        ("POST", format!("{DELIVERIES}/{id}/retry")),
    ];
    let clients =
        ["owner", "admin", "moderator", "hr_representative", "member"].map(|role| app.user(&hiring.staff(role)));
    for (method, path) in &routes {
        clients.iter().for_each(|client| drop(client.send(method, path, &[], b"").refused(403, "forbidden")));
        app.anonymous().send(method, path, &[], b"").refused(401, "unauthorized");
        app.key("rpk_no").send(method, path, &[], b"").refused(401, "unauthorized");
    }
    while app.admin().get(DELIVERIES).status == 200 {}
    for (method, path) in &routes {
        app.admin().send(method, path, &[], b"").refused(429, "rate_limited");
    }
}

//! `/api/admin/hr-deliveries`: what admins see of deliveries, and sending one again.

mod list;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::list::{
    a_narrowed_list_has_pages_too, a_page_has_1_to_500_deliveries,
    deliveries_are_listed_newest_first_and_narrowed_by_organization_and_state,
    every_parameter_at_fault_is_told_at_once, nothing_sent_is_an_empty_page,
    pages_lead_to_the_end_also_while_deliveries_are_added,
};
use super::support::app::{Hr, Options};
use super::support::{Answer, App, Behaviour, Hiring, Receiver};

crate::tests![
    nothing_sent_is_an_empty_page,
    a_delivery_that_arrived_is_listed_whole,
    a_delivery_that_waits_or_failed_is_listed_with_its_last_attempt,
    one_delivery_is_read_with_its_message_and_every_attempt,
    the_newest_fifty_attempts_are_kept,
    a_held_delivery_says_what_holds_it,
    a_ping_is_exactly_this_message,
    a_kib_of_an_answer_is_kept_and_nothing_in_it_does_harm,
    deliveries_are_listed_newest_first_and_narrowed_by_organization_and_state,
    pages_lead_to_the_end_also_while_deliveries_are_added,
    a_narrowed_list_has_pages_too,
    a_page_has_1_to_500_deliveries,
    every_parameter_at_fault_is_told_at_once,
    an_unknown_organization_or_delivery_is_not_found,
    a_failed_delivery_is_sent_again_under_its_id_with_a_new_schedule,
    a_delivery_that_waits_is_sent_at_once,
    what_cannot_be_sent_now_is_not_sent_again,
    only_admins_see_and_send,
];

const DELIVERIES: &str = "/api/admin/hr-deliveries";

/// The beginning as answers have it.
pub(super) const NOW: &str = "2026-11-21T09:00:00.000000Z";

/// So many seconds later.
fn at(seconds: u64) -> Value {
    json!(format!("2026-11-21T09:{:02}:{:02}.000000Z", seconds / 60, seconds % 60))
}

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service that delivers with this schedule, an organization, and its HR system, which does this.
pub(super) fn start(schedule: &'static str, script: &[Behaviour]) -> (App, Hiring, Receiver) {
    let app = App::with(Options { hr: Some(Hr { schedule, ..Hr::default() }), ..Options::default() });
    let (hiring, receiver) = (app.hiring(), Receiver::start());
    receiver.will(script.to_vec());
    save(&app, &hiring, &json!({ "url": receiver.url("/hooks") }));
    (app, hiring, receiver)
}

/// The path of an organization's integration.
pub(super) fn integration(hiring: &Hiring) -> String {
    format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id)
}

/// Saves an organization's integration; what is answered.
pub(super) fn save(app: &App, hiring: &Hiring, body: &Value) -> Value {
    app.admin().put(&integration(hiring), body).expect(200).json()["data"].clone()
}

/// Queues a ping; its id.
pub(super) fn ping(app: &App, hiring: &Hiring) -> String {
    let answer = app.admin().post_empty(&format!("{}/test", integration(hiring))).expect(202);
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

/// Hires the `candidate`-th candidate; the delivery's id.
pub(super) fn hire(app: &App, hiring: &Hiring, candidate: usize) -> String {
    app.admin().post_empty(&hiring.hire(candidate)).expect(200);
    newest(app, hiring)
}

/// Reverses that hire; the delivery's id.
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

/// A delivery once it is so.
#[track_caller]
pub(super) fn once(app: &App, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let delivery = read(app, id);
        if is_so(&delivery) {
            return delivery;
        }
        assert!(began.elapsed() < PATIENCE, "it never is so: {delivery}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A delivery once it was tried so often.
#[track_caller]
pub(super) fn tried(app: &App, id: &str, attempts: u64) -> Value {
    once(app, id, |delivery| delivery["attempts"] == attempts)
}

fn retry(app: &App, id: &str) -> Answer {
    app.admin().post_empty(&format!("{DELIVERIES}/{id}/retry"))
}

fn a_delivery_that_arrived_is_listed_whole() {
    let taken = Behaviour::Answer(201, vec![], b"{\"taken\":\"yes\"}".to_vec());
    let (app, hiring, _receiver) = start("5s", &[taken]);
    let id = hire(&app, &hiring, 0);
    tried(&app, &id, 1);
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

fn a_delivery_that_waits_or_failed_is_listed_with_its_last_attempt() {
    let (app, hiring, receiver) = start("10s", &[Behaviour::status(503), Behaviour::HangUp]);
    app.world.fix_random(Some(0));
    let id = hire(&app, &hiring, 0);
    let waiting = tried(&app, &id, 1);
    assert_eq!((&waiting["state"], &waiting["held"]), (&json!("pending"), &json!(null)));
    assert_eq!(waiting["nextAttemptAt"], at(10));
    assert_eq!((&waiting["lastAttempt"]["status"], &waiting["lastAttempt"]["answer"]), (&json!(503), &json!("")));
    app.pass(10);
    let failed = tried(&app, &id, 2);
    assert_eq!((&failed["state"], &failed["nextAttemptAt"]), (&json!("failed"), &json!(null)));
    let last = &failed["lastAttempt"];
    assert_eq!((&last["status"], &last["answer"], &last["at"]), (&json!(null), &json!(null), &at(10)));
    assert!(last["error"].as_str().unwrap().starts_with("no answer: "), "{last}");
    assert_eq!(page(&app, "state=failed")["data"][0]["lastAttempt"], *last);
    assert_eq!(receiver.seen().len(), 2);
}

fn one_delivery_is_read_with_its_message_and_every_attempt() {
    let script = [Behaviour::Answer(500, vec![], b"no".to_vec()), Behaviour::Raw(vec![b'?']), Behaviour::status(204)];
    let (app, hiring, receiver) = start("10s,10s", &script);
    let id = hire(&app, &hiring, 0);
    for attempts in 1..=2 {
        tried(&app, &id, attempts);
        app.pass(20);
    }
    let whole = tried(&app, &id, 3);
    let mut expected = page(&app, "")["data"][0].clone();
    expected["payload"] = receiver.seen()[2].json();
    let history = whole["history"].as_array().unwrap();
    let seen: Vec<Value> =
        history.iter().map(|attempt| json!([attempt["at"], attempt["status"], attempt["answer"]])).collect();
    assert_eq!(seen, [json!([at(0), 500, "no"]), json!([at(20), null, null]), json!([at(40), 204, ""])]);
    assert_eq!(history[2], whole["lastAttempt"]);
    expected["history"] = whole["history"].clone();
    assert_eq!(whole, expected);
}

fn the_newest_fifty_attempts_are_kept() {
    let (app, hiring, _receiver) = start("10s", &[Behaviour::status(500)]);
    let id = hire(&app, &hiring, 0);
    tried(&app, &id, 1);
    // As after retries by hand over months.
    app.change(
        "WITH RECURSIVE series (value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM series WHERE value < 50)
         INSERT INTO hr_attempts (delivery_number, number, at, duration, status)
         SELECT 1, value, value, 0, 500 + value FROM series;
         UPDATE hr_deliveries SET attempts = 50",
    );
    assert_eq!(read(&app, &id)["history"].as_array().unwrap().len(), 50);
    retry(&app, &id).expect(200);
    let history = tried(&app, &id, 51)["history"].as_array().unwrap().clone();
    assert_eq!((history.len(), &history[0]["status"], &history[49]["status"]), (50, &json!(502), &json!(500)));
}

fn a_held_delivery_says_what_holds_it() {
    let app = App::start();
    let hiring = app.hiring();
    let url = json!({ "url": "https://hr.example.com" });
    save(&app, &hiring, &url);
    let (hired, reversed) = (hire(&app, &hiring, 0), reverse(&app, &hiring, 0));
    let held = || [&hired, &reversed].map(|id| json!([read(&app, id)["held"], read(&app, id)["nextAttemptAt"]]));
    let behind = json!([{ "reason": "earlier_delivery", "deliveryId": hired }, null]);
    assert_eq!(held(), [json!([null, NOW]), behind.clone()]);
    save(&app, &hiring, &json!({ "url": "https://hr.example.com", "enabled": false }));
    let both = |reason: &str| [(); 2].map(|()| json!([{ "reason": reason }, null]));
    assert_eq!(held(), both("integration_disabled"));
    // A ping asks whether it would work.
    assert_eq!(read(&app, &ping(&app, &hiring))["held"], json!(null));
    app.admin().delete(&integration(&hiring)).expect(200);
    assert_eq!(held(), both("no_integration"));
    save(&app, &hiring, &url);
    assert_eq!(held(), [json!([null, NOW]), behind]);
}

fn a_ping_is_exactly_this_message() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let id = ping(&app, &hiring);
    let message = &receiver.wait_for(1)[0];
    let organization = json!({ "id": hiring.organization_id, "slug": hiring.slug, "name": "Acme 1" });
    let expected = json!({ "type": "ping", "version": 1, "timestamp": NOW, "data": { "organization": organization } });
    assert_eq!(message.json(), expected);
    assert_eq!((message.id(), message.request_line.as_str()), (id.as_str(), "POST /hooks HTTP/1.1"));
    assert_eq!(message.header("content-type"), "application/json");
    let delivery = tried(&app, &id, 1);
    assert_eq!((&delivery["payload"], &delivery["type"]), (&expected, &json!("ping")));
    assert_eq!((&delivery["applicationId"], &delivery["state"]), (&json!(null), &json!("delivered")));
    // It is tried once, and once more each time it is sent again, also while nothing else goes.
    receiver.will([Behaviour::status(500)]);
    save(&app, &hiring, &json!({ "url": receiver.url("/hooks"), "enabled": false }));
    let id = ping(&app, &hiring);
    for attempts in 1..=2 {
        let failed = tried(&app, &id, attempts);
        assert_eq!((&failed["state"], &failed["nextAttemptAt"]), (&json!("failed"), &json!(null)));
        retry(&app, &id).expect(200);
    }
}

fn a_kib_of_an_answer_is_kept_and_nothing_in_it_does_harm() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let x = |count: usize| "x".repeat(count);
    for (body, kept) in [
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
        assert_eq!(tried(&app, &id, 1)["lastAttempt"]["answer"], kept);
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

fn a_failed_delivery_is_sent_again_under_its_id_with_a_new_schedule() {
    let (app, hiring, receiver) = start("10s,20s", &[Behaviour::status(500)]);
    app.world.fix_random(Some(0));
    let id = hire(&app, &hiring, 0);
    for round in 0..2 {
        for (attempts, delay, next) in [(1, 10, 10), (2, 20, 30)] {
            let delivery = tried(&app, &id, round * 3 + attempts);
            let next = at(round * 30 + next);
            assert_eq!((&delivery["state"], &delivery["nextAttemptAt"]), (&json!("pending"), &next));
            app.pass(delay);
        }
        let delivery = tried(&app, &id, round * 3 + 3);
        assert_eq!((&delivery["state"], &delivery["nextAttemptAt"]), (&json!("failed"), &json!(null)));
        let mut expected = page(&app, "")["data"][0].clone();
        expected["state"] = json!("pending");
        expected["nextAttemptAt"] = at(round * 30 + 30);
        assert_eq!(retry(&app, &id).expect(200).json(), json!({ "success": true, "data": expected }));
    }
    let messages = receiver.wait_for(7);
    assert!(messages.iter().all(|message| message.id() == id && message.body == messages[0].body));
}

fn a_delivery_that_waits_is_sent_at_once() {
    let (app, hiring, receiver) = start("24h", &[Behaviour::status(500), Behaviour::status(204)]);
    let id = hire(&app, &hiring, 0);
    assert_eq!(tried(&app, &id, 1)["state"], "pending");
    assert_eq!(retry(&app, &id).expect(200).json()["data"]["nextAttemptAt"], NOW);
    assert_eq!(tried(&app, &id, 2)["state"], "delivered");
    assert_eq!(receiver.seen()[1].id(), id);
}

fn what_cannot_be_sent_now_is_not_sent_again() {
    let (app, hiring, receiver) = start("10s", &[Behaviour::status(500)]);
    let refused = |id: &str, detail: &str| {
        let before = read(&app, id);
        let answer = retry(&app, id).refused(409, "conflict");
        assert!(answer.json()["detail"].as_str().unwrap().starts_with(detail), "{}", answer.text());
        assert_eq!(read(&app, id), before);
    };
    let (hired, reversed) = (hire(&app, &hiring, 0), reverse(&app, &hiring, 0));
    tried(&app, &hired, 1);
    refused(&reversed, "an earlier delivery of this application has not arrived");
    app.pass(11);
    assert_eq!(tried(&app, &hired, 2)["state"], "failed");
    refused(&reversed, "an earlier delivery of this application has not arrived");
    let url = receiver.url("/hooks");
    save(&app, &hiring, &json!({ "url": url, "enabled": false }));
    [&hired, &reversed].iter().for_each(|id| refused(id, "the organization's HR integration is disabled"));
    app.admin().delete(&integration(&hiring)).expect(200);
    [&hired, &reversed].iter().for_each(|id| refused(id, "the organization has no HR integration"));
    // What failed is not sent by enabling: an admin says so.
    save(&app, &hiring, &json!({ "url": url }));
    assert_eq!(
        (&read(&app, &hired)["state"], &read(&app, &reversed)["held"]["deliveryId"]),
        (&json!("failed"), &json!(hired))
    );
    receiver.will([Behaviour::status(204)]);
    retry(&app, &hired).expect(200);
    tried(&app, &reversed, 1);
    [&hired, &reversed].iter().for_each(|id| refused(id, "the delivery has arrived"));
}

fn only_admins_see_and_send() {
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

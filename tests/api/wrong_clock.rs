//! The effects of a clock that was wrong for a time: expiries that took effect remain in effect, no request acts
//! twice, and timestamps in the future are corrected.

use std::time::{Duration, Instant};

use appliance::domain::timestamp::Timestamp;
use appliance::world::World as _;
use serde_json::{Value, json};

use crate::attachment::wait_until;
use crate::hr_send::{after_attempts, delivering, eventually, hire, integrate};
use crate::support::app::Hr;
use crate::support::{App, Behaviour, Receiver};

crate::tests![
    an_expired_key_that_was_refused_stays_refused_when_the_clock_goes_back,
    an_unused_expired_key_stays_refused_when_the_clock_goes_back,
    a_session_that_was_refused_stays_ended_when_the_clock_goes_back,
    a_repeated_request_does_not_act_again_while_the_clock_is_ahead,
    usage_rows_from_a_clock_ahead_are_redated_in_order,
    many_usage_rows_of_several_keys_are_redated_in_order,
    deliveries_postponed_by_a_wrong_clock_are_brought_forward,
];

const ME: &str = "/api/v1/me";
const DAY_S: u64 = 86_400;

/// Moves only the wall clock, by this many days.
fn jump(app: &App, days: i64) {
    app.world.set(Timestamp::from_micros(app.world.now().micros() + days * 86_400_000_000));
}

fn an_expired_key_that_was_refused_stays_refused_when_the_clock_goes_back() {
    let app = App::start();
    // The cases are a read with a cached key, a read with a key that was never used, and a write with a cached key.
    for (is_known, path) in [(true, ME), (false, ME), (true, "/api/v1/candidate-steps/none/reject")] {
        let (id, secret) = app.make_key_with(&json!({ "name": "short", "userId": "user_admin", "expiresInDays": 1 }));
        let client = app.key(&secret);
        if is_known {
            client.get(ME).expect(200);
        }
        app.pass(DAY_S);
        if path == ME {
            client.get(path).expect(401)
        } else {
            client.post(path, &json!({})).expect(401)
        };
        jump(&app, -1);
        client.get(ME).expect(401);
        client.post("/api/v1/candidate-steps/none/reject", &json!({})).expect(401);
        let ended = format!("SELECT enabled, ended_at IS NOT NULL FROM api_keys WHERE id = '{id}'");
        assert_eq!(app.sql(&ended), ["1|1"], "the key has expired; nobody revoked it");
    }
}

fn an_unused_expired_key_stays_refused_when_the_clock_goes_back() {
    let app = App::start();
    let (id, secret) = app.make_key_with(&json!({ "name": "short", "userId": "user_admin", "expiresInDays": 1 }));
    app.pass(DAY_S);
    wait_until(&app, &format!("SELECT ended_at IS NOT NULL FROM api_keys WHERE id = '{id}'"), "1");
    jump(&app, -1);
    app.key(&secret).get(ME).expect(401);
}

fn a_session_that_was_refused_stays_ended_when_the_clock_goes_back() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), "correct horse battery");
    for seconds in [31 * 60, 13 * 3_600] {
        let before = app.world.now();
        let session = app.sign_in(&hiring.email("owner"), "correct horse battery");
        session.get(ME).expect(200);
        app.pass(seconds);
        session.get(ME).expect(401);
        app.world.set(before);
        session.get(ME).expect(401);
        app.pass(1);
    }
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["0"]);
}

fn a_repeated_request_does_not_act_again_while_the_clock_is_ahead() {
    let app = App::start();
    let key = |name: &str| app.admin().with_header("Idempotency-Key", name);
    let organization = |slug: &str| json!({ "slug": slug, "name": "Acme" });
    let post = |name: &str, slug: &str| {
        key(name).post("/api/admin/users", &json!({ "email": format!("{slug}@x.example"), "name": slug }))
    };
    let first = post("one", "one").expect(200).json();
    jump(&app, 60);
    // The same request is sent again, and other requests delete expired responses.
    assert_eq!(post("one", "one").expect(200).json(), first);
    for nth in 0..20 {
        key(&format!("other {nth}"))
            .post("/api/admin/organizations", &organization(&format!("acme-{nth}")))
            .expect(200);
    }
    jump(&app, -60);
    let again = post("one", "one").expect(200);
    assert_eq!((again.json(), again.header("idempotency-replayed")), (first, Some("true")));
    // After a day, the response expires.
    app.pass(DAY_S + 1);
    post("one", "one").expect(409);
}

/// Reads the rows of a key page by page, and returns their timestamps and paths, newest first.
fn rows(app: &App, id: &str, limit: usize, mut before: Option<String>) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    loop {
        let cursor = before.map(|before| format!("&before={before}")).unwrap_or_default();
        let page = app.admin().get(&format!("/api/admin/api-keys/{id}/usage?limit={limit}{cursor}")).expect(200).json();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        rows.extend(
            page["data"]["rows"].as_array().unwrap().iter().map(|row| (text(row, "timestamp"), text(row, "path"))),
        );
        match page["data"]["pagination"]["nextBefore"].as_str() {
            Some(next) => before = Some(next.to_owned()),
            None => return rows,
        }
    }
}

fn paths(rows: &[(String, String)]) -> Vec<&str> {
    rows.iter().map(|(_, path)| path.as_str()).collect()
}

/// Waits until no row is dated more than a minute in the future.
fn wait_until_redated(app: &App) {
    let began = Instant::now();
    let newest = || app.sql("SELECT max(at) FROM api_key_usage")[0].parse::<i64>().unwrap();
    while newest() > app.world.now().micros() + 60_000_000 {
        assert!(began.elapsed().as_secs() < 60, "rows are still dated in the future");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn usage_rows_from_a_clock_ahead_are_redated_in_order() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    let ask = |nth: usize| client.get(&format!("/api/v1/roles/role_{nth}"));
    (0..5).for_each(|nth| drop(ask(nth)));
    jump(&app, 60);
    (5..15).for_each(|nth| drop(ask(nth)));
    let ahead = rows(&app, &id, 500, None);
    assert_eq!(ahead.len(), 15);
    // A client has read a page of four rows and continues when the clock is right again.
    let cursor = ahead[3].0.clone();
    jump(&app, -60);
    app.pass(5);
    wait_until_redated(&app);
    let redated = rows(&app, &id, 4, None);
    assert_eq!(paths(&redated), paths(&ahead));
    assert!(redated.is_sorted_by(|newer, older| newer.0 > older.0), "{redated:?}");
    assert!(redated[0].0 <= app.world.now().to_string(), "{redated:?}");
    assert_eq!(redated[10..], ahead[10..], "rows with a correct time remain unchanged");
    assert_eq!(paths(&rows(&app, &id, 4, Some(cursor))), paths(&ahead[4..]), "no row is skipped or repeated");
    let key = app.admin().get(&format!("/api/admin/api-keys/{id}/usage")).expect(200).json()["data"]["key"].clone();
    assert_eq!((&key["requestCount"], &key["lastRequest"]), (&json!(15), &json!(redated[0].0)));
    // New rows have the time of the clock again.
    app.pass(1);
    drop(ask(15));
    assert_eq!(rows(&app, &id, 1, None)[0].0, app.world.now().to_string());
    assert_eq!(app.check(), Vec::<String>::new());
}

fn many_usage_rows_of_several_keys_are_redated_in_order() {
    let app = App::start();
    let keys: Vec<(String, String)> = (0..3).map(|_| app.make_key("user_admin")).collect();
    jump(&app, 60);
    // The third key is used rarely.
    for nth in 0..1_300 {
        let which = if nth % 500 == 7 { 2 } else { nth % 2 };
        app.key(&keys[which].1).get(&format!("/api/v1/roles/role_{nth}"));
        // At this point, some rows are in the usage index, and others are not.
        if nth == 900 {
            let marked = "SELECT marked_to > 0 FROM api_key_usage_marking";
            wait_until(&app, marked, "1");
        }
    }
    let ahead: Vec<_> = keys.iter().map(|(id, _)| rows(&app, id, 500, None)).collect();
    jump(&app, -60);
    app.pass(5);
    wait_until_redated(&app);
    for ((id, _), ahead) in keys.iter().zip(&ahead) {
        let redated = rows(&app, id, 100, None);
        assert_eq!(paths(&redated), paths(ahead));
        assert!(redated.is_sorted_by(|newer, older| newer.0 > older.0));
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn deliveries_postponed_by_a_wrong_clock_are_brought_forward() {
    let (app, receiver) = (delivering(Hr::default()), Receiver::start());
    let hiring = app.hiring();
    jump(&app, 60);
    receiver.will([Behaviour::status(500)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let id = hire(&app, &hiring, 0);
    let postponed = after_attempts(&app, &id, 1)["nextAttemptAt"].as_str().unwrap().to_owned();
    receiver.will([Behaviour::status(200)]);
    jump(&app, -60);
    let soon = app.world.now().plus(Duration::from_secs(6)).to_string();
    let brought_forward =
        eventually(&app, &id, |delivery| delivery["nextAttemptAt"].as_str().is_none_or(|at| at < &*soon));
    assert!(postponed > soon && brought_forward["nextAttemptAt"].is_string(), "{brought_forward}");
    app.pass(6);
    eventually(&app, &id, |delivery| delivery["state"] == "delivered");
    // A delivery that was created while the clock was wrong and has not been attempted is sent at once.
    jump(&app, 60);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), false);
    let id = hire(&app, &hiring, 1);
    jump(&app, -60);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    eventually(&app, &id, |delivery| delivery["state"] == "delivered");
}

//! `closesOn`, the closing date of a role: setting it, the end of its day, and the job that closes the role.

use serde_json::{Value, json};

use crate::attachment::wait_until;
use crate::careers::{careers, has, lacks, page};
use crate::careers_role::role_path;
use crate::portal::{add_role, change_role};
use crate::support::race::{Runner, race};
use crate::support::roles::{activity_count, create, draft, last_activity, read, role, staff};
use crate::support::signup::{Form, signup_path};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_closing_date_is_set_changed_and_cleared,
    a_closing_date_in_the_past_is_refused_when_it_is_set,
    only_calendar_days_are_accepted,
    a_change_may_repeat_a_stored_closing_date_in_the_past,
    callers_without_authority_cannot_set_a_closing_date,
    a_repeated_request_creates_one_role,
    an_open_role_closes_after_its_day,
    the_day_ends_in_the_organizations_time_zone,
    only_open_roles_are_closed,
    more_roles_than_one_slice_scans_are_all_closed,
    a_clock_that_jumps_ahead_closes_no_role_but_signups_are_refused,
    signups_are_accepted_until_the_end_of_the_day,
    a_role_past_its_closing_date_neither_opens_nor_reopens,
    concurrent_closings_by_staff_and_by_the_job_are_recorded_once,
    a_posting_shows_its_closing_date_in_every_language,
    search_engines_and_job_boards_get_the_time_at_which_the_closing_date_ends,
    the_public_api_has_a_closing_date_only_if_the_role_has_one,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "moderator");
    (app, hiring, client)
}

fn closing_on(app: &App, zone: &str, day: &str) -> Hiring {
    app.hiring_with(|document| {
        document["organizations"][0]["timeZone"] = json!(zone);
        change_role(document, &json!({ "closesOn": day }));
    })
}

fn status_of(id: &str) -> String {
    format!("SELECT status FROM roles WHERE id = '{id}'")
}

/// Advances both clocks by a few seconds and waits until the job has closed a new role whose closing date is long past.
/// The closed role shows that the job has run.
pub(crate) fn wait_for_run(app: &App) {
    let marker = closing_on(app, "UTC", "2020-01-01");
    app.pass(10);
    wait_until(app, &status_of(&marker.role_id), "closed");
}

fn a_closing_date_is_set_changed_and_cleared() {
    let (app, hiring, client) = start();
    let created = create(&client, &hiring, &json!({ "name": "A", "closesOn": "2026-12-31" }));
    assert_eq!(created["closesOn"], "2026-12-31");
    let path = role(created["id"].as_str().unwrap());
    assert_eq!(last_activity(&app).2["after"]["closesOn"], "2026-12-31");
    for (given, before) in [(json!("2027-02-28"), json!("2026-12-31")), (json!(null), json!("2027-02-28"))] {
        let answer = client.patch(&path, &json!({ "closesOn": given })).expect(200).json();
        assert_eq!((&answer["data"]["closesOn"], &read(&client, &path)["closesOn"]), (&given, &given));
        let (action, _, detail) = last_activity(&app);
        assert_eq!(action, "role.changed");
        assert_eq!(detail, json!({ "before": { "closesOn": before }, "after": { "closesOn": given } }));
    }
    client.patch(&path, &json!({ "closesOn": "2027-01-01" })).expect(200);
    client.patch(&path, &json!({ "name": "B" })).expect(200);
    assert_eq!(read(&client, &path)["closesOn"], "2027-01-01");
    assert_eq!(client.get(&hiring.roles()).expect(200).json()["data"][0]["closesOn"], "2027-01-01");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_closing_date_in_the_past_is_refused_when_it_is_set() {
    let app = App::start();
    // In Berlin, the next day has begun; in New York, it has not.
    app.pass(14 * 3_600 + 1_800);
    for (zone, past, today) in [
        ("UTC", "2026-11-20", "2026-11-21"),
        ("Europe/Berlin", "2026-11-21", "2026-11-22"),
        ("America/New_York", "2026-11-20", "2026-11-21"),
    ] {
        let hiring = app.hiring_with(|document| document["organizations"][0]["timeZone"] = json!(zone));
        let client = staff(&app, &hiring, "owner");
        let body = |day: &str| json!({ "name": "A", "closesOn": day });
        for answer in [client.post(&hiring.roles(), &body(past)), client.patch(&hiring.role(), &body(past))] {
            let answer = answer.refused(400, "validation_error");
            assert_eq!(answer.fields(), ["closesOn"], "{zone}");
            assert!(answer.text().contains(today), "{zone}");
        }
        assert_eq!(create(&client, &hiring, &body(today))["closesOn"], today, "{zone}");
        client.patch(&hiring.role(), &body(today)).expect(200);
    }
}

fn only_calendar_days_are_accepted() {
    let (app, hiring, client) = start();
    let count = activity_count(&app);
    for bad in [
        json!("2026-02-30"),
        json!("2026-12-31T00:00:00Z"),
        json!("31.12.2026"),
        json!(" 2026-12-31"),
        json!(""),
        json!(20_261_231),
        json!(["2026-12-31"]),
    ] {
        for answer in [
            client.post(&hiring.roles(), &json!({ "name": "A", "closesOn": bad })),
            client.patch(&hiring.role(), &json!({ "closesOn": bad })),
        ] {
            assert_eq!(answer.refused(400, "validation_error").fields(), ["closesOn"], "{bad}");
        }
    }
    assert_eq!(activity_count(&app), count);
    for good in ["2028-02-29", "9999-12-31"] {
        client.patch(&hiring.role(), &json!({ "closesOn": good })).expect(200);
        page(&app, &role_path(&hiring));
    }
}

fn a_change_may_repeat_a_stored_closing_date_in_the_past() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        change_role(document, &json!({ "status": "closed", "closesOn": "2026-11-01" }));
    });
    let client = staff(&app, &hiring, "owner");
    client.patch(&hiring.role(), &json!({ "name": "B", "closesOn": "2026-11-01" })).expect(200);
    client.patch(&hiring.role(), &json!({ "closesOn": "2026-11-02" })).refused(400, "validation_error");
    assert_eq!(read(&client, &hiring.role())["closesOn"], "2026-11-01");
}

fn callers_without_authority_cannot_set_a_closing_date() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let body = json!({ "name": "A", "closesOn": "2026-12-31" });
    for (client, status, code) in
        [(staff(&app, &hiring, "member"), 403, "forbidden"), (staff(&app, &other, "owner"), 404, "not_found")]
    {
        client.patch(&hiring.role(), &body).refused(status, code);
        client.post(&hiring.roles(), &body).refused(status, code);
    }
    assert_eq!(app.sql("SELECT count(*) FROM roles WHERE closes_on IS NOT NULL"), ["0"]);
}

fn a_repeated_request_creates_one_role() {
    let (app, hiring, client) = start();
    let client = client.with_header("Idempotency-Key", "create-1");
    let body = json!({ "name": "A", "closesOn": "2026-11-21" });
    let first = client.post(&hiring.roles(), &body).expect(200).json();
    // The stored response is returned even after the day has passed.
    app.pass(15 * 3_600 + 1);
    assert_eq!(client.post(&hiring.roles(), &body).expect(200).json(), first);
    assert_eq!(app.sql("SELECT count(*) FROM roles WHERE closes_on = '2026-11-21'"), ["1"]);
}

fn an_open_role_closes_after_its_day() {
    let (app, hiring, client) = start();
    let signup = signup_path(&app, &hiring);
    client.patch(&hiring.role(), &json!({ "closesOn": "2026-11-21" })).expect(200);
    app.pass(15 * 3_600 - 11);
    wait_for_run(&app);
    assert_eq!(read(&client, &hiring.role())["status"], "open");
    assert_eq!(app.anonymous().get(&hiring.portal()).expect(200).json()["roles"].as_array().unwrap().len(), 1);
    app.pass(11);
    wait_until(&app, &status_of(&hiring.role_id), "closed");
    let shown = read(&client, &hiring.role());
    assert_eq!(shown["closeReason"], "The closing date 2026-11-21 has passed.");
    assert_eq!(shown["closesOn"], "2026-11-21");
    let path = format!("{}/activity", hiring.role());
    let row = client.get(&path).expect(200).json()["data"][0].clone();
    assert_eq!((&row["action"], &row["user"], &row["apiKeyId"]), (&json!("role.closed"), &json!(null), &json!(null)));
    let after = json!({ "status": "closed", "closeReason": "The closing date 2026-11-21 has passed." });
    assert_eq!((&row["before"]["status"], &row["after"]), (&json!("open"), &after));
    assert_eq!(app.anonymous().get(&hiring.portal()).expect(200).json()["roles"], json!([]));
    app.anonymous().get(&role_path(&hiring)).expect(410);
    app.anonymous().get(&signup).expect(410);
    // The applications stay in progress.
    assert_eq!(read(&client, &hiring.role())["applications"]["inProgress"], 3);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_day_ends_in_the_organizations_time_zone() {
    let app = App::start();
    let [berlin, utc, new_york] =
        ["Europe/Berlin", "UTC", "America/New_York"].map(|zone| closing_on(&app, zone, "2026-11-21").role_id);
    let statuses = || [&berlin, &utc, &new_york].map(|id| app.sql(&status_of(id)).remove(0));
    app.pass(14 * 3_600 - 11);
    wait_for_run(&app);
    assert_eq!(statuses(), ["open", "open", "open"]);
    app.pass(11);
    wait_until(&app, &status_of(&berlin), "closed");
    assert_eq!(statuses(), ["closed", "open", "open"]);
    app.pass(3_600);
    wait_until(&app, &status_of(&utc), "closed");
    assert_eq!(statuses(), ["closed", "closed", "open"]);
    app.pass(5 * 3_600 - 31);
    wait_for_run(&app);
    assert_eq!(statuses(), ["closed", "closed", "open"]);
    app.pass(11);
    wait_until(&app, &status_of(&new_york), "closed");
}

fn only_open_roles_are_closed() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        change_role(document, &json!({ "positions": 1, "closesOn": "2026-11-21" }));
        for status in ["draft", "closed"] {
            add_role(document, &json!({ "id": format!("role_{status}"), "status": status, "closesOn": "2026-11-01" }));
        }
        add_role(document, &json!({ "id": "role_unlimited" }));
    });
    let client = staff(&app, &hiring, "owner");
    client.post_empty(&hiring.hire(0)).expect(200);
    app.pass(15 * 3_600);
    wait_for_run(&app);
    let statuses = "SELECT status FROM roles WHERE organization_id = 'org_1' ORDER BY id";
    assert_eq!(app.sql(statuses), ["filled", "closed", "draft", "open"]);
    // The reversal of the hire opens the role again, and the job closes it.
    client.post_empty(&hiring.reject(0)).expect(200);
    app.pass(10);
    wait_until(&app, &status_of(&hiring.role_id), "closed");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn more_roles_than_one_slice_scans_are_all_closed() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        for number in 0..100 {
            add_role(document, &json!({ "id": format!("role_many_{number:03}"), "closesOn": "2026-11-21" }));
        }
    });
    app.pass(15 * 3_600);
    wait_until(&app, "SELECT count(*) FROM roles WHERE status = 'closed'", "100");
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'role.closed'"), ["100"]);
    assert_eq!(app.sql(&status_of(&hiring.role_id)), ["open"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_clock_that_jumps_ahead_closes_no_role_but_signups_are_refused() {
    let app = App::start();
    let hiring = closing_on(&app, "UTC", "2026-11-25");
    let signup = signup_path(&app, &hiring);
    let form = Form::for_role(&app, &hiring);
    let body = json!({ "name": "Ada", "email": "ada@example.org", "consent": true });
    let apply = |status: u16| {
        let body = json!({ "roleId": hiring.role_id });
        app.anonymous().post(&format!("{}/apply", hiring.portal()), &body).expect(status);
    };
    app.set_clock("2026-11-26T00:00:00Z");
    wait_for_run(&app);
    assert_eq!(app.sql(&status_of(&hiring.role_id)), ["open"]);
    apply(404);
    app.anonymous().post_empty(&format!("{}/apply", role_path(&hiring))).expect(410);
    app.anonymous().get(&signup).expect(410);
    app.anonymous().post(&format!("/api/public{signup}"), &body).refused(410, "gone");
    assert_eq!(form.send(&app).status, 410);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
    // The clock is corrected, and signups are accepted again.
    app.set_clock("2026-11-21T09:10:00Z");
    app.anonymous().post(&format!("/api/public{signup}"), &body).expect(200);
    apply(200);
    // The jump is believed after an uptime of the same length.
    app.set_clock("2026-11-26T00:00:00Z");
    app.pass(5 * 86_400);
    wait_until(&app, &status_of(&hiring.role_id), "closed");
}

fn signups_are_accepted_until_the_end_of_the_day() {
    let app = App::start();
    let body = |nth: u32| json!({ "name": "Ada", "email": format!("{nth}@example.org"), "consent": true });
    for (zone, last, next) in [
        ("UTC", "2026-11-25T23:59:59Z", "2026-11-26T00:00:00Z"),
        ("Europe/Berlin", "2026-11-25T22:59:59Z", "2026-11-25T23:00:00Z"),
        ("America/New_York", "2026-11-26T04:59:59Z", "2026-11-26T05:00:00Z"),
    ] {
        let hiring = closing_on(&app, zone, "2026-11-25");
        let signup = format!("/api/public{}", signup_path(&app, &hiring));
        app.set_clock(last);
        app.anonymous().post(&signup, &body(1)).expect(200);
        app.set_clock(next);
        app.anonymous().post(&signup, &body(2)).refused(410, "gone");
        app.set_clock(crate::support::app::BEGINNING);
    }
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["3"]);
}

fn a_role_past_its_closing_date_neither_opens_nor_reopens() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call"]);
    for path in [&path, &hiring.role()] {
        client.patch(path, &json!({ "closesOn": "2026-11-21" })).expect(200);
    }
    app.pass(15 * 3_600);
    wait_until(&app, &status_of(&hiring.role_id), "closed");
    let acts = [(format!("{path}/open"), &path), (format!("{}/reopen", hiring.role()), &hiring.role())];
    for ((act, path), change) in acts.iter().zip([json!(null), json!("2026-11-22")]) {
        let problem = client.post_empty(act).refused(409, "conflict").json();
        let expected = "the closing date 2026-11-21 has passed; change or clear closesOn before you open the role";
        assert_eq!(problem["detail"], expected);
        client.patch(path, &json!({ "closesOn": change })).expect(200);
        let shown = client.post_empty(act).expect(200).json()["data"].take();
        assert_eq!((&shown["status"], &shown["closeReason"]), (&json!("open"), &json!(null)));
    }
    wait_for_run(&app);
    assert_eq!(app.sql(&status_of(&hiring.role_id)), ["open"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn concurrent_closings_by_staff_and_by_the_job_are_recorded_once() {
    const ROLES: usize = 40;
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        for number in 0..ROLES {
            add_role(document, &json!({ "id": format!("role_raced_{number:02}"), "closesOn": "2026-11-21" }));
        }
    });
    let client = staff(&app, &hiring, "owner");
    app.pass(15 * 3_600);
    let runners = (0..ROLES).map(|number| {
        let path = format!("/api/v1/roles/role_raced_{number:02}/close");
        let body = json!({ "reason": "by hand" }).to_string();
        let client = client.with_header("Content-Type", "application/json");
        Runner { client, method: "POST", path, body }
    });
    let answers = race(runners.collect());
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409)));
    wait_until(&app, "SELECT count(*) FROM roles WHERE status = 'closed'", &ROLES.to_string());
    let closed = "SELECT count(*) || ' ' || count(DISTINCT role_id) FROM activities WHERE action = 'role.closed'";
    assert_eq!(app.sql(closed), [format!("{ROLES} {ROLES}")]);
    let by_hand = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(app.sql("SELECT count(*) FROM roles WHERE close_reason = 'by hand'"), [by_hand.to_string()]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_posting_shows_its_closing_date_in_every_language() {
    let (app, hiring, client) = start();
    lacks(&page(&app, &role_path(&hiring)), &["Apply by"]);
    client.patch(&hiring.role(), &json!({ "closesOn": "2026-12-01" })).expect(200);
    for (language, label, day) in [
        ("en", "Apply by", "1 December 2026"),
        ("de", "Bewerbung bis", "1. Dezember 2026"),
        ("fr", "Candidature jusqu’au", "1er décembre 2026"),
        ("es", "Candidaturas hasta el", "1 de diciembre de 2026"),
    ] {
        let posting = page(&app, &format!("{}?lang={language}", role_path(&hiring)));
        has(&posting, &[&format!("<dt>{label}</dt><dd><time datetime=\"2026-12-01\">{day}</time></dd>")]);
        has(&page(&app, &format!("{}?lang={language}", careers(&hiring))), &[&format!("<li>{label} {day}</li>")]);
    }
    client.patch(&hiring.role(), &json!({ "closesOn": null })).expect(200);
    lacks(&page(&app, &role_path(&hiring)), &["Apply by"]);
    lacks(&page(&app, &careers(&hiring)), &["Apply by"]);
}

fn search_engines_and_job_boards_get_the_time_at_which_the_closing_date_ends() {
    let app = App::start();
    for (zone, day, end) in [
        ("UTC", "2026-11-30", "2026-11-30T23:59:59Z"),
        ("Europe/Berlin", "2026-11-30", "2026-11-30T22:59:59Z"),
        ("Europe/Berlin", "2027-06-30", "2027-06-30T21:59:59Z"),
        ("America/New_York", "2026-11-30", "2026-12-01T04:59:59Z"),
    ] {
        let hiring = closing_on(&app, zone, day);
        has(&page(&app, &role_path(&hiring)), &[&format!("\"validThrough\":\"{end}\"")]);
        let jobs = app.anonymous().get(&format!("{}/jobs.xml", careers(&hiring))).expect(200).text();
        has(&jobs, &[&format!("<expirationdate><![CDATA[{end}]]></expirationdate>")]);
    }
    let hiring = app.hiring();
    lacks(&page(&app, &role_path(&hiring)), &["validThrough"]);
    let jobs = app.anonymous().get(&format!("{}/jobs.xml", careers(&hiring))).expect(200).text();
    lacks(&jobs, &["expirationdate"]);
}

fn the_public_api_has_a_closing_date_only_if_the_role_has_one() {
    let (app, hiring, client) = start();
    let shown = || {
        let list = app.anonymous().get(&hiring.portal()).expect(200).json()["roles"][0].clone();
        let path = format!("{}/roles/{}", hiring.portal(), hiring.role_id);
        let one = app.anonymous().get(&path).expect(200).json()["role"].clone();
        assert_eq!(one.get("closesOn"), list.get("closesOn"));
        one.get("closesOn").cloned()
    };
    assert_eq!(shown(), None);
    client.patch(&hiring.role(), &json!({ "closesOn": "2026-12-01" })).expect(200);
    assert_eq!(shown(), Some(Value::from("2026-12-01")));
    client.patch(&hiring.role(), &json!({ "closesOn": null })).expect(200);
    assert_eq!(shown(), None);
}

//! The effects of a decision in addition to the change of the step: the activity, the organization's status counts, the
//! delivery owed to its HR system, and the usage row. A decision that is refused or fails leaves only its usage row.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_rejection_writes_an_activity_row_with_the_states_before_and_after,
    a_hire_writes_an_activity_row_with_the_states_before_and_after,
    the_activity_of_a_reversal_holds_the_reversed_hire,
    an_activity_row_names_the_user_and_the_key_of_the_decision,
    the_status_counts_follow_every_decision_and_equal_a_recount,
    the_status_counts_follow_a_withdrawn_application,
    a_role_that_is_not_open_has_no_open_positions,
    an_organization_without_an_integration_gets_no_deliveries,
    a_hire_is_delivered_with_its_full_payload,
    the_payload_of_a_hire_without_details_has_nulls,
    a_reversed_hire_is_delivered_with_its_full_payload,
    deliveries_wait_while_the_integration_is_disabled,
    rejections_and_refused_hires_are_not_delivered,
    deliveries_follow_the_order_of_decisions,
    a_payload_with_long_names_and_notes_stays_small,
    a_refused_decision_writes_nothing_but_its_usage_row,
    a_decision_is_rolled_back_when_its_usage_row_cannot_be_written,
    a_decision_that_fails_midway_leaves_only_its_usage_row,
    a_hire_is_delivered_later_when_its_message_cannot_be_built_yet,
    a_hire_is_delivered_only_if_the_organization_had_an_integration_at_the_time_of_the_hire,
    the_id_of_a_delivery_follows_from_the_id_of_its_activity_row,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";
const THEN: &str = "2026-11-02T10:00:00.000000Z";

fn a_rejection_writes_an_activity_row_with_the_states_before_and_after() {
    let (app, hiring) = start();
    let (key_id, secret) = app.make_key(&hiring.staff("moderator"));
    app.set_clock(NOW);
    let body = json!({ "outcomeNotes": "no", "outcomeType": "other", "outcomeReason": "why" });
    app.key(&secret).post(&hiring.decision(0, 0, "reject"), &body).expect(200);
    let (row, detail) = only_activity(&app);
    let candidate = &hiring.candidates[0];
    let who = format!("{}|{key_id}", hiring.staff("moderator"));
    let change =
        format!("{}|{}|{}|{}", hiring.role_id, candidate.candidate_id, candidate.application_id, candidate.steps[0]);
    let expected = format!("{}|{}|candidate_step.rejected|{who}|{change}", hiring.organization_id, micros(NOW));
    assert_eq!(row, expected);
    let before = step(&candidate.steps[0], "validated", THEN);
    let mut after = step(&candidate.steps[0], "rejected", "");
    after["rejectedAt"] = json!(NOW);
    after["rejectionReason"] = json!("no");
    after["outcomeType"] = json!("other");
    after["outcomeReason"] = json!("why");
    let expected = json!({
        "before": { "application": "In Progress", "role": "open", "hire": null, "steps": [before] },
        "after": { "application": "Not Selected", "role": "open", "hire": null, "steps": [after] },
    });
    assert_eq!(detail, expected);
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE id LIKE 'act_%' AND length(id) = 30"), ["1"]);
}

fn a_hire_writes_an_activity_row_with_the_states_before_and_after() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    app.set_clock(NOW);
    app.key(&secret).post(&hiring.decision(0, 1, "hire"), &hire_body()).expect(200);
    let (row, detail) = only_activity(&app);
    let ids = &hiring.candidates[0].steps;
    assert!(row.contains("|candidate_step.hired|"), "{row}");
    assert!(row.contains(&format!("|{}|{key_id}|", hiring.staff("owner"))), "{row}");
    assert!(row.ends_with(&format!("|{}", ids[1])), "the activity row names the addressed step: {row}");
    let before = [step(&ids[1], "in_progress", ""), step(&ids[2], "pending", ""), step(&ids[3], "pending", "")];
    let after = [step(&ids[1], "validated", NOW), step(&ids[2], "skipped", ""), step(&ids[3], "validated", NOW)];
    let expected = json!({
        "before": { "application": "In Progress", "role": "open", "hire": null, "steps": before },
        "after": { "application": "Hired", "role": "filled", "hire": hire_record(), "steps": after },
    });
    assert_eq!(detail, expected);
}

fn the_activity_of_a_reversal_holds_the_reversed_hire() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
    app.set_clock(NOW);
    app.admin().post(&hiring.decision(0, 1, "hire"), &hire_body()).expect(200);
    app.set_clock("2026-11-22T10:00:00Z");
    app.admin().post_empty(&hiring.decision(0, 1, "reject")).expect(200);
    let (row, detail) = last_activity(&app);
    assert!(row.contains("|candidate_step.hire_reversed|"), "{row}");
    let ids = &hiring.candidates[0].steps;
    let mut rejected = step(&ids[1], "rejected", "");
    rejected["rejectedAt"] = json!("2026-11-22T10:00:00.000000Z");
    rejected["rejectionReason"] = json!("");
    let before = [step(&ids[1], "validated", NOW), step(&ids[3], "validated", NOW)];
    let after = [rejected, step(&ids[3], "pending", "")];
    let expected = json!({
        "before": { "application": "Hired", "role": "filled", "hire": hire_record(), "steps": before },
        "after": { "application": "Not Selected", "role": "open", "hire": null, "steps": after },
    });
    assert_eq!(detail, expected);
}

fn an_activity_row_names_the_user_and_the_key_of_the_decision() {
    let (app, hiring) = start();
    let first = app.make_key(&hiring.staff("hr_representative"));
    let second = app.make_key(&hiring.staff("hr_representative"));
    app.key(&first.1).post_empty(&hiring.reject(0)).expect(200);
    app.key(&second.1).post_empty(&hiring.reject(1)).expect(200);
    app.admin().post_empty(&hiring.hire(2)).expect(200);
    let admin = app.sql("SELECT id FROM api_keys WHERE user_id = 'user_admin'").join("");
    let user = hiring.staff("hr_representative");
    let expected = [
        format!("{}|{user}|{}", hiring.candidates[0].application_id, first.0),
        format!("{}|{user}|{}", hiring.candidates[1].application_id, second.0),
        format!("{}|user_admin|{admin}", hiring.candidates[2].application_id),
    ];
    let sql = "SELECT candidate_role_id, user_id, api_key_id FROM activities ORDER BY candidate_role_id";
    assert_eq!(app.sql(sql), expected);
}

fn the_status_counts_follow_every_decision_and_equal_a_recount() {
    let (app, hiring) = start();
    let other = app.hiring();
    let staff = app.user(&hiring.staff("owner"));
    // The figures are: open roles, open positions, applications in progress, hired, not selected, withdrawn.
    assert_eq!(figures(&app, &hiring), "1|2|3|0|0|0");
    for (path, status, expected) in [
        (hiring.reject(0), 200, "1|2|2|0|1|0"),
        (hiring.reject(0), 409, "1|2|2|0|1|0"),
        (hiring.decision(0, 3, "reject"), 200, "1|2|2|0|1|0"),
        (hiring.hire(0), 409, "1|2|2|0|1|0"),
        (hiring.hire(1), 200, "1|1|1|1|1|0"),
        (hiring.hire(1), 409, "1|1|1|1|1|0"),
        (hiring.decision(2, 1, "hire"), 200, "0|0|0|2|1|0"),
        (hiring.decision(1, 0, "reject"), 200, "1|1|0|1|2|0"),
        (hiring.decision(1, 3, "reject"), 200, "1|1|0|1|2|0"),
        (hiring.decision(2, 3, "reject"), 200, "1|2|0|0|3|0"),
    ] {
        staff.post_empty(&path).expect(status);
        assert_eq!(figures(&app, &hiring), expected, "{path}");
        assert_eq!(app.check(), Vec::<String>::new(), "{path}");
    }
    assert_eq!(figures(&app, &other), "1|2|3|0|0|0");
}

fn the_status_counts_follow_a_withdrawn_application() {
    let app = App::start();
    let steps = ["validated", "in_progress", "pending", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "Withdrawn", &steps));
    assert_eq!(figures(&app, &hiring), "1|2|2|0|0|1");
    app.admin().post_empty(&hiring.hire(0)).refused(409, "conflict");
    assert_eq!(figures(&app, &hiring), "1|2|2|0|0|1");
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(figures(&app, &hiring), "1|2|2|0|1|0");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_role_that_is_not_open_has_no_open_positions() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        first_role_of(document)["status"] = json!("closed");
        set_steps(document, 0, "Hired", &["validated", "skipped", "skipped", "validated"]);
    });
    assert_eq!(figures(&app, &hiring), "0|0|2|1|0|0");
    app.admin().post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    assert_eq!(figures(&app, &hiring), "0|0|2|0|1|0");
    app.admin().post_empty(&hiring.reject(1)).expect(200);
    assert_eq!(figures(&app, &hiring), "0|0|1|0|2|0");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_organization_without_an_integration_gets_no_deliveries() {
    let (app, hiring) = start();
    let other = app.hiring_with(|document| integrate(document, true));
    app.admin().post_empty(&hiring.hire(0)).expect(200);
    app.admin().post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    assert_eq!(owed(&app, "SELECT * FROM hr_deliveries"), Vec::<String>::new());
    app.admin().post_empty(&other.hire(0)).expect(200);
    assert_eq!(owed(&app, "SELECT organization_id FROM hr_deliveries"), [other.organization_id]);
}

fn a_hire_is_delivered_with_its_full_payload() {
    let (app, hiring) = start_integrated();
    let staff = app.user(&hiring.staff("hr_representative"));
    app.set_clock(NOW);
    staff.post(&hiring.decision(0, 1, "hire"), &hire_body()).expect(200);
    let candidate = &hiring.candidates[0];
    let at = micros(NOW);
    let sql = "SELECT organization_id, candidate_role_id, type, state, attempts, created_at, next_attempt_at
               FROM hr_deliveries
               WHERE id LIKE 'evt_%'";
    let expected =
        format!("{}|{}|candidate.hired|pending|0|{at}|{at}", hiring.organization_id, candidate.application_id);
    assert_eq!(owed(&app, sql), [expected]);
    let mut expected = payload(&hiring, "candidate.hired");
    expected["data"]["step"] = json!({ "id": candidate.steps[3], "name": "Offer" });
    expected["data"]["hiredDate"] = json!("2026-12-01T00:00:00.000000Z");
    expected["data"]["offerAcceptedDate"] = json!("2026-11-20T17:30:00.000000Z");
    expected["data"]["externalPositionId"] = json!("POS-7");
    expected["data"]["note"] = json!("welcome");
    assert_eq!(payloads(&app), [expected]);
}

fn the_payload_of_a_hire_without_details_has_nulls() {
    let (app, hiring) = start_integrated();
    let staff = app.user(&hiring.staff("hr_representative"));
    app.set_clock(NOW);
    staff.post(&hiring.hire(0), &json!({ "externalPositionId": " " })).expect(200);
    let mut expected = payload(&hiring, "candidate.hired");
    expected["data"]["step"] = json!({ "id": hiring.candidates[0].steps[3], "name": "Offer" });
    expected["data"]["hiredDate"] = json!(NOW);
    for absent in ["offerAcceptedDate", "externalPositionId", "note"] {
        expected["data"][absent] = json!(null);
    }
    assert_eq!(payloads(&app), [expected]);
}

fn a_reversed_hire_is_delivered_with_its_full_payload() {
    let (app, hiring) = start_integrated();
    let staff = app.user(&hiring.staff("hr_representative"));
    staff.post(&hiring.hire(0), &hire_body()).expect(200);
    app.set_clock(NOW);
    staff.post(&hiring.decision(0, 2, "reject"), &json!({ "outcomeNotes": "took another offer" })).expect(200);
    assert_eq!(
        owed(&app, "SELECT type FROM hr_deliveries ORDER BY number"),
        ["candidate.hired", "candidate.hire_reversed"]
    );
    let mut expected = payload(&hiring, "candidate.hire_reversed");
    expected["data"]["step"] = json!({ "id": hiring.candidates[0].steps[2], "name": "Interview" });
    expected["data"]["hiredDate"] = json!("2026-12-01T00:00:00.000000Z");
    expected["data"]["offerAcceptedDate"] = json!("2026-11-20T17:30:00.000000Z");
    expected["data"]["externalPositionId"] = json!("POS-7");
    expected["data"]["note"] = json!("took another offer");
    assert_eq!(payloads(&app)[1], expected);
}

fn deliveries_wait_while_the_integration_is_disabled() {
    let app = App::start();
    let without_secret = |document: &mut Value| {
        integrate(document, false);
        document["organizations"][0]["hrIntegration"].as_object_mut().unwrap().remove("secret");
    };
    let disabled = app.hiring_with(|document| integrate(document, false));
    let secretless = app.hiring_with(without_secret);
    for hiring in [&disabled, &secretless] {
        app.admin().post_empty(&hiring.hire(0)).expect(200);
        app.admin().post_empty(&hiring.decision(0, 3, "reject")).expect(200);
        let id = &hiring.organization_id;
        let sql =
            format!("SELECT type, state, attempts FROM hr_deliveries WHERE organization_id = '{id}' ORDER BY number");
        assert_eq!(owed(&app, &sql), ["candidate.hired|pending|0", "candidate.hire_reversed|pending|0"]);
    }
    assert_eq!(app.sql("SELECT enabled FROM hr_integrations"), ["0", "0"]);
}

fn rejections_and_refused_hires_are_not_delivered() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        integrate(document, true);
        first_role_of(document)["status"] = json!("closed");
    });
    let admin = app.admin();
    admin.post_empty(&hiring.reject(0)).expect(200);
    admin.post_empty(&hiring.reject(0)).refused(409, "conflict");
    admin.post_empty(&hiring.hire(0)).refused(409, "conflict");
    admin.post_empty(&hiring.hire(1)).refused(400, "bad_request");
    admin.post(&hiring.hire(1), &json!({ "hiredDate": "soon" })).refused(400, "bad_request");
    app.user(&hiring.staff("member")).post_empty(&hiring.hire(1)).refused(403, "forbidden");
    assert_eq!(owed(&app, "SELECT * FROM hr_deliveries"), Vec::<String>::new());
}

fn deliveries_follow_the_order_of_decisions() {
    let (app, hiring) = start_integrated();
    for candidate in [0, 1] {
        app.admin().post_empty(&hiring.hire(candidate)).expect(200);
    }
    for candidate in [1, 0] {
        app.admin().post_empty(&hiring.decision(candidate, 3, "reject")).expect(200);
    }
    let expected: Vec<String> = [(0, "hired"), (1, "hired"), (1, "hire_reversed"), (0, "hire_reversed")]
        .iter()
        .map(|(index, event)| format!("{}|candidate.{event}", hiring.candidates[*index].application_id))
        .collect();
    assert_eq!(owed(&app, "SELECT candidate_role_id, type FROM hr_deliveries ORDER BY number"), expected);
    assert_eq!(owed(&app, "SELECT count(DISTINCT id) FROM hr_deliveries"), ["4"]);
}

/// In JSON, a quote or a backslash uses two bytes, and a character beyond the Basic Multilingual Plane uses four.
fn a_payload_with_long_names_and_notes_stays_small() {
    let app = App::start();
    for (character, round) in ["😀", "\\", "\""].into_iter().zip(1..) {
        let name = format!("x{}", character.repeat(254));
        let hiring = app.hiring_with(|document| {
            integrate(document, true);
            document["organizations"][0]["name"] = json!(name);
            first_role_of(document)["name"] = json!(name);
            first_role_of(document)["steps"][3]["name"] = json!(name);
            first_role_of(document)["candidates"][0]["name"] = json!(name);
            let address = |nth: usize| format!("{}@{round}.{nth}", "😀".repeat(240));
            first_role_of(document)["candidates"][0]["email"] = json!(address(0));
            for (user, nth) in document["users"].as_array_mut().unwrap().iter_mut().zip(1..) {
                user["name"] = json!(name);
                user["email"] = json!(address(nth));
            }
        });
        let staff = app.user(&hiring.staff("owner"));
        let note = character.repeat(10_000);
        let body = json!({ "notes": note, "externalPositionId": character.repeat(255) });
        staff.post(&hiring.hire(0), &body).expect(200);
        staff.post(&hiring.decision(0, 3, "reject"), &json!({ "outcomeNotes": note })).expect(200);
        let sql = "SELECT max(octet_length(payload)) FROM hr_deliveries";
        let bytes: usize = owed(&app, sql)[0].parse().unwrap();
        assert!((5_000..20_000).contains(&bytes), "{character:?}: {bytes} bytes");
        for payload in payloads(&app).into_iter().rev().take(2) {
            assert_eq!(payload["data"]["candidate"]["name"], name);
            assert!(note.starts_with(payload["data"]["note"].as_str().unwrap()), "the note is truncated, not garbled");
        }
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_refused_decision_writes_nothing_but_its_usage_row() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        integrate(document, true);
        document["organizations"][0]["requireExternalPositionId"] = json!(true);
        set_steps(document, 0, "Not Selected", &["validated", "rejected", "pending", "pending"]);
    });
    let other = app.hiring_with(|document| integrate(document, true));
    let (key, secret) = app.make_key(&hiring.staff("owner"));
    let member = app.make_key(&hiring.staff("member"));
    let narrow = app.make_key_with(&json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] }));
    let (owner, member_client, narrow_client) = (app.key(&secret), app.key(&member.1), app.key(&narrow.1));
    let before = everything_but_usage(&app);
    let bad_date = json!({ "hiredDate": "2026-02-30" });
    let over = json!({ "outcomeNotes": "x".repeat(10_001) });
    let cases: [(&Client, &str, String, Value, u16); 9] = [
        (&owner, &key, hiring.reject(0), json!({}), 409),
        (&owner, &key, hiring.hire(0), json!({ "externalPositionId": "A" }), 409),
        (&owner, &key, hiring.hire(1), json!({}), 400),
        (&owner, &key, hiring.hire(1), bad_date, 400),
        (&owner, &key, hiring.reject(1), over, 400),
        (&owner, &key, other.hire(1), json!({}), 404),
        (&member_client, &member.0, hiring.reject(1), json!({}), 403),
        (&member_client, &member.0, hiring.hire(1), json!({ "externalPositionId": "A" }), 403),
        (&narrow_client, &narrow.0, hiring.hire(1), json!({}), 403),
    ];
    for (client, key, path, body, status) in &cases {
        let rows = usage(&app, key).len();
        client.post(path, body).expect(*status);
        assert_eq!(everything_but_usage(&app), before, "{path} {body}");
        let usage = usage(&app, key);
        assert_eq!(usage.len(), rows + 1, "{path} {body}");
        assert_eq!((&usage[0]["path"], &usage[0]["method"]), (&json!(path), &json!("POST")));
        let decision = path.rsplit('/').next().unwrap();
        assert_eq!(usage[0]["authEndpoint"], format!("/api/v1/candidate-steps/{{id}}/{decision}"));
    }
    let rows = app.sql("SELECT count(*) FROM api_key_usage");
    app.anonymous().post_empty(&hiring.reject(1)).refused(401, "unauthorized");
    app.key(&format!("{secret}x")).post_empty(&hiring.reject(1)).refused(401, "unauthorized");
    assert_eq!(everything_but_usage(&app), before);
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), rows);
}

/// The usage row is written last. If that write fails, the decision is rolled back, because both are in the same
/// transaction.
fn a_decision_is_rolled_back_when_its_usage_row_cannot_be_written() {
    let (app, hiring) = start_integrated();
    let staff = app.user(&hiring.staff("owner"));
    let before = everything_but_usage(&app);
    let rows = app.sql("SELECT count(*) FROM api_key_usage");
    app.forbid("INSERT", "api_key_usage");
    staff.post_empty(&hiring.hire(0)).refused(500, "internal_error");
    staff.post_empty(&hiring.reject(1)).refused(500, "internal_error");
    assert_eq!(everything_but_usage(&app), before);
    app.allow("api_key_usage");
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), rows);
    staff.post_empty(&hiring.hire(0)).expect(200);
    staff.post_empty(&hiring.reject(1)).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_decision_that_fails_midway_leaves_only_its_usage_row() {
    let (app, hiring) = start_integrated();
    let (key, secret) = app.make_key(&hiring.staff("owner"));
    let staff = app.key(&secret);
    let before = everything_but_usage(&app);
    let writes = [
        ("UPDATE", "candidate_role_steps"),
        ("UPDATE", "candidate_roles"),
        ("UPDATE", "roles"),
        ("UPDATE", "organization_statuses"),
        ("INSERT", "activities"),
    ];
    for (index, (change, table)) in writes.into_iter().enumerate() {
        app.forbid(change, table);
        staff.post(&hiring.hire(0), &hire_body()).refused(500, "internal_error");
        app.allow(table);
        assert_eq!(everything_but_usage(&app), before, "{change} {table}");
        assert_eq!(usage(&app, &key).len(), index + 1, "{change} {table}");
    }
    staff.post(&hiring.hire(0), &hire_body()).expect(200);
    assert_eq!(usage(&app, &key).len(), writes.len() + 1);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_hire_is_delivered_later_when_its_message_cannot_be_built_yet() {
    let (app, hiring) = start_integrated();
    app.forbid("INSERT", "hr_deliveries");
    app.admin().post_empty(&hiring.hire(0)).expect(200);
    app.admin().get("/api/admin/hr-deliveries").refused(500, "internal_error");
    app.allow("hr_deliveries");
    app.stop();
    app.start_again();
    assert_eq!(owed(&app, "SELECT type FROM hr_deliveries"), ["candidate.hired"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_hire_is_delivered_only_if_the_organization_had_an_integration_at_the_time_of_the_hire() {
    let (app, integrated) = start_integrated();
    let integrated_later = app.hiring();
    let path = |hiring: &Hiring| format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    app.admin().post_empty(&integrated.hire(0)).expect(200);
    app.admin().delete(&path(&integrated)).expect(200);
    app.admin().post_empty(&integrated_later.hire(0)).expect(200);
    app.admin().put(&path(&integrated_later), &json!({ "url": "https://hr.invalid/hooks" })).expect(200);
    app.admin().post_empty(&integrated.hire(1)).expect(200);
    let expected = format!("{}|candidate.hired", integrated.candidates[0].application_id);
    assert_eq!(owed(&app, "SELECT candidate_role_id, type FROM hr_deliveries"), [expected]);
}

fn the_id_of_a_delivery_follows_from_the_id_of_its_activity_row() {
    let (app, hiring) = start_integrated();
    app.admin().post_empty(&hiring.hire(0)).expect(200);
    let activity = app.sql("SELECT id FROM activities").join("");
    assert_eq!(owed(&app, "SELECT id FROM hr_deliveries"), [activity.replacen("act_", "evt_", 1)]);
}

fn start() -> (App, Hiring) {
    let app = App::start();
    let hiring = app.hiring();
    (app, hiring)
}

fn start_integrated() -> (App, Hiring) {
    let app = App::start();
    let hiring = app.hiring_with(|document| integrate(document, true));
    (app, hiring)
}

/// Gives the document's organization an HR system at a host that does not exist.
fn integrate(document: &mut Value, enabled: bool) {
    let integration = json!({ "url": "https://hr.invalid/hooks", "secret": "whsec_c2VjcmV0", "enabled": enabled });
    document["organizations"][0]["hrIntegration"] = integration;
}

/// Returns the rows of a query about deliveries. Before the query, the request for the list of deliveries makes the
/// service create all owed deliveries.
fn owed(app: &App, sql: &str) -> Vec<String> {
    app.admin().get("/api/admin/hr-deliveries").expect(200);
    app.sql(sql)
}

/// Returns the only activity row: the columns that name the act and its subject, and the detail.
fn only_activity(app: &App) -> (String, Value) {
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["1"]);
    last_activity(app)
}

/// Returns the newest activity row.
fn last_activity(app: &App) -> (String, Value) {
    let columns = "organization_id, at, action, user_id, api_key_id, role_id, candidate_id, candidate_role_id,
                   candidate_role_step_id";
    let last = "FROM activities ORDER BY number DESC LIMIT 1";
    let row = app.sql(&format!("SELECT {columns} {last}")).join("");
    let detail = app.sql(&format!("SELECT detail {last}")).join("");
    (row, serde_json::from_str(&detail).unwrap())
}

/// Returns a step as an activity row shows it.
fn step(id: &str, status: &str, validated_at: &str) -> Value {
    json!({
        "id": id,
        "status": status,
        "rejectedAt": null,
        "rejectionReason": null,
        "outcomeType": null,
        "outcomeReason": null,
        "validatedAt": Some(validated_at).filter(|at| !at.is_empty()),
    })
}

fn hire_body() -> Value {
    json!({
        "notes": "welcome",
        "hiredDate": "2026-12-01",
        "offerAcceptedDate": "2026-11-20T18:30:00+01:00",
        "externalPositionId": "POS-7",
    })
}

/// Returns the details of `hire_body` as an activity row shows them.
fn hire_record() -> Value {
    json!({
        "notes": "welcome",
        "hiredDate": "2026-12-01T00:00:00.000000Z",
        "offerAcceptedDate": "2026-11-20T17:30:00.000000Z",
        "externalPositionId": "POS-7",
    })
}

/// Returns the fields that every payload about the first candidate has, for a decision by the HR representative.
fn payload(hiring: &Hiring, kind: &str) -> Value {
    let candidate = &hiring.candidates[0];
    let number = hiring.slug.trim_start_matches("acme-");
    json!({
        "type": kind,
        "version": 1,
        "timestamp": NOW,
        "data": {
            "organization": { "id": hiring.organization_id, "slug": hiring.slug, "name": format!("Acme {number}") },
            "role": { "id": hiring.role_id, "name": "Engineer" },
            "candidate": {
                "id": candidate.candidate_id,
                "name": "Candidate 1",
                "email": format!("candidate-1@people-{number}.example"),
            },
            "application": { "id": candidate.application_id },
            "decidedBy": {
                "id": hiring.staff("hr_representative"),
                "name": "The hr_representative",
                "email": hiring.email("hr_representative"),
            },
        },
    })
}

fn payloads(app: &App) -> Vec<Value> {
    let rows = owed(app, "SELECT payload FROM hr_deliveries ORDER BY number");
    rows.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// Returns the numbers of open roles and open positions, and the number of applications with each status: in progress,
/// hired, not selected, withdrawn.
fn figures(app: &App, hiring: &Hiring) -> String {
    let sql =
        "SELECT open_roles, open_positions, in_progress, hired, not_selected, withdrawn FROM organization_statuses";
    app.sql(&format!("{sql} WHERE organization_id = '{}'", hiring.organization_id)).join("")
}

/// Returns a key's usage rows, newest first.
fn usage(app: &App, key: &str) -> Vec<Value> {
    let page = app.admin().get(&format!("/api/admin/api-keys/{key}/usage")).expect(200).json();
    page["data"]["rows"].as_array().unwrap().clone()
}

/// Returns every row of every table, except the tables that the service writes on its own schedule: the usage log with
/// its index, `service_marks`, and the believed clock.
fn everything_but_usage(app: &App) -> Vec<String> {
    let is_scheduled =
        |table: &str| table.starts_with("api_key_usage") || ["service_marks", "believed_clock"].contains(&table);
    let mut tables = app.tables();
    tables.retain(|table| !is_scheduled(table));
    let rows = |table: &String| {
        let rows = app.sql(&format!("SELECT * FROM {table}"));
        rows.into_iter().map(|row| format!("{table}: {row}")).collect::<Vec<_>>()
    };
    tables.iter().flat_map(rows).collect()
}

fn micros(text: &str) -> i64 {
    Timestamp::parse(text, Rounding::Down).unwrap().micros()
}

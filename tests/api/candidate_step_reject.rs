//! `POST /api/v1/candidate-steps/{id}/reject`: the answer, the input, the refusals, the effect on the application,
//! and the reversal of a hire.

use serde_json::{Value, json};

use crate::support::app::{BEGINNING, Options};
use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_rejection_returns_the_rejected_step,
    a_rejection_without_notes_has_an_empty_reason_and_no_outcome,
    any_outcome_text_is_returned_unchanged,
    a_step_can_be_rejected_unless_it_is_already_rejected,
    a_rejection_does_not_need_an_open_role,
    rejecting_a_step_again_is_a_conflict_and_changes_nothing,
    a_rejection_leaves_other_steps_unchanged,
    a_rejection_at_another_step_leaves_the_first_rejection_unchanged,
    rejecting_a_withdrawn_application_makes_it_not_selected,
    text_limits_count_code_points,
    all_wrong_types_are_reported_together,
    a_body_that_is_not_a_json_object_is_refused,
    a_body_over_the_limit_or_of_another_media_type_is_refused,
    a_key_over_its_rate_limit_rejects_nobody,
    callers_without_authority_are_refused_before_the_state_is_checked,
    an_absent_step_is_not_found,
    rejecting_a_hired_candidate_reverses_the_hire,
    reversing_a_hire_frees_the_position,
    reversing_a_hire_does_not_open_a_closed_role_or_a_draft,
    reversing_a_hire_leaves_an_open_role_open,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";

fn a_rejection_returns_the_rejected_step() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    let body = json!({
        "outcomeNotes": "not enough experience",
        "outcomeType": "rejected_by_organization",
        "outcomeReason": "lacking_skills",
    });
    let answer = staff.post(&hiring.decision(0, 2, "reject"), &body).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let step = json!({
        "id": hiring.candidates[0].steps[2],
        "roleId": hiring.role_id,
        "roleStepId": hiring.role_steps[2],
        "candidateRoleId": hiring.candidates[0].application_id,
        "name": "Interview",
        "order": 3,
        "stepType": "interview",
        "status": "rejected",
        "rejectedAt": NOW,
        "rejectionReason": "not enough experience",
        "outcomeType": "rejected_by_organization",
        "outcomeReason": "lacking_skills",
    });
    assert_eq!(answer.json(), json!({ "success": true, "step": step }));
    assert_eq!(application(&app, &hiring, 0), "Not Selected|null|null|null|null");
}

fn a_rejection_without_notes_has_an_empty_reason_and_no_outcome() {
    let (app, hiring, staff) = start();
    let nulls = r#"{"outcomeNotes":null,"outcomeType":null,"outcomeReason":null}"#;
    let unknown = r#"{"notes":"x","rejectionReason":"x","status":"validated","candidate":{"deep":[1]}}"#;
    for (index, body) in ["", "{}", nulls, unknown].into_iter().enumerate() {
        let answer = staff.send("POST", &hiring.decision(0, index, "reject"), &[], body.as_bytes()).expect(200);
        let step = &answer.json()["step"];
        assert_eq!((&step["rejectionReason"], &step["rejectedAt"]), (&json!(""), &json!(with_micros(BEGINNING))));
        for absent in ["outcomeType", "outcomeReason", "validatedAt"] {
            assert_eq!(step.get(absent), None, "{body:?}: {absent}");
        }
        let stored = format!("rejected||null|null|{}", micros(BEGINNING));
        assert_eq!(record(&app, &hiring, 0, index), stored, "{body:?}");
    }
}

fn any_outcome_text_is_returned_unchanged() {
    let (app, hiring, staff) = start();
    for (index, (kind, reason, notes)) in [
        ("rejected_by_candidate", "accepted_other_offer", "she wrote on Monday"),
        ("other", "role_filled", ""),
        ("", "  Blank ends  ", "line one\nline two\t\u{200b}"),
        ("Verfügbarkeit 😀", "nobody's \"documented\" value", "'; DROP TABLE candidate_roles; --"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({ "outcomeType": kind, "outcomeReason": reason, "outcomeNotes": notes });
        let answer = staff.post(&hiring.decision(0, index, "reject"), &body).expect(200);
        let step = &answer.json()["step"];
        let shown = (&step["outcomeType"], &step["outcomeReason"], &step["rejectionReason"]);
        assert_eq!(shown, (&json!(kind), &json!(reason), &json!(notes)));
        let stored = format!("rejected|{notes}|{kind}|{reason}|{}", micros(BEGINNING));
        assert_eq!(record(&app, &hiring, 0, index), stored);
    }
}

fn a_step_can_be_rejected_unless_it_is_already_rejected() {
    let app = App::start();
    for status in ["pending", "in_progress", "validated", "skipped"] {
        let hiring = app.hiring_with(|document| {
            set_steps(document, 0, "In Progress", &["validated", status, "pending", "pending"]);
        });
        let staff = app.user(&hiring.staff("moderator"));
        assert_eq!(hiring.step_statuses(&app, 0)[1], status);
        let step = staff.post_empty(&hiring.decision(0, 1, "reject")).expect(200).json()["step"].clone();
        assert_eq!(step["status"], "rejected", "{status}");
        assert_eq!(step.get("validatedAt"), None, "{status}");
        assert_eq!(hiring.step_statuses(&app, 0), ["validated", "rejected", "pending", "pending"]);
        assert_eq!(application(&app, &hiring, 0), "Not Selected|null|null|null|null", "{status}");
        staff.post_empty(&hiring.decision(0, 1, "reject")).refused(409, "conflict");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_rejection_does_not_need_an_open_role() {
    let app = App::start();
    for status in ["draft", "closed"] {
        let hiring = app.hiring_with(|document| first_role_of(document)["status"] = json!(status));
        app.user(&hiring.staff("owner")).post_empty(&hiring.reject(0)).expect(200);
        assert_eq!(application(&app, &hiring, 0), "Not Selected|null|null|null|null", "{status}");
        assert_eq!(role(&app, &hiring), format!("{status}|0"));
    }
}

fn rejecting_a_step_again_is_a_conflict_and_changes_nothing() {
    let (app, hiring, staff) = start();
    let first = json!({ "outcomeNotes": "first", "outcomeType": "other", "outcomeReason": "why" });
    staff.post(&hiring.reject(0), &first).expect(200);
    let before = record(&app, &hiring, 0, 1);
    app.pass(60);
    let second = json!({ "outcomeNotes": "second", "outcomeType": "rejected_by_candidate" });
    let problem = staff.post(&hiring.reject(0), &second).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the step is already rejected");
    assert_eq!(problem["title"], "Conflict");
    assert_eq!(problem.get("errors"), None);
    assert_eq!(record(&app, &hiring, 0, 1), before);
    assert_eq!(before, format!("rejected|first|other|why|{}", micros(BEGINNING)));
    app.admin().post_empty(&hiring.reject(0)).refused(409, "conflict");
}

fn a_rejection_leaves_other_steps_unchanged() {
    let (app, hiring, staff) = start();
    let others = |addressed: usize| -> Vec<String> {
        let id = &hiring.candidates[0].steps[addressed];
        app.sql(&format!("SELECT * FROM candidate_role_steps WHERE id <> '{id}' ORDER BY id"))
    };
    let before = others(1);
    staff.post(&hiring.reject(0), &json!({ "outcomeNotes": "no" })).expect(200);
    assert_eq!(others(1), before);
    assert_eq!(before.len(), 11);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "rejected", "pending", "pending"]);
    for other in [1, 2] {
        assert_eq!(application(&app, &hiring, other), "In Progress|null|null|null|null");
    }
}

fn a_rejection_at_another_step_leaves_the_first_rejection_unchanged() {
    let (app, hiring, staff) = start();
    let first = json!({ "outcomeNotes": "first", "outcomeType": "rejected_by_organization" });
    staff.post(&hiring.decision(0, 1, "reject"), &first).expect(200);
    let before = record(&app, &hiring, 0, 1);
    app.pass(60);
    let answer = staff.post(&hiring.decision(0, 3, "reject"), &json!({ "outcomeNotes": "second" })).expect(200);
    assert_eq!(answer.json()["step"]["rejectionReason"], "second");
    assert_eq!(answer.json()["step"]["rejectedAt"], "2026-11-21T09:01:00.000000Z");
    assert_eq!(record(&app, &hiring, 0, 1), before);
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "rejected", "pending", "rejected"]);
    assert_eq!(application(&app, &hiring, 0), "Not Selected|null|null|null|null");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn rejecting_a_withdrawn_application_makes_it_not_selected() {
    let app = App::start();
    let steps = ["validated", "rejected", "in_progress", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "Withdrawn", &steps));
    let staff = app.user(&hiring.staff("owner"));
    staff.post_empty(&hiring.decision(0, 1, "reject")).refused(409, "conflict");
    assert_eq!(application(&app, &hiring, 0), "Withdrawn|null|null|null|null");
    staff.post_empty(&hiring.decision(0, 2, "reject")).expect(200);
    assert_eq!(application(&app, &hiring, 0), "Not Selected|null|null|null|null");
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "rejected", "rejected", "pending"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn text_limits_count_code_points() {
    let (app, hiring, staff) = start();
    for character in ["a", "ä", "😀", "\\"] {
        let over = json!({
            "outcomeNotes": character.repeat(10_001),
            "outcomeType": character.repeat(256),
            "outcomeReason": character.repeat(256),
        });
        let answer = staff.post(&hiring.reject(0), &over).refused(400, "bad_request");
        assert_eq!(answer.fields(), ["outcomeNotes", "outcomeType", "outcomeReason"], "{character:?}");
        assert_eq!(answer.json()["errors"][0]["detail"], "must have at most 10000 characters");
        assert_eq!(answer.json()["errors"][1]["detail"], "must have at most 255 characters");
    }
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
    for (index, character) in ["a", "ä", "😀", "\\"].into_iter().enumerate() {
        let longest = [character.repeat(10_000), character.repeat(255)];
        let body = json!({ "outcomeNotes": longest[0], "outcomeType": longest[1], "outcomeReason": longest[1] });
        let step = staff.post(&hiring.decision(0, index, "reject"), &body).expect(200).json()["step"].clone();
        assert_eq!(step["rejectionReason"], longest[0]);
        assert_eq!(step["outcomeType"], longest[1]);
        assert_eq!(step["outcomeReason"], longest[1]);
    }
}

fn all_wrong_types_are_reported_together() {
    let (app, hiring, staff) = start();
    let all = ["outcomeNotes", "outcomeType", "outcomeReason"];
    for wrong in [json!(1), json!(1.5), json!(true), json!(["a"]), json!({ "a": "b" })] {
        let body = json!({ "outcomeNotes": wrong, "outcomeType": wrong, "outcomeReason": wrong });
        let answer = staff.post(&hiring.reject(0), &body).refused(400, "bad_request");
        assert_eq!(answer.fields(), all, "{wrong}");
        assert_eq!(answer.json()["errors"][2]["detail"], "must be a string", "{wrong}");
    }
    let body = json!({ "outcomeNotes": "fine", "outcomeType": null, "outcomeReason": 7 });
    let answer = staff.post(&hiring.reject(0), &body).refused(400, "bad_request");
    assert_eq!(answer.fields(), ["outcomeReason"]);
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
}

fn a_body_that_is_not_a_json_object_is_refused() {
    let (app, hiring, staff) = start();
    let doubled = r#"{"outcomeNotes":"a","outcomeNotes":"b"}"#;
    let deep_doubled = r#"{"unknown":[{"a":1,"a":2}]}"#;
    for body in ["null", "[]", "\"text\"", "7", "{", "{}{}", "{\"outcomeNotes\":}", " ", doubled, deep_doubled] {
        let answer = staff.send("POST", &hiring.reject(0), &[], body.as_bytes()).refused(400, "bad_request");
        assert_eq!(answer.fields(), Vec::<String>::new(), "{body:?}");
    }
    let bytes = b"{\"outcomeNotes\":\"\xff\"}";
    staff.send("POST", &hiring.reject(0), &[], bytes).refused(400, "bad_request");
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
}

fn a_body_over_the_limit_or_of_another_media_type_is_refused() {
    let (app, hiring, staff) = start();
    let send =
        |media_type: &str, body: &[u8]| staff.send("POST", &hiring.reject(0), &[("Content-Type", media_type)], body);
    let padded = |bytes: usize| format!("{{\"pad\":\"{}\"}}", "x".repeat(bytes - 10));
    send("application/json", padded(131_073).as_bytes()).refused(413, "payload_too_large");
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data"] {
        send(media_type, b"{}").refused(415, "unsupported_media_type");
    }
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
    send("application/json", padded(131_072).as_bytes()).expect(200);
    staff.send("POST", &hiring.reject(1), &[("Content-Type", "application/vnd.x+json")], b"{}").expect(200);
}

fn a_key_over_its_rate_limit_rejects_nobody() {
    let app = App::with(Options { per_minute: Some(20), ..Options::default() });
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("owner"));
    for _ in 0..20 {
        staff.post(&hiring.reject(0), &json!({ "outcomeNotes": 1 })).refused(400, "bad_request");
    }
    staff.post_empty(&hiring.reject(0)).refused(429, "rate_limited");
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
}

fn callers_without_authority_are_refused_before_the_state_is_checked() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.reject(0)).expect(200);
    let body = json!({ "name": "narrow", "userId": hiring.staff("owner"), "scopes": ["candidates:write"] });
    let narrow = app.key(&app.make_key_with(&body).1);
    let member = app.user(&hiring.staff("member"));
    let broken = |client: &Client| client.send("POST", &hiring.reject(0), &[], b"{");
    broken(&app.anonymous()).refused(401, "unauthorized");
    broken(&narrow).refused(403, "insufficient_scope");
    broken(&member).refused(400, "bad_request");
    member.post_empty(&hiring.reject(0)).refused(403, "forbidden");
    staff.post_empty(&hiring.reject(0)).refused(409, "conflict");
}

fn an_absent_step_is_not_found() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    for id in ["cstep_none", &other.candidates[0].steps[1], &hiring.candidates[0].application_id, "a%20b", "%00"] {
        let path = format!("/api/v1/candidate-steps/{id}/reject");
        staff.post_empty(&path).refused(404, "not_found");
        staff.post(&path, &json!({ "outcomeNotes": 1 })).refused(400, "bad_request");
    }
    assert_eq!(other.step_statuses(&app, 0)[1], "in_progress");
}

/// Each case hires the candidate at the second step and then rejects them at one of the four steps: the validated
/// step, the step that the hire addressed, the skipped step, or the final step.
fn rejecting_a_hired_candidate_reverses_the_hire() {
    for (addressed, expected) in [
        (0, ["rejected", "validated", "skipped", "pending"]),
        (1, ["validated", "rejected", "skipped", "pending"]),
        (2, ["validated", "validated", "rejected", "pending"]),
        (3, ["validated", "validated", "skipped", "rejected"]),
    ] {
        let (app, hiring, staff) = start();
        staff.post(&hiring.decision(0, 1, "hire"), &hire_body()).expect(200);
        assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "skipped", "validated"]);
        let hired = application(&app, &hiring, 0);
        assert!(hired.starts_with("Hired|") && !hired.contains("null"), "{hired}");
        app.pass(3_600);
        let answer = staff.post(&hiring.decision(0, addressed, "reject"), &json!({ "outcomeNotes": "fell through" }));
        let step = answer.expect(200).json()["step"].clone();
        assert_eq!(step["id"], hiring.candidates[0].steps[addressed]);
        assert_eq!((&step["status"], &step["rejectedAt"]), (&json!("rejected"), &json!("2026-11-21T10:00:00.000000Z")));
        assert_eq!(step.get("validatedAt"), None);
        assert_eq!(hiring.step_statuses(&app, 0), expected, "at {addressed}");
        assert_eq!(application(&app, &hiring, 0), "Not Selected|null|null|null|null");
        assert_eq!(role(&app, &hiring), "open|0");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn reversing_a_hire_frees_the_position() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
    let staff = app.user(&hiring.staff("hr_representative"));
    let link = apply(&app, &hiring);
    staff.post(&hiring.hire(0), &hire_body()).expect(200);
    assert_eq!((role(&app, &hiring), on_portal(&app, &hiring)), ("filled|1".to_owned(), false));
    staff.post_empty(&hiring.hire(1)).refused(400, "bad_request");
    staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    assert_eq!((role(&app, &hiring), on_portal(&app, &hiring)), ("open|0".to_owned(), true));
    assert_ne!(apply(&app, &hiring), link, "a signup link ends when its role is no longer open");
    let problem = staff.post_empty(&hiring.hire(0)).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the candidate has already been rejected for this role");
    staff.post_empty(&hiring.decision(0, 0, "reject")).expect(200);
    assert_eq!(role(&app, &hiring), "open|0", "a second rejection does not free another position");
    staff.post_empty(&hiring.hire(1)).expect(200);
    assert_eq!((role(&app, &hiring), on_portal(&app, &hiring)), ("filled|1".to_owned(), false));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn reversing_a_hire_does_not_open_a_closed_role_or_a_draft() {
    let app = App::start();
    for (positions, status) in [(1, "closed"), (2, "closed"), (2, "draft")] {
        let hiring = app.hiring_with(|document| {
            first_role_of(document)["positions"] = json!(positions);
            first_role_of(document)["status"] = json!(status);
            set_steps(document, 0, "Hired", &["validated", "skipped", "skipped", "validated"]);
        });
        assert_eq!(role(&app, &hiring), format!("{status}|1"));
        let staff = app.user(&hiring.staff("owner"));
        staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
        assert_eq!((role(&app, &hiring), on_portal(&app, &hiring)), (format!("{status}|0"), false));
        let problem = staff.post_empty(&hiring.hire(1)).refused(400, "bad_request").json();
        assert!(problem["detail"].as_str().unwrap().contains("not open"), "{problem}");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn reversing_a_hire_leaves_an_open_role_open() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.hire(0)).expect(200);
    staff.post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    assert_eq!((role(&app, &hiring), on_portal(&app, &hiring)), ("open|0".to_owned(), true));
    staff.post_empty(&hiring.hire(1)).expect(200);
    staff.post_empty(&hiring.hire(2)).expect(200);
    assert_eq!(role(&app, &hiring), "filled|2");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

/// Returns the body of a hire with every detail.
fn hire_body() -> Value {
    json!({
        "notes": "welcome",
        "hiredDate": "2026-11-20",
        "offerAcceptedDate": "2026-11-19",
        "externalPositionId": "A-1",
    })
}

/// Returns the stored rejection of a step.
fn record(app: &App, hiring: &Hiring, candidate: usize, step: usize) -> String {
    let id = &hiring.candidates[candidate].steps[step];
    let sql = "SELECT status, rejection_reason, outcome_type, outcome_reason, rejected_at FROM candidate_role_steps";
    app.sql(&format!("{sql} WHERE id = '{id}'")).join("")
}

/// Returns an application's status and the details of its hire.
fn application(app: &App, hiring: &Hiring, candidate: usize) -> String {
    let id = &hiring.candidates[candidate].application_id;
    let sql = "SELECT status, hired_date, offer_accepted_date, external_position_id, hire_notes FROM candidate_roles";
    app.sql(&format!("{sql} WHERE id = '{id}'")).join("")
}

fn role(app: &App, hiring: &Hiring) -> String {
    app.sql(&format!("SELECT status, hired FROM roles WHERE id = '{}'", hiring.role_id)).join("")
}

/// Returns whether the portal shows the role, both in the list and on the role's own page.
fn on_portal(app: &App, hiring: &Hiring) -> bool {
    let listed = app.anonymous().get(&hiring.portal()).expect(200).json()["roles"].as_array().unwrap().len();
    let shown = app.anonymous().get(&format!("{}/roles/{}", hiring.portal(), hiring.role_id)).status;
    assert!((listed, shown) == (1, 200) || (listed, shown) == (0, 404), "{listed} listed, {shown}");
    shown == 200
}

/// Returns the link by which candidates sign up for the role.
fn apply(app: &App, hiring: &Hiring) -> String {
    let body = json!({ "roleId": hiring.role_id });
    let answer = app.anonymous().post(&format!("{}/apply", hiring.portal()), &body).expect(200);
    answer.json()["inviteUrl"].as_str().unwrap().to_owned()
}

fn with_micros(text: &str) -> String {
    text.replace('Z', ".000000Z")
}

fn micros(text: &str) -> i64 {
    use appliance::domain::timestamp::{Rounding, Timestamp};
    Timestamp::parse(text, Rounding::Down).unwrap().micros()
}

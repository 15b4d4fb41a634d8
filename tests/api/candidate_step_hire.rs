//! `POST /api/v1/candidate-steps/{id}/hire`: the answer, the input, the order of the refusals, and the effect on the
//! steps, the application and the role.

use appliance::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::app::Options;
use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_hire_returns_the_validated_final_step,
    a_hire_validates_the_addressed_step_and_skips_open_steps,
    a_hire_at_a_skipped_step_validates_it,
    a_pipeline_of_one_step_allows_a_hire,
    an_empty_object_and_null_or_unknown_fields_are_accepted,
    the_details_of_a_hire_are_stored_on_the_application,
    notes_take_precedence_over_outcome_notes,
    dates_are_timestamps_with_an_offset_or_plain_days,
    an_invalid_date_is_reported_with_its_field,
    an_external_position_id_can_be_required,
    a_blank_external_position_id_is_treated_as_absent,
    text_limits_count_code_points,
    all_wrong_types_are_reported_together,
    a_body_that_is_not_a_json_object_is_refused,
    a_body_over_the_limit_or_of_another_media_type_is_refused,
    a_hire_for_a_role_that_is_not_open_is_refused,
    a_hire_for_a_filled_role_is_refused,
    filling_the_last_position_removes_the_role_from_the_portal,
    a_role_that_is_not_public_allows_hires,
    a_second_hire_is_a_conflict,
    hiring_a_rejected_candidate_is_a_conflict,
    a_hire_on_a_withdrawn_application_is_a_conflict,
    applications_of_one_candidate_are_decided_independently,
    the_head_is_checked_before_the_body,
    the_body_is_checked_before_the_step,
    authority_is_checked_before_state_and_state_before_rules,
    an_absent_or_invisible_step_is_not_found,
    a_percent_encoded_id_is_decoded_once,
    a_key_over_its_rate_limit_hires_nobody,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";
const THEN: &str = "2026-11-02T10:00:00.000000Z";

fn a_hire_returns_the_validated_final_step() {
    let (app, hiring, staff) = start();
    app.set_clock(NOW);
    let answer = staff.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let step = json!({
        "id": hiring.candidates[0].steps[3],
        "roleId": hiring.role_id,
        "roleStepId": hiring.role_steps[3],
        "candidateRoleId": hiring.candidates[0].application_id,
        "name": "Offer",
        "order": 4,
        "stepType": "offer",
        "status": "validated",
        "validatedAt": NOW,
    });
    assert_eq!(answer.json(), json!({ "success": true, "step": step }));
    assert_eq!(application(&app, &hiring, 0), ["Hired", NOW, "null", "null", "null"]);
    assert_eq!(role(&app, &hiring), "open|1");
}

fn a_hire_validates_the_addressed_step_and_skips_open_steps() {
    for (addressed, expected) in [
        (0, [("validated", THEN), ("skipped", ""), ("skipped", ""), ("validated", NOW)]),
        (1, [("validated", THEN), ("validated", NOW), ("skipped", ""), ("validated", NOW)]),
        (2, [("validated", THEN), ("skipped", ""), ("validated", NOW), ("validated", NOW)]),
        (3, [("validated", THEN), ("skipped", ""), ("skipped", ""), ("validated", NOW)]),
    ] {
        let (app, hiring, staff) = start();
        app.set_clock(NOW);
        let answer = staff.post_empty(&hiring.decision(0, addressed, "hire")).expect(200);
        assert_eq!(answer.json()["step"]["id"], hiring.candidates[0].steps[3], "at {addressed}");
        assert_eq!(answer.json()["step"]["order"], 4);
        let expected = expected.map(|(status, at)| (status.to_owned(), at.to_owned()));
        assert_eq!(steps(&app, &hiring, 0), expected, "at {addressed}");
        assert_eq!(steps(&app, &hiring, 1)[1].0, "in_progress");
        assert_eq!(app.check(), Vec::<String>::new());
    }
}

fn a_hire_at_a_skipped_step_validates_it() {
    let app = App::start();
    let before = ["skipped", "skipped", "in_progress", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "In Progress", &before));
    app.user(&hiring.staff("owner")).post_empty(&hiring.decision(0, 1, "hire")).expect(200);
    let statuses: Vec<String> = steps(&app, &hiring, 0).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["skipped", "validated", "skipped", "validated"]);
}

fn a_pipeline_of_one_step_allows_a_hire() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let role = first_role_of(document);
        role["steps"].as_array_mut().unwrap().truncate(1);
        role["candidates"].as_array_mut().unwrap().truncate(1);
        role["candidates"][0]["steps"].as_array_mut().unwrap().truncate(1);
        set_steps(document, 0, "In Progress", &["in_progress"]);
    });
    let answer = app.user(&hiring.staff("owner")).post_empty(&hiring.decision(0, 0, "hire")).expect(200);
    assert_eq!(answer.json()["step"]["id"], hiring.candidates[0].steps[0]);
    assert_eq!(answer.json()["step"]["status"], "validated");
    assert_eq!(steps(&app, &hiring, 0).len(), 1);
}

fn an_empty_object_and_null_or_unknown_fields_are_accepted() {
    let (app, hiring, staff) = start_with_positions(3);
    let nulls =
        r#"{"notes":null,"outcomeNotes":null,"hiredDate":null,"offerAcceptedDate":null,"externalPositionId":null}"#;
    let unknown = r#"{"startDate":7,"outcomeType":[],"status":"rejected","steps":[{"id":null}]}"#;
    for (candidate, body) in ["{}", nulls, unknown].into_iter().enumerate() {
        staff.send("POST", &hiring.hire(candidate), &[], body.as_bytes()).expect(200);
        let expected = ["Hired", "2026-11-21T09:00:00.000000Z", "null", "null", "null"];
        assert_eq!(application(&app, &hiring, candidate), expected, "{body}");
    }
}

fn the_details_of_a_hire_are_stored_on_the_application() {
    let (app, hiring, staff) = start();
    let body = json!({
        "notes": "Grüße 😀\nsecond line\t",
        "hiredDate": "2026-12-01",
        "offerAcceptedDate": "2026-11-20T18:30:00+01:00",
        "externalPositionId": "POS-7/ä",
    });
    staff.post(&hiring.hire(0), &body).expect(200);
    let expected =
        ["Hired", "2026-12-01T00:00:00.000000Z", "2026-11-20T17:30:00.000000Z", "POS-7/ä", "Grüße 😀\nsecond line\t"];
    assert_eq!(application(&app, &hiring, 0), expected);
    assert_eq!(application(&app, &hiring, 1), ["In Progress", "null", "null", "null", "null"]);
}

fn notes_take_precedence_over_outcome_notes() {
    let app = App::start();
    for (body, stored) in [
        (json!({ "notes": "first" }), "first"),
        (json!({ "outcomeNotes": "second" }), "second"),
        (json!({ "notes": "first", "outcomeNotes": "second" }), "first"),
        (json!({ "outcomeNotes": "second", "notes": "first" }), "first"),
        (json!({ "notes": null, "outcomeNotes": "second" }), "second"),
        (json!({ "notes": "first", "outcomeNotes": null }), "first"),
    ] {
        let hiring = app.hiring();
        app.admin().post(&hiring.hire(0), &body).expect(200);
        assert_eq!(application(&app, &hiring, 0)[4], stored, "{body}");
    }
}

fn dates_are_timestamps_with_an_offset_or_plain_days() {
    let app = App::start();
    for (given, stored) in [
        ("2026-11-21", "2026-11-21T00:00:00.000000Z"),
        ("1999-12-31", "1999-12-31T00:00:00.000000Z"),
        ("2024-02-29", "2024-02-29T00:00:00.000000Z"),
        ("2026-11-21T09:12:33Z", "2026-11-21T09:12:33.000000Z"),
        ("2026-11-21t09:12:33z", "2026-11-21T09:12:33.000000Z"),
        ("2026-11-21T09:12:33.5+02:00", "2026-11-21T07:12:33.500000Z"),
        ("2026-11-21T23:30:00-01:00", "2026-11-22T00:30:00.000000Z"),
        ("2026-11-21T09:12:33.123456Z", "2026-11-21T09:12:33.123456Z"),
        ("2026-11-21T09:12:33.1234569Z", "2026-11-21T09:12:33.123456Z"),
        ("2026-11-21T09:12:33.123456999999999999999999Z", "2026-11-21T09:12:33.123456Z"),
        ("2030-01-01T00:00:00-23:59", "2030-01-01T23:59:00.000000Z"),
        ("0000-01-01", "0000-01-01T00:00:00.000000Z"),
        ("9999-12-30T21:00:00-02:00", "9999-12-30T23:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ] {
        let hiring = app.hiring();
        let body = json!({ "hiredDate": given, "offerAcceptedDate": given });
        app.admin().post(&hiring.hire(0), &body).expect(200);
        assert_eq!(application(&app, &hiring, 0)[1..3], [stored, stored], "{given}");
    }
}

fn an_invalid_date_is_reported_with_its_field() {
    let (app, hiring, staff) = start();
    for wrong in [
        json!("2026-02-30"),
        json!("2025-02-29"),
        json!("2026-13-01"),
        json!("2026-11-21T09:12:33"),
        json!("2026-11-21 09:12:33Z"),
        json!("2026-11-21T24:00:00Z"),
        json!("2026-11-21T09:12:33+0200"),
        json!("9999-12-31T23:59:59-00:01"),
        json!("0000-01-01T00:00:00+00:01"),
        json!("21.11.2026"),
        json!("tomorrow"),
        json!(""),
        json!(" 2026-11-21"),
        json!(1_763_716_353),
        json!(true),
        json!(["2026-11-21"]),
        json!({ "date": "2026-11-21" }),
    ] {
        for field in ["hiredDate", "offerAcceptedDate"] {
            let mut body = json!({ "hiredDate": "2026-11-21", "offerAcceptedDate": "2026-11-21" });
            body[field] = wrong.clone();
            let answer = staff.post(&hiring.hire(0), &body).refused(400, "bad_request");
            assert_eq!(answer.fields(), [field], "{wrong}");
            assert!(answer.json()["detail"].as_str().unwrap().starts_with(field), "{}", answer.text());
        }
        let both = json!({ "offerAcceptedDate": wrong, "hiredDate": wrong });
        let answer = staff.post(&hiring.hire(0), &both).refused(400, "bad_request");
        assert_eq!(answer.fields(), ["hiredDate", "offerAcceptedDate"], "{wrong}");
    }
    assert_undecided(&app, &hiring, 0);
}

fn an_external_position_id_can_be_required() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["requireExternalPositionId"] = json!(true);
    });
    let staff = app.user(&hiring.staff("owner"));
    let without = staff.post_empty(&hiring.hire(0)).refused(400, "bad_request");
    assert_eq!(without.fields(), ["externalPositionId"]);
    for missing in [json!(null), json!(""), json!("   "), json!("\t\r\n"), json!("\u{a0}\u{2003}")] {
        let body = json!({ "externalPositionId": missing, "notes": "x" });
        let answer = staff.post(&hiring.hire(0), &body).refused(400, "bad_request");
        assert_eq!(answer.fields(), ["externalPositionId"], "{missing}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("externalPositionId"));
    }
    assert_undecided(&app, &hiring, 0);
    staff.post(&hiring.hire(0), &json!({ "externalPositionId": "A" })).expect(200);
    assert_eq!(application(&app, &hiring, 0)[3], "A");
    staff.post_empty(&hiring.reject(1)).expect(200);
}

fn a_blank_external_position_id_is_treated_as_absent() {
    let (app, hiring, staff) = start_with_positions(3);
    for (candidate, blank) in ["", " \t", "\u{3000}"].into_iter().enumerate() {
        staff.post(&hiring.hire(candidate), &json!({ "externalPositionId": blank })).expect(200);
        assert_eq!(application(&app, &hiring, candidate)[3], "null", "{blank:?}");
    }
}

fn text_limits_count_code_points() {
    let app = App::start();
    for (character, required) in [("a", true), ("ä", false), ("😀", true), ("\\", false)] {
        let hiring = app.hiring_with(|document| {
            document["organizations"][0]["requireExternalPositionId"] = json!(required);
        });
        let staff = app.user(&hiring.staff("owner"));
        let (note, code) = (character.repeat(10_000), character.repeat(255));
        let (note_over, code_over) = (character.repeat(10_001), character.repeat(256));
        for (field, over) in [("notes", &note_over), ("outcomeNotes", &note_over), ("externalPositionId", &code_over)] {
            let mut body = json!({ "notes": "fine", "outcomeNotes": "fine", "externalPositionId": "fine" });
            body[field] = json!(over);
            let answer = staff.post(&hiring.hire(0), &body).refused(400, "bad_request");
            assert_eq!(answer.fields(), [field], "{character:?}");
        }
        let all = json!({ "externalPositionId": code_over, "hiredDate": "never", "notes": note_over });
        let answer = staff.post(&hiring.hire(0), &all).refused(400, "bad_request");
        assert_eq!(answer.fields(), ["notes", "hiredDate", "externalPositionId"]);
        assert_undecided(&app, &hiring, 0);
        staff.post(&hiring.hire(0), &json!({ "notes": note, "externalPositionId": code })).expect(200);
        assert_eq!(application(&app, &hiring, 0)[3..], [code.as_str(), note.as_str()], "{character:?}");
        let body = json!({ "outcomeNotes": note, "externalPositionId": code });
        staff.post(&hiring.hire(1), &body).expect(200);
        assert_eq!(application(&app, &hiring, 1)[4], note);
    }
}

fn all_wrong_types_are_reported_together() {
    let (app, hiring, staff) = start();
    let all = ["notes", "outcomeNotes", "hiredDate", "offerAcceptedDate", "externalPositionId"];
    for wrong in [json!(1), json!(-1.5), json!(false), json!([]), json!({})] {
        let mut body = json!({});
        all.iter().for_each(|field| body[*field] = wrong.clone());
        let answer = staff.post(&hiring.hire(0), &body).refused(400, "bad_request");
        assert_eq!(answer.fields(), all, "{wrong}");
        for error in answer.json()["errors"].as_array().unwrap() {
            assert!(error["detail"].as_str().unwrap().starts_with("must be "), "{error}");
        }
    }
    assert_undecided(&app, &hiring, 0);
}

fn a_body_that_is_not_a_json_object_is_refused() {
    let (app, hiring, staff) = start();
    for body in ["null", "[]", "\"2026-11-21\"", "true", "{\"notes\"", "{} x", "\n", r#"{"notes":"a","notes":"b"}"#] {
        let answer = staff.send("POST", &hiring.hire(0), &[], body.as_bytes()).refused(400, "bad_request");
        assert_eq!(answer.fields(), Vec::<String>::new(), "{body:?}");
    }
    staff.send("POST", &hiring.hire(0), &[], b"{\"notes\":\"\xc3\x28\"}").refused(400, "bad_request");
    assert_undecided(&app, &hiring, 0);
}

fn a_body_over_the_limit_or_of_another_media_type_is_refused() {
    let (app, hiring, staff) = start();
    let send = |media_type: &str, body: &str| {
        staff.send("POST", &hiring.hire(0), &[("Content-Type", media_type)], body.as_bytes())
    };
    let padded = |bytes: usize| format!("{{\"pad\":\"{}\"}}", "x".repeat(bytes - 10));
    send("application/json", &padded(131_073)).refused(413, "payload_too_large");
    for media_type in ["text/json", "application/xml", "text/plain; charset=utf-8"] {
        send(media_type, "{}").refused(415, "unsupported_media_type");
    }
    assert_undecided(&app, &hiring, 0);
    send("Application/JSON; charset=utf-8", &padded(131_072)).expect(200);
}

fn a_hire_for_a_role_that_is_not_open_is_refused() {
    let app = App::start();
    for status in ["draft", "closed"] {
        let hiring = app.hiring_with(|document| first_role_of(document)["status"] = json!(status));
        let staff = app.user(&hiring.staff("owner"));
        let problem = staff.post_empty(&hiring.hire(0)).refused(400, "bad_request").json();
        assert!(problem["detail"].as_str().unwrap().contains("not open"), "{problem}");
        assert_eq!(problem.get("errors"), None);
        assert_undecided(&app, &hiring, 0);
        assert_eq!(role(&app, &hiring), format!("{status}|0"));
    }
}

fn a_hire_for_a_filled_role_is_refused() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        first_role_of(document)["positions"] = json!(1);
        first_role_of(document)["status"] = json!("filled");
        set_steps(document, 0, "Hired", &["validated", "skipped", "skipped", "validated"]);
    });
    let problem = app.user(&hiring.staff("owner")).post_empty(&hiring.hire(1)).refused(400, "bad_request").json();
    assert_eq!(problem["detail"], "positions already filled");
    assert_undecided(&app, &hiring, 1);
}

fn filling_the_last_position_removes_the_role_from_the_portal() {
    let (app, hiring, staff) = start();
    let anyone = app.anonymous();
    let portal = || {
        let roles = anyone.get(&hiring.portal()).expect(200).json()["roles"].as_array().unwrap().len();
        let role = anyone.get(&format!("{}/roles/{}", hiring.portal(), hiring.role_id)).status;
        let apply = anyone.post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": hiring.role_id })).status;
        (roles, role, apply)
    };
    assert_eq!(portal(), (1, 200, 200));
    staff.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!((role(&app, &hiring).as_str(), portal()), ("open|1", (1, 200, 200)));
    staff.post_empty(&hiring.hire(1)).expect(200);
    assert_eq!((role(&app, &hiring).as_str(), portal()), ("filled|2", (0, 404, 404)));
    let problem = staff.post_empty(&hiring.hire(2)).refused(400, "bad_request").json();
    assert_eq!(problem["detail"], "positions already filled");
    assert_undecided(&app, &hiring, 2);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_role_that_is_not_public_allows_hires() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        first_role_of(document)["public"] = json!(false);
        document["organizations"][0]["portal"]["enabled"] = json!(false);
    });
    app.user(&hiring.staff("owner")).post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(role(&app, &hiring), "open|1");
}

fn a_second_hire_is_a_conflict() {
    let (app, hiring, staff) = start();
    staff.post(&hiring.hire(0), &json!({ "notes": "first" })).expect(200);
    let before = (application(&app, &hiring, 0), steps(&app, &hiring, 0));
    app.pass(60);
    for step in 0..4 {
        let answer = staff.post(&hiring.decision(0, step, "hire"), &json!({ "notes": "second" }));
        let problem = answer.refused(409, "conflict").json();
        assert_eq!(problem["detail"], "the candidate has already been hired for this role");
    }
    assert_eq!((application(&app, &hiring, 0), steps(&app, &hiring, 0)), before);
    assert_eq!(role(&app, &hiring), "open|1");
}

fn hiring_a_rejected_candidate_is_a_conflict() {
    let (app, hiring, staff) = start();
    staff.post_empty(&hiring.reject(0)).expect(200);
    for step in 0..4 {
        let problem = staff.post_empty(&hiring.decision(0, step, "hire")).refused(409, "conflict").json();
        assert_eq!(problem["detail"], "the candidate has already been rejected for this role");
    }
    assert_eq!(application(&app, &hiring, 0)[0], "Not Selected");
    assert_eq!(role(&app, &hiring), "open|0");
}

fn a_hire_on_a_withdrawn_application_is_a_conflict() {
    let app = App::start();
    let before = ["validated", "in_progress", "pending", "pending"];
    let hiring = app.hiring_with(|document| set_steps(document, 0, "Withdrawn", &before));
    let staff = app.user(&hiring.staff("owner"));
    let problem = staff.post_empty(&hiring.hire(0)).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the candidate has withdrawn the application");
    assert_eq!(application(&app, &hiring, 0)[0], "Withdrawn");
}

fn applications_of_one_candidate_are_decided_independently() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let role = first_role_of(document).clone();
        let steps = [json!({ "id": "second_step", "name": "Talk", "stepType": "other" })];
        let candidate = json!({
            "applicationId": "second_app",
            "name": role["candidates"][0]["name"],
            "email": role["candidates"][0]["email"],
            "steps": [{ "id": "second_cstep", "roleStepId": "second_step", "status": "in_progress" }],
        });
        let second = json!({ "id": "second_role", "name": "Second", "status": "open", "steps": steps,
            "candidates": [candidate] });
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(second);
    });
    let staff = app.user(&hiring.staff("owner"));
    staff.post_empty(&hiring.reject(0)).expect(200);
    let step = staff.post_empty("/api/v1/candidate-steps/second_cstep/hire").expect(200).json()["step"].clone();
    assert_eq!((&step["roleId"], &step["candidateRoleId"]), (&json!("second_role"), &json!("second_app")));
    assert_eq!(application(&app, &hiring, 0)[0], "Not Selected");
    assert_eq!(app.sql("SELECT status, hired FROM roles WHERE id = 'second_role'"), ["filled|1"]);
    assert_eq!(app.sql("SELECT count(DISTINCT candidate_id) FROM candidate_roles"), ["3"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_head_is_checked_before_the_body() {
    let (app, hiring, staff) = start();
    let body = json!({ "name": "narrow", "userId": hiring.staff("owner"), "scopes": ["roles:write"] });
    let narrow = app.key(&app.make_key_with(&body).1);
    let large = format!("{{\"pad\":\"{}\"}}", "x".repeat(140_000));
    for body in ["{", "null", r#"{"hiredDate":"never"}"#, &large] {
        let send = |client: &Client, path: &str, media_type: &str| {
            client.send("POST", path, &[("Content-Type", media_type)], body.as_bytes())
        };
        for path in [hiring.hire(0).as_str(), "/api/v1/candidate-steps/none/hire"] {
            send(&app.anonymous(), path, "text/plain").refused(401, "unauthorized");
            send(&narrow, path, "text/plain").refused(403, "insufficient_scope");
        }
        send(&app.anonymous(), "/api/v1/candidate-steps/none/promote", "text/plain").refused(404, "not_found");
    }
    let wrong_method = app.anonymous().get(&hiring.hire(0)).refused(405, "method_not_allowed");
    assert_eq!(wrong_method.header("allow"), Some("POST"));
    staff
        .send("POST", &hiring.hire(0), &[("Content-Type", "text/plain")], large.as_bytes())
        .refused(413, "payload_too_large");
    staff.send("POST", &hiring.hire(0), &[("Content-Type", "text/plain")], b"{").refused(415, "unsupported_media_type");
    assert_undecided(&app, &hiring, 0);
}

fn the_body_is_checked_before_the_step() {
    let (app, hiring, _) = start();
    let outsider = app.user(&app.hiring().staff("owner"));
    let member = app.user(&hiring.staff("member"));
    for body in [json!({ "hiredDate": "2026-02-30" }), json!({ "notes": 1 }), json!([])] {
        outsider.post("/api/v1/candidate-steps/none/hire", &body).refused(400, "bad_request");
        outsider.post(&hiring.hire(0), &body).refused(400, "bad_request");
        member.post(&hiring.hire(0), &body).refused(400, "bad_request");
    }
    outsider.post_empty("/api/v1/candidate-steps/none/hire").refused(404, "not_found");
    outsider.post_empty(&hiring.hire(0)).refused(404, "not_found");
    member.post_empty(&hiring.hire(0)).refused(403, "forbidden");
}

fn authority_is_checked_before_state_and_state_before_rules() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["requireExternalPositionId"] = json!(true);
        first_role_of(document)["positions"] = json!(1);
        first_role_of(document)["status"] = json!("filled");
        set_steps(document, 0, "Hired", &["validated", "skipped", "skipped", "validated"]);
        set_steps(document, 1, "Not Selected", &["validated", "rejected", "pending", "pending"]);
    });
    let (member, staff) = (app.user(&hiring.staff("member")), app.user(&hiring.staff("hr_representative")));
    let status_and_code = |answer: Answer| (answer.status, answer.json()["code"].as_str().unwrap().to_owned());
    for candidate in 0..3 {
        let (status, code) = status_and_code(member.post_empty(&hiring.hire(candidate)));
        assert_eq!((status, code.as_str()), (403, "forbidden"), "candidate {candidate}");
    }
    staff.post_empty(&hiring.hire(0)).refused(409, "conflict");
    staff.post_empty(&hiring.hire(1)).refused(409, "conflict");
    let problem = staff.post_empty(&hiring.hire(2)).refused(400, "bad_request").json();
    assert_eq!(problem["detail"], "positions already filled");
}

fn an_absent_or_invisible_step_is_not_found() {
    let (app, hiring, staff) = start();
    let other = app.hiring();
    let longest = "x".repeat(64);
    let over = "x".repeat(65);
    let far_over = "x".repeat(4_000);
    let bodies: Vec<Value> = [
        "cstep_none",
        &other.candidates[0].steps[3],
        &hiring.candidates[0].application_id,
        &hiring.role_steps[3],
        &hiring.candidates[0].steps[3].to_uppercase(),
        &format!("{}%20", hiring.candidates[0].steps[3]),
        &format!("{}%00", hiring.candidates[0].steps[3]),
        &longest,
        &over,
        &far_over,
        "%C3%A4",
        "a%2Fb",
        "..%2F..",
        "'%20OR%201=1--",
        "*",
    ]
    .iter()
    .map(|id| {
        let answer = staff.post_empty(&format!("/api/v1/candidate-steps/{id}/hire")).refused(404, "not_found");
        let mut body = answer.json();
        body.as_object_mut().unwrap().remove("requestId");
        body
    })
    .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    assert_undecided(&app, &hiring, 0);
    assert_undecided(&app, &other, 0);
}

fn a_percent_encoded_id_is_decoded_once() {
    let (_app, hiring, staff) = start();
    let id = &hiring.candidates[0].steps[3];
    let path = |id: &str| format!("/api/v1/candidate-steps/{id}/hire");
    staff.post_empty(&path(&id.replace('_', "%255F"))).refused(404, "not_found");
    staff.post_empty(&path("%FF")).refused(404, "not_found");
    staff.post_empty(&path(&id.replace('_', "%5F"))).expect(200);
    staff.post_empty(&path(&id.replace('_', "%5f"))).refused(409, "conflict");
}

fn a_key_over_its_rate_limit_hires_nobody() {
    let app = App::with(Options { per_minute: Some(20), ..Options::default() });
    let hiring = app.hiring();
    let staff = app.user(&hiring.staff("owner"));
    for _ in 0..20 {
        staff.post(&hiring.hire(0), &json!({ "notes": 1 })).refused(400, "bad_request");
    }
    staff.post_empty(&hiring.hire(0)).refused(429, "rate_limited");
    assert_undecided(&app, &hiring, 0);
}

fn start() -> (App, Hiring, Client) {
    start_with_positions(2)
}

fn start_with_positions(positions: u32) -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(positions));
    let staff = app.user(&hiring.staff("hr_representative"));
    (app, hiring, staff)
}

/// Returns an application's status and the details of its hire: the date of the hire, the date on which the offer was
/// accepted, the external position id and the note.
fn application(app: &App, hiring: &Hiring, candidate: usize) -> [String; 5] {
    let id = &hiring.candidates[candidate].application_id;
    let cell = |column: &str| app.sql(&format!("SELECT {column} FROM candidate_roles WHERE id = '{id}'")).join("");
    let moment = |column: &str| shown(&cell(column));
    [
        cell("status"),
        moment("hired_date"),
        moment("offer_accepted_date"),
        cell("external_position_id"),
        cell("hire_notes"),
    ]
}

/// Returns the status of each step and the time of its validation.
fn steps(app: &App, hiring: &Hiring, candidate: usize) -> Vec<(String, String)> {
    let id = &hiring.candidates[candidate].application_id;
    let sql = "SELECT status, validated_at FROM candidate_role_steps";
    let rows = app.sql(&format!("{sql} WHERE candidate_role_id = '{id}' ORDER BY step_order"));
    let pair =
        |row: &String| row.split_once('|').map(|(status, at)| (status.to_owned(), shown(at).replace("null", "")));
    rows.iter().map(|row| pair(row).unwrap()).collect()
}

fn assert_undecided(app: &App, hiring: &Hiring, candidate: usize) {
    assert_eq!(application(app, hiring, candidate), ["In Progress", "null", "null", "null", "null"]);
    let statuses: Vec<String> = steps(app, hiring, candidate).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["validated", "in_progress", "pending", "pending"]);
}

fn role(app: &App, hiring: &Hiring) -> String {
    app.sql(&format!("SELECT status, hired FROM roles WHERE id = '{}'", hiring.role_id)).join("")
}

/// Returns the value of a time column in the service's format.
fn shown(micros: &str) -> String {
    micros.parse().map_or_else(|_| micros.to_owned(), |micros| Timestamp::from_micros(micros).to_string())
}

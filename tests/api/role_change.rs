//! `PATCH` and `DELETE /api/v1/roles/{id}`: changes, cleared fields, refusals, activity, and the effect on the portal.

use serde_json::{Value, json};

use crate::support::hiring::first_role_of;
use crate::support::roles::{activity_count, create, draft, last_activity, read, role, staff};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_change_leaves_omitted_fields_unchanged,
    null_clears_optional_fields,
    a_change_without_effect_writes_no_activity,
    invalid_fields_are_refused,
    a_salary_range_with_max_below_min_is_refused,
    positions_cannot_go_below_the_number_hired,
    changing_positions_opens_a_filled_role_and_fills_an_open_one,
    changing_positions_does_not_change_the_status_of_drafts_and_closed_roles,
    the_portal_shows_a_change_with_the_next_request,
    reducing_positions_until_a_role_is_filled_disables_its_signup_links,
    a_draft_without_applications_can_be_deleted,
    deleting_a_role_with_an_application_is_a_conflict,
    publishing_a_role_without_a_salary_returns_a_warning,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "hr_representative");
    (app, hiring, client)
}

fn a_change_leaves_omitted_fields_unchanged() {
    let (app, hiring, client) = start();
    let before = read(&client, &hiring.role());
    for (member, value) in [
        ("name", json!("Ingenieur")),
        ("description", json!({ "x": [1, 2.5, "ü"] })),
        ("department", json!("R&D")),
        ("location", json!("")),
        ("workType", json!("remote")),
        ("collarType", json!("gray")),
        ("salaryMin", json!(0)),
        ("salaryMax", json!(1e12 as i64)),
        ("salaryCurrency", json!("SEK")),
        ("salaryPeriod", json!("month")),
        ("public", json!(false)),
        ("positions", json!(10_000)),
        ("closesOn", json!("2026-12-31")),
    ] {
        app.pass(1);
        let mut expected = read(&client, &hiring.role());
        let old_value = expected[member].clone();
        let mut body = json!({});
        body[member] = value.clone();
        let answer = client.patch(&hiring.role(), &body).expect(200).json();
        expected[member] = value.clone();
        expected["updatedAt"] = answer["data"]["updatedAt"].clone();
        assert_ne!(expected["updatedAt"], before["updatedAt"]);
        assert_eq!(answer, json!({ "success": true, "data": expected, "warnings": [] }));
        assert_eq!(read(&client, &hiring.role()), expected);
        let (action, role_id, detail) = last_activity(&app);
        assert_eq!((action.as_str(), &role_id), ("role.changed", &hiring.role_id));
        let sides = |side: &str| detail[side].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!((sides("before"), sides("after")), (vec![member.to_owned()], vec![member.to_owned()]));
        assert_eq!(detail["before"][member].as_f64(), old_value.as_f64());
        assert_eq!(detail["after"][member].as_f64(), value.as_f64());
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn null_clears_optional_fields() {
    let (app, hiring, client) = start();
    let body = json!({
        "description": null, "department": null, "location": null, "workType": null, "collarType": null,
        "salaryMin": null, "salaryMax": null, "salaryCurrency": null, "salaryPeriod": null,
        "closesOn": null, "name": null, "public": null, "positions": null,
    });
    let shown = client.patch(&hiring.role(), &body).expect(200).json()["data"].take();
    for (member, cleared) in [("description", json!({})), ("department", json!("")), ("location", json!(""))] {
        assert_eq!(shown[member], cleared);
    }
    for member in ["workType", "collarType", "salaryMin", "salaryMax", "salaryCurrency", "salaryPeriod"] {
        assert_eq!(shown[member], Value::Null, "{member}");
    }
    assert_eq!((&shown["name"], &shown["public"], &shown["positions"]), (&json!("Engineer"), &json!(true), &json!(2)));
    let (_, _, detail) = last_activity(&app);
    assert_eq!((&detail["before"]["salaryMin"], &detail["after"]["salaryMin"]), (&json!(60000.0), &json!(null)));
}

fn a_change_without_effect_writes_no_activity() {
    let (app, hiring, client) = start();
    let (before, count) = (read(&client, &hiring.role()), activity_count(&app));
    app.pass(1);
    let same = json!({ "name": "Engineer", "salaryMin": 60000, "positions": 2, "description": before["description"] });
    for body in [json!({}), json!({ "unknown": 1 }), same] {
        assert_eq!(client.patch(&hiring.role(), &body).expect(200).json()["data"], before);
    }
    client.send("PATCH", &hiring.role(), &[], b"").expect(200);
    assert_eq!((read(&client, &hiring.role()), activity_count(&app)), (before, count));
}

fn invalid_fields_are_refused() {
    let (app, hiring, client) = start();
    let before = read(&client, &hiring.role());
    let body = json!({
        "name": " ", "description": [], "department": "d".repeat(256), "location": 1, "workType": "x", "collarType": "x",
        "salaryMin": -1, "salaryMax": 2e12, "salaryCurrency": "Eur", "salaryPeriod": "x", "public": 0, "positions": 10_001,
    });
    let answer = client.patch(&hiring.role(), &body).refused(400, "validation_error");
    let expected = [
        "name",
        "description",
        "department",
        "location",
        "workType",
        "collarType",
        "salaryMin",
        "salaryMax",
        "salaryCurrency",
        "salaryPeriod",
        "public",
        "positions",
    ];
    assert_eq!(answer.fields(), expected);
    client.send("PATCH", &hiring.role(), &[], b"[]").refused(400, "bad_request");
    staff(&app, &hiring, "member").patch(&hiring.role(), &json!({ "name": "x" })).refused(403, "forbidden");
    let other = app.hiring();
    staff(&app, &other, "owner").patch(&hiring.role(), &json!({ "name": "x" })).refused(404, "not_found");
    client.patch(&role("none"), &json!({ "name": "x" })).refused(404, "not_found");
    assert_eq!(read(&client, &hiring.role()), before);
}

fn a_salary_range_with_max_below_min_is_refused() {
    let (_app, hiring, client) = start();
    for body in [
        json!({ "salaryMin": 75001 }),
        json!({ "salaryMax": 59999.5 }),
        json!({ "salaryMin": 2, "salaryMax": 1 }),
        json!({ "salaryMin": 75000.51 }),
    ] {
        let answer = client.patch(&hiring.role(), &body).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["salaryMax"], "{body}");
    }
    for body in [json!({ "salaryMin": 75000.5 }), json!({ "salaryMin": null }), json!({ "salaryMax": 0 })] {
        client.patch(&hiring.role(), &body).expect(200);
    }
}

fn positions_cannot_go_below_the_number_hired() {
    let (app, hiring, client) = start();
    client.patch(&hiring.role(), &json!({ "positions": 4 })).expect(200);
    client.post_empty(&hiring.hire(0)).expect(200);
    client.post_empty(&hiring.hire(1)).expect(200);
    let problem = client.patch(&hiring.role(), &json!({ "positions": 1 })).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the number of people hired for the role is 2; the role cannot have fewer positions");
    client.patch(&hiring.role(), &json!({ "positions": 3 })).expect(200);
    assert_eq!(client.patch(&hiring.role(), &json!({ "positions": 2 })).expect(200).json()["data"]["status"], "filled");
    // The number of positions is checked before the salary range.
    client.patch(&hiring.role(), &json!({ "positions": 1, "salaryMin": 9e9 })).refused(409, "conflict");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn changing_positions_opens_a_filled_role_and_fills_an_open_one() {
    let (app, hiring, client) = start();
    client.post_empty(&hiring.hire(0)).expect(200);
    let portal = || app.anonymous().get(&hiring.portal()).expect(200).json()["roles"].as_array().unwrap().len();
    for (positions, status, on_portal) in [(1, "filled", 0), (2, "open", 1), (1, "filled", 0), (3, "open", 1)] {
        let shown = client.patch(&hiring.role(), &json!({ "positions": positions })).expect(200).json();
        assert_eq!((&shown["data"]["status"], portal()), (&json!(status), on_portal));
        let (_, _, detail) = last_activity(&app);
        assert_eq!(detail["after"], json!({ "positions": positions, "status": status }));
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn changing_positions_does_not_change_the_status_of_drafts_and_closed_roles() {
    let app = App::start();
    for status in ["draft", "closed"] {
        let hiring = app.hiring_with(|document| {
            first_role_of(document)["status"] = json!(status);
            first_role_of(document)["candidates"][0] =
                json!({ "name": "H", "email": "h@h.example", "status": "Hired" });
        });
        let client = staff(&app, &hiring, "owner");
        client.patch(&hiring.role(), &json!({ "positions": 1 })).expect(200);
        assert_eq!(read(&client, &hiring.role())["status"], status);
        client.patch(&hiring.role(), &json!({ "positions": 5 })).expect(200);
        assert_eq!(read(&client, &hiring.role())["status"], status);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_portal_shows_a_change_with_the_next_request() {
    let (app, hiring, client) = start();
    let readers: Vec<Client> = (0..10).map(|_| app.anonymous()).collect();
    let shown = |reader: &Client| reader.get(&hiring.portal()).expect(200).json()["roles"].clone();
    for round in 0..20 {
        let name = format!("Engineer {round}");
        client.patch(&hiring.role(), &json!({ "name": name, "salaryMax": 70_000 + round })).expect(200);
        for reader in &readers {
            let roles = shown(reader);
            assert_eq!((&roles[0]["name"], &roles[0]["salaryMax"]), (&json!(name), &json!(70_000 + round)));
        }
    }
    client.patch(&hiring.role(), &json!({ "public": false })).expect(200);
    readers.iter().for_each(|reader| assert_eq!(shown(reader), json!([])));
    client.patch(&hiring.role(), &json!({ "public": true })).expect(200);
    readers.iter().for_each(|reader| assert_eq!(shown(reader).as_array().unwrap().len(), 1));
}

fn reducing_positions_until_a_role_is_filled_disables_its_signup_links() {
    let (app, hiring, client) = start();
    client.post_empty(&hiring.hire(0)).expect(200);
    let apply = || app.anonymous().post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": hiring.role_id }));
    let url = apply().expect(200).json()["inviteUrl"].clone();
    client.patch(&hiring.role(), &json!({ "name": "Other" })).expect(200);
    assert_eq!(apply().expect(200).json()["inviteUrl"], url);
    client.patch(&hiring.role(), &json!({ "positions": 1 })).expect(200);
    apply().refused(404, "not_found");
    client.patch(&hiring.role(), &json!({ "positions": 2 })).expect(200);
    assert_ne!(apply().expect(200).json()["inviteUrl"], url);
}

fn a_draft_without_applications_can_be_deleted() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call", "Offer"]);
    let id = path.rsplit('/').next().unwrap().to_owned();
    assert_eq!(client.delete(&path).expect(200).json(), json!({ "success": true }));
    client.get(&path).refused(404, "not_found");
    client.delete(&path).refused(404, "not_found");
    client.patch(&path, &json!({ "name": "x" })).refused(404, "not_found");
    let (action, role_id, detail) = last_activity(&app);
    assert_eq!((action.as_str(), role_id), ("role.deleted", id));
    assert_eq!((&detail["before"]["steps"][1]["name"], &detail["after"]), (&json!("Offer"), &Value::Null));
    assert_eq!(app.sql("SELECT count(*) FROM role_steps"), ["4"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn deleting_a_role_with_an_application_is_a_conflict() {
    let app = App::start();
    for (status, positions) in [("draft", 2), ("open", 2), ("closed", 2), ("filled", 1)] {
        let hiring = app.hiring_with(|document| {
            let role = first_role_of(document);
            role["status"] = json!(status);
            role["positions"] = json!(positions);
            let hired = if status == "filled" { "Hired" } else { "In Progress" };
            role["candidates"] = json!([{ "name": "H", "email": "h@h.example", "status": hired }]);
        });
        let client = staff(&app, &hiring, "owner");
        let problem = client.delete(&hiring.role()).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains("close"), "{problem}");
        staff(&app, &hiring, "member").delete(&hiring.role()).refused(403, "forbidden");
        assert_eq!(read(&client, &hiring.role())["status"], status);
    }
}

fn publishing_a_role_without_a_salary_returns_a_warning() {
    let (app, hiring, client) = start();
    let warnings = |body: &Value| client.patch(&hiring.role(), body).expect(200).json()["warnings"].clone();
    assert_eq!(warnings(&json!({ "salaryMin": null, "salaryMax": null })), json!([]));
    app.change("UPDATE organizations SET pay_transparency = 1");
    let without = json!([{
        "code": "pay_transparency",
        "detail": "the role is published without a salary; give it salaryMin or salaryMax",
    }]);
    assert_eq!(warnings(&json!({})), without);
    assert_eq!(warnings(&json!({ "public": false })), json!([]));
    assert_eq!(warnings(&json!({ "public": true })), without);
    assert_eq!(warnings(&json!({ "salaryMax": 70_000 })), json!([]));
    for theme in [r#"{"showSalary":false}"#, "{}", r#"{"showSalary":1}"#] {
        app.change(&format!("UPDATE organizations SET portal_theme = '{theme}'"));
        let hidden = warnings(&json!({}));
        assert!(hidden[0]["detail"].as_str().unwrap().contains("showSalary"), "{hidden}");
    }
    let created = create(&client, &hiring, &json!({ "name": "A", "public": true, "steps": [{ "name": "Call" }] }));
    let path = role(created["id"].as_str().unwrap());
    assert_eq!(client.patch(&path, &json!({ "name": "B" })).expect(200).json()["warnings"], json!([]));
    assert_eq!(client.post_empty(&format!("{path}/open")).expect(200).json()["warnings"], without);
    let closed = client.post(&format!("{path}/close"), &json!({ "reason": "r" })).expect(200).json();
    assert_eq!(closed["warnings"], json!([]));
    assert_eq!(client.post_empty(&format!("{path}/reopen")).expect(200).json()["warnings"], without);
}

//! `POST /api/v1/organizations/{id}/roles` and `GET /api/v1/roles/{id}`: creating drafts, their limits, and the fields
//! of a role.

use serde_json::{Value, json};

use crate::support::app::BEGINNING;
use crate::support::roles::{activity_count, create, last_activity, read, role, staff};
use crate::support::{App, Client, Hiring};

crate::tests![
    creating_a_role_returns_a_draft_with_every_field,
    a_role_with_only_a_name_has_defaults,
    null_is_treated_as_omitted,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    all_validation_errors_are_reported_together,
    errors_in_steps_name_the_index_of_the_step,
    a_role_with_more_than_fifty_steps_is_refused,
    a_body_that_is_not_a_json_object_is_refused,
    callers_without_authority_cannot_create_roles,
    a_role_shows_its_steps_and_application_counts,
    a_new_role_is_visible_on_every_connection_but_not_on_the_portal,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "owner");
    (app, hiring, client)
}

fn creating_a_role_returns_a_draft_with_every_field() {
    let (app, hiring, client) = start();
    let description = json!({ "format": "markdown", "body": "# Now", "deep": [{ "a": null }] });
    let body = json!({
        "name": "Welder", "description": description, "department": "Yard", "location": "Esbjerg", "workType": "onsite",
        "collarType": "blue", "salaryMin": 30000, "salaryMax": 40000.5, "salaryCurrency": "DKK", "salaryPeriod": "year",
        "public": true, "positions": 3, "closesOn": "2026-12-31", "status": "open", "unknown": 1,
        "steps": [{ "name": "Call", "stepType": "screening" }, { "name": "Trial" }],
    });
    let answer = client.post(&hiring.roles(), &body).expect(200).json();
    let shown = &answer["data"];
    let (first, second) = (&shown["steps"][0]["id"], &shown["steps"][1]["id"]);
    let expected = json!({
        "id": shown["id"], "organizationId": hiring.organization_id, "name": "Welder", "description": description,
        "department": "Yard", "location": "Esbjerg", "workType": "onsite", "collarType": "blue", "salaryMin": 30000,
        "salaryMax": 40000.5, "salaryCurrency": "DKK", "salaryPeriod": "year", "status": "draft", "public": true,
        "positions": 3, "hired": 0, "closeReason": null, "closesOn": "2026-12-31", "createdAt": "2026-11-21T09:00:00.000000Z",
        "updatedAt": "2026-11-21T09:00:00.000000Z",
        "steps": [
            { "id": first, "name": "Call", "order": 1, "stepType": "screening", "removed": false },
            { "id": second, "name": "Trial", "order": 2, "stepType": "other", "removed": false },
        ],
        "applications": { "inProgress": 0, "hired": 0, "notSelected": 0, "withdrawn": 0 },
    });
    let ignored: Vec<Value> = answer["warnings"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
    assert_eq!(ignored, ["status", "unknown"]);
    assert_eq!((&answer["success"], &answer["data"]), (&json!(true), &expected));
    let id = shown["id"].as_str().unwrap();
    assert!(id.starts_with("role_") && BEGINNING.starts_with("2026-11-21T09:00:00"));
    assert_eq!(read(&client, &role(id)), expected);
    let (action, role_id, detail) = last_activity(&app);
    assert_eq!((action.as_str(), role_id.as_str()), ("role.created", id));
    assert_eq!((&detail["before"], &detail["after"]["name"]), (&Value::Null, &json!("Welder")));
    assert_eq!(detail["after"]["steps"][1]["name"], "Trial");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_role_with_only_a_name_has_defaults() {
    let (_app, hiring, client) = start();
    let shown = create(&client, &hiring, &json!({ "name": " A " }));
    for (member, expected) in [
        ("name", json!(" A ")),
        ("description", json!({})),
        ("department", json!("")),
        ("location", json!("")),
        ("workType", json!(null)),
        ("collarType", json!(null)),
        ("salaryMin", json!(null)),
        ("salaryMax", json!(null)),
        ("salaryCurrency", json!(null)),
        ("salaryPeriod", json!(null)),
        ("public", json!(false)),
        ("positions", json!(1)),
        ("closesOn", json!(null)),
        ("steps", json!([])),
    ] {
        assert_eq!(shown[member], expected, "{member}");
    }
}

fn null_is_treated_as_omitted() {
    let (_app, hiring, client) = start();
    let body = json!({
        "name": "A", "description": null, "department": null, "location": null, "workType": null, "collarType": null,
        "salaryMin": null, "salaryMax": null, "salaryCurrency": null, "salaryPeriod": null, "public": null,
        "positions": null, "closesOn": null, "steps": null,
    });
    let shown = create(&client, &hiring, &body);
    assert_eq!((&shown["positions"], &shown["description"]), (&json!(1), &json!({})));
    let answer = client.post(&hiring.roles(), &json!({ "name": null })).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["name"]);
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let (_app, hiring, client) = start();
    for (member, good, bad) in [
        ("name", vec![json!("ä".repeat(255))], vec![json!("ä".repeat(256)), json!(" \t"), json!(""), json!(7)]),
        ("department", vec![json!("ä".repeat(255)), json!("")], vec![json!("ä".repeat(256)), json!(1)]),
        ("location", vec![json!("ä".repeat(255)), json!("")], vec![json!("ä".repeat(256)), json!([])]),
        ("description", vec![json!({})], vec![json!([]), json!("x"), json!(1)]),
        ("workType", vec![json!("hybrid")], vec![json!("Hybrid"), json!(""), json!(1)]),
        ("collarType", vec![json!("gray")], vec![json!("grey"), json!(true)]),
        ("salaryMin", vec![json!(0), json!(-0.0), json!(1e12)], vec![json!(-0.01), json!(1e12 + 1.0), json!("1")]),
        ("salaryMax", vec![json!(0), json!(0.5), json!(1e12)], vec![json!(-1), json!(1.1e12), json!(true)]),
        ("salaryCurrency", vec![json!("EUR")], vec![json!("eur"), json!("EURO"), json!("EU"), json!("ÄUR"), json!(1)]),
        ("salaryPeriod", vec![json!("hour")], vec![json!("decade")]),
        ("public", vec![json!(true)], vec![json!("true"), json!(1)]),
        ("positions", vec![json!(1), json!(10_000)], vec![json!(0), json!(10_001), json!(-1), json!(1.0), json!("1")]),
        ("steps", vec![json!([])], vec![json!({}), json!("x")]),
    ] {
        for value in good {
            let mut body = json!({ "name": "A" });
            body[member] = value.clone();
            let shown = create(&client, &hiring, &body);
            assert_eq!(shown[member].as_f64(), value.as_f64().map(f64::abs), "{member}");
        }
        for value in bad {
            let mut body = json!({ "name": "A" });
            body[member] = value.clone();
            let answer = client.post(&hiring.roles(), &body).refused(400, "validation_error");
            assert_eq!(answer.fields(), [member], "{value}");
        }
    }
    for (min, max, status) in [(1.5, 1.5, 200), (1.5, 2.0, 200), (1.5, 1.4, 400)] {
        let body = json!({ "name": "A", "salaryMin": min, "salaryMax": max });
        let answer = client.post(&hiring.roles(), &body).expect(status);
        assert_eq!(answer.fields().len(), usize::from(status == 400));
    }
}

fn all_validation_errors_are_reported_together() {
    let (app, hiring, client) = start();
    let before = activity_count(&app);
    let body = json!({
        "description": 1, "department": 1, "location": 1, "workType": 1, "collarType": 1, "salaryMin": "a",
        "salaryMax": "a", "salaryCurrency": 1, "salaryPeriod": 1, "public": 1, "positions": 0, "closesOn": 1,
        "steps": [{ "stepType": "x" }],
    });
    let answer = client.post(&hiring.roles(), &body).refused(400, "validation_error");
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
        "closesOn",
        "steps[0].name",
        "steps[0].stepType",
    ];
    assert_eq!(answer.fields(), expected);
    assert_eq!((app.sql("SELECT count(*) FROM roles"), activity_count(&app)), (vec!["1".to_owned()], before));
}

fn errors_in_steps_name_the_index_of_the_step() {
    let (_app, hiring, client) = start();
    let body = json!({ "name": "A", "steps": [{ "name": "Call" }, 7, { "name": " " }, { "name": "b".repeat(256) }] });
    let answer = client.post(&hiring.roles(), &body).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["steps[1]", "steps[2].name", "steps[3].name"]);
}

fn a_role_with_more_than_fifty_steps_is_refused() {
    let (_app, hiring, client) = start();
    let with = |count: usize| json!({ "name": "A", "steps": vec![json!({ "name": "Call" }); count] });
    let shown = create(&client, &hiring, &with(50));
    assert_eq!(shown["steps"][49]["order"], 50);
    let answer = client.post(&hiring.roles(), &with(51)).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["steps"]);
}

fn a_body_that_is_not_a_json_object_is_refused() {
    let (_app, hiring, client) = start();
    let send =
        |media_type: &str, body: &[u8]| client.send("POST", &hiring.roles(), &[("Content-Type", media_type)], body);
    for body in ["[]", "null", "{", "{\"name\":\"a\",\"name\":\"b\"}", "\u{feff}{}"] {
        send("application/json", body.as_bytes()).refused(400, "bad_request");
    }
    send("text/plain", b"{}").refused(415, "unsupported_media_type");
    send("application/json", &vec![b' '; 128 * 1_024 + 1]).refused(413, "payload_too_large");
    send("application/json", b"").refused(400, "validation_error");
}

fn callers_without_authority_cannot_create_roles() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let body = json!({ "name": "A" });
    staff(&app, &hiring, "member").post(&hiring.roles(), &body).refused(403, "forbidden");
    staff(&app, &other, "owner").post(&hiring.roles(), &body).refused(404, "not_found");
    app.user(&hiring.staff("owner")).post(&hiring.roles(), &body).refused(403, "insufficient_scope");
    // The service checks the body first, then the organization, and then the authority.
    staff(&app, &other, "owner").post(&hiring.roles(), &json!({})).refused(400, "validation_error");
    assert_eq!(app.sql("SELECT count(*) FROM roles"), ["2"]);
}

fn a_role_shows_its_steps_and_application_counts() {
    let (app, hiring, client) = start();
    client.post_empty(&hiring.hire(0)).expect(200);
    client.post_empty(&hiring.reject(1)).expect(200);
    let shown = read(&staff(&app, &hiring, "member"), &hiring.role());
    assert_eq!(shown["applications"], json!({ "inProgress": 1, "hired": 1, "notSelected": 1, "withdrawn": 0 }));
    assert_eq!((&shown["hired"], &shown["positions"], &shown["status"]), (&json!(1), &json!(2), &json!("open")));
    let names: Vec<&str> =
        shown["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Application", "Call", "Interview", "Offer"]);
    client.get(&role("none")).refused(404, "not_found");
}

fn a_new_role_is_visible_on_every_connection_but_not_on_the_portal() {
    let (app, hiring, client) = start();
    let readers: Vec<Client> = (0..20).map(|_| staff(&app, &hiring, "member")).collect();
    for name in ["first", "second"] {
        // The list orders roles with the same creation time by id, and ids are random, so the times must differ.
        app.pass(1);
        let id = create(&client, &hiring, &json!({ "name": name, "public": true }))["id"].clone();
        for reader in &readers {
            assert_eq!(reader.get(&hiring.roles()).expect(200).json()["data"][0]["id"], id);
        }
    }
    let portal = app.anonymous().get(&hiring.portal()).expect(200).json();
    assert_eq!(portal["roles"].as_array().unwrap().len(), 1);
}

//! `POST /api/v1/roles/{id}/copy`, and the default pipeline of a role without steps.

use appliance::domain::id::{Id, OrganizationId, RoleId, UserId};
use appliance::domain::user::{Auth, PlatformRole, Principal};
use appliance::store::{self, Error};
use serde_json::{Value, json};

use crate::portal::change_role;
use crate::support::race::{Runner, count, race};
use crate::support::roles::{activity_count, draft, last_activity, read, role, staff};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_copy_is_a_draft_with_the_fields_and_steps_of_the_role,
    a_copy_has_no_closing_date_and_no_hires,
    a_role_of_any_status_can_be_copied,
    a_copy_has_the_given_name,
    an_invalid_name_is_refused,
    a_copy_is_independent_of_the_role,
    a_repeated_request_makes_one_copy,
    concurrent_repeats_make_one_copy,
    callers_without_authority_cannot_copy_a_role,
    the_default_pipeline_is_added_to_a_role_without_steps,
    the_default_pipeline_is_not_added_twice,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "hr_representative");
    (app, hiring, client)
}

fn copy(client: &Client, path: &str, body: &Value) -> Value {
    client.post(&format!("{path}/copy"), body).expect(200).json()["data"].take()
}

fn a_copy_is_a_draft_with_the_fields_and_steps_of_the_role() {
    let (app, hiring, client) = start();
    client.delete(&format!("{}/steps/{}", hiring.role(), hiring.role_steps[1])).expect(200);
    let source = read(&client, &hiring.role());
    app.pass(5);
    let answer = client.post_empty(&format!("{}/copy", hiring.role())).expect(200);
    let copied = answer.json()["data"].take();
    assert_eq!(answer.json()["warnings"], json!([]));
    for member in [
        "organizationId",
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
    ] {
        assert_eq!(copied[member], source[member], "{member}");
    }
    assert_ne!(copied["id"], source["id"]);
    assert_eq!((&copied["status"], &copied["hired"]), (&json!("draft"), &json!(0)));
    let now = json!("2026-11-21T09:00:05.000000Z");
    assert_eq!((&copied["createdAt"], &copied["updatedAt"]), (&now, &now));
    let none = json!({ "inProgress": 0, "hired": 0, "notSelected": 0, "withdrawn": 0 });
    assert_eq!(copied["applications"], none);
    let facts = |role: &Value| -> Vec<Value> {
        let steps = role["steps"].as_array().unwrap().iter().filter(|step| step["removed"] == false);
        steps.map(|step| json!([step["name"], step["stepType"], step["order"]])).collect()
    };
    assert_eq!((facts(&copied).len(), facts(&copied)), (3, facts(&source)));
    let is_new = |step: &Value| !hiring.role_steps.iter().any(|id| step["id"] == id.as_str());
    assert!(copied["steps"].as_array().unwrap().iter().all(is_new));
    assert_eq!(copied["steps"].as_array().unwrap().len(), 3);
    let path = role(copied["id"].as_str().unwrap());
    assert_eq!(read(&client, &path), copied);
    let (action, role_id, detail) = last_activity(&app);
    assert_eq!((action.as_str(), copied["id"].as_str()), ("role.created", Some(role_id.as_str())));
    assert_eq!((&detail["before"], detail["after"]["steps"].as_array().unwrap().len()), (&Value::Null, 3));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_copy_has_no_closing_date_and_no_hires() {
    let app = App::start();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "closesOn": "2027-01-31" })));
    let client = staff(&app, &hiring, "owner");
    client.post_empty(&hiring.hire(0)).expect(200);
    client.post_empty(&hiring.hire(1)).expect(200);
    client.post(&format!("{}/close", hiring.role()), &json!({ "reason": "r" })).expect(200);
    let copied = copy(&client, &hiring.role(), &json!({}));
    let expected = (&Value::Null, &Value::Null, &json!(0), &json!(2));
    assert_eq!((&copied["closesOn"], &copied["closeReason"], &copied["hired"], &copied["positions"]), expected);
    let path = role(copied["id"].as_str().unwrap());
    client.post_empty(&format!("{path}/open")).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_role_of_any_status_can_be_copied() {
    let (_app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call"]);
    assert_eq!(copy(&client, &path, &json!({}))["status"], "draft");
    client.post_empty(&format!("{path}/open")).expect(200);
    assert_eq!(copy(&client, &path, &json!({}))["status"], "draft");
    client.post(&format!("{path}/close"), &json!({ "reason": "r" })).expect(200);
    let copied = copy(&client, &path, &json!({}));
    assert_eq!(copied["status"], "draft");
    assert_eq!(copy(&client, &role(copied["id"].as_str().unwrap()), &json!({}))["steps"][0]["name"], "Call");
    let empty = draft(&client, &hiring, &[]);
    assert_eq!(copy(&client, &empty, &json!({}))["steps"], json!([]));
}

fn a_copy_has_the_given_name() {
    let (_app, hiring, client) = start();
    for (body, name) in [
        (json!({ "name": "Rigger" }), "Rigger".to_owned()),
        (json!({ "name": null }), "Engineer".to_owned()),
        (json!({ "name": "ä".repeat(255) }), "ä".repeat(255)),
    ] {
        assert_eq!(copy(&client, &hiring.role(), &body)["name"], name.as_str());
    }
}

fn an_invalid_name_is_refused() {
    let (app, hiring, client) = start();
    let path = format!("{}/copy", hiring.role());
    for name in [json!(" "), json!(""), json!(1), json!("a\nb"), json!("ä".repeat(256))] {
        assert_eq!(client.post(&path, &json!({ "name": name })).refused(400, "validation_error").fields(), ["name"]);
    }
    assert_eq!(activity_count(&app), 0);
}

fn a_copy_is_independent_of_the_role() {
    let (app, hiring, client) = start();
    let source = read(&client, &hiring.role());
    let path = role(copy(&client, &hiring.role(), &json!({}))["id"].as_str().unwrap());
    let step = read(&client, &path)["steps"][0]["id"].as_str().unwrap().to_owned();
    client.patch(&path, &json!({ "name": "Other", "positions": 9 })).expect(200);
    client.patch(&format!("{path}/steps/{step}"), &json!({ "name": "First talk" })).expect(200);
    client.delete(&path).expect(200);
    assert_eq!(read(&client, &hiring.role()), source);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_repeated_request_makes_one_copy() {
    let (app, hiring, client) = start();
    let client = client.with_header("Idempotency-Key", "copy-1");
    let path = format!("{}/copy", hiring.role());
    let first = client.post(&path, &json!({ "name": "A" })).expect(200);
    let again = client.post(&path, &json!({ "name": "A" })).expect(200);
    assert_eq!((first.json(), again.header("idempotency-replayed")), (again.json(), Some("true")));
    client.post(&path, &json!({ "name": "B" })).refused(422, "idempotency_key_reused");
    assert_eq!(activity_count(&app), 1);
}

fn concurrent_repeats_make_one_copy() {
    let (app, hiring, client) = start();
    let path = format!("{}/copy", hiring.role());
    let runner = |_| Runner::post(client.with_header("Idempotency-Key", "copy-1"), &path);
    let answers = race((0..8).map(runner).collect());
    assert_eq!(count(&answers, 200), 8);
    assert!(answers.iter().all(|answer| answer.json() == answers[0].json()));
    assert_eq!(activity_count(&app), 1);
}

fn callers_without_authority_cannot_copy_a_role() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let path = format!("{}/copy", hiring.role());
    staff(&app, &hiring, "member").post_empty(&path).refused(403, "forbidden");
    let hidden = staff(&app, &other, "owner").post_empty(&path).refused(404, "not_found").json();
    let unknown = staff(&app, &other, "owner").post_empty("/api/v1/roles/none/copy").refused(404, "not_found").json();
    assert_eq!(hidden["detail"], unknown["detail"]);
    assert_eq!(activity_count(&app), 0);
}

/// Adds the default pipeline to a role as the owner, with the same call as the console.
fn add_default_steps(app: &App, hiring: &Hiring, path: &str, language_tag: &str) -> Result<(), Error> {
    let organization = OrganizationId::parse(&hiring.organization_id).unwrap();
    let id = RoleId::parse(path.rsplit('/').next().unwrap()).unwrap();
    let who = Principal {
        user_id: UserId::parse(&hiring.staff("owner")).unwrap(),
        email: hiring.email("owner"),
        platform_role: PlatformRole::User,
        auth: Auth::Session { digest: [0; 32] },
    };
    let world = app.world.as_ref();
    store::act_alone(&app.path, world, |tx| {
        let role = store::role::find(tx, &organization, &id)?.unwrap();
        store::role_step::add_default_steps(tx, world, &who, &role, language_tag)
    })
}

fn the_default_pipeline_is_added_to_a_role_without_steps() {
    let (app, hiring, client) = start();
    for (tag, names) in [
        ("en", ["Applied", "Screening", "Interview", "Offer"]),
        ("de", ["Bewerbung", "Vorauswahl", "Vorstellungsgespräch", "Angebot"]),
    ] {
        let path = draft(&client, &hiring, &[]);
        add_default_steps(&app, &hiring, &path, tag).unwrap();
        let steps: Vec<Value> = read(&client, &path)["steps"].as_array().unwrap().clone();
        let shown: Vec<Value> =
            steps.iter().map(|step| json!([step["name"], step["stepType"], step["order"]])).collect();
        let types = ["application", "screening", "interview", "offer"];
        let expected: Vec<Value> = (0..4).map(|index| json!([names[index], types[index], index + 1])).collect();
        assert_eq!(shown, expected);
        let (action, role_id, detail) = last_activity(&app);
        assert_eq!((action.as_str(), role(&role_id)), ("role_step.added", path.clone()));
        assert_eq!(detail["after"]["name"], names[3]);
        client.post_empty(&format!("{path}/open")).expect(200);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_default_pipeline_is_not_added_twice() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &[]);
    add_default_steps(&app, &hiring, &path, "en").unwrap();
    let count = activity_count(&app);
    for path in [path, hiring.role()] {
        let refused = add_default_steps(&app, &hiring, &path, "en");
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
    assert_eq!(activity_count(&app), count);
}

//! `PUT` and `DELETE /api/v1/candidate-roles/{id}/later`: staff put an application aside until a due day.
//! `GET /api/v1/organizations/{id}/later`: the applications that have come back.

use appliance::domain::due_day::DueDay;
use appliance::domain::id::{ApplicationId, Id, OrganizationId};
use appliance::store::later::{self, DueApplication};
use appliance::store::{self, Error};
use appliance::world::{Real, World};
use serde_json::{Value, json};

use crate::support::race::{Lane, assert_sound, connected_clients, run_together};
use crate::support::stored_signup::new_status_link;
use crate::support::{App, Client, Hiring};

crate::tests![
    an_application_is_put_aside_and_taken_up_again,
    a_due_day_is_counted_in_the_time_zone_of_the_organization,
    days_and_dates_outside_the_coming_year_are_refused,
    a_body_without_exactly_one_of_days_and_due_on_is_refused,
    an_application_that_has_ended_is_not_put_aside,
    a_decision_removes_the_mark,
    an_undo_restores_the_mark,
    a_mark_changes_nothing_that_the_candidate_sees,
    the_activity_records_each_change_once,
    a_subject_access_export_has_the_mark_and_an_erasure_removes_it,
    ids_of_other_organizations_are_not_found,
    due_applications_are_listed_in_pages,
    the_api_lists_due_applications_of_one_organization,
    invalid_parameters_of_the_list_are_refused,
    a_rejection_in_a_race_with_a_mark_leaves_no_mark,
    a_mark_that_is_not_a_calendar_day_is_a_finding,
];

struct Fixture {
    app: App,
    hiring: Hiring,
    staff: Client,
}

impl Fixture {
    /// Starts a service whose clock is at 2026-11-21T09:00:00Z.
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring();
        let staff = app.user_with_all(&hiring.staff("owner"));
        Self { app, hiring, staff }
    }

    fn path(&self, candidate: usize) -> String {
        format!("/api/v1/candidate-roles/{}/later", self.hiring.candidates[candidate].application_id)
    }

    fn put(&self, body: &Value) -> Value {
        self.staff.put(&self.path(0), body).expect(200).json()["data"].take()
    }

    /// Returns the due day of each application in the database, or an empty string if the application has no later
    /// mark.
    fn marks(&self) -> Vec<String> {
        self.app.sql("SELECT coalesce(later_due_on, '') FROM candidate_roles ORDER BY id")
    }
}

fn an_application_is_put_aside_and_taken_up_again() {
    let fixture = Fixture::new();
    let read =
        || fixture.staff.get(&fixture.hiring.candidate_path(0)).expect(200).json()["data"]["applications"][0].take();
    let before = read();
    assert_eq!(before.get("laterDueOn"), None);
    for (body, due_on) in [
        (json!({ "days": 1 }), "2026-11-22"),
        (json!({ "days": 3, "dueOn": null }), "2026-11-24"),
        (json!({ "days": 7 }), "2026-11-28"),
        (json!({ "dueOn": "2027-03-17" }), "2027-03-17"),
    ] {
        let mut after = fixture.put(&body);
        assert_eq!(read(), after);
        assert_eq!(after.as_object_mut().unwrap().remove("laterDueOn"), Some(json!(due_on)));
        assert_eq!(after, before);
    }
    assert_eq!(fixture.marks(), ["2027-03-17", "", ""]);
    for _ in 0..2 {
        let answer = fixture.staff.delete(&fixture.path(0)).expect(200).json();
        assert_eq!((&answer["success"], &answer["data"]), (&json!(true), &before));
    }
    assert_eq!(fixture.marks(), ["", "", ""]);
    assert_eq!(fixture.app.check(), Vec::<String>::new());
}

fn a_due_day_is_counted_in_the_time_zone_of_the_organization() {
    let fixture = Fixture::new();
    fixture.app.change("UPDATE organizations SET time_zone = 'Europe/Berlin'");
    fixture.app.set_clock("2026-11-21T23:30:00Z");
    assert_eq!(fixture.put(&json!({ "days": 1 }))["laterDueOn"], "2026-11-23", "it is already the 22nd there");
    let refused = fixture.staff.put(&fixture.path(0), &json!({ "dueOn": "2026-11-22" }));
    refused.refused(400, "validation_error");
}

fn days_and_dates_outside_the_coming_year_are_refused() {
    let fixture = Fixture::new();
    for days in [1, 365] {
        fixture.put(&json!({ "days": days }));
    }
    assert_eq!(fixture.marks()[0], "2027-11-21");
    for due_on in ["2026-11-22", "2027-11-21"] {
        assert_eq!(fixture.put(&json!({ "dueOn": due_on }))["laterDueOn"], due_on);
    }
    for (body, field) in [
        (json!({ "days": 0 }), "days"),
        (json!({ "days": 366 }), "days"),
        (json!({ "days": -1 }), "days"),
        (json!({ "days": 1.0 }), "days"),
        (json!({ "days": "1" }), "days"),
        (json!({ "dueOn": "2026-11-21" }), "dueOn"),
        (json!({ "dueOn": "2026-11-20" }), "dueOn"),
        (json!({ "dueOn": "2027-11-22" }), "dueOn"),
        (json!({ "dueOn": "2027-02-29" }), "dueOn"),
        (json!({ "dueOn": "2026-12-01T00:00:00Z" }), "dueOn"),
        (json!({ "dueOn": "" }), "dueOn"),
        (json!({ "dueOn": 5 }), "dueOn"),
    ] {
        let refused = fixture.staff.put(&fixture.path(0), &body).refused(400, "validation_error");
        assert_eq!(refused.fields(), [field], "{body}");
    }
    assert_eq!(fixture.marks()[0], "2027-11-21");
}

fn a_body_without_exactly_one_of_days_and_due_on_is_refused() {
    let fixture = Fixture::new();
    for body in [
        json!({}),
        json!({ "days": null }),
        json!({ "days": 1, "dueOn": "2026-12-01" }),
        json!({ "days": "x", "dueOn": 5 }),
    ] {
        let refused = fixture.staff.put(&fixture.path(0), &body).refused(400, "validation_error");
        assert_eq!(refused.fields(), ["dueOn"], "{body}");
    }
    assert_eq!(fixture.marks(), ["", "", ""]);
}

fn an_application_that_has_ended_is_not_put_aside() {
    let fixture = Fixture::new();
    let (hiring, staff) = (&fixture.hiring, &fixture.staff);
    staff.post_empty(&hiring.hire(0)).expect(200);
    staff.post_empty(&hiring.reject(1)).expect(200);
    let application = &hiring.candidates[2].application_id;
    staff.post_empty(&format!("/api/v1/candidate-roles/{application}/withdraw")).expect(200);
    for (candidate, status) in [(0, "Hired"), (1, "Not Selected"), (2, "Withdrawn")] {
        let refused = staff.put(&fixture.path(candidate), &json!({ "days": 1 })).refused(409, "conflict");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with(&format!("the application is {status};")), "{detail}");
        staff.delete(&fixture.path(candidate)).expect(200);
    }
    assert_eq!(fixture.marks(), ["", "", ""]);
}

fn a_decision_removes_the_mark() {
    for (decision, step) in [("validate", 1), ("move", 3), ("move", 0), ("reject", 1), ("hire", 1), ("withdraw", 0)] {
        let fixture = Fixture::new();
        fixture.put(&json!({ "days": 3 }));
        let path = match decision {
            "withdraw" => fixture.path(0).replace("/later", "/withdraw"),
            _ => fixture.hiring.decision(0, step, decision),
        };
        if decision != "withdraw" {
            fixture.staff.post_empty(&format!("{path}?dryRun=true")).expect(200);
            assert_eq!(fixture.marks()[0], "2026-11-24", "a dry run of {decision} changes nothing");
        }
        fixture.staff.post_empty(&path).expect(200);
        assert_eq!(fixture.marks(), ["", "", ""], "{decision}");
        assert_eq!(fixture.app.check(), Vec::<String>::new());
    }
    let fixture = Fixture::new();
    let page = new_status_link(&fixture.app, &fixture.hiring, 0);
    fixture.put(&json!({ "days": 3 }));
    fixture.app.anonymous().post_empty(&format!("{page}/withdraw")).expect(303);
    assert_eq!(fixture.marks(), ["", "", ""]);
}

fn an_undo_restores_the_mark() {
    for decision in ["validate", "reject"] {
        let fixture = Fixture::new();
        fixture.put(&json!({ "days": 3 }));
        fixture.staff.post_empty(&fixture.hiring.decision(0, 1, decision)).expect(200);
        assert_eq!(fixture.marks()[0], "");
        fixture.staff.post_empty(&fixture.hiring.decision(0, 1, "undo")).expect(200);
        assert_eq!(fixture.marks()[0], "2026-11-24");
        assert_eq!(fixture.app.check(), Vec::<String>::new());
    }
}

fn a_mark_changes_nothing_that_the_candidate_sees() {
    let fixture = Fixture::new();
    let page = new_status_link(&fixture.app, &fixture.hiring, 0);
    let seen = || [&page, &format!("{page}/data")].map(|path| fixture.app.anonymous().get(path).expect(200).text());
    let before = seen();
    fixture.put(&json!({ "days": 3 }));
    assert_eq!(seen(), before);
    fixture.app.pass(4 * 86_400);
    let come_back = seen();
    fixture.staff.delete(&fixture.path(0)).expect(200);
    assert_eq!(seen(), come_back);
}

fn the_activity_records_each_change_once() {
    let fixture = Fixture::new();
    for days in [3, 3, 7] {
        fixture.put(&json!({ "days": days }));
    }
    for _ in 0..2 {
        fixture.staff.delete(&fixture.path(0)).expect(200);
    }
    let rows = fixture.app.sql("SELECT action, user_id, candidate_role_id, detail FROM activities ORDER BY number");
    let row = |action: &str, before: Value, after: Value| {
        let detail = json!({ "before": { "laterDueOn": before }, "after": { "laterDueOn": after } });
        let (owner, application) = (fixture.hiring.staff("owner"), &fixture.hiring.candidates[0].application_id);
        format!("candidate_role.{action}|{owner}|{application}|{detail}")
    };
    let expected = [
        row("put_aside", Value::Null, json!("2026-11-24")),
        row("put_aside", json!("2026-11-24"), json!("2026-11-28")),
        row("taken_up", json!("2026-11-28"), Value::Null),
    ];
    assert_eq!(rows, expected);
}

fn a_subject_access_export_has_the_mark_and_an_erasure_removes_it() {
    let fixture = Fixture::new();
    fixture.put(&json!({ "dueOn": "2027-03-17" }));
    let candidate = fixture.hiring.candidate_path(0);
    let export = || fixture.staff.get(&format!("{candidate}/export")).expect(200);
    assert_eq!(export().json()["data"]["candidate"]["applications"][0]["laterDueOn"], "2027-03-17");
    fixture.staff.delete(&candidate).expect(200);
    assert!(!export().text().contains("2027-03-17"));
    assert_eq!(fixture.marks(), ["", "", ""]);
    assert_eq!(fixture.app.sql("SELECT count(*) FROM activities WHERE detail LIKE '%2027-03-17%'"), ["0"]);
    fixture.staff.put(&fixture.path(0), &json!({ "days": 1 })).refused(409, "conflict");
    assert_eq!(fixture.app.check(), Vec::<String>::new());
}

fn ids_of_other_organizations_are_not_found() {
    let fixture = Fixture::new();
    let other = fixture.app.hiring();
    let outsider = fixture.app.user_with_all(&other.staff("owner"));
    fixture.put(&json!({ "days": 3 }));
    let body = |answer: crate::support::Answer| {
        let mut body: Value = answer.refused(404, "not_found").json();
        body["requestId"].take();
        body
    };
    let unknown = "/api/v1/candidate-roles/app_none/later";
    assert_eq!(
        body(outsider.put(&fixture.path(0), &json!({ "days": 7 }))),
        body(outsider.put(unknown, &json!({ "days": 7 })))
    );
    assert_eq!(body(outsider.delete(&fixture.path(0))), body(outsider.delete(unknown)));
    assert_eq!(fixture.marks().concat(), "2026-11-24");
}

fn due_applications_are_listed_in_pages() {
    let fixture = Fixture::new();
    let (app, hiring) = (&fixture.app, &fixture.hiring);
    let other = app.hiring();
    let day = |text: &str| DueDay::parse(text).unwrap();
    for (id, due_on) in [(0, "2026-12-02"), (1, "2026-12-01"), (2, "2026-12-02")] {
        fixture.staff.put(&fixture.path(id), &json!({ "dueOn": due_on })).expect(200);
    }
    let application = &other.candidates[0].application_id;
    let path = format!("/api/v1/candidate-roles/{application}/later");
    app.admin().put(&path, &json!({ "dueOn": "2026-11-22" })).expect(200);
    let world: &dyn World = &Real::new();
    let organization = OrganizationId::parse(&hiring.organization_id).unwrap();
    let page = |today: &str, after: Option<(DueDay, &ApplicationId)>, rows_max: usize| -> Vec<DueApplication> {
        let act = |tx: &store::Tx<'_>| -> Result<_, Error> {
            later::due(tx, &organization, today.parse().unwrap(), after, rows_max)
        };
        store::act_alone(&app.path, world, act).unwrap()
    };
    let ids = |rows: &[DueApplication]| rows.iter().map(|row| row.id.as_str().to_owned()).collect::<Vec<_>>();
    let expected = [1, 0, 2].map(|candidate| hiring.candidates[candidate].application_id.clone());
    assert_eq!(page("2026-11-30", None, 10), []);
    assert_eq!(ids(&page("2026-12-01", None, 10)), expected[..1]);
    let all = page("2026-12-02", None, 10);
    assert_eq!(ids(&all), expected);
    assert_eq!(
        (all[0].due_on, &all[0].candidate_id.as_str()),
        (day("2026-12-01"), &hiring.candidates[1].candidate_id.as_str())
    );
    assert_eq!(all[0].step.as_ref().map(|(id, _)| id.as_str()), Some(hiring.candidates[1].steps[1].as_str()));
    for split in 1..3 {
        let first = page("2027-01-01", None, split);
        let last = first.last().unwrap();
        let rest = page("2027-01-01", Some((last.due_on, &last.id)), 10);
        assert_eq!([first.clone(), rest].concat(), all);
    }
}

fn the_api_lists_due_applications_of_one_organization() {
    let fixture = Fixture::new();
    let (app, hiring) = (&fixture.app, &fixture.hiring);
    let other = app.hiring();
    let outsider = app.user_with_all(&other.staff("owner"));
    app.change("UPDATE organizations SET time_zone = 'Europe/Berlin'");
    let path = |hiring: &Hiring| format!("/api/v1/organizations/{}/later", hiring.organization_id);
    let list = |query: &str| fixture.staff.get(&format!("{}{query}", path(hiring))).expect(200).json();
    for (candidate, days) in [(0, 2), (1, 1), (2, 2)] {
        fixture.staff.put(&fixture.path(candidate), &json!({ "days": days })).expect(200);
    }
    app.set_clock("2026-11-21T22:59:59Z");
    assert_eq!(list("")["data"], json!([]));
    app.set_clock("2026-11-21T23:00:00Z");
    let candidate = &hiring.candidates[1];
    let expected = json!({
        "candidateRoleId": candidate.application_id,
        "laterDueOn": "2026-11-22",
        "candidate": { "id": candidate.candidate_id, "name": "Candidate 2" },
        "role": { "id": hiring.role_id, "name": "Engineer" },
        "step": { "candidateStepId": candidate.steps[1], "name": "Call" },
    });
    assert_eq!(list("")["data"], json!([expected]), "the day begins in the organization's time zone");
    app.set_clock("2026-11-23T12:00:00Z");
    let mut ids = Vec::new();
    let mut query = "?limit=1".to_owned();
    loop {
        let page = list(&query);
        ids.push(page["data"][0]["candidateRoleId"].as_str().unwrap().to_owned());
        let Some(cursor) = page["pagination"]["nextCursor"].as_str() else { break };
        query = format!("?limit=1&cursor={cursor}");
    }
    assert_eq!(ids, [1, 0, 2].map(|candidate| hiring.candidates[candidate].application_id.clone()));
    fixture.staff.post_empty(&hiring.reject(1)).expect(200);
    fixture.staff.put(&fixture.path(0), &json!({ "days": 1 })).expect(200);
    assert_eq!(
        list("")["data"].as_array().unwrap().len(),
        1,
        "a decision and a new mark each remove an application from the list"
    );
    assert_eq!(outsider.get(&path(&other)).expect(200).json()["data"], json!([]));
    let body = |path: &str| {
        let mut body: Value = outsider.get(path).refused(404, "not_found").json();
        body["requestId"].take();
        body
    };
    assert_eq!(body(&path(hiring)), body("/api/v1/organizations/org_none/later"));
}

fn invalid_parameters_of_the_list_are_refused() {
    let fixture = Fixture::new();
    let path = format!("/api/v1/organizations/{}/later", fixture.hiring.organization_id);
    for (query, field) in [("limit=x", "limit"), ("cursor=x", "cursor"), ("cursor=MjAyNi0xMi0wMQ", "cursor")] {
        let refused = fixture.staff.get(&format!("{path}?{query}")).refused(400, "validation_error");
        assert_eq!(refused.fields(), [field], "{query}");
    }
}

fn a_rejection_in_a_race_with_a_mark_leaves_no_mark() {
    let fixture = Fixture::new();
    let (_, key) = fixture.app.make_key_with_all(&fixture.hiring.staff("owner"));
    let put = Lane::new("PUT", &fixture.path(0), &key).with_body(&json!({ "days": 3 }));
    let reject = Lane::new("POST", &fixture.hiring.reject(0), &key);
    let mut clients = connected_clients(&fixture.app, 2);
    for _ in 0..20 {
        let answers = run_together(&mut clients, |number, client| [&put, &reject][number].send(client));
        assert_eq!(answers[1].status, 200);
        assert!(matches!(answers[0].status, 200 | 409), "{}", answers[0].text());
        assert_eq!(fixture.marks(), ["", "", ""], "the rejection removes the mark, or the mark is refused");
        fixture.staff.post(&fixture.hiring.decision(0, 1, "reopen"), &json!({ "reason": "again" })).expect(200);
    }
    assert_sound(&fixture.app);
}

fn a_mark_that_is_not_a_calendar_day_is_a_finding() {
    let fixture = Fixture::new();
    let application = &fixture.hiring.candidates[0].application_id;
    fixture.app.change(&format!("UPDATE candidate_roles SET later_due_on = '2027-02-30' WHERE id = '{application}'"));
    let finding = format!("application {application} is put aside until 2027-02-30, which is not a calendar day");
    assert_eq!(fixture.app.check(), [finding]);
}

//! `POST /api/v1/roles/{id}/open`, `/close` and `/reopen`: the allowed changes of a role's status and their effects.

use serde_json::{Value, json};

use crate::support::hiring::first_role_of;
use crate::support::roles::{activity_count, draft, last_activity, read, staff};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_draft_opens_once_and_only_with_steps,
    an_opened_role_is_on_the_portal_and_accepts_applications,
    a_draft_without_free_positions_opens_as_filled,
    closing_a_role_removes_it_from_the_portal_and_leaves_its_applications_unchanged,
    closing_a_role_without_a_reason_is_refused,
    a_closed_role_reopens_as_open_or_filled,
    a_change_of_status_that_is_not_allowed_is_a_conflict,
    the_status_counts_follow_each_change,
    callers_without_authority_cannot_change_the_status,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "moderator");
    (app, hiring, client)
}

fn close(client: &Client, path: &str) -> Value {
    client.post(&format!("{path}/close"), &json!({ "reason": "the budget is spent" })).expect(200).json()["data"].take()
}

fn figures(app: &App) -> String {
    app.sql("SELECT open_roles, open_positions, in_progress, hired FROM organization_statuses").join(" ")
}

fn a_draft_opens_once_and_only_with_steps() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &[]);
    let problem = client.post_empty(&format!("{path}/open")).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "the role has no steps; add at least one before you open it");
    client.post(&format!("{path}/steps"), &json!({ "name": "Call" })).expect(200);
    app.pass(1);
    let shown = client.post_empty(&format!("{path}/open")).expect(200).json();
    assert_eq!((&shown["data"]["status"], &shown["success"]), (&json!("open"), &json!(true)));
    assert_eq!(shown["data"]["updatedAt"], "2026-11-21T09:00:01.000000Z");
    let (action, role_id, detail) = last_activity(&app);
    assert_eq!((action.as_str(), role_id.as_str()), ("role.opened", path.rsplit('/').next().unwrap()));
    assert_eq!(detail, json!({ "before": { "status": "draft" }, "after": { "status": "open" } }));
    let count = activity_count(&app);
    let problem = client.post_empty(&format!("{path}/open")).refused(409, "conflict").json();
    assert_eq!(problem["detail"], "only a draft can be opened; the role is open");
    assert_eq!(activity_count(&app), count);
}

fn an_opened_role_is_on_the_portal_and_accepts_applications() {
    let (app, hiring, client) = start();
    let path = draft(&client, &hiring, &["Call"]);
    let id = path.rsplit('/').next().unwrap();
    client.patch(&path, &json!({ "public": true })).expect(200);
    let apply = || app.anonymous().post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": id }));
    let readers: Vec<Client> = (0..10).map(|_| app.anonymous()).collect();
    let count = |reader: &Client| reader.get(&hiring.portal()).expect(200).json()["roles"].as_array().unwrap().len();
    readers.iter().for_each(|reader| assert_eq!(count(reader), 1));
    apply().refused(404, "not_found");
    client.post_empty(&format!("{path}/open")).expect(200);
    readers.iter().for_each(|reader| assert_eq!(count(reader), 2));
    apply().expect(200);
}

fn a_draft_without_free_positions_opens_as_filled() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let role = first_role_of(document);
        (role["status"], role["positions"]) = (json!("draft"), json!(1));
        role["candidates"] = json!([{ "name": "H", "email": "h@h.example", "status": "Hired" }]);
    });
    let shown = staff(&app, &hiring, "owner").post_empty(&format!("{}/open", hiring.role())).expect(200).json();
    assert_eq!(shown["data"]["status"], "filled");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn closing_a_role_removes_it_from_the_portal_and_leaves_its_applications_unchanged() {
    let (app, hiring, client) = start();
    let apply = || app.anonymous().post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": hiring.role_id }));
    let url = apply().expect(200).json()["inviteUrl"].as_str().unwrap().to_owned();
    let signup = format!("/signup/{}", url.rsplit('/').next().unwrap());
    app.anonymous().get(&signup).expect(200);
    let applications = || app.sql("SELECT * FROM candidate_roles ORDER BY id");
    let before = applications();
    let shown = close(&client, &hiring.role());
    assert_eq!((&shown["status"], &shown["closeReason"]), (&json!("closed"), &json!("the budget is spent")));
    assert_eq!(app.anonymous().get(&hiring.portal()).expect(200).json()["roles"], json!([]));
    app.anonymous().get(&signup).expect(410);
    apply().refused(404, "not_found");
    assert_eq!(applications(), before);
    let (action, _, detail) = last_activity(&app);
    assert_eq!(action, "role.closed");
    assert_eq!(detail["after"], json!({ "status": "closed", "closeReason": "the budget is spent" }));
    // Candidates with an application in progress can still be rejected, but not hired.
    client.post_empty(&hiring.hire(0)).refused(400, "bad_request");
    client.post_empty(&hiring.reject(1)).expect(200);
    client.post_empty(&format!("{}/reopen", hiring.role())).expect(200);
    assert_ne!(apply().expect(200).json()["inviteUrl"], url);
    app.anonymous().get(&signup).expect(410);
    client.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn closing_a_role_without_a_reason_is_refused() {
    let (_app, hiring, client) = start();
    let close = format!("{}/close", hiring.role());
    for body in [json!({}), json!({ "reason": null }), json!({ "reason": " " }), json!({ "reason": 1 })] {
        assert_eq!(client.post(&close, &body).refused(400, "validation_error").fields(), ["reason"], "{body}");
    }
    client.post(&close, &json!({ "reason": "ä".repeat(1_001) })).refused(400, "validation_error");
    client.send("POST", &close, &[], b"[]").refused(400, "bad_request");
    let reason = "ä".repeat(1_000);
    assert_eq!(client.post(&close, &json!({ "reason": reason })).expect(200).json()["data"]["closeReason"], reason);
}

fn a_closed_role_reopens_as_open_or_filled() {
    let (app, hiring, client) = start();
    client.patch(&hiring.role(), &json!({ "positions": 1 })).expect(200);
    let reopen = format!("{}/reopen", hiring.role());
    close(&client, &hiring.role());
    let shown = client.post_empty(&reopen).expect(200).json()["data"].take();
    assert_eq!((&shown["status"], &shown["closeReason"]), (&json!("open"), &json!(null)));
    client.post_empty(&hiring.hire(0)).expect(200);
    close(&client, &hiring.role());
    assert_eq!(client.post_empty(&reopen).expect(200).json()["data"]["status"], "filled");
    let (action, _, detail) = last_activity(&app);
    assert_eq!(action, "role.reopened");
    assert_eq!(detail["before"], json!({ "status": "closed", "closeReason": "the budget is spent" }));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_change_of_status_that_is_not_allowed_is_a_conflict() {
    let (app, hiring, client) = start();
    let detail = |path: &str| client.post_empty(path).refused(409, "conflict").json()["detail"].clone();
    let role = hiring.role();
    let path = draft(&client, &hiring, &["Call"]);
    assert_eq!(detail(&format!("{path}/reopen")), "only a closed role can be reopened; the role's status is draft");
    let reason = json!({ "reason": "r" });
    client.post(&format!("{path}/close"), &reason).refused(409, "conflict");
    assert_eq!(detail(&format!("{role}/reopen")), "only a closed role can be reopened; the role's status is open");
    close(&client, &role);
    client.post(&format!("{role}/close"), &reason).refused(409, "conflict");
    assert_eq!(detail(&format!("{role}/open")), "only a draft can be opened; the role is closed");
    let bare = app.hiring_with(|document| {
        let role = first_role_of(document);
        (role["status"], role["steps"], role["candidates"]) = (json!("closed"), json!([]), json!([]));
    });
    let owner = staff(&app, &bare, "owner");
    owner.post_empty(&format!("{}/reopen", bare.role())).refused(409, "conflict");
    for act in ["open", "reopen"] {
        client.post_empty(&format!("/api/v1/roles/none/{act}")).refused(404, "not_found");
    }
    client.post("/api/v1/roles/none/close", &reason).refused(404, "not_found");
}

fn the_status_counts_follow_each_change() {
    let (app, hiring, client) = start();
    assert_eq!(figures(&app), "1|2|3|0");
    let path = draft(&client, &hiring, &["Call"]);
    client.patch(&path, &json!({ "positions": 5 })).expect(200);
    assert_eq!(figures(&app), "1|2|3|0");
    client.post_empty(&format!("{path}/open")).expect(200);
    assert_eq!(figures(&app), "2|7|3|0");
    client.patch(&path, &json!({ "positions": 4 })).expect(200);
    assert_eq!(figures(&app), "2|6|3|0");
    client.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(figures(&app), "2|5|2|1");
    client.patch(&hiring.role(), &json!({ "positions": 1 })).expect(200);
    assert_eq!(figures(&app), "1|4|2|1");
    client.patch(&hiring.role(), &json!({ "positions": 3 })).expect(200);
    assert_eq!(figures(&app), "2|6|2|1");
    close(&client, &hiring.role());
    close(&client, &path);
    assert_eq!(figures(&app), "0|0|2|1");
    client.post_empty(&format!("{}/reopen", hiring.role())).expect(200);
    assert_eq!(figures(&app), "1|2|2|1");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn callers_without_authority_cannot_change_the_status() {
    let (app, hiring, _) = start();
    let other = app.hiring();
    let reason = json!({ "reason": "r" });
    for (client, status, code) in
        [(staff(&app, &hiring, "member"), 403, "forbidden"), (staff(&app, &other, "owner"), 404, "not_found")]
    {
        for act in ["open", "reopen"] {
            client.post_empty(&format!("{}/{act}", hiring.role())).refused(status, code);
        }
        client.post(&format!("{}/close", hiring.role()), &reason).refused(status, code);
    }
    assert_eq!(read(&staff(&app, &hiring, "member"), &hiring.role())["status"], "open");
    assert_eq!(activity_count(&app), 0);
}

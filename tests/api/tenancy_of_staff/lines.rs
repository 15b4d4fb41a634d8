//! The lines: one a route, in the order of the table. The ground is an organization of its own (`Hiring`), with its portal on,
//! one open role, three candidates at its second step and a user of each kind.

use serde_json::json;

use super::line::{Line, admin, ask, erases, lists, manages, reads};
use crate::document;
use crate::support::{App, Hiring};

pub(crate) fn lines() -> Vec<Line> {
    vec![
        manages("POST /api/v1/candidate-steps/{id}/validate", |_, ground| ask(ground.decision(0, 1, "validate"))),
        manages("POST /api/v1/candidate-steps/{id}/reopen", |app, ground| {
            app.admin().post_empty(&ground.reject(0)).expect(200);
            ask(ground.decision(0, 1, "reopen")).with(json!({ "reason": "a mistake" }))
        }),
        admin("POST /api/admin/organizations", |_, ground| {
            let slug = format!("{}-too", ground.slug);
            ask("/api/admin/organizations").with(json!({ "slug": slug, "name": "Acme too" }))
        }),
        admin("GET /api/admin/organizations", |_, _| ask("/api/admin/organizations")),
        admin("GET /api/admin/organizations/{id}", |_, ground| ask(organization(ground))),
        admin("PATCH /api/admin/organizations/{id}", |_, ground| {
            ask(organization(ground)).with(json!({ "name": "Other" }))
        }),
        admin("GET /api/admin/organizations/{id}/retention", |_, ground| {
            ask(format!("{}/retention", organization(ground)))
        }),
        admin("POST /api/admin/organizations/{id}/retention/confirm", |_, ground| {
            ask(format!("{}/retention/confirm", organization(ground))).with(json!({ "dueCount": 0 }))
        }),
        admin("PUT /api/admin/organizations/{id}/logo", |_, ground| {
            ask(logo(ground)).with_bytes("image/gif", b"GIF89a")
        }),
        admin("DELETE /api/admin/organizations/{id}/logo", |app, ground| {
            app.admin().send("PUT", &logo(ground), &[], b"GIF89a").expect(200);
            ask(logo(ground))
        }),
        admin("POST /api/admin/users", |_, ground| {
            let email = format!("new@{}.example", ground.slug);
            ask("/api/admin/users").with(json!({ "email": email, "name": "New" }))
        }),
        admin("GET /api/admin/users", |_, _| ask("/api/admin/users")),
        admin("GET /api/admin/users/{id}", |_, ground| ask(user(ground))),
        admin("PATCH /api/admin/users/{id}", |_, ground| ask(user(ground)).with(json!({ "name": "Other" }))),
        admin("GET /api/admin/organizations/{id}/memberships", |_, ground| {
            ask(format!("{}/memberships", organization(ground)))
        }),
        admin("PUT /api/admin/organizations/{id}/memberships/{userId}", |_, ground| {
            ask(membership(ground)).with(json!({ "orgRole": "owner" }))
        }),
        admin("DELETE /api/admin/organizations/{id}/memberships/{userId}", |_, ground| ask(membership(ground))),
        admin("GET /api/admin/activity", |_, _| ask("/api/admin/activity")),
        lists("GET /api/v1/organizations", |_, _| ask("/api/v1/organizations")),
        reads("GET /api/v1/organizations/{id}", |_, ground| {
            ask(format!("/api/v1/organizations/{}", ground.organization_id))
        }),
        reads("GET /api/v1/organizations/{id}/roles", |_, ground| ask(roles(ground))),
        manages("POST /api/v1/organizations/{id}/roles", |_, ground| {
            ask(roles(ground)).with(json!({ "name": "Engineer" }))
        }),
        reads("GET /api/v1/roles/{id}", |_, ground| ask(role(ground))),
        manages("PATCH /api/v1/roles/{id}", |_, ground| ask(role(ground)).with(json!({ "positions": 3 }))),
        manages("DELETE /api/v1/roles/{id}", |app, ground| ask(draft(app, ground))),
        manages("POST /api/v1/roles/{id}/open", |app, ground| ask(format!("{}/open", draft(app, ground)))),
        manages("POST /api/v1/roles/{id}/close", |_, ground| {
            ask(format!("{}/close", role(ground))).with(json!({ "reason": "no budget" }))
        }),
        manages("POST /api/v1/roles/{id}/reopen", |app, ground| ask(format!("{}/reopen", closed(app, ground)))),
        manages("POST /api/v1/roles/{id}/steps", |_, ground| {
            ask(format!("{}/steps", role(ground))).with(json!({ "name": "Second interview" }))
        }),
        manages("PUT /api/v1/roles/{id}/steps/order", |_, ground| {
            let order: Vec<&String> = ground.role_steps.iter().rev().collect();
            ask(format!("{}/steps/order", role(ground))).with(json!({ "stepIds": order }))
        }),
        manages("PATCH /api/v1/roles/{id}/steps/{stepId}", |_, ground| {
            ask(step(ground)).with(json!({ "name": "First call" }))
        }),
        manages("DELETE /api/v1/roles/{id}/steps/{stepId}", |_, ground| ask(step(ground))),
        reads("GET /api/v1/organizations/{id}/candidates", |_, ground| ask(ground.candidates_path())),
        manages("POST /api/v1/organizations/{id}/candidates", |_, ground| {
            let body = json!({ "name": "Ada Lovelace", "email": "ada@example.org", "roleId": ground.role_id });
            ask(ground.candidates_path()).with(body)
        }),
        reads("GET /api/v1/candidates/{id}", |_, ground| ask(ground.candidate_path(0))),
        manages("PATCH /api/v1/candidates/{id}", |_, ground| {
            ask(ground.candidate_path(0)).with(json!({ "name": "Ada" }))
        }),
        manages("POST /api/v1/candidate-roles/{id}/withdraw", |_, ground| {
            ask(format!("/api/v1/candidate-roles/{}/withdraw", ground.candidates[0].application_id))
        }),
        manages("POST /api/v1/candidate-roles/{id}/status-link", |_, ground| {
            ask(format!("/api/v1/candidate-roles/{}/status-link", ground.candidates[0].application_id))
        }),
        erases("DELETE /api/v1/candidates/{id}", |_, ground| ask(ground.candidate_path(0))),
        reads("GET /api/v1/candidates/{id}/documents/{documentId}", |app, ground| ask(document::applied(app, ground))),
        manages("GET /api/v1/candidates/{id}/export", |_, ground| ask(format!("{}/export", ground.candidate_path(0)))),
        erases("PUT /api/v1/candidates/{id}/hold", |_, ground| {
            ask(format!("{}/hold", ground.candidate_path(0))).with(json!({ "reason": "a case" }))
        }),
        erases("DELETE /api/v1/candidates/{id}/hold", |app, ground| {
            let path = format!("{}/hold", ground.candidate_path(0));
            app.admin().put(&path, &json!({ "reason": "a case" })).expect(200);
            ask(path)
        }),
        admin("GET /api/admin/organizations/{id}/hr-integration", |app, ground| ask(integrated(app, ground))),
        admin("PUT /api/admin/organizations/{id}/hr-integration", |_, ground| {
            ask(integration(ground)).with(json!({ "url": "https://hr.example.com/hooks" }))
        }),
        admin("DELETE /api/admin/organizations/{id}/hr-integration", |app, ground| ask(integrated(app, ground))),
        admin("POST /api/admin/organizations/{id}/hr-integration/test", |app, ground| {
            ask(format!("{}/test", integrated(app, ground))).granting(202, "")
        }),
        admin("GET /api/admin/hr-deliveries", |_, _| ask("/api/admin/hr-deliveries")),
        admin("GET /api/admin/hr-deliveries/{id}", |app, ground| ask(pinged(app, ground))),
        admin("POST /api/admin/hr-deliveries/{id}/retry", |app, ground| ask(format!("{}/retry", pinged(app, ground)))),
        reads("GET /api/v1/roles/{id}/board", |_, ground| ask(of_role(ground, "board"))),
        reads("GET /api/v1/organizations/{id}/status", |_, ground| ask(of_organization(ground, "status"))),
        reads("GET /api/v1/roles/{id}/report", |_, ground| ask(of_role(ground, "report"))),
        reads("GET /api/v1/organizations/{id}/activity", |_, ground| ask(of_organization(ground, "activity"))),
        reads("GET /api/v1/roles/{id}/activity", |_, ground| ask(of_role(ground, "activity"))),
        reads("GET /api/v1/candidates/{id}/activity", |_, ground| {
            ask(format!("/api/v1/candidates/{}/activity", ground.candidates[0].candidate_id))
        }),
    ]
}

fn of_organization(ground: &Hiring, what: &str) -> String {
    format!("/api/v1/organizations/{}/{what}", ground.organization_id)
}

fn of_role(ground: &Hiring, what: &str) -> String {
    format!("/api/v1/roles/{}/{what}", ground.role_id)
}

fn organization(ground: &Hiring) -> String {
    format!("/api/admin/organizations/{}", ground.organization_id)
}

fn logo(ground: &Hiring) -> String {
    format!("{}/logo", organization(ground))
}

fn user(ground: &Hiring) -> String {
    format!("/api/admin/users/{}", ground.staff("member"))
}

fn membership(ground: &Hiring) -> String {
    format!("{}/memberships/{}", organization(ground), ground.staff("member"))
}

fn roles(ground: &Hiring) -> String {
    format!("/api/v1/organizations/{}/roles", ground.organization_id)
}

fn role(ground: &Hiring) -> String {
    format!("/api/v1/roles/{}", ground.role_id)
}

fn step(ground: &Hiring) -> String {
    format!("{}/steps/{}", role(ground), ground.role_steps[1])
}

/// The path of a draft that can be opened.
fn draft(app: &App, ground: &Hiring) -> String {
    let body = json!({ "name": "Draft", "steps": [{ "name": "Interview" }] });
    let made = app.admin().post(&roles(ground), &body).expect(200).json();
    format!("/api/v1/roles/{}", made["data"]["id"].as_str().unwrap())
}

/// The path of a role that is closed.
fn closed(app: &App, ground: &Hiring) -> String {
    let path = role(ground);
    app.admin().post(&format!("{path}/close"), &json!({ "reason": "no budget" })).expect(200);
    path
}

fn integration(ground: &Hiring) -> String {
    format!("{}/hr-integration", organization(ground))
}

/// The path of an integration that is there.
fn integrated(app: &App, ground: &Hiring) -> String {
    let path = integration(ground);
    app.admin().put(&path, &json!({ "url": "https://hr.example.com/hooks" })).expect(200);
    path
}

/// The path of a delivery that is there.
fn pinged(app: &App, ground: &Hiring) -> String {
    let ping = app.admin().post_empty(&format!("{}/test", integrated(app, ground))).expect(202).json();
    format!("/api/admin/hr-deliveries/{}", ping["data"]["id"].as_str().unwrap())
}

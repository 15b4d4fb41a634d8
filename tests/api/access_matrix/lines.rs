//! The lines of the access matrix, one for each of its routes. Each request gets its own organization (`Hiring`), with
//! its portal enabled, one open role, three candidates at the second step, and a user for each organization role.

use serde_json::json;

use super::line::{Line, admin, erases, lists, manages, reads, request_to};
use crate::attachment;
use crate::candidate_transfer;
use crate::decision_batch_undo;
use crate::support::{App, Hiring};

pub(crate) fn lines() -> Vec<Line> {
    vec![
        manages("POST /api/v1/candidate-steps/{id}/validate", |_, hiring| {
            request_to(hiring.decision(0, 1, "validate"))
        }),
        manages("POST /api/v1/candidate-steps/{id}/move", |_, hiring| {
            request_to(hiring.decision(0, 3, "move")).with(json!({ "reason": "passed elsewhere" }))
        }),
        manages("POST /api/v1/candidate-steps/{id}/reopen", |app, hiring| {
            app.admin().post_empty(&hiring.reject(0)).expect(200);
            request_to(hiring.decision(0, 1, "reopen")).with(json!({ "reason": "a mistake" }))
        }),
        // Nobody has made a decision, so nobody can undo one.
        manages("POST /api/v1/candidate-steps/{id}/undo", |_, hiring| {
            request_to(hiring.decision(0, 1, "undo")).granting(409, "conflict")
        }),
        manages("POST /api/v1/roles/{id}/decisions", |_, hiring| {
            let body = json!({ "action": "reject", "candidateRoleIds": [hiring.candidates[0].application_id] });
            request_to(format!("{}/decisions", role(hiring))).with(body)
        }),
        manages("POST /api/v1/roles/{id}/decisions/{batchId}/undo", |app, hiring| {
            // The decisions have already been undone, so all callers with access get the same refusal.
            request_to(decision_batch_undo::path_of_undone(app, hiring)).granting(409, "conflict")
        }),
        admin("POST /api/admin/organizations", |_, hiring| {
            let slug = format!("{}-too", hiring.slug);
            request_to("/api/admin/organizations").with(json!({ "slug": slug, "name": "Acme too" }))
        }),
        admin("GET /api/admin/organizations", |_, _| request_to("/api/admin/organizations")),
        admin("GET /api/admin/organizations/{id}", |_, hiring| request_to(organization(hiring))),
        admin("PATCH /api/admin/organizations/{id}", |_, hiring| {
            request_to(organization(hiring)).with(json!({ "name": "Other" }))
        }),
        admin("GET /api/admin/organizations/{id}/retention", |_, hiring| {
            request_to(format!("{}/retention", organization(hiring)))
        }),
        admin("POST /api/admin/organizations/{id}/retention/confirm", |_, hiring| {
            request_to(format!("{}/retention/confirm", organization(hiring))).with(json!({ "dueCount": 0 }))
        }),
        admin("PUT /api/admin/organizations/{id}/logo", |_, hiring| {
            request_to(logo(hiring)).with_bytes("image/gif", b"GIF89a")
        }),
        admin("DELETE /api/admin/organizations/{id}/logo", |app, hiring| {
            app.admin().send("PUT", &logo(hiring), &[], b"GIF89a").expect(200);
            request_to(logo(hiring))
        }),
        admin("POST /api/admin/users", |_, hiring| {
            let email = format!("new@{}.example", hiring.slug);
            request_to("/api/admin/users").with(json!({ "email": email, "name": "New" }))
        }),
        admin("GET /api/admin/users", |_, _| request_to("/api/admin/users")),
        admin("GET /api/admin/users/{id}", |_, hiring| request_to(user(hiring))),
        admin("PATCH /api/admin/users/{id}", |_, hiring| request_to(user(hiring)).with(json!({ "name": "Other" }))),
        admin("GET /api/admin/organizations/{id}/memberships", |_, hiring| {
            request_to(format!("{}/memberships", organization(hiring)))
        }),
        admin("PUT /api/admin/organizations/{id}/memberships/{userId}", |_, hiring| {
            request_to(membership(hiring)).with(json!({ "orgRole": "owner" }))
        }),
        admin("DELETE /api/admin/organizations/{id}/memberships/{userId}", |_, hiring| request_to(membership(hiring))),
        admin("GET /api/admin/activity", |_, _| request_to("/api/admin/activity")),
        lists("GET /api/v1/organizations", |_, _| request_to("/api/v1/organizations")),
        reads("GET /api/v1/organizations/{id}", |_, hiring| {
            request_to(format!("/api/v1/organizations/{}", hiring.organization_id))
        }),
        reads("GET /api/v1/organizations/{id}/roles", |_, hiring| request_to(roles(hiring))),
        manages("POST /api/v1/organizations/{id}/roles", |_, hiring| {
            request_to(roles(hiring)).with(json!({ "name": "Engineer" }))
        }),
        reads("GET /api/v1/roles/{id}", |_, hiring| request_to(role(hiring))),
        manages("PATCH /api/v1/roles/{id}", |_, hiring| request_to(role(hiring)).with(json!({ "positions": 3 }))),
        manages("DELETE /api/v1/roles/{id}", |app, hiring| request_to(draft(app, hiring))),
        manages("POST /api/v1/roles/{id}/open", |app, hiring| request_to(format!("{}/open", draft(app, hiring)))),
        manages("POST /api/v1/roles/{id}/close", |_, hiring| {
            request_to(format!("{}/close", role(hiring))).with(json!({ "reason": "no budget" }))
        }),
        manages("POST /api/v1/roles/{id}/reopen", |app, hiring| request_to(format!("{}/reopen", closed(app, hiring)))),
        manages("POST /api/v1/roles/{id}/copy", |_, hiring| request_to(format!("{}/copy", role(hiring)))),
        manages("POST /api/v1/roles/{id}/steps", |_, hiring| {
            request_to(format!("{}/steps", role(hiring))).with(json!({ "name": "Second interview" }))
        }),
        manages("PUT /api/v1/roles/{id}/steps/order", |_, hiring| {
            let order: Vec<&String> = hiring.role_steps.iter().rev().collect();
            request_to(format!("{}/steps/order", role(hiring))).with(json!({ "stepIds": order }))
        }),
        manages("PATCH /api/v1/roles/{id}/steps/{stepId}", |_, hiring| {
            request_to(step(hiring)).with(json!({ "name": "First call" }))
        }),
        manages("DELETE /api/v1/roles/{id}/steps/{stepId}", |_, hiring| request_to(step(hiring))),
        reads("GET /api/v1/organizations/{id}/candidates", |_, hiring| request_to(hiring.candidates_path())),
        manages("POST /api/v1/organizations/{id}/candidates", |_, hiring| {
            let body = json!({ "name": "Ada Lovelace", "email": "ada@example.org", "roleId": hiring.role_id });
            request_to(hiring.candidates_path()).with(body)
        }),
        reads("GET /api/v1/candidates/{id}", |_, hiring| request_to(hiring.candidate_path(0))),
        manages("PATCH /api/v1/candidates/{id}", |_, hiring| {
            request_to(hiring.candidate_path(0)).with(json!({ "name": "Ada" }))
        }),
        manages("POST /api/v1/candidate-roles/{id}/transfer", |app, hiring| {
            let other = candidate_transfer::other_role(app, hiring);
            let path = format!("/api/v1/candidate-roles/{}/transfer", hiring.candidates[0].application_id);
            request_to(path).with(json!({ "roleId": other }))
        }),
        manages("POST /api/v1/candidate-roles/{id}/withdraw", |_, hiring| {
            request_to(format!("/api/v1/candidate-roles/{}/withdraw", hiring.candidates[0].application_id))
        }),
        manages("PUT /api/v1/candidate-roles/{id}/later", |_, hiring| {
            request_to(format!("/api/v1/candidate-roles/{}/later", hiring.candidates[0].application_id))
                .with(json!({ "days": 3 }))
        }),
        manages("DELETE /api/v1/candidate-roles/{id}/later", |_, hiring| {
            request_to(format!("/api/v1/candidate-roles/{}/later", hiring.candidates[0].application_id))
        }),
        manages("POST /api/v1/candidate-roles/{id}/status-link", |_, hiring| {
            request_to(format!("/api/v1/candidate-roles/{}/status-link", hiring.candidates[0].application_id))
        }),
        erases("DELETE /api/v1/candidates/{id}", |_, hiring| request_to(hiring.candidate_path(0))),
        reads("GET /api/v1/candidates/{id}/documents/{documentId}", |app, hiring| {
            request_to(attachment::applied(app, hiring))
        }),
        manages("GET /api/v1/candidates/{id}/export", |_, hiring| {
            request_to(format!("{}/export", hiring.candidate_path(0)))
        }),
        erases("PUT /api/v1/candidates/{id}/hold", |_, hiring| {
            request_to(format!("{}/hold", hiring.candidate_path(0))).with(json!({ "reason": "a case" }))
        }),
        erases("DELETE /api/v1/candidates/{id}/hold", |app, hiring| {
            let path = format!("{}/hold", hiring.candidate_path(0));
            app.admin().put(&path, &json!({ "reason": "a case" })).expect(200);
            request_to(path)
        }),
        admin("GET /api/admin/organizations/{id}/hr-integration", |app, hiring| request_to(integrated(app, hiring))),
        admin("PUT /api/admin/organizations/{id}/hr-integration", |_, hiring| {
            request_to(integration(hiring)).with(json!({ "url": "https://hr.example.com/hooks" }))
        }),
        admin("DELETE /api/admin/organizations/{id}/hr-integration", |app, hiring| request_to(integrated(app, hiring))),
        admin("POST /api/admin/organizations/{id}/hr-integration/test", |app, hiring| {
            request_to(format!("{}/test", integrated(app, hiring))).granting(202, "")
        }),
        admin("GET /api/admin/hr-deliveries", |_, _| request_to("/api/admin/hr-deliveries")),
        admin("GET /api/admin/hr-deliveries/{id}", |app, hiring| request_to(pinged(app, hiring))),
        admin("POST /api/admin/hr-deliveries/{id}/retry", |app, hiring| {
            request_to(format!("{}/retry", pinged(app, hiring)))
        }),
        reads("GET /api/v1/roles/{id}/in-progress", |_, hiring| request_to(role_subpath(hiring, "in-progress"))),
        reads("GET /api/v1/roles/{id}/board", |_, hiring| request_to(role_subpath(hiring, "board"))),
        reads("GET /api/v1/roles/{id}/changes", |_, hiring| request_to(role_subpath(hiring, "changes"))),
        reads("GET /api/v1/organizations/{id}/status", |_, hiring| request_to(organization_subpath(hiring, "status"))),
        reads("GET /api/v1/roles/{id}/report", |_, hiring| request_to(role_subpath(hiring, "report"))),
        reads("GET /api/v1/organizations/{id}/later", |_, hiring| request_to(organization_subpath(hiring, "later"))),
        reads("GET /api/v1/organizations/{id}/activity", |_, hiring| {
            request_to(organization_subpath(hiring, "activity"))
        }),
        reads("GET /api/v1/roles/{id}/activity", |_, hiring| request_to(role_subpath(hiring, "activity"))),
        reads("GET /api/v1/candidates/{id}/activity", |_, hiring| {
            request_to(format!("/api/v1/candidates/{}/activity", hiring.candidates[0].candidate_id))
        }),
    ]
}

fn organization_subpath(hiring: &Hiring, rest: &str) -> String {
    format!("/api/v1/organizations/{}/{rest}", hiring.organization_id)
}

fn role_subpath(hiring: &Hiring, rest: &str) -> String {
    format!("/api/v1/roles/{}/{rest}", hiring.role_id)
}

fn organization(hiring: &Hiring) -> String {
    format!("/api/admin/organizations/{}", hiring.organization_id)
}

fn logo(hiring: &Hiring) -> String {
    format!("{}/logo", organization(hiring))
}

fn user(hiring: &Hiring) -> String {
    format!("/api/admin/users/{}", hiring.staff("member"))
}

fn membership(hiring: &Hiring) -> String {
    format!("{}/memberships/{}", organization(hiring), hiring.staff("member"))
}

fn roles(hiring: &Hiring) -> String {
    format!("/api/v1/organizations/{}/roles", hiring.organization_id)
}

fn role(hiring: &Hiring) -> String {
    format!("/api/v1/roles/{}", hiring.role_id)
}

fn step(hiring: &Hiring) -> String {
    format!("{}/steps/{}", role(hiring), hiring.role_steps[1])
}

/// Returns the path of a draft that can be opened.
fn draft(app: &App, hiring: &Hiring) -> String {
    let body = json!({ "name": "Draft", "steps": [{ "name": "Interview" }] });
    let created = app.admin().post(&roles(hiring), &body).expect(200).json();
    format!("/api/v1/roles/{}", created["data"]["id"].as_str().unwrap())
}

/// Returns the path of a closed role.
fn closed(app: &App, hiring: &Hiring) -> String {
    let path = role(hiring);
    app.admin().post(&format!("{path}/close"), &json!({ "reason": "no budget" })).expect(200);
    path
}

fn integration(hiring: &Hiring) -> String {
    format!("{}/hr-integration", organization(hiring))
}

/// Returns the path of an existing integration.
fn integrated(app: &App, hiring: &Hiring) -> String {
    let path = integration(hiring);
    app.admin().put(&path, &json!({ "url": "https://hr.example.com/hooks" })).expect(200);
    path
}

/// Returns the path of an existing delivery.
fn pinged(app: &App, hiring: &Hiring) -> String {
    let ping = app.admin().post_empty(&format!("{}/test", integrated(app, hiring))).expect(202).json();
    format!("/api/admin/hr-deliveries/{}", ping["data"]["id"].as_str().unwrap())
}

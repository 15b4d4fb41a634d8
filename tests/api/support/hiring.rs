//! An organization that hires: its interchange document and the ids in it.

use std::path::Path;

use appliance::interchange;
use appliance::store;
use appliance::world::World;
use serde_json::{Value, json};

use super::App;

/// The ids of an organization that hires.
#[derive(Debug, Clone)]
pub(crate) struct Hiring {
    pub(crate) organization_id: String,
    pub(crate) slug: String,
    pub(crate) role_id: String,
    /// The ids of the role's steps, in order.
    pub(crate) role_steps: Vec<String>,
    pub(crate) candidates: Vec<Candidate>,
    number: usize,
}

/// One candidate's application.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) candidate_id: String,
    pub(crate) application_id: String,
    /// The ids of the application's steps, in order. The second step is `in_progress`.
    pub(crate) steps: Vec<String>,
}

impl Hiring {
    /// Returns the id of the user with this organization role: `owner`, `admin`, `moderator`, `hr_representative` or
    /// `member`.
    pub(crate) fn staff(&self, org_role: &str) -> String {
        format!("user_{}_{org_role}", self.number)
    }

    /// Returns the email address of the user with this organization role.
    pub(crate) fn email(&self, org_role: &str) -> String {
        format!("{org_role}@org-{}.example", self.number)
    }

    /// Returns the id and slug of this organization, with ids of records that do not exist.
    pub(crate) fn unknown(&self) -> Self {
        let candidate = Candidate {
            candidate_id: "cand_unknown".to_owned(),
            application_id: "app_unknown".to_owned(),
            steps: vec!["cstep_unknown".to_owned(); 4],
        };
        Self {
            role_id: "role_unknown".to_owned(),
            role_steps: vec!["step_unknown".to_owned()],
            candidates: vec![candidate],
            number: usize::MAX,
            ..self.clone()
        }
    }

    /// Returns the path of a decision on the `candidate`-th candidate at the `step`-th step, both counted from 0.
    pub(crate) fn decision(&self, candidate: usize, step: usize, decision: &str) -> String {
        format!("/api/v1/candidate-steps/{}/{decision}", self.candidates[candidate].steps[step])
    }

    /// Returns the path for hiring the `candidate`-th candidate, counted from 0, at the final step.
    pub(crate) fn hire(&self, candidate: usize) -> String {
        self.decision(candidate, 3, "hire")
    }

    /// Returns the path for rejecting the `candidate`-th candidate, counted from 0, at the current step.
    pub(crate) fn reject(&self, candidate: usize) -> String {
        self.decision(candidate, 1, "reject")
    }

    /// Returns the path of the organization's candidates.
    pub(crate) fn candidates_path(&self) -> String {
        format!("/api/v1/organizations/{}/candidates", self.organization_id)
    }

    /// Returns the path of the `candidate`-th candidate.
    pub(crate) fn candidate_path(&self, candidate: usize) -> String {
        format!("/api/v1/candidates/{}", self.candidates[candidate].candidate_id)
    }

    /// Returns the statuses of the steps of the `candidate`-th candidate's application, in order.
    pub(crate) fn step_statuses(&self, app: &App, candidate: usize) -> Vec<String> {
        let id = &self.candidates[candidate].application_id;
        app.sql(&format!(
            "SELECT status FROM candidate_role_steps WHERE candidate_role_id = '{id}' ORDER BY step_order"
        ))
    }

    /// Returns the path of the organization's portal.
    pub(crate) fn portal(&self) -> String {
        format!("/api/public/portal/{}", self.slug)
    }
}

const STEPS: [(&str, &str); 4] =
    [("Application", "application"), ("Call", "screening"), ("Interview", "interview"), ("Offer", "offer")];

/// Returns the interchange document of the `number`-th organization: an enabled portal, one open public role with two
/// positions, three candidates at the second of its four steps, and a user for each organization role.
pub(super) fn document(number: usize) -> (Value, Hiring) {
    let org_roles = ["owner", "admin", "moderator", "hr_representative", "member"];
    let hiring = Hiring {
        organization_id: format!("org_{number}"),
        slug: format!("acme-{number}"),
        role_id: format!("role_{number}"),
        role_steps: (1..=4).map(|order| format!("step_{number}_{order}")).collect(),
        candidates: (1..=3).map(|candidate| candidate_ids(number, candidate)).collect(),
        number,
    };
    let users: Vec<Value> = org_roles
        .iter()
        .map(|role| json!({ "id": hiring.staff(role), "email": hiring.email(role), "name": format!("The {role}") }))
        .collect();
    let members: Vec<Value> =
        org_roles.iter().map(|role| json!({ "userId": hiring.staff(role), "orgRole": role })).collect();
    let steps: Vec<Value> = hiring
        .role_steps
        .iter()
        .zip(STEPS)
        .map(|(id, (name, kind))| json!({ "id": id, "name": name, "stepType": kind }))
        .collect();
    let candidates: Vec<Value> =
        hiring.candidates.iter().zip(1..).map(|(ids, nth)| candidate(&hiring, ids, nth)).collect();
    let document = json!({
        "users": users,
        "organizations": [{
            "id": hiring.organization_id,
            "slug": hiring.slug,
            "name": format!("Acme {number}"),
            "domain": format!("acme-{number}.example"),
            "logo": format!("https://acme-{number}.example/logo.svg"),
            "portal": { "enabled": true, "theme": { "primaryColor": "#0f766e", "showSalary": true } },
            "members": members,
            "roles": [{
                "id": hiring.role_id,
                "name": "Engineer",
                "description": { "format": "markdown", "body": "# Engineer" },
                "department": "Engineering",
                "location": "Bremen",
                "workType": "hybrid",
                "collarType": "white",
                "salaryMin": 60000,
                "salaryMax": 75000.5,
                "salaryCurrency": "EUR",
                "salaryPeriod": "year",
                "status": "open",
                "public": true,
                "positions": 2,
                "createdAt": "2026-10-01T08:00:00Z",
                "steps": steps,
                "candidates": candidates,
            }],
        }],
    });
    (document, hiring)
}

fn candidate_ids(number: usize, candidate: usize) -> Candidate {
    Candidate {
        candidate_id: format!("cand_{number}_{candidate}"),
        application_id: format!("app_{number}_{candidate}"),
        steps: (1..=4).map(|order| format!("cstep_{number}_{candidate}_{order}")).collect(),
    }
}

/// Returns a candidate of the document, in progress at the second step.
fn candidate(hiring: &Hiring, ids: &Candidate, nth: usize) -> Value {
    let steps: Vec<Value> = ids
        .steps
        .iter()
        .zip(&hiring.role_steps)
        .zip(["validated", "in_progress", "pending", "pending"])
        .map(|((id, role_step), status)| {
            let mut step = json!({ "id": id, "roleStepId": role_step, "status": status });
            if status == "validated" {
                step["validatedAt"] = json!("2026-11-02T10:00:00Z");
            }
            step
        })
        .collect();
    json!({
        "id": ids.candidate_id,
        "applicationId": ids.application_id,
        "name": format!("Candidate {nth}"),
        "email": format!("candidate-{nth}@people-{}.example", hiring.number),
        "appliedAt": "2026-11-01T10:00:00Z",
        "steps": steps,
    })
}

/// Returns the first role of a document.
pub(crate) fn first_role_of(document: &mut Value) -> &mut Value {
    &mut document["organizations"][0]["roles"][0]
}

/// Sets the status of a document's `candidate`-th application and the statuses of its steps. Validated steps get the
/// time of the import.
pub(crate) fn set_steps(document: &mut Value, candidate: usize, status: &str, steps: &[&str]) {
    let candidate = &mut first_role_of(document)["candidates"][candidate];
    candidate["status"] = json!(status);
    for (step, status) in candidate["steps"].as_array_mut().unwrap().iter_mut().zip(steps) {
        step["status"] = json!(status);
        step.as_object_mut().unwrap().remove("validatedAt");
    }
}

/// Imports a document into a database, whether or not a service uses the database.
pub(super) fn import(path: &Path, world: &dyn World, document: &Value) {
    let document = match interchange::parse(document.to_string().as_bytes(), world) {
        Ok(document) => document,
        Err(findings) => panic!("the document cannot be imported: {findings}"),
    };
    store::act_alone(path, world, |tx| interchange::import(tx, &document)).unwrap();
}

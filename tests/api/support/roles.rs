//! Requests by which staff create, read and change roles.

use serde_json::{Value, json};

use super::{App, Client, Hiring};

/// Returns a client of the organization's user with this organization role. Its key has all scopes but those for
/// admins.
pub(crate) fn staff(app: &App, hiring: &Hiring, org_role: &str) -> Client {
    let scopes = ["roles:read", "roles:write", "candidates:read", "candidates:write", "pipeline:write"];
    app.key(&app.make_key_with(&json!({ "name": "k", "userId": hiring.staff(org_role), "scopes": scopes })).1)
}

impl Hiring {
    /// Returns the path of the organization's roles.
    pub(crate) fn roles(&self) -> String {
        format!("/api/v1/organizations/{}/roles", self.organization_id)
    }

    /// Returns the path of the organization's first role.
    pub(crate) fn role(&self) -> String {
        role(&self.role_id)
    }
}

/// Returns the path of a role.
pub(crate) fn role(id: &str) -> String {
    format!("/api/v1/roles/{id}")
}

/// Creates a role with this body, and returns it.
pub(crate) fn create(client: &Client, hiring: &Hiring, body: &Value) -> Value {
    client.post(&hiring.roles(), body).expect(200).json()["data"].take()
}

/// Creates a draft with these steps, and returns its path.
pub(crate) fn draft(client: &Client, hiring: &Hiring, steps: &[&str]) -> String {
    let steps: Vec<Value> = steps.iter().map(|name| json!({ "name": name })).collect();
    role(create(client, hiring, &json!({ "name": "Draft", "steps": steps }))["id"].as_str().unwrap())
}

/// Reads a role as the API shows it.
pub(crate) fn read(client: &Client, path: &str) -> Value {
    client.get(path).expect(200).json()["data"].take()
}

/// Returns the action, role id and detail of the newest activity row of all organizations.
pub(crate) fn last_activity(app: &App) -> (String, String, Value) {
    let row = app.sql(
        "SELECT action || ' ' || coalesce(role_id, '-') || ' ' || detail FROM activities ORDER BY number DESC LIMIT 1",
    );
    let mut parts = row[0].splitn(3, ' ').map(str::to_owned);
    let (action, role) = (parts.next().unwrap(), parts.next().unwrap());
    (action, role, serde_json::from_str(&parts.next().unwrap()).unwrap())
}

/// Returns the number of activity rows of all organizations.
pub(crate) fn activity_count(app: &App) -> usize {
    app.sql("SELECT count(*) FROM activities")[0].parse().unwrap()
}

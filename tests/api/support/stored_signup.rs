//! Signups inserted into the database directly, and the links of their status pages.

use appliance::domain::status_page::token_digest;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{App, Hiring};

/// The content of an attachment that is stored in two chunks.
pub(crate) const CV: &str = "%PDF-1.7 Quixworth";

/// As an owner, creates a new status link for the `candidate`-th application, and returns the path of the link.
pub(crate) fn new_status_link(app: &App, hiring: &Hiring, candidate: usize) -> String {
    let path = status_link_path(hiring, candidate);
    let answer = app.user_with_all(&hiring.staff("owner")).post_empty(&path).expect(200).json();
    status_link_in(&answer)
}

/// Returns the path of the status link in an answer.
pub(crate) fn status_link_in(answer: &Value) -> String {
    let url = answer["data"]["url"].as_str().unwrap();
    format!("/status/{}", url.rsplit('/').next().unwrap())
}

/// Returns the path of the request that creates a new status link.
pub(crate) fn status_link_path(hiring: &Hiring, candidate: usize) -> String {
    format!("/api/v1/candidate-roles/{}/status-link", hiring.candidates[candidate].application_id)
}

/// Adds a candidate to the role as staff do, and returns the id of the application.
pub(crate) fn add_candidate(app: &App, hiring: &Hiring, email: &str) -> String {
    let body = json!({ "name": "Ada Original", "email": email, "roleId": hiring.role_id });
    let answer = app.user_with_all(&hiring.staff("owner")).post(&hiring.candidates_path(), &body).expect(200).json();
    answer["data"]["applications"][0]["id"].as_str().unwrap().to_owned()
}

/// Inserts a signup with an attachment and a status page whose link has this token. Without an application, the
/// signup is a later signup. Returns the path of the page.
pub(crate) fn insert_signup(app: &App, hiring: &Hiring, application: Option<&str>, email: &str, token: &str) -> String {
    let (organization, role) = (&hiring.organization_id, &hiring.role_id);
    let now = appliance::world::World::now(app.world.as_ref()).micros();
    let id = format!("sign_{token}");
    let quoted = |id: Option<&str>| id.map_or("NULL".to_owned(), |id| format!("'{id}'"));
    let of_signup = quoted(Some(&id).filter(|_| application.is_none()).map(String::as_str));
    let digest: String = token_digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
    let hex: String = CV.bytes().map(|byte| format!("{byte:02x}")).collect();
    let sha256: String = Sha256::digest(CV).iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, second) = hex.split_at(16);
    let (later_of, steps) = later_signup_columns(hiring, application, email);
    let is_trusted = u8::from(application.is_some());
    let (application, bytes) = (quoted(application), CV.len());
    app.change(&format!(
        "BEGIN IMMEDIATE;
         INSERT INTO signups (id, organization_id, role_id, candidate_role_id, later_of, steps, name, email, email_key,
           phone, links, note, locale, consented_at, created_at)
         VALUES ('{id}', '{organization}', '{role}', {application}, {later_of}, {steps}, 'Ada <b>Typed</b>', '{email}', lower('{email}'),
           '+44 20 7946', '[\"https://ada.example\"]', 'First line' || char(10) || 'Second line', 'en', {now}, {now});
         INSERT INTO documents (id, signup_id, file_name, media_type, bytes, created_at, sha256)
         VALUES ('doc_{token}', '{id}', 'My CV.pdf', 'application/pdf', {bytes}, {now}, x'{sha256}');
         INSERT INTO document_pieces (document_number, number, content)
         SELECT number, 1, x'{first}' FROM documents WHERE id = 'doc_{token}';
         INSERT INTO document_pieces (document_number, number, content)
         SELECT number, 2, x'{second}' FROM documents WHERE id = 'doc_{token}';
         INSERT INTO status_pages (digest, candidate_role_id, signup_id, is_trusted, locale, issued_at)
         VALUES (x'{digest}', {application}, {of_signup}, {is_trusted}, 'en', {now});
         COMMIT;"
    ));
    format!("/status/{token}")
}

/// Returns SQL expressions for two columns: the earlier application under the address of a later signup, and the role's
/// steps at the time of that signup. For a signup with an application, both are `NULL`.
pub(crate) fn later_signup_columns(hiring: &Hiring, application: Option<&str>, email: &str) -> (String, String) {
    if application.is_some() {
        return ("NULL".to_owned(), "NULL".to_owned());
    }
    let (organization, role) = (&hiring.organization_id, &hiring.role_id);
    let later_of = format!(
        "(SELECT a.id FROM candidate_roles a JOIN candidates c ON c.id = a.candidate_id
          WHERE c.organization_id = '{organization}' AND c.email_key = lower('{email}') AND a.role_id = '{role}')"
    );
    let steps = format!(
        "(SELECT json_group_array(name) FROM
            (SELECT name FROM role_steps WHERE role_id = '{role}' AND step_order IS NOT NULL ORDER BY step_order) AS steps)"
    );
    (later_of, steps)
}

/// Returns the numbers of signups, attachments, chunks and status pages, without attachments that only wait for
/// pruning.
pub(crate) fn row_counts(app: &App) -> String {
    let count = |table: &str| format!("(SELECT count(*) FROM {table})");
    let documents = "documents WHERE created_at > 0";
    let pieces = format!("document_pieces WHERE document_number IN (SELECT number FROM {documents})");
    let counts = ["signups", documents, &pieces, "status_pages"].map(count);
    app.sql(&format!("SELECT {}", counts.join(", "))).remove(0)
}

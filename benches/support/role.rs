//! An organization with one role, 2,000 candidates in its pipeline, and a member who may decide.

use serde_json::{Value, json};

pub(crate) const MEMBER: &str = "moderator@acme.example";

/// The number of candidates of the role.
pub(crate) const CANDIDATES: usize = 2_000;

const STEPS: [&str; 5] = ["Applied", "Screening", "Interview", "Second interview", "Offer"];

const GIVEN_NAMES: [&str; 8] = ["Amélie", "Björn", "Chiara", "Dmitri", "Esra", "Fatou", "Guillermo", "Hanneke"];
const FAMILY_NAMES: [&str; 7] = ["Byrne", "Castellanos", "Dąbrowski", "van den Heuvel", "Öztürk", "Sørensen", "Nguyễn"];

/// Returns the id of a candidate, counted from 0.
pub(crate) fn candidate_id(nth: usize) -> String {
    format!("cand_{nth:04}")
}

/// Returns an interchange document with the organization.
pub(crate) fn document() -> Value {
    let steps = STEPS.iter().zip(0..).map(|(name, nth)| json!({ "id": format!("step_{nth}"), "name": name }));
    json!({
        "users": [{ "id": "user_moderator", "email": MEMBER, "name": "Ingrid Moderator" }],
        "organizations": [{
            "id": "org_acme",
            "slug": "acme",
            "name": "Acme",
            "portal": { "enabled": true },
            "members": [{ "userId": "user_moderator", "orgRole": "moderator" }],
            "roles": [{
                "id": "role_big",
                "name": "Platform Engineer",
                "status": "open",
                "public": true,
                "positions": 3,
                "steps": steps.collect::<Vec<_>>(),
                "candidates": (0..CANDIDATES).map(candidate).collect::<Vec<_>>(),
            }],
        }],
    })
}

/// Returns a candidate. Three fifths of the candidates are at the first step, and a tenth at each other step.
fn candidate(nth: usize) -> Value {
    let at = if nth.is_multiple_of(2) { 0 } else { nth / 2 % STEPS.len() };
    let step = |order: usize| {
        let status = if order < at {
            "validated"
        } else if order == at {
            "in_progress"
        } else {
            "pending"
        };
        json!({ "id": format!("cstep_{nth:04}_{order}"), "roleStepId": format!("step_{order}"), "status": status })
    };
    let name = format!("{} {}", GIVEN_NAMES[nth % GIVEN_NAMES.len()], FAMILY_NAMES[nth % FAMILY_NAMES.len()]);
    json!({
        "id": candidate_id(nth),
        "applicationId": format!("app_{nth:04}"),
        "name": name,
        "email": format!("candidate.{nth}@people.example"),
        "steps": (0..STEPS.len()).map(step).collect::<Vec<_>>(),
    })
}

//! The data of the file: organizations with portals, members and applications. Each id contains a number, so that the
//! bench can compute it, and is as long as an id of the service.

use serde_json::{Value, json};

pub(crate) const ORGANIZATIONS: usize = 200;

/// The number of public open roles of each organization. With this number, a portal response is about 20 kB long.
pub(crate) const PORTAL_ROLES: usize = 30;

/// The number of members of each organization. All of them may decide.
pub(crate) const MEMBERS: usize = 5;

pub(crate) const APPLICATIONS: usize = 200_000;

/// The number of applications in each organization. They are for one open role that is not public.
const APPLICATIONS_OF_ONE: usize = APPLICATIONS / ORGANIZATIONS;

/// One more position than applications, so that the role stays open.
pub(crate) const POSITIONS: usize = APPLICATIONS_OF_ONE + 1;

/// The number of applications in one document: the maximum for an import while the service runs.
const APPLICATIONS_OF_DOCUMENT: usize = 20_000;

pub(crate) const ORG_ROLES: [&str; MEMBERS] = ["owner", "admin", "moderator", "hr_representative", "hr_representative"];

/// Returns an id that is as long as the ids of the service.
pub(crate) fn id(prefix: &str, number: usize) -> String {
    format!("{prefix}_{number:026}")
}

pub(crate) fn organization_id(organization: usize) -> String {
    id("org", organization)
}

pub(crate) fn slug(organization: usize) -> String {
    format!("company-{organization:03}")
}

pub(crate) fn portal_path(organization: usize) -> String {
    format!("/api/public/portal/{}", slug(organization))
}

/// Returns the path of the organization's career page.
pub(crate) fn page_path(organization: usize) -> String {
    format!("/careers/{}", slug(organization))
}

/// Returns the id of the oldest role on the organization's portal.
pub(crate) fn portal_role_id(organization: usize) -> String {
    id("role", organization * 100)
}

/// Returns the id of the organization's role with applications.
pub(crate) fn role_id(organization: usize) -> String {
    id("role", organization * 100 + PORTAL_ROLES)
}

fn role_step_id(organization: usize, order: usize) -> String {
    id("step", organization * 10 + order)
}

pub(crate) fn user_id(member: usize) -> String {
    id("user", member)
}

pub(crate) fn application_id(application: usize) -> String {
    id("app", application)
}

pub(crate) fn candidate_id(application: usize) -> String {
    id("cand", application)
}

pub(crate) fn step_id(application: usize, order: usize) -> String {
    id("cstep", application * 10 + order)
}

/// Returns the id of an application's step in progress. The bench decides at this step.
pub(crate) fn last_step_id(application: usize) -> String {
    step_id(application, 2)
}

/// Returns the index of an application's organization.
pub(crate) fn organization_of(application: usize) -> usize {
    application / APPLICATIONS_OF_ONE
}

/// Returns interchange documents with all data. Each document is within the limit for an import while the service runs.
pub(crate) fn documents() -> impl Iterator<Item = Value> {
    let organizations = APPLICATIONS_OF_DOCUMENT / APPLICATIONS_OF_ONE;
    (0..ORGANIZATIONS).step_by(organizations).map(move |first| {
        let all = first..(first + organizations).min(ORGANIZATIONS);
        let users = all.clone().flat_map(|organization| (0..MEMBERS).map(move |nth| organization * MEMBERS + nth));
        json!({
            "users": users.map(user).collect::<Vec<_>>(),
            "organizations": all.map(organization).collect::<Vec<_>>(),
        })
    })
}

fn user(member: usize) -> Value {
    json!({ "id": user_id(member), "email": format!("member{member}@staff.example"), "name": "Kim Member" })
}

fn organization(organization: usize) -> Value {
    let member = |nth: usize| json!({ "userId": user_id(organization * MEMBERS + nth), "orgRole": ORG_ROLES[nth] });
    let mut roles: Vec<_> = (0..PORTAL_ROLES).map(|nth| portal_role(organization, nth)).collect();
    roles.push(role(organization));
    json!({
        "id": organization_id(organization),
        "slug": slug(organization),
        "name": format!("Company {organization:03} Ltd"),
        "domain": format!("company-{organization:03}.example"),
        "logo": format!("https://company-{organization:03}.example/logo.svg"),
        "portal": { "enabled": true, "theme": { "primaryColor": "#0f766e", "showSalary": true } },
        "members": (0..MEMBERS).map(member).collect::<Vec<_>>(),
        "roles": roles,
    })
}

pub(crate) fn portal_role(organization: usize, nth: usize) -> Value {
    let body = "We look after pumps, valves and the software between them, for towns that nobody has heard of and that \
                would notice at once if we stopped.\n\n- You **plan** the work of a week with three others\n- You see \
                every site twice a year\n- You say so when something is wrong\n\nNo degree is needed.";
    json!({
        "id": id("role", organization * 100 + nth),
        "name": format!("Engineer for Water Systems, Region {nth:02}"),
        "department": "Operations",
        "location": "Rostock, Germany",
        "workType": "hybrid",
        "collarType": "white",
        "salaryMin": 48_000,
        "salaryMax": 61_500,
        "salaryCurrency": "EUR",
        "salaryPeriod": "year",
        "status": "open",
        "public": true,
        "positions": 2,
        "createdAt": format!("2026-01-{:02}T08:00:00Z", nth + 1),
        "description": { "format": "markdown", "body": body },
    })
}

fn role(organization: usize) -> Value {
    let first = organization * APPLICATIONS_OF_ONE;
    json!({
        "id": role_id(organization),
        "name": "Apprentice",
        "status": "open",
        "positions": POSITIONS,
        "steps": [
            { "id": role_step_id(organization, 1), "name": "Application", "stepType": "application" },
            { "id": role_step_id(organization, 2), "name": "Interview", "stepType": "interview" },
        ],
        "candidates": (first..first + APPLICATIONS_OF_ONE).map(candidate).collect::<Vec<_>>(),
    })
}

fn candidate(application: usize) -> Value {
    let role_step = |order| role_step_id(organization_of(application), order);
    json!({
        "id": candidate_id(application),
        "applicationId": application_id(application),
        "name": "Jo Candidate",
        "email": format!("candidate{application}@people.example"),
        "steps": [
            { "id": step_id(application, 1), "roleStepId": role_step(1), "status": "validated" },
            { "id": step_id(application, 2), "roleStepId": role_step(2), "status": "in_progress" },
        ],
    })
}

//! Organizations with many applications: their interchange document, and the applications that no worker has taken yet.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

const ORGANIZATIONS: usize = 3;

/// The number of applications to the role with a position for each applicant, in each organization and for each round.
const UNCONTESTED_PER_ROUND: usize = 70;

/// The number of roles with too few positions, in each organization and for each round.
const CONTESTED_PER_ROUND: usize = 4;

/// The numbers of positions of a contested role and of applications to it.
const CONTESTED_POSITIONS: usize = 2;
const CONTESTED_APPLICATIONS: usize = 8;

/// The number of open roles without applications, for signup links, in each organization and for each round.
const LINKED_PER_ROUND: usize = 6;

/// All organizations that a load uses.
pub(crate) struct Company {
    pub(crate) organizations: Vec<Organization>,
}

/// One organization. Its HR integration is disabled, so that deliveries are held.
pub(crate) struct Organization {
    id: String,
    pub(crate) slug: String,
    pub(crate) owner_id: String,
    pub(crate) owner_email: String,
    /// Applications to a role with a position for each applicant.
    pub(crate) uncontested: Vec<Application>,
    /// Applications to roles with fewer positions than applicants, grouped by role.
    contested: Vec<Application>,
    /// Roles without applications.
    linked: Vec<String>,
    uncontested_taken: AtomicUsize,
    contested_taken: AtomicUsize,
}

/// An application with two steps, in progress at the first step.
#[derive(Debug, Clone)]
pub(crate) struct Application {
    pub(crate) id: String,
    pub(crate) steps: [String; 2],
    /// Whether its role has a position for each applicant.
    pub(crate) is_uncontested: bool,
}

impl Company {
    /// Creates enough applications for this many rounds.
    pub(crate) fn for_rounds(rounds: usize) -> Self {
        Self { organizations: (0..ORGANIZATIONS).map(|number| Organization::new(number, rounds)).collect() }
    }

    /// Returns the organization of the `worker`-th worker.
    pub(crate) fn organization_of(&self, worker: usize) -> &Organization {
        &self.organizations[worker % ORGANIZATIONS]
    }

    /// Returns the ids of all applications.
    pub(crate) fn applications(&self) -> impl Iterator<Item = &str> {
        self.organizations
            .iter()
            .flat_map(|one| one.uncontested.iter().chain(&one.contested))
            .map(|one| one.id.as_str())
    }

    /// Returns the interchange document.
    pub(crate) fn document(&self) -> Value {
        let users: Vec<Value> = self.organizations.iter().map(Organization::user).collect();
        let organizations: Vec<Value> = self.organizations.iter().map(Organization::document).collect();
        json!({ "users": users, "organizations": organizations })
    }
}

impl Organization {
    fn new(number: usize, rounds: usize) -> Self {
        let application = |is_uncontested: bool| {
            let kind = if is_uncontested { "uncontested" } else { "contested" };
            move |nth: usize| Application {
                id: format!("app_{number}_{kind}_{nth}"),
                steps: [0, 1].map(|step| format!("cstep_{number}_{kind}_{nth}_{step}")),
                is_uncontested,
            }
        };
        Self {
            id: format!("org_{number}"),
            slug: format!("acme-{number}"),
            owner_id: format!("user_{number}"),
            owner_email: format!("owner@acme-{number}.example"),
            uncontested: (0..rounds * UNCONTESTED_PER_ROUND).map(application(true)).collect(),
            contested: (0..rounds * CONTESTED_PER_ROUND * CONTESTED_APPLICATIONS).map(application(false)).collect(),
            linked: (0..rounds * LINKED_PER_ROUND).map(|nth| format!("role_{number}_linked_{nth}")).collect(),
            uncontested_taken: AtomicUsize::new(0),
            contested_taken: AtomicUsize::new(0),
        }
    }

    /// Returns the next application, if one is left, to the role with a position for each applicant.
    pub(crate) fn take_uncontested(&self) -> Option<Application> {
        self.uncontested.get(self.uncontested_taken.fetch_add(1, Ordering::Relaxed)).cloned()
    }

    /// Returns the next application, if one is left, to a role whose positions several workers fill at the same time.
    pub(crate) fn take_contested(&self) -> Option<Application> {
        self.contested.get(self.contested_taken.fetch_add(1, Ordering::Relaxed)).cloned()
    }

    /// Returns a role for signup links. Any number selects a role.
    pub(crate) fn linked(&self, number: usize) -> &str {
        &self.linked[number % self.linked.len()]
    }

    fn user(&self) -> Value {
        json!({ "id": self.owner_id, "email": self.owner_email, "name": "Owner" })
    }

    fn document(&self) -> Value {
        let mut roles =
            vec![role(&format!("role_{}_uncontested", self.id), self.uncontested.len() + 1, &self.uncontested)];
        let contested = self.contested.chunks(CONTESTED_APPLICATIONS).enumerate();
        roles.extend(contested.map(|(nth, applications)| {
            role(&format!("role_{}_contested_{nth}", self.id), CONTESTED_POSITIONS, applications)
        }));
        roles.extend(self.linked.iter().map(|id| role(id, 1, &[])));
        json!({
            "id": self.id,
            "slug": self.slug,
            "name": format!("Acme {}", self.id),
            "portal": { "enabled": true },
            "hrIntegration": { "url": "https://hr.example/hooks", "secret": "whsec_c2VjcmV0", "enabled": false },
            "members": [{ "userId": self.owner_id, "orgRole": "owner" }],
            "roles": roles,
        })
    }
}

fn role(id: &str, positions: usize, applications: &[Application]) -> Value {
    let step_id = |step: usize| format!("{id}_step_{step}");
    let candidates: Vec<Value> = applications
        .iter()
        .map(|application| {
            json!({
                "applicationId": application.id,
                "name": "Candidate",
                "email": format!("{}@people.example", application.id),
                "steps": [
                    { "id": application.steps[0], "roleStepId": step_id(0), "status": "in_progress" },
                    { "id": application.steps[1], "roleStepId": step_id(1), "status": "pending" },
                ],
            })
        })
        .collect();
    json!({
        "id": id,
        "name": "Engineer",
        "status": "open",
        "public": true,
        "positions": positions,
        "steps": [{ "id": step_id(0), "name": "Interview" }, { "id": step_id(1), "name": "Offer" }],
        "candidates": candidates,
    })
}

//! Organizations with applications whose candidates can be hired, and a service on a file that contains these
//! organizations.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::client::Request;
use super::service::{Service, run};

/// The secret of all HR integrations. The bench does not verify signatures.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// An organization with one role, which has more positions than applications.
pub(crate) struct Organization {
    id: String,
    applications: usize,
    taken: usize,
    target: Option<SocketAddr>,
}

/// A running service with its own file, and an admin's key.
pub(crate) struct Deployment {
    pub(crate) service: Service,
    pub(crate) db: String,
    key: String,
    _dir: tempfile::TempDir,
}

impl Organization {
    /// Returns an organization with this many applications. The service sends its hires to `target`, if given.
    pub(crate) fn new(id: &str, applications: usize, target: Option<SocketAddr>) -> Self {
        Self { id: id.to_owned(), applications, taken: 0, target }
    }

    /// Returns the number of the next application without a decision.
    fn take(&mut self) -> usize {
        self.taken += 1;
        assert!(self.taken <= self.applications, "{} has an application left", self.id);
        self.taken
    }

    /// Returns the number of hires so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    fn application(&self, nth: usize) -> String {
        format!("app_{}_{nth}", self.id)
    }

    fn document(&self) -> Value {
        let step = |step: usize| format!("rstep_{}_{step}", self.id);
        let candidate = |nth: usize| {
            let cstep = |step: usize| format!("cstep_{}_{nth}_{step}", self.id);
            json!({
                "applicationId": self.application(nth),
                "name": "Jo Candidate",
                "email": format!("{nth}@people.example"),
                "steps": [
                    { "id": cstep(0), "roleStepId": step(0), "status": "in_progress" },
                    { "id": cstep(1), "roleStepId": step(1), "status": "pending" },
                ],
            })
        };
        let mut document = json!({
            "id": self.id,
            "slug": self.id.replace('_', "-"),
            "name": format!("Acme {}", self.id),
            "roles": [{
                "id": format!("role_{}", self.id),
                "name": "Engineer",
                "status": "open",
                "public": true,
                // One more position than applications, so that the role stays open.
                "positions": self.applications + 1,
                "steps": [{ "id": step(0), "name": "Interview" }, { "id": step(1), "name": "Offer" }],
                "candidates": (1..=self.applications).map(candidate).collect::<Vec<_>>(),
            }],
        });
        if let Some(target) = self.target {
            let url = format!("http://{target}/hooks");
            document["hrIntegration"] = json!({ "url": url, "secret": SECRET, "enabled": true });
        }
        document
    }
}

impl Deployment {
    /// Starts a service with these organizations, without a rate limit.
    pub(crate) fn with(organizations: &[&Organization]) -> Self {
        // The file is in the target directory, because the system's temporary directory can be in memory, where a
        // commit costs nothing.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (db, document) = (path("appliance.db"), path("company.json"));
        let organizations: Vec<Value> = organizations.iter().map(|one| one.document()).collect();
        std::fs::write(&document, json!({ "users": [], "organizations": organizations }).to_string()).unwrap();
        let key = run(&["bootstrap-admin", "--db", &db, "--email", "admin@appliance.example"]).trim().to_owned();
        run(&["import", "--db", &db, &document]);
        let service = Service::start(db.as_ref(), &["--allow-private-hr-targets"]);
        Self { service, db, key, _dir: dir }
    }

    /// Returns the request for the next hire, and the id of its application.
    pub(crate) fn hire(&self, organization: &mut Organization) -> (Request, String) {
        let nth = organization.take();
        let request = Request::new("POST", &format!("/api/v1/candidate-steps/cstep_{}_{nth}_1/hire", organization.id));
        let body = json!({ "notes": "Starts in spring, four days a week." });
        (request.with_key(&self.key).with_body(&body), organization.application(nth))
    }
}

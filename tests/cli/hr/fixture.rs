//! A file with organizations and candidates, and the private texts in it that must not appear in a log.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::company::{Application, Company};
use super::service::run;

/// The name of every candidate and the query of every URL.
const NAME: &str = "Wilhelmina Ostrander";
const QUERY: &str = "token=c3VwZXItc2VjcmV0";

/// A file in its own directory, into which a company without HR integrations was imported.
pub(crate) struct Fixture {
    pub(crate) db: PathBuf,
    pub(crate) company: Company,
    pub(crate) admin_key: String,
    _dir: tempfile::TempDir,
    organizations: Vec<String>,
}

impl Fixture {
    /// Creates at least this many applications to roles with a position for each applicant.
    pub(crate) fn with(applications: usize) -> Self {
        let one_round = Company::for_rounds(1).organizations.iter().map(|one| one.uncontested.len()).sum::<usize>();
        let company = Company::for_rounds(applications.div_ceil(one_round));
        let dir = tempfile::tempdir().unwrap();
        let (db, path) = (dir.path().join("appliance.db"), dir.path().join("company.json"));
        let document = with_candidate_name(company.document());
        std::fs::write(&path, document.to_string()).unwrap();
        run(&["import", "--db", db.to_str().unwrap(), path.to_str().unwrap()]);
        let admin_key = run(&["bootstrap-admin", "--db", db.to_str().unwrap(), "--email", "admin@appliance.example"]);
        let organizations = document["organizations"].as_array().unwrap().iter();
        Self {
            organizations: organizations.map(|one| one["id"].as_str().unwrap().to_owned()).collect(),
            admin_key: admin_key.trim().to_owned(),
            db,
            company,
            _dir: dir,
        }
    }

    pub(crate) fn db(&self) -> &str {
        self.db.to_str().unwrap()
    }

    /// Returns the ids of the organizations.
    pub(crate) fn organizations(&self) -> &[String] {
        &self.organizations
    }

    /// Returns the next application to a role of the first organization.
    pub(crate) fn take(&self) -> Application {
        self.company.organization_of(0).take_uncontested().unwrap()
    }

    /// Checks that the log has no secret, no name or address of a candidate, and no part of a URL after its host.
    #[track_caller]
    pub(crate) fn require_no_private_text(&self, log: &str, secrets: &[String]) {
        assert!(log.contains("HR delivery evt_"), "the log mentions attempts: {log}");
        let mut private =
            vec![NAME, "Ostrander", "people.example", "Confidential", "/hooks-of-", QUERY, "c3VwZXI", "whsec_"];
        private.extend(secrets.iter().map(|secret| secret.strip_prefix("whsec_").unwrap()));
        for text in private {
            assert!(!log.contains(text), "{text}: {:?}", log.lines().find(|line| line.contains(text)));
        }
    }
}

/// Returns the path and query of an organization's URL.
pub(crate) fn path_of(organization: &str) -> String {
    format!("/hooks-of-{organization}?{QUERY}")
}

/// Gives every candidate of the document the name [`NAME`], and removes the HR integrations.
fn with_candidate_name(mut document: Value) -> Value {
    for organization in document["organizations"].as_array_mut().unwrap() {
        organization.as_object_mut().unwrap().remove("hrIntegration");
        for role in organization["roles"].as_array_mut().unwrap() {
            role["candidates"].as_array_mut().unwrap().iter_mut().for_each(|one| one["name"] = json!(NAME));
        }
    }
    document
}

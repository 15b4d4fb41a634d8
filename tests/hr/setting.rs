//! Organizations with candidates in a file, and what of it must never be in a log.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::company::{Application, Company};
use crate::service::run;

/// The name that every candidate has, and the query that every URL has.
const NAME: &str = "Wilhelmina Ostrander";
const QUERY: &str = "token=c3VwZXItc2VjcmV0";

/// A directory with a file that a company was imported into, without any HR integration.
pub(crate) struct Setting {
    pub(crate) db: PathBuf,
    pub(crate) company: Company,
    pub(crate) admin_key: String,
    _dir: tempfile::TempDir,
    organizations: Vec<String>,
}

impl Setting {
    /// With at least so many applications that can be hired.
    pub(crate) fn with(applications: usize) -> Self {
        let one_round = Company::for_rounds(1).organizations.iter().map(|one| one.wide.len()).sum::<usize>();
        let company = Company::for_rounds(applications.div_ceil(one_round));
        let dir = tempfile::tempdir().unwrap();
        let (db, path) = (dir.path().join("appliance.db"), dir.path().join("company.json"));
        let document = named(company.document());
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

    /// The ids of the organizations.
    pub(crate) fn organizations(&self) -> &[String] {
        &self.organizations
    }

    /// The next application to the first organization.
    pub(crate) fn take(&self) -> Application {
        self.company.organization_of(0).take_wide().unwrap()
    }

    /// Nothing that the log must not have is in it: no secret, nobody's name or address, nothing of a URL behind its
    /// host.
    #[track_caller]
    pub(crate) fn require_discreet(&self, log: &str, secrets: &[String]) {
        assert!(log.contains("HR delivery evt_"), "the log has attempts: {log}");
        let mut private =
            vec![NAME, "Ostrander", "people.example", "Confidential", "/hooks-of-", QUERY, "c3VwZXI", "whsec_"];
        private.extend(secrets.iter().map(|secret| secret.strip_prefix("whsec_").unwrap()));
        for text in private {
            assert!(!log.contains(text), "{text}: {:?}", log.lines().find(|line| line.contains(text)));
        }
    }
}

/// The path where an organization's messages come, and its query.
pub(crate) fn path_of(organization: &str) -> String {
    format!("/hooks-of-{organization}?{QUERY}")
}

/// The document with a name for each candidate that stands nowhere else.
fn named(mut document: Value) -> Value {
    for organization in document["organizations"].as_array_mut().unwrap() {
        organization.as_object_mut().unwrap().remove("hrIntegration");
        for role in organization["roles"].as_array_mut().unwrap() {
            role["candidates"].as_array_mut().unwrap().iter_mut().for_each(|one| one["name"] = json!(NAME));
        }
    }
    document
}

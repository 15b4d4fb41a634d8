//! A small valid document that tests modify, and files into which they import it.

use std::path::PathBuf;
use std::sync::LazyLock;

use appliance::domain::timestamp::{Rounding, Timestamp};
use appliance::interchange::{self, Counts, Document, Secrets};
use appliance::store::file::{Missing, Older, prepare};
use appliance::store::{Error, act_alone, read_alone};
use appliance::world::Scripted;
use serde_json::{Value, json};

/// The sample company of `serve --demo`.
pub(crate) const DEMO: &[u8] = include_bytes!("../../examples/demo.json");

pub(crate) const NOW: &str = "2026-11-21T09:12:33.123456Z";

/// Returns a world whose clock does not move and whose ids are unique across all tests.
pub(crate) fn world() -> &'static Scripted {
    static WORLD: LazyLock<Scripted> = LazyLock::new(|| Scripted::at(Timestamp::parse(NOW, Rounding::Down).unwrap()));
    &WORLD
}

/// Returns a valid document. Its organization has an open role with two steps and an application in each status.
pub(crate) fn sound() -> Value {
    let step = |id: &str, of: &str, status: &str| json!({ "id": id, "roleStepId": of, "status": status });
    json!({
        "users": [
            { "id": "user_1", "email": "ada@example.org", "name": "Ada" },
            { "id": "user_2", "email": "bob@example.org", "name": "Bob" },
        ],
        "organizations": [{
            "id": "org_1",
            "slug": "acme",
            "name": "Acme",
            "portal": { "enabled": true, "theme": { "primaryColor": "#0f766e", "showSalary": true } },
            "hrIntegration": { "url": "https://hr.example.com/hooks", "secret": "whsec_MDEyMw", "enabled": true },
            "members": [{ "userId": "user_1", "orgRole": "owner" }, { "userId": "user_2" }],
            "roles": [{
                "id": "role_1",
                "name": "Engineer",
                "status": "open",
                "positions": 2,
                "salaryMin": 10,
                "salaryMax": 20.5,
                "steps": [{ "id": "step_1", "name": "Call" }, { "id": "step_2", "name": "Offer", "stepType": "offer" }],
                "candidates": [
                    { "id": "cand_1", "applicationId": "app_1", "name": "Cleo", "email": "cleo@example.org" },
                    { "id": "cand_2", "applicationId": "app_2", "name": "Dan", "email": "dan@example.org",
                      "status": "Hired", "hiredDate": "2026-11-01", "externalPositionId": "P-1" },
                    { "id": "cand_3", "applicationId": "app_3", "name": "Eve", "email": "eve@example.org",
                      "status": "Not Selected",
                      "steps": [step("cs_1", "step_1", "rejected"), step("cs_2", "step_2", "pending")] },
                    { "id": "cand_4", "applicationId": "app_4", "name": "Fay", "email": "fay@example.org",
                      "status": "Withdrawn",
                      "steps": [step("cs_3", "step_1", "validated"), step("cs_4", "step_2", "in_progress")] },
                ],
            }],
        }],
    })
}

pub(crate) const ORGANIZATION: &str = "/organizations/0";
pub(crate) const ROLE: &str = "/organizations/0/roles/0";
pub(crate) const CANDIDATES: &str = "/organizations/0/roles/0/candidates";

/// Sets the value at a pointer. The pointer can lead to a new member of an object or, with `-`, to a new array item.
pub(crate) fn set(document: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.insert(name.to_owned(), value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        other => panic!("{parent} is {other}"),
    }
}

/// Returns the valid document with one value replaced.
pub(crate) fn with(pointer: &str, value: Value) -> Value {
    let mut document = sound();
    set(&mut document, pointer, value);
    document
}

/// Returns the valid document without the field at a pointer.
pub(crate) fn without(pointer: &str) -> Value {
    let mut document = sound();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    document
}

pub(crate) fn read(document: &Value) -> Document {
    let read = interchange::parse(document.to_string().as_bytes(), world());
    read.unwrap_or_else(|findings| panic!("{findings}"))
}

/// Returns the findings of a document, one per line.
pub(crate) fn findings(document: &Value) -> Vec<String> {
    match interchange::parse(document.to_string().as_bytes(), world()) {
        Ok(_) => Vec::new(),
        Err(findings) => findings.to_string().lines().map(str::to_owned).collect(),
    }
}

/// Asserts that a document has exactly one finding, at this pointer and with these words.
pub(crate) fn assert_refused(document: &Value, pointer: &str, words: &str) {
    let findings = findings(document);
    let [finding] = findings.as_slice() else { panic!("{pointer} {words}: {findings:#?}") };
    let (location, detail) = finding.split_once(": ").unwrap();
    assert_eq!(location, pointer, "{finding}");
    assert!(detail.contains(words), "{finding}");
}

/// A temporary database file.
pub(crate) struct File {
    dir: tempfile::TempDir,
}

impl File {
    pub(crate) fn new() -> Self {
        let file = Self { dir: tempfile::tempdir().unwrap() };
        prepare(&file.path(), Missing::Create, Older::Refuse).unwrap();
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("a.db")
    }

    pub(crate) fn import(&self, document: &Document) -> Result<Counts, Error> {
        act_alone(&self.path(), world(), |tx| interchange::import(tx, document))
    }

    pub(crate) fn export(&self, secrets: Secrets) -> String {
        let mut out = Vec::new();
        let exported = read_alone(&self.path(), world(), |tx| {
            Ok(interchange::export(tx, secrets, &mut out).map_err(|e| format!("{e:?}")))
        });
        exported.unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns the findings of `appliance check`.
    pub(crate) fn unsound(&self) -> Vec<String> {
        appliance::store::check::check(&self.path(), |_| ()).unwrap()
    }
}

//! Conflicts between a document and the file. The import of a document with a conflict changes nothing.

use appliance::domain::refusal::Refusal;
use appliance::interchange::{self, Secrets};
use appliance::store::{Error, act_alone, read_alone};
use serde_json::{Value, json};

use crate::support::{CANDIDATES, File, ROLE, read, set, sound, with, world};

/// Returns a document whose ids, slug and addresses all differ from those of the valid document.
fn other() -> Value {
    let text = sound().to_string();
    let text = ["user_", "org_", "role_", "step_", "cand_", "app_", "cs_"]
        .iter()
        .fold(text, |text, prefix| text.replace(&format!("\"{prefix}"), &format!("\"x{prefix}")));
    serde_json::from_str(&text.replace("acme", "other").replace("@example.org", "@example.net")).unwrap()
}

/// Imports a document into a file that contains the valid document, and returns the findings.
fn refusal(document: &Value) -> Vec<(String, String)> {
    let file = File::new();
    file.import(&read(&sound())).unwrap();
    let before = file.export(Secrets::Included);
    let refused = file.import(&read(document));
    assert_eq!(file.export(Secrets::Included), before, "nothing was imported");
    assert_eq!(file.unsound(), Vec::<String>::new());
    match refused {
        Ok(_) => Vec::new(),
        Err(Error::Refused(Refusal::Invalid(fields))) => {
            fields.into_iter().map(|field| (field.field, field.detail)).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn existing_ids_addresses_and_slugs_are_findings_at_their_objects() {
    for (pointer, value, location, words) in [
        ("/users/0/email", json!("ADA@EXAMPLE.ORG"), "/users/0", "a user with the email ADA@EXAMPLE.ORG"),
        ("/organizations/0/id", json!("org_1"), "/organizations/0", "the organization id org_1"),
        ("/organizations/0/slug", json!("ACME"), "/organizations/0", "an organization with the slug ACME"),
        (&format!("{ROLE}/id"), json!("role_1"), ROLE, "the role id role_1"),
        (&format!("{CANDIDATES}/0/id"), json!("cand_1"), &format!("{CANDIDATES}/0"), "the candidate id cand_1"),
        (
            &format!("{CANDIDATES}/1/applicationId"),
            json!("app_2"),
            &format!("{CANDIDATES}/1"),
            "the application id app_2",
        ),
        (
            &format!("{CANDIDATES}/2/steps/1/id"),
            json!("cs_2"),
            &format!("{CANDIDATES}/2"),
            "the application's step id cs_2",
        ),
    ] {
        let mut document = other();
        set(&mut document, pointer, value);
        assert_eq!(refusal(&document), [(location.to_owned(), format!("{words} already exists in the database"))]);
    }
    let mut document = other();
    set(&mut document, "/organizations/0/members", json!([]));
    set(&mut document, "/users/1/id", json!("user_1"));
    assert_eq!(refusal(&document)[0].0, "/users/1");
    let mut document = other();
    set(&mut document, &format!("{ROLE}/candidates"), json!([]));
    set(&mut document, &format!("{ROLE}/steps/1/id"), json!("step_2"));
    assert_eq!(refusal(&document)[0].0, format!("{ROLE}/steps/1"));
}

#[test]
fn importing_a_document_twice_is_refused() {
    let refusal = refusal(&sound());
    assert_eq!(refusal.len(), 20, "only the first twenty findings are listed");
    assert_eq!(refusal[0], ("/users/0".to_owned(), "the user id user_1 already exists in the database".to_owned()));
}

#[test]
fn a_second_document_is_added_to_the_first() {
    let file = File::new();
    file.import(&read(&sound())).unwrap();
    file.import(&read(&other())).unwrap();
    assert_eq!(file.unsound(), Vec::<String>::new());
    let exported: Value = serde_json::from_str(&file.export(Secrets::LeftOut)).unwrap();
    assert_eq!(exported["organizations"].as_array().unwrap().len(), 2);
}

#[test]
fn a_member_must_be_a_user_in_the_document_or_the_file() {
    let document = |user: &str| {
        let members = json!([{ "userId": "xuser_1" }, { "userId": user }]);
        let mut document = other();
        set(&mut document, "/organizations/0/members", members);
        document
    };
    let file = File::new();
    file.import(&read(&sound())).unwrap();
    file.import(&read(&document("user_2"))).unwrap();
    let refused = refusal(&document("user_9"));
    let expected = "the user user_9 exists neither in the document nor in the database".to_owned();
    assert_eq!(refused, [("/organizations/0/members/1/userId".to_owned(), expected)]);
    let findings = interchange::check_for_new_file(&read(&document("user_2"))).to_string();
    assert_eq!(
        findings,
        "/organizations/0/members/1/userId: the user user_2 is not in the document, and the database is new"
    );
    assert!(interchange::check_for_new_file(&read(&sound())).is_empty());
}

#[test]
fn a_check_finds_conflicts_without_the_write_lock() {
    let file = File::new();
    let check = || read_alone(&file.path(), world(), |tx| interchange::check(tx, &read(&sound()))).unwrap();
    assert!(check().is_empty());
    file.import(&read(&sound())).unwrap();
    assert!(check().count() > 20);
}

#[test]
fn an_insert_without_a_check_refuses_a_conflict() {
    let file = File::new();
    file.import(&read(&sound())).unwrap();
    let before = file.export(Secrets::Included);
    let mut document = other();
    set(&mut document, &format!("{CANDIDATES}/2/steps/1/id"), json!("cs_2"));
    let refused = act_alone(&file.path(), world(), |tx| interchange::insert(tx, &read(&document)));
    let Err(Error::Refused(Refusal::Invalid(fields))) = refused else { panic!("{refused:?}") };
    assert_eq!(fields[0].field, format!("{CANDIDATES}/2"));
    assert_eq!(file.export(Secrets::Included), before);
}

#[test]
fn the_first_membership_in_the_document_is_the_oldest() {
    let mut document = sound();
    let second = json!({ "id": "org_0", "slug": "other", "name": "Other", "members": [{ "userId": "user_1" }] });
    set(&mut document, "/organizations/-", second);
    let file = File::new();
    file.import(&read(&document)).unwrap();
    // The memberships in a later document are newer, even if the clock does not move.
    let third = json!({ "organizations": [
        { "id": "org_", "slug": "third", "name": "Third", "members": [{ "userId": "user_1" }, { "userId": "user_2" }] },
    ] });
    file.import(&read(&third)).unwrap();
    let sql = "SELECT organization_id FROM memberships WHERE user_id = 'user_1' ORDER BY created_at, organization_id";
    let connection = rusqlite::Connection::open(file.path()).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows, ["org_1", "org_0", "org_"]);
}

#[test]
fn times_in_a_document_are_imported_unchanged() {
    let mut document = with(&format!("{CANDIDATES}/0/appliedAt"), json!("2020-01-02T03:04:05.678901+01:00"));
    set(&mut document, &format!("{CANDIDATES}/1/offerAcceptedDate"), json!("2026-10-31"));
    let file = File::new();
    file.import(&read(&document)).unwrap();
    let exported = file.export(Secrets::LeftOut);
    assert!(exported.contains("\"appliedAt\": \"2020-01-02T02:04:05.678901Z\""));
    assert!(exported.contains("\"offerAcceptedDate\": \"2026-10-31T00:00:00.000000Z\""));
}

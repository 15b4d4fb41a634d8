//! The limits of interchange documents, each tested with a value at the limit and a value beyond it.

use appliance::interchange;
use serde_json::{Value, json};

use crate::support::{CANDIDATES, ORGANIZATION, ROLE, findings, set, with, world};

fn is_accepted(pointer: &str, value: Value) -> bool {
    let mut document = with(pointer, value);
    // Remove the memberships, because they would refer to the old id of a user whose id was replaced.
    set(&mut document, &format!("{ORGANIZATION}/members"), json!([]));
    findings(&document).is_empty()
}

#[test]
fn text_at_the_limit_is_accepted_and_one_more_character_is_refused() {
    for (pointer, characters_max) in [
        ("/users/0/name", 255),
        (&format!("{ORGANIZATION}/name"), 255),
        (&format!("{ORGANIZATION}/domain"), 255),
        (&format!("{ORGANIZATION}/logo"), 2_048),
        (&format!("{ROLE}/name"), 255),
        (&format!("{ROLE}/department"), 255),
        (&format!("{ROLE}/location"), 255),
        (&format!("{ROLE}/steps/0/name"), 255),
        (&format!("{CANDIDATES}/0/name"), 255),
        (&format!("{CANDIDATES}/1/externalPositionId"), 255),
        (&format!("{CANDIDATES}/1/hireNotes"), 10_000),
        (&format!("{CANDIDATES}/2/steps/0/name"), 255),
        (&format!("{CANDIDATES}/2/steps/0/rejectionReason"), 10_000),
        (&format!("{CANDIDATES}/2/steps/0/outcomeType"), 255),
        (&format!("{CANDIDATES}/2/steps/0/outcomeReason"), 255),
    ] {
        assert!(is_accepted(pointer, json!("ä".repeat(characters_max))), "{pointer}");
        assert!(!is_accepted(pointer, json!("ä".repeat(characters_max + 1))), "{pointer}");
    }
}

#[test]
fn ids_slugs_addresses_and_urls_have_limits() {
    for (pointer, before, characters_max) in [
        ("/users/0/id", "", 64),
        (&format!("{ORGANIZATION}/id"), "", 64),
        (&format!("{ORGANIZATION}/slug"), "", 64),
        (&format!("{ORGANIZATION}/hrIntegration/url"), "https://hr.example.com/", 2_048),
        (&format!("{ROLE}/id"), "", 64),
        (&format!("{CANDIDATES}/0/id"), "", 64),
        (&format!("{CANDIDATES}/0/applicationId"), "", 64),
        (&format!("{CANDIDATES}/2/steps/0/id"), "", 64),
        (&format!("{CANDIDATES}/0/email"), "a@", 254),
        ("/users/0/email", "a@", 254),
    ] {
        let text = |characters: usize| json!(format!("{before}{}", "x".repeat(characters - before.len())));
        assert!(is_accepted(pointer, text(characters_max)), "{pointer}");
        assert!(!is_accepted(pointer, text(characters_max + 1)), "{pointer}");
    }
}

#[test]
fn a_secret_has_at_most_255_characters() {
    let secret = |characters: usize| json!(format!("whsec_{}", "x".repeat(characters - 6)));
    let is_accepted = |secret: Value| is_accepted(&format!("{ORGANIZATION}/hrIntegration/secret"), secret);
    // No valid base64 string gives a secret of exactly 255 characters.
    assert!(is_accepted(secret(254)) && !is_accepted(secret(256)));
}

#[test]
fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    for (name, good, bad) in [
        ("positions", json!(1_000_000), json!(1_000_001)),
        ("salaryMin", json!(0), json!(-1)),
        ("salaryMin", json!(-0.0), json!(-1e-9)),
        ("salaryMax", json!(1_000_000_000_000_i64), json!(1_000_000_000_001_i64)),
        ("salaryMax", json!(1e12), json!(1e13)),
        ("createdAt", json!("0000-01-01"), json!("-0001-01-01")),
        ("createdAt", json!("9999-12-31"), json!("9999-12-31T23:59:59-01:00")),
    ] {
        let pointer = format!("{ROLE}/{name}");
        assert!(is_accepted(&pointer, good), "{name}");
        assert!(!is_accepted(&pointer, bad), "{name}");
    }
}

#[test]
fn invalid_json_is_refused_with_line_and_column() {
    for text in ["", "{", "{}{}", "[1,]", "{\"users\":[{]}", "{\"users\": [1e999]}"] {
        let findings = interchange::parse(text.as_bytes(), world()).unwrap_err().to_string();
        assert!(findings.starts_with("the document: ") && findings.contains("line 1 column"), "{text}: {findings}");
    }
    let findings = interchange::parse(b"{\"users\":\"\xff\"}", world()).unwrap_err().to_string();
    assert_eq!(findings, "the document: byte 10 is not valid UTF-8");
    for text in ["[]", "null", "7", "\"x\""] {
        let findings = interchange::parse(text.as_bytes(), world()).unwrap_err().to_string();
        assert_eq!(findings, "the document: must be an object", "{text}");
    }
}

#[test]
fn duplicate_fields_are_refused_at_any_depth() {
    let twice = br#"{"users":[{"name":"a","name":"b","email":"a@b"}],"organizations":[],"users":[]}"#;
    let findings = interchange::parse(twice, world()).unwrap_err().to_string();
    assert_eq!(findings, "/users/0/name: appears twice in its object\n/users: appears twice in its object");
    let deep =
        br#"{"organizations":[{"slug":"a","name":"a","roles":[{"name":"r","description":{"a":{"b":1,"b":1}}}]}]}"#;
    let findings = interchange::parse(deep, world()).unwrap_err().to_string();
    assert!(findings.contains("the member \"b\" appears twice at line 1 column"), "{findings}");
}

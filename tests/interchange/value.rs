//! A wrong value in a document causes a finding at its field.

use serde_json::{Value, json};

use crate::support::{CANDIDATES, ORGANIZATION, ROLE, assert_refused, findings, sound, with, without};

#[test]
fn the_valid_document_has_no_findings() {
    assert_eq!(findings(&sound()), Vec::<String>::new());
    assert_eq!(findings(&json!({})), Vec::<String>::new());
    assert_eq!(findings(&json!({ "users": null, "organizations": [] })), Vec::<String>::new());
}

#[test]
fn a_missing_or_null_required_field_is_a_finding() {
    for pointer in [
        "/users/0/email",
        "/users/0/name",
        &format!("{ORGANIZATION}/slug"),
        &format!("{ORGANIZATION}/name"),
        &format!("{ORGANIZATION}/hrIntegration/url"),
        &format!("{ORGANIZATION}/members/0/userId"),
        &format!("{ROLE}/name"),
        &format!("{ROLE}/steps/0/name"),
        &format!("{CANDIDATES}/0/name"),
        &format!("{CANDIDATES}/0/email"),
        &format!("{CANDIDATES}/2/steps/0/roleStepId"),
        &format!("{CANDIDATES}/2/steps"),
        &format!("{CANDIDATES}/3/steps"),
    ] {
        assert_refused(&without(pointer), pointer, "is missing");
        assert_refused(&with(pointer, Value::Null), pointer, "is missing");
    }
}

#[test]
fn an_optional_field_can_be_null() {
    for pointer in [
        "/users/0/id",
        "/users/0/platformRole",
        &format!("{ORGANIZATION}/logo"),
        &format!("{ORGANIZATION}/portal"),
        &format!("{ORGANIZATION}/portal/theme"),
        &format!("{ORGANIZATION}/hrIntegration"),
        &format!("{ROLE}/description"),
        &format!("{ROLE}/workType"),
        &format!("{ROLE}/createdAt"),
        &format!("{ROLE}/closesOn"),
        &format!("{CANDIDATES}/0/applicationId"),
        &format!("{CANDIDATES}/0/status"),
        &format!("{CANDIDATES}/0/hiredDate"),
        &format!("{CANDIDATES}/0/steps"),
        &format!("{CANDIDATES}/2/steps/1/status"),
    ] {
        assert_eq!(findings(&with(pointer, Value::Null)), Vec::<String>::new(), "{pointer}");
    }
}

#[test]
fn wrong_values_of_users_and_organizations_are_findings_at_their_fields() {
    let long = "x".repeat(256);
    for (pointer, value, words) in [
        ("/users", json!({}), "an array of objects"),
        ("/users", json!("x"), "an array of objects"),
        ("/users/0", json!(7), "an object"),
        ("/users/0", json!([]), "an object"),
        ("/users/0", Value::Null, "an object"),
        ("/users/0/id", json!("a b"), "an id of 1 to 64 characters"),
        ("/users/0/id", json!(1), "an id of 1 to 64 characters"),
        ("/users/0/email", json!("ada"), "an email address"),
        ("/users/0/email", json!(true), "an email address"),
        ("/users/0/name", json!("  "), "not blank"),
        ("/users/0/platformRole", json!("owner"), "one of user, admin"),
        ("/users/0/enabled", json!("no"), "true or false"),
        ("/organizations", json!(1.5), "an array of objects"),
        ("/organizations/0/slug", json!("Ac me"), "characters from a-z, 0-9 and -"),
        ("/organizations/0/name", json!(long), "1 to 255 characters"),
        ("/organizations/0/domain", json!(long), "at most 255 characters"),
        ("/organizations/0/logo", json!(["x"]), "a string"),
        ("/organizations/0/portal", json!(true), "an object"),
        ("/organizations/0/portal/enabled", json!("yes"), "true or false"),
        ("/organizations/0/portal/theme", json!([]), "an object"),
        ("/organizations/0/portal/theme/showSalary", json!(1), "true or false"),
        ("/organizations/0/portal/theme/primaryColor", json!("teal"), "a colour such as"),
        ("/organizations/0/requireExternalPositionId", json!(0), "true or false"),
        ("/organizations/0/enabled", json!(1), "true or false"),
        ("/organizations/0/timeZone", json!("Berlin"), "a time zone that this system knows"),
        ("/organizations/0/timeZone", json!(1), "a time zone that this system knows"),
        ("/organizations/0/payTransparency", json!("yes"), "true or false"),
        ("/organizations/0/requireSecondFactor", json!("yes"), "true or false"),
        ("/organizations/0/retentionDays", json!(0), "an integer from 1 to 3650"),
        ("/organizations/0/retentionDays", json!(3_651), "an integer from 1 to 3650"),
        ("/organizations/0/retentionDays", json!(30.0), "an integer from 1 to 3650"),
        ("/organizations/0/privacyNotice", json!(7), "a string"),
        ("/organizations/0/privacyNotice", json!("x".repeat(20_001)), "at most 20000 characters"),
        ("/organizations/0/decisionVisibleAfterHours", json!(-1), "an integer from 0 to 8760"),
        ("/organizations/0/decisionVisibleAfterHours", json!(8_761), "an integer from 0 to 8760"),
        ("/organizations/0/decisionVisibleAfterHours", json!("72"), "an integer from 0 to 8760"),
        ("/organizations/0/hrIntegration/url", json!("https://me@hr.example.com"), "no user name"),
        ("/organizations/0/hrIntegration/url", json!("ftp://hr.example.com"), "http or https"),
        ("/organizations/0/hrIntegration/secret", json!(""), "whsec_ followed by a secret in base64"),
        ("/organizations/0/hrIntegration/secret", json!("c2VjcmV0"), "whsec_ followed by a secret in base64"),
        ("/organizations/0/hrIntegration/secret", json!("whsec_"), "whsec_ followed by a secret in base64"),
        ("/organizations/0/hrIntegration/secret", json!("whsec_no-base-64"), "whsec_ followed by a secret in base64"),
        ("/organizations/0/hrIntegration/secret", json!(7), "whsec_ followed by a secret in base64"),
        ("/organizations/0/hrIntegration/enabled", json!("true"), "true or false"),
        ("/organizations/0/members", json!(["user_1"]), ""),
        ("/organizations/0/members/0/userId", json!(""), "an id of"),
        ("/organizations/0/members/0/orgRole", json!("boss"), "one of owner, admin, moderator"),
        ("/organizations/0/roles", json!(false), "an array of objects"),
    ] {
        let location = if words.is_empty() { format!("{pointer}/0") } else { pointer.to_owned() };
        assert_refused(&with(pointer, value), &location, words);
    }
}

#[test]
fn wrong_values_of_roles_are_findings_at_their_fields() {
    for (name, value, words) in [
        ("id", json!(""), "an id of"),
        ("description", json!("text"), "an object"),
        ("department", json!(1), "a string"),
        ("location", json!("x".repeat(256)), "at most 255 characters"),
        ("workType", json!("office"), "one of remote, hybrid, onsite"),
        ("collarType", json!("Blue"), "one of white, gray, blue"),
        ("salaryMin", json!(-0.01), "a number from 0"),
        ("salaryMin", json!("10"), "a number from 0"),
        ("salaryMax", json!(1e12 + 1.0), "a number from 0 to 1000000000000"),
        ("salaryCurrency", json!("eur"), "three capital letters"),
        ("salaryCurrency", json!("EURO"), "three capital letters"),
        ("salaryPeriod", json!("fortnight"), "one of hour, day, week, month, year"),
        ("status", json!("Open"), "one of draft, open, filled, closed"),
        ("public", json!("true"), "true or false"),
        ("positions", json!(90.0), "an integer from 1"),
        ("positions", json!("90"), "an integer from 1"),
        ("positions", json!(0), "an integer from 1"),
        ("positions", json!(-1), "an integer from 1"),
        ("positions", json!(u64::MAX), "an integer from 1"),
        ("closesOn", json!("2026-02-30"), "a calendar day"),
        ("closesOn", json!("2026-12-31T00:00:00Z"), "a calendar day"),
        ("closesOn", json!(20_261_231), "a calendar day"),
        ("createdAt", json!("yesterday"), "RFC 3339"),
        ("createdAt", json!("2026-11-21T09:00:00"), "RFC 3339"),
        ("createdAt", json!(1_700_000_000), "RFC 3339"),
        ("steps/0/stepType", json!("coffee"), "one of application, screening"),
        ("steps", json!("x"), "an array of objects"),
        ("candidates", json!({ "a": [1, { "b": 2 }] }), "an array of objects"),
    ] {
        assert_refused(&with(&format!("{ROLE}/{name}"), value), &format!("{ROLE}/{name}"), words);
    }
}

#[test]
fn wrong_values_of_candidates_are_findings_at_their_fields() {
    for (name, value, words) in [
        ("0/id", json!("a/b"), "an id of"),
        ("0/applicationId", json!(5), "an id of"),
        ("0/email", json!("a b@c"), "an email address"),
        ("0/appliedAt", json!("2026-02-30"), "RFC 3339"),
        ("0/status", json!("in progress"), "one of In Progress, Not Selected, Hired, Withdrawn"),
        ("1/hiredDate", json!("soon"), "RFC 3339"),
        ("1/offerAcceptedDate", json!(0), "RFC 3339"),
        ("1/externalPositionId", json!("x".repeat(256)), "at most 255 characters"),
        ("1/hireNotes", json!([]), "a string"),
        ("0/laterDueOn", json!("2026-02-30"), "a calendar day"),
        ("0/laterDueOn", json!("2026-12-01T00:00:00Z"), "a calendar day"),
        ("2/steps/0/id", json!("ä"), "an id of"),
        ("2/steps/0/roleStepId", json!("step_9"), "not the id of one of the role's steps"),
        ("2/steps/0/name", json!(""), "not blank"),
        ("2/steps/0/stepType", json!("x"), "one of application"),
        ("2/steps/0/status", json!("done"), "one of pending, in_progress, validated, rejected, skipped"),
        ("2/steps/0/rejectedAt", json!("x"), "RFC 3339"),
        ("2/steps/0/outcomeType", json!("x".repeat(256)), "at most 255 characters"),
        ("3/steps/0/validatedAt", json!("x"), "RFC 3339"),
    ] {
        let pointer = format!("{CANDIDATES}/{name}");
        assert_refused(&with(&pointer, value), &pointer, words);
    }
}

#[test]
fn unknown_fields_are_findings_outside_descriptions_and_themes() {
    for location in [
        "",
        "/users/0",
        ORGANIZATION,
        "/organizations/0/portal",
        "/organizations/0/hrIntegration",
        "/organizations/0/members/0",
        ROLE,
        &format!("{ROLE}/steps/0"),
        &format!("{CANDIDATES}/0"),
        &format!("{CANDIDATES}/2/steps/0"),
    ] {
        assert_refused(
            &with(&format!("{location}/nmae"), json!([{}])),
            &format!("{location}/nmae"),
            "unknown member; the known members are",
        );
    }
    assert_refused(&with("/users/0/a~1b", json!(1)), "/users/0/a~01b", "unknown member");
}

#[test]
fn descriptions_and_themes_can_have_unknown_fields() {
    assert!(findings(&with(&format!("{ROLE}/description"), json!({ "anything": [1, { "x": null }] }))).is_empty());
    assert!(findings(&with(&format!("{ORGANIZATION}/portal/theme/font"), json!({ "x": 1 }))).is_empty());
}

#[test]
fn all_findings_are_reported_together() {
    let mut document = with("/users/0/email", json!("ada"));
    for (pointer, value) in [
        ("/users/1/platformRole", json!("root")),
        ("/organizations/0/slug", json!("")),
        ("/organizations/0/roles/0/positions", json!("2")),
        ("/organizations/0/roles/0/candidates/3/steps/0/status", json!("x")),
    ] {
        crate::support::set(&mut document, pointer, value);
    }
    let locations: Vec<String> =
        findings(&document).iter().map(|line| line.split(": ").next().unwrap().into()).collect();
    let expected = [
        "/users/0/email",
        "/users/1/platformRole",
        "/organizations/0/roles/0/candidates/3/steps/0/status",
        "/organizations/0/roles/0/positions",
        "/organizations/0/slug",
    ];
    for location in expected {
        assert!(locations.iter().any(|found| found == location), "{location} in {locations:?}");
    }
    assert_eq!(locations.len(), expected.len(), "{locations:?}");
}

#[test]
fn findings_after_the_twentieth_are_only_counted() {
    let users: Vec<Value> = (0..23).map(|_| json!({ "name": "x" })).collect();
    let findings = findings(&json!({ "users": users }));
    assert_eq!(findings.len(), 21);
    assert_eq!(findings[20], "and 3 more");
}

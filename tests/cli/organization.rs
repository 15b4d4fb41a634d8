//! `organization list`, `create`, `disable`, `enable`: alone, and beside a service that runs.

use serde_json::{Value, json};

use crate::support::{Ended, Place, eventually};

fn run(place: &Place, what: &str, args: &[&str]) -> Ended {
    place.run(&[&["organization", what, "--db", "a.db"], args].concat())
}

fn create(place: &Place, slug: &str, more: &[&str]) -> Ended {
    run(place, "create", &[&["--slug", slug, "--name", "Other"], more].concat())
}

#[test]
fn organizations_are_listed_the_oldest_first() {
    let place = Place::new();
    place.imported("a.db");
    let id = create(&place, "Other-1", &[]).succeeded().stdout;
    let ended = run(&place, "list", &[]).succeeded();
    let lines: Vec<Vec<&str>> = ended.stdout.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines.iter().all(|parts| parts.len() == 5 && parts[4].ends_with('Z')), "{lines:?}");
    assert_eq!(lines[0][..4], ["org_acme", "acme", "Acme", "enabled"]);
    assert_eq!(lines[1][..4], [id.trim_end(), "Other-1", "Other", "enabled"]);
}

#[test]
fn as_json_they_are_what_the_service_lists() {
    let place = Place::new();
    place.imported("a.db");
    create(&place, "other", &["--time-zone", "utc"]).succeeded();
    let key = place.admin_key("a.db");
    let ended = run(&place, "list", &["--json"]).succeeded();
    let mut listed: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    listed.reverse();
    let serving = place.serve(&["--db", "a.db"]);
    assert_eq!(serving.get("/api/admin/organizations", &key).expect(200).json()["data"], json!(listed));
    assert_eq!(listed[0]["timeZone"], "UTC");
}

#[test]
fn a_new_organization_is_sound_and_on_record() {
    let place = Place::new();
    place.imported("a.db");
    create(&place, "other", &[]).succeeded();
    place.run(&["check", "--db", "a.db"]).succeeded();
    let of = "SELECT count(*) FROM activities WHERE action = 'organization.created' AND user_id IS NULL";
    assert_eq!(place.number("a.db", of), 1);
    let sentence = "an organization with this slug is there already; choose another slug";
    create(&place, "OTHER", &[]).failed(1, sentence);
    create(&place, "third", &["--time-zone", "Mars/Olympus"]).failed(1, "no time zone \"Mars/Olympus\"");
    create(&place, "a b", &[]).misused("a-z 0-9 -");
    assert_eq!(place.number("a.db", "SELECT count(*) FROM organizations"), 2);
}

#[test]
fn one_that_is_switched_off_is_gone_for_a_service_that_runs() {
    let place = Place::new();
    place.imported("a.db");
    let made = place.run(&["key", "create", "--db", "a.db", "--user", "owner@acme.example", "--name", "k"]).succeeded();
    let key = made.stdout.trim_end();
    let serving = place.serve(&["--db", "a.db"]);
    let portal = || serving.send("GET", "/api/public/portal/acme", &[], "").status;
    let reject = |candidate: usize| {
        let path = format!("/api/v1/candidate-steps/cstep_{candidate}_1/reject");
        serving.send("POST", &path, &[("Authorization", &format!("Bearer {key}"))], "").status
    };
    assert_eq!(portal(), 200);
    let ended = run(&place, "disable", &["ACME"]).succeeded();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", "ACME is disabled\n"));
    assert_eq!(reject(1), 404);
    eventually(|| portal() == 404);
    run(&place, "disable", &["acme"]).succeeded();
    assert_eq!(run(&place, "enable", &["acme"]).succeeded().stderr, "acme is enabled\n");
    assert_eq!(reject(1), 200);
    eventually(|| portal() == 200);
    let of = "SELECT count(*) FROM activities WHERE action = 'organization.changed' AND user_id IS NULL";
    assert_eq!(place.number("a.db", of), 2);
    drop(serving);
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn what_is_not_there_or_none_is_refused() {
    let place = Place::new();
    place.imported("a.db");
    for what in ["disable", "enable"] {
        run(&place, what, &["nothing"]).failed(1, "there is no organization with the slug nothing");
        run(&place, what, &["no slug"]).misused("a-z 0-9 -");
        run(&place, what, &[]).misused("<SLUG>");
    }
    place.run(&["organization", "list"]).failed(1, "appliance.db");
}

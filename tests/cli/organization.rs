//! `organization list`, `create`, `disable` and `enable`, with and without a running service.

use serde_json::{Value, json};

use crate::support::{Output, WorkDir, eventually};

fn run(dir: &WorkDir, subcommand: &str, args: &[&str]) -> Output {
    dir.run(&[&["organization", subcommand, "--db", "a.db"], args].concat())
}

fn create(dir: &WorkDir, slug: &str, more: &[&str]) -> Output {
    run(dir, "create", &[&["--slug", slug, "--name", "Other"], more].concat())
}

#[test]
fn organizations_are_listed_oldest_first() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let id = create(&dir, "Other-1", &[]).succeeded().stdout;
    let output = run(&dir, "list", &[]).succeeded();
    let lines: Vec<Vec<&str>> = output.stdout.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines.iter().all(|parts| parts.len() == 5 && parts[4].ends_with('Z')), "{lines:?}");
    assert_eq!(lines[0][..4], ["org_acme", "acme", "Acme", "enabled"]);
    assert_eq!(lines[1][..4], [id.trim_end(), "Other-1", "Other", "enabled"]);
}

#[test]
fn the_json_list_is_the_reversed_list_of_the_service() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    create(&dir, "other", &["--time-zone", "utc"]).succeeded();
    let key = dir.admin_key("a.db");
    let output = run(&dir, "list", &["--json"]).succeeded();
    let mut listed: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    listed.reverse();
    let service = dir.serve(&["--db", "a.db"]);
    assert_eq!(service.get("/api/admin/organizations", &key).expect(200).json()["data"], json!(listed));
    assert_eq!(listed[0]["timeZone"], "UTC");
}

#[test]
fn a_new_organization_passes_the_check_and_is_recorded() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    create(&dir, "other", &[]).succeeded();
    dir.run(&["check", "--db", "a.db"]).succeeded();
    let recorded = "SELECT count(*) FROM activities WHERE action = 'organization.created' AND user_id IS NULL";
    assert_eq!(dir.number("a.db", recorded), 1);
    let sentence = "this slug is already taken by another organization; choose a different slug";
    create(&dir, "OTHER", &[]).failed(1, sentence);
    create(&dir, "third", &["--time-zone", "Mars/Olympus"]).failed(1, "no time zone \"Mars/Olympus\"");
    create(&dir, "a b", &[]).misused("a-z, 0-9 and -");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM organizations"), 2);
}

#[test]
fn a_running_service_hides_a_disabled_organization() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let made = dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "k"]).succeeded();
    let key = made.stdout.trim_end();
    let service = dir.serve(&["--db", "a.db"]);
    let portal = || service.send("GET", "/api/public/portal/acme", &[], "").status;
    let reject = |candidate: usize| {
        let path = format!("/api/v1/candidate-steps/cstep_{candidate}_1/reject");
        service.send("POST", &path, &[("Authorization", &format!("Bearer {key}"))], "").status
    };
    assert_eq!(portal(), 200);
    let output = run(&dir, "disable", &["ACME"]).succeeded();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", "ACME is disabled\n"));
    assert_eq!(reject(1), 404);
    eventually(|| portal() == 404);
    run(&dir, "disable", &["acme"]).succeeded();
    assert_eq!(run(&dir, "enable", &["acme"]).succeeded().stderr, "acme is enabled\n");
    assert_eq!(reject(1), 200);
    eventually(|| portal() == 200);
    let recorded = "SELECT count(*) FROM activities WHERE action = 'organization.changed' AND user_id IS NULL";
    assert_eq!(dir.number("a.db", recorded), 2);
    drop(service);
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn unknown_organizations_and_malformed_slugs_are_refused() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    for subcommand in ["disable", "enable"] {
        run(&dir, subcommand, &["nothing"]).failed(1, "there is no organization with the slug nothing");
        run(&dir, subcommand, &["no slug"]).misused("a-z, 0-9 and -");
        run(&dir, subcommand, &[]).misused("<SLUG>");
    }
    dir.run(&["organization", "list"]).failed(1, "appliance.db");
}

//! `key list`, `create` and `revoke`, with and without a running service.

use serde_json::{Value, json};

use crate::support::{Output, WorkDir, is_key};

fn run(dir: &WorkDir, subcommand: &str, args: &[&str]) -> Output {
    dir.run(&[&["key", subcommand, "--db", "a.db"], args].concat())
}

fn create(dir: &WorkDir, more: &[&str]) -> Output {
    run(dir, "create", &[&["--email", "owner@acme.example", "--name", "Ours"], more].concat())
}

/// Returns the fields of each line that `key list` prints.
fn list(dir: &WorkDir) -> Vec<Vec<String>> {
    let output = run(dir, "list", &[]).succeeded();
    assert!(
        !output.stdout.contains("\trpk_")
            || output.stdout.lines().all(|line| line.split('\t').nth(1).unwrap().len() == 8)
    );
    output.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn key_create_prints_a_working_key_and_nothing_else_on_standard_output() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let made = create(&dir, &[]).succeeded();
    let key = made.stdout.strip_suffix('\n').unwrap();
    assert!(is_key(key) && !made.stderr.contains("rpk_"), "{made:?}");
    for word in ["Owner@Acme.example", "90 days", "candidates:read, roles:read, pipeline:write", "not shown again"] {
        assert!(made.stderr.contains(word), "{word}: {made:?}");
    }
    let me = service.get("/api/v1/me", key).expect(200).json();
    assert_eq!(me["user"]["id"], "user_owner");
    assert_eq!(me["auth"]["scopes"], json!(["candidates:read", "roles:read", "pipeline:write"]));
}

#[test]
fn a_new_key_has_the_given_scopes_and_lifetime() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    for (flags, scopes) in [
        (&["--scope", "roles:read"][..], &["roles:read"][..]),
        (&["--scope", "roles:write,candidates:write"], &["candidates:write", "roles:write"]),
        (
            &["--scope", "roles:read", "--scope", "pipeline:write", "--scope", "roles:read"],
            &["roles:read", "pipeline:write"],
        ),
    ] {
        let key = create(&dir, flags).succeeded().stdout;
        let me = service.get("/api/v1/me", key.trim_end()).expect(200).json();
        assert_eq!(me["auth"]["scopes"], json!(scopes), "{flags:?}");
    }
    create(&dir, &["--scope", "all"]).misused("[possible values: candidates:read, candidates:write");
    for (days, fits) in [("0", false), ("1", true), ("365", true), ("366", false), ("x", false)] {
        let output = create(&dir, &["--expires-in-days", days]);
        assert_eq!(output.code, Some(if fits { 0 } else { 2 }), "{output:?}");
    }
    let lived = "SELECT max(expires_at - created_at) / 86400000000 FROM api_keys";
    assert_eq!(dir.number("a.db", lived), 365);
}

#[test]
fn a_running_service_refuses_a_revoked_key_at_once() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = create(&dir, &[]).succeeded().stdout;
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/v1/me", key.trim_end()).expect(200);
    let id = list(&dir)[0][0].clone();
    let output = run(&dir, "revoke", &[&id]).succeeded();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", format!("{id} is revoked\n").as_str()));
    service.get("/api/v1/me", key.trim_end()).expect(401);
    run(&dir, "revoke", &[&id]).succeeded();
    let line = list(&dir)[0].clone();
    assert_eq!((line[0].as_str(), line[4].as_str(), line[8].as_str()), (id.as_str(), "revoked", "1"));
}

#[test]
fn keys_are_listed_newest_first_with_their_usage() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    create(&dir, &["--expires-in-days", "1"]).succeeded();
    let admin = dir.admin_key("a.db");
    let lines = list(&dir);
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|parts| parts.len() == 9), "{lines:?}");
    assert_eq!(
        lines[0][1..6],
        [
            &admin[..8],
            "admin",
            "root@example.org",
            "enabled",
            "candidates:read,candidates:write,roles:read,roles:write,pipeline:write,admin:read,admin:write"
        ]
    );
    assert_eq!(lines[1][2..5], ["Ours", "Owner@Acme.example", "enabled"]);
    assert_eq!(lines[1][7..], ["-", "0"]);
    dir.change("a.db", "UPDATE api_keys SET expires_at = created_at + 1");
    assert_eq!(list(&dir)[0][4], "expired");
}

#[test]
fn the_json_list_equals_the_list_of_the_service() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    create(&dir, &[]).succeeded();
    let admin = dir.admin_key("a.db");
    let listed: Value = serde_json::from_str(&run(&dir, "list", &["--json"]).succeeded().stdout).unwrap();
    let service = dir.serve(&["--db", "a.db"]);
    assert_eq!(service.get("/api/admin/api-keys", &admin).expect(200).json()["data"], listed);
    assert!(!listed.to_string().contains(&admin));
}

#[test]
fn key_create_creates_nothing_if_it_cannot_print_the_key() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let args = ["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "k"];
    dir.run_with_full_stdout(&args).failed(1, "cannot write to standard output");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM api_keys"), 0);
}

#[test]
fn a_key_of_a_disabled_user_works_when_the_user_is_enabled() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.run(&["user", "disable", "--db", "a.db", "owner@acme.example"]).succeeded();
    let made = create(&dir, &[]).succeeded();
    assert!(made.stderr.contains("is disabled. The key will work when this user is enabled"), "{made:?}");
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/v1/me", made.stdout.trim_end()).expect(401);
    dir.run(&["user", "enable", "--db", "a.db", "owner@acme.example"]).succeeded();
    service.get("/api/v1/me", made.stdout.trim_end()).expect(200);
}

#[test]
fn unknown_keys_and_users_and_malformed_ids_are_refused() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    run(&dir, "revoke", &["key_none"]).failed(1, "there is no key with the id key_none");
    run(&dir, "revoke", &["no key"]).misused("an id looks like");
    run(&dir, "revoke", &[]).misused("<ID>");
    let args = ["--email", "nobody@example.org", "--name", "k"];
    run(&dir, "create", &args).failed(1, "there is no user with the address nobody@example.org");
    create(&dir, &["--name", " "]).misused("--name");
    run(&dir, "create", &["--email", "owner@acme.example"]).misused("--name");
    run(&dir, "create", &["--email", "owner@acme.example", "--name", " "]).misused("1 to 255 characters");
    dir.run(&["key", "list"]).failed(1, "appliance.db");
}

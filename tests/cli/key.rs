//! `key list`, `create`, `revoke`: alone, and beside a service that runs.

use serde_json::{Value, json};

use crate::support::{Ended, Place, is_key};

fn run(place: &Place, what: &str, args: &[&str]) -> Ended {
    place.run(&[&["key", what, "--db", "a.db"], args].concat())
}

fn create(place: &Place, more: &[&str]) -> Ended {
    run(place, "create", &[&["--user", "owner@acme.example", "--name", "Ours"], more].concat())
}

/// What `key list` prints: the parts of each line.
fn list(place: &Place) -> Vec<Vec<String>> {
    let ended = run(place, "list", &[]).succeeded();
    assert!(
        !ended.stdout.contains("\trpk_")
            || ended.stdout.lines().all(|line| line.split('\t').nth(1).unwrap().len() == 8)
    );
    ended.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn the_key_stands_alone_on_its_line_and_works() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let made = create(&place, &[]).succeeded();
    let key = made.stdout.strip_suffix('\n').unwrap();
    assert!(is_key(key) && !made.stderr.contains("rpk_"), "{made:?}");
    for word in ["Owner@Acme.example", "90 days", "candidates:read, roles:read, pipeline:write", "not shown again"] {
        assert!(made.stderr.contains(word), "{word}: {made:?}");
    }
    let me = serving.get("/api/v1/me", key).expect(200).json();
    assert_eq!(me["user"]["id"], "user_owner");
    assert_eq!(me["auth"]["scopes"], json!(["candidates:read", "roles:read", "pipeline:write"]));
}

#[test]
fn scopes_and_days_are_as_told() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    for (flags, scopes) in [
        (&["--scope", "roles:read"][..], &["roles:read"][..]),
        (&["--scope", "roles:write,candidates:write"], &["candidates:write", "roles:write"]),
        (
            &["--scope", "roles:read", "--scope", "pipeline:write", "--scope", "roles:read"],
            &["roles:read", "pipeline:write"],
        ),
    ] {
        let key = create(&place, flags).succeeded().stdout;
        let me = serving.get("/api/v1/me", key.trim_end()).expect(200).json();
        assert_eq!(me["auth"]["scopes"], json!(scopes), "{flags:?}");
    }
    create(&place, &["--scope", "all"]).misused("[possible values: candidates:read, candidates:write");
    for (days, fits) in [("0", false), ("1", true), ("365", true), ("366", false), ("x", false)] {
        let ended = create(&place, &["--expires-in-days", days]);
        assert_eq!(ended.code, Some(if fits { 0 } else { 2 }), "{ended:?}");
    }
    let lived = "SELECT max(expires_at - created_at) / 86400000000 FROM api_keys";
    assert_eq!(place.number("a.db", lived), 365);
}

#[test]
fn a_revoked_key_is_refused_from_the_next_answer_on() {
    let place = Place::new();
    place.imported("a.db");
    let key = create(&place, &[]).succeeded().stdout;
    let serving = place.serve(&["--db", "a.db"]);
    serving.get("/api/v1/me", key.trim_end()).expect(200);
    let id = list(&place)[0][0].clone();
    let ended = run(&place, "revoke", &[&id]).succeeded();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", format!("{id} is revoked\n").as_str()));
    serving.get("/api/v1/me", key.trim_end()).expect(401);
    run(&place, "revoke", &[&id]).succeeded();
    let line = list(&place)[0].clone();
    assert_eq!((line[0].as_str(), line[4].as_str(), line[8].as_str()), (id.as_str(), "revoked", "1"));
}

#[test]
fn keys_are_listed_the_newest_first_with_their_use() {
    let place = Place::new();
    place.imported("a.db");
    create(&place, &["--expires-in-days", "1"]).succeeded();
    let admin = place.admin_key("a.db");
    let lines = list(&place);
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
    place.change("a.db", "UPDATE api_keys SET expires_at = created_at + 1");
    assert_eq!(list(&place)[0][4], "expired");
}

#[test]
fn as_json_they_are_what_the_service_lists() {
    let place = Place::new();
    place.imported("a.db");
    create(&place, &[]).succeeded();
    let admin = place.admin_key("a.db");
    let listed: Value = serde_json::from_str(&run(&place, "list", &["--json"]).succeeded().stdout).unwrap();
    let serving = place.serve(&["--db", "a.db"]);
    assert_eq!(serving.get("/api/admin/api-keys", &admin).expect(200).json()["data"], listed);
    assert!(!listed.to_string().contains(&admin));
}

#[test]
fn a_key_that_cannot_be_printed_is_not_made() {
    let place = Place::new();
    place.imported("a.db");
    let args = ["key", "create", "--db", "a.db", "--user", "owner@acme.example", "--name", "k"];
    place.run_without_room(&args).failed(1, "standard output cannot be written");
    assert_eq!(place.number("a.db", "SELECT count(*) FROM api_keys"), 0);
}

#[test]
fn a_key_of_a_disabled_user_counts_once_they_are_enabled() {
    let place = Place::new();
    place.imported("a.db");
    place.run(&["user", "disable", "--db", "a.db", "owner@acme.example"]).succeeded();
    let made = create(&place, &[]).succeeded();
    assert!(made.stderr.contains("is disabled: the key counts once they are enabled"), "{made:?}");
    let serving = place.serve(&["--db", "a.db"]);
    serving.get("/api/v1/me", made.stdout.trim_end()).expect(401);
    place.run(&["user", "enable", "--db", "a.db", "owner@acme.example"]).succeeded();
    serving.get("/api/v1/me", made.stdout.trim_end()).expect(200);
}

#[test]
fn what_is_not_there_or_none_is_refused() {
    let place = Place::new();
    place.imported("a.db");
    run(&place, "revoke", &["key_none"]).failed(1, "there is no key with the id key_none");
    run(&place, "revoke", &["no key"]).misused("an id looks like");
    run(&place, "revoke", &[]).misused("<ID>");
    let args = ["--user", "nobody@example.org", "--name", "k"];
    run(&place, "create", &args).failed(1, "there is no user with the address nobody@example.org");
    create(&place, &["--name", " "]).misused("--name");
    run(&place, "create", &["--user", "owner@acme.example"]).misused("--name");
    run(&place, "create", &["--user", "owner@acme.example", "--name", " "]).misused("1 to 255 characters");
    place.run(&["key", "list"]).failed(1, "appliance.db");
}

//! Commands on the file are on record; the head of the chain is in the manifest of a backup and on `/metrics`, and shows a
//! chain that was rewritten.

use serde_json::{Value, json};

use crate::support::{Ended, Place, eventually, mode, send_to};

fn activity(place: &Place) -> Vec<Value> {
    let ended = place.run(&["activity", "--db", "a.db", "--json"]).succeeded();
    serde_json::from_str(&ended.stdout).unwrap()
}

/// What each command that is on record said of itself, the oldest first.
fn commands(place: &Place) -> Vec<Value> {
    let rows = activity(place).into_iter().filter(|row| row["action"] == "command.ran");
    let mut commands: Vec<Value> = rows.map(|row| row["after"].clone()).collect();
    commands.reverse();
    commands
}

fn manifest(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&place.read(name)).unwrap()
}

fn check(place: &Place, head: &str) -> Ended {
    place.run(&["check", "--db", "a.db", "--chain-head", head])
}

#[test]
fn every_command_that_changes_the_file_or_takes_data_out_of_it_is_on_record() {
    let place = Place::new();
    place.imported("a.db");
    let on = |args: &[&str]| place.run(&[args, &["--db", "a.db"]].concat()).succeeded();
    on(&["bootstrap-admin", "--email", "root@example.org"]);
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    place.run_with(&password, &[], b"correct horse battery").succeeded();
    on(&["user", "create", "--email", "ada@example.org", "--name", "Ada"]);
    on(&["user", "disable", "ada@example.org"]);
    on(&["user", "enable", "ada@example.org"]);
    on(&["organization", "create", "--slug", "other", "--name", "Other"]);
    on(&["organization", "disable", "other"]);
    on(&["organization", "enable", "other"]);
    on(&["key", "create", "--user", "root@example.org", "--name", "Ours", "--scopes", "roles:read"]);
    let key = on(&["key", "list", "--json"]).stdout;
    let key = serde_json::from_str::<Value>(&key).unwrap()[0]["id"].as_str().unwrap().to_owned();
    on(&["key", "revoke", &key]);
    on(&["export", "--with-secrets"]);
    on(&["backup", "copy.db"]);
    place.write("table.csv", "name,email,role\nBea,bea@example.org,role_1\n");
    on(&["import", "--format", "csv", "--organization", "acme", "table.csv"]);
    on(&["check"]);
    let names: Vec<String> = commands(&place).iter().map(|told| told["command"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "import",
            "bootstrap-admin",
            "set-password",
            "user create",
            "user disable",
            "user enable",
            "organization create",
            "organization disable",
            "organization enable",
            "key create",
            "key revoke",
            "export",
            "backup",
            "import",
        ]
    );
    let told = commands(&place);
    assert_eq!(told[2], json!({ "command": "set-password", "userId": "user_owner" }));
    assert_eq!(told[10], json!({ "command": "key revoke", "apiKeyId": key }));
    assert_eq!(told[11], json!({ "command": "export", "withSecrets": true }));
    let named = "SELECT count(*) FROM activities WHERE organization_id IS NULL AND detail LIKE '%@%'";
    assert_eq!(place.number("a.db", named), 0);
    // What they did is there, too, in the order of the acts.
    let actions: Vec<Value> = activity(&place).iter().map(|row| row["action"].clone()).collect();
    for action in ["user.created", "user.changed", "api_key.created", "api_key.revoked"] {
        assert!(actions.contains(&json!(action)), "{action}: {actions:?}");
    }
}

#[test]
fn a_command_that_fails_leaves_nothing() {
    let place = Place::new();
    place.imported("a.db");
    let before = commands(&place);
    place.run(&["user", "disable", "--db", "a.db", "nobody@example.org"]).failed(1, "there is no user");
    place.run(&["key", "revoke", "--db", "a.db", "key_none"]).failed(1, "there is no key");
    let taken = ["user", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "X"];
    place.run(&taken).failed(1, "is there already");
    let again = place.run(&["import", "--db", "a.db", "document.json"]);
    assert!(again.code == Some(1) && again.stderr.contains("nothing was imported"), "{again:?}");
    place.write("copy.db", "something of mine");
    place.run(&["backup", "--db", "a.db", "copy.db"]).failed(1, "copy.db cannot be written");
    assert_eq!(commands(&place), before);
}

#[test]
fn platform_activity_is_listed_in_lines() {
    let place = Place::new();
    place.imported("a.db");
    let lines = place.run(&["activity", "--db", "a.db", "--limit", "1"]).succeeded().stdout;
    let parts: Vec<&str> = lines.trim_end().split('\t').collect();
    assert_eq!(parts[1..4], ["command.ran", "-", "-"], "{lines}");
    assert!(parts.len() == 5 && parts[4].contains("\"command\":\"import\""), "{lines}");
    place.run(&["activity", "--db", "a.db", "--limit", "0"]).misused("0");
}

#[test]
fn the_manifest_of_a_backup_shows_a_chain_that_was_rewritten() {
    let place = Place::new();
    place.imported("a.db");
    let ended = place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let noted = manifest(&place, "copy.db.manifest");
    assert_eq!(mode(&place.path("copy.db.manifest")), 0o600);
    let head = noted["chainHead"].as_str().unwrap();
    assert!(ended.stderr.contains(head), "{ended:?}");
    assert_eq!(noted["file"], "copy.db");
    assert_eq!(noted["activityNumber"], place.number("copy.db", "SELECT max(number) FROM activities"));
    check(&place, head).succeeded();
    place.run(&["user", "create", "--db", "a.db", "--email", "ada@example.org", "--name", "Ada"]).succeeded();
    check(&place, head).succeeded();
    // Somebody with the file takes the last rows away and lets others be appended: a whole chain, and another one.
    place.change(
        "a.db",
        &format!("DROP TRIGGER activities_stay; DELETE FROM activities WHERE number >= {}", noted["activityNumber"]),
    );
    let ended = check(&place, head);
    assert!(ended.code == Some(1) && ended.stderr.contains("a.db has 1 finding"), "{ended:?}");
    assert!(ended.stdout.contains("was noted and is not there"), "{ended:?}");
    place.run(&["user", "create", "--db", "a.db", "--email", "bob@example.org", "--name", "Bob"]).succeeded();
    place.run(&["check", "--db", "a.db"]).succeeded();
    let ended = check(&place, head);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("the chain was rewritten"), "{ended:?}");
    for wrong in ["1", "x:y", "1:abc"] {
        check(&place, wrong).misused("64 hexadecimal digits");
    }
}

#[test]
fn the_head_of_the_chain_is_on_metrics() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let mut serving = place.serve(&["--db", "a.db", "--metrics-listen", "127.0.0.1:0"]);
    let line = serving.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let address = address.parse().unwrap();
    let head = || {
        let metrics = send_to(address, "GET", "/metrics", &[], "").expect(200).body;
        let sample =
            metrics.lines().find(|line| line.starts_with("appliance_activity_chain_head{")).unwrap().to_owned();
        let (hash, number) = sample.split_once("hash=\"").unwrap().1.split_once("\"} ").unwrap();
        format!("{number}:{hash}")
    };
    let before = head();
    check(&place, &before).succeeded();
    let authorization = format!("Bearer {key}");
    let reject = "/api/v1/candidate-steps/cstep_1_1/reject";
    serving.send("POST", reject, &[("Authorization", &authorization)], "").expect(200);
    eventually(|| head() != before);
    check(&place, &head()).succeeded();
}

//! Commands that change the file or export data are recorded as activity. `/metrics` and the manifest of a backup
//! contain the chain head, which reveals a rewritten chain.

use serde_json::{Value, json};

use crate::support::{Output, WorkDir, eventually, mode, send_to};

fn activity(dir: &WorkDir) -> Vec<Value> {
    let output = dir.run(&["activity", "--db", "a.db", "--json"]).succeeded();
    serde_json::from_str(&output.stdout).unwrap()
}

/// Returns the details of each recorded command, oldest first.
fn commands(dir: &WorkDir) -> Vec<Value> {
    let rows = activity(dir).into_iter().filter(|row| row["action"] == "command.ran");
    let mut commands: Vec<Value> = rows.map(|row| row["after"].clone()).collect();
    commands.reverse();
    commands
}

fn manifest(dir: &WorkDir, name: &str) -> Value {
    serde_json::from_slice(&dir.read(name)).unwrap()
}

fn check(dir: &WorkDir, head: &str) -> Output {
    dir.run(&["check", "--db", "a.db", "--chain-head", head])
}

#[test]
fn commands_that_change_the_file_or_export_data_are_recorded() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let on = |args: &[&str]| dir.run(&[args, &["--db", "a.db"]].concat()).succeeded();
    on(&["bootstrap-admin", "--email", "root@example.org"]);
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run_with(&password, &[], b"correct horse battery").succeeded();
    on(&["user", "create", "--email", "ada@example.org", "--name", "Ada"]);
    on(&["user", "disable", "ada@example.org"]);
    on(&["user", "enable", "ada@example.org"]);
    on(&["organization", "create", "--slug", "other", "--name", "Other"]);
    on(&["organization", "disable", "other"]);
    on(&["organization", "enable", "other"]);
    on(&["key", "create", "--email", "root@example.org", "--name", "Ours", "--scope", "roles:read"]);
    let key = on(&["key", "list", "--json"]).stdout;
    let key = serde_json::from_str::<Value>(&key).unwrap()[0]["id"].as_str().unwrap().to_owned();
    on(&["key", "revoke", &key]);
    on(&["export", "--with-secrets"]);
    on(&["backup", "copy.db"]);
    dir.write("table.csv", "name,email,role\nBea,bea@example.org,role_1\n");
    on(&["import", "--format", "csv", "--organization", "acme", "table.csv"]);
    on(&["check"]);
    let names: Vec<String> =
        commands(&dir).iter().map(|command| command["command"].as_str().unwrap().to_owned()).collect();
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
    let recorded = commands(&dir);
    assert_eq!(recorded[2], json!({ "command": "set-password", "userId": "user_owner" }));
    assert_eq!(recorded[10], json!({ "command": "key revoke", "apiKeyId": key }));
    assert_eq!(recorded[11], json!({ "command": "export", "withSecrets": true }));
    let addresses = "SELECT count(*) FROM activities WHERE organization_id IS NULL AND detail LIKE '%@%'";
    assert_eq!(dir.number("a.db", addresses), 0);
    // The changes that the commands made are recorded too.
    let actions: Vec<Value> = activity(&dir).iter().map(|row| row["action"].clone()).collect();
    for action in ["user.created", "user.changed", "api_key.created", "api_key.revoked"] {
        assert!(actions.contains(&json!(action)), "{action}: {actions:?}");
    }
}

#[test]
fn a_failed_command_is_not_recorded() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let before = commands(&dir);
    dir.run(&["user", "disable", "--db", "a.db", "nobody@example.org"]).failed(1, "there is no user");
    dir.run(&["key", "revoke", "--db", "a.db", "key_none"]).failed(1, "there is no key");
    let taken = ["user", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "X"];
    dir.run(&taken).failed(1, "already exists");
    let again = dir.run(&["import", "--db", "a.db", "document.json"]);
    assert!(again.code == Some(1) && again.stderr.contains("nothing was imported"), "{again:?}");
    dir.write("copy.db", "something of mine");
    dir.run(&["backup", "--db", "a.db", "copy.db"]).failed(1, "copy.db cannot be written");
    assert_eq!(commands(&dir), before);
}

#[test]
fn platform_activity_is_listed_one_row_per_line() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let lines = dir.run(&["activity", "--db", "a.db", "--limit", "1"]).succeeded().stdout;
    let parts: Vec<&str> = lines.trim_end().split('\t').collect();
    assert_eq!(parts[1..4], ["command.ran", "-", "-"], "{lines}");
    assert!(parts.len() == 5 && parts[4].contains("\"command\":\"import\""), "{lines}");
    dir.run(&["activity", "--db", "a.db", "--limit", "0"]).misused("0");
}

#[test]
fn the_manifest_of_a_backup_reveals_a_rewritten_chain() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let output = dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let backup_manifest = manifest(&dir, "copy.db.manifest");
    assert_eq!(mode(&dir.path("copy.db.manifest")), 0o600);
    let head = backup_manifest["chainHead"].as_str().unwrap();
    assert!(output.stderr.contains(head), "{output:?}");
    assert_eq!(backup_manifest["file"], "copy.db");
    assert_eq!(backup_manifest["activityNumber"], dir.number("copy.db", "SELECT max(number) FROM activities"));
    check(&dir, head).succeeded();
    dir.run(&["user", "create", "--db", "a.db", "--email", "ada@example.org", "--name", "Ada"]).succeeded();
    check(&dir, head).succeeded();
    // Somebody who can write to the file deletes the last rows, and a command appends others. The result is another
    // valid chain.
    dir.change(
        "a.db",
        &format!(
            "DROP TRIGGER activities_stay; DELETE FROM activities WHERE number >= {}",
            backup_manifest["activityNumber"]
        ),
    );
    let output = check(&dir, head);
    assert!(output.code == Some(1) && output.stderr.contains("a.db has 1 finding"), "{output:?}");
    assert!(output.stdout.contains("is missing; the database is older"), "{output:?}");
    dir.run(&["user", "create", "--db", "a.db", "--email", "bob@example.org", "--name", "Bob"]).succeeded();
    dir.run(&["check", "--db", "a.db"]).succeeded();
    let output = check(&dir, head);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("the chain was rewritten"), "{output:?}");
    for wrong in ["1", "x:y", "1:abc"] {
        check(&dir, wrong).misused("64 hexadecimal digits");
    }
}

#[test]
fn metrics_show_the_chain_head() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let mut service = dir.serve(&["--db", "a.db", "--metrics-listen", "127.0.0.1:0"]);
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
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
    check(&dir, &before).succeeded();
    let authorization = format!("Bearer {key}");
    let reject = "/api/v1/candidate-steps/cstep_1_1/reject";
    service.send("POST", reject, &[("Authorization", &authorization)], "").expect(200);
    eventually(|| head() != before);
    check(&dir, &head()).succeeded();
}

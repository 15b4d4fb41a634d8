//! `user list`, `create`, `disable` and `enable`, with and without a running service.

use serde_json::{Value, json};

use crate::support::{Output, WorkDir, mode};

fn run(dir: &WorkDir, subcommand: &str, args: &[&str]) -> Output {
    dir.run(&[&["user", subcommand, "--db", "a.db"], args].concat())
}

fn create(dir: &WorkDir, email: &str, name: &str, more: &[&str]) -> Output {
    run(dir, "create", &[&["--email", email, "--name", name], more].concat())
}

/// Returns the fields of each line that `user list` prints.
fn list(dir: &WorkDir) -> Vec<Vec<String>> {
    let output = run(dir, "list", &[]).succeeded();
    assert_eq!(output.stderr, "");
    output.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn users_are_listed_oldest_first() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let id = create(&dir, "Ada@Example.org", "Ada L.", &["--platform-role", "admin"]).succeeded();
    assert_eq!(id.stderr, "");
    // Names were not always checked, so an older file can contain a name with control characters.
    dir.change("a.db", "UPDATE users SET name = 'Ada ' || char(7) || char(9) || 'L.' WHERE name = 'Ada L.'");
    let lines = list(&dir);
    assert!(lines.iter().all(|parts| parts.len() == 6 && parts[5].ends_with('Z')), "{lines:?}");
    assert_eq!(lines[0][..5], ["user_owner", "Owner@Acme.example", "The Owner", "user", "enabled"]);
    assert_eq!(lines[1][0], "user_member");
    assert_eq!(lines[2][..5], [id.stdout.trim_end(), "Ada@Example.org", "Ada   L.", "admin", "enabled"]);
}

#[test]
fn the_json_list_is_the_list_of_the_service_in_reverse_order() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let output = run(&dir, "list", &["--json"]).succeeded();
    let mut listed: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(output.stdout.lines().count(), listed.len(), "one line per user");
    let service = dir.serve(&["--db", "a.db"]);
    listed.reverse();
    assert_eq!(service.get("/api/admin/users", &key).expect(200).json()["data"], json!(listed));
    let by_variable = dir.run_with(&["user", "list"], &[("APPLIANCE_DB", "a.db"), ("APPLIANCE_JSON", "true")], b"");
    assert_eq!(by_variable.succeeded().stdout, output.stdout);
}

#[test]
fn an_empty_list_is_reported() {
    let dir = WorkDir::new();
    dir.write("empty.json", "{}");
    dir.run(&["import", "--db", "a.db", "empty.json"]).succeeded();
    let none = run(&dir, "list", &[]).succeeded();
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "there are no users\n"));
    assert_eq!(run(&dir, "list", &["--json"]).succeeded().stdout, "[]\n");
}

#[test]
fn a_running_service_sees_a_new_user() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let id = create(&dir, "ada@example.org", "Ada", &[]).succeeded().stdout;
    let path = format!("/api/admin/users/{}", id.trim_end());
    let user = service.get(&path, &key).expect(200).json()["data"].clone();
    assert_eq!((&user["email"], &user["name"]), (&json!("ada@example.org"), &json!("Ada")));
    assert_eq!((&user["platformRole"], &user["enabled"]), (&json!("user"), &json!(true)));
    assert_eq!(mode(&dir.path("a.db")), 0o600);
}

#[test]
fn a_taken_address_is_refused() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let sentence = "a user with the address OWNER@acme.example already exists";
    create(&dir, "OWNER@acme.example", "Ada", &[]).failed(1, sentence);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users"), 2);
}

#[test]
fn a_running_service_refuses_a_disabled_user_at_once() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.admin_key("a.db");
    let made = dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "k"]).succeeded();
    let key = made.stdout.trim_end();
    dir.run_with(&["set-password", "--db", "a.db", "--email", "owner@acme.example"], &[], b"correct horse battery");
    let service = dir.serve(&["--db", "a.db"]);
    let session = service.sign_in("owner@acme.example", "correct horse battery").expect(200);
    let cookie = session.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let me = || service.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "").status;
    assert_eq!((service.get("/api/v1/me", key).status, me()), (200, 200));
    let output = run(&dir, "disable", &[" OWNER@acme.example"]).succeeded();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", "OWNER@acme.example is disabled\n"));
    assert_eq!((service.get("/api/v1/me", key).status, me()), (401, 401));
    assert_eq!(service.sign_in("owner@acme.example", "correct horse battery").status, 401);
    assert_eq!(list(&dir)[0][4], "disabled");
    run(&dir, "disable", &["owner@acme.example"]).succeeded();
    assert_eq!(run(&dir, "enable", &["owner@acme.example"]).succeeded().stderr, "owner@acme.example is enabled\n");
    assert_eq!((service.get("/api/v1/me", key).status, me()), (200, 401));
}

#[test]
fn the_last_enabled_admin_cannot_be_disabled() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    run(&dir, "disable", &["root@example.org"]).failed(1, "this is the last enabled admin");
    create(&dir, "ada@example.org", "Ada", &["--platform-role", "admin"]).succeeded();
    run(&dir, "disable", &["ada@example.org"]).succeeded();
    run(&dir, "disable", &["root@example.org"]).failed(1, "this is the last enabled admin");
    run(&dir, "enable", &["ada@example.org"]).succeeded();
    run(&dir, "disable", &["root@example.org"]).succeeded();
    // A person who can write to the file can always create another admin key.
    assert_ne!(dir.admin_key("a.db"), key);
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/admin/users", &key).expect(200);
}

#[test]
fn unknown_users_and_malformed_addresses_are_refused() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    for subcommand in ["disable", "enable"] {
        run(&dir, subcommand, &["nobody@example.org"])
            .failed(1, "there is no user with the address nobody@example.org");
        run(&dir, subcommand, &["nobody"]).misused("looks like ada@example.org");
        run(&dir, subcommand, &[]).misused("<EMAIL>");
    }
    create(&dir, "ada@example.org", " ", &[]).misused("1 to 255 characters");
    create(&dir, "ada", "Ada", &[]).misused("looks like ada@example.org");
    create(&dir, "ada@example.org", "Ada", &["--platform-role", "owner"]).misused("[possible values: user, admin]");
    run(&dir, "create", &["--name", "Ada"]).misused("--email");
    for arguments in [&["list"][..], &["disable", "a@b"], &["create", "--email", "a@b", "--name", "A"]] {
        dir.run(&[&["user"], arguments].concat()).failed(1, "appliance.db");
    }
    assert!(!dir.names().contains(&"appliance.db".to_owned()), "none of these commands creates a file");
}

//! `user list`, `create`, `disable`, `enable`: alone, and beside a service that runs.

use serde_json::{Value, json};

use crate::support::{Ended, Place, mode};

fn run(place: &Place, what: &str, args: &[&str]) -> Ended {
    place.run(&[&["user", what, "--db", "a.db"], args].concat())
}

fn create(place: &Place, email: &str, name: &str, more: &[&str]) -> Ended {
    run(place, "create", &[&["--email", email, "--name", name], more].concat())
}

/// What `user list` prints: the parts of each line.
fn list(place: &Place) -> Vec<Vec<String>> {
    let ended = run(place, "list", &[]).succeeded();
    assert_eq!(ended.stderr, "");
    ended.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn users_are_listed_the_oldest_first() {
    let place = Place::new();
    place.imported("a.db");
    let id = create(&place, "Ada@Example.org", "Ada L.", &["--platform-role", "admin"]).succeeded();
    assert_eq!(id.stderr, "");
    // A file from before names were checked may have such a name.
    place.change("a.db", "UPDATE users SET name = 'Ada ' || char(7) || char(9) || 'L.' WHERE name = 'Ada L.'");
    let lines = list(&place);
    assert!(lines.iter().all(|parts| parts.len() == 6 && parts[5].ends_with('Z')), "{lines:?}");
    assert_eq!(lines[0][..5], ["user_owner", "Owner@Acme.example", "The Owner", "user", "enabled"]);
    assert_eq!(lines[1][0], "user_member");
    assert_eq!(lines[2][..5], [id.stdout.trim_end(), "Ada@Example.org", "Ada   L.", "admin", "enabled"]);
}

#[test]
fn as_json_they_are_what_the_service_lists() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let ended = run(&place, "list", &["--json"]).succeeded();
    let mut listed: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.stdout.lines().count(), listed.len(), "a line each");
    let serving = place.serve(&["--db", "a.db"]);
    listed.reverse();
    assert_eq!(serving.get("/api/admin/users", &key).expect(200).json()["data"], json!(listed));
    let by_variable = place.run_with(&["user", "list"], &[("APPLIANCE_DB", "a.db"), ("APPLIANCE_JSON", "true")], b"");
    assert_eq!(by_variable.succeeded().stdout, ended.stdout);
}

#[test]
fn of_nothing_nothing_is_listed() {
    let place = Place::new();
    place.write("empty.json", "{}");
    place.run(&["import", "--db", "a.db", "empty.json"]).succeeded();
    let none = run(&place, "list", &[]).succeeded();
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "there are no users\n"));
    assert_eq!(run(&place, "list", &["--json"]).succeeded().stdout, "[]\n");
}

#[test]
fn a_new_user_is_there_for_a_service_that_runs() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let id = create(&place, "ada@example.org", "Ada", &[]).succeeded().stdout;
    let path = format!("/api/admin/users/{}", id.trim_end());
    let user = serving.get(&path, &key).expect(200).json()["data"].clone();
    assert_eq!((&user["email"], &user["name"]), (&json!("ada@example.org"), &json!("Ada")));
    assert_eq!((&user["platformRole"], &user["enabled"]), (&json!("user"), &json!(true)));
    assert_eq!(mode(&place.path("a.db")), 0o600);
}

#[test]
fn an_address_that_is_taken_is_refused() {
    let place = Place::new();
    place.imported("a.db");
    let sentence = "a user with the address OWNER@acme.example is there already";
    create(&place, "OWNER@acme.example", "Ada", &[]).failed(1, sentence);
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users"), 2);
}

#[test]
fn a_user_who_is_disabled_is_out_with_the_next_answer() {
    let place = Place::new();
    place.imported("a.db");
    place.admin_key("a.db");
    let made = place.run(&["key", "create", "--db", "a.db", "--user", "owner@acme.example", "--name", "k"]).succeeded();
    let key = made.stdout.trim_end();
    place.run_with(&["set-password", "--db", "a.db", "--email", "owner@acme.example"], &[], b"correct horse battery");
    let serving = place.serve(&["--db", "a.db"]);
    let session = serving.sign_in("owner@acme.example", "correct horse battery").expect(200);
    let cookie = session.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let me = || serving.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "").status;
    assert_eq!((serving.get("/api/v1/me", key).status, me()), (200, 200));
    let ended = run(&place, "disable", &[" OWNER@acme.example"]).succeeded();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", "OWNER@acme.example is disabled\n"));
    assert_eq!((serving.get("/api/v1/me", key).status, me()), (401, 401));
    assert_eq!(serving.sign_in("owner@acme.example", "correct horse battery").status, 401);
    assert_eq!(list(&place)[0][4], "disabled");
    run(&place, "disable", &["owner@acme.example"]).succeeded();
    assert_eq!(run(&place, "enable", &["owner@acme.example"]).succeeded().stderr, "owner@acme.example is enabled\n");
    assert_eq!((serving.get("/api/v1/me", key).status, me()), (200, 401));
}

#[test]
fn the_last_admin_who_is_enabled_stays() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    run(&place, "disable", &["root@example.org"]).failed(1, "this is the last admin who is enabled");
    create(&place, "ada@example.org", "Ada", &["--platform-role", "admin"]).succeeded();
    run(&place, "disable", &["ada@example.org"]).succeeded();
    run(&place, "disable", &["root@example.org"]).failed(1, "this is the last admin who is enabled");
    run(&place, "enable", &["ada@example.org"]).succeeded();
    run(&place, "disable", &["root@example.org"]).succeeded();
    // Whoever has the file can always get in again.
    assert_ne!(place.admin_key("a.db"), key);
    let serving = place.serve(&["--db", "a.db"]);
    serving.get("/api/admin/users", &key).expect(200);
}

#[test]
fn what_is_not_there_or_none_is_refused() {
    let place = Place::new();
    place.imported("a.db");
    for what in ["disable", "enable"] {
        run(&place, what, &["nobody@example.org"]).failed(1, "there is no user with the address nobody@example.org");
        run(&place, what, &["nobody"]).misused("looks like ada@example.org");
        run(&place, what, &[]).misused("<EMAIL>");
    }
    create(&place, "ada@example.org", " ", &[]).misused("1 to 255 characters");
    create(&place, "ada", "Ada", &[]).misused("looks like ada@example.org");
    create(&place, "ada@example.org", "Ada", &["--platform-role", "owner"]).misused("[possible values: user, admin]");
    run(&place, "create", &["--name", "Ada"]).misused("--email");
    for what in [&["list"][..], &["disable", "a@b"], &["create", "--email", "a@b", "--name", "A"]] {
        place.run(&[&["user"], what].concat()).failed(1, "appliance.db");
    }
    assert!(!place.names().contains(&"appliance.db".to_owned()), "none of them makes a file");
}

//! `serve --demo`: a service with a sample organization, without any preparation.

use crate::support::{WorkDir, is_key};

/// Returns the rest of the only line that begins with this label.
fn labelled<'a>(stdout: &'a str, label: &str) -> &'a str {
    let mut found = stdout.lines().filter_map(|line| line.strip_prefix(label));
    let value = found.next().unwrap_or_else(|| panic!("no line begins with {label:?}: {stdout}"));
    assert_eq!(found.next(), None, "two lines begin with {label:?}: {stdout}");
    value
}

#[test]
fn the_first_start_prints_links_a_key_and_a_command_to_try() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--demo"]);
    let url = service.url().replace("127.0.0.1", "localhost");
    assert!(dir.path("demo.db").exists() && !dir.path("appliance.db").exists());
    let portal = service.send("GET", "/api/public/portal/halmwind", &[], "").expect(200).json();
    assert!(portal["roles"].as_array().unwrap().len() > 1, "{portal}");
    let output = service.stop("TERM").succeeded();
    assert_eq!(output.stdout.lines().count(), 4, "{output:?}");
    assert!(output.stdout.starts_with("console: "), "{output:?}");
    assert!(labelled(&output.stdout, "console: ").starts_with(&format!("{url}/join/")), "{output:?}");
    assert_eq!(labelled(&output.stdout, "portal: "), format!("{url}/careers/halmwind"));
    let key = labelled(&output.stdout, "key: ");
    assert!(is_key(key), "{output:?}");
    let line = labelled(&output.stdout, "try: ");
    assert_eq!(line, format!("curl -H 'Authorization: Bearer {key}' {url}/api/v1/me"));
    assert!(!output.stderr.contains("rpk_"), "{output:?}");
    // The key works, and its text is in no file.
    let service = dir.serve(&["--demo"]);
    assert_eq!(service.get("/api/v1/me", key).expect(200).json()["user"]["role"], "admin");
    for name in dir.names() {
        let bytes = dir.read(&name);
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{name} contains the key");
    }
}

#[test]
fn a_later_start_prints_the_command_for_a_new_key() {
    let dir = WorkDir::new();
    dir.serve(&["--demo"]).stop("TERM").succeeded();
    let exported = dir.run(&["export", "--db", "demo.db"]).succeeded().stdout;
    let service = dir.serve(&["--demo"]);
    let url = service.url().replace("127.0.0.1", "localhost");
    let output = service.stop("TERM").succeeded();
    assert!(!output.stdout.contains("rpk_") && !output.stderr.contains("rpk_"), "{output:?}");
    assert_eq!(labelled(&output.stdout, "portal: "), format!("{url}/careers/halmwind"));
    let command = labelled(&output.stdout, "new key: ").strip_prefix("appliance ").unwrap();
    let made = dir.run(&command.split(' ').collect::<Vec<_>>()).succeeded();
    let service = dir.serve(&["--demo"]);
    service.get("/api/v1/me", made.stdout.trim_end()).expect(200);
    assert_eq!(dir.run(&["export", "--db", "demo.db"]).succeeded().stdout, exported, "nothing is created twice");
    dir.run(&["check", "--db", "demo.db"]).succeeded();
}

#[test]
fn every_start_prints_a_link_that_signs_a_user_in_once_without_a_password() {
    let dir = WorkDir::new();
    for _ in 0..2 {
        let service = dir.serve(&["--demo"]);
        let line = service.wait_for_stdout(|line| line.starts_with("console: "));
        let url = service.url().replace("127.0.0.1", "localhost");
        let path = line.strip_prefix(&format!("console: {url}")).unwrap().to_owned();
        let form = [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")];
        let answer = service.send("POST", &path, &form, "").expect(303);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        service.send("GET", "/app", &[("Cookie", &cookie)], "").expect(200);
        service.send("POST", &path, &form, "").expect(410);
        service.stop("TERM").succeeded();
    }
}

#[test]
fn the_demo_has_the_organizations_of_the_example() {
    let dir = WorkDir::new();
    dir.serve(&["--demo", "--db", "a.db"]).stop("TERM").succeeded();
    assert!(!dir.path("demo.db").exists());
    let example = include_bytes!("../../examples/demo.json");
    dir.run_with(&["import", "--db", "b.db", "-"], &[], example).succeeded();
    let organizations = |db: &str| {
        let exported = dir.run(&["export", "--db", db]).succeeded().stdout;
        let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
        exported["organizations"].clone()
    };
    let ids_and_names = |value: serde_json::Value| {
        let organizations = value.as_array().unwrap().clone();
        organizations.into_iter().map(|one| (one["id"].clone(), one["name"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(ids_and_names(organizations("a.db")), ids_and_names(organizations("b.db")));
}

#[test]
fn the_portal_url_begins_with_the_base_url() {
    let dir = WorkDir::new();
    let output = dir.serve(&["--demo", "--base-url", "https://demo.example.com/"]).stop("TERM").succeeded();
    assert_eq!(labelled(&output.stdout, "portal: "), "https://demo.example.com/careers/halmwind");
}

#[test]
fn a_demo_with_a_disabled_portal_is_still_recognized() {
    let dir = WorkDir::new();
    dir.serve(&["--demo"]).stop("TERM").succeeded();
    dir.change("demo.db", "UPDATE organizations SET portal_enabled = 0");
    let counts =
        || dir.number("demo.db", "SELECT (SELECT count(*) FROM users) * 1000 + (SELECT count(*) FROM organizations)");
    let before = counts();
    let service = dir.serve(&["--demo"]);
    service.send("GET", "/api/public/portal/halmwind", &[], "").expect(404);
    let output = service.stop("TERM").succeeded();
    assert_eq!(
        labelled(&output.stdout, "new key: "),
        "appliance bootstrap-admin --db demo.db --email demo@example.com"
    );
    assert_eq!(counts(), before, "nothing is created twice");
}

#[test]
fn a_first_start_that_cannot_print_its_key_creates_nothing() {
    let dir = WorkDir::new();
    let output = dir.run_with_full_stdout(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("appliance: cannot write to standard output"), "{output:?}");
    assert_eq!(dir.number("demo.db", "SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM organizations)"), 0);
    let output = dir.serve(&["--demo"]).stop("TERM").succeeded();
    assert!(is_key(labelled(&output.stdout, "key: ")), "{output:?}");
}

#[test]
fn demo_refuses_a_file_with_other_data() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let before = dir.run(&["export", "--db", "a.db"]).succeeded().stdout;
    let output = dir.run(&["serve", "--demo", "--db", "a.db", "--listen", "127.0.0.1:0"]);
    assert!(output.failed(1, "a.db holds data").stderr.contains("--demo"));
    assert_eq!(dir.run(&["export", "--db", "a.db"]).succeeded().stdout, before);
}

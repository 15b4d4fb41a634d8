//! `serve --demo`: a sample company from nothing.

use crate::support::{Place, is_key};

/// What stands behind a label on a line of its own.
fn labelled<'a>(stdout: &'a str, label: &str) -> &'a str {
    let mut found = stdout.lines().filter_map(|line| line.strip_prefix(label));
    let value = found.next().unwrap_or_else(|| panic!("no line begins with {label:?}: {stdout}"));
    assert_eq!(found.next(), None, "{label:?} is there twice: {stdout}");
    value
}

#[test]
fn the_first_start_prints_a_portal_a_key_and_a_line_to_try() {
    let place = Place::new();
    let serving = place.serve(&["--demo"]);
    let url = serving.url();
    assert!(place.path("demo.db").exists() && !place.path("appliance.db").exists());
    let portal = serving.send("GET", "/api/public/portal/halmwind", &[], "").expect(200).json();
    assert!(portal["roles"].as_array().unwrap().len() > 1, "{portal}");
    let ended = serving.stop("TERM").succeeded();
    assert_eq!(ended.stdout.lines().count(), 3, "{ended:?}");
    assert_eq!(labelled(&ended.stdout, "portal: "), format!("{url}/api/public/portal/halmwind"));
    let key = labelled(&ended.stdout, "key: ");
    assert!(is_key(key), "{ended:?}");
    let line = labelled(&ended.stdout, "try: ");
    assert_eq!(line, format!("curl -H 'Authorization: Bearer {key}' {url}/api/v1/me"));
    assert!(!ended.stderr.contains("rpk_"), "{ended:?}");
    // The key works, and its text is in no file.
    let serving = place.serve(&["--demo"]);
    assert_eq!(serving.get("/api/v1/me", key).expect(200).json()["user"]["role"], "admin");
    for name in place.names() {
        let bytes = place.read(&name);
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{name} holds the key");
    }
}

#[test]
fn a_later_start_says_how_to_get_a_new_key() {
    let place = Place::new();
    place.serve(&["--demo"]).stop("TERM").succeeded();
    let exported = place.run(&["export", "--db", "demo.db"]).succeeded().stdout;
    let serving = place.serve(&["--demo"]);
    let url = serving.url();
    let ended = serving.stop("TERM").succeeded();
    assert!(!ended.stdout.contains("rpk_") && !ended.stderr.contains("rpk_"), "{ended:?}");
    assert_eq!(labelled(&ended.stdout, "portal: "), format!("{url}/api/public/portal/halmwind"));
    let command = labelled(&ended.stdout, "new key: ").strip_prefix("appliance ").unwrap();
    let made = place.run(&command.split(' ').collect::<Vec<_>>()).succeeded();
    let serving = place.serve(&["--demo"]);
    serving.get("/api/v1/me", made.stdout.trim_end()).expect(200);
    assert_eq!(place.run(&["export", "--db", "demo.db"]).succeeded().stdout, exported, "nothing is made twice");
    place.run(&["check", "--db", "demo.db"]).succeeded();
}

#[test]
fn the_company_is_the_one_of_the_examples() {
    let place = Place::new();
    place.serve(&["--demo", "--db", "a.db"]).stop("TERM").succeeded();
    assert!(!place.path("demo.db").exists());
    let example = include_bytes!("../../examples/demo.json");
    place.run_with(&["import", "--db", "b.db", "-"], &[], example).succeeded();
    let organizations = |db: &str| {
        let exported = place.run(&["export", "--db", db]).succeeded().stdout;
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
fn the_portal_is_named_by_the_base_url() {
    let place = Place::new();
    let ended = place.serve(&["--demo", "--base-url", "https://demo.example.com/"]).stop("TERM").succeeded();
    assert_eq!(labelled(&ended.stdout, "portal: "), "https://demo.example.com/api/public/portal/halmwind");
}

#[test]
fn a_demo_whose_portal_was_switched_off_is_one_all_the_same() {
    let place = Place::new();
    place.serve(&["--demo"]).stop("TERM").succeeded();
    place.change("demo.db", "UPDATE organizations SET portal_enabled = 0");
    let counts =
        || place.number("demo.db", "SELECT (SELECT count(*) FROM users) * 1000 + (SELECT count(*) FROM organizations)");
    let before = counts();
    let serving = place.serve(&["--demo"]);
    serving.send("GET", "/api/public/portal/halmwind", &[], "").expect(404);
    let ended = serving.stop("TERM").succeeded();
    assert_eq!(labelled(&ended.stdout, "new key: "), "appliance bootstrap-admin --db demo.db --email demo@example.com");
    assert_eq!(counts(), before, "nothing is made twice");
}

#[test]
fn a_first_start_that_cannot_print_its_key_makes_nothing() {
    let place = Place::new();
    let ended = place.run_without_room(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("appliance: standard output cannot be written"), "{ended:?}");
    assert_eq!(
        place.number("demo.db", "SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM organizations)"),
        0
    );
    let ended = place.serve(&["--demo"]).stop("TERM").succeeded();
    assert!(is_key(labelled(&ended.stdout, "key: ")), "{ended:?}");
}

#[test]
fn a_file_with_data_of_its_own_is_no_demo() {
    let place = Place::new();
    place.imported("a.db");
    let before = place.run(&["export", "--db", "a.db"]).succeeded().stdout;
    let ended = place.run(&["serve", "--demo", "--db", "a.db", "--listen", "127.0.0.1:0"]);
    assert!(ended.failed(1, "a.db has data in it").stderr.contains("--demo"));
    assert_eq!(place.run(&["export", "--db", "a.db"]).succeeded().stdout, before);
}

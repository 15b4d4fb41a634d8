//! `sign-in-link`, and the link of `bootstrap-admin`.

use crate::support::{RunningService, WorkDir};

const FORM: [(&str, &str); 2] =
    [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")];

/// Returns the link that `text` contains, as a path.
fn path_in(text: &str, base_url: &str) -> String {
    let from = text.find(&format!("{base_url}/join/")).unwrap_or_else(|| panic!("no link: {text}"));
    text[from + base_url.len()..].split_whitespace().next().unwrap().to_owned()
}

fn choose_password(service: &RunningService, path: &str) -> u16 {
    service.send("POST", path, &FORM, "password=a+quite+different+sentence").status
}

#[test]
fn a_link_lets_its_user_choose_a_password_once() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    let made = dir.run(&["sign-in-link", "--db", "a.db", "--email", "ROOT@example.org"]).succeeded();
    assert_eq!(made.stdout.lines().count(), 1, "{made:?}");
    let path = path_in(&made.stdout, "http://127.0.0.1:8080");
    let token = path.strip_prefix("/join/").unwrap();
    for name in dir.names() {
        let bytes = dir.read(&name);
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()), "{name} contains the token");
    }
    let service = dir.serve(&["--db", "a.db"]);
    assert_eq!(choose_password(&service, &path), 303);
    assert_eq!(choose_password(&service, &path), 410);
    service.sign_in("root@example.org", "a quite different sentence").expect(200);
}

#[test]
fn a_running_service_accepts_a_new_link_at_once() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let made = dir.run(&["sign-in-link", "--db", "a.db", "--email", "root@example.org"]).succeeded();
    assert_eq!(choose_password(&service, &path_in(&made.stdout, "http://127.0.0.1:8080")), 303);
}

#[test]
fn the_link_begins_with_the_base_url() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    let link =
        ["sign-in-link", "--db", "a.db", "--email", "root@example.org", "--base-url", "https://jobs.example.org/"];
    let made = dir.run(&link).succeeded();
    assert!(made.stdout.starts_with("https://jobs.example.org/join/"), "{made:?}");
}

#[test]
fn an_unknown_or_disabled_user_gets_no_link() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    dir.run(&["sign-in-link", "--db", "a.db", "--email", "nobody@example.org"]).failed(1, "there is no user");
    dir.run(&["user", "create", "--db", "a.db", "--email", "ada@example.org", "--name", "Ada"]).succeeded();
    dir.run(&["user", "disable", "--db", "a.db", "ada@example.org"]).succeeded();
    dir.run(&["sign-in-link", "--db", "a.db", "--email", "ada@example.org"]).failed(1, "is disabled");
    dir.run(&["sign-in-link", "--db", "none.db", "--email", "ada@example.org"]).failed(1, "none.db");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sign_in_links WHERE purpose = 'reset'"), 0);
}

#[test]
fn a_link_that_cannot_be_printed_is_not_created() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    let output = dir.run_with_full_stdout(&["sign-in-link", "--db", "a.db", "--email", "root@example.org"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sign_in_links WHERE purpose = 'reset'"), 0);
}

#[test]
fn bootstrap_admin_prints_a_link_in_addition_to_the_key() {
    let dir = WorkDir::new();
    let made = dir.run(&["bootstrap-admin", "--db", "a.db", "--email", "root@example.org"]).succeeded();
    assert!(!made.stdout.contains("/join/"), "standard output has only the key: {made:?}");
    let service = dir.serve(&["--db", "a.db"]);
    assert_eq!(choose_password(&service, &path_in(&made.stderr, "http://127.0.0.1:8080")), 303);
}

#[test]
fn a_link_for_a_lost_second_factor_removes_all_second_factors_when_it_is_used() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    let add = "INSERT INTO totp_secrets (user_id, secret, confirmed_at, last_step)
               SELECT id, zeroblob(20), 0, 0 FROM users";
    rusqlite::Connection::open(dir.path("a.db")).unwrap().execute_batch(add).unwrap();
    let link = |more: &[&str]| {
        let args = [&["sign-in-link", "--db", "a.db", "--email", "root@example.org"], more].concat();
        path_in(&dir.run(&args).succeeded().stdout, "http://127.0.0.1:8080")
    };
    let service = dir.serve(&["--db", "a.db"]);
    assert_eq!(choose_password(&service, &link(&[])), 200, "the answer is the page for the code");
    let path = link(&["--reset-factors"]);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM totp_secrets"), 1);
    assert_eq!(choose_password(&service, &path), 303);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM totp_secrets"), 0);
}

//! `bootstrap-admin` and `set-password`.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::support::{Output, WorkDir, is_key};

/// Returns the admin's key, as the list of keys shows it.
fn only_key(service: &crate::support::RunningService, key: &str) -> Value {
    let listed = service.get("/api/admin/api-keys", key).expect(200).json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    listed["data"][0].clone()
}

fn set_password(dir: &WorkDir, email: &str, input: &[u8]) -> Output {
    dir.run_with(&["set-password", "--db", "a.db", "--email", email], &[], input)
}

#[test]
fn bootstrap_admin_prints_only_the_key_and_stores_no_copy() {
    let dir = WorkDir::new();
    let made = dir.run(&["bootstrap-admin", "--db", "a.db", "--email", "root@example.org"]).succeeded();
    let key = made.stdout.strip_suffix('\n').unwrap();
    assert!(is_key(key) && key.starts_with("rpk_") && key.len() == 42, "{made:?}");
    assert!(!made.stderr.contains("rpk_"), "{made:?}");
    assert!(made.stderr.contains("root@example.org") && made.stderr.contains("90 days"), "{made:?}");
    for name in dir.names() {
        let bytes = dir.read(&name);
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{name} contains the key");
    }
}

#[test]
fn an_admin_key_has_every_scope() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let me = service.get("/api/v1/me", &key).expect(200).json();
    assert_eq!(me["user"]["email"], "root@example.org");
    assert_eq!(me["user"]["role"], "admin");
    assert_eq!(me["auth"]["type"], "api_key");
    let scopes = [
        "candidates:read",
        "candidates:write",
        "roles:read",
        "roles:write",
        "pipeline:write",
        "admin:read",
        "admin:write",
    ];
    assert_eq!(me["auth"]["scopes"], json!(scopes));
    assert_eq!(only_key(&service, &key)["owner"]["name"], "root");
}

#[test]
fn a_running_service_accepts_a_new_admin_key_at_once() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db"]);
    let key = dir.admin_key("a.db");
    service.get("/api/v1/me", &key).expect(200);
    let second = dir.admin_key("a.db");
    assert_ne!(key, second);
    service.get("/api/v1/me", &key).expect(200);
    service.get("/api/v1/me", &second).expect(200);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users"), 1);
}

#[test]
fn bootstrap_admin_promotes_an_existing_user_without_other_changes() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let args = ["bootstrap-admin", "--db", "a.db", "--email", " OWNER@acme.EXAMPLE ", "--name", "Somebody Else"];
    let key = dir.run(&args).succeeded().stdout.trim_end().to_owned();
    let service = dir.serve(&["--db", "a.db"]);
    let me = service.get("/api/v1/me", &key).expect(200).json();
    assert_eq!(me["user"], json!({ "id": "user_owner", "email": "Owner@Acme.example", "role": "admin" }));
    let owner = only_key(&service, &key)["owner"].clone();
    assert_eq!(owner["name"], "The Owner");
    assert_eq!(owner["platformRole"], "admin");
    assert_eq!((owner["orgRole"].clone(), owner["organizationId"].clone()), (json!("owner"), json!("org_acme")));
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users"), 2);
}

#[test]
fn bootstrap_admin_sets_the_given_name() {
    let dir = WorkDir::new();
    let args = ["bootstrap-admin", "--db", "a.db", "--email", "ada@example.org", "--name", "Ada Lovelace"];
    let key = dir.run(&args).succeeded().stdout.trim_end().to_owned();
    let service = dir.serve(&["--db", "a.db"]);
    assert_eq!(only_key(&service, &key)["owner"]["name"], "Ada Lovelace");
}

#[test]
fn an_admin_key_expires_after_the_given_days() {
    for (args, days) in [(&[][..], 90), (&["--expires-in-days", "1"], 1), (&["--expires-in-days", "365"], 365)] {
        let dir = WorkDir::new();
        let args = [&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"], args].concat();
        let key = dir.run(&args).succeeded().stdout.trim_end().to_owned();
        let service = dir.serve(&["--db", "a.db"]);
        let listed = only_key(&service, &key);
        let at = |name: &str| Timestamp::parse(listed[name].as_str().unwrap(), Rounding::Down).unwrap();
        assert_eq!(at("expiresAt").micros() - at("createdAt").micros(), days * 86_400_000_000, "{days}");
    }
}

#[test]
fn bootstrap_admin_creates_nothing_if_it_cannot_print_the_key() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let counts = || {
        let sql = "SELECT (SELECT count(*) FROM users) * 100 + (SELECT count(*) FROM api_keys) * 10
                     + (SELECT count(*) FROM users WHERE platform_role = 'admin')";
        dir.number("a.db", sql)
    };
    assert_eq!(counts(), 200);
    // The first address is new. The second belongs to an existing user.
    for email in ["root@example.org", "owner@acme.example"] {
        let args = ["bootstrap-admin", "--db", "a.db", "--email", email];
        let output = dir.run_with_full_stdout(&args).failed(1, "cannot write to standard output");
        assert!(!output.stderr.contains("rpk_"), "{output:?}");
        assert_eq!(counts(), 200, "{email}");
    }
    dir.admin_key("a.db");
    assert_eq!(counts(), 311);
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_password_has_12_to_1000_characters() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let owner = "owner@acme.example";
    for (input, characters) in
        [("", 0), ("\n", 0), ("12345678901", 11), ("12345678901\n", 11), ("ääääääääää\u{1f980}\r\n", 11)]
    {
        set_password(&dir, owner, input.as_bytes()).failed(1, &format!("this one has {characters}"));
    }
    set_password(&dir, owner, "a".repeat(1_001).as_bytes()).failed(1, "12 to 1000 characters");
    set_password(&dir, owner, "a".repeat(1_000_000).as_bytes()).failed(1, "12 to 1000 characters");
    set_password(&dir, owner, b"correct horse \xff battery").failed(1, "cannot be read");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 0);
    for input in ["tin boat old", "мой дом стар", &"tin boat old. ".repeat(80)[..1_000]] {
        let output = set_password(&dir, owner, input.as_bytes()).succeeded();
        assert_eq!(output.stdout, "");
        assert!(!output.stderr.contains(input), "{output:?}");
        assert!(output.stderr.contains(owner), "{output:?}");
    }
}

#[test]
fn easily_guessed_passwords_are_refused() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let owner = "owner@acme.example";
    for (input, why) in [
        ("password1234", "first that attackers try"),
        ("Summer2026!!", "first that attackers try"),
        ("123456789012", "first that attackers try"),
        ("qwertyuiop12", "first that attackers try"),
        ("ääääääääääää", "repeats"),
        ("letmeinletmein\n", "repeats"),
        ("owner@acme.example", "address or name"),
        ("OWNER@acme.example1", "address or name"),
    ] {
        let output = set_password(&dir, owner, input.as_bytes());
        output.failed(1, why);
    }
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 0);
    set_password(&dir, owner, b"three old tin boats").succeeded();
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 1);
}

#[test]
fn the_final_line_end_of_the_input_is_not_part_of_the_password() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    for input in ["first horse battery\n", "first horse battery\r\n", "first horse battery"] {
        set_password(&dir, "owner@acme.example", input.as_bytes()).succeeded();
        service.sign_in("owner@acme.example", "first horse battery").expect(200);
    }
    // Spaces are part of the password.
    set_password(&dir, "owner@acme.example", b" first horse battery \n").succeeded();
    service.sign_in("owner@acme.example", "first horse battery").expect(401);
    service.sign_in("owner@acme.example", " first horse battery ").expect(200);
}

#[test]
fn set_password_requires_an_existing_user() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    set_password(&dir, "nobody@acme.example", b"correct horse battery")
        .failed(1, "there is no user with the address nobody@acme.example");
    set_password(&dir, "OWNER@ACME.EXAMPLE", b"correct horse battery").succeeded();
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 1);
}

#[test]
fn a_new_password_ends_the_sessions_of_its_user() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    set_password(&dir, "owner@acme.example", b"first horse battery").succeeded();
    let service = dir.serve(&["--db", "a.db"]);
    let signed = service.sign_in("owner@acme.example", "first horse battery").expect(200);
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let me = || service.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "");
    assert_eq!(me().expect(200).json()["user"]["id"], "user_owner");
    set_password(&dir, "owner@acme.example", b"second horse battery").succeeded();
    me().expect(401);
    service.sign_in("owner@acme.example", "first horse battery").expect(401);
    service.sign_in("owner@acme.example", "second horse battery").expect(200);
}

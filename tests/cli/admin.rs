//! `bootstrap-admin` and `set-password`.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::support::{Ended, Place, is_key};

/// The admin's own key, as the list of keys has it.
fn only_key(serving: &crate::support::Serving, key: &str) -> Value {
    let listed = serving.get("/api/admin/api-keys", key).expect(200).json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    listed["data"][0].clone()
}

fn set_password(place: &Place, email: &str, input: &[u8]) -> Ended {
    place.run_with(&["set-password", "--db", "a.db", "--email", email], &[], input)
}

#[test]
fn the_key_stands_alone_on_its_line_and_nowhere_else() {
    let place = Place::new();
    let made = place.run(&["bootstrap-admin", "--db", "a.db", "--email", "root@example.org"]).succeeded();
    let key = made.stdout.strip_suffix('\n').unwrap();
    assert!(is_key(key) && key.starts_with("rpk_") && key.len() == 42, "{made:?}");
    assert!(!made.stderr.contains("rpk_"), "{made:?}");
    assert!(made.stderr.contains("root@example.org") && made.stderr.contains("90 days"), "{made:?}");
    for name in place.names() {
        let bytes = place.read(&name);
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{name} holds the key");
    }
}

#[test]
fn the_key_works_and_may_everything() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let me = serving.get("/api/v1/me", &key).expect(200).json();
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
    assert_eq!(only_key(&serving, &key)["owner"]["name"], "root");
}

#[test]
fn an_admin_made_while_a_service_runs_is_let_in_at_once() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db"]);
    let key = place.admin_key("a.db");
    serving.get("/api/v1/me", &key).expect(200);
    let second = place.admin_key("a.db");
    assert_ne!(key, second);
    serving.get("/api/v1/me", &key).expect(200);
    serving.get("/api/v1/me", &second).expect(200);
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users"), 1);
}

#[test]
fn an_existing_user_is_promoted_and_stays_who_they_are() {
    let place = Place::new();
    place.imported("a.db");
    let args = ["bootstrap-admin", "--db", "a.db", "--email", " OWNER@acme.EXAMPLE ", "--name", "Somebody Else"];
    let key = place.run(&args).succeeded().stdout.trim_end().to_owned();
    let serving = place.serve(&["--db", "a.db"]);
    let me = serving.get("/api/v1/me", &key).expect(200).json();
    assert_eq!(me["user"], json!({ "id": "user_owner", "email": "Owner@Acme.example", "role": "admin" }));
    let owner = only_key(&serving, &key)["owner"].clone();
    assert_eq!(owner["name"], "The Owner");
    assert_eq!(owner["platformRole"], "admin");
    assert_eq!((owner["orgRole"].clone(), owner["organizationId"].clone()), (json!("owner"), json!("org_acme")));
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users"), 2);
}

#[test]
fn a_new_admin_has_the_name_that_was_given() {
    let place = Place::new();
    let args = ["bootstrap-admin", "--db", "a.db", "--email", "ada@example.org", "--name", "Ada Lovelace"];
    let key = place.run(&args).succeeded().stdout.trim_end().to_owned();
    let serving = place.serve(&["--db", "a.db"]);
    assert_eq!(only_key(&serving, &key)["owner"]["name"], "Ada Lovelace");
}

#[test]
fn the_key_lives_for_the_days_that_were_given() {
    for (args, days) in [(&[][..], 90), (&["--expires-in-days", "1"], 1), (&["--expires-in-days", "365"], 365)] {
        let place = Place::new();
        let args = [&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"], args].concat();
        let key = place.run(&args).succeeded().stdout.trim_end().to_owned();
        let serving = place.serve(&["--db", "a.db"]);
        let listed = only_key(&serving, &key);
        let at = |name: &str| Timestamp::parse(listed[name].as_str().unwrap(), Rounding::Down).unwrap();
        assert_eq!(at("expiresAt").micros() - at("createdAt").micros(), days * 86_400_000_000, "{days}");
    }
}

#[test]
fn a_key_that_cannot_be_printed_is_not_made() {
    let place = Place::new();
    place.imported("a.db");
    let counts = || {
        let sql = "SELECT (SELECT count(*) FROM users) * 100 + (SELECT count(*) FROM api_keys) * 10
                     + (SELECT count(*) FROM users WHERE platform_role = 'admin')";
        place.number("a.db", sql)
    };
    assert_eq!(counts(), 200);
    // Neither for somebody new nor for somebody who is there.
    for email in ["root@example.org", "owner@acme.example"] {
        let args = ["bootstrap-admin", "--db", "a.db", "--email", email];
        let ended = place.run_without_room(&args).failed(1, "standard output cannot be written");
        assert!(!ended.stderr.contains("rpk_"), "{ended:?}");
        assert_eq!(counts(), 200, "{email}");
    }
    place.admin_key("a.db");
    assert_eq!(counts(), 311);
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_password_has_12_to_1000_characters() {
    let place = Place::new();
    place.imported("a.db");
    let owner = "owner@acme.example";
    for (input, characters) in
        [("", 0), ("\n", 0), ("12345678901", 11), ("12345678901\n", 11), ("ääääääääää\u{1f980}\r\n", 11)]
    {
        set_password(&place, owner, input.as_bytes()).failed(1, &format!("this one has {characters}"));
    }
    set_password(&place, owner, "a".repeat(1_001).as_bytes()).failed(1, "12 to 1000 characters");
    set_password(&place, owner, "a".repeat(1_000_000).as_bytes()).failed(1, "12 to 1000 characters");
    set_password(&place, owner, b"correct horse \xff battery").failed(1, "cannot be read");
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 0);
    for input in ["tin boat old", "мой дом стар", &"tin boat old. ".repeat(80)[..1_000]] {
        let ended = set_password(&place, owner, input.as_bytes()).succeeded();
        assert_eq!(ended.stdout, "");
        assert!(
            !ended.stderr.contains(input) && ended.stderr.contains("Owner@Acme.example")
                || ended.stderr.contains(owner)
        );
    }
}

#[test]
fn a_password_that_is_easily_guessed_is_refused() {
    let place = Place::new();
    place.imported("a.db");
    let owner = "owner@acme.example";
    for (input, why) in [
        ("password1234", "guessed first"),
        ("Summer2026!!", "guessed first"),
        ("123456789012", "guessed first"),
        ("qwertyuiop12", "guessed first"),
        ("ääääääääääää", "repeats"),
        ("letmeinletmein\n", "repeats"),
        ("owner@acme.example", "address or name"),
        ("OWNER@acme.example1", "address or name"),
    ] {
        let ended = set_password(&place, owner, input.as_bytes());
        ended.failed(1, why);
    }
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 0);
    set_password(&place, owner, b"three old tin boats").succeeded();
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 1);
}

#[test]
fn a_line_end_behind_a_password_does_not_count() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    for input in ["first horse battery\n", "first horse battery\r\n", "first horse battery"] {
        set_password(&place, "owner@acme.example", input.as_bytes()).succeeded();
        serving.sign_in("owner@acme.example", "first horse battery").expect(200);
    }
    // A space is part of it, and so is a second line end.
    set_password(&place, "owner@acme.example", b" first horse battery \n").succeeded();
    serving.sign_in("owner@acme.example", "first horse battery").expect(401);
    serving.sign_in("owner@acme.example", " first horse battery ").expect(200);
}

#[test]
fn a_password_is_for_a_user_who_is_there() {
    let place = Place::new();
    place.imported("a.db");
    set_password(&place, "nobody@acme.example", b"correct horse battery")
        .failed(1, "there is no user with the address nobody@acme.example");
    set_password(&place, "OWNER@ACME.EXAMPLE", b"correct horse battery").succeeded();
    assert_eq!(place.number("a.db", "SELECT count(*) FROM users WHERE password_hash IS NOT NULL"), 1);
}

#[test]
fn a_new_password_ends_the_sessions_of_the_old_one() {
    let place = Place::new();
    place.imported("a.db");
    set_password(&place, "owner@acme.example", b"first horse battery").succeeded();
    let serving = place.serve(&["--db", "a.db"]);
    let signed = serving.sign_in("owner@acme.example", "first horse battery").expect(200);
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let me = || serving.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "");
    assert_eq!(me().expect(200).json()["user"]["id"], "user_owner");
    set_password(&place, "owner@acme.example", b"second horse battery").succeeded();
    me().expect(401);
    serving.sign_in("owner@acme.example", "first horse battery").expect(401);
    serving.sign_in("owner@acme.example", "second horse battery").expect(200);
}

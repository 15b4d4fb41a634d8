//! The database file: who makes one, and which are refused, untouched.

use crate::support::{Place, mode};

/// Every command that works on a file, with what else it needs.
const COMMANDS: [&[&str]; 8] = [
    &["serve", "--listen", "127.0.0.1:0"],
    &["bootstrap-admin", "--email", "a@example.org"],
    &["set-password", "--email", "a@example.org"],
    &["import", "document.json"],
    &["export"],
    &["backup", "copy.db"],
    &["check"],
    &["hr-deliveries"],
];

/// Runs every command on a file that none can use: 78 from `serve`, 1 from the others, and this in the sentence.
fn every_command_refuses(place: &Place, db: &str, sentence: &str) {
    place.write("document.json", "{}");
    for command in COMMANDS {
        let ended = place.run_with(&[command, &["--db", db]].concat(), &[], b"correct horse battery");
        let code = if command[0] == "serve" { 78 } else { 1 };
        let ended = ended.failed(code, sentence);
        assert!(ended.stderr.contains(db), "{ended:?}");
        assert!(!place.path("copy.db").exists(), "{command:?}");
    }
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let place = Place::new();
    for bytes in [b"hello\n".to_vec(), b"%PDF-1.7\n".repeat(1_000), vec![0; 4_096]] {
        place.write("a.db", &bytes);
        every_command_refuses(&place, "a.db", "is not a file of this program");
        assert_eq!(place.read("a.db"), bytes);
    }
}

#[test]
fn another_programs_database_is_refused() {
    let place = Place::new();
    place.change("a.db", "PRAGMA application_id = 123456; CREATE TABLE a (b INTEGER);");
    place.change("b.db", "CREATE TABLE a (b INTEGER); PRAGMA user_version = 1;");
    place.change("c.db", "PRAGMA application_id = 123456;");
    for db in ["a.db", "b.db", "c.db"] {
        let bytes = place.read(db);
        every_command_refuses(&place, db, "is not a file of this program");
        assert_eq!(place.read(db), bytes);
    }
}

#[test]
fn a_newer_file_is_refused_and_stays_as_it_is() {
    let place = Place::new();
    place.imported("a.db");
    place.change("a.db", "PRAGMA user_version = 99;");
    let bytes = place.read("a.db");
    every_command_refuses(&place, "a.db", "has version 99");
    assert_eq!(place.read("a.db"), bytes);
    assert_eq!(std::fs::metadata(place.path("a.db-wal")).map_or(0, |metadata| metadata.len()), 0);
}

#[test]
fn an_older_file_is_left_to_serve() {
    let place = Place::new();
    place.imported("a.db");
    place.change("a.db", "PRAGMA user_version = 0;");
    let bytes = place.read("a.db");
    for command in &COMMANDS[1..] {
        let ended = place.run_with(&[*command, &["--db", "a.db"]].concat(), &[], b"correct horse battery");
        ended.failed(1, "start `appliance serve` on it once to upgrade it");
    }
    assert_eq!(place.read("a.db"), bytes);
}

#[test]
fn a_directory_is_no_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("a.db")).unwrap();
    every_command_refuses(&place, "a.db", "is not a file of this program");
}

#[test]
fn a_device_is_no_file() {
    let place = Place::new();
    for device in ["/dev/null", "/dev/zero"] {
        every_command_refuses(&place, device, "is not a file of this program");
    }
    assert_eq!(place.names(), ["document.json"]);
}

#[test]
fn every_name_is_the_name_of_a_file() {
    let place = Place::new();
    let names =
        ["file:x.db", "file:x?mode=memory", ":memory:", "file::memory:?cache=shared", "a?b#c%41 d.db", " ü .db"];
    for (number, name) in names.into_iter().enumerate() {
        let key = place.admin_key(name);
        assert!(std::fs::metadata(place.path(name)).unwrap().len() > 0 && mode(&place.path(name)) == 0o600, "{name}");
        let serving = place.serve(&["--db", name]);
        assert_eq!(serving.get("/api/v1/me", &key).expect(200).json()["user"]["role"], "admin", "{name}");
        // To a name of the same kind, while it is served.
        let copy = format!("{}{number}", names[(number + 1) % names.len()]);
        place.run(&["backup", "--db", name, &copy]).succeeded();
        serving.stop("TERM").succeeded();
        assert!(std::fs::metadata(place.path(&copy)).unwrap().len() > 0, "{copy}");
        assert_eq!(mode(&place.path(&copy)), 0o600, "{copy}");
        place.run(&["check", "--db", &copy]).succeeded();
        assert_eq!(place.number(&copy, "SELECT count(*) FROM users"), 1, "{copy}");
        assert_eq!(place.number(&copy, "SELECT count(*) FROM api_key_usage"), 1, "{copy}");
        place.serve(&["--db", &copy]).get("/api/v1/me", &key).expect(200);
    }
    // To exactly such a name too.
    for target in ["copies/:memory:", "copies/file:x?mode=memory"] {
        let _ = std::fs::create_dir(place.path("copies"));
        place.run(&["backup", "--db", names[0], target]).succeeded();
        place.run(&["check", "--db", target]).succeeded();
    }
    place.run(&["backup", "--db", names[0], "file:y?mode=memory"]).succeeded();
    std::fs::remove_file(place.path(":memory:")).unwrap();
    place.run(&["backup", "--db", names[0], ":memory:"]).succeeded();
    for target in ["file:y?mode=memory", ":memory:"] {
        assert!(std::fs::metadata(place.path(target)).unwrap().len() > 0, "{target}");
        place.run(&["check", "--db", target]).succeeded();
    }
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let place = Place::new();
    place.write("plain", "a file");
    every_command_refuses(&place, "plain/a.db", "cannot be written");
    assert_eq!(place.names(), ["document.json", "plain"]);
}

#[test]
fn a_missing_directory_is_refused() {
    let place = Place::new();
    place.write("document.json", "{}");
    for command in COMMANDS {
        let ended = place.run_with(&[command, &["--db", "none/a.db"]].concat(), &[], b"correct horse battery");
        let (code, sentence) = match command[0] {
            "serve" => (78, "cannot be written"),
            "bootstrap-admin" | "import" => (1, "cannot be written"),
            _ => (1, "does not exist"),
        };
        ended.failed(code, sentence);
    }
    assert_eq!(place.names(), ["document.json"]);
}

#[test]
fn a_read_only_file_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.imported("a.db");
    std::fs::set_permissions(place.path("a.db"), std::fs::Permissions::from_mode(0o400)).unwrap();
    // Whoever runs the tests as root may write it all the same, and nothing is to be seen.
    if std::fs::OpenOptions::new().append(true).open(place.path("a.db")).is_err() {
        place.run(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).failed(78, "cannot be written");
        place.run(&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"]).failed(1, "cannot be written");
    }
}

#[test]
fn only_serve_import_and_bootstrap_admin_make_a_file() {
    let place = Place::new();
    for command in [
        &["set-password", "--email", "a@example.org"][..],
        &["export"],
        &["backup", "copy.db"],
        &["check"],
        &["hr-deliveries"],
    ] {
        let ended = place.run_with(&[command, &["--db", "a.db"]].concat(), &[], b"correct horse battery");
        ended.failed(1, "a.db does not exist");
        assert_eq!(place.names(), Vec::<String>::new(), "{command:?}");
    }
    place.run(&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"]).succeeded();
    place.run_with(&["import", "--db", "b.db", "-"], &[], b"{}").succeeded();
    place.serve(&["--db", "c.db"]).stop("TERM").succeeded();
    for db in ["a.db", "b.db", "c.db"] {
        assert_eq!(mode(&place.path(db)), 0o600, "{db}");
        place.run(&["check", "--db", db]).succeeded();
    }
}

#[test]
fn an_empty_file_is_filled_by_who_would_have_made_it() {
    let place = Place::new();
    place.write("a.db", "");
    for command in [&["export"][..], &["check"], &["backup", "copy.db"]] {
        place.run(&[command, &["--db", "a.db"]].concat()).failed(1, "is not a file of this program");
    }
    assert_eq!(place.read("a.db"), b"");
    place.admin_key("a.db");
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn without_a_name_the_file_is_appliance_db() {
    let place = Place::new();
    place.run(&["bootstrap-admin", "--email", "a@example.org"]).succeeded();
    assert!(place.names().contains(&"appliance.db".to_owned()));
    place.run(&["check"]).succeeded();
    place.serve(&[]).stop("TERM").succeeded();
    assert!(!place.names().contains(&"demo.db".to_owned()));
}

#[test]
fn serve_makes_no_new_service_of_an_empty_file() {
    let place = Place::new();
    place.write("a.db", "");
    place.change("b.db", "VACUUM");
    for db in ["a.db", "b.db"] {
        let before = place.read(db);
        place.run(&["serve", "--db", db, "--listen", "127.0.0.1:0"]).failed(78, &format!("{db} is empty"));
        assert_eq!(place.read(db), before);
    }
    assert_eq!(place.names(), ["a.db", "b.db"]);
}

#[test]
fn serve_leaves_nothing_beside_a_file_that_is_not_its_own() {
    let place = Place::new();
    place.write("text.db", "hello\n".repeat(1_000));
    place.change("other.db", "PRAGMA application_id = 123456; CREATE TABLE a (b INTEGER);");
    let before = place.names();
    for db in ["text.db", "other.db"] {
        let ended = place.run(&["serve", "--db", db, "--listen", "127.0.0.1:0"]);
        ended.failed(78, "is not a file of this program");
    }
    assert_eq!(place.names(), before);
    place.imported("newer.db");
    place.change("newer.db", "PRAGMA user_version = 99;");
    place.run(&["serve", "--db", "newer.db", "--listen", "127.0.0.1:0"]).failed(78, "has version 99");
    assert!(!place.path("newer.db.lock").exists());
}

#[test]
fn a_file_that_others_may_read_is_refused_with_the_command_that_mends_it() {
    let place = Place::new();
    place.imported("a.db");
    let set_mode = |mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(place.path("a.db"), mode).unwrap();
    };
    for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
        set_mode(mode);
        every_command_refuses(&place, "a.db", &format!("(mode {mode:04o}) and holds personal data; run `chmod 600 "));
    }
    set_mode(0o600);
    place.run(&["check", "--db", "a.db"]).succeeded();
    place.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    // One of the owner alone, whatever the mode was that it was empty with.
    place.write("b.db", "");
    place.admin_key("b.db");
    assert_eq!(mode(&place.path("b.db")), 0o600);
}

#[test]
fn no_file_is_made_beside_the_log_of_one_that_is_gone() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    serving.get("/api/v1/me", &key).expect(200);
    serving.stop("KILL");
    std::fs::rename(place.path("a.db"), place.path("moved.db")).unwrap();
    let log = place.read("a.db-wal");
    place.run(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).failed(78, "a.db-wal does, with what");
    place.run(&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"]).failed(1, "put the file back");
    assert_eq!(place.read("a.db-wal"), log);
    std::fs::rename(place.path("moved.db"), place.path("a.db")).unwrap();
    place.serve(&["--db", "a.db"]).get("/api/v1/me", &key).expect(200);
}

#[test]
fn a_file_is_made_whole_or_not_at_all() {
    let place = Place::new();
    // A process that was killed left this of its file.
    place.write("a.db.new", "half a file");
    place.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    assert_eq!((mode(&place.path("a.db")), place.path("a.db.new").exists()), (0o600, false));
    // Many at once make one.
    let commands: Vec<_> = (0..8).map(|number| format!("a{number}@example.org")).collect();
    let place = &place;
    std::thread::scope(|scope| {
        for email in &commands {
            scope.spawn(move || place.run(&["bootstrap-admin", "--db", "b.db", "--email", email]).succeeded());
        }
    });
    assert_eq!(place.number("b.db", "SELECT count(*) FROM users"), 8);
    assert!(!place.path("b.db.new").exists());
}

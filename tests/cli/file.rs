//! The database file: which commands create one, and which files they refuse and leave unchanged.

use crate::support::{WorkDir, mode};

/// Some of the commands that use a file, with their required arguments.
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

/// Checks that each of the [`COMMANDS`] refuses the file with this sentence. The exit status is 78 for `serve` and 1
/// for the others.
fn every_command_refuses(dir: &WorkDir, db: &str, sentence: &str) {
    dir.write("document.json", "{}");
    for command in COMMANDS {
        let output = dir.run_with(&[command, &["--db", db]].concat(), &[], b"correct horse battery");
        let code = if command[0] == "serve" { 78 } else { 1 };
        let output = output.failed(code, sentence);
        assert!(output.stderr.contains(db), "{output:?}");
        assert!(!dir.path("copy.db").exists(), "{command:?}");
    }
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let dir = WorkDir::new();
    for bytes in [b"hello\n".to_vec(), b"%PDF-1.7\n".repeat(1_000), vec![0; 4_096]] {
        dir.write("a.db", &bytes);
        every_command_refuses(&dir, "a.db", "is not an appliance database file");
        assert_eq!(dir.read("a.db"), bytes);
    }
}

#[test]
fn the_database_of_another_program_is_refused() {
    let dir = WorkDir::new();
    dir.change("a.db", "PRAGMA application_id = 123456; CREATE TABLE a (b INTEGER);");
    dir.change("b.db", "CREATE TABLE a (b INTEGER); PRAGMA user_version = 1;");
    dir.change("c.db", "PRAGMA application_id = 123456;");
    for db in ["a.db", "b.db", "c.db"] {
        let bytes = dir.read(db);
        every_command_refuses(&dir, db, "is not an appliance database file");
        assert_eq!(dir.read(db), bytes);
    }
}

#[test]
fn a_newer_file_is_refused_and_not_changed() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.change("a.db", "PRAGMA user_version = 99;");
    let bytes = dir.read("a.db");
    every_command_refuses(&dir, "a.db", "has version 99");
    assert_eq!(dir.read("a.db"), bytes);
    assert_eq!(std::fs::metadata(dir.path("a.db-wal")).map_or(0, |metadata| metadata.len()), 0);
}

#[test]
fn commands_other_than_serve_refuse_an_older_file() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.change("a.db", "PRAGMA user_version = 0;");
    let bytes = dir.read("a.db");
    for command in &COMMANDS[1..] {
        let output = dir.run_with(&[*command, &["--db", "a.db"]].concat(), &[], b"correct horse battery");
        output.failed(1, "start `appliance serve` on it once to upgrade it");
    }
    assert_eq!(dir.read("a.db"), bytes);
}

#[test]
fn a_directory_is_refused() {
    let dir = WorkDir::new();
    std::fs::create_dir(dir.path("a.db")).unwrap();
    every_command_refuses(&dir, "a.db", "is not an appliance database file");
}

#[test]
fn a_device_is_refused() {
    let dir = WorkDir::new();
    for device in ["/dev/null", "/dev/zero"] {
        every_command_refuses(&dir, device, "is not an appliance database file");
    }
    assert_eq!(dir.names(), ["document.json"]);
}

#[test]
fn names_that_look_like_sqlite_uris_are_plain_file_names() {
    let dir = WorkDir::new();
    let names =
        ["file:x.db", "file:x?mode=memory", ":memory:", "file::memory:?cache=shared", "a?b#c%41 d.db", " ü .db"];
    for (number, name) in names.into_iter().enumerate() {
        let key = dir.admin_key(name);
        assert!(std::fs::metadata(dir.path(name)).unwrap().len() > 0 && mode(&dir.path(name)) == 0o600, "{name}");
        let service = dir.serve(&["--db", name]);
        assert_eq!(service.get("/api/v1/me", &key).expect(200).json()["user"]["role"], "admin", "{name}");
        // Back up a running service to a name of the same kind.
        let copy = format!("{}{number}", names[(number + 1) % names.len()]);
        dir.run(&["backup", "--db", name, &copy]).succeeded();
        service.stop("TERM").succeeded();
        assert!(std::fs::metadata(dir.path(&copy)).unwrap().len() > 0, "{copy}");
        assert_eq!(mode(&dir.path(&copy)), 0o600, "{copy}");
        dir.run(&["check", "--db", &copy]).succeeded();
        assert_eq!(dir.number(&copy, "SELECT count(*) FROM users"), 1, "{copy}");
        assert_eq!(dir.number(&copy, "SELECT count(*) FROM api_key_usage"), 1, "{copy}");
        dir.serve(&["--db", &copy]).get("/api/v1/me", &key).expect(200);
    }
    // Back up to exactly these names.
    for target in ["copies/:memory:", "copies/file:x?mode=memory"] {
        let _ = std::fs::create_dir(dir.path("copies"));
        dir.run(&["backup", "--db", names[0], target]).succeeded();
        dir.run(&["check", "--db", target]).succeeded();
    }
    dir.run(&["backup", "--db", names[0], "file:y?mode=memory"]).succeeded();
    std::fs::remove_file(dir.path(":memory:")).unwrap();
    dir.run(&["backup", "--db", names[0], ":memory:"]).succeeded();
    for target in ["file:y?mode=memory", ":memory:"] {
        assert!(std::fs::metadata(dir.path(target)).unwrap().len() > 0, "{target}");
        dir.run(&["check", "--db", target]).succeeded();
    }
}

#[test]
fn an_unwritable_path_is_refused() {
    let dir = WorkDir::new();
    dir.write("plain", "a file");
    dir.write("document.json", "{}");
    for command in COMMANDS {
        let output = dir.run_with(&[command, &["--db", "plain/a.db"]].concat(), &[], b"correct horse battery");
        let (code, sentence) = match command[0] {
            "serve" => (78, "plain/a.db cannot be written"),
            "export" | "backup" | "check" => (1, "plain/a.db cannot be used"),
            _ => (1, "plain/a.db cannot be written"),
        };
        output.failed(code, sentence);
    }
    assert_eq!(dir.names(), ["document.json", "plain"]);
}

#[test]
fn a_missing_directory_is_refused() {
    let dir = WorkDir::new();
    dir.write("document.json", "{}");
    for command in COMMANDS {
        let output = dir.run_with(&[command, &["--db", "none/a.db"]].concat(), &[], b"correct horse battery");
        let (code, sentence) = match command[0] {
            "serve" => (78, "cannot be written"),
            "bootstrap-admin" | "import" => (1, "cannot be written"),
            _ => (1, "does not exist"),
        };
        output.failed(code, sentence);
    }
    assert_eq!(dir.names(), ["document.json"]);
}

#[test]
fn a_read_only_file_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = WorkDir::new();
    dir.imported("a.db");
    std::fs::set_permissions(dir.path("a.db"), std::fs::Permissions::from_mode(0o400)).unwrap();
    // Root can write to the file despite its mode, so this part runs only for other users.
    if std::fs::OpenOptions::new().append(true).open(dir.path("a.db")).is_err() {
        dir.run(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).failed(78, "cannot be written");
        dir.run(&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"]).failed(1, "cannot be written");
    }
}

#[test]
fn serve_import_and_bootstrap_admin_create_a_missing_file() {
    let dir = WorkDir::new();
    for command in [
        &["set-password", "--email", "a@example.org"][..],
        &["export"],
        &["backup", "copy.db"],
        &["check"],
        &["hr-deliveries"],
    ] {
        let output = dir.run_with(&[command, &["--db", "a.db"]].concat(), &[], b"correct horse battery");
        output.failed(1, "a.db does not exist");
        assert_eq!(dir.names(), Vec::<String>::new(), "{command:?}");
    }
    dir.run(&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"]).succeeded();
    dir.run_with(&["import", "--db", "b.db", "-"], &[], b"{}").succeeded();
    dir.serve(&["--db", "c.db"]).stop("TERM").succeeded();
    for db in ["a.db", "b.db", "c.db"] {
        assert_eq!(mode(&dir.path(db)), 0o600, "{db}");
        dir.run(&["check", "--db", db]).succeeded();
    }
}

#[test]
fn bootstrap_admin_fills_an_empty_file_and_other_commands_refuse_it() {
    let dir = WorkDir::new();
    dir.write("a.db", "");
    for command in [&["export"][..], &["check"], &["backup", "copy.db"]] {
        dir.run(&[command, &["--db", "a.db"]].concat()).failed(1, "is not an appliance database file");
    }
    assert_eq!(dir.read("a.db"), b"");
    dir.admin_key("a.db");
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn the_default_file_is_appliance_db() {
    let dir = WorkDir::new();
    dir.run(&["bootstrap-admin", "--email", "a@example.org"]).succeeded();
    assert!(dir.names().contains(&"appliance.db".to_owned()));
    dir.run(&["check"]).succeeded();
    dir.serve(&[]).stop("TERM").succeeded();
    assert!(!dir.names().contains(&"demo.db".to_owned()));
}

#[test]
fn serve_refuses_an_empty_file() {
    let dir = WorkDir::new();
    dir.write("a.db", "");
    dir.change("b.db", "VACUUM");
    for db in ["a.db", "b.db"] {
        let before = dir.read(db);
        dir.run(&["serve", "--db", db, "--listen", "127.0.0.1:0"]).failed(78, &format!("{db} is empty"));
        assert_eq!(dir.read(db), before);
    }
    assert_eq!(dir.names(), ["a.db", "b.db"]);
}

#[test]
fn serve_creates_no_files_beside_a_file_of_another_program() {
    let dir = WorkDir::new();
    dir.write("text.db", "hello\n".repeat(1_000));
    dir.change("other.db", "PRAGMA application_id = 123456; CREATE TABLE a (b INTEGER);");
    let before = dir.names();
    for db in ["text.db", "other.db"] {
        let output = dir.run(&["serve", "--db", db, "--listen", "127.0.0.1:0"]);
        output.failed(78, "is not an appliance database file");
    }
    assert_eq!(dir.names(), before);
    dir.imported("newer.db");
    dir.change("newer.db", "PRAGMA user_version = 99;");
    dir.run(&["serve", "--db", "newer.db", "--listen", "127.0.0.1:0"]).failed(78, "has version 99");
    assert!(!dir.path("newer.db.lock").exists());
}

#[test]
fn a_file_open_to_other_users_is_refused_with_the_command_that_repairs_it() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let set_mode = |mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(dir.path("a.db"), mode).unwrap();
    };
    for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
        set_mode(mode);
        every_command_refuses(&dir, "a.db", &format!("(mode {mode:04o}) and holds personal data; run `chmod 600 "));
    }
    set_mode(0o600);
    dir.run(&["check", "--db", "a.db"]).succeeded();
    dir.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    // A file that was empty gets mode 0600 when it is filled.
    dir.write("b.db", "");
    dir.admin_key("b.db");
    assert_eq!(mode(&dir.path("b.db")), 0o600);
}

#[test]
fn no_file_is_created_beside_the_write_ahead_log_of_a_missing_file() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/v1/me", &key).expect(200);
    service.stop("KILL");
    std::fs::rename(dir.path("a.db"), dir.path("moved.db")).unwrap();
    let log = dir.read("a.db-wal");
    dir.run(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"])
        .failed(78, "a.db-wal exists and contains the latest changes");
    dir.run(&["bootstrap-admin", "--db", "a.db", "--email", "a@example.org"]).failed(1, "put the file back");
    assert_eq!(dir.read("a.db-wal"), log);
    std::fs::rename(dir.path("moved.db"), dir.path("a.db")).unwrap();
    dir.serve(&["--db", "a.db"]).get("/api/v1/me", &key).expect(200);
}

#[test]
fn a_new_file_is_complete_or_absent() {
    let dir = WorkDir::new();
    // A killed process left this incomplete file.
    dir.write("a.db.new", "half a file");
    dir.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    assert_eq!((mode(&dir.path("a.db")), dir.path("a.db.new").exists()), (0o600, false));
    // Parallel commands create one file.
    let commands: Vec<_> = (0..8).map(|number| format!("a{number}@example.org")).collect();
    let dir = &dir;
    std::thread::scope(|scope| {
        for email in &commands {
            scope.spawn(move || dir.run(&["bootstrap-admin", "--db", "b.db", "--email", email]).succeeded());
        }
    });
    assert_eq!(dir.number("b.db", "SELECT count(*) FROM users"), 8);
    assert!(!dir.path("b.db.new").exists());
}

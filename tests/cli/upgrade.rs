//! `upgrade` and `upgrade --check`: which files they refuse, and that a check changes nothing.

use crate::support::WorkDir;

#[test]
fn a_file_of_this_version_needs_no_upgrade() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let before = (dir.names(), dir.read("a.db"));
    for args in [&["upgrade", "--check", "a.db"][..], &["upgrade", "a.db"], &["upgrade", "--db", "a.db", "--check"]] {
        let output = dir.run(args).succeeded();
        assert_eq!(output.stdout, "", "{args:?}");
        assert_eq!(
            output.stderr, "a.db already has the format version of this program; there is nothing to upgrade\n",
            "{args:?}"
        );
    }
    assert_eq!((dir.names(), dir.read("a.db")), before);
}

#[test]
fn a_check_works_while_a_service_runs() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    dir.run(&["upgrade", "--check", "a.db"]).succeeded();
    service.send("GET", "/readyz", &[], "").expect(200);
    service.stop("TERM").succeeded();
}

#[test]
fn files_that_cannot_be_upgraded_are_refused_and_not_changed() {
    let dir = WorkDir::new();
    for (db, version, sentence) in [
        ("newer.db", 99, "newer.db has version 99, but this program supports only version"),
        (
            "never.db",
            0,
            "never.db could not be upgraded and was not changed: this program never wrote databases of version 0",
        ),
    ] {
        dir.imported(db);
        dir.change(db, &format!("PRAGMA user_version = {version};"));
        let before = dir.read(db);
        for args in [&["upgrade", "--check", db][..], &["upgrade", db]] {
            dir.run(args).failed(1, sentence);
        }
        assert_eq!(dir.read(db), before);
    }
    dir.write("text.db", "hello\n".repeat(1_000));
    dir.run(&["upgrade", "--check", "text.db"]).failed(1, "is not an appliance database file");
    dir.run(&["upgrade", "--check", "missing.db"]).failed(1, "missing.db does not exist");
    assert!(!dir.names().iter().any(|name| name.contains("missing") || name.contains("before-version")));
}

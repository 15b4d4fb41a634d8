//! `backup` and `check`.

use crate::support::{Place, eventually, mode};

#[test]
fn a_backup_is_a_sound_copy_that_only_its_owner_reads() {
    let place = Place::new();
    place.imported("a.db");
    let ended = place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("a.db") && ended.stderr.contains("copy.db"), "{ended:?}");
    assert_eq!(mode(&place.path("copy.db")), 0o600);
    place.run(&["check", "--db", "copy.db"]).succeeded();
    let export = |db: &str| place.run(&["export", "--db", db, "--with-secrets"]).succeeded().stdout;
    assert_eq!(export("copy.db"), export("a.db"));
}

#[test]
fn a_backup_never_writes_over_a_file() {
    let place = Place::new();
    place.imported("a.db");
    place.write("copy.db", "something of mine");
    place.run(&["backup", "--db", "a.db", "copy.db"]).failed(1, "copy.db cannot be written");
    assert_eq!(place.read("copy.db"), b"something of mine");
    place.write("empty.db", "");
    place.run(&["backup", "--db", "a.db", "empty.db"]).failed(1, "empty.db cannot be written");
    let before = place.read("a.db");
    place.run(&["backup", "--db", "a.db", "a.db"]).failed(1, "a.db cannot be written");
    assert_eq!(place.read("a.db"), before);
    place.run(&["backup", "--db", "a.db", "none/copy.db"]).failed(1, "none/copy.db cannot be written");
}

#[test]
fn a_backup_of_a_running_service_has_what_was_answered() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let authorization = format!("Bearer {key}");
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    serving.send("POST", hire, &[("Authorization", &authorization)], "").expect(200);
    place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let reject = "/api/v1/candidate-steps/cstep_2_1/reject";
    serving.send("POST", reject, &[("Authorization", &authorization)], "").expect(200);
    serving.stop("KILL");
    assert_eq!(place.number("copy.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
    assert_eq!(place.number("copy.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Not Selected'"), 0);
    assert_eq!(place.number("copy.db", "SELECT count(*) FROM api_key_usage"), 1);
    place.run(&["check", "--db", "copy.db"]).succeeded();
    // It is used like any other file, by the same key.
    let restored = place.serve(&["--db", "copy.db"]);
    restored.send("POST", hire, &[("Authorization", &authorization)], "").expect(409);
    restored.send("POST", reject, &[("Authorization", &authorization)], "").expect(200);
}

#[test]
fn a_copy_in_the_place_of_the_file_is_served_under_a_write_ahead_log_again() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    place.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    // Bytes 18 and 19 of a file say how it is written: 2 is with a write-ahead log (SQLite's file format, 1.3.3).
    let mode = |db: &str| {
        let connection = rusqlite::Connection::open(place.path(db)).unwrap();
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        mode
    };
    assert_eq!(place.read("copy.db")[18..20], [1, 1], "else this shows nothing");
    std::fs::rename(place.path("copy.db"), place.path("a.db")).unwrap();
    for name in ["a.db-wal", "a.db-shm"] {
        let _ = std::fs::remove_file(place.path(name));
    }
    let serving = place.serve(&["--db", "a.db"]);
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    serving.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    assert_eq!(mode("a.db"), "wal");
    serving.stop("TERM").succeeded();
    assert_eq!(place.read("a.db")[18..20], [2, 2]);
    assert_eq!(place.number("a.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_sound_file_has_no_findings_also_while_it_is_served() {
    let place = Place::new();
    place.imported("a.db");
    let ended = place.run(&["check", "--db", "a.db"]).succeeded();
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.ends_with("a.db is sound\n"), "{ended:?}");
    let serving = place.serve(&["--db", "a.db"]);
    place.run(&["check", "--db", "a.db"]).succeeded();
    serving.send("GET", "/readyz", &[], "").expect(200);
}

#[test]
fn a_finding_is_on_standard_output_and_fails() {
    for (sql, words) in [
        ("UPDATE organization_statuses SET hired = hired + 1", &["org_acme", "recount"][..]),
        ("UPDATE organization_statuses SET open_roles = 0", &["org_acme", "recount"]),
        ("UPDATE organization_statuses SET in_progress = 7", &["org_acme", "recount"]),
        ("DELETE FROM organization_statuses", &["org_acme", "recount"]),
        (
            "UPDATE candidate_roles SET status = 'Withdrawn', at_role_step_id = NULL, at_since = NULL WHERE id = 'app_1'",
            &["org_acme", "recount"],
        ),
        (
            "PRAGMA foreign_keys = OFF;
             DELETE FROM candidate_words WHERE candidate_number = (SELECT number FROM candidates WHERE id = 'cand_1');
             DELETE FROM candidates WHERE id = 'cand_1'",
            &["foreign key", "candidates"],
        ),
        ("DELETE FROM candidate_words WHERE word = (SELECT min(word) FROM candidate_words)", &["found by"]),
        (
            "INSERT INTO candidate_words (organization_id, in_name, word, candidate_number, block)
             SELECT organization_id, 0, 'zzz', number, number / 1024 FROM candidates WHERE id = 'cand_1'",
            &["1 words", "no name and address"],
        ),
        ("UPDATE candidate_roles SET candidate_number = 2 WHERE id = 'app_1'", &["app_1", "place"]),
        (
            "UPDATE candidate_roles SET at_role_step_id = NULL, at_since = NULL WHERE id = 'app_1'",
            &["app_1", "another step"],
        ),
    ] {
        let place = Place::new();
        place.imported("a.db");
        place.change("a.db", sql);
        let ended = place.run(&["check", "--db", "a.db"]);
        assert_eq!(ended.code, Some(1), "{sql}: {ended:?}");
        assert_eq!(ended.stdout.lines().count(), 1, "{sql}: {ended:?}");
        for word in words {
            assert!(ended.stdout.contains(word), "{sql}: {word}: {ended:?}");
        }
        let last = ended.stderr.lines().last().unwrap();
        assert!(last.starts_with("appliance: a.db has 1 finding;"), "{sql}: {ended:?}");
    }
}

#[test]
fn damage_is_found() {
    let place = Place::new();
    place.imported("a.db");
    let mut bytes = place.read("a.db");
    bytes[8_192..].fill(0xa5);
    place.write("a.db", bytes);
    let ended = place.run(&["check", "--db", "a.db"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("integrity") || ended.stderr.contains("cannot be"), "{ended:?}");
    assert!(!ended.stderr.contains("is sound"), "{ended:?}");
}

#[test]
fn a_backup_that_is_killed_leaves_nothing_under_the_targets_name() {
    let place = Place::new();
    place.imported("a.db");
    // Large enough that a copy is caught under way.
    place.change(
        "a.db",
        "CREATE TABLE filling (bytes BLOB);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO filling SELECT randomblob(10000) FROM n;",
    );
    for _ in 0..3 {
        let mut child = place.command(&["backup", "--db", "a.db", "copy.db"]).spawn().unwrap();
        eventually(|| place.names().iter().any(|name| name.starts_with("copy.db")));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.path("copy.db").exists());
    }
    assert!(place.path("copy.db.partial").exists(), "else it was not caught under way");
    place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert!(!place.path("copy.db.partial").exists());
    assert_eq!(place.number("copy.db", "SELECT count(*) FROM filling"), 3_000);
    place.run(&["check", "--db", "copy.db"]).succeeded();
}

#[test]
fn of_two_backups_to_one_target_one_is_whole_and_the_other_is_refused() {
    let place = Place::new();
    place.imported("a.db");
    let place = &place;
    let ended: Vec<_> = std::thread::scope(|scope| {
        let run = || place.run(&["backup", "--db", "a.db", "copy.db"]);
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ended.iter().filter(|ended| ended.code == Some(0)).count(), 1, "{ended:?}");
    for refused in ended.into_iter().filter(|ended| ended.code != Some(0)) {
        refused.failed(1, "copy.db cannot be written");
    }
    place.run(&["check", "--db", "copy.db"]).succeeded();
    assert!(!place.path("copy.db.partial").exists());
}

#[test]
fn a_backup_takes_the_list_of_who_was_erased_along() {
    let place = Place::new();
    place.imported("a.db");
    place.run(&["backup", "--db", "a.db", "without.db"]).succeeded();
    assert!(!place.path("without.db.erased").exists(), "nobody was erased");
    // The end of a line is what a process that was killed left.
    place.write("a.db.erased", "cand_7\ncand_8 own\ncand_");
    place.write("copy.db.erased.partial", "half a list");
    let ended = place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert!(ended.stderr.contains("copy.db.erased"), "{ended:?}");
    assert_eq!(place.read("copy.db.erased"), b"cand_7\ncand_8 own\n");
    assert_eq!(mode(&place.path("copy.db.erased")), 0o600);
    assert!(!place.path("copy.db.erased.partial").exists());
}

#[test]
fn a_copy_put_back_without_its_list_is_said_to_lack_it() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let erase = |id: &str| {
        let path = format!("/api/v1/candidates/{id}");
        serving.send("DELETE", &path, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    };
    erase("cand_1");
    place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert_eq!(place.read("copy.db.erased"), place.read("a.db.erased"));
    erase("cand_2");
    serving.stop("TERM").succeeded();
    // With the list that came along there is nothing to say.
    std::fs::copy(place.path("copy.db"), place.path("b.db")).unwrap();
    std::fs::copy(place.path("copy.db.erased"), place.path("b.db.erased")).unwrap();
    let ended = place.serve(&["--db", "b.db"]).stop("TERM").succeeded();
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
    // As on another machine: the file alone.
    std::fs::copy(place.path("copy.db"), place.path("c.db")).unwrap();
    let ended = place.serve(&["--db", "c.db"]).stop("TERM").succeeded();
    let warning = ended.stderr.lines().find(|line| line.starts_with("warning: ")).unwrap_or_default();
    assert!(warning.contains("1 candidates were erased") && warning.contains("c.db.erased"), "{ended:?}");
    let list = String::from_utf8(place.read("c.db.erased")).unwrap();
    let lost = String::from_utf8(place.read("copy.db.erased")).unwrap();
    assert!(list.starts_with("cand_1 at=") && list.lines().count() == 1, "{list}");
    // The first list was written before the row of the erasure, this one counts that row.
    let erased = |list: &str| list.split_once(" activity=").unwrap().0.to_owned();
    assert_eq!(erased(&list), erased(&lost), "the list that was lost");
    let ended = place.serve(&["--db", "c.db"]).stop("TERM").succeeded();
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
    // With the list of the original everybody is gone again.
    std::fs::copy(place.path("a.db.erased"), place.path("c.db.erased")).unwrap();
    let mut serving = place.serve(&["--db", "c.db"]);
    serving.wait_for(|line| line.starts_with("erased 1 candidates"));
}

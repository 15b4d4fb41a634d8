//! `backup` and `check`.

use crate::support::{WorkDir, eventually, mode};

#[test]
fn a_backup_is_a_sound_copy_that_only_its_owner_can_read() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let output = dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("a.db") && output.stderr.contains("copy.db"), "{output:?}");
    assert_eq!(mode(&dir.path("copy.db")), 0o600);
    dir.run(&["check", "--db", "copy.db"]).succeeded();
    let export = |db: &str| dir.run(&["export", "--db", db, "--with-secrets"]).succeeded().stdout;
    assert_eq!(export("copy.db"), export("a.db"));
}

#[test]
fn a_backup_never_overwrites_a_file() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.write("copy.db", "something of mine");
    dir.run(&["backup", "--db", "a.db", "copy.db"]).failed(1, "copy.db cannot be written");
    assert_eq!(dir.read("copy.db"), b"something of mine");
    dir.write("empty.db", "");
    dir.run(&["backup", "--db", "a.db", "empty.db"]).failed(1, "empty.db cannot be written");
    let before = dir.read("a.db");
    dir.run(&["backup", "--db", "a.db", "a.db"]).failed(1, "a.db cannot be written");
    assert_eq!(dir.read("a.db"), before);
    dir.run(&["backup", "--db", "a.db", "none/copy.db"]).failed(1, "none/copy.db cannot be written");
}

#[test]
fn a_backup_of_a_running_service_contains_all_answered_changes() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let authorization = format!("Bearer {key}");
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    service.send("POST", hire, &[("Authorization", &authorization)], "").expect(200);
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let reject = "/api/v1/candidate-steps/cstep_2_1/reject";
    service.send("POST", reject, &[("Authorization", &authorization)], "").expect(200);
    service.stop("KILL");
    assert_eq!(dir.number("copy.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
    assert_eq!(dir.number("copy.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Not Selected'"), 0);
    assert_eq!(dir.number("copy.db", "SELECT count(*) FROM api_key_usage"), 1);
    dir.run(&["check", "--db", "copy.db"]).succeeded();
    // A service can run on the backup, and accepts the same key.
    let restored = dir.serve(&["--db", "copy.db"]);
    restored.send("POST", hire, &[("Authorization", &authorization)], "").expect(409);
    restored.send("POST", reject, &[("Authorization", &authorization)], "").expect(200);
}

#[test]
fn a_service_on_a_restored_backup_uses_a_write_ahead_log() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    dir.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    // Bytes 18 and 19 of a file are its write and read versions. The value 2 means a write-ahead log (SQLite's file
    // format, 1.3.3).
    let mode = |db: &str| {
        let connection = rusqlite::Connection::open(dir.path(db)).unwrap();
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        mode
    };
    assert_eq!(dir.read("copy.db")[18..20], [1, 1], "a backup has no write-ahead log");
    std::fs::rename(dir.path("copy.db"), dir.path("a.db")).unwrap();
    for name in ["a.db-wal", "a.db-shm"] {
        let _ = std::fs::remove_file(dir.path(name));
    }
    let service = dir.serve(&["--db", "a.db"]);
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    assert_eq!(mode("a.db"), "wal");
    service.stop("TERM").succeeded();
    assert_eq!(dir.read("a.db")[18..20], [2, 2]);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_sound_file_has_no_findings_even_while_it_is_served() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let output = dir.run(&["check", "--db", "a.db"]).succeeded();
    assert_eq!(output.stdout, "");
    assert!(output.stderr.ends_with("a.db is sound\n"), "{output:?}");
    let service = dir.serve(&["--db", "a.db"]);
    dir.run(&["check", "--db", "a.db"]).succeeded();
    service.send("GET", "/readyz", &[], "").expect(200);
}

#[test]
fn check_prints_each_finding_and_fails() {
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
        ("DELETE FROM candidate_words WHERE word = (SELECT min(word) FROM candidate_words)", &["the word index lacks"]),
        (
            "INSERT INTO candidate_words (organization_id, in_name, word, candidate_number, block)
             SELECT organization_id, 0, 'zzz', number, number / 1024 FROM candidates WHERE id = 'cand_1'",
            &["1 indexed word occurs", "no name or address"],
        ),
        (
            "UPDATE candidate_roles SET candidate_number = 2 WHERE id = 'app_1'",
            &["app_1", "the number of its candidate"],
        ),
        (
            "UPDATE candidate_roles SET at_role_step_id = NULL, at_since = NULL WHERE id = 'app_1'",
            &["app_1", "current step"],
        ),
    ] {
        let dir = WorkDir::new();
        dir.imported("a.db");
        dir.change("a.db", sql);
        let output = dir.run(&["check", "--db", "a.db"]);
        assert_eq!(output.code, Some(1), "{sql}: {output:?}");
        assert_eq!(output.stdout.lines().count(), 1, "{sql}: {output:?}");
        for word in words {
            assert!(output.stdout.contains(word), "{sql}: {word}: {output:?}");
        }
        let last = output.stderr.lines().last().unwrap();
        assert!(last.starts_with("appliance: a.db has 1 finding;"), "{sql}: {output:?}");
    }
}

#[test]
fn check_finds_a_damaged_page() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let mut bytes = dir.read("a.db");
    bytes[8_192..].fill(0xa5);
    dir.write("a.db", bytes);
    let output = dir.run(&["check", "--db", "a.db"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("integrity") || output.stderr.contains("cannot be"), "{output:?}");
    assert!(!output.stderr.contains("is sound"), "{output:?}");
}

#[test]
fn a_killed_backup_leaves_no_target_file() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    // The file is large enough that the kill interrupts the backup.
    dir.change(
        "a.db",
        "CREATE TABLE filling (bytes BLOB);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO filling SELECT randomblob(10000) FROM n;",
    );
    for _ in 0..3 {
        let mut child = dir.command(&["backup", "--db", "a.db", "copy.db"]).spawn().unwrap();
        eventually(|| dir.names().iter().any(|name| name.starts_with("copy.db")));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!dir.path("copy.db").exists());
    }
    assert!(
        dir.path("copy.db.partial").exists(),
        "the last kill came after the beginning of the backup and before its end"
    );
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert!(!dir.path("copy.db.partial").exists());
    assert_eq!(dir.number("copy.db", "SELECT count(*) FROM filling"), 3_000);
    dir.run(&["check", "--db", "copy.db"]).succeeded();
}

#[test]
fn the_error_names_an_unreadable_erasure_list() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    std::fs::create_dir(dir.path("a.db.erased")).unwrap();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).failed(1, "a.db.erased cannot be read: ");
    assert!(!dir.path("copy.db").exists());
}

#[test]
fn only_one_of_parallel_backups_to_one_target_succeeds() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let dir = &dir;
    let output: Vec<_> = std::thread::scope(|scope| {
        let run = || dir.run(&["backup", "--db", "a.db", "copy.db"]);
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(output.iter().filter(|output| output.code == Some(0)).count(), 1, "{output:?}");
    for refused in output.into_iter().filter(|output| output.code != Some(0)) {
        refused.failed(1, "copy.db cannot be written");
    }
    dir.run(&["check", "--db", "copy.db"]).succeeded();
    assert!(!dir.path("copy.db.partial").exists());
}

#[test]
fn a_backup_copies_the_erasure_list() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.run(&["backup", "--db", "a.db", "without.db"]).succeeded();
    assert!(!dir.path("without.db.erased").exists(), "nobody was erased");
    // A killed process left the last line incomplete.
    dir.write("a.db.erased", "cand_7\ncand_8 own\ncand_");
    dir.write("copy.db.erased.partial", "half a list");
    let output = dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert!(output.stderr.contains("copy.db.erased"), "{output:?}");
    assert_eq!(dir.read("copy.db.erased"), b"cand_7\ncand_8 own\n");
    assert_eq!(mode(&dir.path("copy.db.erased")), 0o600);
    assert!(!dir.path("copy.db.erased.partial").exists());
}

#[test]
fn a_restored_backup_without_its_erasure_list_causes_a_warning() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let erase = |id: &str| {
        let path = format!("/api/v1/candidates/{id}");
        service.send("DELETE", &path, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    };
    erase("cand_1");
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    assert_eq!(dir.read("copy.db.erased"), dir.read("a.db.erased"));
    erase("cand_2");
    service.stop("TERM").succeeded();
    // With its erasure list, a backup causes no warning.
    std::fs::copy(dir.path("copy.db"), dir.path("b.db")).unwrap();
    std::fs::copy(dir.path("copy.db.erased"), dir.path("b.db.erased")).unwrap();
    let output = dir.serve(&["--db", "b.db"]).stop("TERM").succeeded();
    assert!(!output.stderr.contains("warning"), "{output:?}");
    // Restore the file alone, as if it had been copied to another machine.
    std::fs::copy(dir.path("copy.db"), dir.path("c.db")).unwrap();
    let output = dir.serve(&["--db", "c.db"]).stop("TERM").succeeded();
    let warning = output.stderr.lines().find(|line| line.starts_with("warning: ")).unwrap_or_default();
    assert!(warning.contains("1 candidate was erased") && warning.contains("c.db.erased"), "{output:?}");
    let list = String::from_utf8(dir.read("c.db.erased")).unwrap();
    let original = String::from_utf8(dir.read("copy.db.erased")).unwrap();
    assert!(list.starts_with("cand_1 at=") && list.lines().count() == 1, "{list}");
    // The value of `activity` differs, because the original list was written before the activity row of the erasure,
    // and the restored list after it.
    let erased = |list: &str| list.split_once(" activity=").unwrap().0.to_owned();
    assert_eq!(erased(&list), erased(&original), "except for `activity`, the restored list equals the lost one");
    let output = dir.serve(&["--db", "c.db"]).stop("TERM").succeeded();
    assert!(!output.stderr.contains("warning"), "{output:?}");
    // Given the original file's erasure list, the service erases the other candidate again when it starts.
    std::fs::copy(dir.path("a.db.erased"), dir.path("c.db.erased")).unwrap();
    let mut service = dir.serve(&["--db", "c.db"]);
    service.wait_for(|line| line.starts_with("erased 1 candidate and "));
}

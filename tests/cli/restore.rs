//! `restore`: what is lost, what does not come back, and which files remain.

use crate::support::{Output, WorkDir, mode};

/// Creates a file with an organization and an admin key. Each user has a session, and the owner also has a passkey and
/// a password. Returns the directory of the file and the key.
fn file() -> (WorkDir, String) {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    dir.change(
        "a.db",
        "INSERT INTO sessions (digest, id, user_id, address, user_agent, created_at, last_seen_at, confirmed_at)
         SELECT randomblob(32), 'sess_' || id, id, '', '', 1, 1, 1 FROM users;
         INSERT INTO passkeys (id, user_id, credential_id, algorithm, spki, counter, name, created_at)
         VALUES ('stolen', 'user_owner', x'01', 'ES256', x'02', 0, 'Stolen', 1);
         UPDATE users SET password_hash = 'old' WHERE id = 'user_owner'",
    );
    (dir, key)
}

/// Returns the names of the files that `restore` has set aside.
fn set_aside(dir: &WorkDir) -> Vec<String> {
    let names = dir.names().into_iter();
    names.filter(|name| name.starts_with("a.db.before-restore-") && name.ends_with('Z')).collect()
}

fn restore(dir: &WorkDir, flags: &[&str]) -> Output {
    dir.run(&[&["restore", "--db", "a.db"], flags, &["copy.db"]].concat())
}

#[test]
fn a_restore_brings_back_the_data_but_not_revoked_access() {
    let (dir, key) = file();
    let bad = dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "bad"]).succeeded();
    let bad = bad.stdout.trim_end().lines().last().unwrap().to_owned();
    let service = dir.serve(&["--db", "a.db"]);
    let authorization = format!("Bearer {key}");
    let headers = [("Authorization", authorization.as_str())];
    service.get("/api/v1/me", &bad).expect(200);
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    // These changes follow the backup: a decision, an erasure, a revoked key, a new key, a new password, a disabled
    // user, a removed membership, a removed passkey, a hold, a new secret of the HR integration, and an ended session.
    service.send("POST", "/api/v1/candidate-steps/cstep_1_2/hire", &headers, "").expect(200);
    service.send("DELETE", "/api/v1/candidates/cand_2", &headers, "").expect(200);
    service.stop("KILL");
    dir.change(
        "a.db",
        "UPDATE api_keys SET enabled = 0, updated_at = updated_at + 1 WHERE name = 'bad';
         UPDATE users SET password_hash = 'new' WHERE id = 'user_owner';
         UPDATE users SET enabled = 0 WHERE id = 'user_member';
         DELETE FROM memberships WHERE user_id = 'user_member';
         DELETE FROM passkeys;
         UPDATE candidates SET hold_reason = 'a case' WHERE id = 'cand_1';
         UPDATE hr_integrations SET secret = 'whsec_bmV3';
         DELETE FROM sessions WHERE user_id = 'user_member'",
    );
    dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "new"]).succeeded();
    let before = dir.run(&["export", "--db", "a.db", "--with-secrets"]).succeeded().stdout;
    let dry = restore(&dir, &["--dry-run"]).succeeded();
    assert!(dry.stderr.contains("a.db was not changed"), "{dry:?}");
    assert_eq!(dir.run(&["export", "--db", "a.db", "--with-secrets"]).succeeded().stdout, before);

    let output = restore(&dir, &[]).succeeded();
    for line in [
        "the backup is an earlier state of the file",
        // The decisions are the hire and the withdrawal by the erasure.
        "lost: 2 decisions, 1 key",
        "comes back: nothing",
        "does not come back: 1 revoked key, 1 ended session, 1 removed membership, and the password, platform role or state of 2 users",
        "erased after the backup: 1 candidate; the next start of the service erases them again, unless retention erased them",
        "a.db was restored from copy.db",
    ] {
        assert!(output.stderr.lines().any(|found| found == line), "{line}: {output:?}");
    }
    let aside = set_aside(&dir);
    assert_eq!((aside.len(), mode(&dir.path("a.db"))), (1, 0o600), "{:?}", dir.names());
    assert_eq!(dir.number(&aside[0], "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
    assert!(!dir.path("a.db-wal").exists() && !dir.path("a.db.restoring").exists());
    for (sql, expected) in [
        ("SELECT count(*) FROM candidate_roles WHERE status = 'Hired'", 0),
        ("SELECT count(*) FROM users WHERE id = 'user_owner' AND password_hash = 'new'", 1),
        ("SELECT count(*) FROM users WHERE enabled = 0", 1),
        ("SELECT count(*) FROM memberships", 1),
        ("SELECT count(*) FROM passkeys", 0),
        ("SELECT count(*) FROM sessions WHERE user_id = 'user_member'", 0),
        ("SELECT count(*) FROM sessions", 2),
        ("SELECT count(*) FROM candidates WHERE hold_reason = 'a case'", 1),
        ("SELECT count(*) FROM hr_integrations WHERE secret = 'whsec_bmV3'", 1),
        ("SELECT count(*) FROM activities WHERE detail LIKE '%restore%'", 1),
    ] {
        assert_eq!(dir.number("a.db", sql), expected, "{sql}");
    }
    dir.run(&["check", "--db", "a.db"]).succeeded();
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/v1/me", &key).expect(200);
    service.get("/api/v1/me", &bad).expect(401);
    service.send("POST", "/api/v1/candidate-steps/cstep_1_2/hire", &headers, "").expect(200);
    let output = service.stop("TERM").succeeded();
    assert!(output.stderr.contains("erased 1 candidate"), "{output:?}");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL"), 1);
}

#[test]
fn a_restore_is_refused_while_a_service_uses_the_file() {
    let (dir, key) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let service = dir.serve(&["--db", "a.db"]);
    restore_failed(&dir, "is in use by another process, such as `appliance serve`");
    service.get("/api/v1/me", &key).expect(200);
    service.stop("TERM").succeeded();
    assert_eq!(set_aside(&dir), Vec::<String>::new());
}

#[track_caller]
fn restore_failed(dir: &WorkDir, sentence: &str) {
    let output = restore(dir, &[]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
    let last = output.stderr.lines().last().unwrap();
    assert!(last.starts_with("appliance: ") && last.contains(sentence), "{sentence}: {output:?}");
    assert!(last.ends_with("; a.db was not replaced"), "{output:?}");
}

#[test]
fn only_a_sound_backup_is_restored() {
    let (dir, _) = file();
    let before = dir.read("a.db");
    restore_failed(&dir, "copy.db does not exist");
    dir.write("copy.db", "something of mine");
    restore_failed(&dir, "copy.db is not an appliance database file");
    dir.run(&["backup", "--db", "a.db", "good.db"]).succeeded();
    std::fs::copy(dir.path("good.db"), dir.path("copy.db")).unwrap();
    dir.change("copy.db", "UPDATE organization_statuses SET hired = hired + 1");
    restore_failed(&dir, "copy.db has 1 finding; the first is: status cache");
    let mut bytes = dir.read("good.db");
    bytes[8_192..].fill(0xa5);
    dir.write("copy.db", bytes);
    assert_eq!(restore(&dir, &[]).code, Some(1));
    let output = dir.run(&["restore", "--db", "a.db", "a.db"]);
    assert!(output.code == Some(1) && output.stderr.contains("a.db is the file itself"), "{output:?}");
    let names = dir.names();
    assert!(names.iter().all(|name| !name.contains("restor")), "{names:?}");
    // Since `before`, only the command `backup` has changed the file: it added an activity row. The refused restores
    // have changed nothing.
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sessions"), 3);
    assert_eq!(dir.read("a.db").len(), before.len());
}

#[test]
fn a_file_that_is_not_a_database_is_not_replaced() {
    let (dir, key) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.write("a.db", "letters");
    restore_failed(&dir, "a.db is empty, is damaged at its beginning, or belongs to another program; move it away");
    assert_eq!(dir.read("a.db"), b"letters");
    std::fs::remove_file(dir.path("a.db")).unwrap();
    // A write-ahead log without its file must not stay next to the new file.
    dir.write("a.db-wal", "remains");
    let output = restore(&dir, &[]).succeeded();
    for words in ["it does not exist", "all sessions and sign-in links end", "`appliance key list`", "--revoke-keys"] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sessions"), 0);
    assert!(!dir.path("a.db-wal").exists());
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/v1/me", &key).expect(200);
    service.stop("TERM").succeeded();
    let output = restore(&dir, &["--revoke-keys"]).succeeded();
    assert!(output.stderr.contains("1 key revoked by --revoke-keys"), "{output:?}");
    dir.serve(&["--db", "a.db"]).get("/api/v1/me", &key).expect(401);
}

/// Damages the root page of an index that the restore does not read.
fn damage(dir: &WorkDir) {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'candidate_words_of_block'";
    let (page, size) = (dir.number("a.db", sql) as usize, dir.number("a.db", "PRAGMA page_size") as usize);
    let mut bytes = dir.read("a.db");
    bytes[(page - 1) * size..page * size].fill(0xa5);
    dir.write("a.db", bytes);
}

#[test]
fn a_damaged_file_still_shows_which_keys_were_revoked() {
    let (dir, _) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.change("a.db", "UPDATE api_keys SET enabled = 0");
    damage(&dir);
    let output = restore(&dir, &[]).succeeded();
    for words in ["the old file is damaged", "1 revoked key, 3 ended sessions", "all sessions and sign-in links end"] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn the_erasure_lists_of_the_file_and_of_the_backup_are_merged() {
    let (dir, _) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.write("a.db.erased", "cand_1 at=5 activity=9\ncand_7 own\n");
    dir.write("copy.db.erased", "cand_7 own\ncand_8\n");
    restore(&dir, &[]).succeeded();
    assert_eq!(dir.read("a.db.erased"), b"cand_1 at=5 activity=9\ncand_7 own\ncand_8\n");
    std::fs::remove_file(dir.path("a.db.erased")).unwrap();
    restore(&dir, &[]).succeeded();
    assert_eq!(dir.read("a.db.erased"), b"cand_7 own\ncand_8\n");
}

/// A candidate who was erased, restored, changed and erased again has a later line in the backup's list.
#[test]
fn a_restore_adds_the_later_lines_from_the_erasure_list_of_the_backup() {
    let (dir, _) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.write("a.db.erased", "cand_1 at=5 activity=9\ncand_2 at=5 activity=9\ncand_3\n");
    dir.write("copy.db.erased", "cand_1 at=7 activity=12\ncand_2 at=4 activity=8\ncand_3 at=7 activity=12\n");
    restore(&dir, &[]).succeeded();
    let expected = "cand_1 at=5 activity=9\ncand_2 at=5 activity=9\ncand_3\ncand_1 at=7 activity=12\n";
    assert_eq!(String::from_utf8(dir.read("a.db.erased")).unwrap(), expected);
    // The next restore adds nothing.
    restore(&dir, &[]).succeeded();
    assert_eq!(String::from_utf8(dir.read("a.db.erased")).unwrap(), expected);
}

#[test]
fn links_and_recovery_codes_that_were_used_after_the_backup_do_not_work_again() {
    let (dir, _) = file();
    dir.change(
        "a.db",
        "INSERT INTO sign_in_links (digest, user_id, purpose, created_at, expires_at)
         SELECT randomblob(32), id, 'reset', 1, 9000000000000000 FROM users;
         INSERT INTO recovery_codes (user_id, digest) SELECT id, zeroblob(32) FROM users;
         INSERT INTO invitations (token, role_id, created_at, expires_at)
         SELECT 'abcdefghijklmnopqrstuvwxyz' || v.value, (SELECT id FROM roles LIMIT 1), 1, 9000000000000000
         FROM json_each('[1,2,3]') v;
         INSERT INTO status_pages (digest, candidate_role_id, is_trusted, locale, issued_at)
         SELECT randomblob(32), id, 0, 'en', 1 FROM candidate_roles LIMIT 2",
    );
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let pages = dir.number("a.db", "SELECT count(*) FROM status_pages");
    dir.change(
        "a.db",
        "DELETE FROM sign_in_links WHERE user_id = 'user_owner';
         DELETE FROM recovery_codes WHERE user_id = 'user_owner';
         UPDATE invitations SET ended_at = 2 WHERE token LIKE '%1';
         DELETE FROM invitations WHERE token LIKE '%2';
         INSERT INTO spent_links (digest, spent_at) SELECT digest, 2 FROM status_pages ORDER BY digest LIMIT 1;
         DELETE FROM status_pages WHERE digest IN (SELECT digest FROM spent_links)",
    );
    restore(&dir, &[]).succeeded();
    for (sql, expected) in [
        ("SELECT count(*) FROM sign_in_links WHERE user_id = 'user_owner'", 0),
        ("SELECT count(*) > 0 FROM sign_in_links", 1),
        ("SELECT count(*) FROM recovery_codes WHERE user_id = 'user_owner'", 0),
        ("SELECT count(*) FROM invitations WHERE token LIKE 'abc%' AND ended_at IS NULL", 1),
        ("SELECT count(*) FROM invitations WHERE token LIKE 'abc%3' AND ended_at IS NULL", 1),
        ("SELECT count(*) FROM status_pages", pages - 1),
        ("SELECT count(*) FROM spent_links", 1),
    ] {
        assert_eq!(dir.number("a.db", sql), expected, "{sql}");
    }
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_second_restore_retains_newer_passwords_and_revocations() {
    let (dir, _) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "later"]).succeeded();
    dir.run(&["backup", "--db", "a.db", "later.db"]).succeeded();
    dir.change(
        "a.db",
        "UPDATE api_keys SET enabled = 0;
         UPDATE users SET password_hash = 'new', updated_at = updated_at + 1 WHERE id = 'user_owner'",
    );
    restore(&dir, &[]).succeeded();
    let output = dir.run(&["restore", "--db", "a.db", "later.db"]).succeeded();
    assert!(
        output.stderr.contains("neither the backup nor the file is known to be an earlier state of the other"),
        "{output:?}"
    );
    assert!(output.stderr.contains("comes back: 1 key"), "{output:?}");
    let valid = "SELECT count(*) FROM api_keys WHERE enabled = 1 AND name <> 'later'";
    assert_eq!(dir.number("a.db", valid), 0);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users WHERE password_hash = 'new'"), 1);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sessions"), 0);
}

#[test]
fn the_restore_of_a_later_state_of_the_file_loses_nothing() {
    let (dir, key) = file();
    let earlier = dir.read("a.db");
    dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "later"]).succeeded();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.write("a.db", earlier);
    let output = restore(&dir, &[]).succeeded();
    for line in ["the backup is a later state of the file", "lost: nothing", "comes back: 1 key"] {
        assert!(output.stderr.lines().any(|found| found == line), "{line}: {output:?}");
    }
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sessions"), 3);
    dir.serve(&["--db", "a.db"]).get("/api/v1/me", &key).expect(200);
}

#[test]
fn sessions_end_if_the_file_is_damaged_and_the_backup_is_a_later_state() {
    let (dir, _) = file();
    let earlier = dir.read("a.db");
    dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "later"]).succeeded();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    dir.write("a.db", earlier);
    damage(&dir);
    let output = restore(&dir, &[]).succeeded();
    for words in ["the backup is a later state of the file", "all sessions and sign-in links end"] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM sessions"), 0);
}

#[test]
fn a_killed_restore_leaves_the_old_file_and_can_be_repeated() {
    let (dir, _) = file();
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    // The backup is so large that the kill interrupts the copy.
    dir.change(
        "copy.db",
        "CREATE TABLE filling (bytes BLOB);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO filling SELECT randomblob(10000) FROM n;",
    );
    for _ in 0..3 {
        let mut child = dir.command(&["restore", "--db", "a.db", "copy.db"]).spawn().unwrap();
        crate::support::eventually(|| dir.path("a.db.restoring").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        dir.run(&["check", "--db", "a.db"]).succeeded();
        assert_eq!(set_aside(&dir), Vec::<String>::new());
    }
    restore(&dir, &[]).succeeded();
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM filling"), 3_000);
    assert!(!dir.path("a.db.restoring").exists());
}

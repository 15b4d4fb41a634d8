//! `check` verifies the hash chain of activity rows. It finds every change to a row, and accepts rows that the service
//! appends or empties. Most tests drop the triggers before a change, as anybody who can write to the file could.

use serde_json::json;

use crate::support::{WorkDir, document};

const NO_TRIGGERS: &str = "DROP TRIGGER activities_are_appended;
     DROP TRIGGER activities_stay;
     DROP TRIGGER activities_stay_as_they_are;";

/// Returns a directory with a file in which the real service has recorded three decisions.
fn with_decisions() -> WorkDir {
    let dir = WorkDir::new();
    dir.write("document.json", document().to_string());
    dir.run(&["import", "--db", "a.db", "document.json"]).succeeded();
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let headers = [("Authorization", format!("Bearer {key}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    for decision in ["hire", "reject"] {
        let path = format!("/api/v1/candidate-steps/cstep_1_2/{decision}");
        service.send("POST", &path, &headers, &json!({ "outcomeNotes": "of mine" }).to_string()).expect(200);
    }
    service.send("POST", "/api/v1/candidate-steps/cstep_1_1/reject", &headers, "{}").expect(200);
    service.stop("TERM").succeeded();
    let decided = "SELECT count(*) FROM activities WHERE organization_id IS NOT NULL";
    assert_eq!(dir.number("a.db", decided), 3);
    dir.run(&["check", "--db", "a.db"]).succeeded();
    dir
}

/// Returns the number of the nth decision's row. Rows of platform activity precede it: the import, the admin and their
/// key.
fn nth(dir: &WorkDir, nth: i64) -> i64 {
    dir.number("a.db", "SELECT min(number) FROM activities WHERE organization_id IS NOT NULL") + nth - 1
}

/// Replaces each `:N` in a statement with the number of the Nth decision's row.
fn with_row_numbers(dir: &WorkDir, sql: &str) -> String {
    (1..=9).fold(sql.to_owned(), |sql, one| sql.replace(&format!(":{one}"), &nth(dir, one).to_string()))
}

/// Returns the id of the nth decision's row.
fn id(dir: &WorkDir, number: i64) -> String {
    let number = nth(dir, number);
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    connection.query_row("SELECT id FROM activities WHERE number = ?1", [number], |row| row.get(0)).unwrap()
}

/// Makes this change. Returns the findings of `check` about the chain, without those about HR deliveries.
fn found(dir: &WorkDir, change: &str) -> Vec<String> {
    dir.change("a.db", &format!("{NO_TRIGGERS} {}", with_row_numbers(dir, change)));
    let output = dir.run(&["check", "--db", "a.db"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    output.stdout.lines().filter(|line| line.starts_with("activit")).map(str::to_owned).collect()
}

#[test]
fn a_changed_detail_is_found() {
    let dir = with_decisions();
    let id = id(&dir, 2);
    let found = found(&dir, "UPDATE activities SET detail = replace(detail, 'of mine', 'of yours') WHERE number = :2");
    assert_eq!(found, [format!("activity {id}: the detail was changed")]);
}

#[test]
fn a_detail_changed_together_with_its_digest_is_found() {
    let dir = with_decisions();
    let id = id(&dir, 2);
    // Somebody who changes a digest would also have to recompute the hashes of this row and of all later rows.
    let found =
        found(&dir, "UPDATE activities SET detail_hash = zeroblob(32), detail = '{}', salt = NULL WHERE number = :2");
    let row = format!("activity {id}: the row, or the one before it, was changed");
    assert_eq!(
        found,
        [row, format!("activity {id}: the detail was removed, but no erasure or deletion accounts for it")]
    );
}

#[test]
fn an_emptied_detail_is_found() {
    let dir = with_decisions();
    let id = id(&dir, 2);
    let emptied = with_row_numbers(&dir, "UPDATE activities SET detail = '{}', salt = NULL WHERE number = :2");
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    let refused = connection.execute(&emptied, []).unwrap_err().to_string();
    assert!(refused.contains("activities are only appended"), "{refused}");
    drop(connection);
    let found = found(&dir, &emptied);
    assert_eq!(found, [format!("activity {id}: the detail was removed, but no erasure or deletion accounts for it")]);
}

#[test]
fn a_change_to_a_column_of_a_row_is_found() {
    let dir = with_decisions();
    let whole = dir.read("a.db");
    for change in [
        "at = at + 1",
        "action = 'candidate_step.validated'",
        "user_id = NULL",
        "api_key_id = NULL",
        "role_id = 'role_2'",
        "candidate_id = NULL",
        "candidate_role_id = NULL",
        "candidate_role_step_id = NULL",
        "id = 'act_other'",
    ] {
        dir.write("a.db", &whole);
        let found = found(&dir, &format!("UPDATE activities SET {change} WHERE number = :2"));
        let id = id(&dir, 2);
        let expected = format!("activity {id}: the row, or the one before it, was changed");
        assert_eq!(found, [expected], "{change}");
    }
}

#[test]
fn a_changed_hash_is_found_in_its_row_and_in_the_next_row() {
    let dir = with_decisions();
    let found = found(&dir, "UPDATE activities SET hash = zeroblob(32) WHERE number = :2");
    let broken_row = |number| format!("activity {}: the row, or the one before it, was changed", id(&dir, number));
    assert_eq!(found, [broken_row(2), broken_row(3)]);
}

#[test]
fn a_gap_between_rows_is_found() {
    let dir = with_decisions();
    let id = id(&dir, 3);
    let broken_row = format!("activity {id}: the row, or the one before it, was changed");
    let found = found(&dir, "DELETE FROM activities WHERE number = :2");
    let missing = format!("activities: rows between {} and {} are missing", nth(&dir, 1), nth(&dir, 3));
    assert_eq!(found, [missing, broken_row]);
}

#[test]
fn a_removed_row_is_found_even_if_the_next_row_takes_its_number() {
    let dir = with_decisions();
    let id = id(&dir, 3);
    let close_up = "DELETE FROM activities WHERE number = :2; UPDATE activities SET number = :2 WHERE number = :3;";
    let found = found(&dir, close_up);
    assert_eq!(found, [format!("activity {id}: the row, or the one before it, was changed")]);
}

#[test]
fn swapped_rows_are_found() {
    let dir = with_decisions();
    let swap =
        "UPDATE activities SET number = :9 WHERE number = :2; UPDATE activities SET number = :2 WHERE number = :3;
                UPDATE activities SET number = :3 WHERE number = :9;";
    assert_eq!(found(&dir, swap).len(), 2);
}

#[test]
fn triggers_allow_only_erasures_that_leave_the_chain_valid() {
    let dir = with_decisions();
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    for change in [
        "DELETE FROM activities",
        &with_row_numbers(&dir, "DELETE FROM activities WHERE number = :3"),
        "UPDATE activities SET at = 0",
        "UPDATE activities SET detail = '{}'",
        "UPDATE activities SET salt = NULL",
        "UPDATE activities SET detail = '{}', salt = NULL, user_id = NULL",
        &with_row_numbers(&dir, "UPDATE activities SET detail = '{}', salt = NULL WHERE number = :2"),
        &with_row_numbers(
            &dir,
            "INSERT INTO activities SELECT :5, 'act_5', organization_id, at, action, user_id, api_key_id, role_id,
           candidate_id, candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash
         FROM activities WHERE number = :1",
        ),
    ] {
        assert!(connection.execute(change, []).is_err(), "{change}");
    }
    // The triggers allow the service to empty the detail of a row about an erased candidate.
    let erased =
        "UPDATE candidates SET erased_at = 1 WHERE id = (SELECT candidate_id FROM activities WHERE number = :2)";
    connection.execute(&with_row_numbers(&dir, erased), []).unwrap();
    let erase = with_row_numbers(&dir, "UPDATE activities SET detail = '{}', salt = NULL WHERE number = :2");
    connection.execute(&erase, []).unwrap();
    drop(connection);
    let output = dir.run(&["check", "--db", "a.db"]);
    assert!(!output.stdout.lines().any(|line| line.starts_with("activit")), "{output:?}");
}

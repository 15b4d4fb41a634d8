//! `check` follows the chain of what was done: whatever is changed in it is found, and what was appended and erased in the
//! ways of the service is not. Who changes it here drops the triggers first, as anybody with the file could.

use serde_json::json;

use crate::support::{Place, document};

const NO_TRIGGERS: &str = "DROP TRIGGER activities_are_appended;
     DROP TRIGGER activities_stay;
     DROP TRIGGER activities_stay_as_they_are;";

/// A file with three rows, all of them by the real service.
fn place() -> Place {
    let place = Place::new();
    place.write("document.json", document().to_string());
    place.run(&["import", "--db", "a.db", "document.json"]).succeeded();
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let headers = [("Authorization", format!("Bearer {key}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    for decision in ["hire", "reject"] {
        let path = format!("/api/v1/candidate-steps/cstep_1_2/{decision}");
        serving.send("POST", &path, &headers, &json!({ "outcomeNotes": "of mine" }).to_string()).expect(200);
    }
    serving.send("POST", "/api/v1/candidate-steps/cstep_1_1/reject", &headers, "{}").expect(200);
    serving.stop("TERM").succeeded();
    let decided = "SELECT count(*) FROM activities WHERE organization_id IS NOT NULL";
    assert_eq!(place.number("a.db", decided), 3);
    place.run(&["check", "--db", "a.db"]).succeeded();
    place
}

/// The number of the nth decision's row. Platform activity comes before it: the import, the admin and their key.
fn nth(place: &Place, nth: i64) -> i64 {
    place.number("a.db", "SELECT min(number) FROM activities WHERE organization_id IS NOT NULL") + nth - 1
}

/// A statement with the numbers of those rows, `:1` for the first, in their places.
fn placed(place: &Place, sql: &str) -> String {
    (1..=9).fold(sql.to_owned(), |sql, one| sql.replace(&format!(":{one}"), &nth(place, one).to_string()))
}

/// The id of the nth decision's row.
fn id(place: &Place, number: i64) -> String {
    let number = nth(place, number);
    let connection = rusqlite::Connection::open(place.path("a.db")).unwrap();
    connection.query_row("SELECT id FROM activities WHERE number = ?1", [number], |row| row.get(0)).unwrap()
}

/// What `check` says of the chain after this change. Of what HR systems are owed it may say more.
fn found(place: &Place, change: &str) -> Vec<String> {
    place.change("a.db", &format!("{NO_TRIGGERS} {}", placed(place, change)));
    let ended = place.run(&["check", "--db", "a.db"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.stdout.lines().filter(|line| line.starts_with("activit")).map(str::to_owned).collect()
}

#[test]
fn a_changed_detail_is_found() {
    let place = place();
    let id = id(&place, 2);
    let found =
        found(&place, "UPDATE activities SET detail = replace(detail, 'of mine', 'of yours') WHERE number = :2");
    assert_eq!(found, [format!("activity {id}: its detail is not what was recorded")]);
}

#[test]
fn a_detail_that_was_changed_with_its_digest_is_found() {
    let place = place();
    let id = id(&place, 2);
    // Even whoever knows how digests are made has to make all that follow anew.
    let found =
        found(&place, "UPDATE activities SET detail_hash = zeroblob(32), detail = '{}', salt = NULL WHERE number = :2");
    let row = format!("activity {id}: it is not what was recorded, or the one before it is not");
    assert_eq!(found, [row, format!("activity {id}: its detail is gone, and nobody it concerns was erased")]);
}

#[test]
fn a_detail_that_was_emptied_is_found() {
    let place = place();
    let id = id(&place, 2);
    let emptied = placed(&place, "UPDATE activities SET detail = '{}', salt = NULL WHERE number = :2");
    let connection = rusqlite::Connection::open(place.path("a.db")).unwrap();
    let refused = connection.execute(&emptied, []).unwrap_err().to_string();
    assert!(refused.contains("activities are only appended"), "{refused}");
    drop(connection);
    let found = found(&place, &emptied);
    assert_eq!(found, [format!("activity {id}: its detail is gone, and nobody it concerns was erased")]);
}

#[test]
fn a_changed_row_is_found_whichever_column_it_is() {
    let place = place();
    let whole = place.read("a.db");
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
        place.write("a.db", &whole);
        let found = found(&place, &format!("UPDATE activities SET {change} WHERE number = :2"));
        let id = id(&place, 2);
        let expected = format!("activity {id}: it is not what was recorded, or the one before it is not");
        assert_eq!(found, [expected], "{change}");
    }
}

#[test]
fn a_changed_hash_is_found_there_and_at_the_next_row() {
    let place = place();
    let found = found(&place, "UPDATE activities SET hash = zeroblob(32) WHERE number = :2");
    let denied =
        |number| format!("activity {}: it is not what was recorded, or the one before it is not", id(&place, number));
    assert_eq!(found, [denied(2), denied(3)]);
}

#[test]
fn a_removed_row_in_the_middle_is_found() {
    let place = place();
    let id = id(&place, 3);
    let denied = format!("activity {id}: it is not what was recorded, or the one before it is not");
    let found = found(&place, "DELETE FROM activities WHERE number = :2");
    let missing = format!("activities: between {} and {} some are missing", nth(&place, 1), nth(&place, 3));
    assert_eq!(found, [missing, denied]);
}

#[test]
fn a_removed_row_is_found_also_where_the_others_close_up() {
    let place = place();
    let id = id(&place, 3);
    let close_up = "DELETE FROM activities WHERE number = :2; UPDATE activities SET number = :2 WHERE number = :3;";
    let found = found(&place, close_up);
    assert_eq!(found, [format!("activity {id}: it is not what was recorded, or the one before it is not")]);
}

#[test]
fn rows_in_another_order_are_found() {
    let place = place();
    let swap =
        "UPDATE activities SET number = :9 WHERE number = :2; UPDATE activities SET number = :2 WHERE number = :3;
                UPDATE activities SET number = :3 WHERE number = :9;";
    assert_eq!(found(&place, swap).len(), 2);
}

#[test]
fn what_the_triggers_allow_leaves_the_chain_whole() {
    let place = place();
    let connection = rusqlite::Connection::open(place.path("a.db")).unwrap();
    for change in [
        "DELETE FROM activities",
        &placed(&place, "DELETE FROM activities WHERE number = :3"),
        "UPDATE activities SET at = 0",
        "UPDATE activities SET detail = '{}'",
        "UPDATE activities SET salt = NULL",
        "UPDATE activities SET detail = '{}', salt = NULL, user_id = NULL",
        &placed(&place, "UPDATE activities SET detail = '{}', salt = NULL WHERE number = :2"),
        &placed(
            &place,
            "INSERT INTO activities SELECT :5, 'act_5', organization_id, at, action, user_id, api_key_id, role_id,
           candidate_id, candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash
         FROM activities WHERE number = :1",
        ),
    ] {
        assert!(connection.execute(change, []).is_err(), "{change}");
    }
    // Of a candidate who was erased it may be emptied.
    let erased =
        "UPDATE candidates SET erased_at = 1 WHERE id = (SELECT candidate_id FROM activities WHERE number = :2)";
    connection.execute(&placed(&place, erased), []).unwrap();
    let erase = placed(&place, "UPDATE activities SET detail = '{}', salt = NULL WHERE number = :2");
    connection.execute(&erase, []).unwrap();
    drop(connection);
    let ended = place.run(&["check", "--db", "a.db"]);
    assert!(!ended.stdout.lines().any(|line| line.starts_with("activit")), "{ended:?}");
}

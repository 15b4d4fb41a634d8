//! What the queries of lists cost, as SQLite plans them.

use rusqlite::Connection;

use super::source::{COUNT_OF_BEGINNING, NEXT_WORD, OF_BEGINNING, OF_ROLE, OF_STATUS, OF_WORD};
use super::{BY_EMAIL, BY_NUMBER, NEWEST};
use crate::store::candidate_role::OF_CANDIDATE;

/// How a query is carried out, a line a step.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

#[test]
fn every_query_of_a_list_is_a_range_of_an_index_in_its_order() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(include_str!("../../../schema.sql")).unwrap();
    let words = "SEARCH candidate_words USING PRIMARY KEY (organization_id=? AND in_name=? AND word";
    for (sql, expected) in [
        (NEWEST, "SEARCH candidates USING INDEX candidates_of_organization (organization_id=? AND number<?)"),
        (BY_NUMBER, "SEARCH candidates USING INTEGER PRIMARY KEY (rowid=?)"),
        (BY_EMAIL, "SEARCH candidates USING INDEX sqlite_autoindex_candidates_2 (organization_id=? AND email_key=?)"),
        (OF_WORD, &format!("{words}=? AND candidate_number<?)")),
        (OF_BEGINNING, &format!("{words}>? AND word<?)")),
        (COUNT_OF_BEGINNING, &format!("{words}>? AND word<?)")),
        (NEXT_WORD, &format!("{words}>? AND word<?)")),
        (OF_ROLE, "candidate_roles_of_role (role_id=? AND status=? AND candidate_number<?)"),
        (OF_STATUS, "candidate_roles_of_organization (organization_id=? AND status=? AND candidate_number<?)"),
    ] {
        let plan = plan(&connection, sql);
        assert!(plan.iter().any(|step| step.contains(expected)), "{sql}: {plan:?}");
        let whole = ["SCAN candidate", "TEMP B-TREE"];
        assert!(!plan.iter().any(|step| whole.iter().any(|word| step.contains(word))), "{sql}: {plan:?}");
    }
    // What is sorted here is one candidate's.
    let plan = plan(&connection, OF_CANDIDATE);
    assert!(plan[1].contains("SEARCH a USING INDEX sqlite_autoindex_candidate_roles_2 (candidate_id=?)"), "{plan:?}");
    assert!(!plan.iter().any(|step| step.contains("SCAN")), "{plan:?}");
}

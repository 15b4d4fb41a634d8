//! Tests of the query plans for boards, lists, reports and activity. With and without table statistics, no query for a
//! page sorts rows or reads unrelated rows. The cost of a page therefore does not grow with the unrelated rows in the
//! database.

mod full_disk;
pub(super) mod two_users;

use super::activity::{organization_changes, page as activity, platform, role_changes};
use super::board::card;
use super::role::{overview, version};
use super::{board, in_progress, inbox, later, not_selected, report};
use crate::db::connection::Connection;
use crate::db::sqlite::tests::{in_memory, plan};

/// Returns an empty database, and a database with many applications for few roles and with statistics.
fn files() -> [Connection; 2] {
    ["", FILLED].map(|filled| in_memory(&format!("{}{filled}", include_str!("../../../schema.sql"))))
}

const FILLED: &str = "
    PRAGMA foreign_keys = OFF;
    PRAGMA ignore_check_constraints = ON;
    WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 4000)
    INSERT INTO candidates (number, id, organization_id, name, email, email_key, created_at, updated_at)
    SELECT n, 'cand_' || n, 'org_' || (n % 7), 'x', 'x', 'x' || n, 0, 0 FROM series;
    INSERT INTO roles (id, organization_id, name, description, department, location, status, public, positions, hired,
      created_at, updated_at, shown_since)
    SELECT DISTINCT 'role_' || (number % 21), organization_id, 'x', '{}', '', '', 'open', 0, 9, 0, 0, 0, 0 FROM candidates;
    INSERT INTO role_steps (id, role_id, name, step_order, step_type)
    SELECT r.id || '_' || o.value, r.id, 'x', o.value, 'other' FROM roles r, json_each('[1,2,3]') o;
    INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status, at_role_step_id,
      at_since, applied_at, updated_at, later_due_on)
    SELECT 'app_' || number, organization_id, id, number, 'role_' || (number % 21),
      iif(number % 2, 'In Progress', 'Not Selected'), iif(number % 2, 'role_' || (number % 21) || '_1', NULL),
      iif(number % 2, number, NULL), 0, 0, iif(number % 10 = 1, '2026-12-01', NULL)
    FROM candidates;
    INSERT INTO candidate_role_steps (id, candidate_role_id, role_step_id, name, step_order, step_type, status)
    SELECT a.id || '_' || o.value, a.id, a.role_id || '_' || o.value, 'x', o.value, 'other', 'pending'
    FROM candidate_roles a, json_each('[1,2,3]') o;
    INSERT INTO activities (number, id, organization_id, at, action, role_id, candidate_id, detail, salt, detail_hash, hash)
    SELECT candidate_number, 'act_' || candidate_number, organization_id, 0, 'a' || (candidate_number % 5), role_id,
      candidate_id, '{}', zeroblob(16), zeroblob(32), zeroblob(32)
    FROM candidate_roles ORDER BY candidate_number;
    ANALYZE;";

#[test]
fn no_query_for_a_page_sorts_rows_or_reads_unrelated_rows() {
    let activities = |part: &str| format!("{} {part}", activity::SELECT);
    let rows_at_step = "SEARCH a USING INDEX candidate_roles_at_step (role_id=? AND at_role_step_id=? AND ";
    for (sql, expected) in [
        (board::STEPS.to_owned(), "SEARCH s USING INDEX sqlite_autoindex_role_steps_2 (role_id=?)"),
        (board::BY_STATUS.to_owned(), "SEARCH a USING COVERING INDEX candidate_roles_of_role (role_id=?)"),
        (board::BY_STEP.to_owned(), "COVERING INDEX candidate_roles_at_step (role_id=? AND at_role_step_id>?)"),
        (in_progress::PAGE.to_owned(), "INDEX candidate_roles_of_role (role_id=? AND status=? AND candidate_number>?)"),
        (
            not_selected::PAGE.to_owned(),
            "INDEX candidate_roles_of_role (role_id=? AND status=? AND candidate_number<?)",
        ),
        (board::PAGE.to_owned(), &format!("{rows_at_step}(at_since,id)>(?,?))")),
        (card::CARDS.to_owned(), "SEARCH a USING COVERING INDEX candidate_roles_at_step (role_id=?"),
        (card::CARD.to_owned(), "SEARCH a USING INDEX sqlite_autoindex_candidate_roles_"),
        (card::CARDS.to_owned(), "SEARCH b USING COVERING INDEX sqlite_autoindex_candidate_roles_2 (candidate_id=?)"),
        (card::SINCE_AT.to_owned(), "INDEX candidate_roles_at_step (role_id=? AND at_role_step_id=?"),
        (card::HIRED.to_owned(), "SEARCH a USING INDEX candidate_roles_of_role (role_id=? AND status=?)"),
        (inbox::WITHDRAWALS.to_owned(), "SEARCH v USING INDEX activities_by_action (organization_id=? AND action=?)"),
        (overview::OVERVIEW.to_owned(), "INDEX candidate_roles_at_step (role_id=?"),
        (overview::COUNTS.to_owned(), "SEARCH roles USING COVERING INDEX roles_"),
        (
            later::DUE.to_owned(),
            "candidate_roles_later (organization_id=? AND (later_due_on,id)>(?,?) AND later_due_on<?)",
        ),
        (report::STEPS.to_owned(), "COVERING INDEX candidate_role_steps_of_role_step (role_step_id=?)"),
        (report::HIRES.to_owned(), "candidate_roles_of_role (role_id=? AND status=?)"),
        (activities(activity::OF_ORGANIZATION), "activities_of_organization (organization_id=? AND number<?)"),
        (
            activities(activity::OF_ORGANIZATION_BY_ACTION),
            "activities_by_action (organization_id=? AND action=? AND number<?)",
        ),
        (activities(platform::OF_PLATFORM), "activities_of_organization (organization_id=? AND number<?)"),
        (
            activities(platform::OF_PLATFORM_BY_ACTION),
            "activities_by_action (organization_id=? AND action=? AND number<?)",
        ),
        (activities(activity::OF_ROLE), "activities_of_role (role_id=? AND number<?)"),
        (organization_changes::NEWEST.to_owned(), "INDEX activities_of_organization (organization_id=?"),
        (organization_changes::SINCE.to_owned(), "activities_of_organization (organization_id=? AND number>?)"),
        (role_changes::NEWEST.to_owned(), "activities_of_role (role_id=?)"),
        (role_changes::SINCE.to_owned(), "activities_of_role (role_id=? AND number>?)"),
        (version::NEWEST.to_owned(), "activities_of_role_alone (role_id=?)"),
        (version::LATER.to_owned(), "activities_of_role_alone (role_id=? AND number>?)"),
        (activities(activity::OF_CANDIDATE), "activities_of_candidate (candidate_id=? AND number<?)"),
    ] {
        for connection in files() {
            let plan = plan(&connection, &sql);
            assert!(plan.iter().any(|step| step.contains(expected)), "{sql}: {plan:#?}");
            let costly = ["SCAN", "TEMP B-TREE", "AUTOMATIC"];
            assert!(!plan.iter().any(|step| costly.iter().any(|word| step.contains(word))), "{sql}: {plan:#?}");
        }
    }
}

/// The query sorts only the rejections of one application at a time, and the counts of the outcomes.
#[test]
fn the_query_for_endings_reads_only_the_applications_that_were_not_selected() {
    for connection in files() {
        let plan = plan(&connection, report::ENDINGS);
        let has = |expected: &str| plan.iter().any(|step| step.contains(expected));
        assert!(has("SEARCH a USING INDEX candidate_roles_of_role (role_id=? AND status=?)"), "{plan:#?}");
        assert!(has("SEARCH s USING INDEX sqlite_autoindex_candidate_role_steps_2 (candidate_role_id=?)"), "{plan:#?}");
        assert!(!has("SCAN a") && !has("SCAN s"), "{plan:#?}");
    }
}

//! The check of a database. It covers recounts of status caches and hires, the word index, applications, later marks,
//! attachments, signups, the usage log, the activity chain, decision batches, and deliveries. The check of a file also
//! covers SQLite's integrity check and foreign keys.

use std::path::Path;

use super::decision_batch::record as decision_batch;
use super::{activity, attachment, candidate, erasure, organization};
use crate::db::location::is_server;
use crate::db::read_at;
use crate::db::row::Columns;
use crate::db::sqlite::check::{FINDINGS_OF_A_KIND_MAX, foreign_keys, integrity};
use crate::db::sqlite::connection::{self, Use};
use crate::db::sqlite::gentle::{Interrupt, slow_down};
use crate::db::sqlite::path;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::ChainHead;
use crate::domain::due_day::DueDay;
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::organization::StatusCounts;
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;

/// Checks one snapshot of the database. Before each of the main parts of the check, calls `progress` with a description
/// of the part. Returns the findings, one line each. A sound database has no findings.
///
/// # Errors
/// An error of the database if it cannot be read.
pub fn check(path: &Path, progress: impl FnMut(&str)) -> Result<Vec<String>, Error> {
    if is_server(path) {
        return read_at(path, Timestamp::from_micros(0), |tx| findings_in_tables(tx, progress));
    }
    let connection = connection::open_to_read(path, Use::Read)?;
    tx::snapshot(&connection, Timestamp::from_micros(0), |tx| findings(tx, progress))
}

/// Checks a copy as [`check`] does. If the check finds nothing, compares the copy with the file: the activity of the
/// copy must contain this earlier chain head of the file. Leaves most of the CPU to the service.
pub(super) fn check_copy(path: &Path, earlier: &ChainHead, interrupt: &Interrupt) -> Result<Vec<String>, Error> {
    let connection = connection::open_to_read(path, Use::Read)?;
    slow_down(&connection, interrupt)?;
    tx::snapshot(&connection, Timestamp::from_micros(0), |tx| {
        let mut findings = findings(tx, |_| ())?;
        if findings.is_empty() {
            findings.extend(activity::head_mismatch(tx, earlier)?);
        }
        Ok(findings)
    })
}

fn findings(tx: &Tx<'_>, mut progress: impl FnMut(&str)) -> Result<Vec<String>, Error> {
    progress("reading every page");
    let mut findings = integrity(tx)?;
    if !findings.is_empty() {
        // The tables of a damaged file are unreliable, and reading them might fail.
        return Ok(findings);
    }
    progress("checking every foreign key");
    findings.extend(foreign_keys(tx)?);
    findings.extend(findings_in_tables(tx, progress)?);
    Ok(findings)
}

/// Returns the findings that do not depend on the engine. For a PostgreSQL database, the check needs nothing else: the
/// operator checks the pages with `pg_amcheck`, and the server itself enforces foreign keys.
fn findings_in_tables(tx: &Tx<'_>, mut progress: impl FnMut(&str)) -> Result<Vec<String>, Error> {
    let mut findings = Vec::new();
    progress("recounting every organization's roles and applications");
    findings.extend(statuses(tx)?);
    findings.extend(seats(tx)?);
    progress("checking the word index of candidates");
    findings.extend(candidate::word_index::inconsistencies(tx, FINDINGS_OF_A_KIND_MAX)?);
    findings.extend(applications(tx)?);
    findings.extend(later_marks(tx)?);
    progress("checking attachments and their signups");
    findings.extend(attachment::check::inconsistencies(tx, FINDINGS_OF_A_KIND_MAX)?);
    progress("checking the usage log of every key");
    findings.extend(usage(tx)?);
    progress("checking the activity chain");
    findings.extend(activity::chain::broken_links(tx, FINDINGS_OF_A_KIND_MAX)?);
    findings.extend(activity::chain::unexplained_erasures(tx, FINDINGS_OF_A_KIND_MAX)?);
    findings.extend(decision_batch::inconsistencies(tx, FINDINGS_OF_A_KIND_MAX)?);
    progress("checking deliveries to HR systems");
    findings.extend(intake(tx)?);
    findings.extend(deliveries(tx)?);
    Ok(findings)
}

/// Returns the reports that are not findings: one sentence for each candidate who is in the erasure list but was
/// changed or placed under a legal hold after their line was written. If the list cannot be read, returns one sentence
/// about the list, because the next start would fail.
pub fn reports(path: &Path) -> Result<Vec<String>, Error> {
    // A PostgreSQL database has no erasure list.
    if is_server(path) {
        return Ok(Vec::new());
    }
    let path = &path::resolve(path);
    let connection = connection::open_to_read(path, Use::Read)?;
    let now = Timestamp::from_micros(0);
    let list = path::beside(path, ".erased");
    Ok(match tx::snapshot(&connection, now, |tx| erasure::reported(tx, path))? {
        Ok(changed) => changed.iter().map(|candidate| changed_since_erased(candidate, &list.display())).collect(),
        Err(error) => vec![error.to_string()],
    })
}

/// Returns the report about a candidate who is in the erasure list but was changed or placed under a legal hold after
/// their line was written.
pub fn changed_since_erased(candidate: &CandidateId, list: &impl std::fmt::Display) -> String {
    format!(
        "candidate {candidate} is in {list}, but was changed or placed under a legal hold after the line was written, \
         and is not erased; erase the candidate again, or remove the line from the list"
    )
}

fn statuses(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let ids =
        tx.all("SELECT id FROM organizations ORDER BY id", [], |row| Columns::of(row).parse(OrganizationId::parse))?;
    let mut findings = Vec::new();
    for id in ids {
        let (cached, recounted) = (organization::status(tx, &id)?, organization::recount(tx, &id)?);
        if cached != Some(recounted) && findings.len() < FINDINGS_OF_A_KIND_MAX {
            let cached = cached.map_or_else(|| "no row".to_owned(), |counts| describe(&counts));
            let recounted = describe(&recounted);
            findings.push(format!("status cache: organization {id} has {cached}; a recount gives {recounted}"));
        }
    }
    Ok(findings)
}

fn describe(counts: &StatusCounts) -> String {
    let StatusCounts { open_roles, open_positions, in_progress, hired, not_selected, withdrawn } = counts;
    format!(
        "{}, {}, {in_progress} in progress, {hired} hired, {not_selected} not selected, {withdrawn} withdrawn",
        counted(*open_roles, "open role"),
        counted(*open_positions, "open position")
    )
}

/// Compares the stored number of hires for each role with the number of its applications that are `Hired`, including
/// the staged rows of decided imports.
fn seats(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT r.id, r.hired, r.counted
         FROM (
           SELECT id, hired, (
             SELECT count(*)
             FROM candidate_roles a
             WHERE a.role_id = roles.id AND a.status = 'Hired'
           ) + (
             SELECT count(*)
             FROM import_rows c
             JOIN imports i ON i.number = c.import_number AND i.decided_at IS NOT NULL
             WHERE c.role_id = roles.id AND c.status = 'Hired'
           ) AS counted
           FROM roles
         ) AS r
         WHERE r.hired <> r.counted
         ORDER BY r.id
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    tx.all(&sql, [], |row| {
        let mut columns = Columns::of(row);
        let (id, hired, found): (&str, i64, i64) = (columns.text()?, columns.read()?, columns.read()?);
        let (hires, applications) = (counted(hired, "hire"), counted(found, "application"));
        Ok(format!("role {id} records {hires}, but has {applications} with the status Hired"))
    })
}

/// Checks that each later mark is a calendar day. A constraint of the table checks that the application is in progress.
fn later_marks(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = "SELECT id, later_due_on
               FROM candidate_roles
               WHERE later_due_on IS NOT NULL
               ORDER BY id";
    let findings = tx.all(sql, [], |row| {
        let mut columns = Columns::of(row);
        let (id, day) = (columns.text()?, columns.text()?);
        let is_sound = DueDay::parse(day).is_some();
        Ok((!is_sound).then(|| format!("application {id} is put aside until {day}, which is not a calendar day")))
    })?;
    Ok(findings.into_iter().flatten().take(FINDINGS_OF_A_KIND_MAX).collect())
}

/// Compares the candidate number and the current step of each application with its candidate and its steps. Lists and
/// boards find applications by these two columns.
fn applications(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let numbers = format!(
        "SELECT a.id
         FROM candidate_roles a
         JOIN candidates c ON c.id = a.candidate_id
         WHERE a.candidate_number <> c.number
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    let mut findings = tx.all(&numbers, [], |row| {
        Ok(format!("application {} does not have the number of its candidate", Columns::of(row).text()?))
    })?;
    let steps = format!(
        "SELECT a.id
         FROM candidate_roles a
         WHERE a.at_role_step_id IS DISTINCT FROM (
           SELECT s.role_step_id
           FROM candidate_role_steps s
           WHERE s.candidate_role_id = a.id AND a.status = 'In Progress' AND s.status IN ('in_progress', 'pending')
           ORDER BY s.status, s.step_order
           LIMIT 1
         )
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    findings.extend(tx.all(&steps, [], |row| {
        Ok(format!("the current step of application {} does not follow from its steps", Columns::of(row).text()?))
    })?);
    Ok(findings)
}

/// Checks the usage log. Each row must refer to the previous row of its key, unless that row was pruned. Each index
/// entry must refer to a row. The newest row that the index records for a key must exist, unless that row was pruned.
/// All rows of a key must be reachable from its newest row.
fn usage(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let mut findings = Vec::new();
    let mut count = |sql: &str, sentence: fn(i64) -> String| -> Result<(), Error> {
        match tx.value::<Option<i64>>(sql, [])?.flatten() {
            Some(0) => {}
            Some(wrong) => findings.push(format!("usage log: {}", sentence(wrong))),
            None => findings.push("usage log: the end of the usage index is missing".to_owned()),
        }
        Ok(())
    };
    count(
        "SELECT count(*)
         FROM api_key_usage u
         LEFT JOIN api_key_usage p ON p.at = u.previous_at AND p.key_number = u.key_number AND p.number = u.number - 1
         WHERE (p.at IS NULL AND u.number > 1
             AND coalesce(u.previous_at > (SELECT pruned_to FROM api_key_usage_marking), TRUE))
           OR (u.previous_at IS NOT NULL AND u.number = 1)",
        |rows| format!("rows that do not refer to the previous row of their key: {rows}"),
    )?;
    count(
        "SELECT count(*)
         FROM api_key_usage_marks m
         LEFT JOIN api_key_usage u ON u.at = m.at AND u.key_number = m.key_number
         WHERE u.at IS NULL",
        |entries| format!("index entries that do not refer to a row: {entries}"),
    )?;
    count(
        "SELECT count(*)
         FROM api_key_usage_newest n
         LEFT JOIN api_key_usage u ON u.at = n.at AND u.key_number = n.key_number AND u.number = n.number
         WHERE u.at IS NULL AND n.at > coalesce((SELECT pruned_to FROM api_key_usage_marking), 0)",
        |keys| format!("keys whose newest row does not exist: {keys}"),
    )?;
    count(
        "SELECT abs((SELECT count(*) FROM api_key_usage) - (
           SELECT CAST(coalesce(sum(newest - oldest + 1), 0) AS bigint)
           FROM (
             SELECT key_number, max(number) AS newest
             FROM (
               SELECT key_number, number FROM api_key_usage_newest
               UNION ALL
               SELECT key_number, number FROM api_key_usage WHERE at > s.marked_to
             ) AS begins
             GROUP BY key_number
           ) AS of_keys
           JOIN (
             SELECT key_number, min(number) AS oldest
             FROM api_key_usage
             GROUP BY key_number
           ) AS stored USING (key_number)
         ))
         FROM api_key_usage_marking s
         WHERE s.id = 1",
        |rows| format!("rows that cannot be reached from the newest row of their key: {rows}"),
    )?;
    Ok(findings)
}

/// Checks that the intake is not ahead of the activity, because an intake that is ahead would skip the next hire.
fn intake(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = "SELECT (SELECT count(*) FROM hr_intake)
                 - (SELECT count(*) FROM hr_intake
                    WHERE activity_number > (SELECT coalesce(max(number), 0) FROM activities))";
    let is_sound = tx.value::<i64>(sql, [])? == Some(1);
    let finding = "deliveries: the outbox is ahead of the activity, so it would skip hires";
    Ok(if is_sound { Vec::new() } else { vec![finding.to_owned()] })
}

/// Checks that a pending delivery has a time for its next attempt if and only if it does not wait for an earlier
/// delivery of its application.
fn deliveries(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT id, is_unscheduled
         FROM (
           SELECT d.id, d.next_attempt_at IS NULL AS is_unscheduled, EXISTS (
             SELECT 1 FROM hr_deliveries e
             WHERE e.candidate_role_id = d.candidate_role_id AND e.number < d.number AND e.state <> 'delivered'
           ) AS waits
           FROM hr_deliveries d
           WHERE d.state = 'pending'
         ) AS pending
         WHERE is_unscheduled <> waits
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    tx.all(&sql, [], |row| {
        let mut columns = Columns::of(row);
        let (id, is_unscheduled): (&str, bool) = (columns.text()?, columns.read()?);
        let why = if is_unscheduled {
            "no earlier delivery holds it back, but it has no time for its next attempt"
        } else {
            "it would overtake an earlier delivery"
        };
        Ok(format!("delivery {id}: {why}"))
    })
}

//! Whether a file is sound: SQLite's own integrity, foreign keys, the status caches and the roles' hires against a
//! recount, what candidates are found by, what they applied with, and whether what HR systems are owed goes its way.

use std::path::Path;

use super::{activity, candidate, document, erasure, organization};
use crate::db::check::{FINDINGS_OF_A_KIND_MAX, foreign_keys, integrity};
use crate::db::connection::{self, Use};
use crate::db::path;
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::organization::StatusCounts;

/// Looks at everything on one snapshot of the file, and calls `progress` with what comes next. Each finding is a
/// sentence; none means that the file is sound.
///
/// # Errors
/// When the file cannot be read far enough to look.
pub fn check(path: &Path, mut progress: impl FnMut(&str)) -> Result<Vec<String>, Error> {
    let connection = connection::open_to_read(path, Use::Read)?;
    tx::snapshot(&connection, crate::domain::timestamp::Timestamp::from_micros(0), |tx| {
        progress("reading every page");
        let mut findings = integrity(tx)?;
        if !findings.is_empty() {
            // What the tables say means little then, and reading them may fail.
            return Ok(findings);
        }
        progress("following every foreign key");
        findings.extend(foreign_keys(tx)?);
        progress("counting every organization's roles and applications again");
        findings.extend(statuses(tx)?);
        findings.extend(seats(tx)?);
        progress("looking up candidates by their words");
        findings.extend(candidate::words::wrong(tx, FINDINGS_OF_A_KIND_MAX)?);
        findings.extend(applications(tx)?);
        progress("adding up documents, and looking at what they came with");
        findings.extend(document::check::wrong(tx, FINDINGS_OF_A_KIND_MAX)?);
        progress("looking up the usage log by key");
        findings.extend(usage(tx)?);
        progress("following the chain of what was done");
        findings.extend(activity::broken_links(tx, FINDINGS_OF_A_KIND_MAX)?);
        findings.extend(activity::emptied(tx, FINDINGS_OF_A_KIND_MAX)?);
        progress("following what HR systems are owed");
        findings.extend(intake(tx)?);
        findings.extend(deliveries(tx)?);
        Ok(findings)
    })
}

/// What a person should know of a file that is sound: a sentence for each candidate who is on the list of who was erased,
/// and was changed or held after that. Also where the list cannot be read, which stops the next start.
///
/// # Errors
/// When the file cannot be read.
pub fn reports(path: &Path) -> Result<Vec<String>, Error> {
    let path = &path::resolve(path);
    let connection = connection::open_to_read(path, Use::Read)?;
    let now = crate::domain::timestamp::Timestamp::from_micros(0);
    let list = path::beside(path, ".erased");
    Ok(match tx::snapshot(&connection, now, |tx| erasure::reported(tx, path))? {
        Ok(changed) => changed.iter().map(|candidate| changed_since_erased(candidate, &list.display())).collect(),
        Err(error) => vec![error.to_string()],
    })
}

/// The sentence about a candidate who changed after they were put on the list.
pub fn changed_since_erased(candidate: &CandidateId, list: &impl std::fmt::Display) -> String {
    format!(
        "candidate {candidate} is in {list}, but was changed or held after that line was written, and is not erased; \
         erase the candidate again, or take the line out of the list"
    )
}

fn statuses(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let ids = tx.all("SELECT id FROM organizations ORDER BY id", [], |row| {
        tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)
    })?;
    let mut findings = Vec::new();
    for id in ids {
        let (cached, counted) = (organization::status(tx, &id)?, organization::recount(tx, &id)?);
        if cached != Some(counted) && findings.len() < FINDINGS_OF_A_KIND_MAX {
            let cached = cached.map_or_else(|| "no row".to_owned(), |counts| words(&counts));
            let counted = words(&counted);
            findings.push(format!("status cache: organization {id} has {cached}; a recount gives {counted}"));
        }
    }
    Ok(findings)
}

fn words(counts: &StatusCounts) -> String {
    let StatusCounts { open_roles, open_positions, in_progress, hired, not_selected, withdrawn } = counts;
    format!(
        "{open_roles} open roles, {open_positions} open positions, {in_progress} in progress, {hired} hired, \
         {not_selected} not selected, {withdrawn} withdrawn"
    )
}

fn seats(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT r.id, r.hired, count(a.id) + r.coming AS counted
         FROM (
           SELECT id, hired, (
             SELECT count(*)
             FROM import_rows c
             JOIN imports i ON i.number = c.import_number AND i.decided_at IS NOT NULL
             WHERE c.role_id = roles.id AND c.status = 'Hired'
           ) AS coming
           FROM roles
         ) AS r
         LEFT JOIN candidate_roles a ON a.role_id = r.id AND a.status = 'Hired'
         GROUP BY r.id, r.hired
         HAVING r.hired <> counted
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    tx.all(&sql, [], |row| {
        let (id, hired, counted): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("role {id} counts {hired} hired, its applications say {counted}"))
    })
}

/// What lists and boards find applications by is what the candidate and the steps say.
fn applications(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let numbers = format!(
        "SELECT a.id
         FROM candidate_roles a
         JOIN candidates c ON c.id = a.candidate_id
         WHERE a.candidate_number <> c.number
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    let mut findings = tx.all(&numbers, [], |row| {
        Ok(format!("application {} is not in its candidate's place", row.get::<_, String>(0)?))
    })?;
    let steps = format!(
        "SELECT a.id
         FROM candidate_roles a
         WHERE a.at_role_step_id IS NOT (
           SELECT s.role_step_id
           FROM candidate_role_steps s
           WHERE s.candidate_role_id = a.id AND a.status = 'In Progress' AND s.status IN ('in_progress', 'pending')
           ORDER BY s.status, s.step_order
           LIMIT 1
         )
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    findings.extend(tx.all(&steps, [], |row| {
        Ok(format!("application {} is at another step than its steps say", row.get::<_, String>(0)?))
    })?);
    Ok(findings)
}

/// Every row of the usage log is found by its key: from the newest one, which is marked or behind the marks, each row leads to
/// the one before it, and together they are all.
fn usage(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let mut findings = Vec::new();
    let mut count = |sql: &str, words: fn(i64) -> String| -> Result<(), Error> {
        match tx.one(sql, [], |row| Ok(row.get::<_, Option<i64>>(0)?))?.flatten() {
            Some(0) => {}
            Some(wrong) => findings.push(format!("usage log: {}", words(wrong))),
            None => findings.push("usage log: up to when it is marked is not told".to_owned()),
        }
        Ok(())
    };
    count(
        "SELECT count(*)
         FROM api_key_usage u
         LEFT JOIN api_key_usage p ON p.at = u.previous_at AND p.key_number = u.key_number AND p.number = u.number - 1
         WHERE (p.at IS NULL AND u.number > 1
             AND coalesce(u.previous_at > (SELECT pruned_to FROM api_key_usage_marking), 1))
           OR (u.previous_at IS NOT NULL AND u.number = 1)",
        |rows| format!("{rows} rows do not name the row before them"),
    )?;
    count(
        "SELECT count(*)
         FROM api_key_usage_marks m
         LEFT JOIN api_key_usage u ON u.at = m.at AND u.key_number = m.key_number
         WHERE u.at IS NULL",
        |marks| format!("{marks} marks are of no row"),
    )?;
    count(
        "SELECT count(*)
         FROM api_key_usage_newest n
         LEFT JOIN api_key_usage u ON u.at = n.at AND u.key_number = n.key_number AND u.number = n.number
         WHERE u.at IS NULL AND n.at > coalesce((SELECT pruned_to FROM api_key_usage_marking), 0)",
        |keys| format!("of {keys} keys the newest row is none"),
    )?;
    count(
        "SELECT abs((SELECT count(*) FROM api_key_usage) - (
           SELECT coalesce(sum(newest - oldest + 1), 0)
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
           ) AS kept USING (key_number)
         ))
         FROM api_key_usage_marking s
         WHERE s.id = 1",
        |rows| format!("{rows} rows are not found by their key"),
    )?;
    Ok(findings)
}

/// The outbox is nowhere ahead of what was decided: it would pass over the next hire.
fn intake(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = "SELECT (SELECT count(*) FROM hr_intake)
                 - (SELECT count(*) FROM hr_intake
                    WHERE activity_number > (SELECT coalesce(max(number), 0) FROM activities))";
    let sound = tx.one(sql, [], |row| Ok(row.get::<_, i64>(0)? == 1))?;
    let finding = "deliveries: the outbox is ahead of what was decided, so hires would not be told";
    Ok(if sound == Some(true) { Vec::new() } else { vec![finding.to_owned()] })
}

/// A pending delivery has a time for its next attempt, unless an earlier one of its application has not arrived.
fn deliveries(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT id, is_forgotten
         FROM (
           SELECT d.id, d.next_attempt_at IS NULL AS is_forgotten, EXISTS (
             SELECT 1 FROM hr_deliveries e
             WHERE e.candidate_role_id = d.candidate_role_id AND e.number < d.number AND e.state <> 'delivered'
           ) AS waits
           FROM hr_deliveries d
           WHERE d.state = 'pending'
         )
         WHERE is_forgotten <> waits
         LIMIT {FINDINGS_OF_A_KIND_MAX}"
    );
    tx.all(&sql, [], |row| {
        let (id, is_forgotten): (String, bool) = (row.get(0)?, row.get(1)?);
        let what = if is_forgotten { "nothing holds it, yet it is never sent" } else { "it would go before its turn" };
        Ok(format!("delivery {id}: {what}"))
    })
}

//! The integrity checks for attachments, signups and status pages. `store::check` runs them.

use crate::db::tx::{Error, Tx};

/// Queries for the ids of inconsistent rows, each with a noun for a row and the finding about the row.
const CHECKS: [(&str, &str, &str); 5] = [
    (
        "SELECT d.id
         FROM documents d
         LEFT JOIN document_pieces p ON p.document_number = d.number
         WHERE d.bytes IS NOT NULL
         GROUP BY d.number, d.id, d.bytes
         HAVING coalesce(sum(length(p.content)), 0) <> d.bytes OR count(p.number) <> coalesce(max(p.number), 0)
         LIMIT $1",
        "attachment",
        "does not match its chunks",
    ),
    (
        "SELECT s.id
         FROM signups s
         JOIN status_pages p ON p.signup_id = s.id
         WHERE s.candidate_role_id IS NOT NULL
         LIMIT $1",
        "signup",
        "has its own status page in addition to its application's",
    ),
    (
        "SELECT s.id
         FROM signups s
         JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
         WHERE a.role_id <> s.role_id
         LIMIT $1",
        "signup",
        "is for a different role than its application",
    ),
    (
        "SELECT s.id
         FROM signups s
         JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
         JOIN candidates c ON c.id = a.candidate_id
         WHERE c.erased_at IS NOT NULL
         LIMIT $1",
        "signup",
        "belongs to an erased candidate",
    ),
    (
        "SELECT d.id
         FROM documents d
         JOIN candidate_roles a ON a.id = d.candidate_role_id
         JOIN candidates c ON c.id = a.candidate_id
         WHERE c.erased_at IS NOT NULL
         LIMIT $1",
        "attachment",
        "belongs to an erased candidate",
    ),
];

/// Compares the stored total size of all attachments with a recount.
fn check_total(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = "SELECT coalesce(sum(length(content)), 0)
               FROM document_pieces";
    let counted: i64 = tx.value(sql, [])?.unwrap_or(0);
    let sql = "SELECT bytes
               FROM attachment_totals
               WHERE id = 1";
    let stored: Option<i64> = tx.value(sql, [])?;
    let finding = || format!("attachments have {counted} bytes, but the stored total is {}", stored.unwrap_or(0));
    Ok(if stored == Some(counted) { Vec::new() } else { vec![finding()] })
}

/// Describes each inconsistency, at most `findings_max` of each kind.
pub(in super::super) fn inconsistencies(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let rows_max = i64::try_from(findings_max).unwrap_or(i64::MAX);
    let mut findings = check_total(tx)?;
    for (sql, noun, finding) in CHECKS {
        let ids: Vec<String> = tx.values(sql, [rows_max])?;
        findings.extend(ids.into_iter().map(|id| format!("{noun} {id} {finding}")));
    }
    findings.extend(super::digest::mismatches(tx, findings_max)?);
    Ok(findings)
}

//! Whether what candidates applied with is whole: documents, what they came with, and the pages that show it.

use crate::db::tx::{Error, Tx};

/// What a query looks for, and what is said of each id that it finds.
const WRONG: [(&str, &str, &str); 4] = [
    (
        "SELECT d.id
         FROM documents d
         LEFT JOIN document_pieces p ON p.document_number = d.number
         WHERE d.bytes IS NOT NULL
         GROUP BY d.number, d.id, d.bytes
         HAVING coalesce(sum(length(p.content)), 0) <> d.bytes OR count(p.number) <> coalesce(max(p.number), 0)
         LIMIT $1",
        "document",
        "does not have the bytes that it says",
    ),
    (
        "SELECT s.id
         FROM signups s
         JOIN status_pages p ON p.signup_id = s.id
         WHERE s.candidate_role_id IS NOT NULL
         LIMIT $1",
        "signup",
        "has a status page of its own beside that of its application",
    ),
    (
        "SELECT s.id
         FROM signups s
         JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
         WHERE a.role_id <> s.role_id
         LIMIT $1",
        "signup",
        "is for another role than the application",
    ),
    (
        "SELECT s.id
         FROM signups s
         JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
         JOIN candidates c ON c.id = a.candidate_id
         WHERE c.erased_at IS NOT NULL
         LIMIT $1",
        "signup",
        "is of a candidate who was erased",
    ),
];

/// The sum of all attachments is what a recount gives.
fn total(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql = "SELECT coalesce(sum(length(content)), 0)
               FROM document_pieces";
    let counted: i64 = tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0);
    let sql = "SELECT bytes
               FROM attachment_totals
               WHERE id = 1";
    let stored: Option<i64> = tx.one(sql, [], |row| Ok(row.get(0)?))?;
    let finding = || format!("attachments have {counted} bytes, their sum says {}", stored.unwrap_or(0));
    Ok(if stored == Some(counted) { Vec::new() } else { vec![finding()] })
}

/// A finding for each thing that is not, up to so many of a kind.
pub(in super::super) fn wrong(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let findings_max = i64::try_from(findings_max).unwrap_or(i64::MAX);
    let mut findings = total(tx)?;
    for (sql, noun, what) in WRONG {
        findings.extend(tx.all(sql, [findings_max], |row| Ok(format!("{noun} {} {what}", row.get::<_, String>(0)?)))?);
    }
    findings.extend(super::digest::mismatches(tx, usize::try_from(findings_max).unwrap_or(usize::MAX))?);
    Ok(findings)
}

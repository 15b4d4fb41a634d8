//! The comparison of a copy with the file that it replaces: the rows that are lost, and the rows that come back. The
//! copy is the main database, and the file is attached as `replaced`.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};

/// The relation between the copy and the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lineage {
    /// The copy is an earlier state of the file, or the same state. This is the ordinary case.
    Earlier,
    /// The copy is a later state of the file.
    Later,
    /// Neither is known to be an earlier state of the other. Each has activity that the other lacks, for example after
    /// another restore, or at least one of them has no activity.
    Other,
}

/// The number of rows that one of the two files has and the other lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Difference {
    pub decisions: i64,
    pub applications: i64,
    pub candidates: i64,
    pub roles: i64,
    pub users: i64,
    pub api_keys: i64,
}

pub(super) fn lineage(tx: &Tx<'_>) -> Result<Lineage, Error> {
    let sql = "SELECT
                 (SELECT count(*) FROM main.activities) AS in_copy,
                 (SELECT count(*) FROM replaced.activities) AS in_file,
                 (SELECT count(*)
                  FROM main.activities m
                  JOIN replaced.activities r ON r.number = m.number AND r.hash = m.hash) AS in_both";
    let counts = tx.one(sql, [], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<i64>()?, columns.read::<i64>()?))
    })?;
    let (in_copy, in_file, in_both) = counts.unwrap_or_default();
    Ok(match (in_copy == in_both, in_file == in_both) {
        (true, _) if in_copy > 0 => Lineage::Earlier,
        (_, true) if in_file > 0 => Lineage::Later,
        _ => Lineage::Other,
    })
}

/// Counts the rows that only the file has. They are lost.
pub(super) fn lost(tx: &Tx<'_>) -> Result<Difference, Error> {
    difference(tx, "replaced", "main")
}

/// Counts the rows that only the copy has. They come back.
pub(super) fn comes_back(tx: &Tx<'_>) -> Result<Difference, Error> {
    difference(tx, "main", "replaced")
}

fn difference(tx: &Tx<'_>, one: &str, other: &str) -> Result<Difference, Error> {
    let count = |table: &str, condition: &str| -> Result<i64, Error> {
        let sql = format!(
            "SELECT count(*)
             FROM {one}.{table} a
             WHERE NOT EXISTS (SELECT 1 FROM {other}.{table} b WHERE b.id = a.id) {condition}"
        );
        Ok(tx.value(&sql, [])?.unwrap_or_default())
    };
    Ok(Difference {
        decisions: count(
            "activities",
            "AND (a.action LIKE 'candidate_step.%' OR a.action = 'candidate_role.withdrawn')",
        )?,
        applications: count("candidate_roles", "")?,
        candidates: count("candidates", "")?,
        roles: count("roles", "")?,
        users: count("users", "")?,
        api_keys: count("api_keys", "")?,
    })
}

/// Returns the number of candidates whose data the copy has, although they were erased from the file.
pub(super) fn erased_since(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT count(*)
               FROM main.candidates c
               JOIN replaced.candidates r ON r.id = c.id
               WHERE c.erased_at IS NULL AND r.erased_at IS NOT NULL";
    Ok(tx.value(sql, [])?.unwrap_or_default())
}

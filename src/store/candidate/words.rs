//! The words that candidates are found by: they follow their names and addresses. Of a candidate who was erased there are
//! none.

use crate::db::row::Row;

use crate::db::tx::{Error, Tx};
use crate::domain::search;

/// Candidates of one block: so few that to read all of a common beginning in one is next to nothing, so many that a page of
/// a beginning too common to be sorted is found in some tens of blocks.
pub(super) const BLOCK_CANDIDATES: i64 = 1_024;

/// The block of a candidate.
pub(super) fn block(number: i64) -> i64 {
    number / BLOCK_CANDIDATES
}

/// What words are made of.
pub struct Worded<'a> {
    /// The candidate's organization.
    pub organization_id: &'a str,
    /// The candidate's number.
    pub number: i64,
    /// The candidate's name.
    pub name: &'a str,
    /// The candidate's address.
    pub email: &'a str,
}

/// Lets a candidate be found by the words of their name and address.
///
/// # Errors
/// When SQLite fails.
pub(super) fn index(tx: &Tx<'_>, candidate: &Worded<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO candidate_words (organization_id, in_name, word, candidate_number, block)
               VALUES ($1, $2, $3, $4, $5)";
    let words = search::candidate_words(candidate.name, candidate.email).into_iter();
    let Worded { organization_id, number, .. } = *candidate;
    tx.run_each(sql, words, |(word, in_name)| Ok((organization_id, in_name, word, number, block(number))))
}

/// Lets a candidate not be found any more by the words of the name and address that they have had.
///
/// # Errors
/// When SQLite fails.
pub fn unindex(tx: &Tx<'_>, candidate: &Worded<'_>) -> Result<(), Error> {
    let sql = "DELETE FROM candidate_words
               WHERE organization_id = $1 AND in_name = $2 AND word = $3 AND candidate_number = $4";
    let words = search::candidate_words(candidate.name, candidate.email).into_iter();
    tx.run_each(sql, words, |(word, in_name)| Ok((candidate.organization_id, in_name, word, candidate.number)))
}

/// Candidates who are not found by all their words, and how many words lead to nobody.
///
/// # Errors
/// When SQLite fails.
pub(in crate::store) fn wrong(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let word = "SELECT 1
                FROM candidate_words
                WHERE organization_id = $1 AND in_name = $2 AND word = $3 AND candidate_number = $4";
    let (mut findings, mut right) = (Vec::new(), 0);
    each(tx, |candidate| {
        if candidate.is_erased {
            return Ok(());
        }
        let mut missing = 0;
        for (text, in_name) in search::candidate_words(&candidate.name, &candidate.email) {
            match tx.exists(word, (&candidate.organization_id, in_name, text, candidate.number))? {
                true => right += 1,
                false => missing += 1,
            }
        }
        if missing > 0 && findings.len() < findings_max {
            findings
                .push(format!("candidate {} is not found by {missing} words of their name and address", candidate.id));
        }
        Ok(())
    })?;
    let all = tx.one("SELECT count(*) FROM candidate_words", [], |row| Ok(row.get::<_, i64>(0)?))?.unwrap_or_default();
    if all != right {
        findings.push(format!("candidates: {} words are of no name and address that there is", all - right));
    }
    Ok(findings)
}

/// A row of [`each`].
struct Candidate {
    number: i64,
    id: String,
    organization_id: String,
    name: String,
    email: String,
    is_erased: bool,
}

/// Hands over every candidate of the file, in the order in which they came, so many at a time.
fn each(tx: &Tx<'_>, mut visit: impl FnMut(&Candidate) -> Result<(), Error>) -> Result<(), Error> {
    let sql = "SELECT number, id, organization_id, name, email, erased_at IS NOT NULL
               FROM candidates
               WHERE number > $1
               ORDER BY number
               LIMIT 10000";
    let candidate = |row: &Row<'_>| {
        Ok(Candidate {
            number: row.get(0)?,
            id: row.get(1)?,
            organization_id: row.get(2)?,
            name: row.get(3)?,
            email: row.get(4)?,
            is_erased: row.get(5)?,
        })
    };
    let mut number = 0;
    loop {
        let rows = tx.all(sql, [number], candidate)?;
        let Some(last) = rows.last() else { return Ok(()) };
        number = last.number;
        rows.iter().try_for_each(&mut visit)?;
    }
}

//! The word index: the words of names and addresses, by which searches find candidates. Erased candidates have no words
//! in the index.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::search;

/// The number of candidates in a block. A block is so small that a search can read all rows of a common prefix
/// in it in almost no time. For a prefix that is too common for its rows to be sorted, a few dozen blocks contain
/// enough rows for a page.
pub(super) const BLOCK_CANDIDATES: i64 = 1_024;

/// Returns the block of a candidate number.
pub(super) fn block(number: i64) -> i64 {
    number / BLOCK_CANDIDATES
}

/// A candidate and the strings whose words are in the index.
pub struct IndexedText<'a> {
    pub organization_id: &'a str,
    pub number: i64,
    pub name: &'a str,
    pub email: &'a str,
}

/// Adds the words of a candidate's name and address.
pub(super) fn insert(tx: &Tx<'_>, text: &IndexedText<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO candidate_words (organization_id, in_name, word, candidate_number, block)
               VALUES ($1, $2, $3, $4, $5)";
    let words = search::candidate_words(text.name, text.email).into_iter();
    let IndexedText { organization_id, number, .. } = *text;
    tx.run_each(sql, words, |(word, in_name)| Ok((organization_id, in_name, word, number, block(number))))
}

/// Deletes the words of a candidate's current name and address.
pub fn delete(tx: &Tx<'_>, text: &IndexedText<'_>) -> Result<(), Error> {
    let sql = "DELETE FROM candidate_words
               WHERE organization_id = $1 AND in_name = $2 AND word = $3 AND candidate_number = $4";
    let words = search::candidate_words(text.name, text.email).into_iter();
    tx.run_each(sql, words, |(word, in_name)| Ok((text.organization_id, in_name, word, text.number)))
}

/// Describes at most `findings_max` candidates with missing words, and counts the words that belong to no name or
/// address.
pub(in crate::store) fn inconsistencies(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let word = "SELECT 1
                FROM candidate_words
                WHERE organization_id = $1 AND in_name = $2 AND word = $3 AND candidate_number = $4";
    let (mut findings, mut present) = (Vec::new(), 0);
    visit_candidates(tx, |candidate| {
        if candidate.is_erased {
            return Ok(());
        }
        let mut missing = 0;
        for (text, in_name) in search::candidate_words(&candidate.name, &candidate.email) {
            match tx.exists(word, (&candidate.organization_id, in_name, text, candidate.number))? {
                true => present += 1,
                false => missing += 1,
            }
        }
        if missing > 0 && findings.len() < findings_max {
            let words = if missing == 1 { "word" } else { "words" };
            findings.push(format!(
                "the word index lacks {missing} {words} of the name and address of candidate {}",
                candidate.id
            ));
        }
        Ok(())
    })?;
    let all: i64 = tx.value("SELECT count(*) FROM candidate_words", [])?.unwrap_or_default();
    if all != present {
        let words = if all - present == 1 { "word occurs" } else { "words occur" };
        findings.push(format!("candidates: {} indexed {words} in no name or address", all - present));
    }
    Ok(findings)
}

/// A candidate whose words [`inconsistencies`] looks up in the index.
struct CheckedCandidate {
    number: i64,
    id: String,
    organization_id: String,
    name: String,
    email: String,
    is_erased: bool,
}

fn read_checked_candidate(row: &Row<'_>) -> Result<CheckedCandidate, Error> {
    let mut columns = Columns::of(row);
    Ok(CheckedCandidate {
        number: columns.read()?,
        id: columns.read()?,
        organization_id: columns.read()?,
        name: columns.read()?,
        email: columns.read()?,
        is_erased: columns.read()?,
    })
}

/// Visits all candidates in the database in the order of their numbers. Reads 10,000 at a time, to limit the use of
/// memory.
fn visit_candidates(tx: &Tx<'_>, mut visit: impl FnMut(&CheckedCandidate) -> Result<(), Error>) -> Result<(), Error> {
    let sql = "SELECT number, id, organization_id, name, email, erased_at IS NOT NULL
               FROM candidates
               WHERE number > $1
               ORDER BY number
               LIMIT 10000";
    let mut number = 0;
    loop {
        let candidates = tx.all(sql, [number], read_checked_candidate)?;
        let Some(last) = candidates.last() else { return Ok(()) };
        number = last.number;
        candidates.iter().try_for_each(&mut visit)?;
    }
}

//! Page wiping: overwrites the bytes that SQLite leaves in the unallocated part of pages ([`page`]). Page wiping works
//! in slices, so that other jobs never wait long for the writer. This module does not depend on the reason for the
//! wiping.

use std::sync::Arc;

use super::super::connection::Connection;
use super::super::job_reader::JobReader;
use super::super::tx::{self, Error, Tx};
use super::super::writer::Writer;
use super::connection::on_raw_pages;
use super::page;
use crate::domain::timestamp::Timestamp;

/// The first page to wipe. Page 1 contains the schema and is not wiped.
pub(crate) const FIRST_PAGE: u32 = 2;

/// The maximum number of pages that a slice reads. Reading them takes one core about 10 ms.
const SLICE_PAGES: u32 = 4_096;

/// The maximum number of pages that one transaction wipes. During the transaction, other jobs wait for the writing
/// connection for about half a millisecond.
const TRANSACTION_PAGES: usize = 64;

/// The page wiper of a running service. It reads pages on its own connection, and wipes them through the writer.
pub(crate) struct PageWiper {
    reader: JobReader,
    writer: Arc<Writer>,
}

impl PageWiper {
    pub(crate) fn new(reader: JobReader, writer: Arc<Writer>) -> Self {
        Self { reader, writer }
    }

    /// Wipes a slice that begins at this page. Returns the page where the next slice begins, or `None` after the last
    /// page.
    pub(crate) fn wipe_slice(&self, first: u32) -> Result<Option<u32>, Error> {
        let now = Timestamp::from_micros(0);
        let (dirty, next) = self.reader.snapshot(now, |tx| find_dirty(tx, first))?;
        for pages in dirty.chunks(TRANSACTION_PAGES) {
            let pages = pages.to_vec();
            self.writer.run(move |tx| wipe(tx, &pages))?;
        }
        Ok(next)
    }
}

/// Wipes the pages of a file, one transaction per slice, on a connection that nothing else uses.
pub(crate) fn wipe_file(connection: &Connection) -> Result<(), Error> {
    let mut next = Some(FIRST_PAGE);
    while let Some(first) = next {
        next = tx::act(connection, Timestamp::from_micros(0), |tx| {
            let (dirty, next) = find_dirty(tx, first)?;
            wipe(tx, &dirty)?;
            Ok(next)
        })?;
    }
    Ok(())
}

/// Finds the pages in a slice that need wiping, and the page where the next slice begins.
fn find_dirty(tx: &Tx<'_>, first: u32) -> Result<(Vec<u32>, Option<u32>), Error> {
    let last: u32 = tx.value("PRAGMA page_count", [])?.unwrap_or(0);
    let last = last.min(page::NUMBER_MAX);
    let end = last.min(first.saturating_add(SLICE_PAGES - 1));
    let mut dirty = Vec::new();
    for number in first..=end {
        if read(tx, number, page::needs_wiping)?.unwrap_or(false) {
            dirty.push(number);
        }
    }
    Ok((dirty, (end < last).then_some(end + 1)))
}

/// Wipes the current content of these pages: another transaction may have changed the pages since [`find_dirty`] found
/// them.
fn wipe(tx: &Tx<'_>, pages: &[u32]) -> Result<(), Error> {
    let sql = "UPDATE sqlite_dbpage
               SET data = $1
               WHERE pgno = $2";
    on_raw_pages(tx, || {
        for number in pages {
            let wiped = read(tx, *number, |page| page::needs_wiping(page).then(|| page::wiped(page)))?;
            if let Some(wiped) = wiped.flatten() {
                tx.run(sql, (wiped, number))?;
            }
        }
        Ok(())
    })
}

fn read<T>(tx: &Tx<'_>, number: u32, f: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
    let sql = "SELECT data
               FROM sqlite_dbpage
               WHERE pgno = $1";
    tx.one(sql, [number], |row| Ok(f(row.blob("data")?)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::db::sqlite::connection::{self, Use};
    use crate::db::sqlite::schema;

    /// Returns words that occur nowhere else in a file, in a scattered order.
    fn words(count: u64) -> Vec<String> {
        let word = |nth: u64| format!("word{:016x}", (nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..count).map(word).collect()
    }

    fn count_in_file(path: &Path, words: &[String]) -> usize {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        words.iter().filter(|word| text.contains(word.as_str())).count()
    }

    /// If a version of SQLite leaves no deleted data in pages, this test fails, and page wiping can be removed.
    #[test]
    fn copies_of_deleted_rows_stay_in_pages_until_the_pages_are_wiped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        std::fs::File::create(&path).unwrap();
        let connection = connection::open(&path, Use::Write).unwrap();
        schema::use_wal(&connection).unwrap();
        connection.sqlite().execute_batch("CREATE TABLE words (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID").unwrap();
        let words = words(5_000);
        let now = Timestamp::from_micros(0);
        let each = |sql: &str, words: &[String]| {
            tx::act(&connection, now, |tx| tx.run_each(sql, words.iter(), |word| Ok([word]))).unwrap();
            connection.sqlite().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        };
        each("INSERT INTO words (word) VALUES ($1)", &words);
        let (deleted, retained) = words.split_at(500);
        each("DELETE FROM words WHERE word = $1", deleted);
        assert!(count_in_file(&path, deleted) > 0);
        wipe_file(&connection).unwrap();
        connection.sqlite().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        assert_eq!(count_in_file(&path, deleted), 0);
        assert_eq!(count_in_file(&path, retained), retained.len());
        let integrity: String = connection.sqlite().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        let count: i64 = connection.sqlite().query_row("SELECT count(*) FROM words", [], |row| row.get(0)).unwrap();
        assert_eq!((integrity.as_str(), count), ("ok", retained.len() as i64));
    }
}

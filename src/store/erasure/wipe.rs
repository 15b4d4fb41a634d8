//! Wiping what the file's pages hold between their rows, behind an erasure: a thread looks at every page, in slices, and has
//! the writer wipe those where something is left. Then the write-ahead log is cut, and nothing of who was erased is left.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::db::row::Connection;

use super::progress::Erasures;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::job::Grade;
use crate::db::page;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::timestamp::Timestamp;

/// How often is looked whether there is something to wipe, and how long the thread rests between slices.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Pages that are looked at in one slice: some 10 ms of one core, so a large file takes a few seconds a gigabyte and
/// no more than a fifth of a core.
const LOOKED_AT_PAGES: u32 = 4_096;

/// Pages that one transaction wipes: half a millisecond of the writing connection, which others wait for.
const WIPED_PAGES: usize = 64;

/// The first page that is looked at. The one before it has the names of the tables.
const FIRST: u32 = 2;

/// Starts the thread.
pub(in super::super) fn start(
    path: &Path,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    // Where the next slice begins, and behind how many erasures.
    let mut under_way = None;
    let look = move || {
        if under_way.is_none() && erasures.needs_wiping() {
            under_way = Some((FIRST, erasures.committed_count()));
        }
        let (first, behind) = under_way?;
        // What fails now, because of a full disk or another process's lock, is tried again at the next look.
        let next = match slice(&connection, &writer, first) {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        under_way = next.map(|next| (next, behind));
        if next.is_none() {
            erasures.note_wiped(behind);
        }
        Some(Ok(()))
    };
    Periodic::reporting(health, Job::Wiping, LOOK_EVERY, look)
}

/// Wipes a slice; where the next one begins, if there is one.
fn slice(connection: &Connection, writer: &Writer, first: u32) -> Result<Option<u32>, Error> {
    let (found, next) = tx::snapshot(connection, Timestamp::from_micros(0), |tx| look(tx, first))?;
    for pages in found.chunks(WIPED_PAGES) {
        let (done, ended) = mpsc::channel();
        let pages = pages.to_vec();
        writer.submit(Grade::Upkeep, move |tx| wipe(tx, &pages), move |outcome| drop(done.send(outcome)));
        ended.recv().unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))?;
    }
    Ok(next)
}

/// Wipes the whole file on a connection that nobody else needs.
pub(super) fn whole(connection: &Connection) -> Result<(), Error> {
    let mut next = Some(FIRST);
    while let Some(first) = next {
        next = tx::act(connection, Timestamp::from_micros(0), |tx| {
            let (found, next) = look(tx, first)?;
            wipe(tx, &found)?;
            Ok(next)
        })?;
    }
    Ok(())
}

/// Which pages of a slice have something to wipe, and where the next slice begins.
fn look(tx: &Tx<'_>, first: u32) -> Result<(Vec<u32>, Option<u32>), Error> {
    let last: u32 = tx.one("PRAGMA page_count", [], |row| Ok(row.get(0)?))?.unwrap_or(0);
    let last = last.min(page::NUMBER_MAX);
    let end = last.min(first.saturating_add(LOOKED_AT_PAGES - 1));
    let mut found = Vec::new();
    for number in first..=end {
        if read(tx, number, page::is_to_wipe)?.unwrap_or(false) {
            found.push(number);
        }
    }
    Ok((found, (end < last).then_some(end + 1)))
}

/// Wipes pages as they are now: since they were looked at, others may have written them.
fn wipe(tx: &Tx<'_>, pages: &[u32]) -> Result<(), Error> {
    let sql = "UPDATE sqlite_dbpage
               SET data = $1
               WHERE pgno = $2";
    tx.on_raw_pages(|| {
        for number in pages {
            let wiped = read(tx, *number, |page| page::is_to_wipe(page).then(|| page::wiped(page)))?;
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
    tx.one(sql, [number], |row| Ok(f(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::schema;

    /// Texts that no other text of a file has, in an order of their own.
    fn marks(count: u64) -> Vec<String> {
        let mark = |nth: u64| format!("mark{:016x}", (nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..count).map(mark).collect()
    }

    fn left_over(path: &Path, marks: &[String]) -> usize {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        marks.iter().filter(|mark| text.contains(mark.as_str())).count()
    }

    /// That a page keeps rows that have moved is what this is all for: without it, it can go.
    #[test]
    fn what_moved_and_was_deleted_is_left_over_until_it_is_wiped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        std::fs::File::create(&path).unwrap();
        let connection = connection::open(&path, Use::Write).unwrap();
        schema::use_wal(&connection).unwrap();
        connection.execute_batch("CREATE TABLE words (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID").unwrap();
        let marks = marks(5_000);
        let now = Timestamp::from_micros(0);
        let each = |sql: &str, marks: &[String]| {
            tx::act(&connection, now, |tx| tx.run_each(sql, marks.iter(), |mark| Ok([mark]))).unwrap();
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        };
        each("INSERT INTO words (word) VALUES ($1)", &marks);
        let (gone, kept) = marks.split_at(500);
        each("DELETE FROM words WHERE word = $1", gone);
        assert!(left_over(&path, gone) > 0);
        whole(&connection).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        assert_eq!(left_over(&path, gone), 0);
        assert_eq!(left_over(&path, kept), kept.len());
        let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        let count: i64 = connection.query_row("SELECT count(*) FROM words", [], |row| row.get(0)).unwrap();
        assert_eq!((sound.as_str(), count), ("ok", kept.len() as i64));
    }
}

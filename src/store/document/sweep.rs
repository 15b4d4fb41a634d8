//! Sweeping: a document that nobody applied with goes after an hour, and one that had not arrived when the service ended goes
//! when it starts again. A slice at a time, so that neither the writer nor the end of the service waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::connection::{self, Use};
use super::super::erasure::Erasures;
use super::super::thread::Periodic;
use super::super::tx::{self, Error, Tx};
use super::super::writer::Writer;
use super::{drop_some, swept_until};
use crate::domain::id::{DocumentId, Id};
use crate::world::World;

/// How often it is looked what is to be swept.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How long the thread rests between two slices.
const SLICE_EVERY: Duration = Duration::from_millis(50);

/// Documents that one look finds.
const FOUND_MAX: i64 = 64;

/// Starts the thread. The first look is at the start.
pub(in super::super) fn start(
    path: &Path,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let before = tx::snapshot(&connection, world.now(), newest)?;
    let mut looked_at = None;
    let mut found = VecDeque::new();
    let step = move || {
        let now = world.monotonic();
        let is_due = looked_at.is_none_or(|at| now.saturating_sub(at) >= LOOK_EVERY);
        if found.is_empty() && is_due {
            looked_at = Some(now);
            // What cannot be read now is read at the next look.
            found = tx::snapshot(&connection, world.now(), |tx| look(tx, before)).unwrap_or_default();
        }
        let Some(document) = found.front().cloned() else { return };
        match writer.run(move |tx| drop_some(tx, &document)) {
            Ok(false) => {}
            // What fails now, because of a full disk or another process's lock, is tried again at the next look.
            Ok(true) | Err(_) => {
                found.pop_front();
                if found.is_empty() {
                    // Another look may find more. What the file and its log still hold of these is wiped like an erasure:
                    // whoever sent them may have been erased meanwhile.
                    looked_at = None;
                    erasures.swept();
                }
            }
        }
    };
    Periodic::start("sweeping", SLICE_EVERY, step)
}

/// The number of the newest document.
fn newest(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT coalesce(max(number), 0)
               FROM documents";
    Ok(tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// Those that are to be swept: all that are too old, and those that no process is left to write.
fn look(tx: &Tx<'_>, before: i64) -> Result<VecDeque<DocumentId>, Error> {
    let sql = "SELECT id
               FROM documents
               WHERE signup_id IS NULL AND (created_at <= $1 OR (bytes IS NULL AND number <= $2))
               ORDER BY created_at
               LIMIT $3";
    let found = tx.all(sql, (swept_until(tx.now).micros(), before, FOUND_MAX), |row| {
        tx::word(&row.get::<_, String>(0)?, DocumentId::parse)
    })?;
    Ok(found.into())
}

//! What the service does of imports: it drops what was never decided at its start, and goes on where a decided import ended
//! early, because it was killed or its disk was full.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{WORK_MAX, bring_some, drop_some, undecided};
use crate::db::connection::{self, Use};
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::world::World;

/// How long the thread rests between two transactions, which everybody else waits for.
const STEP_EVERY: Duration = Duration::from_millis(50);

/// After so many rests without work the thread looks for some: once a second.
const LOOK_EVERY: u32 = 20;

/// Starts the thread.
pub(in super::super) fn start(path: &Path, world: Arc<dyn World>, writer: Arc<Writer>) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut left = tx::snapshot(&connection, world.now(), undecided)?;
    // The next row that is due, as the look before saw it: an import that runs has brought it since.
    let mut due = None;
    let mut rests = 0;
    let mut is_at_work = false;
    let step = move || {
        if let Some(import) = left.last().copied() {
            // What cannot be dropped now is dropped at the next start.
            if !writer.run(move |tx| drop_some(tx, import)).unwrap_or(false) {
                left.pop();
            }
            return;
        }
        if !is_at_work {
            rests = (rests + 1) % LOOK_EVERY;
            if rests > 0 {
                return;
            }
            let next = tx::snapshot(&connection, world.now(), next).unwrap_or(None);
            is_at_work = next.is_some() && next == due;
            due = next;
        }
        if is_at_work {
            // What fails now, because of a full disk or another process's lock, is tried again at a later look.
            is_at_work = bring(&writer, &world).unwrap_or(false);
        }
    };
    Periodic::start("imports", STEP_EVERY, step)
}

/// The next row that is due.
fn next(tx: &Tx<'_>) -> Result<Option<i64>, Error> {
    let sql = "SELECT r.number
               FROM imports i
               JOIN import_rows r ON r.import_number = i.number
               WHERE i.decided_at IS NOT NULL
               ORDER BY r.import_number, r.number
               LIMIT 1";
    tx.one(sql, [], |row| Ok(row.get(0)?))
}

fn bring(writer: &Writer, world: &Arc<dyn World>) -> Result<bool, Error> {
    let world = Arc::clone(world);
    writer.run(move |tx| {
        let begun = world.monotonic();
        bring_some(tx, &|| world.monotonic().saturating_sub(begun) >= WORK_MAX)
    })
}

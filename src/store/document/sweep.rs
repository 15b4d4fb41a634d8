//! Sweeping: a document that nobody applied with goes after an hour, one whose signup was deleted at once, and one that had
//! not arrived when the service ended when it starts again. A slice at a time, so that neither the writer nor the end of the
//! service waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::super::erasure::Erasures;
use super::{NO_TIME, drop_some, swept_until};
use crate::db::connection::{self, Use};
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::id::{AttachmentId, Id};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// How often it is looked what is to be swept, where nobody says that there is something.
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
    let mut sweeper = Sweeper::new(path, world, erasures, writer)?;
    Periodic::start("sweeping", SLICE_EVERY, move || sweeper.step())
}

/// What was there when the service started: no process is left to write it. A number alone does not tell, for the number of
/// what was swept is given again.
#[derive(Debug, Clone, Copy)]
struct Before {
    number: i64,
    time: Timestamp,
}

/// What the thread remembers.
pub(super) struct Sweeper {
    connection: Connection,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    before: Before,
    found: VecDeque<AttachmentId>,
    looked_at: Duration,
    /// How many transactions had left something to do when it was looked.
    behind: u64,
    /// Whether some of what the last look found was taken away.
    has_swept: bool,
}

impl Sweeper {
    /// Looks for the first time: whoever asks from now on is told that something is left, where it is.
    pub(super) fn new(
        path: &Path,
        world: Arc<dyn World>,
        erasures: Arc<Erasures>,
        writer: Arc<Writer>,
    ) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Read)?;
        let now = world.now();
        let before = Before { number: tx::snapshot(&connection, now, newest)?, time: now };
        let (found, looked_at) = (VecDeque::new(), Duration::ZERO);
        let mut new =
            Self { connection, world, erasures, writer, before, found, looked_at, behind: 0, has_swept: false };
        new.look();
        Ok(new)
    }

    /// Takes away one slice, where there is something.
    pub(super) fn step(&mut self) {
        let now = self.world.monotonic();
        let is_told = self.erasures.behind() != self.behind;
        if self.found.is_empty() && (is_told || now.saturating_sub(self.looked_at) >= LOOK_EVERY) {
            self.look();
        }
        let Some(document) = self.found.front().cloned() else { return };
        match self.writer.run(move |tx| drop_some(tx, &document)) {
            Ok(false) => return,
            Ok(true) => self.has_swept = true,
            // What fails now, because of a full disk or another process's lock, is tried again at the next look.
            Err(_) => {}
        }
        self.found.pop_front();
        if self.found.is_empty() && std::mem::take(&mut self.has_swept) {
            // The file and its log are to hold nothing of it either: whoever sent it may have been erased meanwhile. And
            // another look may find more.
            self.erasures.left_more();
        }
    }

    fn look(&mut self) {
        self.looked_at = self.world.monotonic();
        self.behind = self.erasures.behind();
        // What cannot be read now is read at the next look.
        let found = tx::snapshot(&self.connection, self.world.now(), |tx| look(tx, self.before));
        let Ok(found) = found else { return };
        if found.is_empty() {
            self.erasures.swept(self.behind);
        } else if !self.erasures.are_to_sweep() {
            self.erasures.left_more();
        }
        self.found = found;
    }
}

/// The number of the newest document.
fn newest(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT coalesce(max(number), 0)
               FROM documents";
    Ok(tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// Those that are to be swept: all that are too old or nobody's, and those that no process is left to write.
fn look(tx: &Tx<'_>, before: Before) -> Result<VecDeque<AttachmentId>, Error> {
    let sql = "SELECT id
               FROM documents
               WHERE signup_id IS NULL
                 AND (created_at <= $1 OR (bytes IS NULL AND number <= $2 AND created_at < $3))
               ORDER BY created_at
               LIMIT $4";
    let params = (swept_until(tx.now).micros(), before.number, before.time.micros(), FOUND_MAX);
    Ok(tx.all(sql, params, id)?.into())
}

fn id(row: &rusqlite::Row<'_>) -> Result<AttachmentId, Error> {
    tx::word(&row.get::<_, String>(0)?, AttachmentId::parse)
}

/// Sweeps all that is nobody's, on a connection that nobody else needs.
pub(in super::super) fn sweep_detached(connection: &Connection) -> Result<(), Error> {
    let sql = "SELECT id
               FROM documents
               WHERE signup_id IS NULL AND created_at <= $1
               LIMIT $2";
    let now = Timestamp::from_micros(NO_TIME);
    loop {
        let found = tx::snapshot(connection, now, |tx| tx.all(sql, (NO_TIME, FOUND_MAX), id))?;
        if found.is_empty() {
            return Ok(());
        }
        for document in found {
            tx::act(connection, now, |tx| {
                while !drop_some(tx, &document)? {}
                Ok(())
            })?;
        }
    }
}

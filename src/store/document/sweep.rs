//! Sweeping: a document that nobody applied with goes after an hour, one whose signup was deleted at once, and one that had
//! not arrived when the service ended when it starts again. A slice at a time, so that neither the writer nor the end of the
//! service waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::db::row::Connection;

use super::super::erasure::progress::Erasures;
use super::{NO_TIME, drop_some, swept_until};
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::id::{AttachmentId, Id};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// How often it is looked what is to be swept, where nobody says that there is something.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How soon the next look follows one that failed, or whose slice did.
const RETRY_AFTER: Duration = Duration::from_secs(2);

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
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let mut sweeper = Sweeper::new(path, world, erasures, writer)?;
    Periodic::reporting(health, Job::Sweeping, SLICE_EVERY, move || sweeper.step())
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
    /// Whether the last look, or something of what it found, failed.
    has_failed: bool,
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
        let (behind, has_swept, has_failed) = (0, false, false);
        let mut new =
            Self { connection, world, erasures, writer, before, found, looked_at, behind, has_swept, has_failed };
        new.has_failed = new.look().is_err();
        Ok(new)
    }

    /// Takes away one slice, where there is something. How all that the last look found came out, once that is known.
    pub(super) fn step(&mut self) -> Option<Result<(), Error>> {
        let now = self.world.monotonic();
        let is_told = self.erasures.committed_count() != self.behind;
        let wait = if self.has_failed { RETRY_AFTER } else { LOOK_EVERY };
        let is_due = is_told || now.saturating_sub(self.looked_at) >= wait;
        if self.found.is_empty() && is_due {
            let looked = self.look();
            self.has_failed = looked.is_err();
            if looked.is_err() || self.found.is_empty() {
                return Some(looked);
            }
        }
        let document = self.found.front().cloned()?;
        let failure = match self.writer.run(move |tx| drop_some(tx, &document)) {
            Ok(false) => return None,
            Ok(true) => {
                self.has_swept = true;
                None
            }
            // What fails now, because of a full disk or another process's lock, is tried again at the next look.
            Err(error) => Some(error),
        };
        self.has_failed |= failure.is_some();
        self.found.pop_front();
        if self.found.is_empty() && std::mem::take(&mut self.has_swept) {
            // The file and its log are to hold nothing of it either: whoever sent it may have been erased meanwhile. And
            // another look may find more.
            self.erasures.add_work();
        }
        let has_succeeded = self.found.is_empty() && !self.has_failed;
        failure.map(Err).or(has_succeeded.then_some(Ok(())))
    }

    fn look(&mut self) -> Result<(), Error> {
        self.looked_at = self.world.monotonic();
        self.behind = self.erasures.committed_count();
        let found = tx::snapshot(&self.connection, self.world.now(), |tx| look(tx, self.before))?;
        if found.is_empty() {
            self.erasures.note_swept(self.behind);
        } else if !self.erasures.needs_sweep() {
            self.erasures.add_work();
        }
        self.found = found;
        Ok(())
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

fn id(row: &crate::db::row::Row<'_>) -> Result<AttachmentId, Error> {
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

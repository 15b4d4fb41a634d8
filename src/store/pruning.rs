//! Pruning the usage log: rows older than the operator keeps them go, in slices that hold nobody up.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::db::row::Connection;

use super::usage;
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error};
use crate::db::writer::Writer;
use crate::domain;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// How often the thread looks whether rows are too old.
const LOOK_EVERY: Duration = Duration::from_secs(600);

/// How soon the next look follows one that failed.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// How long the thread rests between two slices. With the size of a slice, that is at most 5,000 rows a second: more than a
/// busy service logs, and a hundredth of the writer's time.
const SLICE_EVERY: Duration = Duration::from_millis(100);

/// Rows that one transaction deletes: a millisecond or two of the writer, which others wait for. The commit waits for no disk.
const SLICE_ROWS: usize = 512;

/// Starts the thread. The first look is at the start.
pub(super) fn start(
    path: &Path,
    world: Arc<dyn World>,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    days: u32,
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut looked_at = None;
    // How long after the last look the next one is due.
    let mut wait = Duration::ZERO;
    let step = move || {
        let now = world.monotonic();
        if looked_at.is_some_and(|at| now.saturating_sub(at) < wait) {
            return None;
        }
        looked_at = Some(now);
        // A clock that is ahead makes no row old.
        let kept_since = domain::usage::retained_since(clock.read().earliest(), days);
        // What fails now, because of a full disk or another process's lock, is tried again at the next look.
        let pruned = prune(&connection, &writer, kept_since);
        wait = match pruned {
            Ok(true) => Duration::ZERO,
            Ok(false) => LOOK_EVERY,
            Err(_) => RETRY_AFTER,
        };
        Some(pruned.map(drop))
    };
    Periodic::reporting(health, Job::UsagePruning, SLICE_EVERY, step)
}

/// Deletes the oldest rows from before a time, a slice of them. Whether there may be more.
fn prune(connection: &Connection, writer: &Writer, kept_since: Timestamp) -> Result<bool, Error> {
    let rows = tx::snapshot(connection, kept_since, |tx| usage::outdated(tx, kept_since, SLICE_ROWS))?;
    let is_full = rows.len() == SLICE_ROWS;
    if !rows.is_empty() {
        writer.run(move |tx| usage::prune(tx, &rows))?;
    }
    Ok(is_full)
}

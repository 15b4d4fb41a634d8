//! Page wiping after an erasure. The job wipes every page of the file in slices; then the checkpoints truncate the write-ahead
//! log, and nothing of the erased candidates is left. Only starts the work, which `db::page_wiping` does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::progress::Erasures;
use crate::db::health::{Health, Job};
use crate::db::page_wiping::{FIRST_PAGE, PageWiper};
use crate::db::thread::Periodic;
use crate::db::tx::Error;
use crate::db::writer::Writer;

/// The rest between two slices, and between two checks for something to wipe. A slice takes some 10 ms, so a large file takes
/// a few seconds per gigabyte and at most a fifth of a core.
const SLICE_EVERY: Duration = Duration::from_millis(50);

/// Starts the thread.
pub(in super::super) fn start(
    path: &Path,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let wiper = PageWiper::open(path, writer)?;
    // The first page of the next slice, and the number of erasures that were committed when this pass began.
    let mut pass = None;
    let step = move || {
        if pass.is_none() && erasures.needs_wiping() {
            pass = Some((FIRST_PAGE, erasures.committed_count()));
        }
        let (first, commits) = pass?;
        // A slice that fails, because of a full disk or another process's lock, is tried again.
        let next = match wiper.wipe_slice(first) {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        pass = next.map(|next| (next, commits));
        if next.is_none() {
            erasures.note_wiped(commits);
        }
        Some(Ok(()))
    };
    Periodic::reporting(health, Job::Wiping, SLICE_EVERY, step)
}

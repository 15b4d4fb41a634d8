//! Page wiping after an erasure. The job wipes every page of the file in slices. Checkpoints then truncate the
//! write-ahead log, which removes the last of the erased data. This module schedules the wiping, and `db::page_wiping`
//! wipes the pages.

use std::sync::Arc;

use super::progress::Erasures;
use crate::db::job_reader::JobReader;
#[cfg(feature = "postgres")]
use crate::db::postgres::{Target, vacuum};
use crate::db::scheduler::Step;
use crate::db::sqlite::page_wiping::{FIRST_PAGE, PageWiper};
use crate::db::writer::Writer;

/// Prepares the job that wipes pages, one slice in each step. A slice takes about 10 ms, followed by a rest of 50 ms.
/// Wiping a large file therefore takes a few seconds per gigabyte and uses at most a fifth of a core.
pub(in super::super) fn job_step(reader: JobReader, erasures: Arc<Erasures>, writer: Arc<Writer>) -> Step {
    let wiper = PageWiper::new(reader, writer);
    // The first page of the next slice, and the number of commits whose erased data this pass wipes.
    let mut pass = None;
    Box::new(move || {
        if pass.is_none() && erasures.needs_wiping() {
            pass = Some((FIRST_PAGE, erasures.committed_count()));
        }
        let (first, commits) = pass?;
        // If a slice fails, for example on a full disk, the next step repeats the slice.
        let next = match wiper.wipe_slice(first) {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        pass = next.map(|next| (next, commits));
        if next.is_none() {
            erasures.note_wiped(commits);
        }
        Some(Ok(()))
    })
}

/// Prepares the job that wipes the tables of a server: `VACUUM` removes the erased rows, and `ANALYZE` the samples of
/// their values in the statistics.
#[cfg(feature = "postgres")]
pub(in super::super) fn vacuum_step(target: Arc<Target>, erasures: Arc<Erasures>) -> Step {
    Box::new(move || {
        if !erasures.needs_wiping() {
            return None;
        }
        let commits = erasures.committed_count();
        let wiped = vacuum::run(&target);
        if wiped.is_ok() {
            erasures.note_wiped(commits);
            // The write-ahead log of the server belongs to the server, which recycles it.
            let _ = erasures.truncate_log(|| true);
        }
        Some(wiped)
    })
}

//! Page wiping after an erasure. The job wipes every page of the file in slices; then the checkpoints truncate the
//! write-ahead log, and nothing of the erased candidates is left. This module only schedules the work. `db::page_wiping`
//! does it.

use std::path::Path;
use std::sync::Arc;

use super::progress::Erasures;
use crate::db::page_wiping::{FIRST_PAGE, PageWiper};
use crate::db::scheduler::Step;
use crate::db::tx::Error;
use crate::db::writer::Writer;

/// The job that wipes pages, a slice in each step. A slice takes about 10 ms, so at a rest of 50 ms a large file takes a
/// few seconds per gigabyte and at most a fifth of a core.
pub(in super::super) fn job_step(path: &Path, erasures: Arc<Erasures>, writer: Arc<Writer>) -> Result<Step, Error> {
    let wiper = PageWiper::open(path, writer)?;
    // The first page of the next slice, and the number of erasures that were committed when this pass began.
    let mut pass = None;
    Ok(Box::new(move || {
        if pass.is_none() && erasures.needs_wiping() {
            pass = Some((FIRST_PAGE, erasures.committed_count()));
        }
        let (first, commits) = pass?;
        // If a slice fails, for example on a full disk, the next step tries it again.
        let next = match wiper.wipe_slice(first) {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        pass = next.map(|next| (next, commits));
        if next.is_none() {
            erasures.note_wiped(commits);
        }
        Some(Ok(()))
    }))
}

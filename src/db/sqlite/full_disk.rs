//! Handling of a full disk: how a service starts, and the job that restores normal operation. When the disk has room,
//! the job restores the reserve and writes the owed rows.

use std::sync::Arc;

use super::super::hooks::Hooks;
use super::super::scheduler::Step;
use super::super::writer_thread::WriterThread;
use super::file::OpenError;
use super::reserve::Reserve;

/// Runs a step of a service's start. On a full disk, SQLite cannot even create its shared memory. In that case, the
/// step is tried again with the space of the reserve.
pub(crate) fn retry<T>(reserve: &Reserve, mut step: impl FnMut() -> Result<T, OpenError>) -> Result<T, OpenError> {
    loop {
        match step() {
            Err(_) if reserve.is_needed_to_start() && reserve.release() => {}
            outcome => return outcome,
        }
    }
}

/// Creates the reserve if the disk has room, and returns the step of the job, which restores the reserve and writes the
/// owed rows later.
pub(crate) fn job_step<H: Hooks>(reserve: Arc<Reserve>, writer: Arc<WriterThread<H>>) -> Step {
    if !reserve.is_full() {
        reserve.restore();
    }
    Box::new(move || {
        if reserve.is_full() || !reserve.exists() {
            reserve.restore();
        }
        if !reserve.is_full() && reserve.owed_rows() > 0 {
            writer.write_pending_entries();
        }
        None
    })
}

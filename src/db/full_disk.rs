//! A full disk: how a service starts on it, and the job that returns to normal operation. Once the disk has room, the job
//! makes the reserve again and has the owed rows written.

use std::sync::Arc;

use super::file::OpenError;
use super::hooks::Hooks;
use super::reserve::Reserve;
use super::scheduler::Step;
use super::writer_thread::WriterThread;

/// Runs a step of the start. On a full disk, SQLite cannot even create its shared memory. The step is then tried again with
/// the space of the reserve.
pub(crate) fn retry<T>(reserve: &Reserve, mut step: impl FnMut() -> Result<T, OpenError>) -> Result<T, OpenError> {
    loop {
        match step() {
            Err(_) if reserve.is_needed_to_start() && reserve.release() => {}
            outcome => return outcome,
        }
    }
}

/// Makes the reserve if the disk has room, and returns the job that continues to try.
pub(crate) fn job_step<H: Hooks>(reserve: Arc<Reserve>, writer: Arc<WriterThread<H>>) -> Step {
    if !reserve.is_full() {
        reserve.restore();
    }
    Box::new(move || {
        if reserve.is_full() || !reserve.is_there() {
            reserve.restore();
        }
        if !reserve.is_full() && reserve.owed_rows() > 0 {
            writer.write_pending_entries();
        }
        None
    })
}

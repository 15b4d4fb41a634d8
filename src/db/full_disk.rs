//! A full disk: the start of a service on it, and the thread that ends it. That thread makes the reserve again once there is
//! room, and then has the rows written that are owed.

use std::sync::Arc;
use std::time::Duration;

use super::file::OpenError;
use super::hooks::Hooks;
use super::reserve::Reserve;
use super::thread::Periodic;
use super::tx::Error;
use super::writer_thread::WriterThread;

/// How often the disk is looked at while it is full, or has no reserve yet.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs a step of the start. On a full disk, where SQLite cannot even make its shared memory, the step is tried again with the
/// space of the reserve.
pub(crate) fn retry<T>(reserve: &Reserve, mut step: impl FnMut() -> Result<T, OpenError>) -> Result<T, OpenError> {
    loop {
        match step() {
            Err(_) if reserve.is_needed_to_start() && reserve.release() => {}
            outcome => return outcome,
        }
    }
}

/// Makes the reserve where there is room, and starts the thread.
pub(crate) fn start<H: Hooks>(reserve: Arc<Reserve>, writer: Arc<WriterThread<H>>) -> Result<Periodic, Error> {
    if !reserve.is_full() {
        reserve.restore();
    }
    Periodic::start("reserve", LOOK_EVERY, move || {
        if reserve.is_full() || !reserve.is_there() {
            reserve.restore();
        }
        if !reserve.is_full() && reserve.owed_rows() > 0 {
            writer.write_pending_entries();
        }
    })
}

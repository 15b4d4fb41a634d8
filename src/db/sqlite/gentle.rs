//! Long reads that leave most of the CPU to the service: copies and checks of whole files.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::connection::Connection;
use super::super::tx::Error;

/// A long read works for `WORK` and then rests for `REST`, so it uses about a quarter of a core. It checks the time
/// after every `STEPS` steps of SQLite's virtual machine.
const WORK: Duration = Duration::from_millis(1);
const REST: Duration = Duration::from_millis(3);
const STEPS: c_int = 500;

/// Ends long reads early when the service stops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Makes the statements of all connections with this interrupt fail within milliseconds.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes the statements of this connection rest regularly, and fail when the interrupt is set.
pub(crate) fn slow_down(connection: &Connection, interrupt: &Interrupt) -> Result<(), Error> {
    let interrupt = interrupt.clone();
    let mut woke = Instant::now();
    let rest = move || {
        if woke.elapsed() >= WORK {
            std::thread::sleep(REST);
            woke = Instant::now();
        }
        interrupt.is_set()
    };
    Ok(connection.sqlite().progress_handler(STEPS, Some(rest))?)
}

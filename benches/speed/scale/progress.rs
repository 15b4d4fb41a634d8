//! Lines on standard error while something takes long.

use std::time::{Duration, Instant};

/// Between two lines.
const EVERY: Duration = Duration::from_secs(5);

/// How far something has come.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    done: usize,
    told_at: Instant,
}

impl Progress {
    pub(crate) fn of(what: &'static str, total: usize) -> Self {
        eprintln!("  {total} {what}");
        Self { what, total, done: 0, told_at: Instant::now() }
    }

    /// One more is done.
    pub(crate) fn one(&mut self) {
        self.done += 1;
        // The clock is not looked at for each.
        if self.done.is_multiple_of(10_000) && self.told_at.elapsed() > EVERY {
            eprintln!("  {} of {} {}", self.done, self.total, self.what);
            self.told_at = Instant::now();
        }
    }
}

//! Progress reports for long work, on standard error.

use std::time::{Duration, Instant};

/// The minimum interval between two lines.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of one task.
pub(crate) struct Progress {
    items: &'static str,
    total: usize,
    done: usize,
    reported_at: Instant,
}

impl Progress {
    pub(crate) fn of(items: &'static str, total: usize) -> Self {
        eprintln!("  {total} {items}");
        Self { items, total, done: 0, reported_at: Instant::now() }
    }

    /// Counts one more item.
    pub(crate) fn one(&mut self) {
        self.done += 1;
        // Reading the clock for each item would take too long.
        if self.done.is_multiple_of(10_000) && self.reported_at.elapsed() > EVERY {
            eprintln!("  {} of {} {}", self.done, self.total, self.items);
            self.reported_at = Instant::now();
        }
    }
}

//! Medians of durations, and a description of the machine.

use std::io::{Seek, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The number of flushes in the measurement of the disk.
const FLUSHES: usize = 101;

/// Sorted durations.
pub(crate) struct Figures(Vec<Duration>);

impl Figures {
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort();
        Self(durations)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the median. For an even number of durations, it is the mean of the two in the middle.
    pub(crate) fn median(&self) -> Duration {
        (self.0[(self.count() - 1) / 2] + self.0[self.count() / 2]) / 2
    }

    pub(crate) fn min(&self) -> Duration {
        self.0[0]
    }

    pub(crate) fn max(&self) -> Duration {
        self.0[self.count() - 1]
    }

    /// Returns the 99th percentile.
    pub(crate) fn p99(&self) -> Duration {
        self.0[(self.count() * 99).div_ceil(100) - 1]
    }

    /// Returns this median divided by the other median.
    pub(crate) fn ratio(&self, base: &Self) -> f64 {
        self.median().as_secs_f64() / base.median().as_secs_f64()
    }

    /// Returns the figures in seconds.
    pub(crate) fn json(&self) -> Value {
        let [median, min, max] = [self.median(), self.min(), self.max()].map(|one| one.as_secs_f64());
        json!({ "median": median, "min": min, "max": max, "count": self.count() })
    }
}

/// Returns the words that show in the table whether a target is met.
pub(crate) fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "NOT met" }
}

/// Returns a description of the machine: its cores, its load, and the time of a flush, which is the lower bound for a
/// commit.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|load| load.split(' ').next().map(|load| format!(", load {load} at the start")));
    let flush = flush().as_secs_f64() * 1e3;
    format!("a machine with {cores}{}, 16 KiB flushed to disk in {flush:.2} ms", load.unwrap_or_default())
}

fn flush() -> Duration {
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let once = |_| {
        // The file is overwritten, as a write-ahead log usually is.
        file.rewind().unwrap();
        let began = Instant::now();
        file.write_all(&[1; 16 * 1_024]).unwrap();
        file.sync_data().unwrap();
        began.elapsed()
    };
    Figures::new((0..FLUSHES).map(once).collect()).median()
}

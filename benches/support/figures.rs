//! Medians, and the words for a machine.

use std::io::{Seek, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Flushes that a disk is timed by.
const FLUSHES: usize = 101;

/// Durations, in order.
pub(crate) struct Figures(Vec<Duration>);

impl Figures {
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort();
        Self(durations)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// With an even number of durations, the mean of the two in the middle.
    pub(crate) fn median(&self) -> Duration {
        (self.0[(self.count() - 1) / 2] + self.0[self.count() / 2]) / 2
    }

    pub(crate) fn min(&self) -> Duration {
        self.0[0]
    }

    pub(crate) fn max(&self) -> Duration {
        self.0[self.count() - 1]
    }

    /// The least of them that 99 in 100 are not above.
    pub(crate) fn p99(&self) -> Duration {
        self.0[(self.count() * 99).div_ceil(100) - 1]
    }

    /// How many times the other's median this one is.
    pub(crate) fn ratio(&self, base: &Self) -> f64 {
        self.median().as_secs_f64() / base.median().as_secs_f64()
    }

    /// In seconds.
    pub(crate) fn json(&self) -> Value {
        let [median, min, max] = [self.median(), self.min(), self.max()].map(|one| one.as_secs_f64());
        json!({ "median": median, "min": min, "max": max, "count": self.count() })
    }
}

/// Whether a target is met, in a word that cannot be overlooked.
pub(crate) fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "NOT met" }
}

/// The machine in words: its cores, how busy it is, and what a commit cannot be faster than.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|load| load.split(' ').next().map(|load| format!(", load {load} at the beginning")));
    let flush = flush().as_secs_f64() * 1e3;
    format!("a machine of {cores}{}, 16 KiB on its disk in {flush:.2} ms", load.unwrap_or_default())
}

fn flush() -> Duration {
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let once = |_| {
        // Written over, as a write-ahead log mostly is.
        file.rewind().unwrap();
        let began = Instant::now();
        file.write_all(&[1; 16 * 1_024]).unwrap();
        file.sync_data().unwrap();
        began.elapsed()
    };
    Figures::new((0..FLUSHES).map(once).collect()).median()
}

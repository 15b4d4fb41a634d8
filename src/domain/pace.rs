//! How slowly a body may arrive while it holds a permit.
//!
//! A sender has a credit of waiting time. Waiting uses it up and bytes restore it, so a sender who stops for a moment and
//! goes on is not cut off, and one who sends a byte now and then is.

use std::time::Duration;

/// The slowest sender: a quarter of what a telephone line carries.
pub const BYTES_PER_S_MIN: u32 = 1_024;

/// What is left of a sender's waiting time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    credit: Duration,
    credit_max: Duration,
}

impl Pace {
    /// A sender who may pause for so long.
    pub fn new(credit_max: Duration) -> Self {
        Self { credit: credit_max, credit_max }
    }

    /// How long the next byte may be waited for.
    pub fn credit(self) -> Duration {
        self.credit
    }

    /// After so much waiting, for so many bytes.
    #[must_use]
    pub fn after(self, waited: Duration, bytes: usize) -> Self {
        let restored = Duration::from_secs_f64(bytes as f64 / f64::from(BYTES_PER_S_MIN));
        Self { credit: self.credit.saturating_sub(waited).saturating_add(restored).min(self.credit_max), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many seconds a sender lasts that sends so many bytes every so many seconds, an hour at the most.
    fn lasts(every_s: u64, bytes: usize) -> u64 {
        let (mut pace, mut passed) = (Pace::new(30 * SECOND), 0);
        while passed < 3_600 && pace.credit() > Duration::from_secs(every_s) {
            pace = pace.after(Duration::from_secs(every_s), bytes);
            passed += every_s;
        }
        passed
    }

    #[test]
    fn a_telephone_line_lasts_and_a_trickle_does_not() {
        assert_eq!(lasts(1, 1), 30, "a byte a second");
        assert_eq!(lasts(29, 1), 29, "a byte now and then");
        assert_eq!(lasts(1, 512), 58, "half of the pace");
        for (every_s, bytes) in [(1, 1_024), (1, 4_000), (10, 40_000), (29, 29 * 1_024)] {
            assert_eq!(lasts(every_s, bytes) / every_s, 3_600_u64.div_ceil(every_s), "{bytes} in {every_s} s");
        }
    }

    #[test]
    fn what_came_early_does_not_buy_a_longer_pause() {
        let pace = Pace::new(30 * SECOND).after(SECOND, 10_000_000);
        assert_eq!(pace.credit(), 30 * SECOND);
    }
}

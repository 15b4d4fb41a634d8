//! The minimum speed at which a client must send a request body while it holds a permit.
//!
//! A client has a credit of waiting time. Waiting uses up credit, and received bytes restore it. A client that pauses
//! for a moment may continue. A client that trickles single bytes is cut off.

use std::time::Duration;

/// The minimum speed: about a quarter of the upload speed of a dial-up line.
pub const BYTES_PER_S_MIN: u32 = 1_024;

/// The remaining credit of a client, and the maximum credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    credit: Duration,
    credit_max: Duration,
}

impl Pace {
    /// Creates the pace of a client that has the full credit.
    pub fn new(credit_max: Duration) -> Self {
        Self { credit: credit_max, credit_max }
    }

    /// Returns how long the service may wait for the next byte.
    pub fn credit(self) -> Duration {
        self.credit
    }

    /// Returns the credit after the service has waited this long for this number of bytes.
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

    /// Returns the number of seconds after which a client that sends this many bytes at this interval is cut off. Stops
    /// counting after an hour.
    fn lasts(every_s: u64, bytes: usize) -> u64 {
        let (mut pace, mut passed) = (Pace::new(30 * SECOND), 0);
        while passed < 3_600 && pace.credit() > Duration::from_secs(every_s) {
            pace = pace.after(Duration::from_secs(every_s), bytes);
            passed += every_s;
        }
        passed
    }

    #[test]
    fn slow_clients_may_finish_and_trickling_clients_are_cut_off() {
        assert_eq!(lasts(1, 1), 30, "a byte a second");
        assert_eq!(lasts(29, 1), 29, "a byte every 29 seconds");
        assert_eq!(lasts(1, 512), 58, "half the minimum speed");
        for (every_s, bytes) in [(1, 1_024), (1, 4_000), (10, 40_000), (29, 29 * 1_024)] {
            assert_eq!(lasts(every_s, bytes) / every_s, 3_600_u64.div_ceil(every_s), "{bytes} in {every_s} s");
        }
    }

    #[test]
    fn fast_bytes_do_not_raise_the_credit_above_its_maximum() {
        let pace = Pace::new(30 * SECOND).after(SECOND, 10_000_000);
        assert_eq!(pace.credit(), 30 * SECOND);
    }
}

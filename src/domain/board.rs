//! The board of a role: which candidates have waited for too long.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The wait after which the inbox counts a candidate as overdue.
pub const OVERDUE_AFTER: Duration = Duration::from_secs(10 * 24 * 60 * 60);

/// The minimum wait after which a candidate can be late. Shorter waits are normal in every organization.
const LATE_AFTER_MIN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Returns the wait after which a candidate is late at a step: twice the median wait of the candidates at the step, but
/// at least 7 days.
pub fn late_after(median_wait: Duration) -> Duration {
    median_wait.saturating_mul(2).max(LATE_AFTER_MIN)
}

/// Returns the median of waits that are sorted in ascending or descending order, or zero if there are none. For an even
/// number of waits, this is the second of the two in the middle.
pub fn median(waits: &[Duration]) -> Duration {
    waits.get(waits.len() / 2).copied().unwrap_or_default()
}

/// Returns the number of whole days in a wait.
pub fn days(wait: Duration) -> u64 {
    wait.as_secs() / DAY.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_late_after_twice_the_median_wait_but_not_before_seven_days() {
        for (median_days, late_days) in [(0, 7), (3, 7), (4, 8), (10, 20)] {
            assert_eq!(days(late_after(DAY * median_days)), late_days, "{median_days}");
        }
    }

    #[test]
    fn the_median_is_the_middle_wait() {
        for (waits, expected) in [(&[][..], 0), (&[5], 5), (&[1, 9], 9), (&[1, 4, 9], 4)] {
            let waits: Vec<Duration> = waits.iter().map(|days| DAY * *days).collect();
            assert_eq!(days(median(&waits)), expected, "{waits:?}");
        }
    }
}

//! Counts of events that a stranger can cause at will. While the service runs, it records each kind of event at most
//! once an hour, with a count, so that nobody can fill the disk with records.

use std::time::Duration;

/// The minimum time between two records of one kind.
pub const PERIOD: Duration = Duration::from_secs(60 * 60);

/// The number of events of one kind since the last record. All times come from a clock that never goes backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    recorded_at: Option<Duration>,
    count: u64,
}

impl Tally {
    /// Counts an event. Returns the count to record now, or `None` if the last record is less than an hour old.
    pub fn add(&mut self, now: Duration) -> Option<u64> {
        self.count = self.count.saturating_add(1);
        self.due(now)
    }

    /// Returns the count of events since the last record, or `None` if there were none or the last record is less than
    /// an hour old.
    pub fn due(&mut self, now: Duration) -> Option<u64> {
        let waits = self.recorded_at.is_some_and(|at| now.saturating_sub(at) < PERIOD);
        if waits || self.count == 0 {
            return None;
        }
        self.recorded_at = Some(now);
        Some(std::mem::take(&mut self.count))
    }

    /// Returns the unrecorded count, if any, for a final record when the service stops.
    pub fn rest(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.count)).filter(|count| *count > 0)
    }

    /// Adds back a count that could not be recorded.
    pub fn restore(&mut self, count: u64) {
        self.count = self.count.saturating_add(count);
    }

    /// Returns whether the tally can be dropped: it has no unrecorded count, and the next event may be recorded at
    /// once.
    pub fn is_idle(&self, now: Duration) -> bool {
        self.count == 0 && self.recorded_at.is_none_or(|at| now.saturating_sub(at) >= PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_first_event_is_recorded_at_once_and_later_events_once_an_hour() {
        let mut tally = Tally::default();
        assert_eq!(tally.add(at(10)), Some(1));
        assert_eq!((tally.add(at(11)), tally.add(at(3_609))), (None, None));
        assert_eq!(tally.due(at(3_609)), None);
        assert_eq!(tally.due(at(3_610)), Some(2));
        assert_eq!(tally.due(at(9_999)), None, "there was no event since the last record");
        assert_eq!(tally.add(at(10_000)), Some(1));
    }

    #[test]
    fn no_count_is_lost() {
        let mut tally = Tally::default();
        assert!(tally.is_idle(at(0)) && tally.rest().is_none());
        let count = tally.add(at(0)).unwrap();
        tally.restore(count);
        assert_eq!(tally.add(at(1)), None);
        assert!(!tally.is_idle(at(9_999)));
        assert_eq!(tally.rest(), Some(2));
        assert!(tally.is_idle(at(9_999)) && !tally.is_idle(at(1)));
    }
}

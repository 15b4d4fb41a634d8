//! Retention: whom it may erase today. Somebody becomes due on one day and is erased on a later one, and many at once wait
//! for an admin's word.

use super::timestamp::Timestamp;

/// How many candidates of an organization the retention erases in a day without an admin's word: 20, or one in 20.
const DAILY_MIN: i64 = 20;
const DAILY_PART: i64 = 20;

/// A candidate who was found due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueCandidate {
    /// When the retention found them due.
    pub due_since: Timestamp,
    /// Since when their time counted then: the last decision about them.
    pub counted_from: Timestamp,
    /// Whether an admin has confirmed their erasure.
    pub is_confirmed: bool,
}

impl DueCandidate {
    /// Whether this still is what makes them due: since when their time counts now, where they are due.
    pub fn holds(&self, counted_from: Option<Timestamp>) -> bool {
        counted_from == Some(self.counted_from)
    }

    /// Whether they may be erased in the day that began at `today`.
    pub fn is_ripe(&self, today: Timestamp) -> bool {
        self.due_since < today
    }
}

/// The figures of an organization's day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionDay {
    /// Candidates who are not erased.
    pub candidates: i64,
    /// Those who would be erased today without an admin's word.
    pub unconfirmed: i64,
    /// Those who were erased today without one.
    pub erased: i64,
}

impl RetentionDay {
    /// Whether they are so many that an admin has to confirm them first.
    pub fn needs_confirmation(&self) -> bool {
        let daily_max = ((self.candidates + self.erased) / DAILY_PART).max(DAILY_MIN);
        self.unconfirmed > 0 && self.unconfirmed + self.erased > daily_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_twenty_and_than_one_in_twenty_need_a_confirmation() {
        for (candidates, unconfirmed, erased, needs) in [
            (12, 12, 0, false),
            (20, 20, 0, false),
            (21, 21, 0, true),
            (400, 20, 0, false),
            (419, 21, 0, true),
            (420, 21, 0, false),
            (420, 22, 0, true),
            (410, 11, 10, false),
            (410, 12, 10, true),
            (30, 1, 20, true),
            (30, 0, 20, false),
        ] {
            let day = RetentionDay { candidates, unconfirmed, erased };
            assert_eq!(day.needs_confirmation(), needs, "{day:?}");
        }
    }

    #[test]
    fn who_is_due_is_ripe_on_a_later_day_if_the_reason_still_holds() {
        let at = Timestamp::from_micros;
        let noted = DueCandidate { due_since: at(50), counted_from: at(10), is_confirmed: false };
        assert!(!noted.is_ripe(at(50)) && noted.is_ripe(at(51)));
        assert!(noted.holds(Some(at(10))) && !noted.holds(Some(at(11))) && !noted.holds(None));
    }
}

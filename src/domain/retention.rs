//! Retention: which candidates it may erase today. A candidate becomes due on one day and is erased on a later day. If
//! many are due at once, an admin must confirm their erasure.

use super::timestamp::Timestamp;

/// The candidates of an organization that the retention erases in a day without confirmation: 20, or one in 20.
const DAILY_MIN: i64 = 20;
const DAILY_PART: i64 = 20;

/// A due candidate, as the file records one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueCandidate {
    /// When the retention scan found the candidate due.
    pub due_since: Timestamp,
    /// The start of the retention time at that scan: the last decision about the candidate.
    pub counted_from: Timestamp,
    /// Whether an admin has confirmed their erasure.
    pub is_confirmed: bool,
}

impl DueCandidate {
    /// Whether the candidate is still due for the same reason. `counted_from` is the current start of the retention time,
    /// or `None` for a candidate who is no longer due.
    pub fn holds(&self, counted_from: Option<Timestamp>) -> bool {
        counted_from == Some(self.counted_from)
    }

    /// Whether the candidate may be erased on the day that began at `today`.
    pub fn is_ripe(&self, today: Timestamp) -> bool {
        self.due_since < today
    }
}

/// The retention figures of an organization for one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionDay {
    /// Candidates who are not erased.
    pub candidates: i64,
    /// Candidates to erase today without confirmation.
    pub unconfirmed: i64,
    /// Candidates erased today without confirmation.
    pub erased: i64,
}

impl RetentionDay {
    /// Whether so many candidates are due that an admin must confirm their erasure.
    pub fn needs_confirmation(&self) -> bool {
        let daily_max = ((self.candidates + self.erased) / DAILY_PART).max(DAILY_MIN);
        self.unconfirmed > 0 && self.unconfirmed + self.erased > daily_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_twenty_and_one_in_twenty_need_a_confirmation() {
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
    fn due_candidates_are_erased_on_a_later_day_for_the_same_reason() {
        let at = Timestamp::from_micros;
        let noted = DueCandidate { due_since: at(50), counted_from: at(10), is_confirmed: false };
        assert!(!noted.is_ripe(at(50)) && noted.is_ripe(at(51)));
        assert!(noted.holds(Some(at(10))) && !noted.holds(Some(at(11))) && !noted.holds(None));
    }
}

//! Decides which candidates retention may erase today. A candidate becomes due on one day and is erased on a later day.
//! If many candidates are due at once, an admin must confirm their erasure.

use super::timestamp::Timestamp;

/// The number of erasures in a day for which an organization's retention never needs confirmation. In a large
/// organization, [`DAILY_DIVISOR`] allows more. If more candidates are due than these limits allow, all unconfirmed
/// candidates wait.
const DAILY_MIN: i64 = 20;

/// In a large organization, retention may erase a fraction of the candidates in a day without confirmation: one divided
/// by this number.
const DAILY_DIVISOR: i64 = 20;

/// The facts about an application that retention depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationFacts {
    pub is_in_progress: bool,
    pub updated_at: Timestamp,
    /// Whether the application was decided in this service, by staff or by the candidate.
    pub is_decided_here: bool,
    pub hired_at: Option<Timestamp>,
    /// The time of the last rejection at a step.
    pub rejected_at: Option<Timestamp>,
    /// The time of the most recent later signup under the candidate's address.
    pub later_signup_at: Option<Timestamp>,
}

impl ApplicationFacts {
    /// Returns the time of the last decision on the application. If the application was imported with its decision,
    /// this is the date in the import, unless that date is later than the last change to the application.
    fn decided_at(&self) -> Timestamp {
        match self.hired_at.or(self.rejected_at) {
            Some(imported) if !self.is_decided_here => imported.min(self.updated_at),
            _ => self.updated_at,
        }
    }
}

/// The facts about a candidate that retention depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFacts {
    pub is_erased: bool,
    pub is_held: bool,
    pub updated_at: Timestamp,
    pub applications: Vec<ApplicationFacts>,
}

impl CandidateFacts {
    /// Returns the start of the candidate's retention period if the candidate is due. A candidate is due if every
    /// application has ended and the start is before `retained_since`, the beginning of the first day within the
    /// organization's retention period. Erased candidates and candidates under a legal hold are never due.
    pub fn due(&self, retained_since: Timestamp) -> Option<Timestamp> {
        let is_exempt =
            self.is_erased || self.is_held || self.applications.iter().any(|application| application.is_in_progress);
        Some(self.counted_from()).filter(|from| !is_exempt && *from < retained_since)
    }

    /// Returns the time of the last decision, or of a later signup if that came after the decision. For a candidate
    /// without applications, returns the time of the last change to the candidate.
    fn counted_from(&self) -> Timestamp {
        let decided = self.applications.iter().map(ApplicationFacts::decided_at).max();
        let later_signup = self.applications.iter().filter_map(|application| application.later_signup_at).max();
        let decided = decided.unwrap_or(self.updated_at);
        later_signup.map_or(decided, |at| at.max(decided))
    }
}

/// The record of a due candidate in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueCandidate {
    /// The time at which the retention scan found that the candidate was due.
    pub due_since: Timestamp,
    /// The start of the retention period that the scan found.
    pub counted_from: Timestamp,
    /// Whether an admin has confirmed the erasure.
    pub is_confirmed: bool,
}

/// The change that a scan makes to the record of a due candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanResult {
    /// The record is correct and does not change.
    Unchanged,
    /// The candidate has become due, or the start of their retention period has changed. Contains the new start.
    Due(Timestamp),
    /// The candidate is no longer due.
    NotDue,
}

/// Compares the record of a due candidate, if any, with the current start of their retention period. `counted_from` is
/// `None` if the candidate is not due.
pub fn scan(recorded: Option<DueCandidate>, counted_from: Option<Timestamp>) -> ScanResult {
    if recorded.map(|recorded| recorded.counted_from) == counted_from {
        return ScanResult::Unchanged;
    }
    counted_from.map_or(ScanResult::NotDue, ScanResult::Due)
}

/// The decision about the erasure of a due candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueDecision {
    Erase,
    /// The candidate became due today.
    Wait,
    /// The candidate is no longer due, or the start of their retention period has changed and they must become due
    /// again.
    NotDue,
}

impl DueCandidate {
    /// Decides whether to erase the candidate on the day that began at `today`. `counted_from` is the current start of
    /// the retention period, or `None` for a candidate who is no longer due. Since the scan, the candidate may have
    /// applied again or been placed under a legal hold, and the organization may have extended its retention period.
    pub fn decide(&self, counted_from: Option<Timestamp>, today: Timestamp) -> DueDecision {
        if counted_from != Some(self.counted_from) {
            DueDecision::NotDue
        } else if self.due_since < today {
            DueDecision::Erase
        } else {
            DueDecision::Wait
        }
    }
}

/// The retention figures of an organization for one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionDay {
    /// The number of candidates who have not been erased.
    pub candidates: i64,
    /// The number of candidates whom retention would erase today and whose erasure has not been confirmed.
    pub unconfirmed: i64,
    /// The number of candidates whom retention erased today without confirmation.
    pub erased: i64,
}

impl RetentionDay {
    /// Returns the number of candidates whose erasure an admin must confirm first. Returns 0 if retention may erase all
    /// due candidates without confirmation.
    pub fn waiting(&self) -> i64 {
        let daily_max = ((self.candidates + self.erased) / DAILY_DIVISOR).max(DAILY_MIN);
        if self.unconfirmed + self.erased > daily_max { self.unconfirmed } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    const ENDED: ApplicationFacts = ApplicationFacts {
        is_in_progress: false,
        updated_at: Timestamp::from_micros(40),
        is_decided_here: true,
        hired_at: None,
        rejected_at: None,
        later_signup_at: None,
    };

    #[test]
    fn the_retention_period_begins_with_the_last_decision_or_later_signup() {
        let imported = ApplicationFacts { is_decided_here: false, ..ENDED };
        for (applications, expected) in [
            (vec![], 7),
            (vec![ENDED], 40),
            (vec![ENDED, ApplicationFacts { updated_at: at(60), ..ENDED }], 60),
            (vec![ApplicationFacts { hired_at: Some(at(20)), ..ENDED }], 40),
            (vec![imported], 40),
            (vec![ApplicationFacts { hired_at: Some(at(20)), ..imported }], 20),
            (vec![ApplicationFacts { rejected_at: Some(at(30)), ..imported }], 30),
            (vec![ApplicationFacts { hired_at: Some(at(20)), rejected_at: Some(at(30)), ..imported }], 20),
            (vec![ApplicationFacts { hired_at: Some(at(50)), ..imported }], 40),
            (vec![ApplicationFacts { later_signup_at: Some(at(50)), ..ENDED }], 50),
            (vec![ApplicationFacts { later_signup_at: Some(at(30)), ..ENDED }], 40),
        ] {
            let facts = CandidateFacts { is_erased: false, is_held: false, updated_at: at(7), applications };
            assert_eq!(facts.due(at(100)), Some(at(expected)), "{facts:?}");
            assert_eq!(facts.due(at(expected + 1)), Some(at(expected)), "{facts:?}");
            assert_eq!(facts.due(at(expected)), None, "{facts:?}");
        }
    }

    #[test]
    fn candidates_who_are_erased_or_held_or_have_an_application_in_progress_are_never_due() {
        let in_progress = ApplicationFacts { is_in_progress: true, ..ENDED };
        for (is_erased, is_held, applications, is_due) in [
            (false, false, vec![ENDED], true),
            (true, false, vec![ENDED], false),
            (false, true, vec![ENDED], false),
            (false, false, vec![ENDED, in_progress], false),
        ] {
            let facts = CandidateFacts { is_erased, is_held, updated_at: at(7), applications };
            assert_eq!(facts.due(at(100)).is_some(), is_due, "{facts:?}");
        }
    }

    #[test]
    fn scans_record_only_changes() {
        let recorded = |from| DueCandidate { due_since: at(50), counted_from: at(from), is_confirmed: false };
        for (recorded, counted_from, expected) in [
            (None, None, ScanResult::Unchanged),
            (None, Some(at(10)), ScanResult::Due(at(10))),
            (Some(recorded(10)), Some(at(10)), ScanResult::Unchanged),
            (Some(recorded(10)), Some(at(11)), ScanResult::Due(at(11))),
            (Some(recorded(10)), None, ScanResult::NotDue),
        ] {
            assert_eq!(scan(recorded, counted_from), expected, "{recorded:?} {counted_from:?}");
        }
    }

    #[test]
    fn due_candidates_are_erased_on_a_later_day_if_the_start_of_their_retention_period_is_unchanged() {
        let due = DueCandidate { due_since: at(50), counted_from: at(10), is_confirmed: false };
        for (counted_from, today, expected) in [
            (Some(at(10)), 50, DueDecision::Wait),
            (Some(at(10)), 51, DueDecision::Erase),
            (Some(at(11)), 51, DueDecision::NotDue),
            (None, 51, DueDecision::NotDue),
            (None, 50, DueDecision::NotDue),
        ] {
            assert_eq!(due.decide(counted_from, at(today)), expected, "{counted_from:?} {today}");
        }
    }

    #[test]
    fn the_erasure_of_more_than_twenty_candidates_and_more_than_one_in_twenty_needs_a_confirmation() {
        for (candidates, unconfirmed, erased, waiting) in [
            (12, 12, 0, 0),
            (20, 20, 0, 0),
            (21, 21, 0, 21),
            (400, 20, 0, 0),
            (419, 21, 0, 21),
            (420, 21, 0, 0),
            (420, 22, 0, 22),
            (410, 11, 10, 0),
            (410, 12, 10, 12),
            (30, 1, 20, 1),
            (30, 0, 20, 0),
            (30, 0, 21, 0),
        ] {
            let day = RetentionDay { candidates, unconfirmed, erased };
            assert_eq!(day.waiting(), waiting, "{day:?}");
        }
    }
}

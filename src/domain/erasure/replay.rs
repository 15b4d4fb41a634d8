//! The rule that decides which erasures of the erasure list the service repeats when it starts.
//!
//! An older copy of the file still has data of candidates who were erased after the copy was created. The list beside
//! the file names these candidates, so the service can erase them again at its next start.

use std::collections::BTreeSet;

use crate::domain::id::{CandidateId, SignupId};
use crate::domain::timestamp::Timestamp;

/// One erasure on the list. The order of the variants is the order of the replay. Deleted signups come first.
/// Otherwise, the service could submit a deleted later signup again when it erases a candidate, and so create another
/// candidate. The erasure of a candidate with all signups comes after erasures that leave the signups of others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListedErasure {
    /// A signup whose sender deleted it.
    Signup(SignupId),
    /// A candidate who asked to be erased. The signups of others under the same address remain.
    Own(CandidateId),
    /// A candidate with all signups under their address.
    Candidate(CandidateId),
    /// A candidate whom retention erased. The list only records this erasure.
    Retention(CandidateId),
}

/// The last change to a candidate, by its time and by the number of its activity row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastChange {
    /// The time of the last change.
    pub at: Timestamp,
    /// The number of the last activity row; 0 if there is none. A wrong clock does not affect this number.
    pub activity: i64,
}

impl LastChange {
    /// Returns the later value of each part.
    pub fn or_later(self, other: Self) -> Self {
        Self { at: self.at.max(other.at), activity: self.activity.max(other.activity) }
    }

    fn is_beyond(self, recorded: Self) -> bool {
        self.at > recorded.at || self.activity > recorded.activity
    }
}

/// Returns whether a candidate in the file has changed since their erasure was put on the list. In an older copy of the
/// file, the candidate has not changed, so the service erases them again. If the candidate has changed, somebody acted
/// after the erasure was recorded. A person must then decide which of the two acts is right, so the service only
/// reports the candidate.
///
/// `recorded` is the last change according to the list. It is `None` for lines from earlier versions, which do not
/// contain a last change. For these lines, the result is false.
pub fn is_only_reported(recorded: Option<LastChange>, current: LastChange) -> bool {
    recorded.is_some_and(|recorded| current.is_beyond(recorded))
}

/// The data in the file that a listed erasure concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedData {
    /// No data: the erasure is complete in this file, or the file is older than the data.
    Absent,
    /// Data of this candidate. A signup without a candidate has `None`.
    Present(Option<CandidateId>),
}

/// Returns whether the service repeats an erasure when it starts. `reported` contains the candidates whom the service
/// only reports. These candidates remain, with all their signups.
pub fn is_repeated(erasure: &ListedErasure, data: &ListedData, reported: &BTreeSet<CandidateId>) -> bool {
    match (erasure, data) {
        // An older copy does not show why the candidate was due, so the candidate must become due again in this file.
        (ListedErasure::Retention(_), _) | (_, ListedData::Absent) => false,
        (_, ListedData::Present(Some(candidate))) => !reported.contains(candidate),
        (_, ListedData::Present(None)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Id;

    fn change(at: i64, activity: i64) -> LastChange {
        LastChange { at: Timestamp::from_micros(at), activity }
    }

    #[test]
    fn candidates_with_a_later_time_or_activity_number_are_only_reported() {
        for (current, expected) in [((5, 7), false), ((4, 6), false), ((6, 7), true), ((5, 8), true), ((1, 8), true)] {
            assert_eq!(is_only_reported(Some(change(5, 7)), change(current.0, current.1)), expected, "{current:?}");
            assert!(!is_only_reported(None, change(current.0, current.1)), "{current:?}");
        }
    }

    #[test]
    fn two_changes_are_combined_into_their_later_parts() {
        assert_eq!(change(5, 1).or_later(change(3, 9)), change(5, 9));
    }

    #[test]
    fn erasures_are_repeated_if_data_remains_and_has_not_changed() {
        let candidate = |id: &str| CandidateId::parse(id).unwrap();
        let reported = BTreeSet::from([candidate("reported")]);
        let own = |id: &str| ListedErasure::Own(candidate(id));
        let full = |id: &str| ListedErasure::Candidate(candidate(id));
        let signup = || ListedErasure::Signup(SignupId::parse("signup").unwrap());
        let of = |id: &str| ListedData::Present(Some(candidate(id)));
        for (erasure, data, expected) in [
            (own("a"), of("a"), true),
            (full("a"), of("a"), true),
            (own("a"), ListedData::Absent, false),
            (full("a"), ListedData::Absent, false),
            (own("reported"), of("reported"), false),
            (full("reported"), of("reported"), false),
            (ListedErasure::Retention(candidate("a")), of("a"), false),
            (signup(), ListedData::Present(None), true),
            (signup(), of("a"), true),
            (signup(), of("reported"), false),
            (signup(), ListedData::Absent, false),
        ] {
            assert_eq!(is_repeated(&erasure, &data, &reported), expected, "{erasure:?} {data:?}");
        }
    }

    #[test]
    fn the_replay_order_is_deleted_signups_then_candidates_then_candidates_with_all_signups() {
        let candidate = CandidateId::parse("a").unwrap();
        let signup = ListedErasure::Signup(SignupId::parse("z").unwrap());
        assert!(signup < ListedErasure::Own(candidate.clone()));
        assert!(ListedErasure::Own(candidate.clone()) < ListedErasure::Candidate(candidate));
    }
}

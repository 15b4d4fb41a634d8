//! Erasing a candidate's personal data, and holding a candidate so that nobody does: what may be done when, and what is left
//! in the place of a name and an address.

use super::candidate_step::ApplicationStatus;
use super::id::CandidateId;
use super::refusal::Refusal;
use super::text::Email;
use super::timestamp::Timestamp;

/// The longest reason of a hold, in characters.
pub const REASON_CHARACTERS_MAX: usize = 1_000;

/// What stands where a candidate's name was.
pub const ERASED_NAME: &str = "Erased";

/// Where the addresses of erased candidates are: nobody can have one there (RFC 2606 §2).
const DOMAIN: &str = "erased.invalid";

/// Whether an address can only stand for one that was erased.
pub fn is_erased_address(email: &Email) -> bool {
    email.key().strip_suffix(DOMAIN).is_some_and(|rest| rest.ends_with('@'))
}

/// Whether a candidate is held or erased, as a document tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privacy {
    /// Why they are held, where they are.
    pub hold_reason: Option<String>,
    /// When they were erased, where they were.
    pub erased_at: Option<Timestamp>,
}

impl Privacy {
    /// What is wrong with it beside a candidate's name and address, and where their application is; `None` where they agree.
    /// What an erasure leaves agrees, so whatever the service writes it also takes back.
    pub fn contradiction(&self, name: &str, email: &Email, status: ApplicationStatus) -> Option<&'static str> {
        self.erased_at?;
        if self.hold_reason.is_some() {
            Some("a candidate who is erased has nothing left to hold, and no holdReason")
        } else if name != ERASED_NAME || !is_erased_address(email) {
            Some("a candidate who is erased has the name Erased and an address at erased.invalid")
        } else if status == ApplicationStatus::InProgress {
            Some("the application of a candidate who is erased does not go on; one like that is Withdrawn")
        } else {
            None
        }
    }
}

/// What is known of a candidate who is to be erased, held or released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureFacts {
    /// The candidate's number in the file.
    pub number: i64,
    /// Why they are held, where they are.
    pub hold_reason: Option<String>,
    /// When they were erased, where they were.
    pub erased_at: Option<Timestamp>,
}

/// How far a candidate has changed: when something about them last did, and the last activity about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastChange {
    /// The time of the last change.
    pub at: Timestamp,
    /// The number of the last activity, 0 without one. A clock that was wrong does not alter it.
    pub activity: i64,
}

impl LastChange {
    /// The later of each of the two.
    pub fn or_later(self, other: Self) -> Self {
        Self { at: self.at.max(other.at), activity: self.activity.max(other.activity) }
    }

    /// Whether the candidate has changed since. In an older copy of the file they have not: it is erased again. Where they
    /// have, somebody decided about them after the erasure was recorded, and only a person can say which of the two counts.
    pub fn is_beyond(self, recorded: Self) -> bool {
        self.at > recorded.at || self.activity > recorded.activity
    }
}

/// What an erasure comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureDecision {
    /// It is to be carried out.
    Now,
    /// It was, at this time.
    Before(Timestamp),
}

/// `DELETE /api/v1/candidates/{id}`: whoever is not held is erased, wherever their applications are. Once is enough.
///
/// # Errors
/// `conflict` where the candidate is held.
pub fn erase(facts: &ErasureFacts) -> Result<ErasureDecision, Refusal> {
    match facts.erased_at {
        Some(at) => Ok(ErasureDecision::Before(at)),
        None if facts.hold_reason.is_some() => {
            Err(Refusal::Conflict("the candidate is held; release the hold before erasing them"))
        }
        None => Ok(ErasureDecision::Now),
    }
}

/// `PUT /api/v1/candidates/{id}/hold`: whether anything changes by it.
///
/// # Errors
/// `conflict` where the candidate is erased: there is nothing left to hold.
pub fn hold(facts: &ErasureFacts, reason: &str) -> Result<bool, Refusal> {
    if facts.erased_at.is_some() {
        return Err(Refusal::Conflict("the candidate is erased; there is nothing left to hold"));
    }
    Ok(facts.hold_reason.as_deref() != Some(reason))
}

/// The address that a candidate has once erased. It tells who it was only to whoever knows their id. Another candidate may
/// have been given the very same: the next `attempt` makes another.
pub fn erased_address(id: &CandidateId, number: i64, attempt: usize) -> String {
    // Ids are told apart by case and addresses are not.
    let is_plain = !id.as_str().bytes().any(|byte| byte.is_ascii_uppercase());
    match attempt {
        0 if is_plain => format!("{id}@{DOMAIN}"),
        0 => format!("{id}.{number}@{DOMAIN}"),
        _ => format!("{id}.{number}.{attempt}@{DOMAIN}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Id;

    fn facts(hold_reason: Option<&str>, erased_at: Option<i64>) -> ErasureFacts {
        ErasureFacts {
            number: 7,
            hold_reason: hold_reason.map(str::to_owned),
            erased_at: erased_at.map(Timestamp::from_micros),
        }
    }

    #[test]
    fn who_is_not_held_is_erased_and_only_once() {
        assert_eq!(erase(&facts(None, None)), Ok(ErasureDecision::Now));
        assert_eq!(erase(&facts(None, Some(5))), Ok(ErasureDecision::Before(Timestamp::from_micros(5))));
        assert!(matches!(erase(&facts(Some("a case"), None)), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn a_candidate_has_changed_since_by_time_or_by_activity() {
        let changed = |at, activity| LastChange { at: Timestamp::from_micros(at), activity };
        let recorded = changed(5, 7);
        for (now, is_beyond) in [((5, 7), false), ((4, 6), false), ((6, 7), true), ((5, 8), true), ((1, 8), true)] {
            assert_eq!(changed(now.0, now.1).is_beyond(recorded), is_beyond, "{now:?}");
        }
        assert_eq!(changed(5, 1).or_later(changed(3, 9)), changed(5, 9));
    }

    #[test]
    fn a_hold_changes_something_where_its_reason_is_another() {
        assert_eq!(hold(&facts(None, None), "a case"), Ok(true));
        assert_eq!(hold(&facts(Some("a case"), None), "a case"), Ok(false));
        assert_eq!(hold(&facts(Some("a case"), None), "another"), Ok(true));
        assert!(matches!(hold(&facts(None, Some(5)), "a case"), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn who_is_erased_has_nothing_left_to_tell_or_to_hold() {
        use ApplicationStatus::{Hired, InProgress};
        let erased = |hold: Option<&str>| Privacy {
            hold_reason: hold.map(str::to_owned),
            erased_at: Some(Timestamp::from_micros(5)),
        };
        let agrees = |privacy: &Privacy, name: &str, email: &str, status| {
            privacy.contradiction(name, &Email::parse(email).unwrap(), status).is_none()
        };
        let here = "cand_1@erased.invalid";
        assert!(agrees(&erased(None), ERASED_NAME, here, Hired));
        assert!(!agrees(&erased(Some("a case")), ERASED_NAME, here, Hired));
        assert!(!agrees(&erased(None), "Ada", here, Hired));
        assert!(!agrees(&erased(None), ERASED_NAME, "ada@example.org", Hired));
        assert!(!agrees(&erased(None), ERASED_NAME, "ada@noterased.invalid", Hired));
        assert!(!agrees(&erased(None), ERASED_NAME, here, InProgress));
        let held = Privacy { hold_reason: Some("a case".to_owned()), erased_at: None };
        assert!(agrees(&held, "Ada", "ada@example.org", InProgress));
    }

    #[test]
    fn addresses_of_the_erased_are_addresses_and_no_two_are_the_same() {
        let shown = |id: &str, number, attempt| erased_address(&CandidateId::parse(id).unwrap(), number, attempt);
        assert_eq!(shown("cand_01", 7, 0), "cand_01@erased.invalid");
        let all = [shown("a", 1, 0), shown("A", 2, 0), shown("a", 1, 1), shown("A", 2, 1), shown("a", 1, 2)];
        let mut keys: Vec<String> = all.iter().map(|text| Email::parse(text).unwrap().key().to_owned()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
        assert!(Email::parse(&shown(&"X".repeat(64), i64::MAX, 9)).is_some());
    }
}

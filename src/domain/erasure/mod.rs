//! Rules for erasures and legal holds, and the values that replace an erased name and address.
//!
//! `replay` contains the rule for repeating listed erasures when the service starts, and `deferred` contains the rule
//! for erasures that wait while a hire is hidden.

pub mod deferred;
pub mod replay;

use super::candidate_step::ApplicationStatus;
use super::id::{CandidateId, OrganizationId};
use super::refusal::Refusal;
use super::text::Email;
use super::timestamp::Timestamp;

/// The maximum number of characters in the reason for a legal hold.
pub const REASON_CHARACTERS_MAX: usize = 1_000;

/// The name of an erased candidate.
pub const ERASED_NAME: &str = "Erased";

/// The domain of erased addresses. The domain is reserved, so nobody can have an address in it (RFC 2606 §2).
const DOMAIN: &str = "erased.invalid";

/// Returns whether an address is in the domain of erased addresses.
pub fn is_erased_address(email: &Email) -> bool {
    email.key().strip_suffix(DOMAIN).is_some_and(|rest| rest.ends_with('@'))
}

/// The legal hold and the erasure of a candidate in an interchange document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privacy {
    /// The reason for the legal hold, if there is one.
    pub hold_reason: Option<String>,
    /// The time of the erasure, if the candidate was erased.
    pub erased_at: Option<Timestamp>,
}

impl Privacy {
    /// Returns the contradiction between these values and the candidate's name, address and application. Returns `None`
    /// if they agree. The state after an erasure has no contradiction, so an import accepts exported tombstones.
    pub fn contradiction(&self, name: &str, email: &Email, status: ApplicationStatus) -> Option<&'static str> {
        self.erased_at?;
        if self.hold_reason.is_some() {
            Some("an erased candidate cannot have a holdReason")
        } else if name != ERASED_NAME || !is_erased_address(email) {
            Some("an erased candidate must have the name Erased and an address at erased.invalid")
        } else if status == ApplicationStatus::InProgress {
            Some("the application of an erased candidate cannot be In Progress; an erasure withdraws the application")
        } else {
            None
        }
    }
}

/// A candidate whom the service erases, or whose legal hold it sets or releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateRef {
    pub id: CandidateId,
    /// The candidate's number in the database.
    pub number: i64,
    pub organization_id: OrganizationId,
}

/// The facts for an erasure or a legal hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureFacts {
    /// The candidate's number in the database.
    pub number: i64,
    /// The reason for the legal hold, if there is one.
    pub hold_reason: Option<String>,
    /// The time of the erasure, if the candidate was erased.
    pub erased_at: Option<Timestamp>,
}

/// The decision about an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureDecision {
    /// Erase the candidate now.
    Now,
    /// The candidate had already been erased, at this time.
    Before(Timestamp),
}

/// `DELETE /api/v1/candidates/{id}`: erases a candidate who is not under a legal hold, even if their applications are
/// in progress. Repeating the request changes nothing.
///
/// # Errors
/// `conflict` if the candidate is under a legal hold.
pub fn erase(facts: &ErasureFacts) -> Result<ErasureDecision, Refusal> {
    match facts.erased_at {
        Some(at) => Ok(ErasureDecision::Before(at)),
        None if facts.hold_reason.is_some() => {
            Err(Refusal::Conflict("the candidate is under a legal hold; release the hold before erasing the candidate"))
        }
        None => Ok(ErasureDecision::Now),
    }
}

/// `PUT /api/v1/candidates/{id}/hold`: returns whether the legal hold changes.
///
/// # Errors
/// `conflict` if the candidate was erased.
pub fn hold(facts: &ErasureFacts, reason: &str) -> Result<bool, Refusal> {
    if facts.erased_at.is_some() {
        return Err(Refusal::Conflict("the candidate was erased; there is nothing left to hold"));
    }
    Ok(facts.hold_reason.as_deref() != Some(reason))
}

/// Returns the address of an erased candidate. Its local part consists of the candidate's id and, if necessary, of
/// numbers, without personal data. If another candidate already has the address, the next value of `retry` gives
/// another address.
pub fn erased_address(id: &CandidateId, number: i64, retry: usize) -> String {
    // Ids are case-sensitive, but addresses are not.
    let is_plain = !id.as_str().bytes().any(|byte| byte.is_ascii_uppercase());
    match retry {
        0 if is_plain => format!("{id}@{DOMAIN}"),
        0 => format!("{id}.{number}@{DOMAIN}"),
        _ => format!("{id}.{number}.{retry}@{DOMAIN}"),
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
    fn candidates_without_a_hold_are_erased_once() {
        assert_eq!(erase(&facts(None, None)), Ok(ErasureDecision::Now));
        assert_eq!(erase(&facts(None, Some(5))), Ok(ErasureDecision::Before(Timestamp::from_micros(5))));
        assert!(matches!(erase(&facts(Some("a case"), None)), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn a_hold_changes_only_with_another_reason() {
        assert_eq!(hold(&facts(None, None), "a case"), Ok(true));
        assert_eq!(hold(&facts(Some("a case"), None), "a case"), Ok(false));
        assert_eq!(hold(&facts(Some("a case"), None), "another"), Ok(true));
        assert!(matches!(hold(&facts(None, Some(5)), "a case"), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn an_erased_candidate_has_an_erased_name_and_address_and_no_hold_or_application_in_progress() {
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
    fn erased_addresses_are_valid_and_unique() {
        let shown = |id: &str, number, retry| erased_address(&CandidateId::parse(id).unwrap(), number, retry);
        assert_eq!(shown("cand_01", 7, 0), "cand_01@erased.invalid");
        let all = [shown("a", 1, 0), shown("A", 2, 0), shown("a", 1, 1), shown("A", 2, 1), shown("a", 1, 2)];
        let mut keys: Vec<String> = all.iter().map(|text| Email::parse(text).unwrap().key().to_owned()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
        assert!(Email::parse(&shown(&"X".repeat(64), i64::MAX, 9)).is_some());
    }
}

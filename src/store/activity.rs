//! The record of what was decided: appended in the transaction of the decision itself.

use super::tx::{Error, Tx};
use crate::domain::candidate_step::Facts;
use crate::domain::hr_delivery::Event;
use crate::domain::id::ActivityId;
use crate::domain::user::Principal;

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A candidate was rejected at a step.
    Rejected,
    /// A candidate was hired at a step.
    Hired,
    /// A candidate who was hired was rejected at a step.
    HireReversed,
}

impl Action {
    const ALL: [Self; 3] = [Self::Rejected, Self::Hired, Self::HireReversed];

    fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "candidate_step.rejected",
            Self::Hired => "candidate_step.hired",
            Self::HireReversed => "candidate_step.hire_reversed",
        }
    }

    /// What this is spelled as.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == text)
    }

    /// What an HR system is told of it, if anything.
    pub(super) fn event(self) -> Option<Event> {
        match self {
            Self::Rejected => None,
            Self::Hired => Some(Event::Hired),
            Self::HireReversed => Some(Event::HireReversed),
        }
    }
}

/// Appends a decision on a candidate. `detail` is JSON text.
///
/// # Errors
/// When SQLite fails.
pub fn append(
    tx: &Tx<'_>,
    id: &ActivityId,
    who: &Principal,
    action: Action,
    facts: &Facts,
    detail: &str,
) -> Result<(), Error> {
    let sql = "INSERT INTO activities (id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
                 candidate_role_id, candidate_role_step_id, detail)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    tx.run(
        sql,
        (
            id.as_str(),
            facts.organization_id.as_str(),
            tx.now.micros(),
            action.as_str(),
            who.user_id.as_str(),
            who.api_key_id().map(crate::domain::id::ApiKeyId::as_str),
            facts.role_id.as_str(),
            facts.candidate_id.as_str(),
            facts.application_id.as_str(),
            facts.addressed_step().id.as_str(),
            detail,
        ),
    )?;
    Ok(())
}

//! Decisions about a candidate at a step, `POST /api/v1/candidate-steps/{id}/…`, with one module for each decision.
//!
//! The store loads [`StepFacts`], a rule returns a [`Decision`] or refuses, and the store saves the decision.

mod as_seen;
mod decision;
mod hire;
mod move_to;
mod outcome;
mod past_act;
mod reject;
mod reopen;
pub(in crate::domain) mod status;
mod step;
#[cfg(test)]
pub(in crate::domain) mod tests;
mod undo;
mod validate;

pub use as_seen::{require_as_seen, state_name};
pub use decision::{Decision, HireRecord, Remark, StepFacts};
pub use hire::{HireInput, hire};
pub(in crate::domain) use move_to::statuses_after_move;
pub use move_to::{MoveInput, move_to};
pub use outcome::{OutcomeReason, OutcomeType};
pub use past_act::{ActKind, PastAct, StepState};
pub use reject::{RejectInput, reject};
pub use reopen::{Rejection, ReopenInput, reopen};
pub use status::{ApplicationStatus, StepStatus};
pub(in crate::domain) use step::current_index;
pub use step::{CandidateStep, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, StepType, at_step_since, current_step};
pub use undo::{ActingUser, AttributedAct, UNDO_PERIOD, undo};
pub use validate::{ValidateInput, step_after, validate};

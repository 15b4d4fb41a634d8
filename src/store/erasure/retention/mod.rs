//! Retention erases the candidates of an organization after its retention period, a configured number of whole local
//! days. The period begins with the last decision or later signup or, for a candidate without applications, with the
//! last change to the candidate. `domain::retention` contains the rules, `job` the background job, `due` the tables,
//! and `confirmation` the state that admins see and confirm.

pub(in super::super) mod confirmation;
pub(in super::super) mod due;
pub(in super::super) mod job;

pub use self::confirmation::{RetentionConfirmation, RetentionState, confirm, state};
pub(in super::super) use self::job::{Parts, job_step};
pub use self::job::{Run, Runs};

//! The facts for a decision, and the result of a decision. All decisions on a candidate step share these types.

use super::past_act::ActKind;
use super::status::ApplicationStatus;
use super::step::{CandidateStep, current_index, current_step};
use crate::domain::due_day::DueDay;
use crate::domain::id::{ApplicationId, CandidateId, OrganizationId, RoleId, RoleStepId};
use crate::domain::organization::StatusCounts;
use crate::domain::refusal::Refusal;
use crate::domain::role::Seats;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{self, OrgRole, PlatformRole};

/// The details of a hire. An application has them only while it is `Hired`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HireRecord {
    /// The time of the hire.
    pub hired_date: Timestamp,
    /// The time at which the offer was accepted.
    pub offer_accepted_date: Option<Timestamp>,
    /// The position's code in the organization's HR system.
    pub external_position_id: Option<String>,
    /// Staff's notes on the hire.
    pub notes: Option<String>,
}

/// The facts for a decision, loaded in the transaction in which the rule is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFacts {
    /// The organization that owns the role and the candidate.
    pub organization_id: OrganizationId,
    /// Whether the organization requires an external position id for each hire.
    pub require_external_position_id: bool,
    /// The role of the application.
    pub role_id: RoleId,
    /// The seats of the role: its status, positions and hires.
    pub seats: Seats,
    /// The candidate of the application.
    pub candidate_id: CandidateId,
    /// The application that the decision changes.
    pub application_id: ApplicationId,
    /// The status before the decision.
    pub application_status: ApplicationStatus,
    /// The time at which the candidate applied.
    pub applied_at: Timestamp,
    /// The details of the hire, while the candidate is hired.
    pub hire: Option<HireRecord>,
    /// The day until which staff put the application aside.
    pub later_due_on: Option<DueDay>,
    /// All steps of the application, in order.
    pub steps: Vec<CandidateStep>,
    /// The index in `steps` of the step that the caller named.
    pub addressed: usize,
    /// Whether the candidate's personal data was erased.
    pub is_erased: bool,
    /// Whether the candidate is under a legal hold.
    pub is_held: bool,
    /// The caller's organization role.
    pub caller_org_role: Option<OrgRole>,
    /// The caller's platform role.
    pub caller_platform_role: PlatformRole,
}

/// The result of a decision rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The changed steps, after the decision.
    pub steps: Vec<CandidateStep>,
    /// The step in the response, after the decision.
    pub answer_step: CandidateStep,
    /// The step to which a validation moves the candidate, after the decision. `None` for any other decision.
    pub next: Option<CandidateStep>,
    /// The application's status after the decision.
    pub application_status: ApplicationStatus,
    /// The details of the hire, if the candidate is hired after the decision.
    pub hire: Option<HireRecord>,
    /// The seats of the role after the decision.
    pub seats: Seats,
    /// The role step of the candidate's current step after the decision, if the application is then in progress.
    pub at_role_step: Option<RoleStepId>,
    /// The time at which the candidate originally reached the current step, if the decision returns them to it. `None`
    /// for any other decision.
    pub back_since: Option<Timestamp>,
    /// The day until which the application is put aside after the decision. Every decision except an undo removes the
    /// later mark.
    pub later_due_on: Option<DueDay>,
    /// The change to the organization's counts.
    pub status_change: StatusCounts,
    /// The caller's remark. Only the activity stores it.
    pub remark: Option<Remark>,
}

/// A remark on a decision, for its activity row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// The notes on a validated step.
    OutcomeNotes(String),
    /// The reason for a reopening or a move.
    Reason(String),
    /// The kind of the act that was undone.
    Undone(ActKind),
}

impl StepFacts {
    /// Returns the step that the caller named.
    pub fn addressed_step(&self) -> &CandidateStep {
        &self.steps[self.addressed]
    }

    /// Returns the index of the current step. An imported application in progress can lack an open step, and therefore
    /// a current step; the final step then takes its place.
    pub fn current_or_final_index(&self) -> usize {
        self.current_index().unwrap_or(self.final_index())
    }

    /// Returns whether the candidate of an application in progress is at the step that the caller named.
    pub(in crate::domain) fn is_at_addressed_step(&self) -> bool {
        self.current_index() == Some(self.addressed)
    }

    fn current_index(&self) -> Option<usize> {
        current_index(self.steps.iter().map(|step| step.status))
    }

    pub(super) fn final_index(&self) -> usize {
        self.steps.len() - 1
    }

    pub(in crate::domain) fn require_authority(&self) -> Result<(), Refusal> {
        if !user::may_manage(self.caller_org_role, self.caller_platform_role) {
            return Err(Refusal::Forbidden(
                "your organization role does not allow you to manage the steps of the organization's candidates",
            ));
        }
        // A decision would store new data about a person whose data was erased.
        if self.is_erased {
            return Err(Refusal::Conflict("the candidate was erased; no further decisions are possible"));
        }
        Ok(())
    }

    /// Checks that the candidate can still move through the pipeline.
    pub(in crate::domain) fn require_in_progress(&self) -> Result<(), Refusal> {
        match self.application_status {
            ApplicationStatus::InProgress => Ok(()),
            ApplicationStatus::Hired => Err(Refusal::Conflict("the candidate has already been hired for this role")),
            ApplicationStatus::NotSelected => Err(Refusal::Conflict(
                "the candidate has already been rejected for this role; reopen the rejected step first",
            )),
            ApplicationStatus::Withdrawn => Err(Refusal::Conflict("the candidate has withdrawn the application")),
        }
    }

    /// Returns the decision that leads to these steps. `steps` contains all steps; the decision contains only the
    /// changed steps.
    pub(super) fn decision(
        &self,
        steps: Vec<CandidateStep>,
        answer_index: usize,
        status: ApplicationStatus,
        hire: Option<HireRecord>,
        seats: Seats,
    ) -> Decision {
        let status_change = StatusCounts::of_role(seats)
            .plus(StatusCounts::of_application(status))
            .minus(StatusCounts::of_role(self.seats))
            .minus(StatusCounts::of_application(self.application_status));
        let answer_step = steps[answer_index].clone();
        let at_role_step = current_step(status, &steps).map(|step| step.role_step_id.clone());
        let steps = steps.into_iter().zip(&self.steps).filter(|(after, before)| after != *before);
        let steps = steps.map(|(after, _)| after).collect();
        Decision {
            steps,
            answer_step,
            next: None,
            application_status: status,
            hire,
            seats,
            at_role_step,
            back_since: None,
            later_due_on: None,
            status_change,
            remark: None,
        }
    }
}

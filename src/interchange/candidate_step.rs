//! Candidate steps in the interchange document, matched with the steps of their role. If each candidate step of an
//! application states its `order`, the steps are those that the role had when the candidate applied. Otherwise, the
//! application has the same steps as its role.

use std::collections::HashMap;

use serde::Serialize;

use super::context::Context;
use super::export_source::ExportSource;
use super::fields::Fields;
use super::findings::Pointer;
use super::reader::{Array, Object};
use super::role_step::Pipeline;
use crate::domain::application::default_statuses;
use crate::domain::candidate_step::{
    ApplicationStatus, CandidateStep, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, StepStatus, StepType,
};
use crate::domain::id::{CandidateStepId, RoleStepId};
use crate::domain::timestamp::Timestamp;
use crate::store::{Error, role_step};

/// A candidate step in the document. A missing order, name or step type defaults to the role step's value.
pub(super) struct CandidateStepEntry {
    index: usize,
    id: CandidateStepId,
    role_step_id: RoleStepId,
    order: Option<i64>,
    name: Option<String>,
    step_type: Option<StepType>,
    outcome: StepOutcome,
}

/// A step's status and the members that depend on it.
struct StepOutcome {
    status: StepStatus,
    rejected_at: Option<Timestamp>,
    rejection_reason: Option<String>,
    outcome_type: Option<String>,
    outcome_reason: Option<String>,
    validated_at: Option<Timestamp>,
}

impl Object for CandidateStepEntry {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "roleStepId",
        "order",
        "name",
        "stepType",
        "status",
        "rejectedAt",
        "rejectionReason",
        "outcomeType",
        "outcomeReason",
        "validatedAt",
    ];
    type Arrays = ();

    fn read(mut fields: Fields<'_, '_>, (): ()) -> Option<Self> {
        let id = fields.own_id();
        let role_step_id = fields.required_id("roleStepId", "the id of one of the role's steps");
        let order =
            fields.optional("order", "an integer of at least 1", |value| value.as_i64().filter(|order| *order >= 1));
        let name = fields.optional_name();
        let step_type = fields.word("stepType", StepType::WORDS, StepType::parse);
        let outcome = outcome(&mut fields);
        let index = fields.at().index();
        Some(Self {
            index,
            id: id?,
            role_step_id: role_step_id?,
            order: order?,
            name: name?,
            step_type: step_type?,
            outcome: outcome?,
        })
    }
}

/// Reads the status and the members that depend on it. Adds a finding for members that the status does not allow.
fn outcome(fields: &mut Fields<'_, '_>) -> Option<StepOutcome> {
    let status = fields.word("status", StepStatus::WORDS, StepStatus::parse);
    let rejected_at = fields.time("rejectedAt");
    let rejection_reason = fields.optional_lines("rejectionReason", NOTES_CHARACTERS_MAX);
    let outcome_type = fields.optional_text("outcomeType", OUTCOME_CHARACTERS_MAX);
    let outcome_reason = fields.optional_text("outcomeReason", OUTCOME_CHARACTERS_MAX);
    let validated_at = fields.time("validatedAt");
    let mut outcome = StepOutcome {
        status: status?.unwrap_or(StepStatus::Pending),
        rejected_at: rejected_at?,
        rejection_reason: rejection_reason?,
        outcome_type: outcome_type?,
        outcome_reason: outcome_reason?,
        validated_at: validated_at?,
    };
    let has_rejection = outcome.rejected_at.is_some() || outcome.rejection_reason.is_some();
    let has_rejection = has_rejection || outcome.outcome_type.is_some() || outcome.outcome_reason.is_some();
    if has_rejection && outcome.status != StepStatus::Rejected {
        fields
            .object_finding("only a rejected step may have rejectedAt, rejectionReason, outcomeType or outcomeReason");
        return None;
    }
    if outcome.validated_at.is_some() && outcome.status != StepStatus::Validated {
        fields.object_finding("only a validated step may have validatedAt");
        return None;
    }
    outcome.fill_defaults(fields.context.now);
    Some(outcome)
}

impl StepOutcome {
    /// Creates an outcome with this status and with defaults for everything else.
    fn of_status(status: StepStatus, now: Timestamp) -> Self {
        let mut outcome = Self {
            status,
            rejected_at: None,
            rejection_reason: None,
            outcome_type: None,
            outcome_reason: None,
            validated_at: None,
        };
        outcome.fill_defaults(now);
        outcome
    }

    /// Fills in missing members that the status requires.
    fn fill_defaults(&mut self, now: Timestamp) {
        match self.status {
            StepStatus::Rejected => {
                self.rejected_at.get_or_insert(now);
                self.rejection_reason.get_or_insert_default();
            }
            StepStatus::Validated => {
                self.validated_at.get_or_insert(now);
            }
            StepStatus::Pending | StepStatus::InProgress | StepStatus::Skipped => {}
        }
    }

    fn into_step(
        self,
        id: CandidateStepId,
        name: String,
        step_type: StepType,
        role_step: &role_step::PipelineStep,
    ) -> CandidateStep {
        CandidateStep {
            id,
            role_step_id: role_step.id.clone(),
            name,
            order: role_step.order,
            step_type,
            status: self.status,
            rejected_at: self.rejected_at,
            rejection_reason: self.rejection_reason,
            outcome_type: self.outcome_type,
            outcome_reason: self.outcome_reason,
            validated_at: self.validated_at,
        }
    }
}

/// Assigns candidate steps to the steps of one role.
pub(super) struct StepMatcher<'a> {
    pipeline: &'a Pipeline,
    /// The steps of the pipeline and the removed steps, by id.
    by_id: HashMap<&'a str, &'a role_step::PipelineStep>,
}

impl<'a> StepMatcher<'a> {
    pub(super) fn new(pipeline: &'a Pipeline) -> Self {
        let all = pipeline.steps.iter().chain(&pipeline.removed);
        Self { pipeline, by_id: all.map(|step| (step.id.as_str(), step)).collect() }
    }

    /// Returns the steps of an application whose entry has no `steps`: copies of the role's steps, with the default
    /// statuses for the application's status.
    pub(super) fn copy_from_role(
        &self,
        status: ApplicationStatus,
        at: Pointer<'_>,
        context: &mut Context<'_>,
    ) -> Option<Vec<CandidateStep>> {
        let role_steps = &self.pipeline.steps;
        let Some(statuses) = default_statuses(status, role_steps.len()).filter(|statuses| !statuses.is_empty()) else {
            let detail = if role_steps.is_empty() {
                "is missing, and the role has no steps to copy".to_owned()
            } else {
                format!("is missing; an application with the status {} needs its steps", status.as_str())
            };
            context.findings.push(at.member("steps"), detail);
            return None;
        };
        let copy = |(step, status): (&role_step::PipelineStep, StepStatus)| {
            StepOutcome::of_status(status, context.now).into_step(
                context.new_id(),
                step.name.clone(),
                step.step_type,
                step,
            )
        };
        Some(role_steps.iter().zip(statuses).map(copy).collect())
    }

    /// Matches the given steps with the role's steps, and returns the candidate steps from first to last. Unless each
    /// given step states its order, the given steps must be exactly the steps of the pipeline.
    pub(super) fn match_given(
        &self,
        given: Array<CandidateStepEntry>,
        at: Pointer<'_>,
        context: &mut Context<'_>,
    ) -> Option<Vec<CandidateStep>> {
        let steps_at = at.member("steps");
        let has_order = given.items.iter().any(|step| step.order.is_some());
        let mut fits = given.complete;
        let mut steps = Vec::with_capacity(given.items.len());
        for step in given.items {
            let step_at = steps_at.item(step.index);
            match self.role_step(&step, has_order, &steps) {
                Ok(role_step) => steps.push(step.into_step(role_step)),
                Err(Misfit { member, detail }) => {
                    context.findings.push(member.map_or(step_at, |member| step_at.member(member)), detail);
                    fits = false;
                }
            }
        }
        if !fits {
            return None;
        }
        if let Some(detail) = self.missing_steps(&steps, has_order) {
            context.findings.push(steps_at, detail);
            return None;
        }
        steps.sort_by_key(|step| step.order);
        (1..).zip(&mut steps).for_each(|(order, step)| step.order = order);
        Some(steps)
    }

    /// Returns the role step of a given step. No step before the given step may have the same role step.
    fn role_step(
        &self,
        step: &CandidateStepEntry,
        has_order: bool,
        before: &[CandidateStep],
    ) -> Result<&'a role_step::PipelineStep, Misfit> {
        let id = &step.role_step_id;
        let misfit = |member, detail: String| Err(Misfit { member, detail });
        let Some(role_step) = self.by_id.get(id.as_str()).copied() else {
            return misfit(Some("roleStepId"), "is not the id of one of the role's steps".to_owned());
        };
        if before.iter().any(|other| other.role_step_id == *id) {
            return misfit(None, format!("the application has the role's step {id} twice"));
        }
        let is_removed = self.pipeline.removed.iter().any(|removed| removed.id == *id);
        match step.order {
            Some(order) if before.iter().any(|other| other.order == order) => {
                misfit(Some("order"), format!("is also the order of another step of the application ({order})"))
            }
            None if has_order => {
                misfit(None, "has no `order`, although other steps of the application have one".to_owned())
            }
            None if is_removed => {
                let why =
                    format!("the role's step {id} was removed, so each step of the application must state its `order`");
                misfit(None, why)
            }
            _ => Ok(role_step),
        }
    }

    /// Returns a finding if an application has no steps or lacks steps of its role's pipeline. With `has_order`, the
    /// steps state their order, so the application may lack steps of the pipeline.
    fn missing_steps(&self, steps: &[CandidateStep], has_order: bool) -> Option<String> {
        if has_order {
            return None;
        }
        let has = |role_step: &&role_step::PipelineStep| steps.iter().any(|step| step.role_step_id == role_step.id);
        let missing: Vec<&str> = self
            .pipeline
            .steps
            .iter()
            .filter(|role_step| !has(role_step))
            .map(|role_step| role_step.id.as_str())
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let advice = "include all of them, or state the `order` of each step";
            return Some(format!("lacks the role's steps {missing}; {advice}"));
        }
        steps.is_empty().then(|| "must have at least one step".to_owned())
    }
}

/// The reason why a step does not fit. `member` is the invalid member, if exactly one member is invalid.
struct Misfit {
    member: Option<&'static str>,
    detail: String,
}

impl CandidateStepEntry {
    fn into_step(self, role_step: &role_step::PipelineStep) -> CandidateStep {
        let Self { id, order, name, step_type, outcome, .. } = self;
        let name = name.unwrap_or_else(|| role_step.name.clone());
        let step = outcome.into_step(id, name, step_type.unwrap_or(role_step.step_type), role_step);
        CandidateStep { order: order.unwrap_or(role_step.order), ..step }
    }
}

/// A candidate step as an export writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedCandidateStep {
    id: String,
    role_step_id: String,
    order: i64,
    name: String,
    step_type: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejection_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validated_at: Option<String>,
}

impl ExportedCandidateStep {
    pub(super) fn new(_: &ExportSource<'_>, step: CandidateStep) -> Result<Self, Error> {
        Ok(Self {
            id: step.id.to_string(),
            role_step_id: step.role_step_id.to_string(),
            order: step.order,
            name: step.name,
            step_type: step.step_type.as_str(),
            status: step.status.as_str(),
            rejected_at: step.rejected_at.map(|at| at.to_string()),
            rejection_reason: step.rejection_reason,
            outcome_type: step.outcome_type,
            outcome_reason: step.outcome_reason,
            validated_at: step.validated_at.map(|at| at.to_string()),
        })
    }
}

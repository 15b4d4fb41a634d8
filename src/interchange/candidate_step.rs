//! The steps of an application in the document, beside those of its role: the same ones, or, where each says its `order`,
//! those that the role had when the application was made.

use std::collections::HashMap;

use super::context::Context;
use super::fields::Fields;
use super::findings::At;
use super::reader::{Array, Object};
use super::role::Pipeline;
use crate::domain::application::default_statuses;
use crate::domain::candidate_step::{
    ApplicationStatus, CandidateStep, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, StepStatus, StepType,
};
use crate::domain::id::{CandidateStepId, RoleStepId};
use crate::domain::timestamp::Timestamp;
use crate::store::role_step;

/// A step of an application as the document has it. What it lacks it has from the role's step.
pub(super) struct EntryStep {
    index: usize,
    id: CandidateStepId,
    role_step_id: RoleStepId,
    order: Option<i64>,
    name: Option<String>,
    step_type: Option<StepType>,
    outcome: Outcome,
}

/// A step's status and what goes with it.
struct Outcome {
    status: StepStatus,
    rejected_at: Option<Timestamp>,
    rejection_reason: Option<String>,
    outcome_type: Option<String>,
    outcome_reason: Option<String>,
    validated_at: Option<Timestamp>,
}

impl Object for EntryStep {
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
        let order = fields.optional("order", "an integer from 1", |value| value.as_i64().filter(|order| *order >= 1));
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

/// A step's status, and what a step has exactly while it is `rejected` or `validated`.
fn outcome(fields: &mut Fields<'_, '_>) -> Option<Outcome> {
    let status = fields.word("status", StepStatus::WORDS, StepStatus::parse);
    let rejected_at = fields.time("rejectedAt");
    let rejection_reason = fields.optional_lines("rejectionReason", NOTES_CHARACTERS_MAX);
    let outcome_type = fields.optional_text("outcomeType", OUTCOME_CHARACTERS_MAX);
    let outcome_reason = fields.optional_text("outcomeReason", OUTCOME_CHARACTERS_MAX);
    let validated_at = fields.time("validatedAt");
    let mut outcome = Outcome {
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
        fields.clash("only a step that is rejected has rejectedAt, rejectionReason, outcomeType and outcomeReason");
        return None;
    }
    if outcome.validated_at.is_some() && outcome.status != StepStatus::Validated {
        fields.clash("only a step that is validated has validatedAt");
        return None;
    }
    outcome.complete(fields.context.now);
    Some(outcome)
}

impl Outcome {
    /// A step of which only the status is known.
    fn only(status: StepStatus, now: Timestamp) -> Self {
        let mut outcome = Self {
            status,
            rejected_at: None,
            rejection_reason: None,
            outcome_type: None,
            outcome_reason: None,
            validated_at: None,
        };
        outcome.complete(now);
        outcome
    }

    /// Adds what its status calls for and was not given.
    fn complete(&mut self, now: Timestamp) {
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
        of: &role_step::Record,
    ) -> CandidateStep {
        CandidateStep {
            id,
            role_step_id: of.id.clone(),
            name,
            order: of.order,
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

/// The steps of a role, for its applications.
pub(super) struct Steps<'a> {
    pipeline: &'a Pipeline,
    /// Those of the pipeline, and behind them those that were taken out, by their ids.
    by_id: HashMap<&'a str, &'a role_step::Record>,
}

impl<'a> Steps<'a> {
    pub(super) fn of(pipeline: &'a Pipeline) -> Self {
        let all = pipeline.steps.iter().chain(&pipeline.removed);
        Self { pipeline, by_id: all.map(|step| (step.id.as_str(), step)).collect() }
    }

    /// The role's steps, as an application of this status has gone through them.
    pub(super) fn copied(
        &self,
        status: ApplicationStatus,
        at: At<'_>,
        context: &mut Context<'_>,
    ) -> Option<Vec<CandidateStep>> {
        let of = &self.pipeline.steps;
        let Some(statuses) = default_statuses(status, of.len()).filter(|statuses| !statuses.is_empty()) else {
            let detail = if of.is_empty() {
                "is missing; the role has no step that an application gets".to_owned()
            } else {
                format!("is missing; an application that is {} needs its steps", status.as_str())
            };
            context.findings.push(at.member("steps"), detail);
            return None;
        };
        let copy = |(step, status): (&role_step::Record, StepStatus)| {
            Outcome::only(status, context.now).into_step(context.made(), step.name.clone(), step.step_type, step)
        };
        Some(of.iter().zip(statuses).map(copy).collect())
    }

    /// The steps that were given, first to last: one for each of the role's, or, where they say their order, whatever the
    /// application has.
    pub(super) fn matched(
        &self,
        given: Array<EntryStep>,
        at: At<'_>,
        context: &mut Context<'_>,
    ) -> Option<Vec<CandidateStep>> {
        let steps_at = at.member("steps");
        let has_order = given.items.iter().any(|step| step.order.is_some());
        let mut fits = given.complete;
        let mut steps = Vec::with_capacity(given.items.len());
        for step in given.items {
            let step_at = steps_at.item(step.index);
            match self.one(&step, has_order, &steps) {
                Ok(of) => steps.push(step.into_step(of)),
                Err(Wrong { member, detail }) => {
                    context.findings.push(member.map_or(step_at, |member| step_at.member(member)), detail);
                    fits = false;
                }
            }
        }
        if !fits {
            return None;
        }
        if let Some(lack) = self.lack(&steps, has_order) {
            context.findings.push(steps_at, lack);
            return None;
        }
        steps.sort_by_key(|step| step.order);
        (1..).zip(&mut steps).for_each(|(order, step)| step.order = order);
        Some(steps)
    }

    /// The role's step that a given one is of, beside those before it.
    fn one(&self, step: &EntryStep, has_order: bool, before: &[CandidateStep]) -> Result<&'a role_step::Record, Wrong> {
        let id = &step.role_step_id;
        let wrong = |member, detail: String| Err(Wrong { member, detail });
        let Some(of) = self.by_id.get(id.as_str()).copied() else {
            return wrong(Some("roleStepId"), "is not the id of one of the role's steps".to_owned());
        };
        if before.iter().any(|other| other.role_step_id == *id) {
            return wrong(None, format!("the role's step {id} is there twice in the application"));
        }
        let is_removed = self.pipeline.removed.iter().any(|removed| removed.id == *id);
        match step.order {
            Some(order) if before.iter().any(|other| other.order == order) => {
                wrong(Some("order"), format!("is that of another step of the application, too ({order})"))
            }
            None if has_order => wrong(None, "lacks its order, which other steps of the application have".to_owned()),
            None if is_removed => {
                wrong(None, format!("the role's step {id} was removed, so the application's steps need their order"))
            }
            _ => Ok(of),
        }
    }

    /// What the steps of an application lack.
    fn lack(&self, steps: &[CandidateStep], has_order: bool) -> Option<String> {
        if has_order {
            return None;
        }
        let has = |of: &&role_step::Record| steps.iter().any(|step| step.role_step_id == of.id);
        let missing: Vec<&str> = self.pipeline.steps.iter().filter(|of| !has(of)).map(|of| of.id.as_str()).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Some(format!("lack the role's steps {missing}; an application has them all, or says their order"));
        }
        steps.is_empty().then(|| "must have at least one".to_owned())
    }
}

/// Why a step does not fit: the member that is wrong, where it is one.
struct Wrong {
    member: Option<&'static str>,
    detail: String,
}

impl EntryStep {
    fn into_step(self, of: &role_step::Record) -> CandidateStep {
        let Self { id, order, name, step_type, outcome, .. } = self;
        let name = name.unwrap_or_else(|| of.name.clone());
        let step = outcome.into_step(id, name, step_type.unwrap_or(of.step_type), of);
        CandidateStep { order: order.unwrap_or(of.order), ..step }
    }
}

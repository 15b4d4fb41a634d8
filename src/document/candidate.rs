//! Candidates under a role in the document: who applied, where the application is, and its steps beside the role's.

use std::collections::HashMap;

use serde::de::MapAccess;

use super::context::Context;
use super::fields::Fields;
use super::findings::At;
use super::reader::{self, Array, Object};
use super::user;
use crate::domain::candidate_role::{contradiction, default_statuses};
use crate::domain::candidate_step::{
    ApplicationStatus, CandidateStep, HireRecord, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, StepStatus, StepType,
};
use crate::domain::id::{CandidateId, CandidateRoleId, CandidateStepId, RoleStepId};
use crate::domain::timestamp::Timestamp;
use crate::store::{candidate_role, role_step};

/// An application with its steps.
#[derive(Debug, Clone)]
pub struct Application {
    /// Whose it is, as an index into the organization's candidates.
    pub candidate: usize,
    /// The application itself.
    pub record: candidate_role::Record,
    /// Its steps, first to last.
    pub steps: Vec<CandidateStep>,
}

/// A candidate as the document has them, before the role's steps are known.
pub(super) struct Entry {
    index: usize,
    candidate: usize,
    record: candidate_role::Record,
    steps: Option<Array<EntryStep>>,
}

/// A step of an application as the document has it. What it lacks it has from the role's step.
pub(super) struct EntryStep {
    index: usize,
    id: CandidateStepId,
    role_step_id: RoleStepId,
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

impl Object for Entry {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "applicationId",
        "name",
        "email",
        "appliedAt",
        "status",
        "hiredDate",
        "offerAcceptedDate",
        "externalPositionId",
        "hireNotes",
        "steps",
    ];
    type Arrays = Option<Array<EntryStep>>;

    fn array<'de, A: MapAccess<'de>>(
        steps: &mut Option<Array<EntryStep>>,
        name: &str,
        at: At<'_>,
        context: &mut Context<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        if name == "steps" {
            *steps = reader::array(at, context, members)?;
        }
        Ok(name == "steps")
    }

    fn read(mut fields: Fields<'_, '_>, steps: Option<Array<EntryStep>>) -> Option<Self> {
        let id = fields.optional_id::<CandidateId>("id");
        let application_id = application_id(&mut fields);
        let name = fields.name();
        let email = user::email(&mut fields);
        let applied_at = fields.time("appliedAt");
        let status = fields.word("status", ApplicationStatus::WORDS, ApplicationStatus::parse);
        let status = status.map(|status| status.unwrap_or(ApplicationStatus::InProgress));
        let hire = hire(&mut fields, status);
        let candidate = match fields.context.admit(id?, name?, email?) {
            Ok(candidate) => candidate,
            Err(clash) => {
                fields.clash(clash);
                return None;
            }
        };
        let applied_at = applied_at?.unwrap_or(fields.context.now);
        let record = candidate_role::Record { id: application_id?, status: status?, applied_at, hire: hire? };
        Some(Self { index: fields.at().index(), candidate, record, steps })
    }
}

fn application_id(fields: &mut Fields<'_, '_>) -> Option<CandidateRoleId> {
    let Some(id) = fields.optional_id("applicationId")? else { return Some(fields.context.made()) };
    fields.taken_once(&id).then_some(id)
}

/// The record of the hire, which an application has exactly while it is `Hired`.
fn hire(fields: &mut Fields<'_, '_>, status: Option<ApplicationStatus>) -> Option<Option<HireRecord>> {
    let hired_date = fields.time("hiredDate");
    let offer_accepted_date = fields.time("offerAcceptedDate");
    let external_position_id = fields.optional_text("externalPositionId", OUTCOME_CHARACTERS_MAX);
    let notes = fields.optional_text("hireNotes", NOTES_CHARACTERS_MAX);
    let (hired_date, offer_accepted_date, notes) = (hired_date?, offer_accepted_date?, notes?);
    // As in a hire, blank counts as missing.
    let external_position_id = external_position_id?.filter(|id| !id.trim().is_empty());
    if status? == ApplicationStatus::Hired {
        let hired_date = hired_date.unwrap_or(fields.context.now);
        return Some(Some(HireRecord { hired_date, offer_accepted_date, external_position_id, notes }));
    }
    if hired_date.is_some() || offer_accepted_date.is_some() || external_position_id.is_some() || notes.is_some() {
        fields.clash(
            "only an application that is Hired has hiredDate, offerAcceptedDate, externalPositionId and hireNotes",
        );
        return None;
    }
    Some(None)
}

impl Object for EntryStep {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "roleStepId",
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
        let name = fields.optional_name();
        let step_type = fields.word("stepType", StepType::WORDS, StepType::parse);
        let outcome = outcome(&mut fields);
        let index = fields.at().index();
        Some(Self {
            index,
            id: id?,
            role_step_id: role_step_id?,
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
    let rejection_reason = fields.optional_text("rejectionReason", NOTES_CHARACTERS_MAX);
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

impl Entry {
    /// Where the candidate stands in the document's array.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Where the application is.
    pub(super) fn status(&self) -> ApplicationStatus {
        self.record.status
    }

    /// The application with a step for each of the role's, in the role's order; `None` where they do not fit, or the
    /// status does not agree with them, which is then among the findings.
    pub(super) fn settle(
        self,
        at: At<'_>,
        of: &[role_step::Record],
        places: &HashMap<&str, usize>,
        context: &mut Context<'_>,
    ) -> Option<Application> {
        let Self { candidate, record, steps, .. } = self;
        let steps = match steps {
            None => copied(record.status, at, of, context),
            Some(steps) => matched(steps, at, of, places, context),
        }?;
        let statuses: Vec<StepStatus> = steps.iter().map(|step| step.status).collect();
        if let Some(contradiction) = contradiction(record.status, &statuses) {
            context.findings.push(at, contradiction);
            return None;
        }
        Some(Application { candidate, record, steps })
    }
}

/// The role's steps, as an application of this status has gone through them.
fn copied(
    status: ApplicationStatus,
    at: At<'_>,
    of: &[role_step::Record],
    context: &mut Context<'_>,
) -> Option<Vec<CandidateStep>> {
    let Some(statuses) = default_statuses(status, of.len()) else {
        let detail = format!("is missing; an application that is {} needs its steps", status.as_str());
        context.findings.push(at.member("steps"), detail);
        return None;
    };
    let copy = |(step, status): (&role_step::Record, StepStatus)| {
        Outcome::only(status, context.now).into_step(context.made(), step.name.clone(), step.step_type, step)
    };
    Some(of.iter().zip(statuses).map(copy).collect())
}

/// The steps that were given, each at the place of its role step, one for each of them.
fn matched(
    given: Array<EntryStep>,
    at: At<'_>,
    of: &[role_step::Record],
    places: &HashMap<&str, usize>,
    context: &mut Context<'_>,
) -> Option<Vec<CandidateStep>> {
    let steps_at = at.member("steps");
    let mut matched: Vec<Option<CandidateStep>> = vec![None; of.len()];
    let mut fits = given.complete;
    for step in given.items {
        let step_at = steps_at.item(step.index);
        let Some(place) = places.get(step.role_step_id.as_str()).copied() else {
            context.findings.push(step_at.member("roleStepId"), "is not the id of one of the role's steps");
            fits = false;
            continue;
        };
        if matched[place].is_some() {
            let detail = format!("the role's step {} is there twice in the application", step.role_step_id);
            context.findings.push(step_at, detail);
            fits = false;
            continue;
        }
        let EntryStep { id, name, step_type, outcome, .. } = step;
        let name = name.unwrap_or_else(|| of[place].name.clone());
        matched[place] = Some(outcome.into_step(id, name, step_type.unwrap_or(of[place].step_type), &of[place]));
    }
    if !fits {
        return None;
    }
    let missing = matched.iter().zip(of).filter(|(step, _)| step.is_none()).map(|(_, of)| of.id.as_str());
    let missing = missing.collect::<Vec<_>>().join(", ");
    if !missing.is_empty() {
        context.findings.push(steps_at, format!("lack the role's steps {missing}; an application has them all"));
        return None;
    }
    Some(matched.into_iter().flatten().collect())
}

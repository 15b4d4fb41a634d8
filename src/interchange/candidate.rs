//! The candidates of a role in the interchange document. Each entry contains a person and the state of an application.
//! The steps of the application are in `candidate_step`.

use serde::Serialize;

use super::candidate_step::{CandidateStepEntry, ExportedCandidateStep, StepMatcher};
use super::context::Context;
use super::export_source::{ExportSource, LazyArray};
use super::fields::Fields;
use super::findings::Pointer;
use super::reader::{Array, Object, arrays};
use super::user;
use crate::domain::application::contradiction;
use crate::domain::candidate_step::{
    ApplicationStatus, CandidateStep, HireRecord, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, StepStatus,
};
use crate::domain::due_day::{DUE_DAY_MUST_BE, DueDay};
use crate::domain::erasure::{Privacy, REASON_CHARACTERS_MAX};
use crate::domain::id::{ApplicationId, CandidateId};
use crate::domain::plain;
use crate::domain::text;
use crate::store::{Error, application, candidate, candidate_step};

/// An application with its steps.
#[derive(Debug, Clone)]
pub struct Application {
    /// The candidate, as an index into the organization's candidates.
    pub candidate: usize,
    /// The application without its steps.
    pub record: application::ApplicationRecord,
    /// The candidate steps, from first to last.
    pub steps: Vec<CandidateStep>,
}

/// A candidate entry in the document, before it is matched with the role's steps.
pub(super) struct CandidateEntry {
    index: usize,
    candidate: usize,
    record: application::ApplicationRecord,
    steps: Option<Array<CandidateStepEntry>>,
}

arrays!(CandidateArrays { steps: CandidateStepEntry });

impl Object for CandidateEntry {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "applicationId",
        "name",
        "email",
        "holdReason",
        "erasedAt",
        "appliedAt",
        "status",
        "hiredDate",
        "offerAcceptedDate",
        "externalPositionId",
        "hireNotes",
        "laterDueOn",
        "steps",
    ];
    type Arrays = CandidateArrays;

    fn read(mut fields: Fields<'_, '_>, arrays: CandidateArrays) -> Option<Self> {
        let id = fields.optional_id::<CandidateId>("id");
        let application_id = application_id(&mut fields);
        let name = fields.name();
        let email = user::email(&mut fields);
        let applied_at = fields.time("appliedAt");
        let status = fields.word("status", ApplicationStatus::WORDS, ApplicationStatus::parse);
        let status = status.map(|status| status.unwrap_or(ApplicationStatus::InProgress));
        let hire = hire(&mut fields, status);
        let later_due_on = later_due_on(&mut fields, status);
        let privacy = privacy(&mut fields);
        let (name, email, privacy) = (name?, email?, privacy?);
        if let Some(contradiction) = privacy.contradiction(&name, &email, status?) {
            fields.object_finding(contradiction);
            return None;
        }
        let candidate = match fields.context.add_application(id?, name, email, privacy) {
            Ok(candidate) => candidate,
            Err(clash) => {
                fields.object_finding(clash);
                return None;
            }
        };
        let applied_at = applied_at?.unwrap_or(fields.context.now);
        let record = application::ApplicationRecord {
            id: application_id?,
            status: status?,
            applied_at,
            hire: hire?,
            later_due_on: later_due_on?,
        };
        Some(Self { index: fields.at().index(), candidate, record, steps: arrays.steps })
    }
}

fn application_id(fields: &mut Fields<'_, '_>) -> Option<ApplicationId> {
    let Some(id) = fields.optional_id("applicationId")? else { return Some(fields.context.new_id()) };
    fields.claim_id(&id).then_some(id)
}

/// Reads the candidate's legal hold and erasure.
fn privacy(fields: &mut Fields<'_, '_>) -> Option<Privacy> {
    let must_be = format!("a string of at most {REASON_CHARACTERS_MAX} characters that is not blank");
    let hold_reason = fields.optional("holdReason", &must_be, |value| {
        let reason = value.as_str()?.trim();
        let is_valid = !reason.is_empty() && text::characters(reason) <= REASON_CHARACTERS_MAX;
        is_valid.then(|| reason.to_owned())
    });
    let hold_reason = hold_reason.and_then(|reason| fields.plain("holdReason", reason, plain::flaw_of_lines));
    let erased_at = fields.time("erasedAt");
    Some(Privacy { hold_reason: hold_reason?, erased_at: erased_at? })
}

/// Reads the details of the hire. Only applications with the status `Hired` may have them.
fn hire(fields: &mut Fields<'_, '_>, status: Option<ApplicationStatus>) -> Option<Option<HireRecord>> {
    let hired_date = fields.time("hiredDate");
    let offer_accepted_date = fields.time("offerAcceptedDate");
    let external_position_id = fields.optional_text("externalPositionId", OUTCOME_CHARACTERS_MAX);
    let notes = fields.optional_lines("hireNotes", NOTES_CHARACTERS_MAX);
    let (hired_date, offer_accepted_date, notes) = (hired_date?, offer_accepted_date?, notes?);
    // A blank value is treated as missing, as in the `hire` endpoint.
    let external_position_id = external_position_id?.filter(|id| !id.trim().is_empty());
    if status? == ApplicationStatus::Hired {
        let hired_date = hired_date.unwrap_or(fields.context.now);
        return Some(Some(HireRecord { hired_date, offer_accepted_date, external_position_id, notes }));
    }
    if hired_date.is_some() || offer_accepted_date.is_some() || external_position_id.is_some() || notes.is_some() {
        fields.object_finding(
            "only an application that is Hired may have hiredDate, offerAcceptedDate, externalPositionId or hireNotes",
        );
        return None;
    }
    Some(None)
}

/// Reads the later mark. Its day may have passed.
fn later_due_on(fields: &mut Fields<'_, '_>, status: Option<ApplicationStatus>) -> Option<Option<DueDay>> {
    let due_on = fields.optional("laterDueOn", DUE_DAY_MUST_BE, |value| DueDay::parse(value.as_str()?))?;
    if due_on.is_some() && status? != ApplicationStatus::InProgress {
        fields.object_finding("only an application that is In Progress may have laterDueOn");
        return None;
    }
    Some(due_on)
}

impl CandidateEntry {
    /// Returns the index of the entry in the role's array of candidates.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn status(&self) -> ApplicationStatus {
        self.record.status
    }

    /// Matches the entry with the role's steps. Adds a finding and returns `None` if the steps do not fit the role, or
    /// if the status contradicts them.
    pub(super) fn match_steps(
        self,
        at: Pointer<'_>,
        matcher: &StepMatcher<'_>,
        context: &mut Context<'_>,
    ) -> Option<Application> {
        let Self { candidate, record, steps, .. } = self;
        let steps = match steps {
            None => matcher.copy_from_role(record.status, at, context),
            Some(steps) => matcher.match_given(steps, at, context),
        }?;
        let statuses: Vec<StepStatus> = steps.iter().map(|step| step.status).collect();
        if let Some(contradiction) = contradiction(record.status, &statuses) {
            context.findings.push(at, contradiction);
            return None;
        }
        Some(Application { candidate, record, steps })
    }
}

/// An application and its candidate.
pub(super) type ApplicationRow = (application::ApplicationRecord, candidate::CandidateRecord);

/// An application, with its candidate, as an export writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedCandidate<'s> {
    id: String,
    application_id: String,
    name: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    erased_at: Option<String>,
    applied_at: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hired_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offer_accepted_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_position_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hire_notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    later_due_on: Option<String>,
    steps: LazyArray<'s, CandidateStep, ExportedCandidateStep>,
}

impl<'s> ExportedCandidate<'s> {
    pub(super) fn new(source: &'s ExportSource<'s>, (application, candidate): ApplicationRow) -> Result<Self, Error> {
        let application::ApplicationRecord { id, status, applied_at, hire, later_due_on } = application;
        let application_id = id.to_string();
        let steps = move || candidate_step::of_application(source.tx, &id);
        let (hired_date, offer_accepted_date, external_position_id, hire_notes) = match hire {
            None => (None, None, None, None),
            Some(hire) => (
                Some(hire.hired_date.to_string()),
                hire.offer_accepted_date.map(|at| at.to_string()),
                hire.external_position_id,
                hire.notes,
            ),
        };
        Ok(Self {
            id: candidate.id.to_string(),
            application_id,
            name: candidate.name,
            email: candidate.email.as_str().to_owned(),
            hold_reason: candidate.privacy.hold_reason,
            erased_at: candidate.privacy.erased_at.map(|at| at.to_string()),
            applied_at: applied_at.to_string(),
            status: status.as_str(),
            hired_date,
            offer_accepted_date,
            external_position_id,
            hire_notes,
            later_due_on: later_due_on.map(|day| day.to_string()),
            steps: source.array(steps, ExportedCandidateStep::new),
        })
    }
}

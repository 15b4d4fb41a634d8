//! Candidates and their applications as the API shows them.

use serde::Serialize;

use crate::domain::candidate_step::{CandidateStep, HireRecord};
use crate::http::api::candidate_step::WireStep;
use crate::store::application::{Application, CurrentStep};
use crate::store::attachment::Attachment;
use crate::store::candidate::Candidate;
use crate::store::signup::{ApplicationSignups, Signup};

/// An application with its steps and signups.
pub(in crate::http) struct ApplicationInFull {
    pub(in crate::http) application: Application,
    pub(in crate::http) steps: Vec<CandidateStep>,
    pub(in crate::http) signups: ApplicationSignups,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireCandidate<A> {
    id: String,
    organization_id: String,
    name: String,
    email: String,
    held: bool,
    erased: bool,
    created_at: String,
    updated_at: String,
    applications: Vec<A>,
}

impl<A> WireCandidate<A> {
    pub(in crate::http) fn new(candidate: Candidate, applications: Vec<A>) -> Self {
        Self {
            id: candidate.id.into(),
            organization_id: candidate.organization_id.into(),
            name: candidate.name,
            email: candidate.email,
            held: candidate.is_held,
            erased: candidate.is_erased,
            created_at: candidate.created_at.to_string(),
            updated_at: candidate.updated_at.to_string(),
            applications,
        }
    }
}

/// An application as lists show it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApplication {
    id: String,
    role_id: String,
    role_name: String,
    status: &'static str,
    applied_at: String,
    current_step: Option<WireCurrentStep>,
}

impl WireApplication {
    pub(in crate::http) fn new(application: Application) -> Self {
        Self {
            id: application.record.id.into(),
            role_id: application.role_id.into(),
            role_name: application.role_name,
            status: application.record.status.as_str(),
            applied_at: application.record.applied_at.to_string(),
            current_step: application.current.map(WireCurrentStep::new),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireCurrentStep {
    id: String,
    role_step_id: String,
    name: String,
    order: i64,
    step_type: &'static str,
    since: String,
}

impl WireCurrentStep {
    fn new(current: CurrentStep) -> Self {
        Self {
            id: current.id.into(),
            role_step_id: current.role_step_id.into(),
            name: current.name,
            order: current.order,
            step_type: current.step_type.as_str(),
            since: current.since.to_string(),
        }
    }
}

/// An application with its signups and steps. Only an application with the status `Hired` has the fields of a hire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApplicationInFull<'a> {
    #[serde(flatten)]
    application: WireApplication,
    candidate_id: &'a str,
    updated_at: String,
    signup: Option<WireSignup<'a>>,
    later_signups: Vec<WireSignup<'a>>,
    #[serde(rename = "documents")]
    imported: Vec<WireAttachment>,
    #[serde(flatten)]
    hire: Option<WireHire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    later_due_on: Option<String>,
    steps: Vec<WireStep<'a>>,
}

impl<'a> WireApplicationInFull<'a> {
    pub(in crate::http) fn new(whole: &'a ApplicationInFull) -> Self {
        let ApplicationInFull { application, steps, signups } = whole;
        let (role_id, id) = (&application.role_id, &application.record.id);
        Self {
            application: WireApplication::new(application.clone()),
            candidate_id: application.candidate_id.as_str(),
            updated_at: application.updated_at.to_string(),
            signup: signups.original.as_ref().map(WireSignup::new),
            later_signups: signups.later.iter().map(WireSignup::new).collect(),
            imported: signups.imported.iter().map(WireAttachment::new).collect(),
            hire: application.record.hire.as_ref().map(WireHire::new),
            later_due_on: application.record.later_due_on.map(|day| day.to_string()),
            steps: steps.iter().map(|step| WireStep::new(role_id, id, step)).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireHire<'a> {
    hired_date: String,
    offer_accepted_date: Option<String>,
    external_position_id: Option<&'a str>,
    hire_notes: Option<&'a str>,
}

impl<'a> WireHire<'a> {
    fn new(hire: &'a HireRecord) -> Self {
        Self {
            hired_date: hire.hired_date.to_string(),
            offer_accepted_date: hire.offer_accepted_date.map(|at| at.to_string()),
            external_position_id: hire.external_position_id.as_deref(),
            hire_notes: hire.notes.as_deref(),
        }
    }
}

/// A signup as an application shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireSignup<'a> {
    submitted_at: String,
    #[serde(flatten)]
    typed: WireTyped<'a>,
    #[serde(rename = "documents")]
    attachments: Vec<WireAttachment>,
    withdrew_at: Option<String>,
}

impl<'a> WireSignup<'a> {
    pub(in crate::http) fn new(signup: &'a Signup) -> Self {
        Self {
            submitted_at: signup.submitted_at.to_string(),
            typed: WireTyped::new(signup),
            attachments: signup.attachments.iter().map(WireAttachment::new).collect(),
            withdrew_at: signup.withdrawn_at.map(|at| at.to_string()),
        }
    }
}

/// The fields of a signup. Staff and the candidate see the same fields, and subject-access exports contain them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireTyped<'a> {
    name: &'a str,
    email: &'a str,
    phone: &'a str,
    links: &'a [String],
    note: &'a str,
    locale: &'a str,
    consented_at: String,
}

impl<'a> WireTyped<'a> {
    pub(in crate::http) fn new(signup: &'a Signup) -> Self {
        Self {
            name: &signup.name,
            email: &signup.email,
            phone: &signup.phone,
            links: &signup.links,
            note: &signup.note,
            locale: &signup.locale,
            consented_at: signup.consented_at.to_string(),
        }
    }
}

/// An attachment without its content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireAttachment {
    id: String,
    file_name: String,
    media_type: &'static str,
    bytes: u32,
    created_at: String,
}

impl WireAttachment {
    pub(in crate::http) fn new(attachment: &Attachment) -> Self {
        let Attachment { id, file_name, media_type, bytes, created_at, sha256: _ } = attachment;
        Self {
            id: id.as_str().to_owned(),
            file_name: file_name.clone(),
            media_type: media_type.as_str(),
            bytes: *bytes,
            created_at: created_at.to_string(),
        }
    }
}

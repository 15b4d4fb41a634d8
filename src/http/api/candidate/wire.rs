//! Candidates and their applications as they are told.

use serde::Serialize;

use crate::domain::candidate_step::{CandidateStep, HireRecord};
use crate::http::api::candidate_step::WireStep;
use crate::store::application::{Application, CurrentStep};
use crate::store::attachment::Attachment;
use crate::store::candidate::Candidate;
use crate::store::signup::{ApplicationSignups, Signup};

/// An application with its steps, and what was sent to it.
pub(in crate::http) type Stepped = (Application, Vec<CandidateStep>, ApplicationSignups);

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
    pub(in crate::http) fn of(candidate: Candidate, applications: Vec<A>) -> Self {
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

/// An application as lists tell it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApplication {
    id: String,
    role_id: String,
    role_name: String,
    status: &'static str,
    applied_at: String,
    current_step: Option<WireCurrent>,
}

impl WireApplication {
    pub(in crate::http) fn of(application: Application) -> Self {
        Self {
            id: application.record.id.into(),
            role_id: application.role_id.into(),
            role_name: application.role_name,
            status: application.record.status.as_str(),
            applied_at: application.record.applied_at.to_string(),
            current_step: application.current.map(WireCurrent::of),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireCurrent {
    id: String,
    role_step_id: String,
    name: String,
    order: i64,
    step_type: &'static str,
    since: String,
}

impl WireCurrent {
    fn of(current: CurrentStep) -> Self {
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

/// An application with its steps and, while it is one, its hire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApplicationInFull<'a> {
    #[serde(flatten)]
    application: WireApplication,
    candidate_id: &'a str,
    updated_at: String,
    signup: Option<WireSignup<'a>>,
    later_signups: Vec<WireSignup<'a>>,
    #[serde(flatten)]
    hire: Option<WireHire<'a>>,
    steps: Vec<WireStep<'a>>,
}

impl<'a> WireApplicationInFull<'a> {
    pub(in crate::http) fn of((application, steps, signups): &'a Stepped) -> Self {
        let (role_id, id) = (&application.role_id, &application.record.id);
        Self {
            application: WireApplication::of(application.clone()),
            candidate_id: application.candidate_id.as_str(),
            updated_at: application.updated_at.to_string(),
            signup: signups.original.as_ref().map(WireSignup::of),
            later_signups: signups.later.iter().map(WireSignup::of).collect(),
            hire: application.record.hire.as_ref().map(WireHire::of),
            steps: steps.iter().map(|step| WireStep::of(role_id, id, step)).collect(),
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
    fn of(hire: &'a HireRecord) -> Self {
        Self {
            hired_date: hire.hired_date.to_string(),
            offer_accepted_date: hire.offer_accepted_date.map(|at| at.to_string()),
            external_position_id: hire.external_position_id.as_deref(),
            hire_notes: hire.notes.as_deref(),
        }
    }
}

/// What was sent to an application.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireSignup<'a> {
    submitted_at: String,
    #[serde(flatten)]
    typed: WireTyped<'a>,
    documents: Vec<WireAttachment>,
    withdrew_at: Option<String>,
}

impl<'a> WireSignup<'a> {
    pub(in crate::http) fn of(signup: &'a Signup) -> Self {
        Self {
            submitted_at: signup.submitted_at.to_string(),
            typed: WireTyped::of(signup),
            documents: signup.attachments.iter().map(WireAttachment::of).collect(),
            withdrew_at: signup.withdrawn_at.map(|at| at.to_string()),
        }
    }
}

/// What somebody typed when they applied: the same for staff, in an export, and for themselves.
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
    pub(in crate::http) fn of(signup: &'a Signup) -> Self {
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

/// An attachment, without its content.
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
    pub(in crate::http) fn of(attachment: &Attachment) -> Self {
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

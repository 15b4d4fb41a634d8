//! Writes the file as an interchange document, which `import` accepts.
//!
//! Each array is read from the file when it is written, and dropped before the next. Memory holds all users, or all
//! organizations without their contents, and the applications of one role. So it grows with the number of users and with
//! the largest role, not with the file. Each array is one query by an index.
//!
//! API keys, passwords, the usage log and activity are not exported.

use std::cell::RefCell;
use std::io::{self, Write};

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value};

use super::json;
use crate::domain::candidate_step::CandidateStep;
use crate::domain::role::{CollarType, SalaryPeriod, WorkType};
use crate::domain::signature::SigningSecret;
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Error, Tx};

/// Whether the document includes the secrets of HR integrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// Anyone who has the document can then sign deliveries.
    Included,
    /// An import then disables the integrations.
    LeftOut,
}

/// Why an export is incomplete.
#[derive(Debug)]
pub enum ExportError {
    /// The file could not be read.
    Store(Error),
    /// The document could not be written.
    Write(io::Error),
}

/// Writes the file as one document, with a line break at its end. Returns a sentence for each thing that was left out.
///
/// # Errors
/// Fails if the file cannot be read or `out` cannot be written. The output is then incomplete.
pub fn export(tx: &Tx<'_>, secrets: Secrets, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let source = Source { tx, secrets, failed: RefCell::new(None), notices: RefCell::default() };
    let document = Document {
        users: Lazy { source: &source, read: Box::new(|| store::user::all(tx)), convert: user },
        organizations: Lazy { source: &source, read: Box::new(|| store::organization::all(tx)), convert: organization },
    };
    let written = serde_json::to_writer_pretty(&mut *out, &document);
    if let Some(error) = source.failed.take() {
        return Err(ExportError::Store(error));
    }
    written.map_err(|error| ExportError::Write(error.into()))?;
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(ExportError::Write)?;
    Ok(source.notices.take())
}

/// State that all parts of an export share.
struct Source<'t> {
    tx: &'t Tx<'t>,
    secrets: Secrets,
    /// The store's error; serde only carries its text.
    failed: RefCell<Option<Error>>,
    /// A sentence for each thing that was left out.
    notices: RefCell<Vec<String>>,
}

impl Source<'_> {
    fn fail<E: serde::ser::Error>(&self, error: Error) -> E {
        let text = error.to_string();
        self.failed.replace(Some(error));
        E::custom(text)
    }
}

/// An array that is read from the file when it is written.
struct Lazy<'s, R, T> {
    source: &'s Source<'s>,
    read: Box<dyn Fn() -> Result<Vec<R>, Error> + 's>,
    convert: fn(&'s Source<'s>, R) -> Result<T, Error>,
}

impl<R, T: Serialize> Serialize for Lazy<'_, R, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let records = (self.read)().map_err(|error| self.source.fail::<S::Error>(error))?;
        let mut array = serializer.serialize_seq(Some(records.len()))?;
        for record in records {
            let item = (self.convert)(self.source, record).map_err(|error| self.source.fail::<S::Error>(error))?;
            array.serialize_element(&item)?;
        }
        array.end()
    }
}

#[derive(Serialize)]
struct Document<'s> {
    users: Lazy<'s, store::user::User, User>,
    organizations: Lazy<'s, store::organization::Organization, Organization<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct User {
    id: String,
    email: String,
    name: String,
    platform_role: &'static str,
    enabled: bool,
}

fn user(_: &Source<'_>, user: store::user::User) -> Result<User, Error> {
    let user = user.profile;
    Ok(User {
        id: user.id.to_string(),
        email: user.email.as_str().to_owned(),
        name: user.name,
        platform_role: user.platform_role.as_str(),
        enabled: user.enabled,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Organization<'s> {
    id: String,
    slug: String,
    name: String,
    domain: String,
    logo: String,
    portal: Portal,
    require_external_position_id: bool,
    enabled: bool,
    time_zone: String,
    pay_transparency: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retention_days: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    privacy_notice: String,
    decision_visible_after_hours: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hr_integration: Option<HrIntegration>,
    members: Lazy<'s, store::membership::OrgMember, Member>,
    roles: Lazy<'s, store::role::RoleRecord, Role<'s>>,
}

#[derive(Serialize)]
struct Portal {
    enabled: bool,
    theme: Value,
}

#[derive(Serialize)]
struct HrIntegration {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    enabled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Member {
    user_id: String,
    org_role: &'static str,
}

fn organization<'s>(
    source: &'s Source<'s>,
    organization: store::organization::Organization,
) -> Result<Organization<'s>, Error> {
    let organization = organization.record;
    let integration = store::hr_integration::find(source.tx, &organization.id)?;
    let exported = |secret: SigningSecret| (source.secrets == Secrets::Included).then(|| secret.reveal().to_owned());
    let (id, again) = (organization.id.clone(), organization.id.clone());
    let members = Box::new(move || store::membership::of_organization(source.tx, &id));
    let roles = Box::new(move || store::role::of_organization(source.tx, &again));
    let theme =
        json_column(source, &format!("the theme of the organization {}", organization.id), &organization.portal_theme)?;
    Ok(Organization {
        id: organization.id.to_string(),
        slug: organization.slug.as_str().to_owned(),
        name: organization.name,
        domain: organization.domain,
        logo: organization.logo,
        portal: Portal { enabled: organization.portal_enabled, theme },
        require_external_position_id: organization.require_external_position_id,
        enabled: organization.enabled,
        time_zone: organization.time_zone,
        pay_transparency: organization.pay_transparency,
        retention_days: organization.retention_days,
        privacy_notice: organization.privacy_notice,
        decision_visible_after_hours: organization.decision_visible_after_hours,
        hr_integration: integration.map(|(integration, _)| HrIntegration {
            url: integration.url.as_str().to_owned(),
            secret: integration.secret.and_then(exported),
            enabled: integration.enabled,
        }),
        members: Lazy { source, read: members, convert: |_, record| Ok(member(&record)) },
        roles: Lazy { source, read: roles, convert: role },
    })
}

fn member(member: &store::membership::OrgMember) -> Member {
    Member { user_id: member.user_id.to_string(), org_role: member.org_role.as_str() }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Role<'s> {
    id: String,
    name: String,
    description: Value,
    department: String,
    location: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collar_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_min: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_max: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_period: Option<&'static str>,
    status: &'static str,
    public: bool,
    positions: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    close_reason: Option<String>,
    created_at: String,
    steps: Lazy<'s, store::role_step::RoleStep, RoleStep>,
    candidates: Lazy<'s, ApplicationRow, Candidate<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RoleStep {
    id: String,
    name: String,
    step_type: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    removed: bool,
}

fn is_false(truth: &bool) -> bool {
    !truth
}

fn role<'s>(source: &'s Source<'s>, role: store::role::RoleRecord) -> Result<Role<'s>, Error> {
    let (id, again) = (role.id.clone(), role.id.clone());
    let steps = Box::new(move || store::role_step::of_role_with_removed(source.tx, &id));
    let candidates = Box::new(move || store::application::of_role(source.tx, &again));
    let description = json_column(source, &format!("the description of the role {}", role.id), &role.description)?;
    Ok(Role {
        id: role.id.to_string(),
        name: role.name,
        description,
        department: role.department,
        location: role.location,
        work_type: role.work_type.map(WorkType::as_str),
        collar_type: role.collar_type.map(CollarType::as_str),
        salary_min: role.salary.min.and_then(json::number),
        salary_max: role.salary.max.and_then(json::number),
        salary_currency: role.salary.currency,
        salary_period: role.salary.period.map(SalaryPeriod::as_str),
        status: role.seats.status.as_str(),
        public: role.public,
        positions: role.seats.positions,
        close_reason: role.close_reason,
        created_at: role.created_at.to_string(),
        steps: Lazy { source, read: steps, convert: role_step },
        candidates: Lazy { source, read: candidates, convert: candidate },
    })
}

fn role_step(_: &Source<'_>, step: store::role_step::RoleStep) -> Result<RoleStep, Error> {
    Ok(RoleStep {
        id: step.id.to_string(),
        name: step.name,
        step_type: step.step_type.as_str(),
        removed: step.order.is_none(),
    })
}

type ApplicationRow = (store::application::ApplicationRecord, store::candidate::CandidateRecord);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'s> {
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
    steps: Lazy<'s, CandidateStep, Step>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
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

fn candidate<'s>(source: &'s Source<'s>, (application, candidate): ApplicationRow) -> Result<Candidate<'s>, Error> {
    let store::application::ApplicationRecord { id, status, applied_at, hire } = application;
    let application_id = id.to_string();
    let steps = Box::new(move || store::candidate_step::of_application(source.tx, &id));
    let (hired_date, offer_accepted_date, external_position_id, hire_notes) = match hire {
        None => (None, None, None, None),
        Some(hire) => (
            time_text(Some(hire.hired_date)),
            time_text(hire.offer_accepted_date),
            hire.external_position_id,
            hire.notes,
        ),
    };
    Ok(Candidate {
        id: candidate.id.to_string(),
        application_id,
        name: candidate.name,
        email: candidate.email.as_str().to_owned(),
        hold_reason: candidate.privacy.hold_reason,
        erased_at: time_text(candidate.privacy.erased_at),
        applied_at: applied_at.to_string(),
        status: status.as_str(),
        hired_date,
        offer_accepted_date,
        external_position_id,
        hire_notes,
        steps: Lazy { source, read: steps, convert: step },
    })
}

fn step(_: &Source<'_>, step: CandidateStep) -> Result<Step, Error> {
    Ok(Step {
        id: step.id.to_string(),
        role_step_id: step.role_step_id.to_string(),
        order: step.order,
        name: step.name,
        step_type: step.step_type.as_str(),
        status: step.status.as_str(),
        rejected_at: time_text(step.rejected_at),
        rejection_reason: step.rejection_reason,
        outcome_type: step.outcome_type,
        outcome_reason: step.outcome_reason,
        validated_at: time_text(step.validated_at),
    })
}

fn time_text(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// Parses a column that holds a caller's own JSON. Replaces a value that is nested deeper than an import allows with an
/// empty object, and adds a notice.
fn json_column(source: &Source<'_>, owner: &str, text: &str) -> Result<Value, Error> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Error::Defect(format!("a column of JSON cannot be read: {error}")))?;
    if json::is_deeper(&value, 0) {
        let notice = format!("not in the document: {owner}, which is nested more than {} deep", json::DEPTH_MAX);
        source.notices.borrow_mut().push(notice);
        return Ok(Value::Object(Map::new()));
    }
    Ok(value)
}

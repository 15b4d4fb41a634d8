//! The role object in the interchange document: its steps and seats, and the check that its applications fit both.

use serde::Serialize;
use serde_json::{Number, Value};

use super::candidate::{Application, ApplicationRow, CandidateEntry, ExportedCandidate};
use super::candidate_step::StepMatcher;
use super::context::Context;
use super::export_source::{ExportSource, LazyArray};
use super::fields::Fields;
use super::json;
use super::reader::{Array, Object, arrays};
use super::role_step::{ExportedRoleStep, Pipeline, RoleStepEntry};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::closing_day::{CLOSING_DAY_MUST_BE, ClosingDay};
use crate::domain::role::{
    CLOSE_REASON_CHARACTERS_MAX, CollarType, POSITIONS_MAX, RoleStatus, SALARY_MAX, Salary, SalaryPeriod, Seats,
    TEXT_CHARACTERS_MAX, WorkType, is_currency,
};
use crate::domain::text::counted;
use crate::store::description::Description;
use crate::store::{Error, application, role, role_step};

/// A role with its pipeline and applications.
#[derive(Debug, Clone)]
pub struct Role {
    /// The columns of the role's row.
    pub record: role::RoleRecord,
    /// The steps of the pipeline, first to last.
    pub steps: Vec<role_step::PipelineStep>,
    /// Steps that were removed from the pipeline but that applications still have. Their `order` has no meaning.
    pub removed_steps: Vec<role_step::PipelineStep>,
    /// The applications, in the order of the document.
    pub applications: Vec<Application>,
}

arrays!(RoleArrays { steps: RoleStepEntry, candidates: CandidateEntry });

impl Object for Role {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "name",
        "description",
        "department",
        "location",
        "workType",
        "collarType",
        "salaryMin",
        "salaryMax",
        "salaryCurrency",
        "salaryPeriod",
        "status",
        "public",
        "positions",
        "closeReason",
        "closesOn",
        "createdAt",
        "steps",
        "candidates",
    ];
    type Arrays = RoleArrays;

    fn enter(context: &mut Context<'_>) {
        context.begin_role();
    }

    fn read(mut fields: Fields<'_, '_>, arrays: RoleArrays) -> Option<Self> {
        let pipeline = Pipeline::of(&mut fields, arrays.steps.unwrap_or_default());
        let entries = arrays.candidates.unwrap_or_default();
        let hired = entries.items.iter().filter(|entry| entry.status() == ApplicationStatus::Hired).count();
        let mut seats = seats(&mut fields, hired as i64);
        // The number of hires is known only if every candidate could be parsed.
        if entries.complete {
            seats = seats.filter(|seats| are_consistent(&mut fields, *seats));
        }
        let record = record(&mut fields, seats);
        // Without the steps, every application would get a misleading finding.
        let mut pipeline = pipeline?;
        let is_open = seats.is_some_and(|seats| seats.status == RoleStatus::Open);
        if is_open && pipeline.steps.is_empty() && entries.items.is_empty() {
            pipeline.add_default_step(&mut fields);
        }
        let applications = match_applications(&mut fields, entries, &pipeline);
        let Pipeline { steps, removed } = pipeline;
        Some(Self { record: record?, steps, removed_steps: removed, applications })
    }
}

fn record(fields: &mut Fields<'_, '_>, seats: Option<Seats>) -> Option<role::RoleRecord> {
    let id = fields.own_id();
    let name = fields.name();
    let description = fields.json_object("description");
    let department = fields.text("department", TEXT_CHARACTERS_MAX);
    let location = fields.text("location", TEXT_CHARACTERS_MAX);
    let work_type = fields.word("workType", WorkType::WORDS, WorkType::parse);
    let collar_type = fields.word("collarType", CollarType::WORDS, CollarType::parse);
    let salary = salary(fields);
    let public = fields.boolean("public");
    let created_at = fields.time("createdAt");
    let close_reason = close_reason(fields, seats);
    // A day in the past is accepted, because a closed role retains its closing date.
    let closes_on = fields.optional("closesOn", CLOSING_DAY_MUST_BE, |value| ClosingDay::parse(value.as_str()?));
    Some(role::RoleRecord {
        id: id?,
        name: name?,
        description: Description::new(description?.unwrap_or_default()),
        department: department?,
        location: location?,
        work_type: work_type?,
        collar_type: collar_type?,
        salary: salary?,
        seats: seats?,
        public: public?.unwrap_or(false),
        close_reason: close_reason?,
        closes_on: closes_on?,
        created_at: created_at?.unwrap_or(fields.context.now),
    })
}

/// Reads the role's status and positions, and combines them with the number of hires.
fn seats(fields: &mut Fields<'_, '_>, hired: i64) -> Option<Seats> {
    let status = fields.word("status", RoleStatus::WORDS, RoleStatus::parse);
    let positions = fields.optional("positions", &format!("an integer from 1 to {POSITIONS_MAX}"), |value| {
        value.as_i64().filter(|positions| (1..=POSITIONS_MAX).contains(positions))
    });
    Some(Seats { status: status?.unwrap_or(RoleStatus::Draft), positions: positions?.unwrap_or(1), hired })
}

/// Adds a finding and returns false if the role's status, positions and hires contradict each other.
fn are_consistent(fields: &mut Fields<'_, '_>, seats: Seats) -> bool {
    let contradiction = seats.contradiction();
    if let Some(contradiction) = contradiction {
        let Seats { hired, positions, .. } = seats;
        fields.object_finding(format!("{contradiction} ({hired} hired, {})", counted(positions, "position")));
    }
    contradiction.is_none()
}

fn salary(fields: &mut Fields<'_, '_>) -> Option<Salary> {
    let min = amount(fields, "salaryMin");
    let max = amount(fields, "salaryMax");
    let currency = fields.optional("salaryCurrency", "three capital letters, such as EUR", |value| {
        value.as_str().filter(|text| is_currency(text)).map(str::to_owned)
    });
    let period = fields.word("salaryPeriod", SalaryPeriod::WORDS, SalaryPeriod::parse);
    let salary = Salary { min: min?, max: max?, currency: currency?, period: period? };
    if let Some(contradiction) = salary.contradiction() {
        fields.object_finding(contradiction);
        return None;
    }
    Some(salary)
}

fn amount(fields: &mut Fields<'_, '_>, name: &str) -> Option<Option<f64>> {
    fields.optional(name, &format!("a number from 0 to {SALARY_MAX}"), |value| {
        // `abs` turns -0 into 0.
        value.as_f64().filter(|amount| (0.0..=SALARY_MAX).contains(amount)).map(f64::abs)
    })
}

/// Reads the reason why the role was closed. Only a closed role may have a reason.
fn close_reason(fields: &mut Fields<'_, '_>, seats: Option<Seats>) -> Option<Option<String>> {
    let reason = fields.optional_lines("closeReason", CLOSE_REASON_CHARACTERS_MAX)?;
    if reason.is_some() && seats.is_some_and(|seats| seats.status != RoleStatus::Closed) {
        fields.object_finding("only a closed role may have a closeReason");
        return None;
    }
    Some(reason)
}

/// Matches the role's applications with its steps. Adds a finding for each application that does not fit.
fn match_applications(
    fields: &mut Fields<'_, '_>,
    entries: Array<CandidateEntry>,
    pipeline: &Pipeline,
) -> Vec<Application> {
    if pipeline.steps.is_empty() && pipeline.removed.is_empty() {
        if !entries.items.is_empty() {
            fields.object_finding("the role has candidates, so it needs at least one step");
        }
        return Vec::new();
    }
    let matcher = StepMatcher::new(pipeline);
    let role = fields.at();
    let candidates = role.member("candidates");
    let match_entry = |entry: CandidateEntry| {
        let at = candidates.item(entry.index());
        entry.match_steps(at, &matcher, fields.context)
    };
    entries.items.into_iter().filter_map(match_entry).collect()
}

/// A role as an export writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedRole<'s> {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    closes_on: Option<String>,
    created_at: String,
    steps: LazyArray<'s, role_step::RoleStep, ExportedRoleStep>,
    candidates: LazyArray<'s, ApplicationRow, ExportedCandidate<'s>>,
}

impl<'s> ExportedRole<'s> {
    pub(super) fn new(source: &'s ExportSource<'s>, role: role::RoleRecord) -> Result<Self, Error> {
        let (id, same_id) = (role.id.clone(), role.id.clone());
        let steps = move || role_step::of_role_with_removed(source.tx, &id);
        let candidates = move || application::of_role(source.tx, &same_id);
        let description =
            source.json_column(&format!("the description of the role {}", role.id), role.description.members()?);
        Ok(Self {
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
            closes_on: role.closes_on.map(|day| day.to_string()),
            created_at: role.created_at.to_string(),
            steps: source.array(steps, ExportedRoleStep::new),
            candidates: source.array(candidates, ExportedCandidate::new),
        })
    }
}

//! Roles and their steps as the API shows them to staff.

use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::domain::report::ApplicationCounts;
use crate::domain::role::{CollarType, SalaryPeriod, WorkType};
use crate::http::api::organization_status::WireApplicationCounts;
use crate::interchange::json;
use crate::store::Error;
use crate::store::role::{Role, RoleRecord};
use crate::store::role_step::RoleStep;

/// The facts about a role that both staff and the visitors of a portal see.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http::api) struct WireRoleFacts {
    name: String,
    department: String,
    location: String,
    work_type: Option<&'static str>,
    collar_type: Option<&'static str>,
}

impl WireRoleFacts {
    pub(in crate::http::api) fn of(role: &RoleRecord) -> Self {
        Self {
            name: role.name.clone(),
            department: role.department.clone(),
            location: role.location.clone(),
            work_type: role.work_type.map(WorkType::as_str),
            collar_type: role.collar_type.map(CollarType::as_str),
        }
    }
}

/// A role as lists show it, without its description.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireRole {
    id: String,
    organization_id: String,
    #[serde(flatten)]
    facts: WireRoleFacts,
    salary_min: Option<Number>,
    salary_max: Option<Number>,
    salary_currency: Option<String>,
    salary_period: Option<&'static str>,
    status: &'static str,
    public: bool,
    positions: i64,
    hired: i64,
    close_reason: Option<String>,
    closes_on: Option<String>,
    created_at: String,
    updated_at: String,
}

impl WireRole {
    pub(super) fn new(role: Role) -> Self {
        let Role { record, organization_id, updated_at } = role;
        Self {
            id: record.id.to_string(),
            organization_id: organization_id.into(),
            facts: WireRoleFacts::of(&record),
            salary_min: record.salary.min.and_then(json::number),
            salary_max: record.salary.max.and_then(json::number),
            salary_currency: record.salary.currency,
            salary_period: record.salary.period.map(SalaryPeriod::as_str),
            status: record.seats.status.as_str(),
            public: record.public,
            positions: record.seats.positions,
            hired: record.seats.hired,
            close_reason: record.close_reason,
            closes_on: record.closes_on.map(|day| day.to_string()),
            created_at: record.created_at.to_string(),
            updated_at: updated_at.to_string(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct WireRoleInFull {
    #[serde(flatten)]
    role: WireRole,
    description: Map<String, Value>,
    steps: Vec<WireStep>,
    applications: WireApplicationCounts,
}

impl WireRoleInFull {
    /// # Errors
    /// [`Error::Defect`] if the stored description is not a JSON object.
    pub(super) fn new(role: Role, steps: Vec<RoleStep>, applications: ApplicationCounts) -> Result<Self, Error> {
        let description = role.record.description.members()?.clone();
        Ok(Self {
            role: WireRole::new(role),
            description,
            steps: steps.into_iter().map(WireStep::new).collect(),
            applications: applications.into(),
        })
    }
}

/// A step of a role. A removed step has no order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireStep {
    id: String,
    name: String,
    order: Option<i64>,
    step_type: &'static str,
    removed: bool,
}

impl WireStep {
    pub(in crate::http) fn new(step: RoleStep) -> Self {
        Self {
            id: step.id.into(),
            name: step.name,
            order: step.order,
            step_type: step.step_type.as_str(),
            removed: step.order.is_none(),
        }
    }
}

/// The answer to a change. `warnings` has an entry if the organization has pay transparency enabled and the role is
/// published without a visible salary. The gate appends the entries about unknown members.
#[derive(Serialize)]
pub(super) struct WireChangedRole {
    pub(super) success: bool,
    pub(super) data: WireRoleInFull,
    pub(super) warnings: Vec<WireWarning>,
}

/// A problem that did not prevent the change.
#[derive(Serialize)]
pub(super) struct WireWarning {
    pub(super) code: &'static str,
    pub(super) detail: &'static str,
}

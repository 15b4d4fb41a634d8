//! The columns of a role: one list for all queries that read or write complete roles.
//!
//! A new column that a change can set must be added to [`RoleRecord`], the list, [`CHANGEABLE_COUNT`], [`record`],
//! [`values`] and [`members`].

use serde_json::{Map, Number, Value as Json};

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::db::value::Value;
use crate::domain::closing_day::ClosingDay;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{CollarType, RoleStatus, Salary, SalaryPeriod, Seats, WorkType};
use crate::domain::timestamp::Timestamp;
use crate::store::description::Description;

/// A role in the form that interchange documents and portals use.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleRecord {
    pub id: RoleId,
    pub name: String,
    pub description: Description,
    pub department: String,
    pub location: String,
    pub work_type: Option<WorkType>,
    pub collar_type: Option<CollarType>,
    /// The salary. Any part of it can be missing.
    pub salary: Salary,
    pub seats: Seats,
    /// Whether the portal shows the role while the role is open.
    pub public: bool,
    /// The reason for closing the role; `None` if the role is not closed, or if an import gave no reason.
    pub close_reason: Option<String>,
    /// The last day on which the role accepts signups, in the organization's time zone; `None` for no closing date.
    pub closes_on: Option<ClosingDay>,
    pub created_at: Timestamp,
}

impl RoleRecord {
    /// Creates a private draft with one position and no other content.
    pub fn draft(id: RoleId, created_at: Timestamp) -> Self {
        Self {
            id,
            name: String::new(),
            description: Description::default(),
            department: String::new(),
            location: String::new(),
            work_type: None,
            collar_type: None,
            salary: Salary { min: None, max: None, currency: None, period: None },
            seats: Seats { status: RoleStatus::Draft, positions: 1, hired: 0 },
            public: false,
            close_reason: None,
            closes_on: None,
            created_at,
        }
    }

    /// Creates a draft with the content of this role, but without its hires, its reason for closing and its closing
    /// date.
    #[must_use]
    pub fn copied(&self, id: RoleId, name: Option<String>, created_at: Timestamp) -> Self {
        Self {
            id,
            name: name.unwrap_or_else(|| self.name.clone()),
            seats: Seats { status: RoleStatus::Draft, positions: self.seats.positions, hired: 0 },
            close_reason: None,
            closes_on: None,
            created_at,
            ..self.clone()
        }
    }
}

/// A role with its organization.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    pub record: RoleRecord,
    pub organization_id: OrganizationId,
    pub updated_at: Timestamp,
}

/// The columns that a change can set. This is a macro, because `concat!` accepts only literals.
macro_rules! changeable {
    () => {
        "name, description, department, location, work_type, collar_type, salary_min, salary_max, salary_currency, \
         salary_period, status, public, positions, close_reason, closes_on"
    };
}

/// The number of columns that a change can set.
const CHANGEABLE_COUNT: usize = 15;

/// The columns that [`record`] reads.
pub(in super::super) const COLUMNS: &str = concat!("id, created_at, hired, ", changeable!());

/// Reads [`COLUMNS`]. The query can select further columns after them.
pub(in super::super) fn record(columns: &mut Columns<'_>) -> Result<RoleRecord, Error> {
    let (id, created_at, hired) = (columns.parse(RoleId::parse)?, columns.time()?, columns.read()?);
    let (name, description) = (columns.read()?, Description::from_row(columns.text()?));
    let (department, location) = (columns.read()?, columns.read()?);
    let work_type = columns.parse_or_none(WorkType::parse)?;
    let collar_type = columns.parse_or_none(CollarType::parse)?;
    let salary = salary(columns)?;
    let status = columns.parse(RoleStatus::parse)?;
    let public = columns.read()?;
    let seats = Seats { status, positions: columns.read()?, hired };
    let close_reason = columns.read()?;
    let closes_on = columns.parse_or_none(ClosingDay::parse)?;
    Ok(RoleRecord {
        id,
        name,
        description,
        department,
        location,
        work_type,
        collar_type,
        salary,
        seats,
        public,
        close_reason,
        closes_on,
        created_at,
    })
}

/// Reads the columns from `salary_min` to `salary_period`.
pub(in super::super) fn salary(columns: &mut Columns<'_>) -> Result<Salary, Error> {
    Ok(Salary {
        min: columns.read()?,
        max: columns.read()?,
        currency: columns.read()?,
        period: columns.parse_or_none(SalaryPeriod::parse)?,
    })
}

/// Reads a row of [`COLUMNS`], `organization_id` and `updated_at`.
pub(super) fn role(row: &Row<'_>) -> Result<Role, Error> {
    let mut columns = Columns::of(row);
    Ok(Role {
        record: record(&mut columns)?,
        organization_id: columns.parse(OrganizationId::parse)?,
        updated_at: columns.time()?,
    })
}

/// Returns the values of the columns that a change can set, in the order of the list.
fn values(role: &RoleRecord) -> [Value; CHANGEABLE_COUNT] {
    let word = |word: Option<&'static str>| Value::from(word.map(str::to_owned));
    [
        role.name.clone().into(),
        role.description.text().to_owned().into(),
        role.department.clone().into(),
        role.location.clone().into(),
        word(role.work_type.map(WorkType::as_str)),
        word(role.collar_type.map(CollarType::as_str)),
        role.salary.min.into(),
        role.salary.max.into(),
        role.salary.currency.clone().into(),
        word(role.salary.period.map(SalaryPeriod::as_str)),
        role.seats.status.as_str().to_owned().into(),
        role.public.into(),
        role.seats.positions.into(),
        role.close_reason.clone().into(),
        role.closes_on.map(|day| day.to_string()).into(),
    ]
}

/// Returns the fields of a role for the detail of an activity row.
///
/// # Errors
/// [`Error::Defect`] if the description column cannot be parsed.
pub(super) fn members(role: &RoleRecord) -> Result<Map<String, Json>, Error> {
    let text = |text: &str| Json::from(text);
    let amount = |amount: Option<f64>| amount.and_then(Number::from_f64).map(Json::Number);
    let members = [
        ("name", Some(text(&role.name))),
        ("description", Some(role.description.members()?.clone().into())),
        ("department", Some(text(&role.department))),
        ("location", Some(text(&role.location))),
        ("workType", role.work_type.map(|word| text(word.as_str()))),
        ("collarType", role.collar_type.map(|word| text(word.as_str()))),
        ("salaryMin", amount(role.salary.min)),
        ("salaryMax", amount(role.salary.max)),
        ("salaryCurrency", role.salary.currency.as_deref().map(text)),
        ("salaryPeriod", role.salary.period.map(|word| text(word.as_str()))),
        ("status", Some(text(role.seats.status.as_str()))),
        ("public", Some(Json::from(role.public))),
        ("positions", Some(Json::from(role.seats.positions))),
        ("closeReason", role.close_reason.as_deref().map(text)),
        ("closesOn", role.closes_on.map(|day| day.to_string().into())),
    ];
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap_or_default()));
    Ok(members.collect())
}

/// Adds a role. Returns false if a role already has this id.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleRecord) -> Result<bool, Error> {
    const OTHER: usize = 7;
    let parameters = parameters::<{ OTHER + CHANGEABLE_COUNT }>(0).join(", ");
    let sql = format!(
        "INSERT INTO roles (id, organization_id, created_at, hired, updated_at, shown_since, ended_at, {})
         VALUES ({parameters})
         ON CONFLICT DO NOTHING",
        changeable!()
    );
    let other: [Value; OTHER] = [
        role.id.as_str().to_owned().into(),
        organization.as_str().to_owned().into(),
        role.created_at.micros().into(),
        role.seats.hired.into(),
        tx.now.micros().into(),
        tx.now.micros().into(),
        role.seats.status.has_ended().then_some(tx.now.micros()).into(),
    ];
    let params: Vec<Value> = other.into_iter().chain(values(role)).collect();
    Ok(tx.run(&sql, params)? == 1)
}

/// Changes the row of a role from `before` to `after`. `is_visible_on_portal` is true if the portal shows the change.
///
/// # Errors
/// [`Error::Defect`] if the status, positions or hires of the role changed after `before` was read.
pub(super) fn update(tx: &Tx<'_>, before: &Role, after: &RoleRecord, is_visible_on_portal: bool) -> Result<(), Error> {
    let columns = concat!("(", changeable!(), ")");
    let changed = parameters::<CHANGEABLE_COUNT>(0).join(", ");
    let [now, is_shown, has_ended, organization_id, id, status, positions, hired] = parameters(CHANGEABLE_COUNT);
    let sql = format!(
        "UPDATE roles
         SET {columns} = ({changed}), updated_at = {now},
           shown_since = CASE WHEN {is_shown} THEN {now} ELSE shown_since END,
           ended_at = CASE WHEN {has_ended} THEN coalesce(ended_at, {now}) END
         WHERE organization_id = {organization_id} AND id = {id}
           AND status = {status} AND positions = {positions} AND hired = {hired}"
    );
    let seats = before.record.seats;
    let other: [Value; 8] = [
        tx.now.micros().into(),
        is_visible_on_portal.into(),
        after.seats.status.has_ended().into(),
        before.organization_id.as_str().to_owned().into(),
        after.id.as_str().to_owned().into(),
        seats.status.as_str().to_owned().into(),
        seats.positions.into(),
        seats.hired.into(),
    ];
    let params: Vec<Value> = values(after).into_iter().chain(other).collect();
    if tx.run(&sql, params)? == 1 {
        Ok(())
    } else {
        Err(Error::Defect(format!("role {} changed after the facts were read", after.id)))
    }
}

/// Returns every role of an organization, oldest first.
pub fn of_organization(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<RoleRecord>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM roles
         WHERE organization_id = $1
         ORDER BY created_at, id"
    );
    tx.all(&sql, [organization.as_str()], |row| record(&mut Columns::of(row)))
}

/// Finds a role of the organization.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, id: &RoleId) -> Result<Option<Role>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, organization_id, updated_at
         FROM roles
         WHERE organization_id = $1 AND id = $2"
    );
    tx.one(&sql, (organization.as_str(), id.as_str()), role)
}

pub fn exists(tx: &Tx<'_>, role: &RoleId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM roles
               WHERE id = $1";
    tx.exists(sql, [role.as_str()])
}

/// Updates the role's `updated_at` after its steps have changed.
pub(in super::super) fn touch(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<(), Error> {
    let sql = "UPDATE roles
               SET updated_at = $1
               WHERE organization_id = $2 AND id = $3";
    tx.run(sql, (tx.now.micros(), organization.as_str(), role.as_str()))?;
    Ok(())
}

/// Returns the next `N` parameters (`$n`) of a statement, after its first `after` parameters.
fn parameters<const N: usize>(after: usize) -> [String; N] {
    std::array::from_fn(|index| format!("${}", after + index + 1))
}

//! Decodes the fields of a new role or of a change to a role.

use jiff::civil::Date;

use crate::domain::candidate_step::StepType;
use crate::domain::closing_day::{self, CLOSING_DAY_MUST_BE, ClosingDay};
use crate::domain::refusal::Refusal;
use crate::domain::role::{
    CollarType, POSITIONS_GIVEN_MAX, SALARY_MAX, Salary, SalaryPeriod, TEXT_CHARACTERS_MAX, WorkType, is_currency,
};
use crate::domain::role_step::STEPS_MAX;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::http::server::body_fields::BodyFields;
use crate::store::description::Description;
use crate::store::role::RoleRecord;

const MAX_BELOW_MIN: &str = "must not be less than salaryMin";

/// The fields that a request contains. `Some(None)` clears a field.
#[derive(Debug, Default)]
pub(in crate::http) struct RoleChange {
    name: Option<String>,
    description: Option<Option<Description>>,
    department: Option<Option<String>>,
    location: Option<Option<String>>,
    work_type: Option<Option<WorkType>>,
    collar_type: Option<Option<CollarType>>,
    salary_min: Option<Option<f64>>,
    salary_max: Option<Option<f64>>,
    salary_currency: Option<Option<String>>,
    salary_period: Option<Option<SalaryPeriod>>,
    public: Option<bool>,
    positions: Option<i64>,
    closes_on: Option<Option<ClosingDay>>,
}

impl RoleChange {
    /// Decodes all fields except the name, which only a new role requires. Errors are collected in `fields`.
    pub(in crate::http) fn decode(fields: &mut BodyFields, name: Option<String>) -> Self {
        let text = |fields: &mut BodyFields, name: &str| fields.text(name, TEXT_CHARACTERS_MAX);
        let amount = |fields: &mut BodyFields, name: &str| fields.number(name, SALARY_MAX);
        let change = Self {
            name,
            description: fields.change("description", |fields, name| fields.json_object(name).map(Description::new)),
            department: fields.change("department", text),
            location: fields.change("location", text),
            work_type: fields.change("workType", |fields, name| fields.word(name, WorkType::WORDS, WorkType::parse)),
            collar_type: fields
                .change("collarType", |fields, name| fields.word(name, CollarType::WORDS, CollarType::parse)),
            salary_min: fields.change("salaryMin", amount),
            salary_max: fields.change("salaryMax", amount),
            salary_currency: fields.change("salaryCurrency", currency),
            salary_period: fields
                .change("salaryPeriod", |fields, name| fields.word(name, SalaryPeriod::WORDS, SalaryPeriod::parse)),
            public: fields.boolean("public"),
            positions: fields.integer("positions", 1..=POSITIONS_GIVEN_MAX),
            closes_on: fields.change("closesOn", closing_day),
        };
        if let (Some(Some(min)), Some(Some(max))) = (change.salary_min, change.salary_max)
            && min > max
        {
            fields.fault::<()>("salaryMax", MAX_BELOW_MIN);
        }
        change
    }

    /// Applies the change. `today` is the current day in the organization's time zone.
    ///
    /// # Errors
    /// `conflict` for fewer positions than hires; `validation_error` if `salaryMax` would be less than `salaryMin`,
    /// or for a new closing date in the past.
    pub(in crate::http) fn apply(&self, before: &RoleRecord, today: Date) -> Result<RoleRecord, Refusal> {
        let seats = self.positions.map_or(Ok(before.seats), |positions| before.seats.with_positions(positions))?;
        let salary = Salary {
            min: self.salary_min.unwrap_or(before.salary.min),
            max: self.salary_max.unwrap_or(before.salary.max),
            currency: self.salary_currency.clone().unwrap_or_else(|| before.salary.currency.clone()),
            period: self.salary_period.unwrap_or(before.salary.period),
        };
        if salary.contradiction().is_some() {
            return Err(Refusal::invalid("salaryMax", MAX_BELOW_MIN));
        }
        let closes_on = self.closes_on.unwrap_or(before.closes_on);
        let closes_on = closing_day::changed(before.closes_on, closes_on, today)?;
        let text = |given: &Option<Option<String>>, before: &str, cleared: &str| match given {
            None => before.to_owned(),
            Some(given) => given.clone().unwrap_or_else(|| cleared.to_owned()),
        };
        Ok(RoleRecord {
            name: self.name.clone().unwrap_or_else(|| before.name.clone()),
            description: match &self.description {
                None => before.description.clone(),
                Some(description) => description.clone().unwrap_or_default(),
            },
            department: text(&self.department, &before.department, ""),
            location: text(&self.location, &before.location, ""),
            work_type: self.work_type.unwrap_or(before.work_type),
            collar_type: self.collar_type.unwrap_or(before.collar_type),
            salary,
            seats,
            public: self.public.unwrap_or(before.public),
            closes_on,
            ..before.clone()
        })
    }
}

fn closing_day(fields: &mut BodyFields, name: &str) -> Option<ClosingDay> {
    let text = fields.string(name)?;
    ClosingDay::parse(&text).or_else(|| fields.fault(name, format!("must be {CLOSING_DAY_MUST_BE}")))
}

fn currency(fields: &mut BodyFields, name: &str) -> Option<String> {
    let currency = fields.text(name, TEXT_CHARACTERS_MAX)?;
    if is_currency(&currency) {
        Some(currency)
    } else {
        fields.fault(name, "must be three capital letters, such as EUR")
    }
}

/// A new step.
#[derive(Debug, Clone)]
pub(in crate::http) struct StepInput {
    pub(in crate::http) name: String,
    pub(in crate::http) step_type: StepType,
}

impl StepInput {
    /// Decodes a new step. The default for `stepType` is `other`.
    pub(in crate::http) fn decode(fields: &mut BodyFields) -> Option<Self> {
        let name = fields.required_text("name", NAME_CHARACTERS_MAX);
        let step_type = decode_step_type(fields);
        Some(Self { name: name?, step_type: step_type.unwrap_or(StepType::Other) })
    }
}

pub(in crate::http) fn decode_step_type(fields: &mut BodyFields) -> Option<StepType> {
    fields.word("stepType", StepType::WORDS, StepType::parse)
}

/// Decodes the steps of a new role.
pub(super) fn decode_steps(fields: &mut BodyFields) -> Vec<StepInput> {
    fields.objects("steps", STEPS_MAX, StepInput::decode).unwrap_or_default()
}

//! What a role is asked to be: the members of a new one, or of a change.

use crate::domain::candidate_step::StepType;
use crate::domain::refusal::Refusal;
use crate::domain::role::{
    CollarType, POSITIONS_GIVEN_MAX, SALARY_MAX, Salary, SalaryPeriod, TEXT_CHARACTERS_MAX, WorkType, is_currency,
};
use crate::domain::role_step::STEPS_MAX;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::http::server::body_fields::BodyFields;
use crate::store::role::RoleRecord;

const MIN_OVER_MAX: &str = "must not be less than salaryMin";

/// The members that were given. `Some(None)` is one that is cleared.
#[derive(Debug, Default)]
pub(super) struct Change {
    name: Option<String>,
    description: Option<Option<String>>,
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
}

impl Change {
    /// Everything but the name, which is read before. What is wrong is noted with the fields.
    pub(super) fn read(fields: &mut BodyFields, name: Option<String>) -> Self {
        let text = |fields: &mut BodyFields, name: &str| fields.text(name, TEXT_CHARACTERS_MAX);
        let amount = |fields: &mut BodyFields, name: &str| fields.number(name, SALARY_MAX);
        let change = Self {
            name,
            description: fields.change("description", BodyFields::json_object),
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
        };
        if let (Some(Some(min)), Some(Some(max))) = (change.salary_min, change.salary_max)
            && min > max
        {
            fields.fault::<()>("salaryMax", MIN_OVER_MAX);
        }
        change
    }

    /// The role with what was given in place of what it had.
    ///
    /// # Errors
    /// `conflict` for fewer positions than are hired; `validation_error` for a salary whose one end, which was given, does
    /// not go with the other, which was not.
    pub(super) fn apply(&self, before: &RoleRecord) -> Result<RoleRecord, Refusal> {
        let seats = self.positions.map_or(Ok(before.seats), |positions| before.seats.with_positions(positions))?;
        let salary = Salary {
            min: self.salary_min.unwrap_or(before.salary.min),
            max: self.salary_max.unwrap_or(before.salary.max),
            currency: self.salary_currency.clone().unwrap_or_else(|| before.salary.currency.clone()),
            period: self.salary_period.unwrap_or(before.salary.period),
        };
        if salary.contradiction().is_some() {
            return Err(Refusal::invalid("salaryMax", MIN_OVER_MAX));
        }
        let text = |given: &Option<Option<String>>, had: &str, cleared: &str| match given {
            None => had.to_owned(),
            Some(given) => given.clone().unwrap_or_else(|| cleared.to_owned()),
        };
        Ok(RoleRecord {
            id: before.id.clone(),
            name: self.name.clone().unwrap_or_else(|| before.name.clone()),
            description: text(&self.description, &before.description, "{}"),
            department: text(&self.department, &before.department, ""),
            location: text(&self.location, &before.location, ""),
            work_type: self.work_type.unwrap_or(before.work_type),
            collar_type: self.collar_type.unwrap_or(before.collar_type),
            salary,
            seats,
            public: self.public.unwrap_or(before.public),
            close_reason: before.close_reason.clone(),
            created_at: before.created_at,
        })
    }
}

fn currency(fields: &mut BodyFields, name: &str) -> Option<String> {
    let currency = fields.text(name, TEXT_CHARACTERS_MAX)?;
    if is_currency(&currency) {
        Some(currency)
    } else {
        fields.fault(name, "must be three capital letters such as EUR")
    }
}

/// The name and type of a step.
#[derive(Debug, Clone)]
pub(in crate::http) struct StepInput {
    pub(in crate::http) name: String,
    pub(in crate::http) step_type: StepType,
}

impl StepInput {
    /// One of a new role, or a new one of a role; a type that is not given is `other`.
    pub(in crate::http) fn read(fields: &mut BodyFields) -> Option<Self> {
        let name = fields.required_text("name", NAME_CHARACTERS_MAX);
        let step_type = step_type(fields);
        Some(Self { name: name?, step_type: step_type.unwrap_or(StepType::Other) })
    }
}

pub(in crate::http) fn step_type(fields: &mut BodyFields) -> Option<StepType> {
    fields.word("stepType", StepType::WORDS, StepType::parse)
}

/// The steps of a new role.
pub(super) fn steps(fields: &mut BodyFields) -> Vec<StepInput> {
    fields.objects("steps", STEPS_MAX, StepInput::read).unwrap_or_default()
}

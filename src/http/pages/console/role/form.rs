//! The form of a role: its typed values, and the change to the role that they request. The rules of the API apply,
//! because the form is decoded in the same way as a request body of the API.

use serde_json::{Map, Value};

use crate::domain::refusal::Refusal;
use crate::domain::role::{CollarType, SalaryPeriod, WorkType};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::http::api::role::input::RoleChange;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::form::Form;
use crate::interchange::json;
use crate::store::description::Description;
use crate::store::role::RoleRecord;

/// The fields of the form, in the order of the page. Their names are those of the API.
pub(super) const FIELDS: [&str; 13] = [
    "name",
    "department",
    "location",
    "workType",
    "collarType",
    "salaryMin",
    "salaryMax",
    "salaryCurrency",
    "salaryPeriod",
    "positions",
    "closesOn",
    "public",
    "description",
];

/// The typed values of the form, in the order of [`FIELDS`]. All values except the description are trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoleForm {
    values: [String; FIELDS.len()],
}

impl RoleForm {
    /// Returns the form that shows this role.
    pub(super) fn of(role: &RoleRecord) -> Self {
        let amount = |amount: Option<f64>| amount.and_then(json::number).map(|number| number.to_string());
        let values = [
            role.name.clone(),
            role.department.clone(),
            role.location.clone(),
            role.work_type.map(WorkType::as_str).unwrap_or_default().to_owned(),
            role.collar_type.map(CollarType::as_str).unwrap_or_default().to_owned(),
            amount(role.salary.min).unwrap_or_default(),
            amount(role.salary.max).unwrap_or_default(),
            role.salary.currency.clone().unwrap_or_default(),
            role.salary.period.map(SalaryPeriod::as_str).unwrap_or_default().to_owned(),
            role.seats.positions.to_string(),
            role.closes_on.map(|day| day.to_string()).unwrap_or_default(),
            if role.public { "1" } else { "" }.to_owned(),
            unix_lines(role.description.markdown()),
        ];
        Self { values }
    }

    /// Reads a submitted form. In the description, the function replaces the line breaks that browsers send (CR LF)
    /// with LF.
    ///
    /// # Errors
    /// `validation_error` if a field is repeated.
    pub(super) fn decode(form: &Form) -> Result<Self, Refusal> {
        let mut values: [String; FIELDS.len()] = Default::default();
        for (value, name) in values.iter_mut().zip(FIELDS) {
            let typed = form.text(name)?.unwrap_or_default();
            *value = if name == "description" { unix_lines(typed) } else { typed.trim().to_owned() };
        }
        Ok(Self { values })
    }

    pub(super) fn get(&self, name: &str) -> &str {
        let value = FIELDS.iter().zip(&self.values).find(|(field, _)| **field == name);
        value.map_or("", |(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        for (_, stored) in FIELDS.iter().zip(&mut self.values).filter(|(field, _)| **field == name) {
            value.clone_into(stored);
        }
    }

    /// Returns the change that the form requests. `stored` is the description of the role that the form changes or
    /// copies; a description that the form cannot show stays as it is.
    ///
    /// # Errors
    /// `validation_error`, which names every invalid field.
    pub(super) fn change(&self, stored: &Description) -> Result<RoleChange, Refusal> {
        let (change, fields) = self.read(stored);
        fields.valid()?;
        Ok(change)
    }

    fn read(&self, stored: &Description) -> (RoleChange, BodyFields) {
        let members: Map<String, Value> =
            FIELDS.iter().map(|name| ((*name).to_owned(), self.member(name, stored))).collect();
        let mut fields = BodyFields::new(members);
        let name = fields.required_text("name", NAME_CHARACTERS_MAX);
        (RoleChange::decode(&mut fields, name), fields)
    }

    /// Returns the value of a field as the API would receive it.
    fn member(&self, name: &str, stored: &Description) -> Value {
        let typed = self.get(name);
        match name {
            "public" => Value::Bool(!typed.is_empty()),
            "description" => description(typed, stored),
            "salaryMin" | "salaryMax" | "closesOn" | "workType" | "collarType" | "salaryPeriod" | "salaryCurrency"
            | "department" | "location"
                if typed.is_empty() =>
            {
                Value::Null
            }
            "salaryMin" | "salaryMax" => {
                typed.parse().ok().and_then(json::number).map_or_else(|| typed.into(), Value::Number)
            }
            "positions" => typed.parse::<i64>().map_or_else(|_| typed.into(), Value::from),
            "salaryCurrency" => typed.to_ascii_uppercase().into(),
            _ => typed.into(),
        }
    }
}

/// Returns the new description. Members of the stored description that the form does not show are retained, unless the
/// user empties the text.
fn description(typed: &str, stored: &Description) -> Value {
    let mut members = stored.members().cloned().unwrap_or_default();
    if typed == unix_lines(stored.markdown()) {
        return Value::Object(members);
    }
    if typed.trim().is_empty() {
        return Value::Null;
    }
    members.insert("format".to_owned(), "markdown".into());
    members.insert("body".to_owned(), typed.into());
    Value::Object(members)
}

/// Returns whether the form can show a description. It can if the description is Markdown or empty.
pub(super) fn shows_description(stored: &Description) -> bool {
    !stored.markdown().is_empty() || stored.members().is_ok_and(Map::is_empty) || {
        let is_markdown =
            |members: &Map<String, Value>| members.get("format").is_some_and(|format| format == "markdown");
        stored.members().is_ok_and(is_markdown)
    }
}

fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::closing_day::ClosingDay;
    use crate::domain::id::{Id, RoleId};
    use crate::domain::timestamp::Timestamp;

    fn draft() -> RoleRecord {
        RoleRecord::draft(RoleId::parse("role_1").unwrap(), Timestamp::from_micros(0))
    }

    fn form(values: &[(&str, &str)]) -> RoleForm {
        let mut form = RoleForm::of(&RoleRecord { name: "Engineer".to_owned(), ..draft() });
        values.iter().for_each(|(name, value)| form.set(name, value));
        form
    }

    #[test]
    fn a_form_that_nobody_changed_changes_nothing() {
        let mut role = RoleRecord { name: "Engineer".to_owned(), location: "Bremen".to_owned(), ..draft() };
        role.description = Description::of_markdown("a\r\nb".to_owned());
        (role.salary.min, role.salary.max) = (Some(60_000.0), Some(75_000.5));
        role.salary.currency = Some("EUR".to_owned());
        role.work_type = Some(WorkType::Hybrid);
        role.closes_on = ClosingDay::parse("2026-12-31");
        let today = ClosingDay::parse("2026-11-21").unwrap().date();
        let change = RoleForm::of(&role).change(&role.description).unwrap();
        assert_eq!(change.apply(&role, today), Ok(role));
    }

    #[test]
    fn each_invalid_value_is_reported_at_its_field() {
        for (name, value) in [
            ("name", ""),
            ("name", "\u{202e}x"),
            ("department", "a\nb"),
            ("workType", "elsewhere"),
            ("salaryMin", "much"),
            ("salaryMax", "-1"),
            ("salaryMax", "NaN"),
            ("salaryCurrency", "EURO"),
            ("positions", ""),
            ("positions", "0"),
            ("positions", "1.5"),
            ("closesOn", "31.12.2026"),
        ] {
            let refusal = form(&[(name, value)]).change(&Description::default()).unwrap_err();
            let names: Vec<&str> = refusal.errors().iter().map(|error| error.field.as_str()).collect();
            assert_eq!(names, [name], "{value}");
        }
        assert!(form(&[("salaryCurrency", "eur"), ("salaryMin", "1e3")]).change(&Description::default()).is_ok());
    }

    #[test]
    fn members_of_a_description_that_the_form_does_not_show_are_retained_unless_the_text_is_emptied() {
        let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let own = Description::new(object(r#"{"html":"<p>"}"#));
        assert!(!shows_description(&own) && shows_description(&Description::default()));
        assert_eq!(description("", &own), Value::Object(object(r#"{"html":"<p>"}"#)));
        let more = Description::new(object(r#"{"format":"markdown","body":"a","own":1}"#));
        assert_eq!(description("b", &more), Value::Object(object(r#"{"format":"markdown","body":"b","own":1}"#)));
        assert_eq!(description(" ", &more), Value::Null);
    }
}

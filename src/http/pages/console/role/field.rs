//! The fields of the role form, with their labels, choices and errors in the reader's language.

use jiff::civil::Date;

use super::super::field::{Control, Field};
use super::form::{FIELDS, RoleForm};
use crate::domain::refusal::Refusal;
use crate::domain::role::{Seats, TEXT_CHARACTERS_MAX};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::http::pages::texts::console::role_field::{ROLE_FIELD, RoleFieldTexts};
use crate::http::pages::texts::{Texts, fill};

/// The facts that the fields and their errors name.
pub(super) struct FieldFacts {
    pub(super) texts: &'static Texts,
    /// The current day in the organization's time zone.
    pub(super) today: Date,
    pub(super) seats: Seats,
    pub(super) has_portal: bool,
}

impl FieldFacts {
    fn words(&self) -> &'static RoleFieldTexts {
        ROLE_FIELD.of(self.texts)
    }

    /// Returns a field of the form. `refusal` is the reason why the form was refused, if it was.
    pub(super) fn field(&self, form: &RoleForm, name: &'static str, refusal: Option<&Refusal>) -> Field {
        let words = self.words();
        let field = |label: &str, control| Field::new(name, label, control, form.get(name));
        let field = match name {
            "name" => field(words.name, Control::Line(NAME_CHARACTERS_MAX)).required(),
            "department" => field(words.department, Control::Line(TEXT_CHARACTERS_MAX)),
            "location" => field(words.location, Control::Line(TEXT_CHARACTERS_MAX)).hint(words.location_hint),
            "workType" | "collarType" | "salaryPeriod" => field(self.label(name), Control::Choice(self.choices(name))),
            "salaryMin" | "salaryMax" => field(self.label(name), Control::Number("any")),
            "salaryCurrency" => field(words.currency, Control::Line(3)).hint(words.currency_hint),
            "positions" => field(words.positions, Control::Number("1")).required().hint(words.positions_hint),
            "closesOn" => field(words.closes_on, Control::Day).hint(words.closes_on_hint),
            "public" => {
                let public = field(words.public, Control::Check);
                if self.has_portal { public } else { public.hint(words.no_portal) }
            }
            _ => field(words.description, Control::Lines(16, None)).hint(words.description_hint),
        };
        field.error(refusal.and_then(|refusal| self.error(name, refusal)))
    }

    /// Returns the label of a field.
    pub(super) fn label(&self, name: &str) -> &'static str {
        let words = self.words();
        match name {
            "name" => words.name,
            "department" => words.department,
            "location" => words.location,
            "workType" => words.work_type,
            "collarType" => words.collar_type,
            "salaryMin" => words.salary_min,
            "salaryMax" => words.salary_max,
            "salaryCurrency" => words.currency,
            "salaryPeriod" => words.period,
            "positions" => words.positions,
            "closesOn" => words.closes_on,
            "public" => words.public,
            _ => words.description,
        }
    }

    /// Returns the values that a field offers, each with its label. The first choice stands for no value.
    fn choices(&self, name: &str) -> Vec<(&'static str, String)> {
        let (words, careers) = (self.words(), &self.texts.careers);
        let choices: &[(&'static str, &str)] = match name {
            "workType" => &[("remote", careers.remote), ("hybrid", careers.hybrid), ("onsite", careers.onsite)],
            "collarType" => &[("white", words.white), ("gray", words.gray), ("blue", words.blue)],
            _ => &[
                ("hour", words.hour),
                ("day", words.day),
                ("week", words.week),
                ("month", words.month),
                ("year", words.year),
            ],
        };
        [("", words.not_given)].iter().chain(choices).map(|(word, label)| (*word, (*label).to_owned())).collect()
    }

    /// Returns a value as a reader sees it, for the comparison of two versions.
    fn shown(&self, form: &RoleForm, name: &str) -> String {
        let value = form.get(name);
        let words = self.words();
        match name {
            "public" => if value.is_empty() { words.no } else { words.yes }.to_owned(),
            "workType" | "collarType" | "salaryPeriod" => {
                let choice = self.choices(name).into_iter().find(|(word, _)| *word == value);
                choice.map_or_else(|| value.to_owned(), |(_, label)| label)
            }
            _ => value.to_owned(),
        }
    }

    /// Returns the fields that differ, each with its label, saved value and typed value.
    pub(super) fn differences(&self, saved: &RoleForm, typed: &RoleForm) -> Vec<Difference> {
        let differing = FIELDS.iter().filter(|name| saved.get(name) != typed.get(name));
        let difference = |name: &&str| Difference {
            label: self.label(name),
            saved: self.shown(saved, name),
            typed: self.shown(typed, name),
        };
        differing.map(difference).collect()
    }

    /// Returns the error of a field, in the reader's language. It says which values the field accepts, or what is wrong
    /// with the value.
    fn error(&self, name: &str, refusal: &Refusal) -> Option<String> {
        let words = self.words();
        if name == "positions" && matches!(refusal, Refusal::ConflictWith(_)) {
            let hired = self.texts.number(self.seats.hired as f64);
            return Some(fill(words.positions_hired, &[("count", &hired)]));
        }
        refusal.errors().iter().find(|error| error.field == name || is_below(&error.field, name))?;
        let today = self.texts.day(self.today);
        Some(match name {
            "name" => words.name_error.to_owned(),
            "department" | "location" => words.text_error.to_owned(),
            "salaryMin" => words.salary_min_error.to_owned(),
            "salaryMax" => words.salary_max_error.to_owned(),
            "salaryCurrency" => words.currency_hint.to_owned(),
            "positions" => words.positions_error.to_owned(),
            "closesOn" => fill(words.closes_on_error, &[("today", &today)]),
            "description" => words.description_error.to_owned(),
            _ => words.choice_error.to_owned(),
        })
    }
}

/// A field that differs between two versions of a role.
pub(super) struct Difference {
    pub(super) label: &'static str,
    pub(super) saved: String,
    pub(super) typed: String,
}

/// Returns whether `path` names a member of the object `name`.
fn is_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

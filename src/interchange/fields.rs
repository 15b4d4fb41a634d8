//! The members of one object, taken out by name as the values they must be. What they are not is a finding.
//!
//! A reading function answers `None` where it has added a finding, so that the other members are looked at before an
//! object is given up. `null` counts as not given.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::context::Context;
use super::findings::At;
use super::json;
use crate::domain::id::{ID_CHARACTERS_MAX, Id};
use crate::domain::plain::{self, Flaw};
use crate::domain::text::{self, NAME_CHARACTERS_MAX};
use crate::domain::timestamp::{Rounding, Timestamp};

/// The members of one object that are not arrays of objects.
pub(super) struct Fields<'a, 'w> {
    at: At<'a>,
    members: Map<String, Value>,
    /// What is remembered while the document is read.
    pub(super) context: &'a mut Context<'w>,
}

impl<'a, 'w> Fields<'a, 'w> {
    pub(super) fn new(at: At<'a>, members: Map<String, Value>, context: &'a mut Context<'w>) -> Self {
        Self { at, members, context }
    }

    /// Where the object stands.
    pub(super) fn at(&self) -> At<'a> {
        self.at
    }

    /// Adds a finding about a member.
    pub(super) fn wrong(&mut self, name: &str, detail: impl Into<String>) {
        self.context.findings.push(self.at.member(name), detail);
    }

    /// Adds a finding about the object: members that do not go together, or a thing that is there already.
    pub(super) fn clash(&mut self, detail: impl Into<String>) {
        self.context.findings.push(self.at, detail);
    }

    /// A member that may be missing.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        must_be: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.members.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(value) => match read(value) {
                Some(value) => Some(Some(value)),
                None => {
                    self.wrong(name, format!("must be {must_be}"));
                    None
                }
            },
        }
    }

    /// A member that must be there.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        must_be: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        match self.optional(name, must_be, read)? {
            Some(value) => Some(value),
            None => {
                self.wrong(name, format!("is missing; it must be {must_be}"));
                None
            }
        }
    }

    /// The id of a thing: as given, which no other thing of its kind may have, or a new one.
    pub(super) fn own_id<I: Id + Display>(&mut self) -> Option<I> {
        let Some(id) = self.optional_id::<I>("id")? else { return Some(self.context.made()) };
        self.taken_once(&id).then_some(id)
    }

    /// Whether no other thing of this kind has the id; a finding where one has.
    pub(super) fn taken_once<I: Id + Display>(&mut self, id: &I) -> bool {
        let is_free = self.context.take(I::PREFIX, id.to_string());
        if !is_free {
            self.clash(format!("the id {id} is there twice in the document"));
        }
        is_free
    }

    /// An id that may be missing.
    pub(super) fn optional_id<I: Id>(&mut self, name: &str) -> Option<Option<I>> {
        self.optional(name, &ID, |value| I::parse(value.as_str()?))
    }

    /// The id of another thing.
    pub(super) fn required_id<I: Id>(&mut self, name: &str, whose: &str) -> Option<I> {
        self.required(name, &format!("{whose}: {}", *ID), |value| I::parse(value.as_str()?))
    }

    /// The name of a thing.
    pub(super) fn name(&mut self) -> Option<String> {
        let name = self.required("name", &NAME, name)?;
        self.plain("name", Some(name), plain::flaw_of_line)?
    }

    /// The name of a thing that may have none of its own.
    pub(super) fn optional_name(&mut self) -> Option<Option<String>> {
        let name = self.optional("name", &NAME, name)?;
        self.plain("name", name, plain::flaw_of_line)
    }

    /// A text of one line, where it is given.
    pub(super) fn optional_text(&mut self, name: &str, characters_max: usize) -> Option<Option<String>> {
        let text = self.short_text(name, characters_max)?;
        self.plain(name, text, plain::flaw_of_line)
    }

    /// A text of one or several lines, where it is given.
    pub(super) fn optional_lines(&mut self, name: &str, characters_max: usize) -> Option<Option<String>> {
        let text = self.short_text(name, characters_max)?;
        self.plain(name, text, plain::flaw_of_lines)
    }

    fn short_text(&mut self, name: &str, characters_max: usize) -> Option<Option<String>> {
        self.optional(name, &format!("a text of at most {characters_max} characters"), |value| {
            let text = value.as_str()?;
            (text::characters(text) <= characters_max).then(|| text.to_owned())
        })
    }

    /// A text without a flaw, which is a finding otherwise.
    pub(super) fn plain(
        &mut self,
        name: &str,
        text: Option<String>,
        flaw: fn(&str) -> Option<Flaw>,
    ) -> Option<Option<String>> {
        match text.as_deref().and_then(flaw) {
            Some(flaw) => {
                self.wrong(name, flaw.sentence());
                None
            }
            None => Some(text),
        }
    }

    /// A text, `""` where it is not given.
    pub(super) fn text(&mut self, name: &str, characters_max: usize) -> Option<String> {
        Some(self.optional_text(name, characters_max)?.unwrap_or_default())
    }

    /// The same of one or several lines.
    pub(super) fn lines(&mut self, name: &str, characters_max: usize) -> Option<String> {
        Some(self.optional_lines(name, characters_max)?.unwrap_or_default())
    }

    /// One of a closed set of words, where it is given.
    pub(super) fn word<T>(&mut self, name: &str, words: &[&str], parse: fn(&str) -> Option<T>) -> Option<Option<T>> {
        self.optional(name, &format!("one of {}", words.join(", ")), |value| parse(value.as_str()?))
    }

    /// A truth, where it is given.
    pub(super) fn truth(&mut self, name: &str) -> Option<Option<bool>> {
        self.optional(name, "true or false", Value::as_bool)
    }

    /// An integer within bounds, where it is given.
    pub(super) fn integer(&mut self, name: &str, bounds: &RangeInclusive<i64>) -> Option<Option<i64>> {
        let must_be = format!("an integer from {} to {}", bounds.start(), bounds.end());
        self.optional(name, &must_be, |value| value.as_i64().filter(|number| bounds.contains(number)))
    }

    /// Whether a member is there as `null`, for one where that says something.
    pub(super) fn is_null(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Value::is_null)
    }

    /// A time, where it is given.
    pub(super) fn time(&mut self, name: &str) -> Option<Option<Timestamp>> {
        self.optional(name, "an RFC 3339 date-time with an offset, or a date such as 2026-11-21", |value| {
            Timestamp::parse(value.as_str()?, Rounding::Down)
        })
    }

    /// A JSON object whose members are not the document's, where it is given.
    pub(super) fn json_object(&mut self, name: &str) -> Option<Option<Map<String, Value>>> {
        let found = self.optional(name, "an object", |value| value.is_object().then(|| value.clone()))?;
        match found {
            Some(object) if json::flaw(&object).is_some() => {
                self.wrong(name, json::flaw(&object).unwrap_or_default());
                None
            }
            Some(Value::Object(members)) => Some(Some(members)),
            _ => Some(None),
        }
    }

    /// An object within the object, where it is given.
    pub(super) fn object<T>(
        &mut self,
        name: &str,
        known: &[&str],
        read: impl FnOnce(&mut Fields<'_, 'w>) -> Option<T>,
    ) -> Option<Option<T>> {
        let Some(members) = self.optional(name, "an object", |value| value.as_object().cloned())? else {
            return Some(None);
        };
        let mut inner = Fields { at: self.at.member(name), members, context: &mut *self.context };
        inner.refuse_unknown(known);
        read(&mut inner).map(Some)
    }

    fn refuse_unknown(&mut self, known: &[&str]) {
        for name in self.members.keys().filter(|name| !known.contains(&name.as_str())) {
            let detail = format!("unknown member; known here: {}", known.join(", "));
            self.context.findings.push(self.at.member(name), detail);
        }
    }
}

static ID: LazyLock<String> =
    LazyLock::new(|| format!("an id of 1 to {ID_CHARACTERS_MAX} characters of A-Z a-z 0-9 _ -"));

static NAME: LazyLock<String> =
    LazyLock::new(|| format!("a text of 1 to {NAME_CHARACTERS_MAX} characters that is not blank"));

fn name(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    (!text.trim().is_empty() && text::characters(text) <= NAME_CHARACTERS_MAX).then(|| text.to_owned())
}

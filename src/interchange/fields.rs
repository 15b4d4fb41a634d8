//! Reads the members of one object by name, each as a typed value. An invalid value becomes a finding.
//!
//! A reading function returns `None` after it has added a finding. Read all members of an object before you refuse the
//! object, so that one import finds all errors. The import lists the first `FINDINGS_MAX` errors and only counts the
//! rest. The reading functions treat `null` as missing.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::context::Context;
use super::findings::Pointer;
use super::json;
use crate::domain::id::{ID_CHARACTERS_MAX, Id};
use crate::domain::plain::{self, Flaw};
use crate::domain::text::{self, NAME_CHARACTERS_MAX};
use crate::domain::timestamp::{Rounding, Timestamp};

/// The members of one object, without its arrays of objects.
pub(super) struct Fields<'a, 'w> {
    at: Pointer<'a>,
    members: Map<String, Value>,
    /// The state of the parser.
    pub(super) context: &'a mut Context<'w>,
}

impl<'a, 'w> Fields<'a, 'w> {
    pub(super) fn new(at: Pointer<'a>, members: Map<String, Value>, context: &'a mut Context<'w>) -> Self {
        Self { at, members, context }
    }

    /// Returns the location of the object.
    pub(super) fn at(&self) -> Pointer<'a> {
        self.at
    }

    /// Adds a finding about a member.
    pub(super) fn member_finding(&mut self, name: &str, detail: impl Into<String>) {
        self.context.findings.push(self.at.member(name), detail);
    }

    /// Adds a finding about the object as a whole: a contradiction between members, or a duplicate.
    pub(super) fn object_finding(&mut self, detail: impl Into<String>) {
        self.context.findings.push(self.at, detail);
    }

    /// Reads an optional member. `must_be` completes the finding "must be …".
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
                    self.member_finding(name, format!("must be {must_be}"));
                    None
                }
            },
        }
    }

    /// Reads a required member.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        must_be: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        match self.optional(name, must_be, read)? {
            Some(value) => Some(value),
            None => {
                self.member_finding(name, format!("is missing; it must be {must_be}"));
                None
            }
        }
    }

    /// Reads the id of the object, which must be unique within its kind. Generates an id if the member is missing.
    pub(super) fn own_id<I: Id + Display>(&mut self) -> Option<I> {
        let Some(id) = self.optional_id::<I>("id")? else { return Some(self.context.new_id()) };
        self.claim_id(&id).then_some(id)
    }

    /// Claims an id for an object of its kind. Adds a finding and returns false if the document has already used the
    /// id.
    pub(super) fn claim_id<I: Id + Display>(&mut self, id: &I) -> bool {
        let is_free = self.context.claim(I::PREFIX, id.to_string());
        if !is_free {
            self.object_finding(format!("the document uses the id {id} twice"));
        }
        is_free
    }

    /// Reads an optional id.
    pub(super) fn optional_id<I: Id>(&mut self, name: &str) -> Option<Option<I>> {
        self.optional(name, &ID, |value| I::parse(value.as_str()?))
    }

    /// Reads the id of another object.
    pub(super) fn required_id<I: Id>(&mut self, name: &str, whose: &str) -> Option<I> {
        self.required(name, &format!("{whose}: {}", *ID), |value| I::parse(value.as_str()?))
    }

    /// Reads a required name.
    pub(super) fn name(&mut self) -> Option<String> {
        let name = self.required("name", &NAME, name)?;
        self.plain("name", Some(name), plain::flaw_of_line)?
    }

    /// Reads an optional name.
    pub(super) fn optional_name(&mut self) -> Option<Option<String>> {
        let name = self.optional("name", &NAME, name)?;
        self.plain("name", name, plain::flaw_of_line)
    }

    /// Reads an optional string of one line.
    pub(super) fn optional_text(&mut self, name: &str, characters_max: usize) -> Option<Option<String>> {
        let text = self.short_text(name, characters_max)?;
        self.plain(name, text, plain::flaw_of_line)
    }

    /// Reads an optional string of one or more lines.
    pub(super) fn optional_lines(&mut self, name: &str, characters_max: usize) -> Option<Option<String>> {
        let text = self.short_text(name, characters_max)?;
        self.plain(name, text, plain::flaw_of_lines)
    }

    fn short_text(&mut self, name: &str, characters_max: usize) -> Option<Option<String>> {
        self.optional(name, &format!("a string of at most {characters_max} characters"), |value| {
            let text = value.as_str()?;
            (text::characters(text) <= characters_max).then(|| text.to_owned())
        })
    }

    /// Returns the text if it has no control character or other flaw. Otherwise adds a finding.
    pub(super) fn plain(
        &mut self,
        name: &str,
        text: Option<String>,
        flaw: fn(&str) -> Option<Flaw>,
    ) -> Option<Option<String>> {
        match text.as_deref().and_then(flaw) {
            Some(flaw) => {
                self.member_finding(name, flaw.sentence());
                None
            }
            None => Some(text),
        }
    }

    /// Reads an optional string of one line. The default is `""`.
    pub(super) fn text(&mut self, name: &str, characters_max: usize) -> Option<String> {
        Some(self.optional_text(name, characters_max)?.unwrap_or_default())
    }

    /// Reads an optional string of one or more lines. The default is `""`.
    pub(super) fn lines(&mut self, name: &str, characters_max: usize) -> Option<String> {
        Some(self.optional_lines(name, characters_max)?.unwrap_or_default())
    }

    /// Reads an optional word from a closed set.
    pub(super) fn word<T>(&mut self, name: &str, words: &[&str], parse: fn(&str) -> Option<T>) -> Option<Option<T>> {
        self.optional(name, &format!("one of {}", words.join(", ")), |value| parse(value.as_str()?))
    }

    /// Reads an optional boolean.
    pub(super) fn boolean(&mut self, name: &str) -> Option<Option<bool>> {
        self.optional(name, "true or false", Value::as_bool)
    }

    /// Reads an optional integer within bounds.
    pub(super) fn integer(&mut self, name: &str, bounds: &RangeInclusive<i64>) -> Option<Option<i64>> {
        let must_be = format!("an integer from {} to {}", bounds.start(), bounds.end());
        self.optional(name, &must_be, |value| value.as_i64().filter(|number| bounds.contains(number)))
    }

    /// Returns whether a member is `null`. For some members, `null` and a missing value have different meanings.
    pub(super) fn is_null(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Value::is_null)
    }

    /// Reads an optional time.
    pub(super) fn time(&mut self, name: &str) -> Option<Option<Timestamp>> {
        self.optional(name, "an RFC 3339 date-time with an offset, or a date such as 2026-11-21", |value| {
            Timestamp::parse(value.as_str()?, Rounding::Down)
        })
    }

    /// Reads an optional JSON object with members of any name and type. Adds a finding if [`json::flaw`] finds a flaw.
    pub(super) fn json_object(&mut self, name: &str) -> Option<Option<Map<String, Value>>> {
        let object = self.optional(name, "an object", |value| value.is_object().then(|| value.clone()))?;
        match object {
            Some(object) if json::flaw(&object).is_some() => {
                self.member_finding(name, json::flaw(&object).unwrap_or_default());
                None
            }
            Some(Value::Object(members)) => Some(Some(members)),
            _ => Some(None),
        }
    }

    /// Reads an optional nested object.
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
            let detail = format!("unknown member; the known members are {}", known.join(", "));
            self.context.findings.push(self.at.member(name), detail);
        }
    }
}

static ID: LazyLock<String> =
    LazyLock::new(|| format!("an id of 1 to {ID_CHARACTERS_MAX} characters from A-Z a-z 0-9 _ -"));

static NAME: LazyLock<String> =
    LazyLock::new(|| format!("a string of 1 to {NAME_CHARACTERS_MAX} characters that is not blank"));

fn name(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    (!text.trim().is_empty() && text::characters(text) <= NAME_CHARACTERS_MAX).then(|| text.to_owned())
}

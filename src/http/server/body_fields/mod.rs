//! Reads the members of a JSON object one by one, and collects every error so that one response reports them all.

use serde_json::{Map, Value};

use super::unknown_members::UnknownMembers;
use crate::domain::invitation;
use crate::domain::plain::{self, Flaw};
use crate::domain::refusal::{self, FieldError, Refusal};
use crate::domain::text;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::interchange::json;

/// The format of a timestamp in a body.
const TIMESTAMP_MUST_BE: &str =
    "must be an RFC 3339 date-time with an offset (2026-11-21T09:12:33Z) or a date (2026-11-21)";

/// An object whose members are taken out one by one. The remaining members are unknown: they are ignored, and a
/// successful JSON response lists them in `warnings`. A `null` is treated as absent, except by [`Self::change`] and
/// [`Self::free_members`].
#[derive(Debug, Default)]
pub(in crate::http) struct BodyFields {
    object: Map<String, Value>,
    errors: Vec<FieldError>,
    /// The paths of unknown members of nested objects.
    unknown_nested: Vec<String>,
    unknown_members: UnknownMembers,
}

impl BodyFields {
    pub(in crate::http) fn new(object: Map<String, Value>) -> Self {
        Self { object, ..Self::default() }
    }

    /// Wraps the members of a request's body. Unknown members are added to `unknown_members`.
    pub(super) fn of_body(object: Map<String, Value>, unknown_members: UnknownMembers) -> Self {
        Self { object, unknown_members, ..Self::default() }
    }

    /// Reads a string without checking its characters. Check the string after this call, unless any character is valid
    /// in it, as in a password.
    pub(in crate::http) fn string(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => self.fault(name, "must be a string"),
        }
    }

    /// Reads a line of text.
    pub(in crate::http) fn text(&mut self, name: &str, characters_max: usize) -> Option<String> {
        let text = self.string(name)?;
        self.plain(name, text, characters_max, plain::flaw_of_line)
    }

    /// Reads text of one or more lines.
    pub(in crate::http) fn lines(&mut self, name: &str, characters_max: usize) -> Option<String> {
        let text = self.string(name)?;
        self.plain(name, text, characters_max, plain::flaw_of_lines)
    }

    fn plain(
        &mut self,
        name: &str,
        text: String,
        characters_max: usize,
        flaw: fn(&str) -> Option<Flaw>,
    ) -> Option<String> {
        if text::characters(&text) > characters_max {
            return self.fault(name, format!("must have at most {characters_max} characters"));
        }
        match flaw(&text) {
            Some(flaw) => self.fault(name, flaw.sentence()),
            None => Some(text),
        }
    }

    /// Reads a required line of text that is not blank.
    pub(in crate::http) fn required_text(&mut self, name: &str, characters_max: usize) -> Option<String> {
        self.required(name, |fields| fields.text(name, characters_max))
    }

    /// Reads required text of one or more lines. The text must not be blank.
    pub(in crate::http) fn required_lines(&mut self, name: &str, characters_max: usize) -> Option<String> {
        self.required(name, |fields| fields.lines(name, characters_max))
    }

    /// Reads a required string that is not blank, without checking its characters. Check the string after this call.
    pub(in crate::http) fn required_string(&mut self, name: &str) -> Option<String> {
        self.required(name, |fields| fields.string(name))
    }

    fn required(&mut self, name: &str, read: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        if matches!(self.object.get(name), None | Some(Value::Null)) {
            return self.fault(name, "is required");
        }
        // Check for a blank string first, so that a lone line break is reported as blank and not as a control
        // character.
        if self.is_blank(name) {
            return self.fault(name, "must not be blank");
        }
        read(self)
    }

    fn is_blank(&self, name: &str) -> bool {
        self.object.get(name).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty())
    }

    /// Reads an optional line of text that must not be blank.
    pub(in crate::http) fn text_not_blank(&mut self, name: &str, characters_max: usize) -> Option<String> {
        if self.is_blank(name) { self.fault(name, "must not be blank") } else { self.text(name, characters_max) }
    }

    /// Reads a line of text. A blank line is treated as absent.
    pub(in crate::http) fn text_unless_blank(&mut self, name: &str, characters_max: usize) -> Option<String> {
        let text = self.string(name).filter(|text| !text.trim().is_empty())?;
        self.plain(name, text, characters_max, plain::flaw_of_line)
    }

    pub(in crate::http) fn word<T>(
        &mut self,
        name: &str,
        words: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let must_be = format!("must be one of {}", words.join(", "));
        let word = self.take(name)?;
        word.as_str().and_then(parse).or_else(|| self.fault(name, must_be))
    }

    pub(in crate::http) fn number(&mut self, name: &str, max: f64) -> Option<f64> {
        let must_be = format!("must be a number from 0 to {max}");
        let value = self.take(name)?;
        // Turn a negative zero into zero.
        let number = value.as_f64().filter(|number| (0.0..=max).contains(number)).map(f64::abs);
        number.or_else(|| self.fault(name, must_be))
    }

    /// Reads an object with arbitrary members.
    pub(in crate::http) fn json_object(&mut self, name: &str) -> Option<Map<String, Value>> {
        let value = self.take(name)?;
        match (json::flaw(&value), value) {
            (None, Value::Object(members)) => Some(members),
            (Some(flaw), Value::Object(_)) => self.fault(name, flaw),
            _ => self.fault(name, "must be an object"),
        }
    }

    /// Reads the new value of a member. Returns `Some(None)` for `null`, which clears the member, and `None` if the
    /// member is absent or invalid.
    pub(in crate::http) fn change<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, &str) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.object.get(name).is_some_and(Value::is_null) {
            self.object.shift_remove(name);
            return Some(None);
        }
        read(self, name).map(Some)
    }

    /// Reads a nested object with `read`. The errors in the object are reported with their paths (`portal.enabled`).
    pub(in crate::http) fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let Value::Object(object) = self.take(name)? else { return self.fault(name, "must be an object") };
        let mut nested = Self::new(object);
        let found = read(&mut nested);
        self.merge_nested(name, nested);
        Some(found)
    }

    /// Adds the errors and the unknown members of a nested object, with the object's path as their prefix.
    fn merge_nested(&mut self, path: &str, nested: Self) {
        let below = |name: &str| format!("{path}.{name}");
        let errors = nested.errors.into_iter();
        self.errors.extend(errors.map(|error| FieldError { field: below(&error.field), ..error }));
        let unknown = nested.object.keys().chain(&nested.unknown_nested);
        self.unknown_nested.extend(unknown.map(|name| below(name)));
    }

    /// Returns all remaining members as the caller sent them. The caller may choose their names, so none of them is
    /// unknown. `read` checks the members that this service uses.
    pub(in crate::http) fn free_members(&mut self, read: impl FnOnce(&mut Self)) -> Map<String, Value> {
        let members = self.object.clone();
        read(self);
        self.object.clear();
        members
    }

    /// Reads a list of at most `count_max` objects, each with `read`. The errors in the objects are reported with their
    /// paths (`steps[0].name`).
    pub(in crate::http) fn objects<T>(
        &mut self,
        name: &str,
        count_max: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::Array(items) = self.take(name)? else { return self.fault(name, "must be a list of objects") };
        if items.len() > count_max {
            return self.fault(name, format!("must have at most {count_max} items"));
        }
        let mut found = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let path = format!("{name}[{index}]");
            let Value::Object(object) = item else {
                self.fault::<()>(&path, "must be an object");
                continue;
            };
            let mut nested = Self::new(object);
            found.extend(read(&mut nested));
            self.merge_nested(&path, nested);
        }
        Some(found)
    }

    /// Reads a required list of strings.
    pub(in crate::http) fn required_strings(&mut self, name: &str) -> Option<Vec<String>> {
        let Some(value) = self.take(name) else { return self.fault(name, "is required") };
        let text = |item: &Value| item.as_str().map(str::to_owned);
        let texts = value.as_array().and_then(|items| items.iter().map(text).collect());
        texts.or_else(|| self.fault(name, "must be a list of strings"))
    }

    /// Reads an optional list of strings.
    pub(in crate::http) fn strings(&mut self, name: &str) -> Option<Vec<String>> {
        if self.object.get(name).is_none_or(Value::is_null) {
            self.object.shift_remove(name);
            return None;
        }
        self.required_strings(name)
    }

    /// Returns whether the object has the member, and the member is not `null`.
    pub(in crate::http) fn has(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(|value| !value.is_null())
    }

    /// Reads an integer within bounds. `90.0` and `"90"` are not integers.
    pub(in crate::http) fn integer(&mut self, name: &str, bounds: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let range = format!("must be between {} and {}", bounds.start(), bounds.end());
        match self.take(name)? {
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                let within = number.as_i64().filter(|number| bounds.contains(number));
                within.or_else(|| self.fault(name, range))
            }
            _ => self.fault(name, "must be an integer"),
        }
    }

    /// Reads a timestamp. Digits beyond the microsecond are dropped.
    pub(in crate::http) fn timestamp(&mut self, name: &str) -> Option<Timestamp> {
        match self.take(name)? {
            Value::String(text) => {
                let timestamp = Timestamp::parse(&text, Rounding::Down);
                timestamp.or_else(|| self.fault(name, TIMESTAMP_MUST_BE))
            }
            _ => self.fault(name, TIMESTAMP_MUST_BE),
        }
    }

    pub(in crate::http) fn locale(&mut self, name: &str) -> Option<String> {
        let locale = self.text(name, invitation::LOCALE_CHARACTERS_MAX)?;
        if invitation::is_locale(&locale) { Some(locale) } else { self.fault(name, invitation::LOCALE_MUST_BE) }
    }

    pub(in crate::http) fn boolean(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(value) => Some(value),
            _ => self.fault(name, "must be true or false"),
        }
    }

    /// Reads a list of words from a closed set. Duplicates are dropped.
    pub(in crate::http) fn words<T: PartialEq>(
        &mut self,
        name: &str,
        words: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let must_be = format!("must be a list; each item must be one of {}", words.join(", "));
        let Value::Array(items) = self.take(name)? else { return self.fault(name, must_be) };
        let mut found = Vec::new();
        for item in items {
            match item.as_str().and_then(&parse) {
                Some(word) if found.contains(&word) => {}
                Some(word) => found.push(word),
                None => return self.fault(name, must_be),
            }
        }
        Some(found)
    }

    /// Records an error in a field. Returns `None` in place of the field's value.
    pub(in crate::http) fn fault<T>(&mut self, name: &str, detail: impl Into<String>) -> Option<T> {
        self.errors.push(FieldError { field: name.to_owned(), detail: detail.into() });
        None
    }

    /// Finishes reading.
    ///
    /// # Errors
    /// `validation_error` with every recorded error.
    pub(in crate::http) fn valid(self) -> Result<(), Refusal> {
        self.add_unknown_members();
        if self.errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(self.errors)) }
    }

    /// Finishes reading and returns `value`, which may be `None` only if an error was recorded.
    ///
    /// # Errors
    /// `validation_error` with every recorded error.
    pub(in crate::http) fn valid_with<T>(self, value: Option<T>) -> Result<T, Refusal> {
        match value {
            Some(value) => self.valid().map(|()| value),
            None => Err(Refusal::Invalid(self.errors)),
        }
    }

    /// Finishes reading, for endpoints that answer invalid fields with `bad_request`.
    ///
    /// # Errors
    /// `bad_request` with every recorded error.
    pub(in crate::http) fn valid_or_bad_request(self) -> Result<(), Refusal> {
        self.add_unknown_members();
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(Refusal::BadRequest(refusal::sentences(&self.errors), self.errors))
    }

    fn add_unknown_members(&self) {
        self.object.keys().chain(&self.unknown_nested).for_each(|path| self.unknown_members.add(path));
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.object.shift_remove(name).filter(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests;

//! The members of a request's object, read one by one, with everything that is wrong gathered and told at once.

use serde_json::{Map, Value};

use super::unknown::UnknownMembers;
use crate::domain::invitation;
use crate::domain::plain::{self, Flaw};
use crate::domain::refusal::{self, FieldError, Refusal};
use crate::domain::text;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::interchange::json;

/// What a moment in a body must look like.
const MOMENT: &str = "must be an RFC 3339 date-time with an offset (2026-11-21T09:12:33Z) or a date (2026-11-21)";

/// An object whose members are taken out. Members that are left are unknown: they are ignored, and noted for the answer's
/// `warnings`. `null` counts as not given.
#[derive(Debug, Default)]
pub(in crate::http) struct Fields {
    object: Map<String, Value>,
    errors: Vec<FieldError>,
    /// Places of unknown members of the objects within this one.
    unknown_within: Vec<String>,
    unknown: UnknownMembers,
}

impl Fields {
    pub(in crate::http) fn new(object: Map<String, Value>) -> Self {
        Self { object, ..Self::default() }
    }

    /// The same for a request's body, whose unknown members are noted there.
    pub(in crate::http) fn of_body(object: Map<String, Value>, unknown: UnknownMembers) -> Self {
        Self { object, unknown, ..Self::default() }
    }

    /// A text whose own grammar is checked by the caller, or whose characters mean nothing (a password).
    pub(in crate::http) fn any_text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => self.fault(name, "must be a string"),
        }
    }

    /// A text of one line, of at most so many characters.
    pub(in crate::http) fn text(&mut self, name: &str, characters_max: usize) -> Option<String> {
        let text = self.any_text(name)?;
        self.plain(name, text, characters_max, plain::flaw_of_line)
    }

    /// A text of one or several lines, of at most so many characters.
    pub(in crate::http) fn lines(&mut self, name: &str, characters_max: usize) -> Option<String> {
        let text = self.any_text(name)?;
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

    /// A text of one line that must be there and not be blank.
    pub(in crate::http) fn required_text(&mut self, name: &str, characters_max: usize) -> Option<String> {
        self.required(name, |fields| fields.text(name, characters_max))
    }

    /// The same of several lines.
    pub(in crate::http) fn required_lines(&mut self, name: &str, characters_max: usize) -> Option<String> {
        self.required(name, |fields| fields.lines(name, characters_max))
    }

    /// The same of a text that the caller checks.
    pub(in crate::http) fn required_any_text(&mut self, name: &str) -> Option<String> {
        self.required(name, |fields| fields.any_text(name))
    }

    fn required(&mut self, name: &str, read: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        if matches!(self.object.get(name), None | Some(Value::Null)) {
            return self.fault(name, "is required");
        }
        // Asked first: white space alone is blank, and not a control character.
        if self.is_blank(name) {
            return self.fault(name, "must not be blank");
        }
        read(self)
    }

    fn is_blank(&self, name: &str) -> bool {
        self.object.get(name).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty())
    }

    /// A text that is not blank where it is there.
    pub(in crate::http) fn text_not_blank(&mut self, name: &str, characters_max: usize) -> Option<String> {
        if self.is_blank(name) { self.fault(name, "must not be blank") } else { self.text(name, characters_max) }
    }

    /// A text of one line; one that is blank counts as not given.
    pub(in crate::http) fn text_unless_blank(&mut self, name: &str, characters_max: usize) -> Option<String> {
        let text = self.any_text(name).filter(|text| !text.trim().is_empty())?;
        self.plain(name, text, characters_max, plain::flaw_of_line)
    }

    /// A word of a closed set.
    pub(in crate::http) fn word<T>(
        &mut self,
        name: &str,
        known: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let wrong = format!("must be one of {}", known.join(", "));
        let word = self.take(name)?;
        word.as_str().and_then(parse).or_else(|| self.fault(name, wrong))
    }

    /// A number from 0 to `max`.
    pub(in crate::http) fn amount(&mut self, name: &str, max: f64) -> Option<f64> {
        let wrong = format!("must be a number from 0 to {max}");
        let amount = self.take(name)?;
        // A negative zero is zero, and is shown as such.
        let within = amount.as_f64().filter(|amount| (0.0..=max).contains(amount)).map(f64::abs);
        within.or_else(|| self.fault(name, wrong))
    }

    /// An object whose members are the caller's own, as JSON text.
    pub(in crate::http) fn json_object(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            object @ Value::Object(_) => match json::flaw(&object) {
                Some(flaw) => self.fault(name, flaw),
                None => Some(object.to_string()),
            },
            _ => self.fault(name, "must be an object"),
        }
    }

    /// What a member is to be: `Some(None)` where it is `null`, which clears it; `None` where it is not there.
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

    /// The members of an object within the object, read by `read`; what is wrong with one is told with its place
    /// (`portal.enabled`).
    pub(in crate::http) fn within<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let Value::Object(object) = self.take(name)? else { return self.fault(name, "must be an object") };
        let mut inner = Self::new(object);
        let found = read(&mut inner);
        self.take_findings(name, inner);
        Some(found)
    }

    /// Takes over the errors and the unknown members of an object within this one, with its place before theirs.
    fn take_findings(&mut self, place: &str, inner: Self) {
        let below = |name: &str| format!("{place}.{name}");
        let errors = inner.errors.into_iter();
        self.errors.extend(errors.map(|error| FieldError { field: below(&error.field), ..error }));
        let unknown = inner.object.keys().chain(&inner.unknown_within);
        self.unknown_within.extend(unknown.map(|name| below(name)));
    }

    /// All members as they were given, and are still there. The caller may choose their names, so none is unknown: `read`
    /// looks at those that mean something here.
    pub(in crate::http) fn free_members(&mut self, read: impl FnOnce(&mut Self)) -> Map<String, Value> {
        let members = self.object.clone();
        read(self);
        self.object.clear();
        members
    }

    /// A list of at most so many objects, each read by `read`. What is wrong with one is told with its place
    /// (`steps[0].name`).
    pub(in crate::http) fn objects<T>(
        &mut self,
        name: &str,
        count_max: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::Array(items) = self.take(name)? else { return self.fault(name, "must be a list of objects") };
        if items.len() > count_max {
            return self.fault(name, format!("must be at most {count_max}"));
        }
        let mut found = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let place = format!("{name}[{index}]");
            let Value::Object(object) = item else {
                self.fault::<()>(&place, "must be an object");
                continue;
            };
            let mut inner = Self::new(object);
            found.extend(read(&mut inner));
            self.take_findings(&place, inner);
        }
        Some(found)
    }

    /// A list of texts that must be there.
    pub(in crate::http) fn required_texts(&mut self, name: &str) -> Option<Vec<String>> {
        let Some(value) = self.take(name) else { return self.fault(name, "is required") };
        let text = |item: &Value| item.as_str().map(str::to_owned);
        let texts = value.as_array().and_then(|items| items.iter().map(text).collect());
        texts.or_else(|| self.fault(name, "must be a list of strings"))
    }

    /// A list of texts.
    pub(in crate::http) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        if self.object.get(name).is_none_or(Value::is_null) {
            self.object.shift_remove(name);
            return None;
        }
        self.required_texts(name)
    }

    /// An integer within bounds. `90.0` and `"90"` are none.
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

    /// A moment; digits beyond the microsecond are dropped.
    pub(in crate::http) fn moment(&mut self, name: &str) -> Option<Timestamp> {
        match self.take(name)? {
            Value::String(text) => {
                let moment = Timestamp::parse(&text, Rounding::Down);
                moment.or_else(|| self.fault(name, MOMENT))
            }
            _ => self.fault(name, MOMENT),
        }
    }

    /// A language tag.
    pub(in crate::http) fn locale(&mut self, name: &str) -> Option<String> {
        let locale = self.text(name, invitation::LOCALE_CHARACTERS_MAX)?;
        if invitation::is_locale(&locale) { Some(locale) } else { self.fault(name, invitation::LOCALE_MUST_BE) }
    }

    /// True or false.
    pub(in crate::http) fn truth(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(truth) => Some(truth),
            _ => self.fault(name, "must be true or false"),
        }
    }

    /// A list of words of a closed set, each kept once.
    pub(in crate::http) fn words<T: PartialEq>(
        &mut self,
        name: &str,
        known: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let wrong = format!("must be a list of {}", known.join(", "));
        let Value::Array(items) = self.take(name)? else { return self.fault(name, wrong) };
        let mut found = Vec::new();
        for item in items {
            match item.as_str().and_then(&parse) {
                Some(word) if found.contains(&word) => {}
                Some(word) => found.push(word),
                None => return self.fault(name, wrong),
            }
        }
        Some(found)
    }

    /// Notes that a field is at fault; `None`, for the value it does not have.
    pub(in crate::http) fn fault<T>(&mut self, name: &str, detail: impl Into<String>) -> Option<T> {
        self.errors.push(FieldError { field: name.to_owned(), detail: detail.into() });
        None
    }

    /// Passes where no field was at fault.
    ///
    /// # Errors
    /// `validation_error` with every field that was.
    pub(in crate::http) fn valid(self) -> Result<(), Refusal> {
        self.note_unknown();
        if self.errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(self.errors)) }
    }

    /// The same for a value that is there unless its field was at fault.
    ///
    /// # Errors
    /// `validation_error` with every field that was.
    pub(in crate::http) fn valid_with<T>(self, value: Option<T>) -> Result<T, Refusal> {
        match value {
            Some(value) => self.valid().map(|()| value),
            None => Err(Refusal::Invalid(self.errors)),
        }
    }

    /// The same for the decisions on a candidate, where the contract has `bad_request` for it.
    ///
    /// # Errors
    /// `bad_request` with every field that was at fault.
    pub(in crate::http) fn good(self) -> Result<(), Refusal> {
        self.note_unknown();
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(Refusal::BadRequest(refusal::sentences(&self.errors), self.errors))
    }

    fn note_unknown(&self) {
        self.object.keys().chain(&self.unknown_within).for_each(|place| self.unknown.note(place));
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.object.shift_remove(name).filter(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        match serde_json::from_str(text).unwrap() {
            Value::Object(object) => Fields::new(object),
            _ => panic!("the test wants an object"),
        }
    }

    #[test]
    fn an_integer_is_an_integer_and_nothing_like_one() {
        for (value, good) in [
            ("1", true),
            ("365", true),
            ("0", false),
            ("366", false),
            ("90.0", false),
            ("\"90\"", false),
            ("true", false),
            ("1e2", false),
            ("99999999999999999999", false),
            ("18446744073709551615", false),
            ("[90]", false),
            ("-1", false),
        ] {
            let mut fields = fields(&format!(r#"{{"days":{value}}}"#));
            assert_eq!(fields.integer("days", 1..=365).is_some(), good, "{value}");
            assert_eq!(fields.valid().is_ok(), good, "{value}");
        }
    }

    #[test]
    fn null_counts_as_not_given_and_is_refused_where_something_is_required() {
        let mut fields = fields(r#"{"a":null,"b":null}"#);
        assert_eq!(fields.text("a", 5), None);
        assert_eq!(fields.required_text("b", 5), None);
        assert!(matches!(fields.valid(), Err(Refusal::Invalid(errors)) if errors.len() == 1));
    }

    #[test]
    fn members_that_nobody_takes_are_noted_with_their_place() {
        let text = r#"{"a":"x","b":null,"nmae":1,"portal":{"on":true,"theme":{"own":1},"colour":2},"steps":[{"name":"x"},{"kind":1}],"c":null}"#;
        let Ok(Value::Object(object)) = serde_json::from_str(text) else { panic!("the test wants an object") };
        let unknown = UnknownMembers::default();
        let mut fields = Fields::of_body(object, unknown.clone());
        fields.text("a", 5);
        fields.texts("b");
        fields.change("c", |fields, name| fields.text(name, 5));
        fields.within("portal", |portal| {
            portal.truth("on");
            portal.within("theme", |theme| theme.free_members(|_| {}));
        });
        fields.objects("steps", 5, |step| step.text("name", 5));
        fields.valid().unwrap();
        let noted: Vec<Value> = unknown.warnings().iter().map(|warning| warning["field"].clone()).collect();
        assert_eq!(noted, ["nmae", "portal.colour", "steps[1].kind"]);
    }

    #[test]
    fn lengths_are_counted_in_code_points() {
        let mut fields = fields(r#"{"a":"ääääa","b":"ääääab"}"#);
        assert!(fields.text("a", 5).is_some());
        assert!(fields.text("b", 5).is_none());
    }
}

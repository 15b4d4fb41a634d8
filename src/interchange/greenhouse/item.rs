//! One item of an export: its members by name as the values they must be, and everything that is wrong with it.

use serde_json::{Map, Value};

use super::Resource;
use crate::domain::plain;
use crate::domain::text;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::interchange::addition::Refused;

/// How much of an id that is none is told.
const ID_CHARACTERS_TOLD: usize = 40;

/// One item of an export, or an object within one.
pub(super) struct Item {
    resource: Resource,
    members: Map<String, Value>,
    place: String,
    faults: Vec<String>,
}

impl Item {
    /// An item that stands there.
    pub(super) fn new(resource: Resource, at: &str, members: Map<String, Value>) -> Self {
        let id = members.get("id").map_or_else(|| "without an id".to_owned(), Value::to_string);
        let place = format!("{} {} ({at})", resource.as_str(), text::cut(&id, ID_CHARACTERS_TOLD));
        Self { resource, members, place, faults: Vec::new() }
    }

    pub(super) fn resource(&self) -> Resource {
        self.resource
    }

    /// Which item it is: its resource, its id, and where it stands.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    pub(super) fn is_fine(&self) -> bool {
        self.faults.is_empty()
    }

    /// The item with what is wrong with it, where anything is.
    pub(super) fn into_refused(self) -> Option<Refused> {
        (!self.faults.is_empty()).then_some(Refused { place: self.place, reasons: self.faults })
    }

    /// A member, or one of a member's, as in `current_stage.id`; `None` where it is not there, or null.
    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('.');
        let first = self.members.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name)).filter(|value| !value.is_null())
    }

    /// The id of the item itself. That it must be there has been told by then.
    pub(super) fn own_id(&self) -> Option<u64> {
        self.get("id").and_then(Value::as_u64)
    }

    /// A member that may be missing. `None` too where it is wrong, which is then a fault.
    pub(super) fn optional<T>(
        &mut self,
        path: &str,
        must_be: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.get(path)?);
        if value.is_none() {
            self.fault(format!("{path} must be {must_be}"));
        }
        value
    }

    /// A member that must be there. What is missing is told in these words.
    pub(super) fn required<T>(
        &mut self,
        path: &str,
        must_be: &str,
        missing: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        if self.get(path).is_none() {
            self.fault(format!("{path} {missing}"));
        }
        self.optional(path, must_be, read)
    }

    /// The id of an item, which must be there.
    pub(super) fn id(&mut self, path: &str, missing: &str) -> Option<u64> {
        self.required(path, "a whole number", missing, Value::as_u64)
    }

    /// The id of another item, which may be missing.
    pub(super) fn optional_id(&mut self, path: &str) -> Option<u64> {
        self.optional(path, "a whole number", Value::as_u64)
    }

    /// A text that must be there and not be blank, trimmed.
    pub(super) fn name(&mut self, path: &str, characters_max: usize) -> Option<String> {
        let must_be = format!("a text of 1 to {characters_max} characters that is not blank");
        let name = self.required(path, &must_be, &format!("is missing; it must be {must_be}"), |value| {
            let text = value.as_str()?.trim();
            (!text.is_empty() && text::characters(text) <= characters_max).then(|| text.to_owned())
        });
        self.plain(path, name)
    }

    /// A text without a flaw, which is a fault otherwise.
    fn plain(&mut self, path: &str, text: Option<String>) -> Option<String> {
        if let Some(flaw) = text.as_deref().and_then(plain::flaw_of_line) {
            self.fault(format!("{path} {}", flaw.sentence()));
            return None;
        }
        text
    }

    /// A text that may be missing or blank, trimmed.
    pub(super) fn text(&mut self, path: &str, characters_max: usize) -> Option<String> {
        let text = self.optional(path, &format!("a text of at most {characters_max} characters"), |value| {
            let text = value.as_str()?.trim();
            (text::characters(text) <= characters_max).then(|| text.to_owned())
        });
        self.plain(path, text.filter(|text| !text.is_empty()))
    }

    /// A time that may be missing.
    pub(super) fn time(&mut self, path: &str) -> Option<Timestamp> {
        self.optional(path, "a time such as 2016-03-26T20:11:39.000Z", |value| {
            Timestamp::parse(value.as_str()?, Rounding::Down)
        })
    }

    /// The objects of an array that may be missing. Entries that are null are passed over: Greenhouse has them for what
    /// was deleted.
    pub(super) fn each<T>(&mut self, path: &str, mut read: impl FnMut(&mut Self) -> Option<T>) -> Vec<T> {
        let values = self.optional(path, "an array", |value| value.as_array().cloned()).unwrap_or_default();
        let mut made = Vec::new();
        for (index, value) in values.into_iter().enumerate().filter(|(_, value)| !value.is_null()) {
            let Value::Object(members) = value else {
                self.fault(format!("{path}/{index} must be an object"));
                continue;
            };
            let mut inner = Self { resource: self.resource, members, place: String::new(), faults: Vec::new() };
            made.extend(read(&mut inner));
            self.faults.extend(inner.faults.into_iter().map(|fault| format!("{path}/{index}/{fault}")));
        }
        made
    }
}

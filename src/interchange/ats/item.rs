//! Reads the members of one export item by name, each as a typed value, and collects the item's faults.

use serde_json::{Map, Value};

use crate::domain::plain;
use crate::domain::text::{self, Email};
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::interchange::addition::RefusedItem;

/// The maximum length of an item's id in a report, because an invalid id can be long.
const ID_EXCERPT_CHARACTERS: usize = 40;

/// The maximum length of a department or location, as in an interchange document. If there are several names, the limit
/// applies to all of them together.
pub(in crate::interchange) const TEXT_CHARACTERS_MAX: usize = 255;

/// The maximum length of an id of another system.
const ID_CHARACTERS_MAX: usize = 255;

/// The latest time in milliseconds since 1970 that is accepted: the end of the year 9999, as in RFC 3339.
const MILLIS_MAX: i64 = 253_402_300_799_999;

/// The form of a system's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interchange) enum IdKind {
    Number,
    Text,
}

/// One item of an export, or an object within an item.
pub(in crate::interchange) struct Item {
    /// The name of the resource.
    resource: &'static str,
    /// The member that identifies the item.
    key: &'static str,
    ids: IdKind,
    members: Map<String, Value>,
    location: String,
    faults: Vec<String>,
}

impl Item {
    /// Creates an item at location `at` of the export.
    pub(in crate::interchange) fn new(
        resource: &'static str,
        key: &'static str,
        ids: IdKind,
        at: &str,
        members: Map<String, Value>,
    ) -> Self {
        let id = match (members.get(key), ids) {
            (None, _) => "without an id".to_owned(),
            (Some(Value::String(id)), IdKind::Text) => id.clone(),
            (Some(id), _) => id.to_string(),
        };
        let location = format!("{resource} {} ({at})", text::cut(&id, ID_EXCERPT_CHARACTERS));
        Self { resource, key, ids, members, location, faults: Vec::new() }
    }

    /// Returns the resource, id and location of the item, for reports.
    pub(in crate::interchange) fn location(&self) -> &str {
        &self.location
    }

    pub(in crate::interchange) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    pub(in crate::interchange) fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the item and its faults for the report, or `None` if the item has no faults.
    pub(in crate::interchange) fn into_refused(self) -> Option<RefusedItem> {
        (!self.faults.is_empty()).then_some(RefusedItem { location: self.location, reasons: self.faults })
    }

    /// Returns a member by its path, such as `current_stage.id`, or `None` if the member is missing or null.
    pub(in crate::interchange) fn get(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('.');
        let first = self.members.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name)).filter(|value| !value.is_null())
    }

    /// Returns the item's own id. [`Export`](super::export::Export) has already reported a missing or invalid id.
    pub(in crate::interchange) fn own_id(&self) -> Option<String> {
        self.get(self.key).and_then(|id| source_id(self.ids, id))
    }

    /// Reads an optional member. Adds a fault and returns `None` if the member is invalid.
    pub(in crate::interchange) fn optional<T>(
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

    /// Reads a required member. If the member is missing, adds a fault that consists of the path and `missing`.
    pub(in crate::interchange) fn required<T>(
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

    /// Reads a required id.
    pub(in crate::interchange) fn id(&mut self, path: &str, missing: &str) -> Option<String> {
        let ids = self.ids;
        self.required(path, &id_must_be(ids), missing, |id| source_id(ids, id))
    }

    /// Reads an optional id of another item.
    pub(in crate::interchange) fn optional_id(&mut self, path: &str) -> Option<String> {
        let ids = self.ids;
        self.optional(path, &id_must_be(ids), |id| source_id(ids, id))
    }

    /// Reads an optional array of ids of other items.
    pub(in crate::interchange) fn ids(&mut self, path: &str) -> Vec<String> {
        let ids = self.ids;
        let read = |value: &Value| value.as_array()?.iter().map(|id| source_id(ids, id)).collect();
        self.optional(path, "an array of ids", read).unwrap_or_default()
    }

    /// Reads and trims a required string, which must not be blank.
    pub(in crate::interchange) fn name(&mut self, path: &str, characters_max: usize) -> Option<String> {
        let must_be = format!("a string of 1 to {characters_max} characters that is not blank");
        let name = self.required(path, &must_be, &format!("is missing; it must be {must_be}"), |value| {
            let text = value.as_str()?.trim();
            (!text.is_empty() && text::characters(text) <= characters_max).then(|| text.to_owned())
        });
        self.plain(path, name)
    }

    /// Returns the text if it has no control character or other flaw. Otherwise adds a fault.
    fn plain(&mut self, path: &str, text: Option<String>) -> Option<String> {
        if let Some(flaw) = text.as_deref().and_then(plain::flaw_of_line) {
            self.fault(format!("{path} {}", flaw.sentence()));
            return None;
        }
        text
    }

    /// Reads a name that consists of several optional members. Adds a fault if all of them are blank, or if the name is
    /// too long.
    pub(in crate::interchange) fn joined_name(&mut self, paths: &[&str], characters_max: usize) -> Option<String> {
        let names: Vec<String> = paths.iter().filter_map(|path| self.text(path, characters_max)).collect();
        let name = names.join(" ");
        if name.is_empty() || text::characters(&name) > characters_max {
            self.fault(format!("{} must have 1 to {characters_max} characters together", paths.join(" and ")));
            return None;
        }
        Some(name)
    }

    /// Reads and trims an optional string. Returns `None` if the string is blank.
    pub(in crate::interchange) fn text(&mut self, path: &str, characters_max: usize) -> Option<String> {
        let text = self.optional(path, &format!("a string of at most {characters_max} characters"), |value| {
            let text = value.as_str()?.trim();
            (text::characters(text) <= characters_max).then(|| text.to_owned())
        });
        self.plain(path, text.filter(|text| !text.is_empty()))
    }

    /// Reads and trims an optional string of any length, with or without line breaks. Returns `None` if the string is
    /// blank.
    pub(in crate::interchange) fn free_text(&mut self, path: &str) -> Option<String> {
        let text = self.optional(path, "a string", |value| value.as_str().map(|text| text.trim().to_owned()));
        text.filter(|text| !text.is_empty())
    }

    /// Returns the first valid address among these members. A member is a string, an object with a `value`, or an array
    /// of strings and objects. An invalid address is treated as missing, because the person may have another address.
    pub(in crate::interchange) fn email(&self, paths: &[&str]) -> Option<Email> {
        let address = |value: &Value| Email::parse(value.get("value").unwrap_or(value).as_str()?);
        paths.iter().find_map(|path| match self.get(path)? {
            Value::Array(several) => several.iter().find_map(address),
            one => address(one),
        })
    }

    /// Reads an optional time in milliseconds since 1970.
    pub(in crate::interchange) fn millis(&mut self, path: &str) -> Option<Timestamp> {
        self.optional(path, "a time in milliseconds since 1970", |value| {
            let millis = value.as_i64().filter(|millis| (0..=MILLIS_MAX).contains(millis))?;
            Some(Timestamp::from_micros(millis * 1_000))
        })
    }

    /// Reads an optional time. A time without an offset, as databases write it, is in UTC.
    pub(in crate::interchange) fn time_in_utc(&mut self, path: &str) -> Option<Timestamp> {
        self.optional(path, "a time such as 2016-03-26T20:11:39.000Z", |value| time_in_utc(value.as_str()?))
    }

    /// Reads an optional time with an offset, or a date, which is read as midnight UTC.
    pub(in crate::interchange) fn time(&mut self, path: &str) -> Option<Timestamp> {
        self.optional(path, "a time such as 2016-03-26T20:11:39.000Z", |value| {
            Timestamp::parse(value.as_str()?, Rounding::Down)
        })
    }

    /// Reads the objects of an optional array. Skips null entries, which some systems export for deleted objects.
    pub(in crate::interchange) fn array_of<T>(
        &mut self,
        path: &str,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Vec<T> {
        let values = self.optional(path, "an array", |value| value.as_array().cloned()).unwrap_or_default();
        let mut items = Vec::new();
        for (index, value) in values.into_iter().enumerate().filter(|(_, value)| !value.is_null()) {
            let Value::Object(members) = value else {
                self.fault(format!("{path}/{index} must be an object"));
                continue;
            };
            let (resource, key, ids) = (self.resource, self.key, self.ids);
            let mut inner = Self { resource, key, ids, members, location: String::new(), faults: Vec::new() };
            items.extend(read(&mut inner));
            self.faults.extend(inner.faults.into_iter().map(|fault| format!("{path}/{index}/{fault}")));
        }
        items
    }
}

/// Parses the id of an item.
fn source_id(ids: IdKind, value: &Value) -> Option<String> {
    match (ids, value) {
        (IdKind::Number, value) => value.as_u64().map(|id| id.to_string()),
        (IdKind::Text, Value::String(id)) => {
            let is_plain = plain::flaw_of_line(id).is_none() && text::characters(id) <= ID_CHARACTERS_MAX;
            (is_plain && !id.trim().is_empty()).then(|| id.clone())
        }
        (IdKind::Text, value) => value.as_u64().map(|id| id.to_string()),
    }
}

fn id_must_be(ids: IdKind) -> String {
    match ids {
        IdKind::Number => "a whole number".to_owned(),
        IdKind::Text => format!("an id of 1 to {ID_CHARACTERS_MAX} characters"),
    }
}

/// Parses a time with or without an offset. A time without an offset (`2016-03-26 20:11:39`) is in UTC.
pub(in crate::interchange) fn time_in_utc(text: &str) -> Option<Timestamp> {
    let with_offset = || Timestamp::parse(&format!("{}Z", text.replacen(' ', "T", 1)), Rounding::Down);
    Timestamp::parse(text, Rounding::Down).or_else(with_offset)
}

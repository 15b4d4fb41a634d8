//! Reads the members of one export item by name, each as a typed value, and collects the item's faults.

use serde_json::{Map, Value};

use super::resource::HarvestResource;
use crate::domain::plain;
use crate::domain::text;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::interchange::addition::RefusedItem;

/// The maximum length of an item's id in a report, because an invalid id can be long.
const ID_EXCERPT_CHARACTERS: usize = 40;

/// One item of an export, or an object within an item.
pub(super) struct Item {
    resource: HarvestResource,
    members: Map<String, Value>,
    location: String,
    faults: Vec<String>,
}

impl Item {
    /// Creates an item at location `at` of the export.
    pub(super) fn new(resource: HarvestResource, at: &str, members: Map<String, Value>) -> Self {
        let id = members.get("id").map_or_else(|| "without an id".to_owned(), Value::to_string);
        let location = format!("{} {} ({at})", resource.as_str(), text::cut(&id, ID_EXCERPT_CHARACTERS));
        Self { resource, members, location, faults: Vec::new() }
    }

    pub(super) fn resource(&self) -> HarvestResource {
        self.resource
    }

    /// Returns the resource, id and location of the item, for reports.
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    pub(super) fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the item and its faults for the report, or `None` if the item has no faults.
    pub(super) fn into_refused(self) -> Option<RefusedItem> {
        (!self.faults.is_empty()).then_some(RefusedItem { location: self.location, reasons: self.faults })
    }

    /// Returns a member by its path, such as `current_stage.id`, or `None` if the member is missing or null.
    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('.');
        let first = self.members.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name)).filter(|value| !value.is_null())
    }

    /// Returns the item's own id. [`HarvestExport`](super::HarvestExport) has already reported a missing id.
    pub(super) fn own_id(&self) -> Option<u64> {
        self.get("id").and_then(Value::as_u64)
    }

    /// Reads an optional member. Adds a fault and returns `None` if the member is invalid.
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

    /// Reads a required member. If the member is missing, adds a fault that consists of the path and `missing`.
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

    /// Reads a required id.
    pub(super) fn id(&mut self, path: &str, missing: &str) -> Option<u64> {
        self.required(path, "a whole number", missing, Value::as_u64)
    }

    /// Reads an optional id of another item.
    pub(super) fn optional_id(&mut self, path: &str) -> Option<u64> {
        self.optional(path, "a whole number", Value::as_u64)
    }

    /// Reads and trims a required string, which must not be blank.
    pub(super) fn name(&mut self, path: &str, characters_max: usize) -> Option<String> {
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

    /// Reads and trims an optional string. Returns `None` if the string is blank.
    pub(super) fn text(&mut self, path: &str, characters_max: usize) -> Option<String> {
        let text = self.optional(path, &format!("a string of at most {characters_max} characters"), |value| {
            let text = value.as_str()?.trim();
            (text::characters(text) <= characters_max).then(|| text.to_owned())
        });
        self.plain(path, text.filter(|text| !text.is_empty()))
    }

    /// Reads an optional time.
    pub(super) fn time(&mut self, path: &str) -> Option<Timestamp> {
        self.optional(path, "a time such as 2016-03-26T20:11:39.000Z", |value| {
            Timestamp::parse(value.as_str()?, Rounding::Down)
        })
    }

    /// Reads the objects of an optional array. Skips null entries, which Greenhouse exports for deleted objects.
    pub(super) fn array_of<T>(&mut self, path: &str, mut read: impl FnMut(&mut Self) -> Option<T>) -> Vec<T> {
        let values = self.optional(path, "an array", |value| value.as_array().cloned()).unwrap_or_default();
        let mut items = Vec::new();
        for (index, value) in values.into_iter().enumerate().filter(|(_, value)| !value.is_null()) {
            let Value::Object(members) = value else {
                self.fault(format!("{path}/{index} must be an object"));
                continue;
            };
            let mut inner = Self { resource: self.resource, members, location: String::new(), faults: Vec::new() };
            items.extend(read(&mut inner));
            self.faults.extend(inner.faults.into_iter().map(|fault| format!("{path}/{index}/{fault}")));
        }
        items
    }
}

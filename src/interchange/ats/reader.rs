//! A streaming parser for export files. It parses one item at a time, so that the JSON values of a large file are never
//! all in memory at once.
//!
//! The parser finds the items but does not interpret their members.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::export::{Export, Resource, System};
use super::item::Item;
use crate::interchange::findings::escaped;
use crate::interchange::json::{self, Strict};

impl Export {
    /// Parses a file. It contains an array of the resource that the file is named after, or a response with this array,
    /// or an object with an array for each of several resources, each in a member named after its resource. Ignores
    /// members that are named after no resource, and adds a notice about each of them that is not in
    /// [`System::paging`].
    ///
    /// # Errors
    /// A sentence with the position of the error if the file is none of these, is not JSON or contains a member twice.
    pub(in crate::interchange) fn read_json(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        json::parse_with(FileSeed { name, export: self }, bytes).map_err(|error| escaped(&format!("{name}: {error}")))
    }
}

/// A seed that parses a file: an array of the resource that the file is named after, or an object of arrays.
struct FileSeed<'a> {
    name: &'a str,
    export: &'a mut Export,
}

impl<'de> DeserializeSeed<'de> for FileSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl FileSeed<'_> {
    fn system(&self) -> &'static System {
        self.export.system
    }

    fn resource(&self) -> Option<&'static Resource> {
        self.system().resource_of_file(self.name)
    }

    /// Returns the resource of a member: the resource that the file is named after, if the member is the array of a
    /// response, or the resource that the member is named after.
    fn resource_of_member(&self, member: &str) -> Option<&'static Resource> {
        let of_file = self.resource().filter(|_| self.system().envelope == Some(member));
        of_file.or_else(|| self.system().resource(member))
    }
}

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource() {
            Some(resource) => write!(f, "an array of {}", resource.name),
            None => write!(f, "an object with members such as {}", self.system().resource_names(", ")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        match self.resource() {
            Some(resource) => {
                ItemsSeed { resource, at: format!("{}#", self.name), export: self.export }.visit_seq(items)
            }
            None => Err(de::Error::custom(format!(
                "the file name does not show which resource the array contains; name the file after the resource, for \
                 example {}.json",
                self.system().jobs
            ))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = Vec::new();
        let mut has_items = false;
        while let Some(member) = members.next_key::<String>()? {
            if seen.contains(&member) {
                return Err(de::Error::custom(format!("the member {member:?} appears twice")));
            }
            if let Some(resource) = self.resource_of_member(&member) {
                let at = format!("{}#/{member}", self.name);
                members.next_value_seed(ItemsSeed { resource, at, export: &mut *self.export })?;
                has_items = true;
            } else {
                if !self.system().paging.contains(&member.as_str()) {
                    self.export.notice(&format!("{}: the member {member:?} is ignored", self.name));
                }
                members.next_value_seed(Strict)?;
            }
            seen.push(member);
        }
        if let (Some(resource), Some(envelope), false) = (self.resource(), self.system().envelope, has_items) {
            let (file, name) = (self.name, resource.name);
            let sentence =
                format!("{file} has no member {envelope:?} with the {name}; perhaps it is an error response");
            return Err(de::Error::custom(sentence));
        }
        Ok(())
    }
}

/// A seed that parses an array of items.
struct ItemsSeed<'a> {
    resource: &'static Resource,
    /// The location: a file name, with a JSON Pointer as its fragment (RFC 6901 §6).
    at: String,
    export: &'a mut Export,
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {}", self.resource.name)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.export.start_resource(self.resource.name);
        for index in 0.. {
            let Some(value) = items.next_element_seed(Strict)? else { break };
            // An item that is not an object becomes an object without members, and is refused because its id is
            // missing.
            let members = if let Value::Object(members) = value { members } else { Map::new() };
            let members = if self.export.system.has_column_names { with_member_names(members) } else { members };
            let ids = self.export.system.ids;
            let Resource { name, key, .. } = *self.resource;
            let item = Item::new(name, key, ids, &format!("{}/{index}", self.at), members);
            self.export.add_item(self.resource, item);
        }
        Ok(())
    }
}

/// Replaces the names of columns (`first_name`) with the names of members (`firstName`).
fn with_member_names(columns: Map<String, Value>) -> Map<String, Value> {
    let name = |column: &str| {
        let mut words = column.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| {
            let mut letters = word.chars();
            let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
            name + &initial.into_iter().chain(letters).collect::<String>()
        })
    };
    columns.into_iter().map(|(column, value)| (name(&column), value)).collect()
}

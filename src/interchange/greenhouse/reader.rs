//! A streaming parser for export files. It parses one item at a time, so that the JSON values of a large file are never
//! all in memory at once.
//!
//! The parser finds the items but does not interpret their members.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::export::HarvestExport;
use super::item::Item;
use super::resource::HarvestResource;
use crate::interchange::findings::escaped;
use crate::interchange::json::{self, Strict};

impl HarvestExport {
    /// Parses a file: an array of the resource after which the file is named, or an object of such arrays, each in a
    /// member with the name of its resource. Ignores members with other names, and adds a notice about each of them.
    ///
    /// # Errors
    /// A sentence with the position of the error if the file is neither of these or is not JSON.
    /// [`plan`](super::plan()) reports faults in individual items.
    pub fn read(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        json::parse_with(FileSeed { name, export: self }, bytes).map_err(|error| escaped(&format!("{name}: {error}")))
    }
}

/// A seed that parses a file: an array of the resource in its name, or an object of arrays.
struct FileSeed<'a> {
    name: &'a str,
    export: &'a mut HarvestExport,
}

impl<'de> DeserializeSeed<'de> for FileSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match HarvestResource::of_file(self.name) {
            Some(resource) => write!(f, "an array of {}", resource.as_str()),
            None => write!(f, "an object with members such as {}", HarvestResource::WORDS.join(", ")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        match HarvestResource::of_file(self.name) {
            Some(resource) => {
                ItemsSeed { resource, at: format!("{}#", self.name), export: self.export }.visit_seq(items)
            }
            None => Err(de::Error::custom(
                "the file name does not show which resource the array contains; name the file after the resource, for \
                 example jobs.json",
            )),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = Vec::new();
        while let Some(member) = members.next_key::<String>()? {
            if seen.contains(&member) {
                return Err(de::Error::custom(format!("the member {member:?} appears twice")));
            }
            if let Some(resource) = HarvestResource::parse(&member) {
                let at = format!("{}#/{member}", self.name);
                members.next_value_seed(ItemsSeed { resource, at, export: &mut *self.export })?;
            } else {
                self.export.notice(&format!("{}: the member {member:?} is ignored", self.name));
                members.next_value_seed(Strict)?;
            }
            seen.push(member);
        }
        Ok(())
    }
}

/// A seed that parses an array of items.
struct ItemsSeed<'a> {
    resource: HarvestResource,
    /// The location: a file name, with a JSON Pointer as its fragment (RFC 6901 §6).
    at: String,
    export: &'a mut HarvestExport,
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
        write!(f, "an array of {}", self.resource.as_str())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.export.start_resource(self.resource);
        for index in 0.. {
            let Some(value) = items.next_element_seed(Strict)? else { break };
            // An item that is not an object becomes an object without members, and is refused because its id is
            // missing.
            let members = if let Value::Object(members) = value { members } else { Map::new() };
            self.export.add_item(Item::new(self.resource, &format!("{}/{index}", self.at), members));
        }
        Ok(())
    }
}

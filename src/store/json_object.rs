//! JSON objects that an organization defines. A column stores each object as text. The modules `theme` and
//! `description` define which fields the service reads.

use serde_json::{Map, Value};

use crate::db::tx::Error;

/// A stored JSON object. It is parsed once, when it is read from a request, an import or a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonObject {
    /// The text of the column. The text also distinguishes objects whose members are in different orders.
    text: String,
    /// `None` if the text is damaged, or if its values are nested too deeply for the parser. Then [`Self::get`] finds
    /// no member, and [`Self::members`] returns an error.
    members: Option<Map<String, Value>>,
}

impl JsonObject {
    pub(super) fn new(members: Map<String, Value>) -> Self {
        let object = Value::Object(members);
        let text = object.to_string();
        let members = if let Value::Object(members) = object { Some(members) } else { None };
        Self { text, members }
    }

    pub(super) fn from_row(text: &str) -> Self {
        Self { text: text.to_owned(), members: serde_json::from_str(text).ok() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the member with this name, if the object has it.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.members.as_ref()?.get(name)
    }

    /// Returns all members, for responses and interchange documents.
    ///
    /// # Errors
    /// [`Error::Defect`] if the column cannot be parsed.
    pub(super) fn members(&self) -> Result<&Map<String, Value>, Error> {
        self.members.as_ref().ok_or_else(|| Error::Defect("a JSON column cannot be read".to_owned()))
    }
}

impl Default for JsonObject {
    fn default() -> Self {
        Self::new(Map::new())
    }
}

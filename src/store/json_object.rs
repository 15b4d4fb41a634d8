//! JSON objects of an organization's own, which a column stores as text. `theme` and `description` say what the service reads
//! of them.

use serde_json::{Map, Value};

use crate::db::tx::Error;

/// A stored JSON object, parsed once where it enters: in a request, an import or a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonObject {
    /// The text of the column. It also tells objects with different orders of members apart.
    text: String,
    /// `None` for a damaged column, or one that is nested deeper than the parser goes. Its row is shown without the object.
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

    /// A member, if the object has it.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.members.as_ref()?.get(name)
    }

    /// All members, for answers and documents.
    ///
    /// # Errors
    /// [`Error::Defect`] for a column that cannot be parsed.
    pub(super) fn members(&self) -> Result<&Map<String, Value>, Error> {
        self.members.as_ref().ok_or_else(|| Error::Defect("a column of JSON cannot be read".to_owned()))
    }
}

impl Default for JsonObject {
    fn default() -> Self {
        Self::new(Map::new())
    }
}

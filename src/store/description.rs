//! The description of a role: a JSON object that the organization defines. The service reads Markdown from the object:
//! `{ "format": "markdown", "body": "…" }`. It stores other shapes unchanged, for programs that use the API.

use serde_json::{Map, Value};

use super::json_object::JsonObject;
use crate::db::tx::Error;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description(JsonObject);

impl Description {
    pub fn new(members: Map<String, Value>) -> Self {
        Self(JsonObject::new(members))
    }

    /// Creates a description in Markdown.
    pub fn of_markdown(body: String) -> Self {
        let members = [("format".to_owned(), Value::from("markdown")), ("body".to_owned(), Value::from(body))];
        Self::new(members.into_iter().collect())
    }

    pub(super) fn from_row(text: &str) -> Self {
        Self(JsonObject::from_row(text))
    }

    /// Returns the description as JSON.
    pub(super) fn text(&self) -> &str {
        self.0.text()
    }

    /// Returns all members as the organization entered them.
    ///
    /// # Errors
    /// [`Error::Defect`] if the description column cannot be parsed.
    pub fn members(&self) -> Result<&Map<String, Value>, Error> {
        self.0.members()
    }

    /// Returns the Markdown of the description, or an empty string for any other shape.
    pub fn markdown(&self) -> &str {
        if self.0.get("format").is_some_and(|format| format == "markdown") {
            self.0.get("body").and_then(Value::as_str).unwrap_or_default()
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markdown_descriptions_yield_markdown() {
        for (text, expected) in [
            (r##"{"format":"markdown","body":"# a"}"##, "# a"),
            (r#"{"format":"html","body":"a"}"#, ""),
            (r#"{"format":"markdown","body":5}"#, ""),
            (r#"{"body":"a"}"#, ""),
            ("{}", ""),
            ("[]", ""),
            ("", ""),
        ] {
            assert_eq!(Description::from_row(text).markdown(), expected, "{text}");
        }
        assert_eq!(Description::of_markdown("# a".to_owned()).markdown(), "# a");
    }
}

//! The theme of a portal: a JSON object that the organization defines. The service reads two fields of the
//! object, `showSalary` and `primaryColor`.

use serde_json::{Map, Value};

use super::json_object::JsonObject;
use crate::db::tx::Error;
use crate::domain::colour::Colour;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Theme(JsonObject);

impl Theme {
    pub fn new(members: Map<String, Value>) -> Self {
        Self(JsonObject::new(members))
    }

    pub(super) fn from_row(text: &str) -> Self {
        Self(JsonObject::from_row(text))
    }

    /// Returns the theme as JSON.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// Returns all fields as the organization entered them.
    ///
    /// # Errors
    /// [`Error::Defect`] if the theme column cannot be parsed.
    pub fn members(&self) -> Result<&Map<String, Value>, Error> {
        self.0.members()
    }

    /// Returns whether the portal shows salaries.
    pub fn shows_salary(&self) -> bool {
        self.0.get("showSalary") == Some(&Value::Bool(true))
    }

    /// Returns the colour of the portal's pages, or `None` if the theme has no valid colour.
    pub fn primary_color(&self) -> Option<Colour> {
        Colour::parse(self.0.get("primaryColor")?.as_str()?)
    }

    /// Returns the theme with these changes. A member replaces the member with the same name, and `null` removes that
    /// member (RFC 7396, but without merging inside the members).
    ///
    /// # Errors
    /// The errors of [`Theme::members`].
    pub fn with_changes(&self, changes: &Map<String, Value>) -> Result<Self, Error> {
        if changes.is_empty() {
            return Ok(self.clone());
        }
        let mut members = self.members()?.clone();
        for (name, value) in changes {
            if value.is_null() {
                members.shift_remove(name);
            } else {
                members.insert(name.clone(), value.clone());
            }
        }
        Ok(Self::new(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn theme(members: &Value) -> Theme {
        Theme::new(members.as_object().unwrap().clone())
    }

    #[test]
    fn salaries_are_shown_only_if_show_salary_is_true() {
        for (members, expected) in [
            (json!({}), false),
            (json!({ "showSalary": true }), true),
            (json!({ "showSalary": false }), false),
            (json!({ "showSalary": "true" }), false),
        ] {
            assert_eq!(theme(&members).shows_salary(), expected, "{members}");
        }
    }

    #[test]
    fn a_colour_that_pages_cannot_use_is_ignored() {
        for (members, is_valid) in [
            (json!({ "primaryColor": "#0f766e" }), true),
            (json!({ "primaryColor": "teal;" }), false),
            (json!({ "primaryColor": 5 }), false),
            (json!({}), false),
        ] {
            assert_eq!(theme(&members).primary_color().is_some(), is_valid, "{members}");
        }
    }

    #[test]
    fn changes_replace_add_and_remove_members() {
        let before = theme(&json!({ "a": 1, "b": { "c": 2 }, "d": 3 }));
        let changes = json!({ "b": { "e": 4 }, "a": null, "f": 5, "g": null });
        let after = before.with_changes(changes.as_object().unwrap()).unwrap();
        assert_eq!(after.text(), r#"{"b":{"e":4},"d":3,"f":5}"#);
        assert_eq!(before.with_changes(&Map::new()).unwrap(), before);
    }

    #[test]
    fn a_theme_that_cannot_be_parsed_has_no_members_but_retains_its_text() {
        let deep = format!(r#"{{"showSalary":true,"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        for text in [deep.as_str(), "[]", "{"] {
            let theme = Theme::from_row(text);
            assert!(!theme.shows_salary() && theme.members().is_err());
            assert_eq!(theme.text(), text);
        }
    }
}

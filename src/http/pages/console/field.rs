//! A field of a console form: its label, control, hint and error. `templates/console/field.html` renders it.

use askama::Template;

#[derive(Template)]
#[template(path = "console/field.html", config = "src/http/pages/templates/askama.toml")]
pub(super) struct Field {
    /// The name in the form.
    pub(super) name: &'static str,
    /// The id of the control, which occurs once on the page.
    pub(super) id: String,
    pub(super) label: String,
    pub(super) control: Control,
    pub(super) value: String,
    pub(super) hint: Option<String>,
    /// The reason why the value was refused.
    pub(super) error: Option<String>,
    pub(super) is_required: bool,
}

/// The kind of a field's control.
pub(super) enum Control {
    /// One line of text with at most this many characters.
    Line(usize),
    Email,
    /// A number of at least 0. The value is the `step` of the control: `1` or `any`.
    Number(&'static str),
    Day,
    /// Several lines of text; the number of visible lines, and the maximum number of characters, if there is one.
    Lines(usize, Option<usize>),
    /// One of these values, each with its label.
    Choice(Vec<(&'static str, String)>),
    /// A check box. The value is `1` if it is checked.
    Check,
}

impl Field {
    /// Creates an optional field whose id is its name.
    pub(super) fn new(name: &'static str, label: impl Into<String>, control: Control, value: &str) -> Self {
        let (id, label, value) = (name.to_owned(), label.into(), value.to_owned());
        Self { name, id, label, control, value, hint: None, error: None, is_required: false }
    }

    pub(super) fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn error(self, error: Option<String>) -> Self {
        Self { error, ..self }
    }

    fn is_check(&self) -> bool {
        matches!(self.control, Control::Check)
    }

    /// Returns the ids of the hint and the error, for `aria-describedby`.
    fn described_by(&self) -> String {
        let error = self.error.as_ref().map(|_| format!("{}-error", self.id));
        let hint = self.hint.as_ref().map(|_| format!("{}-hint", self.id));
        [error, hint].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

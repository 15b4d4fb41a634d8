//! The form of a step. The rules of the API apply to its fields.

use crate::domain::refusal::Refusal;
use crate::http::api::role::input::StepInput;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::form::Form;

/// The fields of a step, as text.
#[derive(Debug, Clone)]
pub(super) struct TypedStep {
    pub(super) name: String,
    pub(super) step_type: String,
}

impl TypedStep {
    /// Reads and trims the typed fields.
    ///
    /// # Errors
    /// `validation_error` if a field is repeated.
    pub(super) fn decode(form: &Form) -> Result<Self, Refusal> {
        let text = |name| Ok::<_, Refusal>(form.text(name)?.unwrap_or_default().trim().to_owned());
        Ok(Self { name: text("name")?, step_type: text("stepType")? })
    }

    /// # Errors
    /// `validation_error`, which names every invalid field.
    pub(super) fn checked(&self) -> Result<StepInput, Refusal> {
        let members = [("name", &self.name), ("stepType", &self.step_type)];
        let members = members.into_iter().map(|(name, typed)| (name.to_owned(), typed.as_str().into()));
        let mut fields = BodyFields::new(members.collect());
        let step = StepInput::decode(&mut fields);
        fields.valid_with(step)
    }
}

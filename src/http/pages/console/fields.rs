//! Reads the fields of a form with the checks that the API applies to the fields of a JSON body.

use serde_json::{Map, Value};

use crate::domain::refusal::Refusal;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::request::Request;

/// Returns the fields of the request's form. A blank field counts as missing, because browsers also send the fields
/// that the user left empty. The function replaces the line breaks that browsers send (CR LF) with LF.
///
/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated.
pub(super) fn read(request: &Request) -> Result<BodyFields, Refusal> {
    read_except_all(request, &[])
}

/// Does the same as [`read`], but ignores the field named `ignored`, which may be repeated.
///
/// # Errors
/// The errors of [`read`].
pub(super) fn read_except(request: &Request, ignored: &str) -> Result<BodyFields, Refusal> {
    read_except_all(request, &[ignored])
}

/// Does the same as [`read`], but ignores the fields named in `ignored`, which may be repeated.
///
/// # Errors
/// The errors of [`read`].
pub(super) fn read_except_all(request: &Request, ignored: &[&str]) -> Result<BodyFields, Refusal> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let mut members = Map::new();
    for (name, text) in form.fields().iter().filter(|(name, _)| !ignored.contains(&name.as_str())) {
        let text = text.replace("\r\n", "\n");
        let is_repeated = members.insert(name.clone(), Value::String(text)).is_some();
        if is_repeated {
            return Err(Refusal::invalid(name, "must be given only once"));
        }
    }
    members.retain(|_, value| value.as_str().is_some_and(|text| !text.trim().is_empty()));
    Ok(BodyFields::new(members))
}

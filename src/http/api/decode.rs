//! Decoders that several endpoints share.

use crate::domain::refusal::Refusal;
use crate::domain::text::{EMAIL_MUST_BE, Email};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::request::Request;

/// Decodes a query parameter that is a word from a closed set.
///
/// # Errors
/// `validation_error` for any other word, and for a parameter that occurs more than once.
pub(in crate::http) fn word_param<T>(
    request: &Request,
    name: &str,
    words: &[&str],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let Some(text) = request.query(name)? else { return Ok(None) };
    let unknown = || Refusal::invalid(name, format!("must be one of {}", words.join(", ")));
    Ok(Some(parse(&text).ok_or_else(unknown)?))
}

/// Decodes the field `email`, which may be missing.
pub(in crate::http) fn email(fields: &mut BodyFields) -> Option<Email> {
    let text = fields.string("email");
    parse_email(fields, text)
}

/// Decodes the field `email`, which is required.
pub(in crate::http) fn required_email(fields: &mut BodyFields) -> Option<Email> {
    let text = fields.required_string("email");
    parse_email(fields, text)
}

fn parse_email(fields: &mut BodyFields, text: Option<String>) -> Option<Email> {
    Email::parse(&text?).or_else(|| fields.fault("email", format!("must be {EMAIL_MUST_BE}")))
}

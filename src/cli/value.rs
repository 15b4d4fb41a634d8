//! Parsers for flag values that several commands accept.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::domain::plain;
use crate::domain::text::{self, Email, NAME_CHARACTERS_MAX, Slug};
use crate::http;

/// Parses the public URL of the service, and returns it without a trailing slash.
pub(super) fn parse_base_url(text: &str) -> Result<String, String> {
    match http::origin(text) {
        Some(_) => Ok(text.trim_end_matches('/').to_owned()),
        None => Err("a base URL looks like https://jobs.example.com, without user, path, query or fragment; the \
                     service needs a host name of its own"
            .to_owned()),
    }
}

/// Parses the email address of an existing user. An address that is already stored is accepted, even if the current
/// rules would refuse it.
pub(super) fn parse_email(text: &str) -> Result<Email, String> {
    Email::parse_stored(text).ok_or_else(|| "an email address looks like ada@example.org".to_owned())
}

/// Parses an email address that may be new to the database. The address must follow the current rules.
pub(super) fn parse_new_email(text: &str) -> Result<Email, String> {
    Email::parse(text).ok_or_else(|| "an email address looks like ada@example.org".to_owned())
}

pub(super) fn parse_name(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text::characters(text) <= NAME_CHARACTERS_MAX;
    match plain::flaw_of_line(text) {
        Some(flaw) => Err(format!("a name {}", flaw.sentence())),
        None if fits => Ok(text.to_owned()),
        None => Err(format!("a name has 1 to {NAME_CHARACTERS_MAX} characters")),
    }
}

pub(super) fn parse_slug(text: &str) -> Result<Slug, String> {
    Slug::parse(text).ok_or_else(|| "a slug has 1 to 64 characters from a-z, 0-9 and -".to_owned())
}

/// Returns a clap parser for a closed set of words, which the help and the shell completions list.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words)
        .map(move |word| parse(&word).expect("clap accepts only these words, and each of them parses"))
}

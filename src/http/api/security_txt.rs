//! `GET /.well-known/security.txt`: the contacts for security reports (RFC 9116).

use std::time::Duration;

use hyper::{Method, Uri};

use crate::domain::refusal::Refusal;
use crate::domain::text::Email;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::{Error, Tx};

/// The time from now to `Expires`. The response is rendered for each request, so only a copy of it can expire. RFC 9116
/// §2.5.5 recommends less than a year.
const VALID_FOR: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// The maximum number of bytes in a contact: more than any real contact has.
const CONTACT_BYTES_MAX: usize = 500;

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Api, Method::GET, "/.well-known/security.txt", decode, get)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

/// # Errors
/// `not_found` if the operator has not configured a contact.
fn decode(ctx: &Ctx, _: &Request) -> Result<(), Error> {
    if ctx.settings.security_contacts.is_empty() {
        return Err(Refusal::NotFound("this service has no contact for security reports").into());
    }
    Ok(())
}

/// `GET /.well-known/security.txt`: returns the contacts that the operator has configured, the time at which a copy
/// expires and, with an https base URL, the canonical URL.
#[expect(clippy::unnecessary_wraps, reason = "handlers have this type, although this handler cannot refuse")]
fn get(ctx: &Ctx, _: &Tx<'_>, (): &()) -> Result<Reply, Error> {
    let mut text = String::new();
    for contact in &ctx.settings.security_contacts {
        text.push_str(&format!("Contact: {contact}\n"));
    }
    text.push_str(&format!("Expires: {}\n", ctx.world.now().plus(VALID_FOR)));
    if ctx.settings.is_https() {
        text.push_str(&format!("Canonical: {}/.well-known/security.txt\n", ctx.settings.base_url));
    }
    Ok(Reply::text(text))
}

/// Parses a contact into a URI (RFC 9116 §2.5.3): an `https:` URL, a `mailto:` URI or a `tel:` URI. A bare email
/// address becomes a `mailto:` URI. Returns `None` for anything else.
pub fn parse_contact(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = text.len() <= CONTACT_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_email = |address: &str| Email::parse(address).is_some() && !address.contains([':', '/', '<', '>']);
    let is_number = |number: &str| {
        let digits = number.strip_prefix('+').unwrap_or(number);
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    let is_uri = match text.split_once(':') {
        Some(("https", rest)) => rest.starts_with("//") && text.parse::<Uri>().is_ok_and(|uri| uri.host().is_some()),
        Some(("mailto", address)) => is_email(address.split('?').next().unwrap_or_default()),
        Some(("tel", number)) => is_number(number),
        _ => false,
    };
    match () {
        () if !is_plain => None,
        () if is_uri => Some(text.to_owned()),
        () if is_email(text) && !text.contains('?') => Some(format!("mailto:{text}")),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_contact;

    #[test]
    fn contacts_are_uris_or_email_addresses() {
        for (text, uri) in [
            ("security@example.com", "mailto:security@example.com"),
            (" security@example.com ", "mailto:security@example.com"),
            ("mailto:security@example.com", "mailto:security@example.com"),
            ("mailto:a@example.com?subject=x", "mailto:a@example.com?subject=x"),
            ("https://example.com/security", "https://example.com/security"),
            ("tel:+1-201-555-0123", "tel:+1-201-555-0123"),
        ] {
            assert_eq!(parse_contact(text).as_deref(), Some(uri), "{text}");
        }
        let long = format!("https://example.com/{}", "a".repeat(500));
        for bad in [
            "",
            " ",
            "security",
            "@",
            "http://example.com",
            "https://",
            "https:",
            "mailto:",
            "mailto:a",
            "tel:",
            "tel:a",
            "tel:+",
            "javascript:alert(1)",
            "a@b.example\nContact: x",
            "<a@b.example>",
            "a b@c.example",
            &long,
        ] {
            assert_eq!(parse_contact(bad), None, "{bad:?}");
        }
    }
}

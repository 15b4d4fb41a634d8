//! The `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header). For a day, the service carries out a
//! request with a key only once. It answers a repeat with the stored response, or refuses the repeat if that response
//! cannot be sent again.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::id::CandidateId;
use super::refusal::Refusal;
use super::timestamp::Timestamp;

/// The maximum number of characters in a key.
pub const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 255;

/// The time for which responses are stored. Callers rarely retry for longer than a day.
pub const STORED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A caller's name for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Parses the header field: a structured-field string (RFC 9651 §3.3.3), or the bare string that many programs
    /// send. Returns `None` for anything else, or if the key does not have 1 to 255 printable ASCII characters.
    pub fn parse(field: &str) -> Option<Self> {
        let field = field.trim_matches([' ', '\t']);
        let text = match field.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => field.to_owned(),
        };
        let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        (is_printable && (1..=IDEMPOTENCY_KEY_CHARACTERS_MAX).contains(&text.len())).then_some(Self(text))
    }

    /// Returns the key without quotes and escapes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the string before the closing quote, which must be the last character.
fn unquoted(quoted: &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return characters.as_str().is_empty().then_some(text),
            '\\' => text.push(characters.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            other => text.push(other),
        }
    }
}

/// Returns the fingerprint of a request: a digest of its method, path, query and canonical body. Each part is preceded
/// by its length, so different parts never produce the same input to the hash function.
pub fn fingerprint(parts: [&[u8]; 4]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// Returns the string that replaces a key when the candidate whom the request concerned is erased. With this string,
/// the service still recognizes a repeat.
pub fn erased_key(key: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    digest.iter().fold(String::from("erased:"), |text, byte| text + &format!("{byte:02x}"))
}

/// The stored response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The fingerprint of the request.
    pub fingerprint: [u8; 32],
    /// The status of the response.
    pub status: u16,
    /// The body of the response.
    pub answer: StoredBody,
    /// The candidate whom the request concerned, if there was exactly one. The candidate's erasure erases the response.
    pub candidate_id: Option<CandidateId>,
}

/// The stored part of a response body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredBody {
    /// The whole body.
    Whole(String),
    /// The body contained a secret, so only the id of the created resource is stored.
    Secret(String),
    /// The body was erased together with the candidate's data.
    Erased,
}

impl StoredResponse {
    /// Returns the body for a repeat with this fingerprint. An erased response has no usable fingerprint, so each
    /// repeat is refused.
    ///
    /// # Errors
    /// `gone` if the response was erased; `idempotency_key_reused` if the request differs; `conflict`, with the id of
    /// the created resource, if the response contained a secret.
    pub fn answer_to(&self, fingerprint: &[u8; 32]) -> Result<&str, Refusal> {
        match &self.answer {
            StoredBody::Erased => {
                Err(Refusal::Gone("the stored response was erased together with the candidate's data"))
            }
            _ if self.fingerprint != *fingerprint => Err(Refusal::IdempotencyKeyReused),
            StoredBody::Secret(id) => Err(Refusal::CreatedBefore(id.clone())),
            StoredBody::Whole(text) => Ok(text),
        }
    }
}

/// Returns the time that is [`STORED_FOR`] before `now`. Responses that were stored after this time are valid.
pub fn valid_since(now: Timestamp) -> Timestamp {
    now.minus(STORED_FOR)
}

/// Returns whether a refusal is stored for repeats. Only refusals that follow from the request or from the state of the
/// resource are stored. Refusals that depend on the caller's rights are not stored, because each repeat checks these
/// rights again. A 404 can depend on the rights too, because hidden resources look like missing ones.
pub fn is_storable(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::BadRequest(..)
            | Refusal::Invalid(_)
            | Refusal::Conflict(_)
            | Refusal::ConflictWith(_)
            | Refusal::Gone(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_structured_field_strings_or_bare_strings() {
        let longest = "k".repeat(255);
        for (field, expected) in [
            ("abc", "abc"),
            ("\"abc\"", "abc"),
            (" \"abc\"\t", "abc"),
            ("\"a \\\" b \\\\\"", "a \" b \\"),
            ("8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
            ("a \"b\" ~!", "a \"b\" ~!"),
            ("\" \"", " "),
            (&longest, &longest),
            (&format!("\"{longest}\""), &longest),
        ] {
            assert_eq!(IdempotencyKey::parse(field).map(|key| key.0).as_deref(), Some(expected), "{field}");
        }
        let over = format!("{longest}k");
        for field in
            ["", " ", "\"", "\"\"", "\"abc", "\"abc\"d", "\"a\";b=1", "\"a\\b\"", "\"a\\", "ä", "a\u{7f}", &over]
        {
            assert_eq!(IdempotencyKey::parse(field), None, "{field:?}");
        }
    }

    #[test]
    fn a_fingerprint_depends_on_each_part_and_its_length() {
        let parts: [[&[u8]; 4]; 6] = [
            [b"POST", b"/a", b"", b"{}"],
            [b"PUT", b"/a", b"", b"{}"],
            [b"POST", b"/", b"a", b"{}"],
            [b"POST", b"/a", b"x", b"{}"],
            [b"POST", b"/a", b"", b"{ }"],
            [b"POST", b"/a", b"{}", b""],
        ];
        let mut fingerprints = parts.map(fingerprint).to_vec();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), parts.len());
    }

    #[test]
    fn the_answer_to_a_repeat_depends_on_the_stored_body_and_the_fingerprint() {
        let stored =
            |answer: StoredBody| StoredResponse { fingerprint: [1; 32], status: 200, answer, candidate_id: None };
        let (same, other) = ([1; 32], [2; 32]);
        let whole = stored(StoredBody::Whole("{}".to_owned()));
        assert_eq!(whole.answer_to(&same), Ok("{}"));
        assert_eq!(whole.answer_to(&other), Err(Refusal::IdempotencyKeyReused));
        let secret = stored(StoredBody::Secret("key_1".to_owned()));
        assert_eq!(secret.answer_to(&same), Err(Refusal::CreatedBefore("key_1".to_owned())));
        assert_eq!(secret.answer_to(&other), Err(Refusal::IdempotencyKeyReused));
        for fingerprint in [same, other] {
            assert!(matches!(stored(StoredBody::Erased).answer_to(&fingerprint), Err(Refusal::Gone(_))));
        }
    }

    #[test]
    fn only_refusals_that_follow_from_the_request_or_the_state_are_stored() {
        for (refusal, expected) in [
            (Refusal::bad_request("positions already filled"), true),
            (Refusal::invalid("name", "is taken"), true),
            (Refusal::NotFound(""), false),
            (Refusal::Conflict(""), true),
            (Refusal::ConflictWith(String::new()), true),
            (Refusal::Gone(""), true),
            (Refusal::PreconditionFailed(Vec::new()), false),
            (Refusal::UnknownVersion(None), false),
            (Refusal::Forbidden(""), false),
            (Refusal::Unauthorized { sent: true }, false),
            (Refusal::KeyRequired, false),
            (Refusal::RateLimited { retry_after_s: 1 }, false),
            (Refusal::IdempotencyKeyReused, false),
            (Refusal::PayloadTooLarge(1), false),
            (Refusal::UnsupportedMediaType, false),
            (Refusal::UnsupportedContent(""), false),
        ] {
            assert_eq!(is_storable(&refusal), expected, "{refusal:?}");
        }
    }
}

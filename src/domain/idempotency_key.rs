//! Requests that are carried out once, however often they are sent: the `Idempotency-Key` of a request
//! (draft-ietf-httpapi-idempotency-key-header), and what a repeat is given.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::id::CandidateId;
use super::refusal::Refusal;
use super::timestamp::Timestamp;

/// The longest key, in characters.
pub const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 255;

/// How long an answer is kept for a repeat: longer than any client tries again.
pub const STORED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// What a caller names a request by, so that it is carried out once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key of a header field: a string of structured fields (RFC 9651 §3.3.3), or the bare text, as many clients send
    /// it. `None` where it is neither, or not 1 to 255 printable characters.
    pub fn parse(field: &str) -> Option<Self> {
        let field = field.trim_matches([' ', '\t']);
        let text = match field.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => field.to_owned(),
        };
        let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        (is_printable && (1..=IDEMPOTENCY_KEY_CHARACTERS_MAX).contains(&text.len())).then_some(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What stands before the closing quote, which must be the end.
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

/// What tells one request from another: its method, path, query and body. Each is told with its length, so no two
/// requests read the same.
pub fn fingerprint(parts: [&[u8]; 4]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// What a key is kept as once the candidate is erased whom its request was about: enough to know it again.
pub fn erased_key(key: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    digest.iter().fold(String::from("erased:"), |text, byte| text + &format!("{byte:02x}"))
}

/// What a request was answered, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// Of what was asked.
    pub fingerprint: [u8; 32],
    /// The answer's status.
    pub status: u16,
    /// The answer's body.
    pub answer: StoredBody,
    /// Whose personal data the answer has.
    pub candidate_id: Option<CandidateId>,
}

/// The body of an answer, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredBody {
    /// The whole of it.
    Whole(String),
    /// It held a secret, so only the id of what was made is kept.
    Secret(String),
    /// It was erased, with the candidate whom it was about.
    Erased,
}

impl StoredResponse {
    /// What a repeat is given. An answer that was erased is gone whatever was asked, because what was asked is not known
    /// any more.
    ///
    /// # Errors
    /// `gone` where it was erased; `idempotency_key_reused` where something else is asked; `conflict` where the answer held
    /// a secret, naming what was made.
    pub fn answer_to(&self, fingerprint: &[u8; 32]) -> Result<&str, Refusal> {
        match &self.answer {
            StoredBody::Erased => Err(Refusal::Gone("the answer was erased with the candidate whom it was about")),
            _ if self.fingerprint != *fingerprint => Err(Refusal::IdempotencyKeyReused),
            StoredBody::Secret(id) => Err(Refusal::MadeBefore(id.clone())),
            StoredBody::Whole(text) => Ok(text),
        }
    }
}

/// The time after which an answer that was kept then still counts.
pub fn valid_since(now: Timestamp) -> Timestamp {
    let kept_for = i64::try_from(STORED_FOR.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.micros().saturating_sub(kept_for))
}

/// Whether a refusal is stored for repeats: one that came of the state of things. A caller's rights are asked anew each time,
/// and so is every 404: a thing that the caller may not see is answered like one that is not there.
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
    fn a_key_is_a_string_of_structured_fields_or_bare_text() {
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
    fn a_fingerprint_depends_on_every_part_and_on_where_it_ends() {
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
    fn a_repeat_is_given_what_is_kept() {
        let kept =
            |answer: StoredBody| StoredResponse { fingerprint: [1; 32], status: 200, answer, candidate_id: None };
        let (same, other) = ([1; 32], [2; 32]);
        let whole = kept(StoredBody::Whole("{}".to_owned()));
        assert_eq!(whole.answer_to(&same), Ok("{}"));
        assert_eq!(whole.answer_to(&other), Err(Refusal::IdempotencyKeyReused));
        let secret = kept(StoredBody::Secret("key_1".to_owned()));
        assert_eq!(secret.answer_to(&same), Err(Refusal::MadeBefore("key_1".to_owned())));
        assert_eq!(secret.answer_to(&other), Err(Refusal::IdempotencyKeyReused));
        for fingerprint in [same, other] {
            assert!(matches!(kept(StoredBody::Erased).answer_to(&fingerprint), Err(Refusal::Gone(_))));
        }
    }

    #[test]
    fn only_what_came_of_the_state_of_things_is_kept() {
        for (refusal, kept) in [
            (Refusal::bad_request("positions already filled"), true),
            (Refusal::invalid("name", "is taken"), true),
            (Refusal::NotFound(""), false),
            (Refusal::Conflict(""), true),
            (Refusal::ConflictWith(String::new()), true),
            (Refusal::Gone(""), true),
            (Refusal::Forbidden(""), false),
            (Refusal::Unauthorized { sent: true }, false),
            (Refusal::RateLimited { retry_after_s: 1 }, false),
            (Refusal::IdempotencyKeyReused, false),
            (Refusal::PayloadTooLarge(1), false),
            (Refusal::UnsupportedMediaType, false),
            (Refusal::UnsupportedContent(""), false),
        ] {
            assert_eq!(is_storable(&refusal), kept, "{refusal:?}");
        }
    }
}

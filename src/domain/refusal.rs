//! The closed list of refusals. One `match` in the `http` module maps each refusal to its status.

use super::api_key::scope::Scope;
use super::role_version::{self, LaterChange};

/// An invalid field and the reason, in words for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's name in the request.
    pub field: String,
    /// The defect and the valid form, as a sentence without its subject.
    pub detail: String,
}

/// The ways in which a user can confirm their identity, and the page that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// Whether the user has an authenticator app.
    pub has_totp: bool,
    /// Whether the user has a passkey. A user without an app and without a passkey enters the password.
    pub has_passkey: bool,
    /// The page to which the user returns after the confirmation; `None` to repeat the request.
    pub return_to: Option<&'static str>,
    /// The user's language, if they chose one.
    pub language: Option<String>,
}

/// Joins field errors into one sentence.
pub fn sentences(errors: &[FieldError]) -> String {
    let sentences: Vec<String> = errors.iter().map(|error| format!("{} {}", error.field, error.detail)).collect();
    sentences.join("; ")
}

/// The reason why a request or an import was refused. All messages are safe to show to the caller: they contain no
/// secrets and no SQL. Only refusals of imports contain file paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The syntax is invalid, or a decision breaks a rule (`bad_request`).
    BadRequest(String, Vec<FieldError>),
    /// Fields are missing or invalid (`validation_error`).
    Invalid(Vec<FieldError>),
    /// The request has no valid credential.
    Unauthorized {
        /// Whether the request had a credential.
        sent: bool,
    },
    /// The request has a session, but the endpoint accepts only API keys (`unauthorized`). The refusal is the same for
    /// a session that has ended, so it does not reveal whether a session is valid.
    KeyRequired,
    /// The API key lacks this scope.
    InsufficientScope(Scope),
    /// The credential is valid, but its user does not have the necessary rights.
    Forbidden(&'static str),
    /// A browser sent the request from a page of another origin. The usual cause is a `--base-url` that is not the
    /// address in the browser.
    OtherOrigin {
        /// The origin of the page.
        page: String,
        /// The origin of `--base-url`.
        own: String,
    },
    /// The signed-in user must have a second factor, and has none.
    SecondFactorMissing,
    /// The act requires that the user confirms their identity first.
    ConfirmationRequired(Confirmation),
    /// The resource does not exist, or the caller may not see it.
    NotFound(&'static str),
    /// The path exists, but does not accept this method. The text is the value of the `Allow` field.
    MethodNotAllowed(String),
    /// The state of the resource does not allow the request.
    Conflict(&'static str),
    /// Like [`Refusal::Conflict`], with a message that names the state.
    ConflictWith(String),
    /// An earlier request with the same `Idempotency-Key` succeeded. Its response contained a secret and was not
    /// stored. The value is the id of the created resource.
    CreatedBefore(String),
    /// The resource or link is no longer available, or the service does not know the state that the caller names.
    Gone(&'static str),
    /// The resource is no longer at a version that `If-Match` names. The value lists the changes since that version,
    /// newest first.
    PreconditionFailed(Vec<LaterChange>),
    /// `If-Match` names no version that the resource is known to have had. The value is the newest change, if any.
    UnknownVersion(Option<Box<LaterChange>>),
    /// An earlier, different request used this `Idempotency-Key`.
    IdempotencyKeyReused,
    /// The body is larger than this many bytes.
    PayloadTooLarge(usize),
    /// The request target is longer than this many bytes.
    UriTooLong(usize),
    /// The body must be JSON, but is not.
    UnsupportedMediaType,
    /// The body must be a form, but is not.
    UnsupportedFormType {
        /// Whether the endpoint also accepts JSON.
        accepts_json: bool,
    },
    /// The endpoint accepts only content of another kind, such as an image.
    UnsupportedContent(&'static str),
    /// The body has a `Content-Encoding`.
    ContentEncoding,
    /// The request has too many header fields, or they are too long.
    HeadersTooLarge,
    /// A resource, such as disk space for attachments, has temporarily run out.
    Unavailable {
        /// Whole seconds after which a retry makes sense.
        retry_after_s: u64,
        /// The exhausted resource, and what the caller can do.
        detail: &'static str,
    },
    /// The service is unhealthy. The text names the failing parts.
    NotReady(String),
    /// The caller has sent too many requests, or has tried to sign in too many times.
    RateLimited {
        /// Whole seconds to wait, at least 1.
        retry_after_s: u64,
    },
}

impl Refusal {
    /// Creates a refusal of the whole request (`bad_request`).
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::BadRequest(detail.into(), Vec::new())
    }

    /// Creates a refusal of one field (`validation_error`).
    pub fn invalid(field: &str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { field: field.to_owned(), detail: detail.into() }])
    }

    /// Combines two results, so that a caller learns about all invalid fields at once.
    ///
    /// # Errors
    /// Returns the first refusal. If the first refusal is about fields and the second is a `validation_error`, the
    /// returned refusal lists the fields of both.
    pub fn both<A, B>(first: Result<A, Self>, second: Result<B, Self>) -> Result<(A, B), Self> {
        match (first, second) {
            (Err(Self::Invalid(mut errors)), Err(Self::Invalid(more))) => {
                errors.extend(more);
                Err(Self::Invalid(errors))
            }
            (Err(Self::BadRequest(_, mut errors)), Err(Self::Invalid(more))) if !errors.is_empty() => {
                errors.extend(more);
                Err(Self::BadRequest(sentences(&errors), errors))
            }
            (first, second) => Ok((first?, second?)),
        }
    }

    /// Returns the invalid fields, if any.
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Self::BadRequest(_, errors) | Self::Invalid(errors) => errors,
            _ => &[],
        }
    }

    /// Returns the changes that the caller has not seen, if the refusal names any.
    pub fn later_changes(&self) -> &[LaterChange] {
        match self {
            Self::PreconditionFailed(changes) => changes,
            Self::UnknownVersion(newest) => newest.as_deref().map_or(&[], std::slice::from_ref),
            _ => &[],
        }
    }

    /// Returns the sentence for the caller: the problem and, where possible, the next step.
    pub fn sentence(&self) -> String {
        match self {
            Self::BadRequest(detail, _) | Self::ConflictWith(detail) | Self::NotReady(detail) => detail.clone(),
            Self::Invalid(errors) => sentences(errors),
            Self::Unauthorized { .. } => "this request needs a valid API key or session".to_owned(),
            Self::KeyRequired => {
                "this endpoint needs an API key; the session of a browser is not accepted here".to_owned()
            }
            Self::SecondFactorMissing => {
                "your account needs a second factor; set one up at /app/me/second-factor".to_owned()
            }
            Self::ConfirmationRequired(_) => {
                "this act requires that you have confirmed your identity within the last 10 minutes, with a second factor \
                 or, if you have none, with the password"
                    .to_owned()
            }
            Self::InsufficientScope(scope) => {
                format!("the key lacks the scope {}; ask an admin for a key that has it", scope.as_str())
            }
            Self::Forbidden(detail)
            | Self::NotFound(detail)
            | Self::Conflict(detail)
            | Self::Gone(detail)
            | Self::UnsupportedContent(detail)
            | Self::Unavailable { detail, .. } => (*detail).to_owned(),
            Self::OtherOrigin { page, own } => format!(
                "the request comes from a page that was opened at {page}, but this service is configured for {own}; \
                 open {own}, or change --base-url"
            ),
            Self::CreatedBefore(id) => format!(
                "an earlier request with this Idempotency-Key created {id}; its response contained a secret and was not stored. \
                 If the secret is lost, revoke {id} and repeat the request with another Idempotency-Key"
            ),
            Self::PreconditionFailed(changes) => role_version::refusal_sentence(changes),
            Self::UnknownVersion(newest) => role_version::unknown_version_sentence(newest.as_deref()),
            Self::IdempotencyKeyReused => "this Idempotency-Key was used for another request; use a new one".to_owned(),
            Self::MethodNotAllowed(allow) => format!("this path accepts {allow}"),
            Self::PayloadTooLarge(bytes_max) => format!("the body must be at most {bytes_max} bytes"),
            Self::UriTooLong(bytes_max) => format!("the request target must be at most {bytes_max} bytes"),
            Self::UnsupportedMediaType => "the body must be JSON; send Content-Type: application/json".to_owned(),
            Self::UnsupportedFormType { accepts_json } => format!(
                "the body must be a form; send Content-Type: multipart/form-data{}",
                if *accepts_json { ", or application/json" } else { "" }
            ),
            Self::ContentEncoding => "the body must have no Content-Encoding".to_owned(),
            Self::HeadersTooLarge => {
                "the request may have at most 100 header fields with 16384 bytes in total".to_owned()
            }
            Self::RateLimited { retry_after_s } => format!("too many requests; try again in {retry_after_s} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_about_fields_name_each_field_and_its_defect() {
        let field = |field: &str, detail: &str| FieldError { field: field.to_owned(), detail: detail.to_owned() };
        let errors = vec![field("name", "is required"), field("scopes", "must be a list")];
        let sentence = "name is required; scopes must be a list";
        assert_eq!(sentences(&errors), sentence);
        assert_eq!(Refusal::Invalid(errors).sentence(), sentence);
        assert_eq!(Refusal::invalid("limit", "must be an integer").sentence(), "limit must be an integer");
        assert_eq!(Refusal::RateLimited { retry_after_s: 3 }.sentence(), "too many requests; try again in 3 s");
    }
}

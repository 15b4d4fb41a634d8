//! The closed list of what the service says no with. Which HTTP status each becomes is decided in one place above.

use super::api_key::Scope;

/// One field that is at fault, and why, in words for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's name in the request.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub detail: String,
}

/// Why a request was not carried out. Every text is for the caller: no secret, no SQL, no path of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The syntax is broken, or a decision breaks a rule (`bad_request`).
    BadRequest(String, Vec<FieldError>),
    /// Fields are missing, of a wrong type or out of range (`validation_error`).
    Invalid(Vec<FieldError>),
    /// No credential, or one that does not count. The flag says whether one was sent.
    Unauthorized {
        /// Whether the request carried a credential at all.
        sent: bool,
    },
    /// The key lacks the scope.
    InsufficientScope(Scope),
    /// The caller may not do this.
    Forbidden(&'static str),
    /// There is no such thing, or the caller may not see it.
    NotFound(&'static str),
    /// The path is there, the method is not. Holds what is allowed, for the `Allow` field.
    MethodNotAllowed(String),
    /// The state of the thing does not allow it.
    Conflict(&'static str),
    /// The body is larger than this many bytes.
    PayloadTooLarge(usize),
    /// The target is longer than this many bytes.
    UriTooLong(usize),
    /// The body is of another type than JSON.
    UnsupportedMediaType,
    /// The header fields are more, or longer, than is read.
    HeadersTooLarge,
    /// Too many requests, or sign-ins. Holds the whole seconds after which the next one passes.
    RateLimited {
        /// Whole seconds to wait, at least 1.
        retry_after_s: u64,
    },
}

impl Refusal {
    /// A `bad_request` about the request as a whole.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::BadRequest(detail.into(), Vec::new())
    }

    /// A `validation_error` about one field.
    pub fn invalid(field: &str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { field: field.to_owned(), detail: detail.into() }])
    }

    /// Both values.
    ///
    /// # Errors
    /// A `validation_error` with all fields of both, where both are one; otherwise the first refusal of the two.
    pub fn both<A, B>(first: Result<A, Self>, second: Result<B, Self>) -> Result<(A, B), Self> {
        match (first, second) {
            (Err(Self::Invalid(mut errors)), Err(Self::Invalid(more))) => {
                errors.extend(more);
                Err(Self::Invalid(errors))
            }
            (first, second) => Ok((first?, second?)),
        }
    }
}

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

/// One sentence about all of them.
pub fn sentences(errors: &[FieldError]) -> String {
    let sentences: Vec<String> = errors.iter().map(|error| format!("{} {}", error.field, error.detail)).collect();
    sentences.join("; ")
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
    /// The same, in words that tell what the state is.
    ConflictWith(String),
    /// The request was carried out before, and its answer, which held a secret, is not kept. Holds the id of what it made.
    MadeBefore(String),
    /// It was there and is not any more.
    Gone(&'static str),
    /// The `Idempotency-Key` came with another request before.
    IdempotencyKeyReused,
    /// The body is larger than this many bytes.
    PayloadTooLarge(usize),
    /// The target is longer than this many bytes.
    UriTooLong(usize),
    /// The body is of another type than JSON.
    UnsupportedMediaType,
    /// The body is of another type than a form's.
    UnsupportedFormType {
        /// Whether it could have been JSON.
        takes_json: bool,
    },
    /// The body is not what is taken here instead of JSON.
    UnsupportedContent(&'static str),
    /// The body has a `Content-Encoding`.
    ContentEncoding,
    /// The header fields are more, or longer, than is read.
    HeadersTooLarge,
    /// Not now: some resource is short, such as room for files.
    Unavailable {
        /// Whole seconds after which another try is worth it.
        retry_after_s: u64,
        /// What is short and what to do.
        detail: &'static str,
    },
    /// The service does not work as it should. Names what fails.
    NotReady(String),
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
    /// A refusal as the first, with all fields of both, where both are about fields; otherwise the first of the two.
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

    /// The fields at fault, where there are any.
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Self::BadRequest(_, errors) | Self::Invalid(errors) => errors,
            _ => &[],
        }
    }

    /// What the caller is told: what is wrong, and what to do next where there is something to do.
    pub fn sentence(&self) -> String {
        match self {
            Self::BadRequest(detail, _) | Self::ConflictWith(detail) | Self::NotReady(detail) => detail.clone(),
            Self::Invalid(errors) => sentences(errors),
            Self::Unauthorized { .. } => "a valid API key or session is needed for this".to_owned(),
            Self::InsufficientScope(scope) => {
                format!("the key lacks the scope {}; ask an admin for a key that has it", scope.as_str())
            }
            Self::Forbidden(detail)
            | Self::NotFound(detail)
            | Self::Conflict(detail)
            | Self::Gone(detail)
            | Self::UnsupportedContent(detail)
            | Self::Unavailable { detail, .. } => (*detail).to_owned(),
            Self::MadeBefore(id) => format!(
                "the request with this Idempotency-Key has made {id}; its answer held a secret and is not kept. Where it is \
                 lost, revoke what was made, and ask again under another key"
            ),
            Self::IdempotencyKeyReused => {
                "this Idempotency-Key was used for another request; take a new one".to_owned()
            }
            Self::MethodNotAllowed(allow) => format!("this path takes {allow}"),
            Self::PayloadTooLarge(bytes_max) => format!("the body must be at most {bytes_max} bytes"),
            Self::UriTooLong(bytes_max) => format!("the target must be at most {bytes_max} bytes"),
            Self::UnsupportedMediaType => "the body must be JSON; send Content-Type: application/json".to_owned(),
            Self::UnsupportedFormType { takes_json } => format!(
                "the body must be a form; send Content-Type: multipart/form-data{}",
                if *takes_json { ", or application/json" } else { "" }
            ),
            Self::ContentEncoding => "the body must be sent as it is, without a Content-Encoding".to_owned(),
            Self::HeadersTooLarge => "the header fields must be at most 100 and 16384 bytes together".to_owned(),
            Self::RateLimited { retry_after_s } => format!("too many requests; try again in {retry_after_s} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_about_fields_names_each_with_what_is_wrong() {
        let field = |field: &str, detail: &str| FieldError { field: field.to_owned(), detail: detail.to_owned() };
        let errors = vec![field("name", "is required"), field("scopes", "must be a list")];
        let sentence = "name is required; scopes must be a list";
        assert_eq!(sentences(&errors), sentence);
        assert_eq!(Refusal::Invalid(errors).sentence(), sentence);
        assert_eq!(Refusal::invalid("limit", "must be an integer").sentence(), "limit must be an integer");
        assert_eq!(Refusal::RateLimited { retry_after_s: 3 }.sentence(), "too many requests; try again in 3 s");
    }
}

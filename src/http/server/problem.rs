//! The content of problem documents (RFC 9457). The `reply` module decides their statuses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::domain::refusal::FieldError;
use crate::store::Error;

/// Returns the message for the caller, and the invalid fields. The message names the error and, if there is one, the
/// next step.
pub(super) fn detail_and_fields(error: &Error) -> (String, &[FieldError]) {
    match error {
        Error::Full(_) => {
            ("the disk of the service is full and nothing was changed; try again later".to_owned(), &[])
        }
        Error::Unavailable(_) => {
            ("the service cannot do this right now and nothing was changed; try again later".to_owned(), &[])
        }
        Error::OutcomeUnknown(_) => (
            "the disk failed during this request, so the change may or may not have been saved; check before you send the request again"
                .to_owned(),
            &[],
        ),
        Error::Defect(_) => ("the service failed; its log has the id of this request".to_owned(), &[]),
        Error::Refused(refusal) => (refusal.sentence(), refusal.errors()),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireProblem<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Cow<'a, str>,
    pub(super) title: Cow<'a, str>,
    pub(super) status: u16,
    pub(super) detail: Cow<'a, str>,
    pub(super) success: bool,
    pub(super) code: Cow<'a, str>,
    pub(super) request_id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<WireFieldError<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireFieldError<'a> {
    pub(super) field: Cow<'a, str>,
    pub(super) detail: Cow<'a, str>,
}

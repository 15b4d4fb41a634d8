//! What a problem document says (RFC 9457). Its status is not decided here.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::domain::refusal::FieldError;
use crate::store::Error;

/// What the caller is told: what is wrong, what to do next where there is something to do, and the fields at fault.
pub(in crate::http) fn words(error: &Error) -> (String, &[FieldError]) {
    match error {
        Error::Full(_) => {
            ("the service has no room on its disk right now and nothing was changed; try again later".to_owned(), &[])
        }
        Error::Unavailable(_) => {
            ("the service cannot do this right now and nothing was changed; try again later".to_owned(), &[])
        }
        Error::OutcomeUnknown(_) => (
            "the disk failed while this was saved, and whether it was carried out is unknown; look before you send it again"
                .to_owned(),
            &[],
        ),
        Error::Defect(_) => ("something went wrong here; the request's id is in the service's log".to_owned(), &[]),
        Error::Refused(refusal) => (refusal.sentence(), refusal.errors()),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireProblem<'a> {
    #[serde(rename = "type")]
    pub(in crate::http) kind: Cow<'a, str>,
    pub(in crate::http) title: Cow<'a, str>,
    pub(in crate::http) status: u16,
    pub(in crate::http) detail: Cow<'a, str>,
    pub(in crate::http) success: bool,
    pub(in crate::http) code: Cow<'a, str>,
    pub(in crate::http) request_id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::http) errors: Vec<WireFieldError<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::http) struct WireFieldError<'a> {
    pub(in crate::http) field: Cow<'a, str>,
    pub(in crate::http) detail: Cow<'a, str>,
}

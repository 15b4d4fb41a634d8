//! The content of problem documents (RFC 9457). The `reply` module sets their statuses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::role_version::{ChangeAuthor, LaterChange};
use crate::store::Error;

/// Returns the message for the caller, and the invalid fields. The message names the error and, if there is one, the
/// next step.
fn detail_and_fields(error: &Error) -> (String, &[FieldError]) {
    match error {
        Error::Full(_) => ("the disk of the service is full and nothing was changed; try again later".to_owned(), &[]),
        Error::Unavailable(_) => {
            ("the service cannot do this right now and nothing was changed; try again later".to_owned(), &[])
        }
        Error::OutcomeUnknown(_) => (
            "the database failed during this request, so the change may or may not have been saved; check before you \
             send the request again"
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
    /// The changes that the caller has not seen, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<WireChange<'a>>,
}

impl<'a> WireProblem<'a> {
    pub(super) fn of(error: &'a Error, status: u16, title: &'a str, code: &'a str, request_id: &'a str) -> Self {
        let (detail, errors) = detail_and_fields(error);
        let changes = match error {
            Error::Refused(refusal) => Refusal::later_changes(refusal),
            _ => &[],
        };
        let wire_error =
            |error: &'a FieldError| WireFieldError { field: (&error.field).into(), detail: (&error.detail).into() };
        Self {
            kind: "about:blank".into(),
            title: title.into(),
            status,
            detail: detail.into(),
            success: false,
            code: code.into(),
            request_id: request_id.into(),
            errors: errors.iter().map(wire_error).collect(),
            changes: changes.iter().map(WireChange::new).collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireChange<'a> {
    activity_id: Cow<'a, str>,
    action: Cow<'a, str>,
    at: String,
    by: Option<WireAuthor<'a>>,
    members: Vec<Cow<'a, str>>,
}

impl<'a> WireChange<'a> {
    fn new(change: &'a LaterChange) -> Self {
        let LaterChange { activity_id, action, at, by, members } = change;
        let wire_author = |by: &'a ChangeAuthor| WireAuthor { id: (&by.id).into(), name: (&by.name).into() };
        Self {
            activity_id: activity_id.as_str().into(),
            action: action.into(),
            at: at.to_string(),
            by: by.as_ref().map(wire_author),
            members: members.iter().map(Into::into).collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct WireAuthor<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireFieldError<'a> {
    pub(super) field: Cow<'a, str>,
    pub(super) detail: Cow<'a, str>,
}

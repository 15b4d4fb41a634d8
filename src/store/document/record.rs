//! Who opened an attachment, on record.

use serde::Serialize;

use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::AttachmentId;
use crate::domain::user::Principal;
use crate::store::activity;

/// Puts on record that staff opened an attachment of a candidate. By its id: its name may be the candidate's.
///
/// # Errors
/// When SQLite fails.
pub fn record_opened(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    subject: &Subject,
    document: &AttachmentId,
) -> Result<(), Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Opened<'a> {
        document_id: &'a str,
    }
    let detail = activity::detail(&None::<()>, &Opened { document_id: document.as_str() })?;
    activity::append(tx, stamp, Some(who), Action::DocumentOpened, subject, &detail)
}

//! The activity row of a download by staff.

use serde::Serialize;

use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::AttachmentId;
use crate::domain::user::Principal;
use crate::store::activity;

/// Records that staff opened an attachment of a candidate. The row contains the attachment's id instead of its file
/// name, which may contain the candidate's name.
pub fn record_opened(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    subject: &Subject,
    attachment: &AttachmentId,
) -> Result<(), Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Opened<'a> {
        document_id: &'a str,
    }
    let detail = activity::detail(&None::<()>, &Opened { document_id: attachment.as_str() })?;
    activity::append(tx, stamp, Some(who), Action::AttachmentOpened, subject, &detail)
}

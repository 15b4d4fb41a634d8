//! The activity rows for attachments that staff opened.

use serde::Serialize;

use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::{AttachmentId, CandidateId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::store::activity;

/// Records that staff opened an attachment of a candidate. The row contains the attachment's id instead of its file
/// name, which often contains the candidate's name.
pub fn record_opened(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    subject: &Subject,
    attachment: &AttachmentId,
) -> Result<(), Error> {
    activity::append(tx, stamp, Some(who), Action::AttachmentOpened, subject, &detail(attachment)?)
}

/// Records that a user with a session opened an attachment, as [`record_opened`] does. Does nothing if the user has
/// already opened the attachment in a session at or after `since`.
pub fn record_opened_in_session(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    subject: &Subject,
    attachment: &AttachmentId,
    since: Timestamp,
) -> Result<(), Error> {
    let sql = "SELECT 1
               FROM activities
               WHERE candidate_id = $1 AND user_id = $2 AND api_key_id IS NULL AND action = $3 AND at >= $4
                 AND detail = $5";
    let candidate = subject.candidate_id.as_ref().map(CandidateId::as_str);
    let detail = detail(attachment)?;
    let action = Action::AttachmentOpened;
    if tx.exists(sql, (candidate, who.user_id.as_str(), action.as_str(), since.micros(), &detail))? {
        return Ok(());
    }
    activity::append(tx, stamp, Some(who), action, subject, &detail)
}

fn detail(attachment: &AttachmentId) -> Result<String, Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Opened<'a> {
        document_id: &'a str,
    }
    activity::detail(&None::<()>, &Opened { document_id: attachment.as_str() })
}

//! Status links that staff issue.

use serde::Serialize;

use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::ApplicationId;
use crate::domain::user::Principal;
use crate::store::activity;

/// Issues a new link for the page of an application, and creates the page if there is none. The old link, if any,
/// becomes spent. The activity row does not contain the link.
pub fn issue(
    tx: &Tx<'_>,
    who: &Principal,
    subject: &Subject,
    application: &ApplicationId,
    digest: &[u8; 32],
    locale: &str,
    stamp: &Stamp,
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Issued<'a> {
        locale: &'a str,
    }
    replace_link(tx, application, digest, locale)?;
    let detail = activity::detail(&None::<()>, &Issued { locale })?;
    activity::append(tx, stamp, Some(who), Action::StatusLinkIssued, subject, &detail)
}

fn replace_link(tx: &Tx<'_>, application: &ApplicationId, digest: &[u8; 32], locale: &str) -> Result<(), Error> {
    let sql = "INSERT INTO spent_links (digest, spent_at)
               SELECT digest, $1
               FROM status_pages
               WHERE candidate_role_id = $2
               ON CONFLICT DO NOTHING";
    tx.run(sql, (tx.now.micros(), application.as_str()))?;
    let sql = "INSERT INTO status_pages (digest, candidate_role_id, is_trusted, locale, issued_at)
               VALUES ($1, $2, 1, $3, $4)
               ON CONFLICT (candidate_role_id) DO UPDATE
               SET digest = excluded.digest, is_trusted = 1, locale = excluded.locale, issued_at = excluded.issued_at";
    tx.run(sql, (digest.as_slice(), application.as_str(), locale, tx.now.micros()))?;
    Ok(())
}

//! Uploaded logos of organizations, at most one for each organization. When a logo changes, a trigger increments the
//! portal's change number, and the service invalidates the cached responses of the portal.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::activity;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::OrganizationId;
use crate::domain::logo::LogoType;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// A logo without its content.
#[derive(Debug, Clone)]
pub struct Logo {
    pub media_type: LogoType,
    /// The size of the content.
    pub bytes: usize,
    pub updated_at: Timestamp,
    digest: [u8; 32],
}

/// Adds or replaces an organization's logo. Does nothing if the content is the same.
pub fn put(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
    media_type: LogoType,
    content: &[u8],
) -> Result<(), Error> {
    let before = find(tx, organization)?;
    let digest: [u8; 32] = Sha256::digest(content).into();
    if before.as_ref().is_some_and(|before| before.digest == digest) {
        return Ok(());
    }
    let sql = "INSERT INTO organization_logos (organization_id, media_type, content, digest, updated_at)
               VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (organization_id) DO UPDATE SET
                 media_type = excluded.media_type, content = excluded.content, digest = excluded.digest,
                 updated_at = excluded.updated_at";
    tx.run(sql, (organization.as_str(), media_type.as_str(), content, &digest[..], tx.now.micros()))?;
    let after = Logo { media_type, bytes: content.len(), updated_at: tx.now, digest };
    let detail = activity::detail(&before.as_ref().map(LogoDetail::new), &LogoDetail::new(&after))?;
    activity::append(tx, stamp, who, Action::LogoPut, &Subject::of_organization(organization.clone()), &detail)
}

/// Removes an organization's logo. Returns `false` if the organization has no logo.
pub fn remove(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
) -> Result<bool, Error> {
    let Some(before) = find(tx, organization)? else { return Ok(false) };
    let sql = "DELETE FROM organization_logos
               WHERE organization_id = $1";
    tx.run(sql, [organization.as_str()])?;
    let detail = activity::detail(&LogoDetail::new(&before), &None::<()>)?;
    activity::append(tx, stamp, who, Action::LogoRemoved, &Subject::of_organization(organization.clone()), &detail)?;
    Ok(true)
}

pub fn find(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<Logo>, Error> {
    let sql = "SELECT media_type, length(content), updated_at, digest
               FROM organization_logos
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(Logo {
            media_type: columns.parse(LogoType::parse)?,
            bytes: usize::try_from(columns.read::<i64>()?).unwrap_or_default(),
            updated_at: columns.time()?,
            digest: columns.read()?,
        })
    })
}

/// Returns the type and content of a logo (`GET /careers/{orgSlug}/logo`).
pub fn content(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<(LogoType, Vec<u8>)>, Error> {
    let sql = "SELECT media_type, content
               FROM organization_logos
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(LogoType::parse)?, columns.read()?))
    })
}

/// The detail of a logo in an activity row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogoDetail {
    media_type: &'static str,
    bytes: usize,
    sha256: String,
}

impl LogoDetail {
    fn new(logo: &Logo) -> Self {
        let sha256 = logo.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { media_type: logo.media_type.as_str(), bytes: logo.bytes, sha256 }
    }
}

//! Organizations' logos as pictures: one each, in the file itself. A trigger tells that the portal shows another.

use crate::db::row::Row;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::activity;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::OrganizationId;
use crate::domain::logo::LogoType;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// A logo without its content.
#[derive(Debug, Clone)]
pub struct Logo {
    /// Its kind.
    pub media_type: LogoType,
    /// Its size.
    pub bytes: usize,
    /// When it was put there.
    pub updated_at: Timestamp,
    digest: [u8; 32],
}

/// Puts a picture in the place of an organization's logo, or where there was none. The same picture again leaves
/// everything as it is.
///
/// # Errors
/// [`Error::Defect`] where there is no such organization, which the caller looks at first.
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
    let detail = activity::detail(&before.as_ref().map(Told::of), &Told::of(&after))?;
    activity::append(tx, stamp, who, Action::LogoPut, &Subject::of_organization(organization.clone()), &detail)
}

/// Takes an organization's logo away. Whether there was one.
///
/// # Errors
/// When SQLite fails.
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
    let detail = activity::detail(&Told::of(&before), &None::<()>)?;
    activity::append(tx, stamp, who, Action::LogoRemoved, &Subject::of_organization(organization.clone()), &detail)?;
    Ok(true)
}

/// An organization's logo, where it has one.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<Logo>, Error> {
    let sql = "SELECT media_type, length(content), updated_at, digest
               FROM organization_logos
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], logo)
}

/// The picture itself (`GET /careers/{orgSlug}/logo`).
///
/// # Errors
/// When SQLite fails.
pub fn content(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<(LogoType, Vec<u8>)>, Error> {
    let sql = "SELECT media_type, content
               FROM organization_logos
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], |row| Ok((media_type(row)?, row.get(1)?)))
}

fn logo(row: &Row<'_>) -> Result<Logo, Error> {
    let bytes: i64 = row.get(1)?;
    Ok(Logo {
        media_type: media_type(row)?,
        bytes: usize::try_from(bytes).unwrap_or_default(),
        updated_at: tx::time(row, 2)?,
        digest: row.get(3)?,
    })
}

fn media_type(row: &Row<'_>) -> Result<LogoType, Error> {
    tx::word(&row.get::<_, String>(0)?, LogoType::parse)
}

/// A logo as its activities tell it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    media_type: &'static str,
    bytes: usize,
    sha256: String,
}

impl Told {
    fn of(logo: &Logo) -> Self {
        let sha256 = logo.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { media_type: logo.media_type.as_str(), bytes: logo.bytes, sha256 }
    }
}

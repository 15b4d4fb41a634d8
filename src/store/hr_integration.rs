//! Where organizations' HR systems listen.

use rusqlite::Row;

use super::outbox;
use super::tx::{self, Error, Tx};
use crate::domain::hr_integration::{Integration, TargetUrl};
use crate::domain::id::OrganizationId;
use crate::domain::signature::Secret;
use crate::domain::timestamp::Timestamp;

/// An organization's HR integration, as a document has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where deliveries go.
    pub url: TargetUrl,
    /// What signs them; without one nothing is sent.
    pub secret: Option<Secret>,
    /// Whether they are sent. Never without a secret.
    pub enabled: bool,
}

/// Gives an organization its HR integration. Whether it had none before.
///
/// # Errors
/// [`Error::Defect`] where it is enabled without a secret, which the caller looks at first.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, integration: &Record) -> Result<bool, Error> {
    let sql = "INSERT INTO hr_integrations (organization_id, url, secret, enabled, timed_out, updated_at)
               VALUES ($1, $2, $3, $4, 0, $5)
               ON CONFLICT DO NOTHING";
    let Record { url, secret, enabled } = integration;
    let secret = secret.as_ref().map(Secret::reveal);
    Ok(tx.run(sql, (organization.as_str(), url.as_str(), secret, enabled, tx.now.micros()))? == 1)
}

/// An organization's HR integration, and when it was last changed; `None` where it has none.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<(Integration, Timestamp)>, Error> {
    let sql = "SELECT url, secret, previous_secret, previous_secret_until, enabled, disabled_reason, updated_at
               FROM hr_integrations
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], |row| Ok((integration(row)?, tx::time(row, 6)?)))
}

/// Saves an organization's HR integration, for what is decided from here on. Enabled, what the HR system is owed is due now; disabled, it is held.
///
/// # Errors
/// When SQLite fails.
pub fn save(tx: &Tx<'_>, organization: &OrganizationId, integration: &Integration) -> Result<(), Error> {
    outbox::take_up_all(tx)?;
    let sql = "INSERT INTO hr_integrations (organization_id, url, secret, previous_secret, previous_secret_until,
                 enabled, disabled_reason, timed_out, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)
               ON CONFLICT (organization_id) DO UPDATE SET
                 url = excluded.url, secret = excluded.secret, previous_secret = excluded.previous_secret,
                 previous_secret_until = excluded.previous_secret_until, enabled = excluded.enabled,
                 disabled_reason = excluded.disabled_reason, timed_out = 0, updated_at = excluded.updated_at";
    let previous = integration.previous_secret.as_ref();
    tx.run(
        sql,
        (
            organization.as_str(),
            integration.url.as_str(),
            integration.secret.as_ref().map(Secret::reveal),
            previous.map(|(secret, _)| secret.reveal()),
            previous.map(|(_, until)| until.micros()),
            integration.enabled,
            &integration.disabled_reason,
            tx.now.micros(),
        ),
    )?;
    if integration.enabled { outbox::release_all(tx, organization) } else { Ok(()) }
}

/// Takes an organization's HR integration away; what its HR system is owed is held. Whether there was one.
///
/// # Errors
/// When SQLite fails.
pub fn delete(tx: &Tx<'_>, organization: &OrganizationId) -> Result<bool, Error> {
    outbox::take_up_all(tx)?;
    let sql = "DELETE FROM hr_integrations
               WHERE organization_id = $1";
    Ok(tx.run(sql, [organization.as_str()])? == 1)
}

/// The columns from `url` to `disabled_reason`.
fn integration(row: &Row<'_>) -> Result<Integration, Error> {
    let unreadable = || Error::Defect("an HR integration's secret cannot be read".to_owned());
    // Not by the helper for words: its error would show the secret.
    let secret = |column| -> Result<Option<Secret>, Error> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| Secret::parse(&text).ok_or_else(unreadable)).transpose()
    };
    Ok(Integration {
        url: TargetUrl::from_file(row.get(0)?),
        secret: secret(1)?,
        previous_secret: secret(2)?.zip(tx::time_or_none(row, 3)?),
        enabled: row.get(4)?,
        disabled_reason: row.get(5)?,
    })
}

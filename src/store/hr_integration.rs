//! Where organizations' HR systems listen.

use crate::db::row::Row;
use serde::Serialize;

use super::{activity, outbox};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::hr_integration::{Integration, TargetUrl};
use crate::domain::id::OrganizationId;
use crate::domain::signature::SigningSecret;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// An organization's HR integration, as a document has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where deliveries go.
    pub url: TargetUrl,
    /// What signs them; without one nothing is sent.
    pub secret: Option<SigningSecret>,
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
    let secret = secret.as_ref().map(SigningSecret::reveal);
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
            integration.secret.as_ref().map(SigningSecret::reveal),
            previous.map(|(secret, _)| secret.reveal()),
            previous.map(|(_, until)| until.micros()),
            integration.enabled,
            &integration.disabled_reason,
            tx.now.micros(),
        ),
    )?;
    if integration.enabled { outbox::release_all(tx, organization) } else { Ok(()) }
}

/// Puts on record that an organization's HR integration was changed: from `before` to `after`, either of which may be none.
///
/// # Errors
/// When SQLite fails.
pub fn record(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    organization: &OrganizationId,
    (before, after): (Option<&Integration>, Option<&Integration>),
) -> Result<(), Error> {
    let action = if after.is_some() { Action::HrIntegrationPut } else { Action::HrIntegrationRemoved };
    let url = |of: Option<&Integration>| of.map(|one| one.url.as_str().to_owned());
    let secret =
        |of: Option<&Integration>| of.and_then(|one| one.secret.as_ref()).map(|secret| secret.reveal().to_owned());
    let is_new = (url(before) != url(after), secret(before) != secret(after));
    let told = after.map(|after| Told { is_new_url: is_new.0, is_new_secret: is_new.1, ..Told::of(after) });
    let detail = activity::detail(&before.map(Told::of), &told)?;
    activity::append(tx, stamp, Some(who), action, &Subject::of_organization(organization.clone()), &detail)
}

/// An integration as activity tells of it. Its URL may hold a token, and members read activity: so there is its origin, and
/// whether it is another URL, or another secret.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    origin: String,
    enabled: bool,
    #[serde(rename = "newUrl", skip_serializing_if = "std::ops::Not::not")]
    is_new_url: bool,
    #[serde(rename = "newSecret", skip_serializing_if = "std::ops::Not::not")]
    is_new_secret: bool,
}

impl Told {
    fn of(integration: &Integration) -> Self {
        let url = integration.url.as_str();
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
        let origin = url[..end].to_owned();
        Self { origin, enabled: integration.enabled, is_new_url: false, is_new_secret: false }
    }
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
    let secret = |column| -> Result<Option<SigningSecret>, Error> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| SigningSecret::parse(&text).ok_or_else(unreadable)).transpose()
    };
    Ok(Integration {
        url: TargetUrl::from_file(row.get(0)?),
        secret: secret(1)?,
        previous_secret: secret(2)?.zip(tx::time_or_none(row, 3)?),
        enabled: row.get(4)?,
        disabled_reason: row.get(5)?,
    })
}

//! Where organizations' HR systems listen.

use super::tx::{Error, Tx};
use crate::domain::hr_integration::{Secret, TargetUrl};
use crate::domain::id::OrganizationId;

/// An organization's HR integration.
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
    let sql = "INSERT INTO hr_integrations (organization_id, url, secret, enabled)
               VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    let Record { url, secret, enabled } = integration;
    Ok(tx.run(sql, (organization.as_str(), url.as_str(), secret.as_ref().map(Secret::reveal), enabled))? == 1)
}

/// An organization's HR integration; `None` where it has none.
///
/// # Errors
/// When SQLite fails.
pub fn of_organization(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<Record>, Error> {
    let sql = "SELECT url, secret, enabled
               FROM hr_integrations
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let unreadable = |column| Error::Defect(format!("an HR integration's {column} cannot be read"));
        let secret: Option<String> = row.get(1)?;
        Ok(Record {
            url: TargetUrl::parse(&row.get::<_, String>(0)?).ok_or_else(|| unreadable("url"))?,
            // Not by the helper for words: its error would show the secret.
            secret: secret.map(|text| Secret::parse(&text).ok_or_else(|| unreadable("secret"))).transpose()?,
            enabled: row.get(2)?,
        })
    })
}

//! HR integrations: the settings of organizations for their HR systems.

use serde::Serialize;

use super::{activity, outbox};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::hr_integration::{Integration, TargetUrl};
use crate::domain::id::OrganizationId;
use crate::domain::signature::SigningSecret;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// The HR integration of an organization in an interchange document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HrIntegrationRecord {
    /// The URL to which deliveries are sent.
    pub url: TargetUrl,
    /// The secret that signs deliveries. Without a secret, the service sends nothing.
    pub secret: Option<SigningSecret>,
    /// Whether deliveries other than pings are sent; always false without a secret.
    pub enabled: bool,
}

/// Adds the HR integration of an organization. Returns `false` if the organization already has one.
///
/// # Errors
/// [`Error::Defect`] if the integration is enabled but has no secret. The caller must check this first.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, integration: &HrIntegrationRecord) -> Result<bool, Error> {
    let sql = "INSERT INTO hr_integrations (organization_id, url, secret, enabled, timed_out, updated_at)
               VALUES ($1, $2, $3, $4, 0, $5)
               ON CONFLICT DO NOTHING";
    let HrIntegrationRecord { url, secret, enabled } = integration;
    let secret = secret.as_ref().map(SigningSecret::reveal);
    Ok(tx.run(sql, (organization.as_str(), url.as_str(), secret, enabled, tx.now.micros()))? == 1)
}

/// Finds the HR integration of an organization, and the time of its last change.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<(Integration, Timestamp)>, Error> {
    let sql = "SELECT url, secret, previous_secret, previous_secret_until, enabled, disabled_reason, updated_at
               FROM hr_integrations
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        let integration = Integration {
            url: TargetUrl::from_file(columns.read()?),
            secret: secret(&mut columns)?,
            previous_secret: secret(&mut columns)?.zip(columns.time_or_none()?),
            enabled: columns.read()?,
            disabled_reason: columns.read()?,
        };
        Ok((integration, columns.time()?))
    })
}

/// Reads a secret. Does not use [`Columns::parse_or_none`], so that the error names the value that cannot be read.
fn secret(columns: &mut Columns<'_>) -> Result<Option<SigningSecret>, Error> {
    let unreadable = || Error::Defect("an HR integration's secret cannot be read".to_owned());
    columns.text_or_none()?.map(|text| SigningSecret::parse(text).ok_or_else(unreadable)).transpose()
}

/// Saves the HR integration of an organization. A new integration creates no deliveries for earlier decisions. If the
/// integration is enabled, scheduled deliveries become due. If it is disabled, pending deliveries other than pings are
/// held.
pub fn save(tx: &Tx<'_>, organization: &OrganizationId, integration: &Integration) -> Result<(), Error> {
    outbox::take_in_all(tx)?;
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

/// Deletes the HR integration of an organization. Pending deliveries are then held. Returns `false` if the organization
/// has no integration.
pub fn delete(tx: &Tx<'_>, organization: &OrganizationId) -> Result<bool, Error> {
    outbox::take_in_all(tx)?;
    let sql = "DELETE FROM hr_integrations
               WHERE organization_id = $1";
    Ok(tx.run(sql, [organization.as_str()])? == 1)
}

/// Records a change from `before` to `after` as activity. Either integration can be absent.
pub fn append_activity(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    organization: &OrganizationId,
    (before, after): (Option<&Integration>, Option<&Integration>),
) -> Result<(), Error> {
    let action = if after.is_some() { Action::HrIntegrationPut } else { Action::HrIntegrationRemoved };
    let url = |side: Option<&Integration>| side.map(|integration| integration.url.as_str().to_owned());
    let secret = |side: Option<&Integration>| {
        side.and_then(|integration| integration.secret.as_ref()).map(|secret| secret.reveal().to_owned())
    };
    let after_detail = after.map(|integration| IntegrationDetail {
        is_new_url: url(before) != url(after),
        is_new_secret: secret(before) != secret(after),
        ..IntegrationDetail::new(integration)
    });
    let detail = activity::detail(&before.map(IntegrationDetail::new), &after_detail)?;
    activity::append(tx, stamp, Some(who), action, &Subject::of_organization(organization.clone()), &detail)
}

/// The detail of an integration in an activity row. Members of the organization can read these rows, and the URL can
/// contain a token. The detail therefore contains the origin instead of the URL, and shows only whether the URL or the
/// secret changed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IntegrationDetail {
    origin: String,
    enabled: bool,
    #[serde(rename = "newUrl", skip_serializing_if = "std::ops::Not::not")]
    is_new_url: bool,
    #[serde(rename = "newSecret", skip_serializing_if = "std::ops::Not::not")]
    is_new_secret: bool,
}

impl IntegrationDetail {
    fn new(integration: &Integration) -> Self {
        let url = integration.url.as_str();
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
        let origin = url[..end].to_owned();
        Self { origin, enabled: integration.enabled, is_new_url: false, is_new_secret: false }
    }
}

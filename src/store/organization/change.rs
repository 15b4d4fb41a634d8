//! Creates and changes organizations, for requests and commands.

use serde::Serialize;
use serde_json::{Map, Value};

use super::record::{OrganizationRecord, insert, slug_exists, update};
use super::status::write_status;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::organization::SLUG_TAKEN;
use crate::domain::user::Principal;
use crate::store::activity;
use crate::store::erasure::retention::due;

/// Creates an organization with its status cache (`POST /api/admin/organizations`), and records the act.
///
/// # Errors
/// `conflict` if the slug is taken.
pub fn create(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationRecord,
) -> Result<(), Error> {
    if !insert(tx, organization, tx.now)? {
        return Err(SLUG_TAKEN.into());
    }
    write_status(tx, &organization.id)?;
    let subject = Subject::of_organization(organization.id.clone());
    let detail = activity::detail(&None::<()>, &OrganizationDetail::new(organization)?)?;
    activity::append(tx, stamp, who, Action::OrganizationCreated, &subject, &detail)
}

/// Changes an organization (`PATCH /api/admin/organizations/{id}`), and records the act. Does nothing if `before` and
/// `after` are equal. A new retention period makes the retention scan find due candidates again.
///
/// # Errors
/// `conflict` if the new slug is taken.
pub fn change(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    before: &OrganizationRecord,
    after: &OrganizationRecord,
) -> Result<(), Error> {
    if before.slug.key() != after.slug.key() && slug_exists(tx, &after.slug)? {
        return Err(SLUG_TAKEN.into());
    }
    let (before_detail, after_detail) = (OrganizationDetail::new(before)?, OrganizationDetail::new(after)?);
    let Some(detail) = activity::detail_of_changes(&before_detail, &after_detail)? else { return Ok(()) };
    update(tx, after)?;
    if before.retention_days != after.retention_days {
        due::remove_all(tx, &after.id)?;
    }
    let subject = Subject::of_organization(after.id.clone());
    activity::append(tx, stamp, who, Action::OrganizationChanged, &subject, &detail)
}

/// The detail of an organization in an activity row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrganizationDetail<'a> {
    slug: &'a str,
    name: &'a str,
    domain: &'a str,
    logo: &'a str,
    portal_enabled: bool,
    portal_theme: &'a Map<String, Value>,
    require_external_position_id: bool,
    enabled: bool,
    time_zone: &'a str,
    pay_transparency: bool,
    retention_days: Option<i64>,
    privacy_notice: &'a str,
    decision_visible_after_hours: Option<i64>,
    require_second_factor: bool,
}

impl<'a> OrganizationDetail<'a> {
    fn new(organization: &'a OrganizationRecord) -> Result<Self, Error> {
        Ok(Self {
            slug: organization.slug.as_str(),
            name: &organization.name,
            domain: &organization.domain,
            logo: &organization.logo,
            portal_enabled: organization.portal_enabled,
            portal_theme: organization.portal_theme.members()?,
            require_external_position_id: organization.require_external_position_id,
            enabled: organization.enabled,
            time_zone: &organization.time_zone,
            pay_transparency: organization.pay_transparency,
            retention_days: organization.retention_days,
            privacy_notice: &organization.privacy_notice,
            decision_visible_after_hours: organization.decision_visible_after_hours,
            require_second_factor: organization.require_second_factor,
        })
    }
}

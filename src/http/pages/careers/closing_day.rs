//! The end of a role's closing date, as search engines and job boards read it.

use std::time::Duration;

use super::portal_file::rfc3339_seconds;
use crate::http::server::ctx::Ctx;
use crate::store::portal::PortalOrganization;
use crate::store::role::RoleRecord;

/// Returns the last second in which the role accepts signups, as a UTC time. Returns `None` if the role has no closing
/// date. Search engines take a date without a time as the beginning of that day, so a plain date would end the
/// JobPosting a day too early.
pub(super) fn last_second(ctx: &Ctx, organization: &PortalOrganization, role: &RoleRecord) -> Option<String> {
    let end = ctx.world.day_end(&organization.time_zone, role.closes_on?.date())?;
    Some(rfc3339_seconds(end.minus(Duration::from_secs(1))))
}

//! Lists of an organization's roles (`GET /api/v1/organizations/{id}/roles`).
//!
//! A page costs the same whatever is in the file: it is found by an index that begins with one of the filters, and it looks
//! at so many roles and no more. A page that ends there has fewer rows than it could have, and the next one goes on.

use std::ops::ControlFlow;

use rusqlite::types::Value;

use super::change::{Role, role};
use super::{COLUMNS, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{RoleStatus, WorkType};
use crate::domain::timestamp::Timestamp;
use crate::store::tx;

/// Roles that one page looks at: more than nearly every organization has, at some 2 µs each where none fits.
pub const LOOKED_AT_MAX: usize = 1_000;

/// Which roles are asked for; everything that is given must fit.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In this status.
    pub status: Option<RoleStatus>,
    /// Public, or not.
    pub public: Option<bool>,
    /// Of exactly this department.
    pub department: Option<String>,
    /// At exactly this location.
    pub location: Option<String>,
    /// Of this work type.
    pub work_type: Option<WorkType>,
    /// With this text in their names, whatever the case.
    pub name_part: Option<String>,
}

/// A page of roles, newest first. Their descriptions are not read.
#[derive(Debug)]
pub struct Found {
    /// The roles.
    pub roles: Vec<Role>,
    /// The last one that was looked at, where there may be more behind it.
    pub end: Option<(Timestamp, RoleId)>,
}

/// The roles that fit, behind the one `after`.
///
/// # Errors
/// When SQLite fails.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    filter: &Filter,
    after: Option<&(Timestamp, RoleId)>,
    rows_max: usize,
) -> Result<Found, Error> {
    let name_part = filter.name_part.as_ref().map(|part| part.to_lowercase());
    let full = format!(
        "SELECT {}, organization_id, updated_at
         FROM roles
         WHERE organization_id = $1 AND id = $2",
        listed()
    );
    let mut found = Found { roles: Vec::new(), end: None };
    let (mut last, mut looked_at) = (None, 0);
    narrow(tx, organization, filter, after, |created_at, id, name| {
        if found.roles.len() == rows_max || looked_at == LOOKED_AT_MAX {
            found.end = last.take();
            return Ok(ControlFlow::Break(()));
        }
        looked_at += 1;
        let is_named = name_part.as_ref().is_none_or(|part| name.to_lowercase().contains(part));
        let role = if is_named { tx.one(&full, (organization.as_str(), id.as_str()), role)? } else { None };
        found.roles.extend(role.filter(|role| filter.fits(role)));
        last = Some((created_at, id));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// The roles behind `after`, newest first, of which the filter that narrows them most holds.
fn narrow(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    filter: &Filter,
    after: Option<&(Timestamp, RoleId)>,
    mut see: impl FnMut(Timestamp, RoleId, &str) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    // The name is read only where it counts: it is not in every index.
    let name = if filter.name_part.is_some() { "name" } else { "''" };
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id.as_str()));
    let see = |row: &rusqlite::Row<'_>| {
        let id = tx::word(&row.get::<_, String>(1)?, RoleId::parse)?;
        see(tx::time(row, 0)?, id, row.get_ref(2)?.as_str().unwrap_or_default())
    };
    let Some((column, value)) = filter.leading() else {
        let sql = format!(
            "SELECT created_at, id, {name}
             FROM roles
             WHERE organization_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC"
        );
        return tx.each(&sql, (organization.as_str(), at, id), see);
    };
    let sql = format!(
        "SELECT created_at, id, {name}
         FROM roles
         WHERE organization_id = $1 AND {column} = $2 AND (created_at, id) < ($3, $4)
         ORDER BY created_at DESC, id DESC"
    );
    tx.each(&sql, (organization.as_str(), value, at, id), see)
}

impl Filter {
    /// The filter that is likely to leave the fewest roles, with its value. Each has an index.
    fn leading(&self) -> Option<(&'static str, Value)> {
        let text = |text: &str| Value::Text(text.to_owned());
        let department = self.department.as_deref().map(|department| ("department", text(department)));
        department
            .or_else(|| self.location.as_deref().map(|location| ("location", text(location))))
            .or_else(|| self.work_type.map(|work_type| ("work_type", text(work_type.as_str()))))
            .or_else(|| self.status.map(|status| ("status", text(status.as_str()))))
            .or_else(|| self.public.map(|public| ("public", Value::Integer(public.into()))))
    }

    /// Whether a role fits; its name has been looked at.
    fn fits(&self, role: &Role) -> bool {
        let record = &role.record;
        self.status.is_none_or(|status| status == record.seats.status)
            && self.public.is_none_or(|public| public == record.public)
            && self.department.as_ref().is_none_or(|department| *department == record.department)
            && self.location.as_ref().is_none_or(|location| *location == record.location)
            && self.work_type.is_none_or(|work_type| Some(work_type) == record.work_type)
    }
}

/// The columns of a role without its description, which may be long.
fn listed() -> String {
    COLUMNS.replace("description", "'{}'")
}

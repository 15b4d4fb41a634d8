//! Lists of an organization's roles (`GET /api/v1/organizations/{id}/roles`).
//!
//! A page costs the same whatever is in the file: it is found by an index that begins with one of the filters, and it looks
//! at so many roles and no more. A page that ends there has fewer rows than it could have, and the next one goes on.

use std::ops::ControlFlow;

use crate::db::row::Row;
use crate::db::row::Value;

use super::change::{Role, role};
use super::{COLUMNS, Error, Tx};
use crate::db::tx;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{RoleStatus, WorkType};
use crate::domain::search;
use crate::domain::timestamp::Timestamp;

/// Roles that one page looks at: more than nearly every organization has, at less than a microsecond each where none fits.
pub const LOOKED_AT_MAX: usize = 500;

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
    /// With this text in their names, whatever the case and the accents.
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
    let sql = format!(
        "SELECT {}, organization_id, updated_at
         FROM roles
         WHERE organization_id = $1 AND id = $2",
        listed()
    );
    let part = filter.name_part.as_deref().map(search::fold);
    let mut roles = Vec::new();
    let (mut looked_at, mut last, mut is_whole) = (0, (0, String::new()), true);
    narrow(tx, organization, filter, after, |row| {
        if roles.len() == rows_max || looked_at == LOOKED_AT_MAX {
            is_whole = false;
            return Ok(ControlFlow::Break(()));
        }
        looked_at += 1;
        last.0 = row.get(0)?;
        last.1.clear();
        last.1.push_str(text(row, 1)?);
        if filter.fits(row, part.as_deref())? {
            roles.extend(tx.one(&sql, (organization.as_str(), &last.1), role)?);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let end = match last {
        (at, id) if !is_whole => Some((Timestamp::from_micros(at), tx::word(&id, RoleId::parse)?)),
        _ => None,
    };
    Ok(Found { roles, end })
}

/// The roles behind `after`, newest first, of which the filter that narrows them most holds: `created_at`, `id`, and what
/// [`Filter::fits`] reads of them.
fn narrow(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    filter: &Filter,
    after: Option<&(Timestamp, RoleId)>,
    see: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    // What does not count is not read: then the index has all there is to see.
    let columns = match filter.reads() {
        Reads::Nothing => "''",
        Reads::Name => "name",
        Reads::All => "name, status, public, department, location, coalesce(work_type, '')",
    };
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id.as_str()));
    let Some((column, value)) = filter.leading() else {
        let sql = format!(
            "SELECT created_at, id, {columns}
             FROM roles
             WHERE organization_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC"
        );
        return tx.each(&sql, (organization.as_str(), at, id), see);
    };
    let sql = format!(
        "SELECT created_at, id, {columns}
         FROM roles
         WHERE organization_id = $1 AND {column} = $2 AND (created_at, id) < ($3, $4)
         ORDER BY created_at DESC, id DESC"
    );
    tx.each(&sql, (organization.as_str(), value, at, id), see)
}

/// What has to be read of a role to see whether it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// The index has decided already.
    Nothing,
    /// Its name.
    Name,
    /// Everything that there is a filter for.
    All,
}

impl Filter {
    /// The filters that must be met exactly, with their values: first the one that is likely to leave the fewest roles.
    /// Each has an index.
    fn exact(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let text = |text: &str| Value::Text(text.to_owned());
        [
            ("department", self.department.as_deref().map(text)),
            ("location", self.location.as_deref().map(text)),
            ("work_type", self.work_type.map(|work_type| text(work_type.as_str()))),
            ("status", self.status.map(|status| text(status.as_str()))),
            ("public", self.public.map(|public| Value::Integer(public.into()))),
        ]
        .into_iter()
        .filter_map(|(column, value)| Some((column, value?)))
    }

    fn leading(&self) -> Option<(&'static str, Value)> {
        self.exact().next()
    }

    fn reads(&self) -> Reads {
        match (self.exact().count(), &self.name_part) {
            (0 | 1, None) => Reads::Nothing,
            (0 | 1, Some(_)) => Reads::Name,
            _ => Reads::All,
        }
    }

    /// Whether a row of [`narrow`] fits. `part` is the part of the name, folded.
    fn fits(&self, row: &Row<'_>, part: Option<&str>) -> Result<bool, Error> {
        let reads = self.reads();
        if reads != Reads::Nothing
            && let Some(part) = part
            && !contains(text(row, 2)?, part)
        {
            return Ok(false);
        }
        if reads != Reads::All {
            return Ok(true);
        }
        Ok(self.status.is_none_or(|status| text(row, 3).is_ok_and(|found| found == status.as_str()))
            && self.public.is_none_or(|public| row.get(4).is_ok_and(|found: bool| found == public))
            && self.department.as_ref().is_none_or(|department| text(row, 5).is_ok_and(|found| found == department))
            && self.location.as_ref().is_none_or(|location| text(row, 6).is_ok_and(|found| found == location))
            && self.work_type.is_none_or(|word| text(row, 7).is_ok_and(|found| found == word.as_str())))
    }
}

/// Whether a name has this part, which is folded.
fn contains(name: &str, folded_part: &str) -> bool {
    if name.is_ascii() {
        let mut places = name.as_bytes().windows(folded_part.len().max(1));
        return folded_part.is_empty() || places.any(|place| place.eq_ignore_ascii_case(folded_part.as_bytes()));
    }
    search::fold(name).contains(folded_part)
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Error> {
    row.get_ref(column)?.as_str().map_err(|_| Error::Defect(format!("column {column} of a role is no text")))
}

/// The columns of a role without its description, which may be long.
fn listed() -> String {
    COLUMNS.replace("description", "'{}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_is_found_whatever_the_case() {
        for (name, part) in [
            ("Engineer", "gin"),
            ("ENGINEER", "engineer"),
            ("ÄRZTIN", "ärz"),
            ("Ärzt", "arz"),
            ("Arzt", "ärz"),
            ("a", ""),
        ] {
            assert!(contains(name, &search::fold(part)), "{name} {part}");
        }
        for (name, part) in [("Engineer", "engineers"), ("", "a"), ("Arzt", "arzt "), ("a", "ab")] {
            assert!(!contains(name, &search::fold(part)), "{name} {part}");
        }
    }
}

//! Lists of an organization's roles (`GET /api/v1/organizations/{id}/roles`).
//!
//! The cost of a page is bounded in databases of any size. An index finds the roles, by one of the filters if possible,
//! and the service scans at most [`SCANNED_MAX`] of them for a page. If the scan reaches this limit, the page can be
//! short, and the next page continues the scan.

use std::ops::ControlFlow;

use super::record::{self, Role};
use crate::db::row::{Columns, Row};
use crate::db::tx::{self, Error, Tx};
use crate::db::value::Value;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{RoleStatus, WorkType};
use crate::domain::search;
use crate::domain::timestamp::Timestamp;

/// The maximum number of roles that are scanned for one page: more than almost any organization has. A role that does
/// not match costs less than a microsecond.
const SCANNED_MAX: usize = 500;

/// A filter for roles. A role must meet every condition that is set.
#[derive(Debug, Clone, Default)]
pub struct RoleFilter {
    pub status: Option<RoleStatus>,
    pub public: Option<bool>,
    /// The exact department.
    pub department: Option<String>,
    /// The exact location.
    pub location: Option<String>,
    pub work_type: Option<WorkType>,
    /// A part of the name, compared without regard to case or accents.
    pub name_part: Option<String>,
}

/// A page of roles, newest first. Their descriptions are empty, because the query does not read them.
#[derive(Debug)]
pub struct RolePage {
    pub roles: Vec<Role>,
    /// The cursor for the next page: the last role that was scanned. `None` if the list ends here.
    pub end: Option<(Timestamp, RoleId)>,
}

/// Returns a page of the matching roles after the cursor `after`.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    filter: &RoleFilter,
    after: Option<&(Timestamp, RoleId)>,
    rows_max: usize,
) -> Result<RolePage, Error> {
    let sql = format!(
        "SELECT {}, organization_id, updated_at
         FROM roles
         WHERE organization_id = $1 AND id = $2",
        columns_without_description()
    );
    let part = filter.name_part.as_deref().map(search::fold);
    let mut roles = Vec::new();
    let (mut scanned, mut last, mut is_complete) = (0, (0, String::new()), true);
    scan(tx, organization, filter, after, |row| {
        if roles.len() == rows_max || scanned == SCANNED_MAX {
            is_complete = false;
            return Ok(ControlFlow::Break(()));
        }
        scanned += 1;
        let mut columns = Columns::of(row);
        last.0 = columns.read()?;
        last.1.clear();
        last.1.push_str(columns.text()?);
        if filter.matches(&mut columns, part.as_deref())? {
            roles.extend(tx.one(&sql, (organization.as_str(), &last.1), record::role)?);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let end = match last {
        (at, id) if !is_complete => Some((Timestamp::from_micros(at), tx::word(&id, RoleId::parse)?)),
        _ => None,
    };
    Ok(RolePage { roles, end })
}

/// Scans the roles that match the leading filter and follow the cursor `after`, newest first. A row has `created_at`,
/// `id`, and the columns that [`RoleFilter::matches`] reads.
fn scan(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    filter: &RoleFilter,
    after: Option<&(Timestamp, RoleId)>,
    visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    // Only the columns that the filter needs are selected, so that an index covers the query where possible.
    let columns = match filter.reads() {
        FilterReads::Nothing => "''",
        FilterReads::Name => "name",
        FilterReads::All => "name, status, public, department, location, coalesce(work_type, '')",
    };
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id.as_str()));
    let Some((column, value)) = filter.leading() else {
        let sql = format!(
            "SELECT created_at, id, {columns}
             FROM roles
             WHERE organization_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC"
        );
        return tx.each(&sql, (organization.as_str(), at, id), visit);
    };
    let sql = format!(
        "SELECT created_at, id, {columns}
         FROM roles
         WHERE organization_id = $1 AND {column} = $2 AND (created_at, id) < ($3, $4)
         ORDER BY created_at DESC, id DESC"
    );
    tx.each(&sql, (organization.as_str(), value, at, id), visit)
}

/// The columns of a role that a filter must read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterReads {
    /// No columns, because there is no filter or the index has applied it.
    Nothing,
    Name,
    /// Every column that can have a filter.
    All,
}

impl RoleFilter {
    /// Returns the exact filters that are set, with their values. The filter that is likely to match the fewest roles
    /// comes first. Each filter has an index.
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

    fn reads(&self) -> FilterReads {
        match (self.exact().count(), &self.name_part) {
            (0 | 1, None) => FilterReads::Nothing,
            (0 | 1, Some(_)) => FilterReads::Name,
            _ => FilterReads::All,
        }
    }

    /// Returns whether a row from [`scan`] matches. `columns` are the columns after `id`. `folded_part` is the folded
    /// `name_part`.
    fn matches(&self, columns: &mut Columns<'_>, folded_part: Option<&str>) -> Result<bool, Error> {
        let reads = self.reads();
        if reads == FilterReads::Nothing {
            return Ok(true);
        }
        let name = columns.text()?;
        let has_name = folded_part.is_none_or(|part| contains(name, part));
        if !has_name || reads == FilterReads::Name {
            return Ok(has_name);
        }
        let (status, public) = (columns.text()?, columns.read::<bool>()?);
        let (department, location, work_type) = (columns.text()?, columns.text()?, columns.text()?);
        Ok(self.status.is_none_or(|wanted| status == wanted.as_str())
            && self.public.is_none_or(|wanted| public == wanted)
            && self.department.as_deref().is_none_or(|wanted| department == wanted)
            && self.location.as_deref().is_none_or(|wanted| location == wanted)
            && self.work_type.is_none_or(|wanted| work_type == wanted.as_str()))
    }
}

/// Returns whether a name contains the folded part.
fn contains(name: &str, folded_part: &str) -> bool {
    if name.is_ascii() {
        let mut windows = name.as_bytes().windows(folded_part.len().max(1));
        return folded_part.is_empty() || windows.any(|window| window.eq_ignore_ascii_case(folded_part.as_bytes()));
    }
    search::fold(name).contains(folded_part)
}

/// Returns the columns of a role with an empty description, because descriptions can be long.
fn columns_without_description() -> String {
    record::COLUMNS.replace("description", "'{}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_their_parts_without_regard_to_case_or_accents() {
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

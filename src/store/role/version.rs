//! The version of a role: the id of the newest activity row about the role itself or its steps. It is the `ETag` of the
//! role. Ids of activity rows are never reused, so no two acts give a role the same version, even after an older backup
//! has been restored. Decisions on applications do not change the version.

use serde_json::Value;

use super::record::Role;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::entity_tag::IfMatch;
use crate::domain::id::{ActivityId, Id, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role_version::{KNOWN_VERSIONS_MAX, LATER_CHANGES_MAX, LaterChange};
use crate::store::activity::role_changes::author;

/// Returns the version of a role. A role without activity, which was imported and never changed, has its own id as its
/// version.
pub fn version(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<String, Error> {
    let newest: Option<String> = tx.value(NEWEST, (organization.as_str(), role.as_str()))?;
    Ok(newest.unwrap_or_else(|| role.to_string()))
}

// The `coalesce` prevents the engine from using an index on the organization.
pub(in crate::store) const NEWEST: &str = "SELECT a.id
     FROM activities a
     WHERE coalesce(a.organization_id, '') = $1 AND a.role_id = $2 AND a.candidate_id IS NULL
     ORDER BY a.number DESC
     LIMIT 1";

/// Succeeds if the version of the role meets the condition, or if there is no condition.
///
/// # Errors
/// `precondition_failed`, with the changes since the version that the condition names. If the condition names no known
/// version of the role, the refusal names only the newest change.
pub fn require_version(tx: &Tx<'_>, role: &Role, condition: Option<&IfMatch>) -> Result<(), Error> {
    let Some(condition) = condition else { return Ok(()) };
    let (organization, id) = (&role.organization_id, &role.record.id);
    if condition.matches(&version(tx, organization, id)?) {
        return Ok(());
    }
    let seen = match condition {
        IfMatch::Any => None,
        IfMatch::OneOf(tags) => newest_known(tx, organization, id, tags)?,
    };
    let refusal = match seen {
        Some(seen) => Refusal::PreconditionFailed(later_changes(tx, organization, id, seen, LATER_CHANGES_MAX)?),
        None => Refusal::UnknownVersion(later_changes(tx, organization, id, 0, 1)?.pop().map(Box::new)),
    };
    Err(refusal.into())
}

/// Returns the changes to a role and its steps after a version, the newest first and at most [`LATER_CHANGES_MAX`].
/// Returns `None` if the role never had that version.
pub fn changes_since(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    version: &str,
) -> Result<Option<Vec<LaterChange>>, Error> {
    let seen = newest_known(tx, organization, role, &[version.to_owned()])?;
    seen.map(|seen| later_changes(tx, organization, role, seen, LATER_CHANGES_MAX)).transpose()
}

/// Returns the number of the newest activity row that one of the tags names, or 0 for the version of an imported role.
/// Returns `None` if no tag names a version that the role had. Ignores tags after the first [`KNOWN_VERSIONS_MAX`].
fn newest_known(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    tags: &[String],
) -> Result<Option<i64>, Error> {
    let sql = "SELECT number
               FROM activities
               WHERE id = $1 AND organization_id = $2 AND role_id = $3 AND candidate_id IS NULL";
    let mut newest = None;
    for tag in tags.iter().take(KNOWN_VERSIONS_MAX) {
        let number =
            if tag == role.as_str() { Some(0) } else { tx.value(sql, (tag, organization.as_str(), role.as_str()))? };
        newest = newest.max(number);
    }
    Ok(newest)
}

/// Returns the newest changes to the role itself and its steps after this activity row, the newest first.
fn later_changes(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    after: i64,
    changes_max: usize,
) -> Result<Vec<LaterChange>, Error> {
    let changes_max = i64::try_from(changes_max).unwrap_or(i64::MAX);
    tx.all(LATER, (organization.as_str(), role.as_str(), after, changes_max), later_change)
}

pub(in crate::store) const LATER: &str = "SELECT a.id, a.action, a.at, u.id, u.name, a.detail
     FROM activities a
     LEFT JOIN users u ON u.id = a.user_id
     WHERE coalesce(a.organization_id, '') = $1 AND a.role_id = $2 AND a.candidate_id IS NULL AND a.number > $3
     ORDER BY a.number DESC
     LIMIT $4";

fn later_change(row: &Row<'_>) -> Result<LaterChange, Error> {
    let mut columns = Columns::of(row);
    Ok(LaterChange {
        activity_id: columns.parse(ActivityId::parse)?,
        action: columns.read()?,
        at: columns.time()?,
        by: author(&mut columns)?,
        members: changed_members(columns.text()?),
    })
}

/// Returns the names of the fields that differ between the two sides of a detail. Returns no names if a side is null,
/// because the act created or removed something.
fn changed_members(detail: &str) -> Vec<String> {
    let detail: Value = serde_json::from_str(detail).unwrap_or_default();
    let (Some(before), Some(after)) = (detail["before"].as_object(), detail["after"].as_object()) else {
        return Vec::new();
    };
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let names = before.keys().chain(added);
    names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fields_that_differ_are_returned() {
        for (detail, expected) in [
            (r#"{"before":{"name":"a","order":1},"after":{"name":"b","order":1}}"#, vec!["name"]),
            (r#"{"before":{"a":1,"b":2},"after":{"b":3,"c":4}}"#, vec!["a", "b", "c"]),
            (r#"{"before":null,"after":{"name":"b"}}"#, vec![]),
            (r#"{"before":{"name":"b"},"after":null}"#, vec![]),
            ("{}", vec![]),
        ] {
            assert_eq!(changed_members(detail), expected, "{detail}");
        }
    }
}

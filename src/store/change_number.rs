//! Change numbers. Database triggers count changes to portals and, separately, changes to keys and users, whichever
//! process makes them. Cached state records the change number at which it was read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{Id, OrganizationId};

/// Changes that invalidate cached state.
pub(crate) struct Changes {
    /// The number of the last change to keys or users.
    pub(crate) credentials: i64,
    /// The portals that changed, each with the number of its last change.
    pub(crate) portals: Vec<(OrganizationId, i64)>,
}

impl Changes {
    /// Creates a value for changes to credentials only, without an allocation.
    pub(crate) fn of_credentials(credentials: i64) -> Self {
        Self { credentials, portals: Vec::new() }
    }
}

/// Reads the number of the last change to keys or users, and the changes to portals after the number `portals_after`.
pub(crate) fn changes_after(tx: &Tx<'_>, portals_after: i64) -> Result<Changes, Error> {
    Ok(Changes { portals: changed_portals(tx, portals_after)?, credentials: credentials(tx)? })
}

/// Reads the portals that have changed since a change number, each with the number of its last change.
pub(crate) fn changed_portals(tx: &Tx<'_>, number: i64) -> Result<Vec<(OrganizationId, i64)>, Error> {
    let sql = "SELECT organization_id, number
               FROM portal_changes
               WHERE number > $1";
    tx.all(sql, [number], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(OrganizationId::parse)?, columns.read()?))
    })
}

/// Returns the number of the last change to keys or users.
pub(crate) fn credentials(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT number
               FROM credential_changes
               WHERE id = 1";
    let number = tx.value(sql, [])?;
    number.ok_or_else(|| Error::Defect("the database does not record the change number of keys and users".to_owned()))
}

/// Returns the number of the last change to any portal.
pub fn portals(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT coalesce(max(number), 0)
               FROM portal_changes";
    Ok(tx.value(sql, [])?.unwrap_or(0))
}

/// The changes to portals that this process has seen.
#[derive(Default)]
pub struct PortalChanges {
    newest: AtomicI64,
    /// The number of the last change to each portal that has changed since the start: at most one entry per
    /// organization.
    last: Mutex<HashMap<OrganizationId, i64>>,
}

impl PortalChanges {
    /// Returns the number of the last change that this process has seen.
    pub fn newest(&self) -> i64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Returns whether a response for this portal, whose data was read at this change number, is still current.
    pub fn is_current(&self, organization: &OrganizationId, read_at: i64) -> bool {
        self.lock().get(organization).is_none_or(|last| *last <= read_at)
    }

    /// Records that changes up to this number happened before the start.
    pub(crate) fn begin(&self, newest: i64) {
        self.newest.store(newest, Ordering::Release);
    }

    /// Invalidates responses whose data was read before these changes.
    pub(crate) fn invalidate(&self, changed: Vec<(OrganizationId, i64)>) {
        let Some(newest) = changed.iter().map(|(_, number)| *number).max() else { return };
        let mut last = self.lock();
        for (organization, number) in changed {
            let known = last.entry(organization).or_insert(number);
            *known = number.max(*known);
        }
        self.newest.fetch_max(newest, Ordering::AcqRel);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrganizationId, i64>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

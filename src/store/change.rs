//! What the file says has changed of what memory keeps: portals, and what keys and their users may do. Triggers number
//! the changes, whoever makes them; memory knows up to which number it is true.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId};

/// What has changed, read from the file.
pub(crate) struct Changed {
    /// The number of the last change of keys or users.
    pub(crate) credentials: i64,
    /// Portals that show something else, with the number of their last change.
    pub(crate) portals: Vec<(OrganizationId, i64)>,
}

impl Changed {
    /// Nothing but this number of the last change of keys or users. Allocates nothing.
    pub(crate) fn of_credentials(credentials: i64) -> Self {
        Self { credentials, portals: Vec::new() }
    }
}

/// What has changed, and of portals only what came behind a number.
///
/// # Errors
/// When SQLite fails.
pub(crate) fn read(tx: &Tx<'_>, portals_after: i64) -> Result<Changed, Error> {
    let sql = "SELECT organization_id, number
               FROM portal_changes
               WHERE number > $1";
    let portals = tx.all(sql, [portals_after], |row| {
        Ok((tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?, row.get(1)?))
    })?;
    Ok(Changed { credentials: credentials(tx)?, portals })
}

/// The number of the last change of keys or users, as this transaction sees it.
///
/// # Errors
/// When SQLite fails.
pub(crate) fn credentials(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT number
               FROM credential_changes
               WHERE id = 1";
    let number = tx.one(sql, [], |row| Ok(row.get(0)?))?;
    number.ok_or_else(|| Error::Defect("the number of changes of keys is not in the file".to_owned()))
}

/// The number of the last change of any portal, as this transaction sees it.
///
/// # Errors
/// When SQLite fails.
pub fn portals(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT coalesce(max(number), 0)
               FROM portal_changes";
    Ok(tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// The changes of portals that this process knows of.
#[derive(Default)]
pub struct Portals {
    newest: AtomicI64,
    // One entry a portal that has changed since the start: as many as there are organizations.
    last: Mutex<HashMap<OrganizationId, i64>>,
}

impl Portals {
    /// The number of the last change that this process knows of. What was true at it needs no second look.
    pub fn newest(&self) -> i64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Whether what was read of a portal at a number is still what it shows.
    pub fn is_current(&self, organization: &OrganizationId, read_at: i64) -> bool {
        self.lock().get(organization).is_none_or(|last| *last <= read_at)
    }

    /// Changes up to this one are old.
    pub(crate) fn begin(&self, newest: i64) {
        self.newest.store(newest, Ordering::Release);
    }

    pub(crate) fn learn(&self, changed: Vec<(OrganizationId, i64)>) {
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

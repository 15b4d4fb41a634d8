//! The start of a service: whoever is on the list and in the file with a name is erased again, because an older copy of
//! the file was put in its place.

use std::path::Path;

use super::super::OpenError;
use super::super::connection::{self, Use};
use super::super::tx::{self, Error, Tx};
use super::super::{document, schema};
use super::{Candidate, Erasures, take_away, wipe};
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::world::World;

/// Candidates that one transaction erases.
const CANDIDATES_OF_SLICE: usize = 256;

/// Erases whoever the list says, whether held or not: an older copy does not know what came later. How many they were.
/// What was left of them in the file and its log is gone then, too.
///
/// # Errors
/// [`OpenError::NoList`] where the list cannot be read; [`OpenError::Store`] where the file cannot be written.
pub(in super::super) fn restore(path: &Path, world: &dyn World) -> Result<(Erasures, usize), OpenError> {
    let ids: Vec<CandidateId> = Erasures::of(path, false).list.read().map_err(OpenError::NoList)?.into_iter().collect();
    // A process that was killed may have left something to wipe behind an erasure.
    let erasures = Erasures::of(path, !ids.is_empty());
    if ids.is_empty() {
        return Ok((erasures, 0));
    }
    let connection = connection::open(path, Use::Write)?;
    schema::use_wal(&connection)?;
    let mut count = 0;
    for ids in ids.chunks(CANDIDATES_OF_SLICE) {
        let found = tx::snapshot(&connection, world.now(), |tx| with_names(tx, ids))?;
        if !found.is_empty() {
            tx::act(&connection, world.now(), |tx| take_away(tx, world, None, &found))?;
            count += found.len();
        }
    }
    if count > 0 {
        document::sweep_detached(&connection)?;
        wipe::whole(&connection)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(Error::from)?;
    }
    Ok((erasures, count))
}

/// Those of them who are in the file and not erased.
fn with_names(tx: &Tx<'_>, ids: &[CandidateId]) -> Result<Vec<Candidate>, Error> {
    let sql = "SELECT number, organization_id
               FROM candidates
               WHERE id = $1 AND erased_at IS NULL";
    let mut found = Vec::new();
    for id in ids {
        let candidate = tx.one(sql, [id.as_str()], |row| {
            let organization_id = tx::word(&row.get::<_, String>(1)?, OrganizationId::parse)?;
            Ok(Candidate { id: id.clone(), number: row.get(0)?, organization_id })
        })?;
        found.extend(candidate);
    }
    Ok(found)
}

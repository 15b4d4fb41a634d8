//! The start of a service: whoever is on the list and in the file with a name is erased again, and what somebody had deleted
//! is deleted again, because an older copy of the file was put in its place. Candidates who changed after they were put on
//! the list are not erased, but reported: somebody has decided about them since.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::document;
use super::super::status_page::{acts, claims};
use super::list::{Entries, ListError};
use super::{Candidate, Entry, Erasures, list, take_away, take_away_own, wipe};
use crate::db::OpenError;
use crate::db::connection::{self, Use};
use crate::db::schema;
use crate::db::tx::{self, Error, Tx};
use crate::db::wal::{Checkpoint, Mode};
use crate::domain::erasure::LastChange;
use crate::domain::id::{CandidateId, Id, OrganizationId, SignupId};
use crate::world::World;

/// Entries that one transaction carries out.
const ENTRIES_OF_SLICE: usize = 256;

/// What the start erased again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasedAgain {
    /// Candidates.
    pub candidates: usize,
    /// What was sent and deleted, of them or of others.
    pub signups: usize,
    /// Candidates who are on the list and were changed or held after their line was written. They are not erased.
    pub changed: Vec<CandidateId>,
}

/// Erases whoever the list says, whether held or not, and what it says: an older copy does not know what came later. How many
/// they were. What was left of them in the file and its log is gone then, too. Candidates who changed after they were put on
/// the list stay, with all that they sent.
///
/// # Errors
/// [`OpenError::Companion`] where the list cannot be read; [`OpenError::Store`] where the file cannot be written.
pub(in super::super) fn restore(path: &Path, world: &dyn World) -> Result<(Erasures, ErasedAgain), OpenError> {
    let entries = Erasures::of(path, false).list.read().map_err(|error| OpenError::Companion(error.to_string()))?;
    // A process that was killed may have left something to wipe behind an erasure.
    let erasures = Erasures::of(path, !entries.is_empty());
    if entries.is_empty() {
        return Ok((erasures, ErasedAgain::default()));
    }
    let connection = connection::open(path, Use::Write)?;
    schema::use_wal(&connection)?;
    let stay = tx::snapshot(&connection, world.now(), |tx| changed_since(tx, &entries))?;
    let entries: Vec<Entry> = entries.into_keys().collect();
    let mut again = ErasedAgain::default();
    // In the order of their kinds: what was deleted alone makes nobody a candidate of their own, and who is on the list with
    // all that came under their address leaves nothing of it.
    for entries in entries.chunks(ENTRIES_OF_SLICE) {
        let found = tx::snapshot(&connection, world.now(), |tx| still_there(tx, entries, &stay))?;
        if !found.is_empty() {
            tx::act(&connection, world.now(), |tx| found.take_away(tx, world))?;
            again.candidates += found.own.len() + found.candidates.len();
            again.signups += found.signups.len();
        }
    }
    if again != ErasedAgain::default() {
        document::sweep_detached(&connection)?;
        wipe::whole(&connection)?;
        Checkpoint::run(&connection, Mode::Truncate)?;
    }
    again.changed = stay.into_iter().collect();
    Ok((erasures, again))
}

/// The candidates of this file who are on the list beside it, and were changed or held after their line was written.
///
/// # Errors
/// [`ListError`] where the list cannot be read.
pub(in super::super) fn reported(tx: &Tx<'_>, path: &Path) -> Result<Result<Vec<CandidateId>, ListError>, Error> {
    let entries = match list::List::of(path).read() {
        Ok(entries) => entries,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(changed_since(tx, &entries)?.into_iter().collect()))
}

/// The candidates on the list who are in the file and not erased, and have changed since.
fn changed_since(tx: &Tx<'_>, entries: &Entries) -> Result<BTreeSet<CandidateId>, Error> {
    let mut stay = BTreeSet::new();
    for (entry, recorded) in entries {
        let (Entry::Own(id) | Entry::Candidate(id)) = entry else { continue };
        if with_name(tx, id)?.is_some() && is_beyond(tx, id, *recorded)? {
            stay.insert(id.clone());
        }
    }
    Ok(stay)
}

fn is_beyond(tx: &Tx<'_>, id: &CandidateId, recorded: Option<LastChange>) -> Result<bool, Error> {
    let Some(recorded) = recorded else { return Ok(false) };
    Ok(super::changed::of(tx, id)?.is_beyond(recorded))
}

/// What is in the file although the list has it.
#[derive(Default)]
struct Found {
    signups: Vec<SignupId>,
    own: Vec<Candidate>,
    candidates: Vec<Candidate>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.signups.is_empty() && self.own.is_empty() && self.candidates.is_empty()
    }

    fn take_away(&self, tx: &Tx<'_>, world: &dyn World) -> Result<(), Error> {
        self.signups.iter().try_for_each(|id| acts::delete_again(tx, world, id))?;
        for candidate in &self.own {
            let later = claims::let_go(tx, &candidate.id)?;
            take_away_own(tx, world, candidate, &later)?;
        }
        if self.candidates.is_empty() { Ok(()) } else { take_away(tx, world, None, &self.candidates) }
    }
}

fn still_there(tx: &Tx<'_>, entries: &[Entry], stay: &BTreeSet<CandidateId>) -> Result<Found, Error> {
    let sql = "SELECT a.candidate_id
               FROM signups s
               LEFT JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
               WHERE s.id = $1";
    let mut found = Found::default();
    for entry in entries {
        match entry {
            Entry::Signup(id) => {
                let candidate = tx.one(sql, [id.as_str()], |row| Ok(row.get::<_, Option<String>>(0)?))?;
                let stays = |candidate: &Option<String>| {
                    candidate.as_deref().is_some_and(|id| stay.iter().any(|one| one.as_str() == id))
                };
                found.signups.extend(candidate.filter(|candidate| !stays(candidate)).map(|_| id.clone()));
            }
            // An older copy does not know why the candidate was due, so the retention decides anew.
            Entry::Retention(_) => {}
            Entry::Own(id) | Entry::Candidate(id) if stay.contains(id) => {}
            Entry::Own(id) => found.own.extend(with_name(tx, id)?),
            Entry::Candidate(id) => found.candidates.extend(with_name(tx, id)?),
        }
    }
    Ok(found)
}

/// The candidate, where they are in the file and not erased.
fn with_name(tx: &Tx<'_>, id: &CandidateId) -> Result<Option<Candidate>, Error> {
    let sql = "SELECT number, organization_id
               FROM candidates
               WHERE id = $1 AND erased_at IS NULL";
    tx.one(sql, [id.as_str()], |row| {
        let organization_id = tx::word(&row.get::<_, String>(1)?, OrganizationId::parse)?;
        Ok(Candidate { id: id.clone(), number: row.get(0)?, organization_id })
    })
}

//! Repeats the erasures in the erasure list when the service starts. If the file still has candidates or signups that
//! the list names, the file is usually an older copy, and the start erases them again. `domain::erasure::replay`
//! decides which erasures are repeated and which are only reported. The list names erasures by retention only as a
//! record: the start does not repeat them, and retention decides again.

use std::collections::BTreeSet;
use std::path::Path;

use super::candidate;
use super::last_change;
use super::list::{ListError, ListedErasures};
use super::progress::Erasures;
use crate::db::OpenError;
use crate::db::row::Columns;
use crate::db::sqlite::connection::{self, Use};
use crate::db::sqlite::page_wiping;
use crate::db::sqlite::schema;
use crate::db::sqlite::wal::{Checkpoint, Mode};
use crate::db::tx::{self, Error, Tx};
use crate::domain::erasure::CandidateRef;
use crate::domain::erasure::replay::{self, ListedData, ListedErasure};
use crate::domain::id::{CandidateId, Id, OrganizationId, SignupId};
use crate::store::attachment;
use crate::store::status_page::deletion;
use crate::world::World;

/// The maximum number of erasures that one transaction repeats.
const SLICE_ERASURES: usize = 256;

/// The erasures that a start repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepeatedErasures {
    /// The number of candidates who were erased again.
    pub candidates: usize,
    /// The number of signups that were deleted again.
    pub signups: usize,
    /// Candidates in the list who were changed or placed under a legal hold after their line was written. They are not
    /// erased.
    pub changed: Vec<CandidateId>,
}

/// Repeats the erasures in the list, except those by retention. Candidates who were placed under a legal hold before
/// their line was written are erased too, because an older copy of the file lacks the release of the hold. Candidates
/// who were changed or placed under a legal hold after their line was written stay, with all their signups.
/// Afterwards, the file and its log no longer contain the data of the repeated erasures, unless another process is
/// reading the file.
///
/// # Errors
/// [`OpenError::Companion`] if the list cannot be read or is damaged; [`OpenError::Store`] if the file cannot be read
/// or written.
pub(in super::super) fn restore(path: &Path, world: &dyn World) -> Result<(Erasures, RepeatedErasures), OpenError> {
    let listed = Erasures::read_list(path).map_err(|error| OpenError::Companion(error.to_string()))?;
    // A process that was killed may have left pages to wipe after an erasure.
    let erasures = Erasures::new(path, !listed.is_empty());
    if listed.is_empty() {
        return Ok((erasures, RepeatedErasures::default()));
    }
    let connection = connection::open(path, Use::Write)?;
    schema::use_wal(&connection)?;
    let changed = tx::snapshot(&connection, world.now(), |tx| changed_candidates(tx, &listed))?;
    let listed: Vec<ListedErasure> = listed.into_keys().collect();
    let mut repeated = RepeatedErasures::default();
    for slice in listed.chunks(SLICE_ERASURES) {
        let plan = tx::snapshot(&connection, world.now(), |tx| ReplayPlan::load(tx, slice, &changed))?;
        if !plan.is_empty() {
            tx::act(&connection, world.now(), |tx| plan.carry_out(tx, world))?;
            repeated.candidates += plan.own.len() + plan.candidates.len();
            repeated.signups += plan.signups.len();
        }
    }
    if repeated != RepeatedErasures::default() {
        attachment::delete_detached(&connection)?;
        page_wiping::wipe_file(&connection)?;
        if !Checkpoint::run(&connection, Mode::Truncate)?.is_complete() {
            // Another process is reading the file. The erasures stay unfinished until the background jobs have
            // truncated the log.
            erasures.add_work();
        }
    }
    repeated.changed = changed.into_iter().collect();
    Ok((erasures, repeated))
}

/// Finds the candidates in this file who are in its erasure list but were changed or placed under a legal hold after
/// their line was written.
pub(in super::super) fn reported(tx: &Tx<'_>, path: &Path) -> Result<Result<Vec<CandidateId>, ListError>, Error> {
    let listed = match Erasures::read_list(path) {
        Ok(listed) => listed,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(changed_candidates(tx, &listed)?.into_iter().collect()))
}

/// Returns the candidates whom a start only reports.
fn changed_candidates(tx: &Tx<'_>, listed: &ListedErasures) -> Result<BTreeSet<CandidateId>, Error> {
    let mut changed = BTreeSet::new();
    for (erasure, recorded) in listed {
        let (ListedErasure::Own(id) | ListedErasure::Candidate(id)) = erasure else { continue };
        if find(tx, id)?.is_some() && replay::is_only_reported(*recorded, last_change::load(tx, id)?) {
            changed.insert(id.clone());
        }
    }
    Ok(changed)
}

/// The erasures to repeat from one slice of the list.
#[derive(Default)]
struct ReplayPlan {
    signups: Vec<SignupId>,
    own: Vec<CandidateRef>,
    candidates: Vec<CandidateRef>,
}

impl ReplayPlan {
    fn load(tx: &Tx<'_>, slice: &[ListedErasure], reported: &BTreeSet<CandidateId>) -> Result<Self, Error> {
        let mut plan = Self::default();
        for erasure in slice {
            match erasure {
                ListedErasure::Signup(id) => {
                    if replay::is_repeated(erasure, &signup_data(tx, id)?, reported) {
                        plan.signups.push(id.clone());
                    }
                }
                ListedErasure::Own(id) | ListedErasure::Candidate(id) | ListedErasure::Retention(id) => {
                    let candidate = find(tx, id)?;
                    let data = candidate.as_ref().map_or(ListedData::Absent, |_| ListedData::Present(Some(id.clone())));
                    let candidate = candidate.filter(|_| replay::is_repeated(erasure, &data, reported));
                    let is_own = matches!(erasure, ListedErasure::Own(_));
                    if is_own { &mut plan.own } else { &mut plan.candidates }.extend(candidate);
                }
            }
        }
        Ok(plan)
    }

    fn is_empty(&self) -> bool {
        self.signups.is_empty() && self.own.is_empty() && self.candidates.is_empty()
    }

    fn carry_out(&self, tx: &Tx<'_>, world: &dyn World) -> Result<(), Error> {
        self.signups.iter().try_for_each(|id| deletion::repeat(tx, world, id))?;
        self.own.iter().try_for_each(|candidate| candidate::repeat_own(tx, world, candidate))?;
        candidate::repeat(tx, world, &self.candidates)
    }
}

fn signup_data(tx: &Tx<'_>, id: &SignupId) -> Result<ListedData, Error> {
    let sql = "SELECT a.candidate_id
               FROM signups s
               LEFT JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
               WHERE s.id = $1";
    let candidate = tx.one(sql, [id.as_str()], |row| Columns::of(row).parse_or_none(CandidateId::parse))?;
    Ok(candidate.map_or(ListedData::Absent, ListedData::Present))
}

/// Finds a candidate. Returns `None` if the candidate is not in the file or was erased in the file.
fn find(tx: &Tx<'_>, id: &CandidateId) -> Result<Option<CandidateRef>, Error> {
    let sql = "SELECT number, organization_id
               FROM candidates
               WHERE id = $1 AND erased_at IS NULL";
    tx.one(sql, [id.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(CandidateRef {
            id: id.clone(),
            number: columns.read()?,
            organization_id: columns.parse(OrganizationId::parse)?,
        })
    })
}

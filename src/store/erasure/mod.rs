//! Erasing candidates: nothing of who they were stays in the file, and every figure and the chain of what was done stay as
//! they are. And holding them, so that nobody does.
//!
//! The transaction takes away what rows say. What is left to do behind it is in the folder: `list` (who was erased, for
//! older copies of the file), `page` and `wipe` (what a page of the file holds between its rows), and the write-ahead log,
//! which the checkpoints cut once they are told ([`Erasures`]).

pub(super) mod asked;
mod changed;
mod list;
mod on_record;
mod restore;
pub mod retention;
pub(super) mod signup;
mod wipe;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) use self::list::whole_lines;
pub(super) use self::on_record::write_missing_list;
pub use self::restore::ErasedAgain;
pub(super) use self::restore::{reported, restore};
pub(super) use self::wipe::start as start_wiping;
use super::activity;
use super::candidate::acts;
use super::candidate::words::{self, Worded};
use super::status_page::claims;
use super::{candidate_role, idempotency_key, outbox, personal_data, staging};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::{self, ErasureFacts};
use crate::domain::id::{CandidateId, OrganizationId, SignupId};
use crate::domain::text::Email;
use crate::domain::user::Principal;
use crate::world::World;
pub use list::ListError;
use list::{Entry, Line};

/// What erasures leave to do outside of their transactions, and the list of who was erased.
pub struct Erasures {
    list: list::List,
    /// Where the list ended before the transaction that is under way added its first line to it.
    added_behind: Mutex<Option<u64>>,
    /// A transaction that erases is under way.
    is_under_way: AtomicBool,
    /// Transactions that were committed and erased somebody, or left something else to do.
    committed: AtomicU64,
    /// Behind how many of them nothing that they left to sweep is there any more.
    swept: AtomicU64,
    /// Behind how many of them every page was wiped.
    wiped: AtomicU64,
    /// Behind how many of those the log was cut: nothing of whom they erased is left.
    cut: AtomicU64,
}

impl Erasures {
    /// Of the file at this path. What the process before had left to do is not known, so after a start it may be that
    /// everything is to be done again.
    pub(super) fn of(path: &Path, is_unfinished: bool) -> Self {
        Self {
            list: list::List::of(path),
            added_behind: Mutex::default(),
            is_under_way: AtomicBool::new(false),
            committed: AtomicU64::new(u64::from(is_unfinished)),
            swept: AtomicU64::new(0),
            wiped: AtomicU64::new(0),
            cut: AtomicU64::new(0),
        }
    }

    /// Whether something of whom was erased may still be in the file or its log, where nobody reads it.
    pub fn are_unfinished(&self) -> bool {
        let done = self.cut.load(Ordering::SeqCst).min(self.swept.load(Ordering::SeqCst));
        self.is_under_way.load(Ordering::SeqCst) || done < self.behind()
    }

    /// A transaction was committed: what it erased can be wiped and cut from now on.
    pub(crate) fn committed(&self) {
        *self.added_behind.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.is_under_way.load(Ordering::Relaxed) {
            self.committed.fetch_add(1, Ordering::SeqCst);
            self.is_under_way.store(false, Ordering::SeqCst);
        }
    }

    /// A transaction was undone: takes its lines off the list, on the disk, before anybody is answered that nothing was
    /// changed. Otherwise the next start would carry the erasure out.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the list cannot be written. Whether the next start erases is unknown then.
    pub(crate) fn undone(&self) -> Result<(), Error> {
        let mut added_behind = self.added_behind.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = *added_behind {
            self.list.cut(end)?;
            *added_behind = None;
            self.is_under_way.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The transaction that is under way takes away what somebody sent, and erases nobody: the file and its log are to hold
    /// nothing of that either, and an older copy of the file is not to bring it back.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the list cannot be written.
    pub(super) fn taken_away(&self, signup: &SignupId) -> Result<(), Error> {
        self.note(&[signup_line(signup.clone())])
    }

    /// How many transactions there were that left something to do.
    pub(super) fn behind(&self) -> u64 {
        self.committed.load(Ordering::SeqCst)
    }

    /// Whether documents may be left to sweep.
    pub(super) fn are_to_sweep(&self) -> bool {
        self.swept.load(Ordering::SeqCst) < self.behind()
    }

    /// There is more to do: something was found that is to be swept, or was dropped and its pages are to be wiped.
    pub(super) fn left_more(&self) {
        self.committed.fetch_add(1, Ordering::SeqCst);
    }

    /// Behind so many transactions nothing is left to sweep.
    pub(super) fn swept(&self, behind: u64) {
        self.swept.store(behind, Ordering::SeqCst);
    }

    /// Cuts the log by `cut`, which says whether it could. Whether it did; `None` where nothing is due.
    pub(crate) fn cut(&self, cut: impl FnOnce() -> bool) -> Option<bool> {
        let wiped = self.wiped.load(Ordering::SeqCst);
        let is_cut = (wiped > self.cut.load(Ordering::SeqCst)).then(cut);
        if is_cut == Some(true) {
            self.cut.store(wiped, Ordering::SeqCst);
        }
        is_cut
    }

    /// Puts on the list, on the disk, who is erased, before the erasure is committed: so nobody whose erasure was answered is
    /// missing on it. Where the transaction is undone, [`Erasures::undone`] takes the lines back.
    fn note(&self, lines: &[Line]) -> Result<(), Error> {
        let mut added_behind = self.added_behind.lock().unwrap_or_else(PoisonError::into_inner);
        let end = self.list.end()?;
        // Before the write: one that fails may have written all of it.
        added_behind.get_or_insert(end);
        self.list.add(end, lines)?;
        self.is_under_way.store(true, Ordering::SeqCst);
        Ok(())
    }
}

fn signup_line(id: SignupId) -> Line {
    Line { entry: Entry::Signup(id), changed: None }
}

/// A candidate, as what erases them knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Their id.
    pub id: CandidateId,
    /// Their number in the file.
    pub number: i64,
    /// Whose candidate they are.
    pub organization_id: OrganizationId,
}

/// What is to be known of an organization's candidate before they are erased, held or released. Fails when SQLite does.
pub fn facts(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Option<ErasureFacts>, Error> {
    let sql = "SELECT number, hold_reason, erased_at
               FROM candidates
               WHERE organization_id = $1 AND id = $2";
    tx.one(sql, (organization.as_str(), candidate.as_str()), |row| {
        Ok(ErasureFacts { number: row.get(0)?, hold_reason: row.get(1)?, erased_at: tx::time_or_none(row, 2)? })
    })
}

/// Erases candidates, by the caller or, without one, by the service itself. Their applications that go on are withdrawn.
///
/// # Errors
/// [`Error::Unavailable`] where the list of who was erased cannot be written. When SQLite fails.
pub fn erase(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    who: Option<&Principal>,
    candidates: &[Candidate],
) -> Result<(), Error> {
    let mut lines = Vec::new();
    for candidate in candidates {
        lines.push(changed::line(tx, Entry::Candidate(candidate.id.clone()), &candidate.id)?);
    }
    for candidate in candidates {
        lines.extend(signups(tx, candidate)?);
    }
    erasures.note(&lines)?;
    take_away(tx, world, who, candidates)
}

/// Erases candidates whose time of retention is over, by the service itself. Their lines on the list are on record only: the
/// retention decides anew about whoever an older copy of the file brings back.
///
/// # Errors
/// As [`erase`].
fn erase_by_retention(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    candidates: &[Candidate],
) -> Result<(), Error> {
    let line = |candidate: &Candidate| Line { entry: Entry::Retention(candidate.id.clone()), changed: None };
    erasures.note(&candidates.iter().map(line).collect::<Vec<_>>())?;
    take_away(tx, world, None, candidates)
}

/// What a candidate applied with, for the list. They may have become one only when somebody else was erased: in an older copy
/// of the file what they sent is there, and they are not.
fn signups(tx: &Tx<'_>, candidate: &Candidate) -> Result<impl Iterator<Item = Line>, Error> {
    Ok(signup::of_candidate(tx, &candidate.id)?.into_iter().map(signup_line))
}

/// Erases a candidate who wanted it by the link of their page. What others have sent under the same address stays, as if they
/// had come first.
///
/// # Errors
/// As [`erase`].
pub fn erase_own(tx: &Tx<'_>, erasures: &Erasures, world: &dyn World, candidate: &Candidate) -> Result<(), Error> {
    let line = changed::line(tx, Entry::Own(candidate.id.clone()), &candidate.id)?;
    let later = claims::let_go(tx, &candidate.id)?;
    let lines: Vec<Line> = std::iter::once(line).chain(signups(tx, candidate)?).collect();
    erasures.note(&lines)?;
    take_away_own(tx, world, candidate, &later)
}

/// What the transaction does of that.
fn take_away_own(tx: &Tx<'_>, world: &dyn World, candidate: &Candidate, later: &[SignupId]) -> Result<(), Error> {
    take_away(tx, world, None, std::slice::from_ref(candidate))?;
    super::signup::found_anew(tx, world, &candidate.organization_id, later)
}

/// What the transaction does of it.
fn take_away(tx: &Tx<'_>, world: &dyn World, who: Option<&Principal>, candidates: &[Candidate]) -> Result<(), Error> {
    // What was decided and is no message yet would be told from facts that are gone.
    outbox::take_up_all(tx)?;
    for candidate in candidates {
        asked::forget(tx, candidate)?;
        staging::settle(tx, &candidate.id)?;
        forget_words(tx, candidate)?;
        signup::forget_all(tx, &candidate.id)?;
        forget_person(tx, candidate)?;
        personal_data::clear(tx, &candidate.id)?;
        outbox::forget_candidate(tx, &candidate.id, &email(tx, candidate)?)?;
        idempotency_key::forget_candidate(tx, &candidate.id)?;
        retention::due::take_off(tx, candidate.number)?;
        withdraw(tx, world, who, candidate)?;
        let detail = activity::detail(&None::<Erased>, &Erased { erased_at: tx.now.to_string() })?;
        activity::append(tx, &activity::stamp(world), who, Action::CandidateErased, &subject(candidate), &detail)?;
    }
    forget_samples(tx)
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Erased {
    erased_at: String,
}

fn subject(candidate: &Candidate) -> Subject {
    Subject::of_candidate(candidate.organization_id.clone(), candidate.id.clone())
}

/// The words that the candidate is found by: they follow from name and address.
fn forget_words(tx: &Tx<'_>, candidate: &Candidate) -> Result<(), Error> {
    let sql = "SELECT name, email
               FROM candidates
               WHERE number = $1";
    let found = tx.one(sql, [candidate.number], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let (name, email) = found.ok_or_else(|| Error::Defect(format!("candidate {} is gone", candidate.id)))?;
    let organization_id = candidate.organization_id.as_str();
    words::unindex(tx, &Worded { organization_id, number: candidate.number, name: &name, email: &email })
}

fn forget_person(tx: &Tx<'_>, candidate: &Candidate) -> Result<(), Error> {
    let email = free_address(tx, candidate)?;
    let sql = "UPDATE candidates
               SET name = $1, email = $2, email_key = $3, hold_reason = NULL, erased_at = $4, updated_at = $4
               WHERE number = $5 AND erased_at IS NULL";
    let params = (erasure::ERASED_NAME, email.as_str(), email.key(), tx.now.micros(), candidate.number);
    if tx.run(sql, params)? == 1 {
        Ok(())
    } else {
        Err(Error::Defect(format!("candidate {} is not as the rule saw them", candidate.id)))
    }
}

/// The first of the candidate's addresses that nobody else was given.
fn free_address(tx: &Tx<'_>, candidate: &Candidate) -> Result<Email, Error> {
    let sql = "SELECT 1
               FROM candidates
               WHERE organization_id = $1 AND email_key = $2 AND number <> $3";
    for attempt in 0.. {
        let address =
            tx::word(&erasure::erased_address(&candidate.id, candidate.number, attempt), Email::parse_stored)?;
        if !tx.exists(sql, (candidate.organization_id.as_str(), address.key(), candidate.number))? {
            return Ok(address);
        }
    }
    Err(Error::Defect("every address is taken".to_owned()))
}

/// The address that the candidate has now.
fn email(tx: &Tx<'_>, candidate: &Candidate) -> Result<String, Error> {
    let sql = "SELECT email
               FROM candidates
               WHERE number = $1";
    let found = tx.one(sql, [candidate.number], |row| Ok(row.get(0)?))?;
    found.ok_or_else(|| Error::Defect(format!("candidate {} is gone", candidate.id)))
}

/// The samples of values that an operator's `ANALYZE` leaves. No statement of ours is planned by them, because all of them
/// have their values as parameters (`SQLITE_DBCONFIG_ENABLE_QPSG`); the counts, which some are planned by, stay.
fn forget_samples(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "SELECT 1
               FROM sqlite_schema
               WHERE name = 'sqlite_stat4'";
    if tx.exists(sql, [])? {
        tx.run("DELETE FROM sqlite_stat4", [])?;
    }
    Ok(())
}

/// Ends the applications that go on: nobody is left to go on with.
fn withdraw(tx: &Tx<'_>, world: &dyn World, who: Option<&Principal>, candidate: &Candidate) -> Result<(), Error> {
    let organization = &candidate.organization_id;
    for application in candidate_role::of_candidate(tx, organization, &candidate.id)? {
        if application.record.status == ApplicationStatus::InProgress {
            acts::withdraw(tx, who, organization, &application, None, &activity::stamp(world))?;
        }
    }
    Ok(())
}

/// Holds a candidate for a reason, or releases them without one.
///
/// # Errors
/// [`Error::Defect`] where the candidate is not as the rule saw them. When SQLite fails.
pub fn set_hold(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    candidate: &Candidate,
    before: &ErasureFacts,
    reason: Option<&str>,
) -> Result<(), Error> {
    let sql = "UPDATE candidates
               SET hold_reason = $1
               WHERE number = $2 AND organization_id = $3 AND erased_at IS NULL";
    if tx.run(sql, (reason, candidate.number, candidate.organization_id.as_str()))? != 1 {
        return Err(Error::Defect(format!("candidate {} is not as the rule saw them", candidate.id)));
    }
    // Once released, they become due anew.
    retention::due::take_off(tx, candidate.number)?;
    let detail = activity::detail(&Hold { hold_reason: before.hold_reason.as_deref() }, &Hold { hold_reason: reason })?;
    let action = if reason.is_some() { Action::CandidateHeld } else { Action::CandidateReleased };
    activity::append(tx, stamp, Some(who), action, &subject(candidate), &detail)
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Hold<'a> {
    hold_reason: Option<&'a str>,
}

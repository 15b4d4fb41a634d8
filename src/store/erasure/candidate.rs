//! The transaction that erases candidates. It deletes and overwrites rows, and adds lines to the erasure list.

use serde::Serialize;

use super::deferred;
use super::last_change;
use super::list::ListLine;
use super::progress::{Erasures, signup_line};
use super::retention::due;
use crate::db::engine::Engine;
use crate::db::row::Columns;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::replay::ListedErasure;
use crate::domain::erasure::{CandidateRef, ERASED_NAME, erased_address};
use crate::domain::id::SignupId;
use crate::domain::text::Email;
use crate::domain::user::Principal;
use crate::store::application::recorded_act;
use crate::store::candidate::word_index::{self, IndexedText};
use crate::store::signup::{self, reapplication};
use crate::store::{activity, application, idempotency_key, outbox, personal_data, staging};
use crate::world::World;

/// Erases candidates on behalf of the caller or, if `who` is `None`, of the service. Withdraws their applications in
/// progress.
///
/// # Errors
/// [`Error::Full`] or [`Error::Unavailable`] if the erasure list cannot be read or written; [`Error::Defect`] if a
/// candidate does not exist or has already been erased.
pub fn erase(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    who: Option<&Principal>,
    candidates: &[CandidateRef],
) -> Result<(), Error> {
    let mut lines = Vec::new();
    for candidate in candidates {
        lines.push(last_change::line(tx, ListedErasure::Candidate(candidate.id.clone()), &candidate.id)?);
    }
    for candidate in candidates {
        lines.extend(signup_lines(tx, candidate)?);
    }
    erasures.record(tx, &lines)?;
    erase_rows(tx, world, who, candidates)
}

/// Erases candidates whose retention period has ended. Their lines in the erasure list are only a record: if an older
/// copy of the file brings these candidates back, retention decides again whether to erase them.
///
/// # Errors
/// The errors of [`erase`].
pub(super) fn erase_by_retention(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    candidates: &[CandidateRef],
) -> Result<(), Error> {
    let line =
        |candidate: &CandidateRef| ListLine { erasure: ListedErasure::Retention(candidate.id.clone()), changed: None };
    erasures.record(tx, &candidates.iter().map(line).collect::<Vec<_>>())?;
    erase_rows(tx, world, None, candidates)
}

/// Erases a candidate who asked for erasure on their status page. The signups of other people under the same address
/// stay. The service handles them as if the erased candidate had never applied.
///
/// # Errors
/// The errors of [`erase`].
pub(in super::super) fn erase_own(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    candidate: &CandidateRef,
) -> Result<(), Error> {
    let line = last_change::line(tx, ListedErasure::Own(candidate.id.clone()), &candidate.id)?;
    let later = reapplication::release_later_signups(tx, &candidate.id)?;
    let lines: Vec<ListLine> = std::iter::once(line).chain(signup_lines(tx, candidate)?).collect();
    erasures.record(tx, &lines)?;
    erase_own_rows(tx, world, candidate, &later)
}

/// Returns the lines of the erasure list for a candidate's signups. A signup may have created this candidate after the
/// erasure of another candidate with the same address. In an older copy of the file, the signup still belongs to that
/// other candidate, so it needs a line of its own.
fn signup_lines(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<impl Iterator<Item = ListLine>, Error> {
    Ok(signup::ids_of_candidate(tx, &candidate.id)?.into_iter().map(signup_line))
}

/// Repeats an erasure that a candidate asked for and that is already in the list.
pub(super) fn repeat_own(tx: &Tx<'_>, world: &dyn World, candidate: &CandidateRef) -> Result<(), Error> {
    let later = reapplication::release_later_signups(tx, &candidate.id)?;
    erase_own_rows(tx, world, candidate, &later)
}

/// Repeats the erasure of candidates who are already in the list.
pub(super) fn repeat(tx: &Tx<'_>, world: &dyn World, candidates: &[CandidateRef]) -> Result<(), Error> {
    if candidates.is_empty() { Ok(()) } else { erase_rows(tx, world, None, candidates) }
}

fn erase_own_rows(tx: &Tx<'_>, world: &dyn World, candidate: &CandidateRef, later: &[SignupId]) -> Result<(), Error> {
    erase_rows(tx, world, None, std::slice::from_ref(candidate))?;
    reapplication::reapply(tx, world, &candidate.organization_id, later)
}

fn erase_rows(
    tx: &Tx<'_>,
    world: &dyn World,
    who: Option<&Principal>,
    candidates: &[CandidateRef],
) -> Result<(), Error> {
    // Deliveries for earlier decisions are created first, because they need the data that is erased below.
    outbox::take_in_all(tx)?;
    for candidate in candidates {
        deferred::remove(tx, candidate)?;
        staging::settle(tx, &candidate.id)?;
        delete_words(tx, candidate)?;
        signup::deletion::delete_of_candidate(tx, &candidate.id)?;
        overwrite_person(tx, candidate)?;
        personal_data::clear(tx, &candidate.id)?;
        outbox::erase_candidate(tx, &candidate.id, &email(tx, candidate)?)?;
        idempotency_key::erase_candidate(tx, &candidate.id)?;
        due::remove(tx, candidate.number)?;
        withdraw_applications(tx, world, who, candidate)?;
        let after = ErasureDetail { erased_at: tx.now.to_string() };
        let detail = activity::detail(&None::<ErasureDetail>, &after)?;
        let subject = Subject::of_candidate(candidate.organization_id.clone(), candidate.id.clone());
        activity::append(tx, &activity::stamp(world), who, Action::CandidateErased, &subject, &detail)?;
    }
    delete_statistics_samples(tx)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErasureDetail {
    erased_at: String,
}

/// Deletes the words of the candidate's name and address from the word index.
fn delete_words(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<(), Error> {
    let sql = "SELECT name, email
               FROM candidates
               WHERE number = $1";
    let person = tx.one(sql, [candidate.number], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<String>()?, columns.read::<String>()?))
    })?;
    let (name, email) = person.ok_or_else(|| gone(candidate))?;
    let organization_id = candidate.organization_id.as_str();
    word_index::delete(tx, &IndexedText { organization_id, number: candidate.number, name: &name, email: &email })
}

fn overwrite_person(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<(), Error> {
    let email = free_address(tx, candidate)?;
    let sql = "UPDATE candidates
               SET name = $1, email = $2, email_key = $3, hold_reason = NULL, erased_at = $4, updated_at = $4
               WHERE number = $5 AND erased_at IS NULL";
    let params = (ERASED_NAME, email.as_str(), email.key(), tx.now.micros(), candidate.number);
    if tx.run(sql, params)? == 1 {
        Ok(())
    } else {
        Err(Error::Defect(format!("candidate {} changed after the facts were read", candidate.id)))
    }
}

/// Returns the first of the candidate's possible tombstone addresses that no other candidate has.
fn free_address(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<Email, Error> {
    let sql = "SELECT 1
               FROM candidates
               WHERE organization_id = $1 AND email_key = $2 AND number <> $3";
    for attempt in 0.. {
        let address = erased_address(&candidate.id, candidate.number, attempt);
        let address = tx::word(&address, Email::parse_stored)?;
        if !tx.exists(sql, (candidate.organization_id.as_str(), address.key(), candidate.number))? {
            return Ok(address);
        }
    }
    Err(Error::Defect("every erased address is taken".to_owned()))
}

/// Returns the current address of the candidate.
fn email(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<String, Error> {
    let sql = "SELECT email
               FROM candidates
               WHERE number = $1";
    tx.value(sql, [candidate.number])?.ok_or_else(|| gone(candidate))
}

fn gone(candidate: &CandidateRef) -> Error {
    Error::Defect(format!("candidate {} is gone", candidate.id))
}

/// Deletes the samples of column values that an operator's `ANALYZE` leaves. SQLite does not use the samples to plan
/// statements of the service, because the service passes all values as parameters (`SQLITE_DBCONFIG_ENABLE_QPSG`). The
/// row counts stay, because some query plans depend on them.
fn delete_statistics_samples(tx: &Tx<'_>) -> Result<(), Error> {
    if tx.engine() != Engine::Sqlite {
        // On a PostgreSQL server, the cleanup replaces the samples by running `ANALYZE` (`wipe`).
        return Ok(());
    }
    let sql = "SELECT 1
               FROM sqlite_schema
               WHERE name = 'sqlite_stat4'";
    if tx.exists(sql, [])? {
        tx.run("DELETE FROM sqlite_stat4", [])?;
    }
    Ok(())
}

fn withdraw_applications(
    tx: &Tx<'_>,
    world: &dyn World,
    who: Option<&Principal>,
    candidate: &CandidateRef,
) -> Result<(), Error> {
    let organization = &candidate.organization_id;
    for application in application::of_candidate(tx, organization, &candidate.id)? {
        if application.record.status == ApplicationStatus::InProgress {
            recorded_act::withdraw(tx, who, organization, &application, None, &activity::stamp(world))?;
        }
    }
    Ok(())
}

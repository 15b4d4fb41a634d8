//! Staging: an import into the database of a running service. It writes applications in short transactions, so that
//! requests do not wait long for the import.
//!
//! 1. The import stages its applications in `import_rows`, where requests do not see them. If the import ends during
//!    this step, the next import or the next start of the service drops the rows. The service then wipes the bytes that
//!    these rows leave in the pages of the database.
//! 2. One transaction decides that all staged applications will be published. It also writes the records that the
//!    applications refer to: users, organizations, roles and steps.
//! 3. The applications are published, one slice in each transaction. If the import ends early, the service publishes
//!    the rest.

pub(super) mod job;
mod staged_application;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

pub use self::staged_application::StagedApplication;
use super::candidate::CandidateRecord;
use super::{application, candidate, candidate_step, organization, role, role_step};
use crate::db::connection::Connection;
use crate::db::open_for_command;
use crate::db::row::{Columns, Row};
use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::CandidateId;
use crate::domain::organization::StatusCounts;
use crate::domain::refusal::Refusal;
use crate::world::World;

/// The maximum number of applications that one transaction publishes.
pub const PUBLISHED_MAX: usize = 64;

/// The time after which a transaction publishes no further applications, so that it does not hold the write lock for
/// too long on a slow machine.
const WORK_MAX: Duration = Duration::from_millis(10);

/// The maximum number of applications that one transaction stages or drops: one insert or deletion for each, a few
/// milliseconds in total.
const STAGED_MAX: usize = 128;

/// The pause between two transactions. Other connections can take the write lock in this pause. In the first 100 ms of
/// a wait, SQLite polls the lock at least every 25 ms.
const PAUSE: Duration = Duration::from_millis(25);

/// A running import.
pub struct Staging<'w> {
    connection: Connection,
    world: &'w dyn World,
    number: i64,
    staged: usize,
    longest: Duration,
}

impl<'w> Staging<'w> {
    /// Begins an import. Publishes the rows of earlier imports that were decided, and drops the rows of the others.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if another process holds the write lock.
    pub fn begin(path: &Path, world: &'w dyn World) -> Result<Self, Error> {
        let connection = open_for_command(path)?;
        // A power failure can undo a commit that does not wait for the disk, but only together with all later commits.
        connection.set_durable(false)?;
        let mut staging = Self { connection, world, number: 0, staged: 0, longest: Duration::ZERO };
        while staging.act(|tx, is_over| publish_slice(tx, is_over))? {}
        for number in staging.act(|tx, _| undecided(tx))? {
            staging.drop_rows(number)?;
        }
        staging.number = staging.act(|tx, _| {
            tx.run(DROP_FINISHED, [])?;
            tx.run(DELETE_FINISHED, [])?;
            let sql = "INSERT INTO imports (started_at, skipped)
                       VALUES ($1, 0)
                       RETURNING number";
            let number = tx.value(sql, [tx.now.micros()])?;
            number.ok_or_else(|| Error::Defect("the new import has no number".to_owned()))
        })?;
        Ok(staging)
    }

    /// Stages applications. Requests do not see them.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if another process holds the write lock.
    pub fn stage(&mut self, applications: impl Iterator<Item = StagedApplication>) -> Result<(), Error> {
        let mut applications = applications.peekable();
        while applications.peek().is_some() {
            let slice: Vec<StagedApplication> = applications.by_ref().take(STAGED_MAX).collect();
            let number = self.number;
            self.act(|tx, _| stage(tx, number, &slice))?;
            self.staged += slice.len();
        }
        Ok(())
    }

    /// Commits the decision that all staged applications will be published, together with the writes of `f`. The commit
    /// is durable. If `f` fails, nothing is imported.
    ///
    /// # Errors
    /// The error of `f`; [`Error::Refused`] if another import, a start of the service or an erasure has dropped staged
    /// rows; [`Error::Unavailable`] if another process holds the write lock.
    pub fn decide<T>(&mut self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let (number, staged) = (self.number, self.staged);
        self.connection.set_durable(true)?;
        let decided = self.act(|tx, _| {
            decide(tx, number, staged)?;
            f(tx)
        });
        self.connection.set_durable(false)?;
        if decided.is_err() && !matches!(decided, Err(Error::OutcomeUnknown(_))) {
            // If the rows cannot be dropped now, the next start or import drops them.
            let _ = self.drop_rows(number);
        }
        decided
    }

    /// Publishes the decided applications. Returns the number of applications that were skipped because the data had
    /// changed since they were staged. After an error, the service or the next import publishes the rest.
    pub fn finish(&mut self) -> Result<usize, Error> {
        while self.act(|tx, is_over| publish_slice(tx, is_over))? {}
        let number = self.number;
        self.act(|tx, _| {
            let sql = "UPDATE imports
                       SET decided_at = NULL
                       WHERE number = $1 AND skipped > 0
                       RETURNING skipped";
            if let Some(skipped) = tx.value::<i64>(sql, [number])? {
                return Ok(usize::try_from(skipped).unwrap_or_default());
            }
            tx.run("DELETE FROM imports WHERE number = $1", [number])?;
            Ok(0)
        })
    }

    /// Returns the longest time for which one of the transactions held the write lock.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    fn drop_rows(&mut self, number: i64) -> Result<(), Error> {
        while self.act(|tx, _| drop_slice(tx, number))? {}
        Ok(())
    }

    /// Runs `f` in a transaction. `f` must end soon after its second argument returns true.
    fn act<T>(&mut self, f: impl FnOnce(&Tx<'_>, &dyn Fn() -> bool) -> Result<T, Error>) -> Result<T, Error> {
        let world = self.world;
        let mut begun = None;
        let outcome = tx::act(&self.connection, world.now(), |tx| {
            let at = *begun.insert(world.monotonic());
            f(tx, &|| world.monotonic().saturating_sub(at) >= WORK_MAX)
        });
        let held = begun.map_or(Duration::ZERO, |at| world.monotonic().saturating_sub(at));
        self.longest = self.longest.max(held);
        std::thread::sleep(PAUSE);
        outcome
    }
}

/// The statement that marks finished imports with skipped rows as dropped, so that page wiping removes those rows from
/// the database.
const DROP_FINISHED: &str = "UPDATE imports
    SET decided_at = NULL
    WHERE decided_at IS NOT NULL AND skipped > 0
      AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";

/// The statement that deletes imports that the service finished. No import command waits for their result.
const DELETE_FINISHED: &str = "DELETE FROM imports
    WHERE decided_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";

fn stage(tx: &Tx<'_>, import: i64, applications: &[StagedApplication]) -> Result<(), Error> {
    let sql = "INSERT INTO import_rows (import_number, organization_id, role_id, candidate_id, status, application)
               VALUES ($1, $2, $3, $4, $5, $6)";
    tx.run_each(sql, applications.iter(), |staged| {
        let (role, candidate) = (staged.role.as_str(), staged.candidate.id.as_str());
        let status = staged.application.status.as_str();
        Ok((import, staged.organization.as_str(), role, candidate, status, staged.text()?))
    })
}

fn decide(tx: &Tx<'_>, import: i64, staged: usize) -> Result<(), Error> {
    let sql = "UPDATE imports
               SET decided_at = $1
               WHERE number = $2 AND decided_at IS NULL AND skipped = 0
                 AND (SELECT count(*) FROM import_rows WHERE import_number = $2) = $3";
    let staged = i64::try_from(staged).unwrap_or(i64::MAX);
    if tx.run(sql, (tx.now.micros(), import, staged))? == 1 {
        return Ok(());
    }
    let why = "another import, a start of the service or an erasure intervened, so nothing was imported; try again";
    Err(Refusal::bad_request(why.to_owned()).into())
}

/// Returns the imports that were not decided.
fn undecided(tx: &Tx<'_>) -> Result<Vec<i64>, Error> {
    let sql = "SELECT number
               FROM imports
               WHERE decided_at IS NULL";
    tx.values(sql, [])
}

/// Drops some rows of an import that was not decided, and marks the import as dropped when no row is left. Returns
/// whether more rows might be left.
fn drop_slice(tx: &Tx<'_>, import: i64) -> Result<bool, Error> {
    let sql = "DELETE FROM import_rows
               WHERE number IN (
                 SELECT r.number
                 FROM imports i
                 JOIN import_rows r ON r.import_number = i.number
                 WHERE i.number = $1 AND i.decided_at IS NULL
                 LIMIT $2
               )";
    let dropped = tx.run(sql, (import, i64::try_from(STAGED_MAX).unwrap_or(i64::MAX)))?;
    if dropped == 0 {
        tx.run("UPDATE imports SET skipped = 1 WHERE number = $1 AND decided_at IS NULL AND skipped = 0", [import])?;
    }
    Ok(dropped > 0)
}

/// Returns the imports that were dropped or that skipped rows. The pages of the database may still contain bytes of
/// their deleted rows. These imports are not decided, and their `skipped` is above 0. The `skipped` of a running import
/// is 0.
fn dropped(tx: &Tx<'_>) -> Result<Vec<i64>, Error> {
    let sql = "SELECT number
               FROM imports
               WHERE decided_at IS NULL AND skipped > 0
                 AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";
    tx.values(sql, [])
}

/// Deletes dropped imports whose pages were wiped.
fn delete_wiped(tx: &Tx<'_>, imports: &[i64]) -> Result<(), Error> {
    let sql = "DELETE FROM imports
               WHERE number = $1 AND decided_at IS NULL AND skipped > 0
                 AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";
    tx.run_each(sql, imports.iter(), |import| Ok([*import]))
}

/// A row of `import_rows`.
struct ImportRow {
    number: i64,
    import: i64,
    staged: StagedApplication,
}

/// Reads `number`, `import_number`, `organization_id`, `role_id`, `candidate_id` and `application`.
fn read_import_row(row: &Row<'_>) -> Result<ImportRow, Error> {
    let mut columns = Columns::of(row);
    let (number, import) = (columns.read()?, columns.read()?);
    let (organization, role, candidate) = (columns.text()?, columns.text()?, columns.text()?);
    let staged = StagedApplication::parse(organization, role, candidate, columns.text()?)?;
    Ok(ImportRow { number, import, staged })
}

/// Publishes at most [`PUBLISHED_MAX`] of the decided applications, and stops early if `is_over` returns true. Returns
/// whether there were decided applications.
fn publish_slice(tx: &Tx<'_>, is_over: &dyn Fn() -> bool) -> Result<bool, Error> {
    let sql = "SELECT r.number, r.import_number, r.organization_id, r.role_id, r.candidate_id, r.application
               FROM imports i
               JOIN import_rows r ON r.import_number = i.number
               WHERE i.decided_at IS NOT NULL
               ORDER BY r.import_number, r.number
               LIMIT $1";
    let rows = tx.all(sql, [i64::try_from(PUBLISHED_MAX).unwrap_or(i64::MAX)], read_import_row)?;
    for row in &rows {
        publish(tx, row)?;
        if is_over() {
            break;
        }
    }
    Ok(!rows.is_empty())
}

/// Publishes the decided rows of a candidate who is being erased, and drops the candidate's other rows, so that no row
/// appears after the erasure.
pub(super) fn settle(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT r.number, r.import_number, r.organization_id, r.role_id, r.candidate_id, r.application
               FROM import_rows r
               JOIN imports i ON i.number = r.import_number
               WHERE r.candidate_id = $1 AND i.decided_at IS NOT NULL
               ORDER BY r.number";
    for row in tx.all(sql, [candidate.as_str()], read_import_row)? {
        publish(tx, &row)?;
    }
    tx.run("DELETE FROM import_rows WHERE candidate_id = $1", [candidate.as_str()])?;
    Ok(())
}

/// Moves a row to the tables of applications. If this is no longer possible because the data has changed since the row
/// was staged, deletes the row and counts it as skipped. If the skipped row is a hire, its position becomes free again.
fn publish(tx: &Tx<'_>, row: &ImportRow) -> Result<(), Error> {
    let ImportRow { number, import, staged } = row;
    let status = staged.application.status;
    if insert(tx, staged)? {
        organization::add_to_status(tx, &staged.organization, StatusCounts::of_application(status))?;
    } else {
        if status == ApplicationStatus::Hired {
            free_position(tx, staged)?;
        }
        tx.run("UPDATE imports SET skipped = skipped + 1 WHERE number = $1", [import])?;
    }
    tx.run("DELETE FROM import_rows WHERE number = $1", [number])?;
    Ok(())
}

/// Inserts the application with its steps, and its candidate unless the candidate is in the database. Returns whether
/// the insertion was possible. Since the decision, the candidate may have applied, and staff may have deleted the role.
fn insert(tx: &Tx<'_>, staged: &StagedApplication) -> Result<bool, Error> {
    let StagedApplication { organization, role, candidate, application, steps } = staged;
    if !role::exists(tx, role)? {
        return Ok(false);
    }
    for step in steps {
        if !role_step::exists(tx, &step.role_step_id)? || candidate_step::exists(tx, &step.id)? {
            return Ok(false);
        }
    }
    let Some(candidate) = find_or_insert_candidate(tx, staged, candidate)? else { return Ok(false) };
    if !application::insert(tx, organization, role, &candidate, application, steps)? {
        return Ok(false);
    }
    for step in steps {
        if !candidate_step::insert(tx, &application.id, step)? {
            return Err(Error::Defect(format!("step {} was staged twice", step.id)));
        }
    }
    Ok(true)
}

/// Returns the candidate of the application: the staged candidate, or a candidate who has since been added under the
/// same address. Returns `None` if the candidate is erased in the database but not in the import, or the reverse. Also
/// returns `None` if another organization has a candidate with the id, and nobody in this one has the address.
fn find_or_insert_candidate(
    tx: &Tx<'_>,
    staged: &StagedApplication,
    record: &CandidateRecord,
) -> Result<Option<CandidateId>, Error> {
    let sql = "SELECT erased_at IS NOT NULL
               FROM candidates
               WHERE id = $1 AND organization_id = $2";
    let is_erased: Option<bool> = tx.value(sql, (record.id.as_str(), staged.organization.as_str()))?;
    if let Some(is_erased) = is_erased {
        return Ok((is_erased == record.privacy.erased_at.is_some()).then(|| record.id.clone()));
    }
    if candidate::insert(tx, &staged.organization, record)? {
        return Ok(Some(record.id.clone()));
    }
    Ok(candidate::with_email(tx, &staged.organization, &record.email)?.map(|candidate| candidate.id))
}

fn free_position(tx: &Tx<'_>, staged: &StagedApplication) -> Result<(), Error> {
    let Some(before) = role::seats(tx, &staged.organization, &staged.role)? else { return Ok(()) };
    let after = before.freed();
    role::save_seats(tx, &staged.role, before, after)?;
    let change = StatusCounts::of_role(after).minus(StatusCounts::of_role(before));
    organization::add_to_status(tx, &staged.organization, change)
}

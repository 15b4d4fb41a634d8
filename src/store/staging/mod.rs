//! An import beside a running service, in transactions so short that no request waits for it.
//!
//! 1. Its applications are staged in `import_rows`, where nothing looks. Where an import ends here, its rows are dropped, and
//!    the service wipes what they leave in the pages of the file.
//! 2. One transaction decides that all of them come, and brings what they refer to: users, organizations, roles, steps.
//! 3. They come, a few in a transaction. The import does this; where it ends early, the service goes on.

mod row;
#[cfg(test)]
mod tests;
mod thread;

use std::path::Path;
use std::time::Duration;

use crate::db::row::Connection;

pub use self::row::Row;
pub(super) use self::thread::start;
use super::{candidate, candidate_role, candidate_step, organization, role, role_step};
use crate::db::connection;
use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::CandidateId;
use crate::domain::organization::StatusCounts;
use crate::domain::refusal::Refusal;
use crate::world::World;

/// Applications that one transaction brings at most.
pub const BROUGHT_MAX: usize = 64;

/// After this time a transaction brings no further application, so that slow machines hold the write lock no longer.
const WORK_MAX: Duration = Duration::from_millis(10);

/// Applications that one transaction stages or drops: an insert each, some milliseconds in all.
const STAGED_MAX: usize = 128;

/// How long the write lock is left to others between two transactions. Someone who waits for it looks at least every 25 ms.
const REST: Duration = Duration::from_millis(25);

/// An import on its way.
pub struct Staging<'w> {
    connection: Connection,
    world: &'w dyn World,
    number: i64,
    staged: usize,
    longest: Duration,
}

impl<'w> Staging<'w> {
    /// Begins an import. What an earlier one left is brought where it was decided, and dropped otherwise.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where another process holds the write lock. When SQLite fails.
    pub fn begin(path: &Path, world: &'w dyn World) -> Result<Self, Error> {
        let connection = connection::open_for_command(path)?;
        let mut staging = Self { connection, world, number: 0, staged: 0, longest: Duration::ZERO };
        staging.set_durable(false)?;
        while staging.act(|tx, is_over| bring_some(tx, is_over))? {}
        for number in staging.act(|tx, _| undecided(tx))? {
            staging.drop_rows(number)?;
        }
        staging.number = staging.act(|tx, _| {
            tx.run(DROP_FINISHED, [])?;
            tx.run(FORGET_FINISHED, [])?;
            let sql = "INSERT INTO imports (started_at, skipped)
                       VALUES ($1, 0)
                       RETURNING number";
            let number = tx.one(sql, [tx.now.micros()], |row| Ok(row.get(0)?))?;
            number.ok_or_else(|| Error::Defect("an import got no number".to_owned()))
        })?;
        Ok(staging)
    }

    /// Stages applications. Nobody sees them.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where there is no room. When SQLite fails.
    pub fn stage(&mut self, rows: impl Iterator<Item = Row>) -> Result<(), Error> {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let some: Vec<Row> = rows.by_ref().take(STAGED_MAX).collect();
            let number = self.number;
            self.act(|tx, _| stage(tx, number, &some))?;
            self.staged += some.len();
        }
        Ok(())
    }

    /// Decides, durably, that all that was staged comes, together with what `f` writes. Where `f` fails, nothing comes.
    ///
    /// # Errors
    /// What `f` fails with. A refusal where another import, or a start of the service, has dropped what was staged.
    pub fn decide<T>(&mut self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let (number, staged) = (self.number, self.staged);
        self.set_durable(true)?;
        let decided = self.act(|tx, _| {
            decide(tx, number, staged)?;
            f(tx)
        });
        self.set_durable(false)?;
        if decided.is_err() && !matches!(decided, Err(Error::OutcomeUnknown(_))) {
            // What cannot be dropped now is dropped by the next start or import.
            let _ = self.drop_rows(number);
        }
        decided
    }

    /// Brings what was decided. How many applications did not come because the file was changed meanwhile.
    ///
    /// # Errors
    /// When SQLite fails; then the service goes on with it.
    pub fn finish(&mut self) -> Result<usize, Error> {
        while self.act(|tx, is_over| bring_some(tx, is_over))? {}
        let number = self.number;
        self.act(|tx, _| {
            let sql = "UPDATE imports
                       SET decided_at = NULL
                       WHERE number = $1 AND skipped > 0
                       RETURNING skipped";
            if let Some(skipped) = tx.one(sql, [number], |row| Ok(row.get::<_, i64>(0)?))? {
                return Ok(usize::try_from(skipped).unwrap_or_default());
            }
            tx.run("DELETE FROM imports WHERE number = $1", [number])?;
            Ok(0)
        })
    }

    /// The longest time that one of its transactions held the write lock.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    fn drop_rows(&mut self, number: i64) -> Result<(), Error> {
        while self.act(|tx, _| drop_some(tx, number))? {}
        Ok(())
    }

    /// Whether a commit waits for the disk. One that does not is there after a power cut, or all behind it is missing too.
    fn set_durable(&self, is_durable: bool) -> Result<(), Error> {
        let level = if is_durable { "FULL" } else { "NORMAL" };
        Ok(self.connection.execute_batch(&format!("PRAGMA synchronous = {level}"))?)
    }

    /// Runs `f` in a transaction of its own, which it is to end soon once its second argument says so.
    fn act<T>(&mut self, f: impl FnOnce(&Tx<'_>, &dyn Fn() -> bool) -> Result<T, Error>) -> Result<T, Error> {
        let world = self.world;
        let mut begun = None;
        let outcome = tx::act(&self.connection, world.now(), |tx| {
            let at = *begun.insert(world.monotonic());
            f(tx, &|| world.monotonic().saturating_sub(at) >= WORK_MAX)
        });
        let held = begun.map_or(Duration::ZERO, |at| world.monotonic().saturating_sub(at));
        self.longest = self.longest.max(held);
        std::thread::sleep(REST);
        outcome
    }
}

/// Of an import that the service finished by itself, and that skipped rows, something is left to wipe.
const DROP_FINISHED: &str = "UPDATE imports
    SET decided_at = NULL
    WHERE decided_at IS NOT NULL AND skipped > 0
      AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";

/// An import that the service finished by itself has nobody left to tell.
const FORGET_FINISHED: &str = "DELETE FROM imports
    WHERE decided_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";

fn stage(tx: &Tx<'_>, import: i64, rows: &[Row]) -> Result<(), Error> {
    let sql = "INSERT INTO import_rows (import_number, organization_id, role_id, candidate_id, status, application)
               VALUES ($1, $2, $3, $4, $5, $6)";
    tx.run_each(sql, rows.iter(), |row| {
        let (role, candidate) = (row.role.as_str(), row.candidate.id.as_str());
        Ok((import, row.organization.as_str(), role, candidate, row.application.status.as_str(), row.text()?))
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
    let why = "another import, or a start of the service, came between; nothing was imported, try again";
    Err(Refusal::bad_request(why.to_owned()).into())
}

/// The imports that were not decided.
fn undecided(tx: &Tx<'_>) -> Result<Vec<i64>, Error> {
    let sql = "SELECT number
               FROM imports
               WHERE decided_at IS NULL";
    tx.all(sql, [], |row| Ok(row.get(0)?))
}

/// Drops some rows of an import that was not decided, and marks it as dropped once none is left. Whether there is more to drop.
fn drop_some(tx: &Tx<'_>, import: i64) -> Result<bool, Error> {
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

/// The imports that were dropped, or skipped rows, and are not forgotten: the pages of the file may hold something of their
/// rows. They are not decided and have `skipped`, which an import on its way does not.
fn dropped(tx: &Tx<'_>) -> Result<Vec<i64>, Error> {
    let sql = "SELECT number
               FROM imports
               WHERE decided_at IS NULL AND skipped > 0
                 AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";
    tx.all(sql, [], |row| Ok(row.get(0)?))
}

/// Forgets imports of [`dropped`], whose pages were wiped.
fn forget_dropped(tx: &Tx<'_>, imports: &[i64]) -> Result<(), Error> {
    let sql = "DELETE FROM imports
               WHERE number = $1 AND decided_at IS NULL AND skipped > 0
                 AND NOT EXISTS (SELECT 1 FROM import_rows WHERE import_number = imports.number)";
    tx.run_each(sql, imports.iter(), |import| Ok([*import]))
}

/// A row with its number and its import's.
type Numbered = (i64, i64, Row);

fn numbered(row: &crate::db::row::Row<'_>) -> Result<Numbered, Error> {
    let text = |column: usize| row.get::<_, String>(column);
    Ok((row.get(0)?, row.get(1)?, Row::parse(&text(2)?, &text(3)?, &text(4)?, &text(5)?)?))
}

/// Brings some of the applications that were decided, until `is_over` says so. Whether there were any.
fn bring_some(tx: &Tx<'_>, is_over: &dyn Fn() -> bool) -> Result<bool, Error> {
    let sql = "SELECT r.number, r.import_number, r.organization_id, r.role_id, r.candidate_id, r.application
               FROM imports i
               JOIN import_rows r ON r.import_number = i.number
               WHERE i.decided_at IS NOT NULL
               ORDER BY r.import_number, r.number
               LIMIT $1";
    let rows = tx.all(sql, [i64::try_from(BROUGHT_MAX).unwrap_or(i64::MAX)], numbered)?;
    for row in &rows {
        bring(tx, row)?;
        if is_over() {
            break;
        }
    }
    Ok(!rows.is_empty())
}

/// Brings what was decided of a candidate who is to be erased, and drops what was not: nothing of them comes later.
pub(super) fn settle(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT r.number, r.import_number, r.organization_id, r.role_id, r.candidate_id, r.application
               FROM import_rows r
               JOIN imports i ON i.number = r.import_number
               WHERE r.candidate_id = $1 AND i.decided_at IS NOT NULL
               ORDER BY r.number";
    for row in tx.all(sql, [candidate.as_str()], numbered)? {
        bring(tx, &row)?;
    }
    tx.run("DELETE FROM import_rows WHERE candidate_id = $1", [candidate.as_str()])?;
    Ok(())
}

/// Moves a row to where it belongs. One that the file does not allow any more is counted, and its seat is free again.
fn bring(tx: &Tx<'_>, (number, import, row): &Numbered) -> Result<(), Error> {
    let status = row.application.status;
    if place(tx, row)? {
        organization::move_status(tx, &row.organization, StatusCounts::of_application(status))?;
    } else {
        if status == ApplicationStatus::Hired {
            free_seat(tx, row)?;
        }
        tx.run("UPDATE imports SET skipped = skipped + 1 WHERE number = $1", [import])?;
    }
    tx.run("DELETE FROM import_rows WHERE number = $1", [number])?;
    Ok(())
}

/// Adds the application, and the candidate where they are not there. Whether it could: since it was decided, the candidate may
/// have applied by themselves, and staff may have removed the role or one of its steps.
fn place(tx: &Tx<'_>, row: &Row) -> Result<bool, Error> {
    let Row { organization, role, candidate, application, steps } = row;
    if !role::exists(tx, role)? {
        return Ok(false);
    }
    for step in steps {
        if !role_step::exists(tx, &step.role_step_id)? || candidate_step::exists(tx, &step.id)? {
            return Ok(false);
        }
    }
    let Some(candidate) = candidate_of(tx, row, candidate)? else { return Ok(false) };
    if !candidate_role::insert(tx, organization, role, &candidate, application, steps)? {
        return Ok(false);
    }
    for step in steps {
        if !candidate_step::insert(tx, &application.id, step)? {
            return Err(Error::Defect(format!("the step {} came twice", step.id)));
        }
    }
    Ok(true)
}

/// Whose application it is: the candidate's own, or that of somebody who has come under the same address meanwhile. None where
/// the candidate was erased meanwhile.
fn candidate_of(tx: &Tx<'_>, row: &Row, record: &candidate::Record) -> Result<Option<CandidateId>, Error> {
    let sql = "SELECT erased_at IS NOT NULL
               FROM candidates
               WHERE id = $1 AND organization_id = $2";
    let is_erased = tx.one(sql, (record.id.as_str(), row.organization.as_str()), |row| Ok(row.get::<_, bool>(0)?))?;
    if let Some(is_erased) = is_erased {
        return Ok((is_erased == record.privacy.erased_at.is_some()).then(|| record.id.clone()));
    }
    if candidate::insert(tx, &row.organization, record)? {
        return Ok(Some(record.id.clone()));
    }
    Ok(candidate::with_email(tx, &row.organization, &record.email)?.map(|candidate| candidate.id))
}

fn free_seat(tx: &Tx<'_>, row: &Row) -> Result<(), Error> {
    let Some(before) = role::seats(tx, &row.organization, &row.role)? else { return Ok(()) };
    let after = before.freed();
    role::save_seats(tx, &row.role, before, after)?;
    let change = StatusCounts::of_role(after).minus(StatusCounts::of_role(before));
    organization::move_status(tx, &row.organization, change)
}

//! The table of background jobs, and the list of jobs and states that health reports.
//!
//! Most background jobs share two threads: one for jobs that never wait for the writer, and one for jobs that wait for
//! it. A step of a job is one slice of its work, so other jobs do not wait long. Checkpoints have their own thread,
//! because they wait for the disk and the other jobs must not wait with them. Backups have their own thread, because a
//! copy can take minutes. With a PostgreSQL database, `VACUUM` runs on this thread.
//!
//! These threads also work on the database, but are not in the table. The writer (`db::writer_thread`) runs writes as
//! they arrive, not on a schedule. HR delivery (`hr::worker`) runs an async runtime for its network connections. With a
//! PostgreSQL database, one more thread compares change numbers when requests need it (`portal_comparison`).

use std::sync::Arc;
use std::time::Duration;

use super::attachment::sweep;
use super::erasure::{self, deferred_job, retention};
use super::parts::Parts;
#[cfg(feature = "postgres")]
use super::parts::Place;
use super::role::closing;
#[cfg(feature = "postgres")]
use super::schema::CURRENT;
use super::staging::job as import;
use super::usage::{indexing, pruning};
use super::{backup, cached_state, expiry};
use crate::db::Error;
#[cfg(feature = "postgres")]
use crate::db::Halt;
use crate::db::health::{BackgroundJob, CHECKPOINT, LOG_SIZE, LOG_TRUNCATED, READER};
use crate::db::job_reader::JobReader;
#[cfg(feature = "postgres")]
use crate::db::postgres::{counts, vacuum::Vacuum, version_refusal, while_held};
use crate::db::scheduler::{ScheduledJob, Scheduler, Step};
use crate::db::sqlite::{checkpoint, full_disk};

/// The job that creates deliveries to HR systems from decisions. `hr::worker` runs this job and the two below.
pub const HR_INTAKE: BackgroundJob = BackgroundJob::new("hr_intake");
/// The job that reads due deliveries to HR systems.
pub const HR_DELIVERY: BackgroundJob = BackgroundJob::new("hr_delivery");
/// The job that records delivery attempts.
pub const HR_RECORD: BackgroundJob = BackgroundJob::new("hr_record");

const WIPING: BackgroundJob = BackgroundJob::new("wiping");
const RETENTION: BackgroundJob = BackgroundJob::new("retention");
const USAGE_INDEX: BackgroundJob = BackgroundJob::new("usage_index");
const SWEEPING: BackgroundJob = BackgroundJob::new("sweeping");
const USAGE_PRUNING: BackgroundJob = BackgroundJob::new("usage_pruning");
const IMPORTS: BackgroundJob = BackgroundJob::new("imports");
const CLOCK: BackgroundJob = BackgroundJob::new("clock");
const ASKED_ERASURES: BackgroundJob = BackgroundJob::new("asked_erasures");
const ROLE_CLOSING: BackgroundJob = BackgroundJob::new("role_closing");
// Health does not report these seven jobs, because their steps report no outcome.
const SCHEMA_VERSION: BackgroundJob = BackgroundJob::new("schema_version");
const SHARED_COUNTS: BackgroundJob = BackgroundJob::new("shared_counts");
const CACHED_STATE: BackgroundJob = BackgroundJob::new("cached_state");
const REFUSALS: BackgroundJob = BackgroundJob::new("refusals");
const IDLE_CACHE: BackgroundJob = BackgroundJob::new("idle_cache");
const RESERVE: BackgroundJob = BackgroundJob::new("reserve");
const BACKUP: BackgroundJob = BackgroundJob::new("backup");

/// The jobs and states that health reports, in the order of `/metrics`.
pub(super) const REPORTED: &[BackgroundJob] = &[
    CHECKPOINT,
    LOG_SIZE,
    READER,
    WIPING,
    LOG_TRUNCATED,
    RETENTION,
    USAGE_INDEX,
    HR_INTAKE,
    HR_DELIVERY,
    HR_RECORD,
    SWEEPING,
    USAGE_PRUNING,
    IMPORTS,
    CLOCK,
    ASKED_ERASURES,
    ROLE_CLOSING,
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    /// The thread for jobs that wait for the writer.
    Writes,
    /// The thread for jobs that never wait for the writer.
    Reads,
    Checkpoints,
    /// The thread for jobs with steps that can take minutes.
    Slow,
}

/// A job, the rest between two of its steps (in milliseconds), its thread, and the function that prepares its steps.
/// With a file, only jobs of [`Thread::Writes`] use the reader.
type Row = (BackgroundJob, u64, Thread, fn(&Parts, &JobReader) -> Result<Step, Error>);

#[rustfmt::skip]
const TABLE: [Row; 17] = [
    // Job          Rest ms  Thread                Prepared by        What it does
    (CACHED_STATE,     100,  Thread::Reads,        cached_state),     // Invalidates cached state after changes by other processes and by writes that are not durable. Portals must show changes within 200 ms.
    (REFUSALS,         500,  Thread::Reads,        refusals),         // Queues the due counts of refused keys and failed sign-ins.
    (IDLE_CACHE,    30_000,  Thread::Reads,        idle_cache),       // Frees the page caches of connections if no request has read from the file since the last step.
    (USAGE_INDEX,      100,  Thread::Writes,       usage_index),      // Indexes new usage rows, and redates rows from a clock that was ahead.
    (USAGE_PRUNING,    100,  Thread::Writes,       usage_pruning),    // Deletes usage rows that are too old: every 10 minutes, one slice in each step.
    (CLOCK,          1_000,  Thread::Writes,       clock),            // Compares the clocks, writes the heartbeat, records expired keys and deletes ended sessions.
    (RESERVE,        1_000,  Thread::Writes,       reserve),          // After a full disk: creates the reserve again and writes owed rows.
    (IMPORTS,           50,  Thread::Writes,       imports),          // Drops imports that were undecided at the start, and publishes the remaining rows of decided imports: a few short transactions in each step.
    (SWEEPING,          50,  Thread::Writes,       sweeping),         // Deletes attachments without a signup or application: every minute, one slice in each step.
    (RETENTION,         50,  Thread::Writes,       retention_step),   // Erases due candidates: every 10 minutes, one slice in each step.
    (ASKED_ERASURES,    50,  Thread::Writes,       deferred_erasures), // Erases candidates who asked for erasure while a hire was hidden from them: every minute, one in each step.
    (ROLE_CLOSING,      50,  Thread::Writes,       role_closing),     // Closes roles after their closing date: every 10 seconds, one slice in each step.
    (WIPING,            50,  Thread::Writes,       wiping),           // Wipes pages after an erasure: one slice in each step. In a PostgreSQL database, runs `VACUUM`.
    (CHECKPOINT,       250,  Thread::Checkpoints,  checkpoints),      // Copies the log into the file. Has its own thread, because it can wait seconds for the disk.
    (BACKUP,         1_000,  Thread::Slow,         backup),           // Copies the file if a backup is due. Has its own thread, because a copy can take minutes.
    (SCHEMA_VERSION, 1_000,  Thread::Reads,        schema_version),   // Stops the service if a server with a newer version has upgraded the tables.
    (SHARED_COUNTS, 60_000,  Thread::Reads,        shared_counts),    // Deletes expired counts that servers share and, if too many are left, those that expire first.
];

/// The jobs that concern only a file. They do not run if the data is on a PostgreSQL server.
const OF_FILE: [BackgroundJob; 4] = [IDLE_CACHE, RESERVE, CHECKPOINT, BACKUP];

/// The jobs that concern only a PostgreSQL database.
const OF_SERVER: [BackgroundJob; 2] = [SCHEMA_VERSION, SHARED_COUNTS];

/// The rest and the thread of [`WIPING`] with a PostgreSQL database, where a step can run `VACUUM` for minutes.
const WIPING_OF_SERVER: (u64, Thread) = (500, Thread::Slow);

/// The jobs that run only on the server with the lease. [`WIPING`] checks the lease itself. Of the other jobs,
/// [`SWEEPING`] and [`CLOCK`] may run on several servers, and the rest concern only the server that runs them.
#[cfg(feature = "postgres")]
const OF_ONE_SERVER: [BackgroundJob; 7] =
    [USAGE_INDEX, USAGE_PRUNING, IMPORTS, RETENTION, ASKED_ERASURES, ROLE_CLOSING, SHARED_COUNTS];

/// Starts the jobs of the table.
pub(super) fn start(parts: &Parts) -> Result<Scheduler, Error> {
    start_jobs(parts, &TABLE)
}

/// Starts all jobs except one, whose steps the test runs.
#[cfg(test)]
pub(super) fn start_without(parts: &Parts, name: &str) -> Result<Scheduler, Error> {
    let rows: Vec<Row> = TABLE.into_iter().filter(|(job, ..)| job.name() != name).collect();
    start_jobs(parts, &rows)
}

fn start_jobs(parts: &Parts, rows: &[Row]) -> Result<Scheduler, Error> {
    // The jobs of `Thread::Writes` share a connection. A job on another thread would wait for the connection
    // while these jobs read.
    let reader = parts.open_job_reader()?;
    let (mut writes, mut reads, mut checkpoints, mut slow) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &(job, rest_ms, thread, prepare) in rows {
        let is_server = parts.file().is_none();
        let not_started: &[BackgroundJob] = if is_server { &OF_FILE } else { &OF_SERVER };
        if not_started.contains(&job) {
            continue;
        }
        let (rest_ms, thread) = if is_server && job == WIPING { WIPING_OF_SERVER } else { (rest_ms, thread) };
        let step = with_lease(parts, job, prepare(parts, &reader)?);
        let scheduled = ScheduledJob { job, rest: Duration::from_millis(rest_ms), step };
        match thread {
            Thread::Writes => writes.push(scheduled),
            Thread::Reads => reads.push(scheduled),
            Thread::Checkpoints => checkpoints.push(scheduled),
            Thread::Slow => slow.push(scheduled),
        }
    }
    let threads = vec![("jobs-writes", writes), ("jobs-reads", reads), ("checkpoints", checkpoints), ("slow", slow)];
    Scheduler::start(threads, &parts.health)
}

/// Makes the step of a job in [`OF_ONE_SERVER`] run only while this server has the lease. Returns the steps of other
/// jobs unchanged, and every step if the data is in a file.
#[cfg(feature = "postgres")]
fn with_lease(parts: &Parts, job: BackgroundJob, step: Step) -> Step {
    let Place::Server(server) = &parts.place else { return step };
    if !OF_ONE_SERVER.contains(&job) {
        return step;
    }
    let lease = Arc::clone(&server.lease);
    while_held(move || lease.is_held(), step)
}

#[cfg(not(feature = "postgres"))]
fn with_lease(_: &Parts, _: BackgroundJob, step: Step) -> Step {
    step
}

/// Returns the error for a job that needs a file but has none. Such a job is not started if the data is on a PostgreSQL
/// server.
fn no_file() -> Error {
    Error::Defect("the job needs a file".to_owned())
}

fn cached_state(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    cached_state::job_step(parts.open_job_reader()?, Arc::clone(&parts.cached))
}

fn refusals(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    Ok(parts.refusals.job_step())
}

fn idle_cache(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    parts.idle_cache.job_step()
}

fn usage_index(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let (unindexed, writer) = (Arc::clone(&parts.cached.unindexed), Arc::clone(&parts.writer));
    Ok(indexing::job_step(reader.clone(), unindexed, writer, Arc::clone(&parts.clock), Arc::clone(&parts.log)))
}

fn usage_pruning(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let (world, clock, writer) = (Arc::clone(&parts.world), Arc::clone(&parts.clock), Arc::clone(&parts.writer));
    Ok(pruning::job_step(reader.clone(), world, clock, writer, Arc::clone(&parts.usage_days)))
}

fn clock(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    Ok(expiry::job_step(reader.clone(), Arc::clone(&parts.clock), Arc::clone(&parts.writer), Arc::clone(&parts.log)))
}

fn reserve(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    Ok(full_disk::job_step(Arc::clone(&parts.reserve), Arc::clone(&parts.writer_thread)))
}

fn imports(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let (world, erasures) = (Arc::clone(&parts.world), Arc::clone(&parts.erasures));
    import::job_step(reader.clone(), world, erasures, Arc::clone(&parts.writer))
}

fn sweeping(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let (world, erasures) = (Arc::clone(&parts.world), Arc::clone(&parts.erasures));
    let is_file = parts.file().is_some();
    let uploaders = if is_file { sweep::Uploaders::ThisProcess } else { sweep::Uploaders::SeveralServers };
    sweep::job_step(reader.clone(), uploaders, world, erasures, Arc::clone(&parts.writer))
}

fn retention_step(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let retention_parts = retention::Parts {
        world: Arc::clone(&parts.world),
        clock: Arc::clone(&parts.clock),
        erasures: Arc::clone(&parts.erasures),
        writer: Arc::clone(&parts.writer),
        log: Arc::clone(&parts.log),
        runs: Arc::clone(&parts.retention_runs),
    };
    Ok(retention::job_step(reader.clone(), retention_parts))
}

fn deferred_erasures(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let deferred_parts = deferred_job::Parts {
        world: Arc::clone(&parts.world),
        clock: Arc::clone(&parts.clock),
        erasures: Arc::clone(&parts.erasures),
        writer: Arc::clone(&parts.writer),
        log: Arc::clone(&parts.log),
    };
    Ok(deferred_job::job_step(reader.clone(), deferred_parts))
}

fn role_closing(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    let (world, clock, writer) = (Arc::clone(&parts.world), Arc::clone(&parts.clock), Arc::clone(&parts.writer));
    Ok(closing::job_step(reader.clone(), world, clock, writer))
}

fn wiping(parts: &Parts, reader: &JobReader) -> Result<Step, Error> {
    #[cfg(feature = "postgres")]
    if let Place::Server(server) = &parts.place {
        let job = erasure::VacuumJob {
            reader: reader.clone(),
            world: Arc::clone(&parts.world),
            erasures: Arc::clone(&parts.erasures),
            lease: Arc::clone(&server.lease),
            health: Arc::clone(&parts.health),
            vacuum: Vacuum::new(Arc::clone(&server.target), server.interrupt.clone()),
        };
        return Ok(job.into_step());
    }
    Ok(erasure::wiping_step(reader.clone(), Arc::clone(&parts.erasures), Arc::clone(&parts.writer)))
}

#[cfg(feature = "postgres")]
fn schema_version(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    let (reader, world) = (parts.open_job_reader()?, Arc::clone(&parts.world));
    let broken = Arc::clone(parts.writer.broken());
    Ok(Box::new(move || {
        // If the database server does not answer, the next step tries again.
        let found = reader.snapshot(world.now(), |tx| version_refusal(tx, CURRENT.version));
        if let Ok(Some(why)) = found {
            let _ = broken.set(Halt::Upgraded(why));
        }
        None
    }))
}

#[cfg(feature = "postgres")]
fn shared_counts(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    let Place::Server(server) = &parts.place else { return Ok(Box::new(|| None)) };
    let (readers, world) = (Arc::clone(&server.readers), Arc::clone(&parts.world));
    Ok(Box::new(move || {
        // If the database server does not answer, the next step tries again.
        let _ = counts::sweep(&readers, world.now());
        None
    }))
}

#[cfg(not(feature = "postgres"))]
fn shared_counts(_: &Parts, _: &JobReader) -> Result<Step, Error> {
    Ok(Box::new(|| None))
}

#[cfg(not(feature = "postgres"))]
fn schema_version(_: &Parts, _: &JobReader) -> Result<Step, Error> {
    Ok(Box::new(|| None))
}

fn checkpoints(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    let (world, broken) = (Arc::clone(&parts.world), Arc::clone(parts.writer.broken()));
    let (path, identity) = parts.file().ok_or_else(no_file)?;
    let (identity, health) = (Arc::clone(identity), Arc::clone(&parts.health));
    let erasures = Arc::clone(&parts.erasures);
    let truncate_if_due = move |truncate: &mut dyn FnMut() -> bool| erasures.truncate_log(truncate);
    checkpoint::job_step(path, world, broken, truncate_if_due, identity, health)
}

fn backup(parts: &Parts, _: &JobReader) -> Result<Step, Error> {
    let (path, identity) = parts.file().ok_or_else(no_file)?;
    Ok(backup::job_step(backup::Parts {
        path: path.clone(),
        world: Arc::clone(&parts.world),
        clock: Arc::clone(&parts.clock),
        identity: Arc::clone(identity),
        log: Arc::clone(&parts.log),
        health: Arc::clone(&parts.health),
        backups: Arc::clone(&parts.backups),
    }))
}

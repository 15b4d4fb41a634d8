//! The engine behind the writer thread: the writing connection of a SQLite file, or the writer of a PostgreSQL server.

use super::hooks::Hooks;
use super::job::{Answering, By, Job};
#[cfg(feature = "postgres")]
use super::postgres::engine as postgres;
use super::sqlite::engine;
use super::tx::Error;

/// The engine on which the service runs all writing jobs. In a build with only one engine, this type costs nothing.
pub(crate) enum WritingEngine<H: Hooks> {
    Sqlite(engine::Engine<H>),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Engine<H>),
}

impl<H: Hooks> WritingEngine<H> {
    pub(super) fn answering(&self) -> Answering {
        match self {
            Self::Sqlite(engine) => engine.answering(),
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => engine.answering(),
        }
    }

    /// Sets the function by which the PostgreSQL engine refuses the callers who wait for the next batch. The engine
    /// calls it when the database cannot be used, or when the current batch takes too long. The SQLite engine needs no
    /// such function.
    #[cfg(feature = "postgres")]
    pub(super) fn refuse_waiting_by(&mut self, refuse: impl Fn(&Error) + Send + 'static) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(engine) => engine.refuse_waiting_by(refuse),
        }
    }

    /// Runs a batch and answers its callers.
    pub(super) fn answer(&mut self, batch: Vec<Box<dyn Job>>) {
        match self {
            Self::Sqlite(engine) => engine.answer(batch),
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => engine.answer(batch),
        }
    }

    /// Appends log rows in one transaction, and answers their callers. If the calling thread must not wait for that,
    /// writes nothing and returns the rows.
    pub(super) fn record(&mut self, rows: Vec<H::Row>, by: By) -> Result<(), Vec<H::Row>> {
        match self {
            Self::Sqlite(engine) => engine.record(rows, by),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) if by == By::Runtime => Err(rows),
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => {
                engine.record(rows);
                Ok(())
            }
        }
    }

    /// Writes the log entries that have waited since the disk was full. Only SQLite lets entries wait.
    pub(super) fn write_pending(&mut self) -> Result<(), Error> {
        match self {
            Self::Sqlite(engine) => engine.write_pending(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Finishes the engine's work when the service stops.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        match self {
            Self::Sqlite(engine) => engine.finish(),
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => {
                engine.finish();
                Ok(())
            }
        }
    }
}

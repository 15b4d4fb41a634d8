//! A job: work for the writing connection, what must be true before it is answered, and whom to answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::tx::{Error, Tx};

/// What must be true of a job before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// It is on the disk: survives a power cut. What an admin, staff or a candidate did.
    Durable,
    /// It is with the operating system: survives `kill -9`. Rows of the usage log, attempts to deliver.
    Logged,
    /// It is on the disk, and on a full disk it takes the space of the reserve: erasure, revocation, sign-in.
    Vital,
    /// It is with the operating system, and on a full disk it takes the space of the reserve: what finishes an erasure or
    /// frees space.
    Upkeep,
}

impl Grade {
    /// Whether its batch is on the disk before it is answered.
    pub(crate) fn is_durable(self) -> bool {
        matches!(self, Self::Durable | Self::Vital)
    }

    /// Whether it may take the space of the reserve.
    pub(crate) fn takes_reserve(self) -> bool {
        matches!(self, Self::Vital | Self::Upkeep)
    }
}

pub(crate) trait Job: Send {
    fn grade(&self) -> Grade;
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), Error>;
    fn done(self: Box<Self>, outcome: Result<(), Error>);
}

pub(crate) struct Typed<T, F, D> {
    grade: Grade,
    job: F,
    done: D,
    value: Option<T>,
}

impl<T, F, D> Job for Typed<T, F, D>
where
    T: Send,
    F: FnMut(&Tx<'_>) -> Result<T, Error> + Send,
    D: FnOnce(Result<T, Error>) + Send,
{
    fn grade(&self) -> Grade {
        self.grade
    }

    fn run(&mut self, tx: &Tx<'_>) -> Result<(), Error> {
        self.value = Some((self.job)(tx)?);
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), Error>) {
        let Self { done, value, .. } = *self;
        let nothing = || Error::Defect("a job was answered without having run".to_owned());
        done(outcome.and_then(|()| value.ok_or_else(nothing)));
    }
}

impl<T, F, D> Typed<T, F, D> {
    pub(crate) fn new(grade: Grade, job: F, done: D) -> Self {
        Self { grade, job, done, value: None }
    }
}

/// Whom the answers of a batch are handed to, all at once, where that has been told. Waking the runtime for each of them would
/// let it take the core from the writer as often, which cost a decision a tenth where there is one core for both.
#[derive(Clone, Default)]
pub(crate) struct Answering(Arc<OnceLock<Box<Hand>>>);

type Hand = dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync;

impl Answering {
    pub(crate) fn set(&self, hand: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        // Whoever comes second has the same runtime.
        let _ = self.0.set(Box::new(hand));
    }

    /// Has this many answers given there.
    pub(crate) fn give(&self, count: usize, answers: impl FnOnce() + Send + 'static) {
        match self.0.get() {
            Some(hand) if count > 1 => hand(Box::new(answers)),
            _ => answers(),
        }
    }
}

pub(crate) fn answer_all(batch: Vec<Box<dyn Job>>, outcome: &Result<(), Error>) {
    for job in batch {
        // Whoever waits may be gone, or fail on the answer; that is no reason to keep the others waiting.
        let _ = catch_unwind(AssertUnwindSafe(|| job.done(outcome.clone())));
    }
}

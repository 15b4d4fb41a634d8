//! A job: work for the writing connection, its grade of durability, and the way to answer its caller.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::tx::{Error, Tx};

/// How durable a job must be before its caller is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// On the disk, so that it survives a power cut: acts of admins, staff and candidates.
    Durable,
    /// In the operating system's cache, so that it survives `kill -9`: rows of the usage log, attempts to deliver.
    Logged,
    /// On the disk, with the space of the reserve if the disk is full: erasures, revocations, sign-ins.
    Vital,
    /// In the operating system's cache, with the space of the reserve if the disk is full: jobs that finish an erasure or
    /// free space.
    Upkeep,
}

impl Grade {
    /// Whether the batch of such a job is fsynced before its callers are answered.
    pub(crate) fn is_durable(self) -> bool {
        matches!(self, Self::Durable | Self::Vital)
    }

    /// Whether such a job may take the space of the reserve.
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

/// Hands the answers of a batch to the runtime, all at once. Waking the runtime for each answer would let it take the core
/// from the writer each time. With one core for both, that cost a tenth of each decision.
#[derive(Clone, Default)]
pub(crate) struct Answering(Arc<OnceLock<Box<Hand>>>);

type Hand = dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync;

impl Answering {
    pub(crate) fn set(&self, hand: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        // A process has one runtime, so the first call counts.
        let _ = self.0.set(Box::new(hand));
    }

    /// Gives this many answers: on the runtime if there are several, and otherwise on this thread.
    pub(crate) fn give(&self, count: usize, answers: impl FnOnce() + Send + 'static) {
        match self.0.get() {
            Some(hand) if count > 1 => hand(Box::new(answers)),
            _ => answers(),
        }
    }
}

pub(crate) fn answer_all(batch: Vec<Box<dyn Job>>, outcome: &Result<(), Error>) {
    for job in batch {
        // A caller may be gone, or panic on its answer. The other callers get theirs all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| job.done(outcome.clone())));
    }
}

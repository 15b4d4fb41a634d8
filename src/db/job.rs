//! A job: work for the writing connection, its grade of durability, and the way to answer its caller.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::tx::{Error, Tx};

/// How durable the write of a job must be before its caller is answered, and whether the job may use the reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// On the disk, so that it survives a power cut: most acts of admins, staff and candidates.
    Durable,
    /// In the operating system's cache, so that it survives `kill -9`: for example, rows in the usage log and delivery
    /// attempts.
    Logged,
    /// On the disk, with the space of the reserve if the disk is full: for example, erasures by staff, revocations and
    /// sign-ins.
    Vital,
    /// In the operating system's cache, with the space of the reserve if the disk is full: for example, jobs of the
    /// service itself that finish erasures or free space.
    Upkeep,
}

impl Grade {
    /// Returns whether a batch with a job of this grade is fsynced before its callers are answered.
    pub(crate) fn is_durable(self) -> bool {
        matches!(self, Self::Durable | Self::Vital)
    }

    /// Returns whether a job of this grade may use the space of the reserve.
    pub(crate) fn may_use_reserve(self) -> bool {
        matches!(self, Self::Vital | Self::Upkeep)
    }
}

/// The thread that writes log rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// A thread of the runtime, which must not wait.
    Runtime,
    /// The writer thread.
    Writer,
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
        let not_run = || Error::Defect("a job was answered without having run".to_owned());
        done(outcome.and_then(|()| value.ok_or_else(not_run)));
    }
}

impl<T, F, D> Typed<T, F, D> {
    pub(crate) fn new(grade: Grade, job: F, done: D) -> Self {
        Self { grade, job, done, value: None }
    }
}

/// The function that passes all answers of a batch to the runtime at once. If each answer woke the runtime, the runtime
/// would take the core from the writer each time. On a machine with one core, each decision would then take about a
/// tenth longer.
#[derive(Clone, Default)]
pub(crate) struct Answering(Arc<OnceLock<Box<RunOnRuntime>>>);

type RunOnRuntime = dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync;

impl Answering {
    pub(crate) fn set(&self, run_on_runtime: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        // Only the first runtime receives answers; further calls are ignored.
        let _ = self.0.set(Box::new(run_on_runtime));
    }

    /// Runs `answers`, which answers `count` callers: on the runtime if there are several callers, and otherwise on
    /// this thread.
    pub(crate) fn give(&self, count: usize, answers: impl FnOnce() + Send + 'static) {
        match self.0.get() {
            Some(run_on_runtime) if count > 1 => run_on_runtime(Box::new(answers)),
            _ => answers(),
        }
    }
}

pub(crate) fn answer_all(batch: Vec<Box<dyn Job>>, outcome: &Result<(), Error>) {
    for job in batch {
        // A caller might be gone, or the function that answers it might panic. The other callers are answered
        // nevertheless.
        let _ = catch_unwind(AssertUnwindSafe(|| job.done(outcome.clone())));
    }
}

//! The cleanup after the transactions of erasures, and its progress.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::list::{ErasureList, ListError, ListLine, ListedErasures};
use crate::db::cleanup;
use crate::db::tx::{Error, Tx};
use crate::domain::erasure::replay::ListedErasure;
use crate::domain::id::SignupId;

/// The erasure list, and the progress of the cleanup after committed erasures: sweeping attachments, wiping pages, and
/// truncating the write-ahead log.
pub struct Erasures {
    /// `None` if the data is on a PostgreSQL server.
    list: Option<ErasureList>,
    /// The end of the list before the current transaction added its first line.
    end_before: Mutex<Option<u64>>,
    /// Whether the current transaction has recorded an erasure or the deletion of a signup.
    is_under_way: AtomicBool,
    /// The number of commits that left something to clean up. Any other reason for a cleanup is counted like a commit.
    committed: AtomicU64,
    /// The number of those commits whose attachment sweep is complete.
    swept: AtomicU64,
    /// The number of those commits after which every page was wiped.
    wiped: AtomicU64,
    /// The number of those commits after which every page was wiped and then the log was truncated. The file and its
    /// log no longer contain the data that these commits erased, except attachments that are not swept yet.
    truncated: AtomicU64,
    /// Whether the PostgreSQL database recorded an owed cleanup at the last check by the job.
    is_owed: AtomicBool,
}

impl Erasures {
    /// Creates the state for the file at this path. With `is_unfinished`, the cleanup runs once, because the previous
    /// process may have stopped before its own cleanup was complete.
    pub(super) fn new(path: &Path, is_unfinished: bool) -> Self {
        Self::of(Some(ErasureList::beside(path)), is_unfinished)
    }

    /// Creates the state for a PostgreSQL database. There is no list, because the service never replaces such a
    /// database with an older copy. The database records the owed cleanup of all servers.
    #[cfg(feature = "postgres")]
    pub(in super::super) fn without_list() -> Self {
        let erasures = Self::of(None, false);
        erasures.is_owed.store(true, Ordering::SeqCst);
        erasures
    }

    fn of(list: Option<ErasureList>, is_unfinished: bool) -> Self {
        Self {
            list,
            end_before: Mutex::default(),
            is_under_way: AtomicBool::new(false),
            committed: AtomicU64::new(u64::from(is_unfinished)),
            swept: AtomicU64::new(0),
            wiped: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
            is_owed: AtomicBool::new(false),
        }
    }

    pub(super) fn read_list(path: &Path) -> Result<ListedErasures, ListError> {
        ErasureList::beside(path).read()
    }

    /// Returns whether the database or its log may still contain erased data, which no query finds.
    pub fn are_unfinished(&self) -> bool {
        let done = self.truncated.load(Ordering::SeqCst).min(self.swept.load(Ordering::SeqCst));
        let is_owed = self.is_owed.load(Ordering::SeqCst);
        is_owed || self.is_under_way.load(Ordering::SeqCst) || done < self.committed_count()
    }

    /// Records a commit, so that the cleanup after its erasures can begin. The writer calls this function after each
    /// commit of a durable batch.
    pub(crate) fn note_commit(&self) {
        *self.end_before.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.is_under_way.load(Ordering::Relaxed) {
            self.committed.fetch_add(1, Ordering::SeqCst);
            self.is_under_way.store(false, Ordering::SeqCst);
        }
    }

    /// Removes the lines of a transaction from the list on the disk. The writer calls this function after it has rolled
    /// the transaction back, before any caller receives the error. If the lines stayed, the next start would carry out
    /// the erasure.
    ///
    /// # Errors
    /// [`Error::Full`] or [`Error::Unavailable`] if the list cannot be written. The next start might then carry out the
    /// erasure.
    pub(crate) fn note_rollback(&self) -> Result<(), Error> {
        let mut end_before = self.end_before.lock().unwrap_or_else(PoisonError::into_inner);
        match (&self.list, *end_before) {
            (Some(list), Some(end)) => list.truncate(end)?,
            (Some(_), None) => return Ok(()),
            (None, _) => {}
        }
        *end_before = None;
        self.is_under_way.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Records that the current transaction deletes a signup without erasing its candidate. The cleanup is the same as
    /// after an erasure, and an older copy of the file must not bring the signup back.
    ///
    /// # Errors
    /// [`Error::Full`] or [`Error::Unavailable`] if the list cannot be read or written.
    pub(in super::super) fn record_signup(&self, tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
        self.record(tx, &[signup_line(signup.clone())])
    }

    /// Appends erasures to the list on the disk, before their transaction commits. The list therefore never lacks a
    /// confirmed erasure. If the transaction is rolled back, [`Erasures::note_rollback`] removes the lines. A
    /// PostgreSQL database has no list. There, the transaction only records that a cleanup is owed.
    pub(super) fn record(&self, tx: &Tx<'_>, lines: &[ListLine]) -> Result<(), Error> {
        cleanup::owe(tx)?;
        if let Some(list) = &self.list {
            let mut end_before = self.end_before.lock().unwrap_or_else(PoisonError::into_inner);
            let end = list.end()?;
            // The end is set before the write, because a failed write may have written all lines.
            end_before.get_or_insert(end);
            list.append(end, lines)?;
        }
        self.is_under_way.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Returns the number of commits that left something to clean up.
    pub(in super::super) fn committed_count(&self) -> u64 {
        self.committed.load(Ordering::SeqCst)
    }

    /// Requests a cleanup without an erasure, because detached attachments were found or the pages of deleted rows must
    /// be wiped.
    pub(in super::super) fn add_work(&self) {
        self.committed.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns whether the sweep might find attachments to delete.
    pub(in super::super) fn needs_sweep(&self) -> bool {
        self.swept.load(Ordering::SeqCst) < self.committed_count()
    }

    /// Records that the sweep after the first `commits` commits is complete.
    pub(in super::super) fn note_swept(&self, commits: u64) {
        self.swept.store(commits, Ordering::SeqCst);
    }

    pub(super) fn needs_wiping(&self) -> bool {
        self.wiped.load(Ordering::SeqCst) < self.committed_count()
    }

    /// Records that every page was wiped after the first `commits` commits.
    pub(super) fn note_wiped(&self, commits: u64) {
        self.wiped.store(commits, Ordering::SeqCst);
    }

    /// Stores whether the PostgreSQL database records an owed cleanup. If no cleanup is owed, the cleanup after the
    /// first `commits` commits is complete, because the service does not truncate PostgreSQL's write-ahead log.
    #[cfg(feature = "postgres")]
    pub(super) fn note_owed(&self, is_owed: bool, commits: u64) {
        self.is_owed.store(is_owed, Ordering::SeqCst);
        if !is_owed {
            self.wiped.store(commits, Ordering::SeqCst);
            self.truncated.store(commits, Ordering::SeqCst);
        }
    }

    /// Calls `truncate` if pages have been wiped since the log was last truncated. Returns whether `truncate`
    /// succeeded, or `None` if it was not called.
    pub(crate) fn truncate_log(&self, truncate: impl FnOnce() -> bool) -> Option<bool> {
        let wiped = self.wiped.load(Ordering::SeqCst);
        let is_truncated = (wiped > self.truncated.load(Ordering::SeqCst)).then(truncate);
        if is_truncated == Some(true) {
            self.truncated.store(wiped, Ordering::SeqCst);
        }
        is_truncated
    }

    /// Returns whether the log was truncated after the first `commits` commits.
    pub(in super::super) fn is_log_truncated(&self, commits: u64) -> bool {
        self.truncated.load(Ordering::SeqCst) >= commits
    }
}

pub(super) fn signup_line(id: SignupId) -> ListLine {
    ListLine { erasure: ListedErasure::Signup(id), changed: None }
}

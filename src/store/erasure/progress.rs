//! The cleanup after the transactions of erasures, and its progress.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::list::{ErasureList, ListError, ListLine, ListedErasures};
use crate::db::tx::Error;
use crate::domain::erasure::replay::ListedErasure;
use crate::domain::id::SignupId;

/// The erasure list, and the progress of the cleanup after committed erasures: sweeping attachments, wiping pages,
/// truncating the write-ahead log.
pub struct Erasures {
    list: ErasureList,
    /// The end of the list before the current transaction added its first line.
    added_behind: Mutex<Option<u64>>,
    /// Whether the current transaction erases somebody.
    is_under_way: AtomicBool,
    /// Number of commits that erased somebody or left something else to clean up.
    committed: AtomicU64,
    /// Number of those commits whose attachment sweep is complete.
    swept: AtomicU64,
    /// Number of those commits after which every page was wiped.
    wiped: AtomicU64,
    /// Number of those commits after which the log was truncated. Nothing of their erased data is left.
    truncated: AtomicU64,
}

impl Erasures {
    /// The erasures of the file at this path. The previous process may have stopped before its cleanup was complete; with
    /// `is_unfinished`, everything is cleaned up again.
    pub(super) fn new(path: &Path, is_unfinished: bool) -> Self {
        Self {
            list: ErasureList::beside(path),
            added_behind: Mutex::default(),
            is_under_way: AtomicBool::new(false),
            committed: AtomicU64::new(u64::from(is_unfinished)),
            swept: AtomicU64::new(0),
            wiped: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
        }
    }

    pub(super) fn read_list(path: &Path) -> Result<ListedErasures, ListError> {
        ErasureList::beside(path).read()
    }

    /// Whether erased data may still be in the file or its log, where no query finds it.
    pub fn are_unfinished(&self) -> bool {
        let done = self.truncated.load(Ordering::SeqCst).min(self.swept.load(Ordering::SeqCst));
        self.is_under_way.load(Ordering::SeqCst) || done < self.committed_count()
    }

    /// Called after each commit. The cleanup after its erasures can begin.
    pub(crate) fn note_commit(&self) {
        *self.added_behind.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.is_under_way.load(Ordering::Relaxed) {
            self.committed.fetch_add(1, Ordering::SeqCst);
            self.is_under_way.store(false, Ordering::SeqCst);
        }
    }

    /// Called after each rollback. Removes the lines of the transaction from the list on the disk, before any caller gets
    /// the error. Otherwise the next start would repeat the erasure.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the list cannot be written. The next start may repeat the erasure then.
    pub(crate) fn note_rollback(&self) -> Result<(), Error> {
        let mut added_behind = self.added_behind.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = *added_behind {
            self.list.truncate(end)?;
            *added_behind = None;
            self.is_under_way.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Records that the current transaction deletes a signup without erasing its candidate. The cleanup is the same, and an
    /// older copy of the file must not bring the signup back.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the list cannot be written.
    pub(in super::super) fn record_signup(&self, signup: &SignupId) -> Result<(), Error> {
        self.record(&[signup_line(signup.clone())])
    }

    /// Appends erasures to the list on the disk, before their transaction commits. The list therefore never lacks a
    /// confirmed erasure. [`Erasures::note_rollback`] removes the lines again.
    pub(super) fn record(&self, lines: &[ListLine]) -> Result<(), Error> {
        let mut added_behind = self.added_behind.lock().unwrap_or_else(PoisonError::into_inner);
        let end = self.list.end()?;
        // Set before the write, because a write that fails may have written all lines.
        added_behind.get_or_insert(end);
        self.list.append(end, lines)?;
        self.is_under_way.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Number of commits that left something to clean up.
    pub(in super::super) fn committed_count(&self) -> u64 {
        self.committed.load(Ordering::SeqCst)
    }

    /// Adds work without an erasure: detached attachments were found, or rows were dropped whose pages must be wiped.
    pub(in super::super) fn add_work(&self) {
        self.committed.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether attachments may be left to sweep.
    pub(in super::super) fn needs_sweep(&self) -> bool {
        self.swept.load(Ordering::SeqCst) < self.committed_count()
    }

    /// Notes that the sweep after the first `commits` is complete.
    pub(in super::super) fn note_swept(&self, commits: u64) {
        self.swept.store(commits, Ordering::SeqCst);
    }

    pub(super) fn needs_wiping(&self) -> bool {
        self.wiped.load(Ordering::SeqCst) < self.committed_count()
    }

    /// Notes that every page was wiped after the first `commits`.
    pub(super) fn note_wiped(&self, commits: u64) {
        self.wiped.store(commits, Ordering::SeqCst);
    }

    /// Truncates the log with `truncate` if erasures wait for it. Returns whether `truncate` succeeded; `None` if nothing
    /// waits.
    pub(crate) fn truncate_log(&self, truncate: impl FnOnce() -> bool) -> Option<bool> {
        let wiped = self.wiped.load(Ordering::SeqCst);
        let is_truncated = (wiped > self.truncated.load(Ordering::SeqCst)).then(truncate);
        if is_truncated == Some(true) {
            self.truncated.store(wiped, Ordering::SeqCst);
        }
        is_truncated
    }

    /// Whether the cleanup after the first `commits` is complete.
    pub(in super::super) fn is_log_truncated(&self, commits: u64) -> bool {
        self.truncated.load(Ordering::SeqCst) >= commits
    }
}

pub(super) fn signup_line(id: SignupId) -> ListLine {
    ListLine { erasure: ListedErasure::Signup(id), changed: None }
}

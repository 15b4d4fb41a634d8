//! Parts of an open file that others work with: handles without work of their own.

use super::{Store, activity, attachment, change, erasure};
use crate::db::reserve::Reserve;
use crate::db::tx::Error;
use crate::db::{Halt, clock};
use crate::domain::activity::ChainHead;

impl Store {
    /// What erases candidates.
    pub fn erasures(&self) -> &erasure::Erasures {
        &self.erasures
    }

    /// What the forms of this file are signed with.
    pub fn form_secret(&self) -> &[u8; 32] {
        &self.form_secret
    }

    /// The clock that whatever cannot be undone goes by.
    pub fn clock(&self) -> &clock::Clock {
        &self.clock
    }

    /// What the retention has come to.
    pub fn retention(&self) -> &erasure::retention::Runs {
        &self.runs
    }

    /// Has sentences about the service itself written to a log.
    pub fn log_by(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        self.notices.listen(log);
    }

    /// What was erased again when the file was opened, because it was once and the file still had it.
    pub fn erased_again(&self) -> &erasure::RepeatedErasures {
        &self.erased_again
    }

    /// Why nothing more may be written, where that is so: a commit's outcome is unknown, or the files by name are not those
    /// that are open. The process must end.
    pub fn broken(&self) -> Option<Halt> {
        self.writer.broken().get().cloned()
    }

    /// The bytes of the write-ahead log, for the operator's metrics.
    pub fn wal_bytes(&self) -> u64 {
        self.checkpoints.wal_bytes()
    }

    /// The bytes of all attachments, for the operator's metrics.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn attachment_bytes(&self) -> Result<u64, Error> {
        self.read(attachment::total_bytes)
    }

    /// The head of the activity chain, for the operator's metrics.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn chain_head(&self) -> Result<ChainHead, Error> {
        self.read(activity::head)
    }

    /// Which portals have changed, as far as this process knows: its own changes at once, those of others within 100 ms.
    pub fn portals(&self) -> &change::Portals {
        &self.memory.portals
    }

    /// The room on the disk, and the reserve.
    pub fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// How many erased candidates the file had on record when it was opened without the list of who was erased; 0 with the
    /// list. Whoever else was on that list may be in the file with all their data.
    pub fn erased_without_list(&self) -> usize {
        self.erased_without_list
    }
}

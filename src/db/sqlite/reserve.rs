//! The reserve: a file next to the database, `FILE.reserve`, that holds disk space for the acts that must work on a
//! full disk. When the disk is full, jobs of the grades Vital and Upkeep release slices of the reserve. Examples of
//! such jobs are erasures by people, revocations, sign-ins, and jobs that free space. The service restores the reserve
//! when the disk has room.
//!
//! While the disk is full, jobs of the other grades are refused before they reach SQLite. Otherwise, they would use up
//! the space that the reserve has released.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, fallocate};

use super::super::tx::Error;
use super::path;
use crate::domain::disk::DiskSpace;
use crate::world::World;

/// The free space that the start of a service needs for the write-ahead log and for 32 KiB of shared memory, with a
/// margin.
const START_BYTES: u64 = 1 << 20;

/// The number of slices in the reserve.
const SLICES: u64 = 16;

/// The minimum size of a slice. It gives the write-ahead log room for the pages of an erasure.
const SLICE_BYTES_MIN: u64 = 256 << 10;

/// The error for ordinary writes while the disk is full. The text is for the log.
const FULL: &str = "the disk is full; only acts that may use the reserve, such as erasures by people, revocations and \
                    sign-ins, are written";

pub struct Reserve {
    /// The path of the reserve and its directory. `None` if the data is not in a file on this machine.
    place: Option<(PathBuf, PathBuf)>,
    world: Arc<dyn World>,
    is_full: AtomicBool,
    /// The number of rows for the usage log that wait in memory until the disk has room.
    owed_rows: AtomicU64,
}

impl Reserve {
    /// Returns the reserve next to the file at this path. Does not create the reserve's file.
    pub(crate) fn of(path: &Path, world: Arc<dyn World>) -> Self {
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        Self::at(Some((path::beside(path, ".reserve"), directory)), world)
    }

    /// Returns a reserve without any space, for data that is not in a file on this machine.
    #[cfg(feature = "postgres")]
    pub(crate) fn without_file(world: Arc<dyn World>) -> Self {
        Self::at(None, world)
    }

    fn at(place: Option<(PathBuf, PathBuf)>, world: Arc<dyn World>) -> Self {
        Self { place, world, is_full: AtomicBool::new(false), owed_rows: AtomicU64::new(0) }
    }

    /// Returns the size and the free space of the disk, if the operating system reports them.
    pub fn disk(&self) -> Option<DiskSpace> {
        self.place.as_ref().and_then(|(_, directory)| self.world.disk(directory))
    }

    /// Returns whether a write found the disk full and the service has not found room on the disk since.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Returns the error for an ordinary write while the disk is full.
    pub(crate) fn refusal() -> Error {
        Error::Full(FULL.to_owned())
    }

    /// Records that a write found the disk full.
    pub(crate) fn note_full(&self) {
        self.is_full.store(true, Ordering::Relaxed);
    }

    /// Releases a slice of the reserve to the disk. Returns false if nothing is left, or if the file cannot be
    /// shortened. Releases only one slice, because another process that fills the disk may use the released space, and
    /// the next act needs some space too.
    pub(crate) fn release(&self) -> bool {
        self.note_full();
        let bytes = self.bytes();
        let Some((path, _)) = self.place.as_ref().filter(|_| bytes > 0) else { return false };
        let slice_bytes = SLICE_BYTES_MIN.max(self.disk().map_or(bytes, DiskSpace::reserve_bytes) / SLICES);
        let left_bytes = bytes.saturating_sub(slice_bytes);
        let released = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(left_bytes));
        released.is_ok()
    }

    /// Restores the whole reserve if the disk has room for it. Ordinary writes then work again.
    pub(crate) fn restore(&self) {
        let Some(disk) = self.disk() else {
            // The next write shows whether the disk has room.
            return self.is_full.store(false, Ordering::Relaxed);
        };
        let missing_bytes = disk.reserve_bytes().saturating_sub(self.bytes());
        let has_room = disk.has_room_for_reserve(missing_bytes);
        if has_room && (missing_bytes == 0 || self.grow(disk.reserve_bytes()).is_ok()) {
            self.is_full.store(false, Ordering::Relaxed);
        }
    }

    /// Restores a part of the reserve, using at most half of the free space. The engine calls this function when the
    /// service stops, so that the next start on a full disk has space to release.
    pub(crate) fn restore_some(&self) {
        let Some(disk) = self.disk() else { return };
        let bytes = disk.reserve_bytes().min(self.bytes() + disk.free_bytes / 2);
        if bytes > self.bytes() {
            let _ = self.grow(bytes);
        }
    }

    /// Returns whether the disk has too little room for the start of a service, and the reserve has space to release.
    pub(crate) fn is_needed_to_start(&self) -> bool {
        self.exists() && self.disk().is_some_and(|disk| disk.free_bytes < START_BYTES)
    }

    /// Returns the number of owed rows.
    pub fn owed_rows(&self) -> u64 {
        self.owed_rows.load(Ordering::Relaxed)
    }

    /// Records the number of owed rows.
    pub(crate) fn set_owed_rows(&self, rows: usize) {
        self.owed_rows.store(rows as u64, Ordering::Relaxed);
    }

    /// Returns whether the reserve has any space.
    pub(crate) fn exists(&self) -> bool {
        self.bytes() > 0
    }

    fn bytes(&self) -> u64 {
        let metadata = self.place.as_ref().and_then(|(path, _)| std::fs::metadata(path).ok());
        metadata.map_or(0, |metadata| metadata.len())
    }

    fn grow(&self, bytes: u64) -> std::io::Result<()> {
        let Some((path, _)) = &self.place else { return Ok(()) };
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = open?;
        let grown = match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            // Some file systems cannot allocate space in advance. On those file systems, the reserve is filled with
            // zeros instead.
            Err(rustix::io::Errno::OPNOTSUPP) => {
                let missing_bytes = bytes.saturating_sub(self.bytes());
                std::io::copy(&mut std::io::Read::take(std::io::repeat(0), missing_bytes), &mut &file).map(drop)
            }
            grown => grown.map_err(std::io::Error::from),
        };
        grown.inspect_err(|_| {
            let _ = std::fs::remove_file(path);
        })
    }
}

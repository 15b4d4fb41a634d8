//! The identity of the open files: checks that the names of the service's files still belong to the files that the
//! service has open. An operator might remove, move, replace or overwrite the files. The service would then write to
//! files that the next start does not find, and every change that it confirms from then on would be lost.
//!
//! The names are checked with `stat`, which opens no file. If a process opens the database file without SQLite and then
//! closes it, the process loses the locks that SQLite holds on the file. For this reason, the only handle in this
//! module is closed after all connections.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::super::connection::Connection;
use super::super::tx::Error;
use super::file::OpenError;
use super::path;
use super::schema;
use super::wal::{Checkpoint, Mode};
use crate::world::World;

/// The header of a SQLite file (SQLite file format, 1.3), and the positions of its fields.
const HEADER_BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
const PAGE_SIZE_AT: usize = 16;
const COUNTER_AT: usize = 24;
const APPLICATION_ID_AT: usize = 68;

/// The number of bytes in the mark of a run. A mark is so long that no two runs get the same one.
const MARK_BYTES: usize = 16;

/// The number of times that the header or a page is read before a finding is reported. A checkpoint might be writing to
/// the file during a single read.
const HEADER_READS: u32 = 3;

/// The number of consecutive checks, four a second, that may fail to find the mark while SQLite reports another page
/// for the mark's table, or no page. If one more check does not find the mark, the service reports that the file was
/// overwritten. After an operator's VACUUM, the checkpoint that moves the mark in the file ends earlier than that.
const DOUBTS_MAX: u32 = 8;

/// The pause before a stopping service repeats a check that left doubt.
const DOUBT_PAUSE: Duration = Duration::from_millis(250);

/// A name, and the file that had this name when it was recorded.
struct NamedFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// The state of the database file without its log.
#[derive(Clone, Copy)]
struct FileState {
    /// The change counter in the file's header. In an older copy, the counter is behind.
    counter: u32,
    bytes: u64,
}

/// A random mark of this run of the service, stored in the table `service_marks`. A copy from before this run does not
/// contain the mark.
#[derive(Default)]
struct Mark {
    /// The bytes of the mark. They are set when the mark is committed.
    bytes: Option<[u8; MARK_BYTES]>,
    /// The page of the file that contains the mark. It is set when the page has been copied from the log.
    page: Option<u32>,
    /// The number of checks since the mark was last found in the file.
    doubts: u32,
}

/// The state of the file and its log together, as SQLite reports it.
struct View {
    counter: u32,
    pages: u64,
}

/// The files of a service, as they were when the service opened them.
pub(crate) struct Identity {
    database: NamedFile,
    lock: NamedFile,
    /// The write-ahead log and its shared memory. They exist after a connection has read from the file.
    beside: OnceLock<[NamedFile; 2]>,
    seen: Mutex<Option<FileState>>,
    mark: Mutex<Mark>,
    /// A handle to the database file, opened before the service's connections. The handle is dropped after them.
    handle: File,
}

impl Identity {
    /// Records the file before the service opens its connections.
    pub(crate) fn before_opening(path: &Path) -> Result<Self, OpenError> {
        let failed = |error: std::io::Error| failed(path, &error.to_string());
        let handle = File::open(path).map_err(failed)?;
        let database = NamedFile::now(path).map_err(failed)?;
        if !database.is(&handle.metadata().map_err(failed)?) {
            return Err(replaced(path));
        }
        let lock = NamedFile::now(&path::beside(path, ".lock")).map_err(failed)?;
        Ok(Self { database, lock, beside: OnceLock::new(), seen: Mutex::default(), mark: Mutex::default(), handle })
    }

    /// Records the files that SQLite has created next to the database file.
    ///
    /// # Errors
    /// [`OpenError::Failed`] if a file next to the database file is missing, or if a file was moved, replaced or
    /// overwritten while SQLite was opening the database file.
    pub(crate) fn opened(&self) -> Result<(), OpenError> {
        let path = &self.database.path;
        let known = |suffix| NamedFile::now(&path::beside(path, suffix));
        let beside = known("-wal").and_then(|wal| Ok([wal, known("-shm")?]));
        let beside = beside.map_err(|error| failed(path, &error.to_string()))?;
        let _ = self.beside.set(beside);
        if self.changed().is_some() { Err(replaced(path)) } else { Ok(()) }
    }

    /// Commits the mark of this run and moves it into the file, before the service answers requests. A copy that
    /// overwrites the file in the first moments would otherwise get the mark. If this fails, for example on a full
    /// disk, the checkpoint job tries again.
    ///
    /// # Errors
    /// [`OpenError::Failed`] if the file was already overwritten.
    pub(crate) fn mark_at_start(&self, connection: &Connection, world: &dyn World) -> Result<(), OpenError> {
        let marked = self.mark(connection, world);
        if matches!(marked, Ok(Some(_))) { Err(replaced(&self.database.path)) } else { Ok(()) }
    }

    /// Returns a sentence if a name is missing or belongs to another file. Calls `stat` four times, which takes a few
    /// microseconds.
    pub(crate) fn moved(&self) -> Option<String> {
        let beside = self.beside.get().into_iter().flatten();
        [&self.database, &self.lock].into_iter().chain(beside).find_map(NamedFile::lost)
    }

    /// Returns a sentence if a file was moved, or the database file was overwritten in place.
    pub(crate) fn changed(&self) -> Option<String> {
        self.moved().or_else(|| self.overwritten(|| None))
    }

    /// Does the same as [`Identity::changed`], and also checks the state of the log and the mark of this run, through a
    /// connection.
    pub(crate) fn changed_beside(&self, connection: &Connection) -> Option<String> {
        self.moved().or_else(|| self.overwritten(|| view(connection).ok())).or_else(|| self.unmarked(connection))
    }

    /// Does the same as [`Identity::changed_beside`], and repeats the check while it leaves doubt about the mark. After
    /// [`DOUBTS_MAX`] repetitions, doubt remains only if the file cannot be read.
    pub(crate) fn changed_for_certain(&self, connection: &Connection) -> Option<String> {
        let mut changed = self.changed_beside(connection);
        for _ in 0..DOUBTS_MAX {
            if changed.is_some() || !self.is_doubtful() {
                break;
            }
            std::thread::sleep(DOUBT_PAUSE);
            changed = self.changed_beside(connection);
        }
        changed
    }

    /// Commits the mark of this run and moves it into the file. If another process holds a lock, the next call tries
    /// again. Returns a sentence if the file was overwritten: its header shows this, or the whole log was copied but
    /// the file lacks the mark.
    pub(crate) fn mark(&self, connection: &Connection, world: &dyn World) -> Result<Option<String>, Error> {
        let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if mark.page.is_some() {
            return Ok(None);
        }
        let bytes = match mark.bytes {
            Some(bytes) => bytes,
            None => *mark.bytes.insert(commit_mark(connection, world)?),
        };
        // The commit waits for the disk, and somebody may have overwritten the file in the meantime.
        if let Some(why) = self.overwritten(|| view(connection).ok()) {
            return Ok(Some(why));
        }
        let checkpoint = Checkpoint::run(connection, Mode::Passive)?;
        let page = root_page(connection)?;
        let found = self.page_contains(page, &bytes);
        if found == Some(true) {
            mark.page = Some(page);
        }
        Ok((checkpoint.is_complete() && found == Some(false)).then(|| self.other_copy_finding()))
    }

    fn other_copy_finding(&self) -> String {
        format!("{} was overwritten with another copy", self.database.path.display())
    }

    /// Returns a sentence if the mark of this run is no longer in the file.
    fn unmarked(&self, connection: &Connection) -> Option<String> {
        let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = mark.bytes?;
        let known = mark.page?;
        if self.page_contains(known, &bytes) == Some(true) {
            mark.doubts = 0;
            return None;
        }
        // An operator's VACUUM moves the table, and the next checkpoint moves it in the file too.
        let page = root_page(connection);
        if let Ok(page) = page
            && page != known
            && self.page_contains(page, &bytes) == Some(true)
        {
            (mark.page, mark.doubts) = (Some(page), 0);
            return None;
        }
        mark.doubts += 1;
        // Pages that cannot be read, for example because of an I/O error, prove nothing about the file.
        let is_absent = self.page_contains(known, &bytes) == Some(false);
        let is_certain = page.is_ok_and(|page| page == known);
        (is_absent && (is_certain || mark.doubts > DOUBTS_MAX)).then(|| self.other_copy_finding())
    }

    /// Returns whether the last check did not find the mark of this run. The checkpoint job then copies no page into
    /// the file.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.mark.lock().unwrap_or_else(PoisonError::into_inner).doubts > 0
    }

    /// Does the same as [`Identity::page_contains_now`], but repeats the check before it returns `Some(false)`.
    fn page_contains(&self, page: u32, bytes: &[u8; MARK_BYTES]) -> Option<bool> {
        let mut found = None;
        for _ in 0..HEADER_READS {
            found = self.page_contains_now(page, bytes);
            if found != Some(false) {
                break;
            }
        }
        found
    }

    /// Returns whether a page of the file, without its log, contains these bytes; `None` if the page cannot be read. A
    /// file that ends before the page does not contain them.
    fn page_contains_now(&self, page: u32, bytes: &[u8; MARK_BYTES]) -> Option<bool> {
        let mut header = [0; HEADER_BYTES];
        if !self.read_whole(&mut header, 0)? {
            return Some(false);
        }
        let size = page_bytes(&header);
        let mut content = vec![0; usize::try_from(size).ok()?];
        let is_whole = self.read_whole(&mut content, u64::from(page.checked_sub(1)?) * size)?;
        Some(is_whole && content.windows(MARK_BYTES).any(|window| window == bytes))
    }

    /// Fills the buffer from a position in the file. Returns `Some(false)` if the file ends before the buffer is full,
    /// and `None` if the file cannot be read.
    fn read_whole(&self, buffer: &mut [u8], at: u64) -> Option<bool> {
        match self.handle.read_exact_at(buffer, at) {
            Ok(()) => Some(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Some(false),
            Err(_) => None,
        }
    }

    fn overwritten(&self, view: impl Fn() -> Option<View>) -> Option<String> {
        let path = self.database.path.display();
        let mut finding = None;
        for _ in 0..HEADER_READS {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            match self.inspect(*seen, &view) {
                Ok(Some(now)) => {
                    *seen = Some(now);
                    return None;
                }
                // No check has found a complete file yet. All pages may still be in the log.
                Err(_) if seen.is_none() => return None,
                // The next check might be able to read the file.
                Ok(None) => return None,
                Err(words) => finding = Some(format!("{path} {words}")),
            }
        }
        finding
    }

    /// Returns the state of the file without its log; `None` if the file cannot be read. The error is the predicate of
    /// a sentence about the file.
    fn inspect(
        &self,
        before: Option<FileState>,
        view: &impl Fn() -> Option<View>,
    ) -> Result<Option<FileState>, &'static str> {
        let mut header = [0; HEADER_BYTES];
        match self.handle.read_exact_at(&mut header, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err("was emptied"),
            Err(_) => return Ok(None),
        }
        let Ok(bytes) = self.handle.metadata().map(|metadata| metadata.len()) else { return Ok(None) };
        if !header.starts_with(MAGIC) || i64::from(number(&header, APPLICATION_ID_AT)) != schema::APPLICATION_ID {
            return Err("was overwritten with something else");
        }
        let now = FileState { counter: number(&header, COUNTER_AT), bytes };
        if before.is_some_and(|before| is_behind(now.counter, before.counter)) {
            return Err("was overwritten with an older copy");
        }
        let Some(view) = view() else { return Ok(Some(now)) };
        if is_behind(view.counter, now.counter) {
            return Err("was overwritten with another copy");
        }
        let whole = view.pages * page_bytes(&header);
        // An operator's VACUUM also makes the file smaller, while later pages may still be in the log. Unlike a
        // truncation, it changes the counter.
        if before.is_some_and(|before| bytes < before.bytes && now.counter == before.counter) && bytes < whole {
            return Err("was truncated");
        }
        Ok(Some(now))
    }
}

impl NamedFile {
    fn now(path: &Path) -> std::io::Result<Self> {
        let found = std::fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    fn is(&self, found: &Metadata) -> bool {
        (found.dev(), found.ino()) == (self.device, self.inode)
    }

    /// Returns a sentence if the name no longer belongs to the file. Ignores other errors of the operating system,
    /// which may be temporary.
    fn lost(&self) -> Option<String> {
        let path = self.path.display();
        match std::fs::symlink_metadata(&self.path) {
            Ok(found) if self.is(&found) => None,
            Ok(_) => Some(format!("{path} was replaced by another file")),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Some(format!("{path} was removed or moved"))
            }
            Err(_) => None,
        }
    }
}

/// Returns the root page of the table that contains the mark.
fn root_page(connection: &Connection) -> rusqlite::Result<u32> {
    let sql = "SELECT rootpage
               FROM sqlite_schema
               WHERE name = 'service_marks'";
    connection.sqlite().query_row(sql, [], |row| row.get(0))
}

fn commit_mark(connection: &Connection, world: &dyn World) -> rusqlite::Result<[u8; MARK_BYTES]> {
    let mut bytes = [0; MARK_BYTES];
    world.fill(&mut bytes);
    let sql = "INSERT INTO service_marks (id, mark)
               VALUES (1, $1)
               ON CONFLICT (id) DO UPDATE
               SET mark = excluded.mark";
    connection.sqlite().execute(sql, [&bytes])?;
    Ok(bytes)
}

/// Reads the state of the file and its log together.
fn view(connection: &Connection) -> rusqlite::Result<View> {
    let page: Vec<u8> =
        connection.sqlite().query_row("SELECT data FROM sqlite_dbpage WHERE pgno = 1", [], |row| row.get(0))?;
    let pages: u32 = connection.sqlite().query_row("PRAGMA page_count", [], |row| row.get(0))?;
    Ok(View { counter: number(&page, COUNTER_AT), pages: pages.into() })
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Returns the size of a page from two bytes of the header, where 1 means 65,536.
fn page_bytes(header: &[u8; HEADER_BYTES]) -> u64 {
    match u16::from_be_bytes([header[PAGE_SIZE_AT], header[PAGE_SIZE_AT + 1]]) {
        1 => 65_536,
        bytes => bytes.into(),
    }
}

/// Returns whether a counter is behind another one. After its maximum, a counter continues at 0.
fn is_behind(counter: u32, other: u32) -> bool {
    counter != other && other.wrapping_sub(counter) < u32::MAX / 2
}

fn replaced(path: &Path) -> OpenError {
    failed(path, "it was replaced while it was being opened")
}

fn failed(path: &Path, why: &str) -> OpenError {
    OpenError::Failed { path: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests;

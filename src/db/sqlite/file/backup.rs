//! Backup: a consistent copy of the file, with its companions next to it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::super::super::tx::Error;
use super::super::super::upgrade::Companion;
use super::super::connection::{self, Use};
use super::super::gentle::{Interrupt, slow_down};
use super::super::path::{beside, resolve};
use super::error::OpenError;
use super::partial::{Busy, Existing, Partial, name_exists};

/// The interval between fsyncs during a copy. If much unsynced data accumulated in memory, the operating system would
/// block other writers, including the service.
const SYNC_EVERY: Duration = Duration::from_millis(10);

/// The suffix of an incomplete copy's name.
const PARTIAL: &str = ".partial";

/// Copies the file, with the commits in its log, and its companions into new files of mode 0600. Writes the new files
/// under other names (`TARGET.partial`) and renames them when they are complete and on the disk.
///
/// # Errors
/// [`OpenError::NotWritable`] if the target cannot be created or exists, or if a companion cannot be written;
/// [`OpenError::Companion`] if a companion cannot be read; [`OpenError::Failed`] if the copy fails. A failed backup
/// leaves no target behind, unless only the sync of the directory failed. It might leave a companion behind.
pub(crate) fn backup(path: &Path, target: &Path, companions: &[Companion]) -> Result<(), OpenError> {
    backup_if(path, target, companions, &Interrupt::default(), |_| Ok(()))
}

/// Creates a backup if the copy passes a check, which runs before the copy gets its final name. Setting `interrupt`
/// ends the copy early.
pub(crate) fn backup_if(
    path: &Path,
    target: &Path,
    companions: &[Companion],
    interrupt: &Interrupt,
    check: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), OpenError> {
    require_absent(target)?;
    let not_writable = |error| not_writable(target, &error);
    // The path is absolute, because SQLite does not treat some relative names, such as `:memory:`, as names of files.
    let absolute = &resolve(target);
    let partial = Partial::begin(absolute, PARTIAL, Busy::Refuse).map_err(not_writable)?;
    copy(path, &partial, Some(interrupt))
        .and_then(|()| check(partial.path()))
        .map_err(|error| OpenError::failed(target, &error))?;
    // Each companion is read after the database file has been copied, so that the companion is never older than the
    // copy. The companion gets its final name first, so that a copy with its final name is never without its
    // companions.
    for companion in companions {
        let unreadable = |error| {
            OpenError::Companion(format!("{} cannot be read: {error}", beside(path, companion.suffix).display()))
        };
        let Some(content) = (companion.read)(path).map_err(unreadable)? else { continue };
        write_companion(&beside(absolute, companion.suffix), &content).map_err(not_writable)?;
    }
    partial.finish(Existing::Refuse).map_err(not_writable)
}

/// Refuses a target that exists. A command calls this function before it records the backup in the activity of the
/// source file.
///
/// # Errors
/// [`OpenError::NotWritable`] if the target exists, or if it cannot be determined whether the target exists.
pub fn require_absent(target: &Path) -> Result<(), OpenError> {
    match name_exists(&resolve(target)) {
        Ok(false) => Ok(()),
        Ok(true) => Err(not_writable(target, &ErrorKind::AlreadyExists.into())),
        Err(error) => Err(not_writable(target, &error)),
    }
}

/// Removes the remains of a killed process that was writing this target. Does nothing if a process is still writing it.
pub(crate) fn remove_partial(target: &Path) {
    let Ok(partial) = Partial::begin(&resolve(target), PARTIAL, Busy::Refuse) else { return };
    // A process that is killed while it copies a file also leaves SQLite's rollback journal next to the copy.
    let _ = std::fs::remove_file(beside(partial.path(), "-journal"));
    // Dropping `partial` without `finish` removes the file.
}

/// Returns the name of the target of a partial file; `None` if the name is not that of a partial file.
pub(crate) fn target_of_partial(name: &str) -> Option<&str> {
    name.strip_suffix(PARTIAL)
}

fn not_writable(target: &Path, error: &std::io::Error) -> OpenError {
    let why = match error.kind() {
        ErrorKind::AlreadyExists => "it exists and will not be overwritten".to_owned(),
        _ => error.to_string(),
    };
    OpenError::NotWritable { path: target.to_owned(), why }
}

/// Writes `TARGET.manifest` next to a copy. Replaces the manifest of an earlier copy.
pub fn write_manifest(target: &Path, manifest: &[u8]) -> Result<(), OpenError> {
    let path = beside(&resolve(target), ".manifest");
    write_companion(&path, manifest).map_err(|error| OpenError::NotWritable { path, why: error.to_string() })
}

/// Writes a file under a partial name next to a copy, and then gives the file its final name. Replaces an earlier file.
pub(crate) fn write_companion(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let partial = Partial::begin(path, PARTIAL, Busy::Refuse)?;
    std::io::Write::write_all(&mut partial.file(), content)?;
    partial.finish(Existing::Replace)
}

/// Copies the file. With an interrupt, the copy leaves most of the CPU to the service, and can be ended early.
pub(super) fn copy(path: &Path, partial: &Partial, interrupt: Option<&Interrupt>) -> Result<(), Error> {
    // The connection is not read-only, because `query_only` would apply to the copy too.
    let connection = connection::open_to_read(path, Use::Write)?;
    let target = partial.path().to_str();
    let target = target.ok_or_else(|| Error::Defect("the target's name is not UTF-8".to_owned()))?;
    let unavailable = |error: std::io::Error| Error::Unavailable(error.to_string());
    if let Some(interrupt) = interrupt {
        slow_down(&connection, interrupt)?;
    }
    std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        let sync = move || {
            while ended.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
                let _ = partial.file().sync_data();
            }
        };
        std::thread::Builder::new().name("syncing".to_owned()).spawn_scoped(scope, sync).map_err(unavailable)?;
        // `VACUUM INTO` uses one read transaction, so the copy is consistent, and the service can continue to write.
        let copied = connection.sqlite().execute("VACUUM INTO $1", [target]);
        drop(end);
        Ok::<(), Error>(copied.map(drop)?)
    })?;
    partial.file().sync_all().map_err(unavailable)
}

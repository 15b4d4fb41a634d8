//! A consistent copy of the file, with its companions beside it.

use std::ffi::c_int;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::super::connection::{self, Use};
use super::super::path::{beside, resolve};
use super::super::tx::Error;
use super::error::OpenError;
use super::partial::{Busy, Existing, Partial, is_there};

/// How often what was copied is brought to the disk. Much of it in the system's memory at once would make the system hold up
/// whoever writes, and that is the service.
const SYNC_EVERY: Duration = Duration::from_millis(10);

/// How long a copy is worked on, and then rests, so that it takes no more than a quarter of a core from the service; and after
/// how many steps of SQLite's machine that is looked at.
const WORK: Duration = Duration::from_millis(1);
const REST: Duration = Duration::from_millis(3);
const STEPS: c_int = 500;

/// The suffix of a copy that is not whole yet.
const PARTIAL: &str = ".partial";

/// A file beside the database that belongs to a copy of it.
pub(crate) struct Companion {
    /// The suffix of its name, behind the name of the database.
    pub(crate) suffix: &'static str,
    /// Its content beside the database at a path; `None` where it is not there.
    pub(crate) read: fn(&Path) -> std::io::Result<Option<Vec<u8>>>,
}

/// Copies the file, with everything that is committed, into a new one of mode 0600, with its companions. All are written under
/// other names (`TARGET.partial`) and renamed once they are whole and on the disk.
///
/// # Errors
/// [`OpenError::NotWritable`] where the target cannot be made or is there already, [`OpenError::Failed`] where the
/// copy fails; then no target is left.
pub(crate) fn backup(path: &Path, target: &Path, companions: &[Companion]) -> Result<(), OpenError> {
    backup_if(path, target, companions, |_| Ok(()))
}

/// The same, where the copy passes a check before it gets its name.
///
/// # Errors
/// As [`backup`].
pub(crate) fn backup_if(
    path: &Path,
    target: &Path,
    companions: &[Companion],
    check: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), OpenError> {
    require_absent(target)?;
    let not_writable = |error| not_writable(target, &error);
    // Absolute, because SQLite takes some names, such as `:memory:`, for something else than a file.
    let whole = &resolve(target);
    let partial = Partial::begin(whole, PARTIAL, Busy::Refuse).map_err(not_writable)?;
    copy(path, &partial).and_then(|()| check(partial.path())).map_err(|error| OpenError::failed(target, &error))?;
    // Read after the copy, and renamed before it: a companion is never older than the copy that it stands beside.
    for companion in companions {
        let Some(content) = (companion.read)(path).map_err(not_writable)? else { continue };
        let partial = Partial::begin(&beside(whole, companion.suffix), PARTIAL, Busy::Refuse).map_err(not_writable)?;
        std::io::Write::write_all(&mut partial.file(), &content).map_err(not_writable)?;
        partial.finish(Existing::Replace).map_err(not_writable)?;
    }
    partial.finish(Existing::Keep).map_err(not_writable)
}

/// Refuses a target that exists. A command calls this before it records in the source that it reads.
///
/// # Errors
/// [`OpenError::NotWritable`] where the target exists.
pub fn require_absent(target: &Path) -> Result<(), OpenError> {
    match is_there(&resolve(target)) {
        Ok(false) => Ok(()),
        Ok(true) => Err(not_writable(target, &ErrorKind::AlreadyExists.into())),
        Err(error) => Err(not_writable(target, &error)),
    }
}

fn not_writable(target: &Path, error: &std::io::Error) -> OpenError {
    let why = match error.kind() {
        ErrorKind::AlreadyExists => "it is there already, and nothing is written over".to_owned(),
        _ => error.to_string(),
    };
    OpenError::NotWritable { path: target.to_owned(), why }
}

/// Writes `TARGET.manifest` beside a copy, whole or not at all, in place of one of an earlier copy.
///
/// # Errors
/// [`OpenError::NotWritable`] where it cannot be made.
pub fn write_manifest(target: &Path, manifest: &[u8]) -> Result<(), OpenError> {
    let path = beside(&resolve(target), ".manifest");
    let written = Partial::begin(&path, PARTIAL, Busy::Refuse).and_then(|partial| {
        std::io::Write::write_all(&mut partial.file(), manifest)?;
        partial.finish(Existing::Replace)
    });
    written.map_err(|error| OpenError::NotWritable { path, why: error.to_string() })
}

fn copy(path: &Path, partial: &Partial) -> Result<(), Error> {
    // Not a connection for reading only: that setting would hold for the copy too.
    let connection = connection::open_to_read(path, Use::Write)?;
    let target = partial.path().to_str();
    let target = target.ok_or_else(|| Error::Defect("the target's name is not UTF-8".to_owned()))?;
    let unavailable = |error: std::io::Error| Error::Unavailable(error.to_string());
    let mut woke = Instant::now();
    let rest = move || {
        if woke.elapsed() >= WORK {
            std::thread::sleep(REST);
            woke = Instant::now();
        }
        false
    };
    connection.progress_handler(STEPS, Some(rest))?;
    std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        let sync = move || {
            while ended.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
                let _ = partial.file().sync_data();
            }
        };
        std::thread::Builder::new().name("syncing".to_owned()).spawn_scoped(scope, sync).map_err(unavailable)?;
        // One read transaction, so the copy is consistent, and the service can write meanwhile.
        let copied = connection.execute("VACUUM INTO $1", [target]);
        drop(end);
        Ok::<(), Error>(copied.map(drop)?)
    })?;
    partial.file().sync_all().map_err(unavailable)
}

//! Replaces the file by a backup (`appliance restore`). Withdraws from a copy of the backup the access that the file
//! records as withdrawn, such as revoked keys and ended sessions. Then checks the copy, and replaces the file with it.
//! The old file stays in the same directory under another name.

mod access;
mod comparison;

use std::path::{Path, PathBuf};

use serde_json::json;

pub use self::access::Withdrawn;
pub use self::comparison::{Difference, Lineage};
use super::{activity, check, erasure, file};
use crate::db::sqlite::check as pages;
use crate::db::sqlite::connection::{self, Use};
use crate::db::sqlite::file::replacement::{Replacement, empty_log};
use crate::db::{Error, OpenError, act_alone, act_beside};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// A copy that is ready to replace the file, and the facts for the person who decides whether to replace the file.
pub struct Restore {
    replacement: Replacement,
    file: PathBuf,
    copy: PathBuf,
    pub replaced: Replaced,
    /// The number of keys that `--revoke-keys` revoked.
    pub revoked_by_flag: usize,
    _lock: file::Lock,
}

/// The file that is replaced.
#[derive(Debug, Clone)]
pub enum Replaced {
    /// The file could be read.
    Known(Box<Known>),
    /// There is no file, or it cannot be read. The text is the reason.
    Unknown(String),
}

/// The facts about a file that could be read.
#[derive(Debug, Clone)]
pub struct Known {
    pub lineage: Lineage,
    /// Whether SQLite found no defect in the pages of the file.
    pub is_intact: bool,
    pub lost: Difference,
    pub comes_back: Difference,
    /// The number of candidates in the copy who were erased from the file.
    pub erased_since: i64,
    pub withdrawn: Withdrawn,
}

/// The reason why a backup is not restored.
#[derive(Debug)]
pub enum Refused {
    Open(OpenError),
    Store(Error),
    /// The backup is the file itself.
    SameFile,
    /// The new copy has findings. Contains the first finding and the number of findings.
    Unsound(String, usize),
}

impl From<OpenError> for Refused {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Restore {
    /// Copies the backup to the directory of the file, withdraws from the new copy the access that the file records as
    /// withdrawn, and checks the copy. Does not change the file. If this value is dropped, the new copy is removed.
    ///
    /// # Errors
    /// [`OpenError::Held`] if another process, such as a service, holds the lock of the file; [`Refused::SameFile`] if
    /// the backup is the file itself; [`OpenError::Foreign`] or [`OpenError::Exposed`] if the file belongs to another
    /// program or is open to other users; [`Refused::Unsound`] if the new copy has findings. Also fails if the backup
    /// cannot be read or the new copy cannot be written.
    pub fn prepare(path: &Path, copy: &Path, revokes_keys: bool, world: &dyn World) -> Result<Self, Refused> {
        let path = file::resolve(path);
        let lock = file::Lock::take(&path)?;
        if file::resolve(copy) == path {
            return Err(Refused::SameFile);
        }
        file::prepare_to_read(copy)?;
        let unknown = match file::prepare_to_read(&path) {
            Ok(()) => None,
            Err(error @ (OpenError::Foreign(_) | OpenError::Exposed { .. })) => return Err(error.into()),
            Err(OpenError::Missing(_)) => Some("it does not exist".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let replacement = Replacement::begin(copy, &path)?;
        let new = replacement.path();
        let replaced = match unknown.map_or_else(|| adopt_access(new, &path, world), Err) {
            Ok(known) => Replaced::Known(Box::new(known)),
            Err(why) => {
                act_alone(new, world, |tx| access::end_all_sessions(tx).map(drop))?;
                Replaced::Unknown(why)
            }
        };
        let revoked_by_flag = act_alone(new, world, |tx| {
            let revoked = if revokes_keys { access::revoke_all_keys(tx)? } else { 0 };
            let facts = json!({ "keysRevoked": revoked, "replacedFileRead": matches!(replaced, Replaced::Known(_)) });
            activity::platform::record_command(tx, world, "restore", &facts)?;
            Ok(revoked)
        })?;
        let findings = check::check(new, |_| ())?;
        if let Some(first) = findings.first() {
            return Err(Refused::Unsound(first.clone(), findings.len()));
        }
        Ok(Self { replacement, file: path, copy: copy.to_owned(), replaced, revoked_by_flag, _lock: lock })
    }

    /// Replaces the file. Returns the new path of the old file, if there was one.
    ///
    /// # Errors
    /// Fails if another process uses the file, or if a file cannot be read or written. The old file is then still in
    /// place, except after [`OpenError::NotSynced`].
    pub fn finish(self, now: Timestamp) -> Result<Option<PathBuf>, Refused> {
        if matches!(self.replaced, Replaced::Known(_)) {
            // A missing erasure list is written from the erasures that the file records.
            erasure::write_missing_list(&self.file, &connection::open(&self.file, Use::Read)?)?;
        }
        erasure::add_missing_lines(&self.file, &self.copy)?;
        if matches!(self.replaced, Replaced::Known(_)) {
            empty_log(&self.file)?;
        }
        let time = now.to_string().replace(':', "");
        let time = time.split('.').next().unwrap_or_default();
        Ok(self.replacement.finish(&format!(".before-restore-{time}Z"))?)
    }
}

/// Withdraws from the new file the access that the old file records as withdrawn, unless the new file is a later state
/// of the old file. If the old file is damaged or has its own history, ends all sessions. Returns the reason if the old
/// file cannot be read.
fn adopt_access(new: &Path, old: &Path, world: &dyn World) -> Result<Known, String> {
    let is_intact = pages::require_intact(old).is_ok();
    let adopted = act_beside(new, old, world, |tx| {
        let lineage = comparison::lineage(tx)?;
        // A file that is damaged or has its own history might not show all sessions that have ended.
        let ends_sessions = !is_intact || lineage == Lineage::Other;
        let withdrawn = match lineage {
            Lineage::Later if ends_sessions => {
                Withdrawn { sessions: access::end_all_sessions(tx)?, ..Withdrawn::default() }
            }
            Lineage::Later => Withdrawn::default(),
            Lineage::Earlier | Lineage::Other => access::carry_over(tx, lineage, ends_sessions)?,
        };
        Ok(Known {
            lineage,
            is_intact,
            lost: comparison::lost(tx)?,
            comes_back: comparison::comes_back(tx)?,
            erased_since: comparison::erased_since(tx)?,
            withdrawn,
        })
    });
    adopted.map_err(|error| match error {
        Error::Full(why) | Error::Unavailable(why) | Error::Defect(why) | Error::OutcomeUnknown(why) => why,
        Error::Refused(refusal) => refusal.sentence(),
    })
}

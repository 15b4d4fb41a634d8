//! Imports the attachments of an export, after its applications. A refused file does not prevent the import of the
//! others.

use std::path::Path;

use super::folder::{Files, read_attachment};
use super::report::report;
use crate::cli::failure::Failure;
use crate::cli::output::print_message;
use crate::cli::progress::Progress;
use crate::domain::id::OrganizationId;
use crate::interchange::{PlannedAttachment, RefusedItem};
use crate::store::attachment::imported::{AttachmentImport, ImportedFile, StoredFile};
use crate::store::file::Lock;
use crate::store::{self, Error, OpenError};
use crate::world::World;

/// The import of attachments into a database.
pub(super) struct Attachments<'a> {
    pub(super) path: &'a Path,
    pub(super) world: &'a dyn World,
    pub(super) organization: OrganizationId,
    /// The value of `--format`.
    pub(super) format: &'static str,
}

impl Attachments<'_> {
    /// Imports the planned files, and reports the refused files on standard output. Returns the number of refused
    /// files.
    ///
    /// # Errors
    /// Fails if the database cannot be written. By then, the applications and perhaps some files have been imported.
    /// Another import of the same export adds the other files. Also fails if standard output cannot be written to.
    pub(super) fn import(
        &self,
        folder: Option<(&Path, Files)>,
        planned: &[PlannedAttachment],
        mut refused: Vec<RefusedItem>,
    ) -> Result<usize, Failure> {
        if let Some((export, files)) = folder {
            refused.extend(files.refused);
            if !planned.is_empty() {
                let mut stored = 0;
                let outcome = self.store(export, planned, &mut refused, &mut stored);
                print_message(&format!("attachments imported: {stored}"));
                outcome.map_err(|error| unfinished(&error))?;
            }
        }
        report(&refused, "the import is committed, but its refused files are not listed")?;
        Ok(refused.len())
    }

    /// Takes the lock of the file, unless another process, usually a service, holds it.
    fn lock(&self) -> Result<Option<Lock>, Error> {
        match Lock::take(self.path) {
            Ok(lock) => Ok(Some(lock)),
            Err(OpenError::Held(_)) => Ok(None),
            Err(error) => Err(Error::Unavailable(error.to_string())),
        }
    }

    fn store(
        &self,
        export: &Path,
        planned: &[PlannedAttachment],
        refused: &mut Vec<RefusedItem>,
        stored: &mut usize,
    ) -> Result<(), Error> {
        // While this process holds the lock of a file, no service can start. A lock on this machine would not prevent
        // services on other machines from using a PostgreSQL database.
        let lock = if store::is_server(self.path) { None } else { self.lock()? };
        let import = AttachmentImport::begin(self.path, self.world, self.organization.clone(), lock.is_none())?;
        let progress = Progress::of_transfer("importing files", bytes_of(export, planned));
        for file in planned {
            match read_attachment(export, &file.path) {
                Ok((media_type, content)) => {
                    let checked = ImportedFile {
                        id: &file.id,
                        application: &file.application,
                        name: &file.name,
                        media_type,
                        content: &content,
                    };
                    match import.store(&checked)? {
                        StoredFile::Stored => *stored += 1,
                        StoredFile::Exists => {}
                        StoredFile::NoApplication => refused.push(refuse(file, GONE)),
                    }
                }
                Err(reason) => refused.push(refuse(file, &reason)),
            }
        }
        drop(progress);
        if *stored > 0 {
            store::act_alone(self.path, self.world, |tx| self.record(tx, *stored))?;
        }
        Ok(())
    }

    /// Records the imported files as platform activity.
    fn record(&self, tx: &store::Tx<'_>, stored: usize) -> Result<(), Error> {
        let facts = serde_json::json!({ "format": self.format, "imported": format!("attachments {stored}") });
        store::activity::platform::record_command(tx, self.world, "import", &facts)
    }
}

/// The reason to refuse a file whose application was removed, or whose candidate was erased, during the import.
const GONE: &str = "belongs to an application that was removed or whose candidate was erased";

fn refuse(file: &PlannedAttachment, reason: &str) -> RefusedItem {
    RefusedItem { location: file.path.clone(), reasons: vec![reason.to_owned()] }
}

/// Estimates the number of bytes that the import of these files reads and writes. Each file is read once, and written
/// to the write-ahead log and to the database file.
fn bytes_of(export: &Path, planned: &[PlannedAttachment]) -> u64 {
    let bytes = planned.iter().filter_map(|file| std::fs::symlink_metadata(export.join(&file.path)).ok());
    bytes.map(|metadata| metadata.len()).fold(0, u64::saturating_add).saturating_mul(3)
}

fn unfinished(error: &Error) -> Failure {
    Failure::new(format!(
        "the items were imported, but not all of their attachments: {error}. Import the same export again to add the \
         others"
    ))
}

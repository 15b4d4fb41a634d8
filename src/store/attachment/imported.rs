//! Imported files, which belong to an application, not to a signup. Each transaction that writes them is short, so
//! that the requests of a running service do not wait for long.

use std::path::Path;
use std::time::Duration;

use super::{AttachmentToken, append_chunk, attachment_columns, begin, delete_slice, finish, read_attachment};
use crate::db::connection::Connection;
use crate::db::open_for_command;
use crate::db::row::Columns;
use crate::db::tx::{self, Error, Tx};
use crate::domain::attachment::{
    ATTACHMENT_TOKEN_BYTES, AttachmentDigest, CHUNK_BYTES_MAX, DIGEST_BYTES, MediaType, file_name,
};
use crate::domain::id::{ApplicationId, AttachmentId, OrganizationId};
use crate::store::attachment::Attachment;
use crate::world::World;

/// The maximum number of chunks that one transaction writes, half a megabyte in total. Most files take one transaction.
const CHUNKS_PER_TRANSACTION: usize = 8;

/// The pause between two transactions. During the pause, other connections can take the write lock. In the first 100 ms
/// of a wait, SQLite polls the lock at least every 25 ms.
const PAUSE: Duration = Duration::from_millis(25);

/// A checked file that an import adds to an application.
#[derive(Debug)]
pub struct ImportedFile<'a> {
    /// The id, which is the same in every import of the file.
    pub id: &'a AttachmentId,
    pub application: &'a ApplicationId,
    /// The name in the export.
    pub name: &'a str,
    /// The media type, as detected from the content.
    pub media_type: MediaType,
    pub content: &'a [u8],
}

/// The outcome of storing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredFile {
    Stored,
    /// An earlier import has stored the file.
    Exists,
    /// The organization has no such application, or its candidate has been erased.
    NoApplication,
}

/// Writes the files of an import, one at a time.
pub struct AttachmentImport<'w> {
    connection: Connection,
    world: &'w dyn World,
    organization: OrganizationId,
    pause: Duration,
}

impl<'w> AttachmentImport<'w> {
    /// Opens the database to write files. If no service is running, the transactions follow each other without a pause.
    ///
    /// # Errors
    /// Fails if the database cannot be opened.
    pub fn begin(
        path: &Path,
        world: &'w dyn World,
        organization: OrganizationId,
        is_service_running: bool,
    ) -> Result<Self, Error> {
        let connection = open_for_command(path)?;
        let pause = if is_service_running { PAUSE } else { Duration::ZERO };
        Ok(Self { connection, world, organization, pause })
    }

    /// Stores a file. If the import is killed, the sweep deletes the unfinished file.
    ///
    /// # Errors
    /// [`Error::Full`] if the disk is full; [`Error::Unavailable`] if another process holds the write lock for too
    /// long, if too many uploads are staged, or if the unfinished file was swept.
    pub fn store(&self, file: &ImportedFile<'_>) -> Result<StoredFile, Error> {
        match self.act(|tx| is_stored(tx, file.id))? {
            Some(true) => return Ok(StoredFile::Exists),
            // An earlier import was killed before it completed the file.
            Some(false) => self.delete(file.id)?,
            None => {}
        }
        let mut random = [0; ATTACHMENT_TOKEN_BYTES];
        self.world.fill(&mut random);
        let token = AttachmentToken::new(random);
        let name = file_name(file.name, Some(file.media_type));
        let mut digest = AttachmentDigest::default();
        file.content.chunks(CHUNK_BYTES_MAX).for_each(|chunk| digest.add(chunk));
        let chunks: Vec<(i64, &[u8])> = (1..).zip(file.content.chunks(CHUNK_BYTES_MAX)).collect();
        let last = chunks.len().div_ceil(CHUNKS_PER_TRANSACTION);
        for (number, slice) in (1..).zip(chunks.chunks(CHUNKS_PER_TRANSACTION)) {
            let stored = self.act(|tx| {
                if number == 1 {
                    begin(tx, file.id, &token, &name)?;
                }
                slice.iter().try_for_each(|(number, chunk)| append_chunk(tx, file.id, *number, chunk))?;
                if number < last {
                    return Ok(true);
                }
                self.complete(tx, file, &name, &digest.value())
            })?;
            if !stored {
                self.delete(file.id)?;
                return Ok(StoredFile::NoApplication);
            }
        }
        Ok(StoredFile::Stored)
    }

    /// Completes a file and assigns it to its application. Returns false if the organization has no such application,
    /// or if the candidate was erased.
    fn complete(
        &self,
        tx: &Tx<'_>,
        file: &ImportedFile<'_>,
        name: &str,
        sha256: &[u8; DIGEST_BYTES],
    ) -> Result<bool, Error> {
        let bytes = u32::try_from(file.content.len()).unwrap_or(u32::MAX);
        finish(tx, file.id, name, file.media_type, bytes, sha256)?;
        let sql = "UPDATE documents
                   SET candidate_role_id = $1, digest = NULL
                   WHERE id = $2 AND signup_id IS NULL AND candidate_role_id IS NULL AND EXISTS (
                     SELECT 1
                     FROM candidate_roles a
                     JOIN candidates c ON c.id = a.candidate_id
                     WHERE a.id = $1 AND a.organization_id = $3 AND c.erased_at IS NULL
                   )";
        let params = (file.application.as_str(), file.id.as_str(), self.organization.as_str());
        Ok(tx.run(sql, params)? == 1)
    }

    fn delete(&self, id: &AttachmentId) -> Result<(), Error> {
        while !self.act(|tx| delete_slice(tx, id))? {}
        Ok(())
    }

    fn act<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let outcome = tx::act(&self.connection, self.world.now(), f);
        std::thread::sleep(self.pause);
        outcome
    }
}

/// Returns whether an attachment belongs to a signup or an application. Returns `None` if it does not exist.
fn is_stored(tx: &Tx<'_>, id: &AttachmentId) -> Result<Option<bool>, Error> {
    let sql = "SELECT signup_id IS NOT NULL OR candidate_role_id IS NOT NULL
               FROM documents
               WHERE id = $1";
    tx.value(sql, [id.as_str()])
}

/// Returns whether an import has stored this file.
pub fn exists(tx: &Tx<'_>, id: &AttachmentId) -> Result<bool, Error> {
    Ok(is_stored(tx, id)? == Some(true))
}

/// Returns the files that imports added to an application.
pub fn of_application(tx: &Tx<'_>, application: &ApplicationId) -> Result<Vec<Attachment>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        attachment_columns!(),
        " FROM documents d
          WHERE d.candidate_role_id = $1
          ORDER BY d.number"
    );
    let rows = tx.all(SQL, [application.as_str()], |row| read_attachment(&mut Columns::of(row)))?;
    Ok(rows.into_iter().flatten().collect())
}

/// Detaches the files that imports added to an application, as [`super::detach`] detaches those of a signup.
pub(in crate::store) fn detach_of_application(tx: &Tx<'_>, application: &ApplicationId) -> Result<(), Error> {
    let sql = "UPDATE documents
               SET candidate_role_id = NULL, digest = NULL, file_name = $1, media_type = NULL, bytes = NULL,
                 sha256 = NULL, created_at = $2
               WHERE candidate_role_id = $3";
    tx.run(sql, (super::NAMELESS_FILE, super::DETACHED_AT, application.as_str()))?;
    Ok(())
}

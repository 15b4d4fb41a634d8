//! Attachments: written chunk by chunk during the upload, staged until a signup claims them, and read chunk by chunk.
//!
//! Each write must be short, so deletion is split into slices ([`delete_slice`]). The background job in `sweep` deletes
//! staged attachments that no signup has claimed in time, unfinished uploads of a previous process, and attachments
//! that were detached from their signup or application. `imported` writes imported files, which belong to an
//! application, not to a signup.

pub(super) mod check;
pub(crate) mod digest;
pub mod imported;
mod opening;
pub(super) mod sweep;
#[cfg(test)]
mod tests;

pub use self::opening::{record_opened, record_opened_in_session};
use crate::db::connection::Connection;
use crate::db::row::{Columns, Row};
use crate::db::tx::{self, Error, Tx};
use crate::domain::attachment::{
    ATTACHMENT_BYTES_MAX, AttachmentToken, DIGEST_BYTES, MediaType, NAMELESS_FILE, STAGED_ATTACHMENTS_MAX,
    STAGED_BYTES_MAX, STAGED_MAX,
};
use crate::domain::id::{AttachmentId, CandidateId, Id, OrganizationId, SignupId};
use crate::domain::timestamp::Timestamp;

/// A complete upload that no signup has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedAttachment {
    pub id: AttachmentId,
    /// The secret by which the applicant's form refers to the upload.
    pub token: AttachmentToken,
    /// The sanitized file name.
    pub file_name: String,
    /// The media type, as detected from the content.
    pub media_type: MediaType,
    /// The size of the content.
    pub bytes: u32,
}

/// An attachment of a signup, or an attachment that an import added to an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub id: AttachmentId,
    /// The sanitized file name.
    pub file_name: String,
    /// The media type, as detected from the content.
    pub media_type: MediaType,
    /// The size of the content.
    pub bytes: u32,
    /// The time at which the upload began.
    pub created_at: Timestamp,
    /// The SHA-256 of the content.
    pub sha256: Option<[u8; DIGEST_BYTES]>,
}

/// The columns of the table `documents d` that [`read_attachment`] reads.
macro_rules! attachment_columns {
    () => {
        "d.id, d.file_name, d.media_type, d.bytes, d.created_at, d.sha256"
    };
}
pub(super) use attachment_columns;

/// Reads the columns of `attachment_columns!`. Returns `None` if they are null, as after an outer join without a match.
pub(super) fn read_attachment(columns: &mut Columns<'_>) -> Result<Option<Attachment>, Error> {
    let Some(id) = columns.parse_or_none(AttachmentId::parse)? else { return Ok(None) };
    Ok(Some(Attachment {
        id,
        file_name: columns.read()?,
        media_type: columns.parse(MediaType::parse)?,
        bytes: columns.read()?,
        created_at: columns.time()?,
        sha256: columns.read()?,
    }))
}

/// Begins an upload. The attachment has no content yet.
///
/// # Errors
/// [`Error::Unavailable`] if the staged attachments have reached their limit.
pub fn begin(tx: &Tx<'_>, id: &AttachmentId, token: &AttachmentToken, file_name: &str) -> Result<(), Error> {
    // Detached attachments only wait for the sweep and are not counted.
    let sql = "SELECT count(*), CAST(coalesce(sum(coalesce(bytes, $1)), 0) AS bigint)
               FROM documents
               WHERE signup_id IS NULL AND candidate_role_id IS NULL AND created_at > $2";
    let largest = ATTACHMENT_BYTES_MAX as i64;
    let staged: Option<(i64, i64)> = tx.one(sql, (largest, DETACHED_AT), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })?;
    let (count, bytes) = staged.unwrap_or_default();
    if count >= STAGED_ATTACHMENTS_MAX || bytes + largest > STAGED_BYTES_MAX {
        return Err(Error::Unavailable(format!(
            "{count} attachments with {bytes} bytes are staged, and the limit allows no further upload"
        )));
    }
    let sql = "INSERT INTO documents (id, digest, file_name, created_at)
               VALUES ($1, $2, $3, $4)";
    tx.run(sql, (id.as_str(), token.digest(), file_name, tx.now.micros()))?;
    Ok(())
}

/// Returns the total size of all attachments, including staged attachments.
pub fn total_bytes(tx: &Tx<'_>) -> Result<u64, Error> {
    let sql = "SELECT bytes
               FROM attachment_totals
               WHERE id = 1";
    let bytes: Option<i64> = tx.value(sql, [])?;
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.ok_or_else(|| Error::Defect("the database does not record the total size of its attachments".to_owned()))
}

/// Appends the next chunk. Chunks are numbered from 1.
///
/// # Errors
/// [`Error::Unavailable`] if the upload has been swept, for example because the clock was set forward.
pub fn append_chunk(tx: &Tx<'_>, id: &AttachmentId, chunk_number: i64, content: &[u8]) -> Result<(), Error> {
    let sql = "INSERT INTO document_pieces (document_number, number, content)
               SELECT number, $1, $2
               FROM documents
               WHERE id = $3 AND bytes IS NULL AND digest IS NOT NULL";
    if tx.run(sql, (chunk_number, content, id.as_str()))? == 1 { Ok(()) } else { Err(swept_during_upload()) }
}

/// Completes an upload, so that a signup can claim it.
///
/// # Errors
/// The errors of [`append_chunk`].
pub fn finish(
    tx: &Tx<'_>,
    id: &AttachmentId,
    file_name: &str,
    media_type: MediaType,
    bytes: u32,
    sha256: &[u8; DIGEST_BYTES],
) -> Result<(), Error> {
    let sql = "UPDATE documents
               SET file_name = $1, media_type = $2, bytes = $3, sha256 = $4
               WHERE id = $5 AND bytes IS NULL AND digest IS NOT NULL";
    let params = (file_name, media_type.as_str(), bytes, sha256, id.as_str());
    if tx.run(sql, params)? == 1 { Ok(()) } else { Err(swept_during_upload()) }
}

fn swept_during_upload() -> Error {
    Error::Unavailable("an attachment was swept during its upload".to_owned())
}

/// The `created_at` of a detached attachment. It is earlier than the `created_at` of any staged attachment, so that the
/// sweep finds detached attachments first.
const DETACHED_AT: i64 = 0;

/// Detaches the attachments of a signup. They can no longer be read, and the sweep deletes their content in slices, so
/// that other jobs do not wait until megabytes are overwritten. The transaction of a running service must also record
/// the erasure or the deletion in [`super::erasure::progress::Erasures`], which wakes the sweep. A service that repeats
/// erasures when it starts calls [`delete_detached`] instead.
pub(super) fn detach(tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
    let sql = "UPDATE documents
               SET signup_id = NULL, digest = NULL, file_name = $1, media_type = NULL, bytes = NULL,
                 sha256 = NULL, created_at = $2
               WHERE signup_id = $3";
    tx.run(sql, (NAMELESS_FILE, DETACHED_AT, signup.as_str()))?;
    Ok(())
}

/// The maximum number of chunks that one write deletes. `secure_delete` overwrites them, half a megabyte in total.
const SLICE_CHUNKS: usize = 8;

/// Deletes a slice of an attachment, unless the attachment belongs to a signup or to an application. After that, no
/// signup can claim the attachment. Returns true if nothing is left to delete.
pub fn delete_slice(tx: &Tx<'_>, id: &AttachmentId) -> Result<bool, Error> {
    let sql = "UPDATE documents
               SET digest = NULL, media_type = NULL, bytes = NULL, sha256 = NULL, created_at = $1
               WHERE id = $2 AND signup_id IS NULL AND candidate_role_id IS NULL
               RETURNING number";
    let Some(number) = tx.value::<i64>(sql, (DETACHED_AT, id.as_str()))? else { return Ok(true) };
    let sql = "DELETE FROM document_pieces
               WHERE document_number = $1 AND number IN (
                 SELECT number FROM document_pieces WHERE document_number = $1 ORDER BY number DESC LIMIT $2
               )";
    if tx.run(sql, (number, SLICE_CHUNKS as i64))? == SLICE_CHUNKS {
        return Ok(false);
    }
    tx.run("DELETE FROM documents WHERE number = $1", [number])?;
    Ok(true)
}

/// Finds the staged attachment for a token: a complete upload that no signup has claimed and that is not too old.
pub fn find_staged(tx: &Tx<'_>, token: &AttachmentToken) -> Result<Option<StagedAttachment>, Error> {
    let sql = "SELECT id, file_name, media_type, bytes
               FROM documents
               WHERE digest = $1 AND signup_id IS NULL AND candidate_role_id IS NULL AND bytes IS NOT NULL
                 AND created_at > $2";
    tx.one(sql, (token.digest(), expired_until(tx.now).micros()), |row| {
        let mut columns = Columns::of(row);
        Ok(StagedAttachment {
            id: columns.parse(AttachmentId::parse)?,
            token: token.clone(),
            file_name: columns.read()?,
            media_type: columns.parse(MediaType::parse)?,
            bytes: columns.read()?,
        })
    })
}

/// Returns the cutoff for staged attachments: an attachment whose upload began at or before this time is too old.
fn expired_until(now: Timestamp) -> Timestamp {
    now.minus(STAGED_MAX)
}

/// Assigns the staged attachment for a token to the signup. Returns false if [`find_staged`] would not find the
/// attachment.
pub fn claim(tx: &Tx<'_>, token: &AttachmentToken, signup: &SignupId) -> Result<bool, Error> {
    let sql = "UPDATE documents
               SET signup_id = $1, digest = NULL
               WHERE digest = $2 AND signup_id IS NULL AND candidate_role_id IS NULL AND bytes IS NOT NULL
                 AND created_at > $3";
    let params = (signup.as_str(), token.digest(), expired_until(tx.now).micros());
    Ok(tx.run(sql, params)? == 1)
}

/// Finds an attachment that belongs to this candidate of the organization.
pub fn find(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    id: &AttachmentId,
) -> Result<Option<Attachment>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        attachment_columns!(),
        " FROM documents d
          LEFT JOIN signups s ON s.id = d.signup_id
          JOIN candidate_roles a ON a.id = coalesce(d.candidate_role_id, s.candidate_role_id, s.later_of)
          WHERE d.id = $1 AND a.organization_id = $2 AND a.candidate_id = $3"
    );
    let params = (id.as_str(), organization.as_str(), candidate.as_str());
    Ok(tx.one(SQL, params, |row: &Row<'_>| read_attachment(&mut Columns::of(row)))?.flatten())
}

/// An attachment and the candidate to whose application it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedAttachment {
    pub attachment: Attachment,
    pub candidate_id: CandidateId,
}

/// Finds an attachment of any candidate of the organization, together with the candidate.
pub fn find_of_organization(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    id: &AttachmentId,
) -> Result<Option<OwnedAttachment>, Error> {
    const SQL: &str = concat!(
        "SELECT a.candidate_id, ",
        attachment_columns!(),
        " FROM documents d
          LEFT JOIN signups s ON s.id = d.signup_id
          JOIN candidate_roles a ON a.id = coalesce(d.candidate_role_id, s.candidate_role_id, s.later_of)
          WHERE d.id = $1 AND a.organization_id = $2"
    );
    let found = tx.one(SQL, (id.as_str(), organization.as_str()), |row: &Row<'_>| {
        let mut columns = Columns::of(row);
        let candidate_id = columns.parse(CandidateId::parse)?;
        Ok(read_attachment(&mut columns)?.map(|attachment| OwnedAttachment { attachment, candidate_id }))
    })?;
    Ok(found.flatten())
}

/// Checks that the chunks of an attachment add up to its size, without reading the content. Call this function before a
/// download.
///
/// # Errors
/// [`Error::Defect`] if the chunks do not add up to the size, for example because a chunk is missing.
pub fn require_complete(tx: &Tx<'_>, attachment: &Attachment) -> Result<(), Error> {
    let sql = "SELECT coalesce(sum(length(p.content)), 0)
               FROM documents d
               JOIN document_pieces p ON p.document_number = d.number
               WHERE d.id = $1";
    let bytes: Option<i64> = tx.value(sql, [attachment.id.as_str()])?;
    let is_complete = bytes == Some(attachment.bytes.into());
    if is_complete { Ok(()) } else { Err(Error::Defect(format!("{} is not complete", attachment.id))) }
}

/// Reads a chunk of an attachment of a signup or an application. Returns `None` if the chunk does not exist, or if the
/// attachment has been detached. Identifies the attachment by its id, because a new attachment may reuse the number of
/// a deleted attachment.
pub fn read_chunk(tx: &Tx<'_>, id: &AttachmentId, chunk_number: i64) -> Result<Option<Vec<u8>>, Error> {
    let sql = "SELECT p.content
               FROM documents d
               JOIN document_pieces p ON p.document_number = d.number
               WHERE d.id = $1 AND (d.signup_id IS NOT NULL OR d.candidate_role_id IS NOT NULL) AND p.number = $2";
    tx.value(sql, (id.as_str(), chunk_number))
}

/// Deletes all detached attachments on a connection that nothing else uses.
pub(super) fn delete_detached(connection: &Connection) -> Result<(), Error> {
    let sql = "SELECT id
               FROM documents
               WHERE signup_id IS NULL AND candidate_role_id IS NULL AND created_at <= $1
               LIMIT $2";
    let now = Timestamp::from_micros(DETACHED_AT);
    loop {
        let found = tx::snapshot(connection, now, |tx| tx.all(sql, (DETACHED_AT, SCANNED_MAX), attachment_id))?;
        if found.is_empty() {
            return Ok(());
        }
        for attachment in found {
            tx::act(connection, now, |tx| {
                while !delete_slice(tx, &attachment)? {}
                Ok(())
            })?;
        }
    }
}

/// The maximum number of attachments that one scan returns for deletion.
const SCANNED_MAX: i64 = 64;

fn attachment_id(row: &Row<'_>) -> Result<AttachmentId, Error> {
    Columns::of(row).parse(AttachmentId::parse)
}

/// Returns the number of attachments in the database, the number of chunks, and the content of all chunks.
#[cfg(test)]
pub(crate) fn stored_content(tx: &Tx<'_>) -> Result<(i64, i64, Vec<u8>), Error> {
    let attachments = tx.value("SELECT count(*) FROM documents", [])?.unwrap_or(0);
    let sql = "SELECT content FROM document_pieces ORDER BY document_number, number";
    let chunks: Vec<Vec<u8>> = tx.values(sql, [])?;
    Ok((attachments, i64::try_from(chunks.len()).unwrap_or(i64::MAX), chunks.concat()))
}

//! Documents: written in pieces while they arrive, staged until somebody applies with them, read back a piece at a time.
//!
//! Every function here that writes is one short write. What is taken away goes in slices too ([`drop_some`]); the thread in
//! `sweep` does that with what nobody came back for.

pub(super) mod check;
pub(crate) mod digest;
mod record;
mod sweep;
#[cfg(test)]
mod tests;

use crate::db::row::Row;

pub use self::record::record_opened;
pub(super) use self::sweep::{start as start_sweeping, sweep_detached};
use crate::db::tx::{self, Error, Tx};
use crate::domain::attachment::{
    ATTACHMENT_BYTES_MAX, AttachmentToken, DIGEST_BYTES, MediaType, NAMELESS_FILE, STAGED_ATTACHMENTS_MAX,
    STAGED_BYTES_MAX, STAGED_MAX,
};
use crate::domain::id::{AttachmentId, CandidateId, Id, OrganizationId, SignupId};
use crate::domain::timestamp::Timestamp;

/// A document that was uploaded and that nobody has applied with yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// Its id.
    pub id: AttachmentId,
    /// What whoever uploaded it names it by.
    pub token: AttachmentToken,
    /// What it is called.
    pub file_name: String,
    /// What it is.
    pub media_type: MediaType,
    /// How large it is.
    pub bytes: u32,
}

/// A document that somebody applied with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its id.
    pub id: AttachmentId,
    /// What it is called.
    pub file_name: String,
    /// What it is.
    pub media_type: MediaType,
    /// How large it is.
    pub bytes: u32,
    /// When it was uploaded.
    pub created_at: Timestamp,
    /// The SHA-256 of its content.
    pub sha256: Option<[u8; DIGEST_BYTES]>,
}

/// Begins a document: nothing of it is there yet.
///
/// # Errors
/// [`Error::Unavailable`] where too many are staged already. When SQLite fails.
pub fn begin(tx: &Tx<'_>, id: &AttachmentId, token: &AttachmentToken, file_name: &str) -> Result<(), Error> {
    // What is nobody's, and only waits to be swept, is made at no time.
    let sql = "SELECT count(*), coalesce(sum(coalesce(bytes, $1)), 0)
               FROM documents
               WHERE signup_id IS NULL AND created_at > $2";
    let largest = ATTACHMENT_BYTES_MAX as i64;
    let staged: Option<(i64, i64)> = tx.one(sql, (largest, NO_TIME), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (count, bytes) = staged.unwrap_or_default();
    if count >= STAGED_ATTACHMENTS_MAX || bytes + largest > STAGED_BYTES_MAX {
        let why = format!("{count} documents of {bytes} bytes wait for somebody to apply with them");
        return Err(Error::Unavailable(why));
    }
    let sql = "INSERT INTO documents (id, digest, file_name, created_at)
               VALUES ($1, $2, $3, $4)";
    tx.run(sql, (id.as_str(), token.digest(), file_name, tx.now.micros()))?;
    Ok(())
}

/// Bytes of the content of all attachments, staged ones too.
///
/// # Errors
/// When SQLite fails.
pub fn total_bytes(tx: &Tx<'_>) -> Result<u64, Error> {
    let sql = "SELECT bytes
               FROM attachment_totals
               WHERE id = 1";
    let bytes = tx.one(sql, [], |row| Ok(row.get::<_, i64>(0)?))?;
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.ok_or_else(|| Error::Defect("the file does not have the sum of all attachments".to_owned()))
}

/// Adds the next piece, numbered from 1.
///
/// # Errors
/// [`Error::Unavailable`] where it was swept meanwhile, because somebody has set the clock. When SQLite fails.
pub fn append(tx: &Tx<'_>, id: &AttachmentId, piece_number: i64, content: &[u8]) -> Result<(), Error> {
    let sql = "INSERT INTO document_pieces (document_number, number, content)
               SELECT number, $1, $2
               FROM documents
               WHERE id = $3 AND bytes IS NULL AND digest IS NOT NULL";
    if tx.run(sql, (piece_number, content, id.as_str()))? == 1 { Ok(()) } else { Err(swept()) }
}

/// Ends a document: all of it is there, and from now on somebody can apply with it.
///
/// # Errors
/// As [`append`].
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
    if tx.run(sql, params)? == 1 { Ok(()) } else { Err(swept()) }
}

fn swept() -> Error {
    Error::Unavailable("a document was taken away while it arrived".to_owned())
}

/// When what is nobody's was made: before everything that waits for somebody to apply with it.
const NO_TIME: i64 = 0;

/// Makes the documents of a signup nobody's. They are found by nobody from now on, and what is in them is swept in slices, so
/// that whoever waits for the writer does not wait for megabytes that are overwritten. To be done in a transaction that the
/// erasures are told of, by [`super::erasure::candidate::erase`] or [`super::erasure::progress::Erasures::record_signup`]: that wakes the sweep.
pub(super) fn detach(tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
    let sql = "UPDATE documents
               SET signup_id = NULL, digest = NULL, file_name = $1, media_type = NULL, bytes = NULL,
                 sha256 = NULL, created_at = $2
               WHERE signup_id = $3";
    tx.run(sql, (NAMELESS_FILE, NO_TIME, signup.as_str()))?;
    Ok(())
}

/// Pieces that one write takes away: half a megabyte, which is overwritten.
const DROPPED_PIECES: usize = 8;

/// Takes away some of a document that nobody has applied with. Whether that was the last of it; from the first time on nobody
/// can apply with it any more.
///
/// # Errors
/// When SQLite fails.
pub fn drop_some(tx: &Tx<'_>, id: &AttachmentId) -> Result<bool, Error> {
    let sql = "UPDATE documents
               SET digest = NULL, media_type = NULL, bytes = NULL, sha256 = NULL, created_at = $1
               WHERE id = $2 AND signup_id IS NULL
               RETURNING number";
    let Some(number) = tx.one(sql, (NO_TIME, id.as_str()), |row| Ok(row.get::<_, i64>(0)?))? else { return Ok(true) };
    let sql = "DELETE FROM document_pieces
               WHERE document_number = $1 AND number IN (
                 SELECT number FROM document_pieces WHERE document_number = $1 ORDER BY number DESC LIMIT $2
               )";
    if tx.run(sql, (number, DROPPED_PIECES as i64))? == DROPPED_PIECES {
        return Ok(false);
    }
    tx.run("DELETE FROM documents WHERE number = $1", [number])?;
    Ok(true)
}

/// The document that was uploaded under a token, where it is whole, was not applied with, and is not too old.
///
/// # Errors
/// When SQLite fails.
pub fn staged(tx: &Tx<'_>, token: &AttachmentToken) -> Result<Option<Staged>, Error> {
    let sql = "SELECT id, file_name, media_type, bytes
               FROM documents
               WHERE digest = $1 AND signup_id IS NULL AND bytes IS NOT NULL AND created_at > $2";
    tx.one(sql, (token.digest(), swept_until(tx.now).micros()), |row| {
        Ok(Staged {
            id: tx::word(&row.get::<_, String>(0)?, AttachmentId::parse)?,
            token: token.clone(),
            file_name: row.get(1)?,
            media_type: tx::word(&row.get::<_, String>(2)?, MediaType::parse)?,
            bytes: row.get(3)?,
        })
    })
}

/// What was begun up to then is swept.
fn swept_until(now: Timestamp) -> Timestamp {
    now.minus(STAGED_MAX)
}

/// Applies with the document that was uploaded under a token. Whether it is there, as [`staged`] says.
///
/// # Errors
/// When SQLite fails.
pub fn attach(tx: &Tx<'_>, token: &AttachmentToken, signup: &SignupId) -> Result<bool, Error> {
    let sql = "UPDATE documents
               SET signup_id = $1, digest = NULL
               WHERE digest = $2 AND signup_id IS NULL AND bytes IS NOT NULL AND created_at > $3";
    let params = (signup.as_str(), token.digest(), swept_until(tx.now).micros());
    Ok(tx.run(sql, params)? == 1)
}

/// A document that a candidate of the organization applied with.
///
/// # Errors
/// When SQLite fails.
pub fn find(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    id: &AttachmentId,
) -> Result<Option<Document>, Error> {
    let sql = "SELECT d.id, d.file_name, d.media_type, d.bytes, d.created_at, d.sha256
               FROM documents d
               JOIN signups s ON s.id = d.signup_id
               JOIN candidate_roles a ON a.id = coalesce(s.candidate_role_id, s.later_of)
               WHERE d.id = $1 AND s.organization_id = $2 AND a.candidate_id = $3";
    tx.one(sql, (id.as_str(), organization.as_str(), candidate.as_str()), document)
}

/// Sees that a document is whole before it is handed out a piece at a time. None of what is in it is read.
///
/// # Errors
/// [`Error::Defect`] where its pieces are not what it says. When SQLite fails.
pub fn expect_whole(tx: &Tx<'_>, document: &Document) -> Result<(), Error> {
    let sql = "SELECT coalesce(sum(length(p.content)), 0)
               FROM documents d
               JOIN document_pieces p ON p.document_number = d.number
               WHERE d.id = $1";
    let bytes: Option<i64> = tx.one(sql, [document.id.as_str()], |row| Ok(row.get(0)?))?;
    let is_whole = bytes == Some(document.bytes.into());
    if is_whole { Ok(()) } else { Err(Error::Defect(format!("{} is not whole", document.id))) }
}

/// The `number`-th piece of a document that somebody applied with; `None` where there is none, or none any more. By its id,
/// for its number in the file may be another's by now.
///
/// # Errors
/// When SQLite fails.
pub fn piece(tx: &Tx<'_>, id: &AttachmentId, number: i64) -> Result<Option<Vec<u8>>, Error> {
    let sql = "SELECT p.content
               FROM documents d
               JOIN document_pieces p ON p.document_number = d.number
               WHERE d.id = $1 AND d.signup_id IS NOT NULL AND p.number = $2";
    tx.one(sql, (id.as_str(), number), |row| Ok(row.get(0)?))
}

/// How many documents and pieces there are, and all bytes of these: what a test sees that no function shows.
#[cfg(test)]
pub(crate) fn kept(tx: &Tx<'_>) -> Result<(i64, i64, Vec<u8>), Error> {
    let documents = tx.one("SELECT count(*) FROM documents", [], |row| Ok(row.get(0)?))?.unwrap_or(0);
    let sql = "SELECT content FROM document_pieces ORDER BY document_number, number";
    let pieces = tx.all(sql, [], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
    Ok((documents, i64::try_from(pieces.len()).unwrap_or(i64::MAX), pieces.concat()))
}

fn document(row: &Row<'_>) -> Result<Document, Error> {
    read(row, 0)
}

/// A document whose columns (its id, `file_name`, `media_type`, `bytes`, `created_at` and `sha256`) begin at this one.
pub(super) fn read(row: &Row<'_>, column: usize) -> Result<Document, Error> {
    Ok(Document {
        id: tx::word(&row.get::<_, String>(column)?, AttachmentId::parse)?,
        file_name: row.get(column + 1)?,
        media_type: tx::word(&row.get::<_, String>(column + 2)?, MediaType::parse)?,
        bytes: row.get(column + 3)?,
        created_at: tx::time(row, column + 4)?,
        sha256: row.get(column + 5)?,
    })
}

//! The SHA-256 digests of stored attachments, computed from their chunks.

use std::ops::ControlFlow;

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::attachment::AttachmentDigest;

/// Describes at most `findings_max` complete attachments that have no digest, or whose digest does not match their
/// content.
pub(super) fn mismatches(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let sql = "SELECT number, id, sha256
               FROM documents
               WHERE bytes IS NOT NULL
               ORDER BY number";
    let mut findings = Vec::new();
    tx.each(sql, [], |row| {
        let mut columns = Columns::of(row);
        let (number, id): (i64, &str) = (columns.read()?, columns.text()?);
        let stored: Option<[u8; 32]> = columns.read()?;
        match stored {
            None => findings.push(format!("attachment {id} has no SHA-256")),
            Some(stored) if stored != digest_of_chunks(tx, number)?.value() => {
                findings.push(format!("the content of attachment {id} does not match its SHA-256"));
            }
            Some(_) => {}
        }
        Ok(if findings.len() < findings_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(findings)
}

fn digest_of_chunks(tx: &Tx<'_>, attachment_number: i64) -> Result<AttachmentDigest, Error> {
    let sql = "SELECT content
               FROM document_pieces
               WHERE document_number = $1
               ORDER BY number";
    let mut digest = AttachmentDigest::default();
    tx.each(sql, [attachment_number], |row| {
        let content: Vec<u8> = Columns::of(row).read()?;
        digest.add(&content);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(digest)
}

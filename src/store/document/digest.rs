//! The SHA-256 of stored attachments, computed from their chunks.

use std::ops::ControlFlow;

use crate::db::tx::{Error, Tx};
use crate::domain::attachment::AttachmentDigest;

/// Describes each complete attachment whose content does not have its digest, at most so many.
pub(super) fn mismatches(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let sql = "SELECT number, id, sha256
               FROM documents
               WHERE bytes IS NOT NULL
               ORDER BY number";
    let mut findings = Vec::new();
    tx.each(sql, [], |row| {
        let (number, id, stored): (i64, String, Option<[u8; 32]>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match stored {
            None => findings.push(format!("document {id} has no SHA-256")),
            Some(stored) if stored != of(tx, number)?.value() => {
                findings.push(format!("document {id} does not have the content that its SHA-256 was computed from"));
            }
            Some(_) => {}
        }
        Ok(if findings.len() < findings_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(findings)
}

fn of(tx: &Tx<'_>, number: i64) -> Result<AttachmentDigest, Error> {
    let sql = "SELECT content
               FROM document_pieces
               WHERE document_number = $1
               ORDER BY number";
    let mut digest = AttachmentDigest::default();
    tx.each(sql, [number], |row| {
        digest.add(row.get_ref(0)?.as_blob().map_err(|error| Error::Defect(error.to_string()))?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(digest)
}

//! Writes the content of the database as an interchange document, which `import` accepts.
//!
//! Each array is read from the database when it is written, and dropped before the next array at the same level is
//! read. Memory holds all users, or all organizations together with the roles of one organization and the applications
//! of one role. Memory use therefore grows with these arrays, not with the size of the database. Each array is read
//! with one query.
//!
//! The document omits API keys, passwords, the usage log, activity, deliveries to HR systems, signups, attachments,
//! uploaded logos and other data.

use std::io::{self, Write};

use serde::Serialize;

use super::export_source::{ExportSource, LazyArray, Secrets};
use super::organization::ExportedOrganization;
use super::user::ExportedUser;
use crate::store::{self, Error, Tx};

/// The reason why an export is incomplete.
#[derive(Debug)]
pub enum ExportError {
    /// The database could not be read.
    Store(Error),
    /// The document could not be written.
    Write(io::Error),
}

/// Writes the content of the database as one document, with a line break at its end. Returns a sentence for each value
/// that was left out because an import would refuse it.
///
/// # Errors
/// Fails if the database cannot be read or if writing to `out` fails. The output is then incomplete.
pub fn export(tx: &Tx<'_>, secrets: Secrets, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let source = ExportSource::new(tx, secrets);
    let document = ExportedDocument {
        users: source.array(|| store::user::all(tx), ExportedUser::new),
        organizations: source.array(|| store::organization::all(tx), ExportedOrganization::new),
    };
    let written = serde_json::to_writer_pretty(&mut *out, &document);
    if let Some(error) = source.failed.take() {
        return Err(ExportError::Store(error));
    }
    written.map_err(|error| ExportError::Write(error.into()))?;
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(ExportError::Write)?;
    Ok(source.notices.take())
}

#[derive(Serialize)]
struct ExportedDocument<'s> {
    users: LazyArray<'s, store::user::User, ExportedUser>,
    organizations: LazyArray<'s, store::organization::Organization, ExportedOrganization<'s>>,
}

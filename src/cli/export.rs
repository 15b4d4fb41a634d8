//! `appliance export`: writes the content of the database as one interchange document.

use std::io::{self, BufWriter, IsTerminal as _};
use std::path::Path;

use clap::builder::BoolishValueParser;
use serde_json::json;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::print_message;
use super::progress::Progress;
use crate::interchange::{self, ExportError, Secrets};
use crate::store;
use crate::store::file;
use crate::world::World;

/// Write users, organizations, roles and candidates as one JSON document to standard output.
///
/// Importing the document into a new file with `appliance import` restores these records. The document does not contain
/// API keys, passwords, second factors, uploaded logos, the usage log, activity, deliveries to HR systems, or the
/// candidates' signups (their answers, attachments and status links). The document contains the secrets of HR
/// integrations only with --with-secrets. A backup (`appliance backup`) contains everything. Works while `serve` runs:
/// the document shows the data at one moment, and the service continues to write.
#[cfg_attr(feature = "postgres", doc = "", doc = "Also exports the data of a PostgreSQL server.")]
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// Include the secrets of HR integrations. With them, anyone who has the document can sign deliveries as this
    /// service.
    #[arg(long, env = "APPLIANCE_WITH_SECRETS", value_parser = BoolishValueParser::new())]
    with_secrets: bool,
}

/// Writes the document. Succeeds even if the reader of standard output closes the pipe early, as `head` does.
///
/// # Errors
/// Fails if the database cannot be read, or standard output cannot be written to.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare_to_read(path)?;
    let secrets = if args.with_secrets { Secrets::Included } else { Secrets::LeftOut };
    let facts = json!({ "withSecrets": args.with_secrets });
    args.db.record_reading(world, "export", &facts)?;
    // A document on a terminal would be mixed with the progress. Only the progress needs the expected size.
    let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
    let progress = is_shown.then(|| Progress::of_transfer("exporting", expected_bytes(path, world)));
    let mut out = BufWriter::new(io::stdout().lock());
    let exported = store::read_alone(path, world, |tx| {
        let left_out = (store::hr_delivery::owed(tx)?, store::export::signups_count(tx)?);
        Ok((interchange::export(tx, secrets, &mut out), left_out))
    });
    drop(progress);
    let (written, (owed, signups)) = exported?;
    match written {
        Ok(notices) => {
            notices.iter().for_each(|notice| print_message(notice));
            if owed > 0 {
                print_message(&format!(
                    "not in the document: deliveries that HR systems have not received yet ({owed})"
                ));
            }
            if signups > 0 {
                print_message(&format!(
                    "not in the document: signups, with answers, attachments and status links ({signups})"
                ));
            }
            Ok(())
        }
        Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(ExportError::Write(error)) => {
            Err(Failure::new(format!("cannot write to standard output, so the document is incomplete: {error}")))
        }
        Err(ExportError::Store(error)) => Err(error.into()),
    }
}

/// Returns the expected number of bytes that the export reads and writes: 1.2 times the size of the file without its
/// attachments, as measured on files of 13 and 76 MB. Values that cannot be read count as 0, because a failed estimate
/// must not make the export fail.
fn expected_bytes(path: &Path, world: &dyn World) -> u64 {
    let attachments = store::read_alone(path, world, store::attachment::total_bytes).unwrap_or_default();
    let file = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let exported = file.saturating_sub(attachments);
    exported.saturating_add(exported / 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::world::Scripted;

    #[test]
    fn a_file_that_cannot_be_read_still_has_an_expected_size() {
        let dir = tempfile::tempdir().unwrap();
        let (world, path) = (Scripted::at(Timestamp::from_micros(0)), dir.path().join("a.db"));
        assert_eq!(expected_bytes(&path, &world), 0);
        std::fs::write(&path, "no database".repeat(100)).unwrap();
        assert_eq!(expected_bytes(&path, &world), 1_320);
    }
}

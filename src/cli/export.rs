//! `appliance export`: writes the file's contents as one interchange document.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
/// API keys, passwords, second factors, logos, the usage log, activity, deliveries to HR systems, or the candidates'
/// signups (their answers, attachments and status links). The document contains the secrets of HR integrations only
/// with --with-secrets. A backup (`appliance backup`) contains everything. Works while `serve` runs: the document shows
/// the data at one moment, and the service continues to write.
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
/// Fails if the file cannot be read, or standard output cannot be written to.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare_to_read(path)?;
    let secrets = if args.with_secrets { Secrets::Included } else { Secrets::LeftOut };
    let facts = json!({ "withSecrets": args.with_secrets });
    args.db.record_reading(world, "export", &facts)?;
    let written_bytes = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&written_bytes);
    // The size of the document is not known in advance. A document on a terminal would be mixed with the progress.
    let progress = (!io::stdout().is_terminal())
        .then(|| Progress::start("exporting", None, move || counter.load(Ordering::Relaxed)));
    let mut out = BufWriter::new(CountingWriter { out: io::stdout().lock(), bytes: written_bytes });
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

/// Counts the bytes that are written.
struct CountingWriter<W> {
    out: W,
    bytes: Arc<AtomicU64>,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

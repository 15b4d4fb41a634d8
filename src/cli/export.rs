//! `appliance export`: everything in the file as one document.

use std::io::{self, BufWriter};

use clap::builder::BoolishValueParser;
use serde_json::json;

use super::{DbArg, Failure, say};
use crate::interchange::{self, ExportError, Secrets};
use crate::store;
use crate::store::file;
use crate::world::World;

/// Write users, organizations, roles and candidates as one document, to standard output.
///
/// `appliance import` into a new file gives the same again. Keys, passwords, the usage log, the record of decisions, the
/// deliveries to HR systems, and what candidates sent with the signup form (what they typed, their documents, the links to
/// their status pages) are not in it; `appliance backup` copies those too. Works while `serve` runs: the document is one
/// moment of the file, and writes go on meanwhile.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// Write the secrets of HR integrations too. Whoever has the document can then sign as this service.
    #[arg(long, env = "APPLIANCE_WITH_SECRETS", value_parser = BoolishValueParser::new())]
    with_secrets: bool,
}

/// Runs the command. A reader that has seen enough and closes the pipe is no failure.
///
/// # Errors
/// Exit status 1 where the file cannot be read, or standard output not written.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare_to_read(path)?;
    let secrets = if args.with_secrets { Secrets::Included } else { Secrets::LeftOut };
    let facts = json!({ "withSecrets": args.with_secrets });
    super::record_reading(path, world, "export", &facts)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let exported = store::read_alone(path, world, |tx| {
        let left_out = (store::hr_delivery::owed(tx)?, store::export::signups_count(tx)?);
        Ok((interchange::export(tx, secrets, &mut out), left_out))
    });
    let (written, (owed, signups)) = exported?;
    match written {
        Ok(notices) => {
            notices.iter().for_each(|notice| say(notice));
            if owed > 0 {
                say(&format!("not in the document: what HR systems have not received yet ({owed} in all)"));
            }
            if signups > 0 {
                say(&format!("not in the document: what candidates sent with the signup form ({signups} in all)"));
            }
            Ok(())
        }
        Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(ExportError::Write(error)) => {
            Err(Failure::new(format!("standard output cannot be written, the document is not whole: {error}")))
        }
        Err(ExportError::Store(error)) => Err(error.into()),
    }
}

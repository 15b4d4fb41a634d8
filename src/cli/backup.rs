//! `appliance backup`: a consistent copy of the file, also while `serve` runs.

use std::path::PathBuf;

use super::{DbArg, Failure, say};
use crate::store::file::{self, Missing, Older};

/// Copy the file, with every decision answered before it began.
///
/// Works while `serve` runs; copying the file by other means would lose what is in its write-ahead log. The copy is
/// readable by its owner only, and is used like any other file: `appliance check --db TARGET`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The copy; it must not be there yet.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the file cannot be read, or the target is there already or cannot be written; then no target
/// is left.
pub fn run(args: &Args) -> Result<(), Failure> {
    file::prepare(&args.db.db, Missing::Refuse, Older::Refuse)?;
    file::backup(&args.db.db, &args.target)?;
    let bytes = std::fs::metadata(&args.target).map_or(0, |metadata| metadata.len());
    say(&format!("{} copied to {} ({bytes} bytes)", args.db.db.display(), args.target.display()));
    Ok(())
}

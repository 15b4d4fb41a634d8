//! `appliance backup`: a consistent copy of the file, also while `serve` runs.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{DbArg, Failure, say};
use crate::domain::activity::ChainHead;
use crate::store::{self, file};
use crate::world::World;

/// Copy the file, with every decision answered before it began.
///
/// Works while `serve` runs; copying the file by other means would lose what is in its write-ahead log. The copy is
/// readable by its owner only, and is used like any other file: `appliance check --db TARGET`. The list of who was erased
/// comes along as TARGET.erased; keep the two together. Until the copy is whole it is called TARGET.partial.
///
/// TARGET.manifest has the head of the activity chain, the number and the hash of its last row. Keep it elsewhere:
/// `appliance check --chain-head NUMBER:HASH` on a later file shows whether its chain was rewritten since.
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
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare_to_read(&args.db.db)?;
    file::require_absent(&args.target)?;
    super::record_reading(&args.db.db, world, "backup", &json!({}))?;
    file::backup(&args.db.db, &args.target)?;
    let head = store::read_alone(&args.target, world, store::activity::head)?;
    file::write_manifest(&args.target, manifest(&args.target, &head, world).as_bytes())?;
    let bytes = std::fs::metadata(&args.target).map_or(0, |metadata| metadata.len());
    if beside(&args.target).exists() {
        say(&format!("the list of who was erased copied to {}", beside(&args.target).display()));
    }
    say(&format!("{} copied to {} ({bytes} bytes)", args.db.db.display(), args.target.display()));
    say(&format!("head of its activity chain: {head}"));
    Ok(())
}

fn manifest(target: &Path, head: &ChainHead, world: &dyn World) -> String {
    let manifest = json!({
        "file": target.file_name().unwrap_or_default().to_string_lossy(),
        "madeAt": world.now().to_string(),
        "activityNumber": head.number,
        "activityHash": head.hash_text(),
        "chainHead": head.to_string(),
    });
    format!("{manifest:#}\n")
}

fn beside(target: &Path) -> PathBuf {
    file::beside(target, ".erased")
}

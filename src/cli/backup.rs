//! `appliance backup`: copies the file consistently, even while `serve` runs.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::print_message;
use super::progress::Progress;
use crate::store::backup::manifest;
use crate::store::{self, file};
use crate::world::World;

/// Copy the file, including every change whose request was answered before the copy began.
///
/// Works while `serve` runs. Do not make a plain copy of the file, because a plain copy lacks the content of the
/// write-ahead log. Only the owner of the copy can read it. The copy is a complete database, so commands such as
/// `appliance check --db TARGET` work on it. The erasure list is copied to TARGET.erased; store TARGET and
/// TARGET.erased together. Until the copy is complete, its name is TARGET.partial.
///
/// TARGET.manifest contains the chain head of the activity: the number and hash of the newest row. Store the manifest
/// somewhere else. `appliance check --chain-head NUMBER:HASH` on a later state of the file shows whether the activity
/// has been rewritten since the backup.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The file to create. It must not exist yet.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

/// # Errors
/// Fails if the file cannot be read, if the target exists, or if the target cannot be written. A failed copy leaves no
/// target behind. If the copy is complete, but its chain head cannot be read or its manifest cannot be written, the
/// target remains.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare_to_read(&args.db.db)?;
    file::require_absent(&args.target)?;
    args.db.record_reading(world, "backup", &json!({}))?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let partial = file::beside(&args.target, ".partial");
    let progress = Progress::start("copying", Some(size(&args.db.db)), move || size(&partial));
    let copied = file::backup(&args.db.db, &args.target);
    drop(progress);
    copied?;
    let head = store::read_alone(&args.target, world, store::activity::head)?;
    file::write_manifest(&args.target, manifest::text(&args.target, &head, world.now()).as_bytes())?;
    let bytes = std::fs::metadata(&args.target).map_or(0, |metadata| metadata.len());
    if erasure_list(&args.target).exists() {
        print_message(&format!("erasure list copied to {}", erasure_list(&args.target).display()));
    }
    print_message(&format!("{} copied to {} ({bytes} bytes)", args.db.db.display(), args.target.display()));
    print_message(&format!("chain head: {head}"));
    Ok(())
}

fn erasure_list(target: &Path) -> PathBuf {
    file::beside(target, ".erased")
}

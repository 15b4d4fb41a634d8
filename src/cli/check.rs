//! `appliance check`: checks the integrity of a file.

use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::{print_listing, print_message};
use super::progress::Progress;
use crate::domain::activity::ChainHead;
use crate::store::{self, check, file};
use crate::world::World;

/// An estimate of how often a check reads each page. The measured values are 3.0 for a file of 13 MB, and 3.6 for
/// one of 76 MB.
const READS_OF_EACH_PAGE: u64 = 4;

/// Check the integrity of the file.
///
/// Reads every page, follows every foreign key, recounts every stored count, verifies the chain of the activity, and
/// compares attachments with their SHA-256. Findings go to standard output; the exit status is 1 if there are any. Also
/// reports candidates who were changed or placed under a legal hold after they were put on the erasure list
/// `FILE.erased`; these reports are not findings. Works while `serve` runs.
#[cfg_attr(
    feature = "postgres",
    doc = "",
    doc = "On a PostgreSQL server, checks only the records. Use pg_amcheck to check the pages. The server itself \
           enforces foreign keys."
)]
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// An earlier chain head of the activity, from a backup's TARGET.manifest or from /metrics. If the file's chain
    /// does not contain this chain head, the command reports a finding: the chain was rewritten, or the file is older
    /// than the chain head.
    #[arg(long, env = "APPLIANCE_CHAIN_HEAD", value_name = "NUMBER:HASH", value_parser = parse_head)]
    chain_head: Option<ChainHead>,
}

/// # Errors
/// Fails if there are findings, if the database cannot be read, or if standard output cannot be written to.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare_to_read(&args.db.db)?;
    let size = std::fs::metadata(&args.db.db).map_or(0, |metadata| metadata.len());
    let progress = Progress::of_transfer("checking", size.saturating_mul(READS_OF_EACH_PAGE));
    let checked = check::check(&args.db.db, |part| progress.begin_part(&format!("checking: {part}")));
    drop(progress);
    let mut findings = checked?;
    if let Some(head) = &args.chain_head {
        findings.extend(store::read_alone(&args.db.db, world, |tx| store::activity::head_mismatch(tx, head))?);
    }
    for finding in &findings {
        print_listing(finding)?;
    }
    for report in check::reports(&args.db.db)? {
        print_listing(&report)?;
    }
    if findings.is_empty() {
        print_message(&format!("{} is sound", store::shown(&args.db.db)));
        return Ok(());
    }
    let count = findings.len();
    let noun = if count == 1 { "finding" } else { "findings" };
    let path = store::shown(&args.db.db);
    Err(Failure::new(format!("{path} has {count} {noun}; keep the database for analysis, and restore a backup")))
}

fn parse_head(text: &str) -> Result<ChainHead, String> {
    ChainHead::parse(text).ok_or_else(|| "a chain head is a number, a colon and 64 hexadecimal digits".to_owned())
}

//! `appliance check`: whether a file is sound.

use super::{DbArg, Failure, print, say};
use crate::domain::activity::ChainHead;
use crate::store::{self, check, file};
use crate::world::World;

/// Look whether the file is sound.
///
/// Reads every page, follows every foreign key, and counts every organization's roles and applications again. Findings
/// go to standard output; the exit status is 1 when there are any. Candidates who were changed after they were put on
/// `FILE.erased` are reported too. Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The head of the activity chain as it was noted before, from TARGET.manifest of a backup or from /metrics. It is a
    /// finding where the file's chain does not have it: the chain was rewritten, or the file is older.
    #[arg(long, env = "APPLIANCE_CHAIN_HEAD", value_name = "NUMBER:HASH", value_parser = head)]
    chain_head: Option<ChainHead>,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where there are findings, or the file cannot be read.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare_to_read(&args.db.db)?;
    let mut findings = check::check(&args.db.db, |what| say(&format!("checking: {what}")))?;
    if let Some(noted) = &args.chain_head {
        findings.extend(store::read_alone(&args.db.db, world, |tx| store::activity::departure(tx, noted))?);
    }
    for finding in &findings {
        print(finding)?;
    }
    for report in check::reports(&args.db.db)? {
        print(&report)?;
    }
    if findings.is_empty() {
        say(&format!("{} is sound", args.db.db.display()));
        return Ok(());
    }
    let count = findings.len();
    let things = if count == 1 { "finding" } else { "findings" };
    let path = args.db.db.display();
    Err(Failure::new(format!("{path} has {count} {things}; keep the file, and go back to a backup")))
}

/// The head of a chain as a flag has it.
fn head(text: &str) -> Result<ChainHead, String> {
    ChainHead::parse(text).ok_or_else(|| "a head is a number, a colon and 64 hexadecimal digits".to_owned())
}

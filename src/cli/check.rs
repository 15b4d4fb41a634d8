//! `appliance check`: whether a file is sound.

use super::{DbArg, Failure, print, say};
use crate::store::check;
use crate::store::file::{self, Missing, Older};

/// Look whether the file is sound.
///
/// Reads every page, follows every foreign key, and counts every organization's roles and applications again. Findings
/// go to standard output; the exit status is 1 when there are any. Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where there are findings, or the file cannot be read.
pub fn run(args: &Args) -> Result<(), Failure> {
    file::prepare(&args.db.db, Missing::Refuse, Older::Refuse)?;
    let findings = check::check(&args.db.db, |what| say(&format!("checking: {what}")))?;
    for finding in &findings {
        print(finding)?;
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

//! `appliance restore`: replaces the file with a backup.

use std::path::{Path, PathBuf};

use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::print_message;
use super::progress::Progress;
use crate::domain::text::counted;
use crate::store::OpenError;
use crate::store::restore::{Difference, Known, Lineage, Refused, Replaced, Restore};
use crate::world::World;

/// An estimate of how often a restore reads or writes each page of the backup. The measured values are 6.4 for a file
/// of 13 MB, and 7.1 for one of 76 MB.
const TRANSFERS_OF_COPY: u64 = 7;

/// Replace the file with a backup, while no service uses the file.
///
/// Checks the backup, and prints what is lost and what comes back. The old file stays next to the new file as
/// FILE.before-restore-TIME. If the command is killed, FILE is the old or the new file; run the command again.
///
/// Access that was withdrawn after the backup does not come back: for example, revoked keys, ended sessions, old
/// passwords, earlier platform and organization roles, disabled users, removed members and removed second factors.
/// These facts come from the old file. If the old file is missing, cannot be read or is damaged, or if neither the file
/// nor the backup is a later state of the other, all sessions and sign-in links end. The command adds the list
/// COPY.erased to the erasure list FILE.erased. The next start of the service erases the candidates on FILE.erased
/// again, with two exceptions. Retention decides again about the candidates whom it had erased. A candidate who was
/// changed or placed under a legal hold after they were put on the list is not erased.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The backup to restore. It is not changed.
    #[arg(value_name = "COPY")]
    copy: PathBuf,

    /// Revoke all API keys. Afterwards, you must create new keys with `bootstrap-admin` and `key create`.
    #[arg(long, env = "APPLIANCE_REVOKE_KEYS", value_parser = clap::builder::BoolishValueParser::new())]
    revoke_keys: bool,

    /// Check the backup and print what would be lost, but do not replace the file.
    #[arg(long, env = "APPLIANCE_DRY_RUN", value_parser = clap::builder::BoolishValueParser::new())]
    dry_run: bool,
}

/// # Errors
/// Fails if another process uses the file, if the backup is the file itself or is not sound, or if a file cannot be
/// read or written. The message says whether the file was replaced.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let (file, copy) = (args.db.db.display(), args.copy.display());
    let failure = |refused| failure(refused, args);
    print_message(&format!("checking {copy}"));
    let progress = Progress::of_transfer("restoring", expected_bytes(args));
    let prepared = Restore::prepare(&args.db.db, &args.copy, args.revoke_keys, world);
    drop(progress);
    let restore = prepared.map_err(failure)?;
    for line in report(&restore, args) {
        print_message(&line);
    }
    if args.dry_run {
        print_message(&format!("{file} was not changed, because of --dry-run"));
        return Ok(());
    }
    let aside = restore.finish(world.now()).map_err(failure)?;
    print_message(&format!("{file} was restored from {copy}"));
    if let Some(aside) = aside {
        print_message(&format!(
            "the old file is {}; it contains personal data, so delete it when you no longer need it",
            aside.display()
        ));
    }
    Ok(())
}

/// Returns the expected number of bytes that the command reads and writes. The command copies and checks the backup,
/// checks the old file, and compares the two.
fn expected_bytes(args: &Args) -> u64 {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    size(&args.copy).saturating_mul(TRANSFERS_OF_COPY).saturating_add(size(&args.db.db))
}

fn failure(refused: Refused, args: &Args) -> Failure {
    let (file, copy) = (args.db.db.display(), args.copy.display());
    let failure = match refused {
        Refused::Open(error @ OpenError::NotSynced { .. }) => return Failure::from(error),
        Refused::Open(OpenError::Foreign(path)) if path != args.copy => Failure::new(format!(
            "{file} is empty, is damaged at its beginning, or belongs to another program; move it away and run the \
             command again"
        )),
        Refused::Open(error) => Failure::from(error),
        Refused::Store(error) => Failure::from(error),
        Refused::SameFile => Failure::new(format!("{copy} is the file itself; name a backup")),
        Refused::Unsound(first, count) => {
            let noun = if count == 1 { "finding" } else { "findings" };
            Failure::new(format!("{copy} has {count} {noun}; the first is: {first}; choose another backup"))
        }
    };
    Failure { message: format!("{}; {file} was not replaced", failure.message), ..failure }
}

fn report(restore: &Restore, args: &Args) -> Vec<String> {
    let mut lines = match &restore.replaced {
        Replaced::Known(known) => known_lines(known),
        Replaced::Unknown(why) => vec![format!("the old file cannot be compared: {why}")],
    };
    let is_certain =
        matches!(&restore.replaced, Replaced::Known(known) if known.is_intact && known.lineage != Lineage::Other);
    if !is_certain {
        lines.push(
            "all sessions and sign-in links end, because it is not certain which of them had ended; everybody must \
             sign in again"
                .to_owned(),
        );
        lines.push(
            "check `appliance user list`, `appliance key list` and the members of each organization, and withdraw \
             again the access that was withdrawn after the backup"
                .to_owned(),
        );
        if !args.revoke_keys {
            lines.push(
                "keys that were revoked after the backup may work again; to be safe, run the command with --revoke-keys"
                    .to_owned(),
            );
        }
    }
    if args.revoke_keys {
        lines.push(format!("{} revoked by --revoke-keys", counted(restore.revoked_by_flag, "key")));
    }
    lines
}

fn known_lines(known: &Known) -> Vec<String> {
    let mut lines = Vec::new();
    if !known.is_intact {
        lines.push("the old file is damaged, so the following counts may be wrong".to_owned());
    }
    lines.push(match known.lineage {
        Lineage::Earlier => "the backup is an earlier state of the file".to_owned(),
        Lineage::Later => "the backup is a later state of the file".to_owned(),
        Lineage::Other => "neither the backup nor the file is known to be an earlier state of the other".to_owned(),
    });
    lines.push(format!("lost: {}", listed(&known.lost)));
    lines.push(format!("comes back: {}", listed(&known.comes_back)));
    let withdrawn = &known.withdrawn;
    lines.push(format!(
        "does not come back: {}, {}, {}, and the password, platform role or state of {}",
        counted(withdrawn.api_keys, "revoked key"),
        counted(withdrawn.sessions, "ended session"),
        counted(withdrawn.memberships, "removed membership"),
        counted(withdrawn.users, "user"),
    ));
    if known.erased_since > 0 {
        lines.push(format!(
            "erased after the backup: {}; the next start of the service erases them again, unless retention erased \
             them",
            counted(known.erased_since, "candidate")
        ));
    }
    lines
}

fn listed(difference: &Difference) -> String {
    let Difference { decisions, applications, candidates, roles, users, api_keys } = *difference;
    let counts = [
        (decisions, "decision"),
        (applications, "application"),
        (candidates, "candidate"),
        (roles, "role"),
        (users, "user"),
        (api_keys, "key"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, noun)| counted(count, noun)).collect();
    if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_failure_says_whether_the_file_was_replaced() {
        let args = Command::parse_from(["restore", "--db", "a.db", "copy.db"]).args;
        let message = |error| failure(Refused::Open(error), &args).message;
        let (path, why) = (PathBuf::from("a.db"), "it failed".to_owned());
        let not_written = message(OpenError::NotWritable { path: path.clone(), why: why.clone() });
        assert_eq!(not_written, "a.db cannot be written: it failed; a.db was not replaced");
        let not_synced = message(OpenError::NotSynced { path, why });
        assert!(not_synced.starts_with("a.db was replaced, but"), "{not_synced}");
        assert!(not_synced.ends_with(": it failed"), "{not_synced}");
    }
}

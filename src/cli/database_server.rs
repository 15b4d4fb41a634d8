//! Commands whose `--db` is the URL of a PostgreSQL server. Some commands work only on a SQLite file. Their refusal
//! names the way to do the same on such a server. A build without PostgreSQL refuses every URL.

use std::path::{Path, PathBuf};

use clap::ArgMatches;

use super::failure::{EXIT_USAGE, Failure};
use crate::store::{is_server, shown};

/// The commands that work only on a file, each with the way to do the same on a PostgreSQL server.
#[rustfmt::skip]
const ONLY_FOR_FILES: [(&str, &str); 5] = [
    ("init", "set db in the settings file to the URL, run `appliance bootstrap-admin`, and then `appliance serve`"),
    ("backup", "make a backup with pg_basebackup and an archive of the write-ahead log, or with pg_dump"),
    ("restore", "restore a backup with the tools of PostgreSQL, for example to a point in time"),
    ("upgrade", "`appliance serve` upgrades the tables in a PostgreSQL database when it starts"),
    ("doctor", "ask the running service with GET /readyz"),
];

/// Refuses a command that cannot use the server in its `--db`.
///
/// # Errors
/// Exit status 2. The message does not contain the user or the password of the URL.
pub(super) fn refuse_unsupported(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((command, mut matches)) = matches.subcommand() else { return Ok(()) };
    // `settings` only shows settings, and `serve` reports the origin of the option.
    if ["serve", "settings"].contains(&command) {
        return Ok(());
    }
    while let Some((_, of_subcommand)) = matches.subcommand() {
        matches = of_subcommand;
    }
    let given = ["db", "file"].into_iter().filter_map(|id| matches.try_get_one::<PathBuf>(id).ok().flatten());
    let Some(db) = given.into_iter().find(|db| is_server(db)) else { return Ok(()) };
    if cfg!(not(feature = "postgres")) {
        return Err(refused(not_supported(db)));
    }
    match ONLY_FOR_FILES.iter().find(|(name, _)| *name == command) {
        None => Ok(()),
        Some((name, instead)) => {
            let server = shown(db);
            Err(refused(format!(
                "`appliance {name}` works only on a file, and {server} is a PostgreSQL server; {instead}"
            )))
        }
    }
}

/// Returns the sentence with which a build without PostgreSQL refuses the URL of a PostgreSQL server.
pub(in crate::cli) fn not_supported(db: &Path) -> String {
    format!("{} is a PostgreSQL server, which this build does not support; choose a file with --db", shown(db))
}

fn refused(message: String) -> Failure {
    Failure { exit: EXIT_USAGE, message }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    fn outcome(arguments: &[&str]) -> Option<String> {
        let matches = Cli::command().try_get_matches_from(std::iter::once(&"appliance").chain(arguments)).unwrap();
        let failure = refuse_unsupported(&matches).err()?;
        assert_eq!(failure.exit, EXIT_USAGE);
        Some(failure.message)
    }

    #[test]
    fn the_refusal_of_a_command_that_needs_a_file_does_not_show_the_password_of_the_url() {
        const URL: &str = "postgres://staff:secret@host/jobs";
        for (name, _) in ONLY_FOR_FILES {
            let rest: &[&str] = match name {
                "backup" | "restore" => &["a.db"],
                _ => &[],
            };
            let arguments: Vec<&str> = [name, "--db", URL].into_iter().chain(rest.iter().copied()).collect();
            let message = outcome(&arguments).unwrap_or_else(|| panic!("{name} is not refused"));
            assert!(message.contains("postgres://host/jobs") && !message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn only_a_build_with_postgresql_accepts_a_postgresql_url() {
        let arguments = ["key", "list", "--db", "postgresql:///jobs"];
        assert_eq!(outcome(&arguments).is_none(), cfg!(feature = "postgres"), "{arguments:?}");
        assert_eq!(outcome(&["serve", "--db", "jobs.db"]), None);
        assert_eq!(outcome(&["key", "list"]), None);
    }
}

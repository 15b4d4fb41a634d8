//! `appliance copy`: copies a whole database from a file to a PostgreSQL server or back, or from one server to another.

use std::path::PathBuf;

use super::failure::Failure;
use crate::world::World;

/// Copy the whole database from a file to a PostgreSQL server or back, or from one server to another.
///
/// The copy contains everything: records, attachments, keys, sessions, the usage log and the activity with its chain.
/// Stop the service first; while the copy runs, no service starts on either database. The destination must be a file
/// that does not exist, or an empty schema of a database. At the end, the command compares the number of rows and the
/// content of all tables. Until then, every other command and the service refuse the destination.
///
/// If the command is interrupted, for example by a lost connection or a full disk, run it again with the same options,
/// and it continues. If the source has changed in the meantime, the command says so; then begin again with a new
/// destination.
#[cfg_attr(
    not(feature = "postgres"),
    doc = "",
    doc = "This build does not support PostgreSQL, and refuses this command."
)]
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  appliance copy --from jobs.db --to postgres://appliance@db.example.com/jobs
  appliance copy --from postgres://appliance@db.example.com/jobs --to jobs.db")]
pub struct Args {
    /// The database to copy: a file, or the URL of a PostgreSQL database.
    #[arg(long, env = "APPLIANCE_FROM", value_name = "DATABASE")]
    from: PathBuf,

    /// The database to create: a new file, or the URL of a PostgreSQL database with an empty schema.
    #[arg(long, env = "APPLIANCE_TO", value_name = "DATABASE")]
    to: PathBuf,
}

/// # Errors
/// Exit status 78 if only a person can remove the cause, and 1 if the same command might succeed later.
/// A build without PostgreSQL always fails with exit status 2.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    supported::run(args, world)
}

#[cfg(not(feature = "postgres"))]
mod supported {
    use crate::cli::copy::Args;
    use crate::cli::database_server::not_supported;
    use crate::cli::failure::{EXIT_USAGE, Failure};
    use crate::store::is_server;
    use crate::world::World;

    pub(super) fn run(args: &Args, _: &dyn World) -> Result<(), Failure> {
        let server = [&args.from, &args.to].into_iter().find(|db| is_server(db));
        let files = || "both databases are files; use `appliance backup` to copy a file".to_owned();
        Err(Failure { exit: EXIT_USAGE, message: server.map_or_else(files, |db| not_supported(db)) })
    }
}

#[cfg(feature = "postgres")]
mod supported {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use serde_json::json;

    use crate::cli::copy::Args;
    use crate::cli::failure::{EXIT_CONFIG, Failure};
    use crate::cli::output::print_message;
    use crate::cli::progress::Progress;
    use crate::domain::text::counted;
    use crate::store::activity::platform::record_reading;
    use crate::store::copy::{Event, TransferError, copy};
    use crate::store::{self, shown};
    use crate::world::World;

    pub(super) fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
        let mut progress: Option<Progress> = None;
        let copied_bytes = Arc::new(AtomicU64::new(0));
        let copied = copy(&args.from, &args.to, &mut |event| match event {
            Event::Begins => record(args, world),
            Event::Part(part) => match &progress {
                Some(progress) => progress.begin_part(part),
                None => print_message(part),
            },
            Event::Bytes(bytes) => {
                let copied_bytes = Arc::clone(&copied_bytes);
                let done = move || copied_bytes.load(Ordering::Relaxed);
                progress = Some(Progress::start("copying", Some(bytes), done));
            }
            Event::Copied(bytes) => {
                copied_bytes.fetch_add(bytes, Ordering::Relaxed);
            }
        });
        drop(progress);
        let copied = copied.map_err(|error| failure(&error))?;
        let head = store::read_alone(&args.to, world, store::activity::head)?;
        print_message(&format!(
            "{} copied to {}: {} in {}; all tables are equal",
            shown(&args.from),
            shown(&args.to),
            counted(usize::try_from(copied.rows).unwrap_or(usize::MAX), "row"),
            counted(copied.tables, "table"),
        ));
        print_message(&format!("chain head: {head}"));
        Ok(())
    }

    /// Records in the source that its data is about to be copied, before the source is locked.
    fn record(args: &Args, world: &dyn World) {
        let why = match record_reading(&args.from, world, "copy", &json!({})) {
            Ok(None) => return,
            Ok(Some(why)) => why,
            // The copy will refuse the source for the same reason.
            Err(_) => return,
        };
        print_message(&format!("this copy was not recorded in the activity of {}: {why}", shown(&args.from)));
    }

    fn failure(error: &TransferError) -> Failure {
        let failure = Failure::new(error.to_string());
        if error.may_pass() { failure } else { Failure { exit: EXIT_CONFIG, ..failure } }
    }
}

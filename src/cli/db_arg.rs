//! The `--db` flag, which almost every command has.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::failure::Failure;
use super::output::print_message;
use super::settings_file::SettingsArg;
use crate::store;
use crate::world::World;

/// The default value of `--db`.
pub(super) const DB_DEFAULT: &str = "appliance.db";

#[derive(Debug, Args)]
pub(super) struct DbArg {
    #[cfg_attr(not(feature = "postgres"), doc = "The SQLite file that holds all data.")]
    #[cfg_attr(
        feature = "postgres",
        doc = "The SQLite file that holds all data, or the URL of a PostgreSQL server, such as \
               postgres://USER@HOST/NAME. `backup`, `restore`, `upgrade` and `doctor` work only on a file."
    )]
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE", default_value = DB_DEFAULT)]
    pub(super) db: PathBuf,

    #[command(flatten)]
    settings: SettingsArg,
}

impl DbArg {
    /// Records, as platform activity, that a command is about to read the database. If the database cannot be written
    /// now, this function prints a message and the command continues, because a backup must work on a full disk.
    ///
    /// # Errors
    /// Fails if the database cannot be used.
    pub(super) fn record_reading(&self, world: &dyn World, command: &str, facts: &Value) -> Result<(), Failure> {
        if let Some(why) = store::activity::platform::record_reading(&self.db, world, command, facts)? {
            print_message(&format!(
                "this {command} was not recorded in the activity of {}: {why}",
                store::shown(&self.db)
            ));
        }
        Ok(())
    }
}

//! The `--db` flag, which almost every command has.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::failure::Failure;
use super::output::print_message;
use crate::store;
use crate::world::World;

/// The default of `--db`.
pub(super) const DB_DEFAULT: &str = "appliance.db";

#[derive(Debug, Args)]
pub(super) struct DbArg {
    /// The SQLite file that holds all data.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE", default_value = DB_DEFAULT)]
    pub(super) db: PathBuf,
}

impl DbArg {
    /// Records a command that only reads the file as platform activity, before it reads. If the file cannot be written
    /// now, reports that and lets the command go on: a backup of a full disk must work.
    ///
    /// # Errors
    /// Fails if the file cannot be used.
    pub(super) fn record_reading(&self, world: &dyn World, command: &str, facts: &Value) -> Result<(), Failure> {
        if let Some(why) = store::activity::platform::record_reading(&self.db, world, command, facts)? {
            print_message(&format!("this {command} is not in the activity of {}: {why}", self.db.display()));
        }
        Ok(())
    }
}

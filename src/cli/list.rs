//! The output of all list commands: tab-separated lines or, with `--json`, the same objects as in the lists of the HTTP
//! API.

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::Serialize;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::{print_listing, print_message};

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub(super) db: DbArg,

    /// Print a JSON array of the same objects as in the lists of the HTTP API.
    #[arg(long, env = "APPLIANCE_JSON", value_parser = BoolishValueParser::new())]
    pub(super) json: bool,
}

impl ListArgs {
    /// Prints the items: each as one line of columns, or all as one JSON array. Without `--json`, prints the message
    /// `nothing` if there are no items.
    ///
    /// # Errors
    /// Fails if standard output cannot be written to, or an item cannot be converted to JSON.
    pub(super) fn print<T>(
        &self,
        items: &[T],
        columns: impl Fn(&T) -> Vec<String>,
        json: impl Fn(&T) -> Result<String, Failure>,
        nothing: &str,
    ) -> Result<(), Failure> {
        if self.json {
            let lines = items.iter().map(json).collect::<Result<Vec<_>, _>>()?;
            return print_listing(&format!("[{}]", lines.join(",\n")));
        }
        if items.is_empty() {
            print_message(nothing);
            return Ok(());
        }
        let lines: Vec<String> = items.iter().map(|item| tab_separated(&columns(item))).collect();
        print_listing(&lines.join("\n"))
    }
}

/// Returns an item as one line of JSON.
pub(super) fn to_json(item: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(item).map_err(|error| Failure::new(format!("a row cannot be written as JSON: {error}")))
}

/// Joins the columns into one line. Control characters in a column become spaces, so that a name cannot forge a line or
/// a column.
fn tab_separated(columns: &[String]) -> String {
    let plain = |column: &String| column.replace(char::is_control, " ");
    columns.iter().map(plain).collect::<Vec<_>>().join("\t")
}

pub(super) fn enabled_or_disabled(enabled: bool) -> String {
    if enabled { "enabled" } else { "disabled" }.to_owned()
}

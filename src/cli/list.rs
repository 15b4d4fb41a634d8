//! What the commands that list share: lines for people, or with `--json` what the service answers.

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::Serialize;

use super::{DbArg, Failure, print, say};

/// The flags of a command that lists.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub(super) db: DbArg,

    /// Print a JSON array instead, whose objects are those that the service's own list has.
    #[arg(long, env = "APPLIANCE_JSON", value_parser = BoolishValueParser::new())]
    pub(super) json: bool,
}

impl ListArgs {
    /// Prints each thing: its parts on one line, between tabs, or as JSON.
    ///
    /// # Errors
    /// Where standard output cannot be written.
    pub(super) fn print<T>(
        &self,
        things: &[T],
        parts: impl Fn(&T) -> Vec<String>,
        json: impl Fn(&T) -> Result<String, Failure>,
        nothing: &str,
    ) -> Result<(), Failure> {
        if self.json {
            let lines = things.iter().map(json).collect::<Result<Vec<_>, _>>()?;
            return print(&format!("[{}]", lines.join(",\n")));
        }
        if things.is_empty() {
            say(nothing);
            return Ok(());
        }
        let lines: Vec<String> = things.iter().map(|thing| line(&parts(thing))).collect();
        print(&lines.join("\n"))
    }
}

/// A thing as one line of JSON.
///
/// # Errors
/// Where it is none.
pub(super) fn json(thing: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(thing).map_err(|error| Failure::new(format!("a row cannot be shown as JSON: {error}")))
}

/// One line, whatever is in its parts.
fn line(parts: &[String]) -> String {
    let plain = |part: &String| part.replace(char::is_control, " ");
    parts.iter().map(plain).collect::<Vec<_>>().join("\t")
}

/// The part of a line that says whether something is enabled.
pub(super) fn state(enabled: bool) -> String {
    if enabled { "enabled" } else { "disabled" }.to_owned()
}

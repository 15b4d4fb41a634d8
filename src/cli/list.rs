//! The output of all list commands: aligned columns on a terminal and tab-separated lines elsewhere. With `--json`, the
//! output is an array of the same objects as in the lists of the HTTP API.

use std::io::{self, IsTerminal as _};

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
    /// Prints the items: each as one line of columns, with headings on a terminal, or all as one JSON array. Without
    /// `--json`, prints the message that `nothing` contains if there are no items.
    ///
    /// # Errors
    /// Fails if standard output cannot be written to, or an item cannot be converted to JSON.
    pub(super) fn print<T>(
        &self,
        headings: &[&str],
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
        let rows: Vec<Vec<String>> = items.iter().map(columns).collect();
        print_rows(headings, &rows)
    }
}

/// Prints rows: with headings and aligned columns on a terminal, and with tabs between the columns elsewhere.
///
/// # Errors
/// Fails if standard output cannot be written to.
pub(super) fn print_rows(headings: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| plain(row)).collect();
    if io::stdout().is_terminal() {
        return print_listing(&aligned(headings, &rows));
    }
    let lines: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
    print_listing(&lines.join("\n"))
}

/// Returns an item as one line of JSON.
pub(super) fn to_json(item: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(item).map_err(|error| Failure::new(format!("a row cannot be written as JSON: {error}")))
}

/// Replaces the control characters in each column with spaces, so that a name cannot forge a line, a column or an
/// escape sequence of the terminal.
fn plain(columns: &[String]) -> Vec<String> {
    columns.iter().map(|column| column.replace(char::is_control, " ")).collect()
}

/// Aligns the columns under their headings. A column is as wide as its longest text, in characters: wide characters,
/// for example Chinese ones, move the rest of their line to the right.
fn aligned(headings: &[&str], rows: &[Vec<String>]) -> String {
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let lines = || std::iter::once(&headings).chain(rows);
    let width = |column: usize| lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..headings.len()).map(|column| width(column).unwrap_or_default()).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn enabled_or_disabled(enabled: bool) -> String {
    if enabled { "enabled" } else { "disabled" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_under_their_headings_and_control_characters_become_spaces() {
        let row = |cells: [&str; 3]| plain(&cells.map(str::to_owned));
        let rows = [row(["a", "Zoë", "x"]), row(["abc", "B\u{1b}[31m", ""])];
        assert_eq!(aligned(&["ID", "NAME", "LAST"], &rows), "ID   NAME    LAST\na    Zoë     x\nabc  B [31m");
        assert_eq!(aligned(&["ID", "NAME"], &[]), "ID  NAME");
    }
}

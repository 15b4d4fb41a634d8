//! `appliance man`: generates the manual page from the commands and flags that clap parses.
//!
//! To keep the binary small, this module, like `completions`, uses no library other than clap.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::failure::Failure;
use super::output::print_listing;

/// Print the manual page in the format of `man`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  appliance man | man -l -
  appliance man > /usr/local/share/man/man1/appliance.1")]
pub struct Args {}

/// Prints the manual page. `root` is the command that the page describes.
///
/// # Errors
/// Fails if standard output cannot be written to.
pub fn run(mut root: Command) -> Result<(), Failure> {
    root.build();
    print_listing(page(&root).trim_end())
}

/// Returns the whole page in roff, the markup language of `man`.
fn page(root: &Command) -> String {
    let version = root.get_version().unwrap_or_default();
    let about = root.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!(".TH APPLIANCE 1 \"\" \"appliance {version}\" \"User Commands\"\n.SH NAME\n");
    let _ = writeln!(page, "appliance \\- {}", escaped(about.trim_end_matches('.')));
    let _ = writeln!(page, ".SH SYNOPSIS\n.B appliance\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION");
    describe(&mut page, root);
    page.push_str(".SH COMMANDS\n");
    commands(&mut page, root);
    if let Some(after) = root.get_after_long_help() {
        page.push_str(".SH NOTES\n");
        verbatim(&mut page, &after.to_string());
    }
    page
}

/// Writes a section for each command that can be run, with its arguments. A command that only groups others has no
/// section.
fn commands(page: &mut String, parent: &Command) {
    for command in parent.get_subcommands().filter(|command| command.get_name() != "help") {
        if command.has_subcommands() {
            commands(page, command);
            continue;
        }
        let usage = command.clone().render_usage().to_string();
        let _ = writeln!(page, ".SS {}", escaped(usage.trim_start_matches("Usage: ")));
        describe(page, command);
        for arg in command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())) {
            argument(page, arg);
        }
        if let Some(after) = command.get_after_long_help() {
            page.push_str(".PP\n");
            verbatim(page, &after.to_string());
        }
    }
}

fn describe(page: &mut String, command: &Command) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    for paragraph in about.split("\n\n") {
        let _ = writeln!(page, ".PP\n{}", escaped(paragraph));
    }
}

fn argument(page: &mut String, arg: &Arg) {
    let value =
        arg.get_value_names().unwrap_or_default().iter().map(clap::builder::Str::as_str).collect::<Vec<_>>().join(" ");
    let value = if arg.get_action().takes_values() { value } else { String::new() };
    let name = arg.get_long().map(|long| format!("--{long} ")).unwrap_or_default();
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(page, ".TP\n\\fB{}\\fR\\fI{}\\fR\n{}", escaped(&name), escaped(&value), escaped(&help));
    let words = |values: Vec<String>| escaped(&values.join(", "));
    let possible = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect::<Vec<_>>();
    if arg.get_action().takes_values() && !possible.is_empty() {
        let _ = writeln!(page, ".br\nOne of: {}.", words(possible));
    }
    let defaults: Vec<String> = arg.get_default_values().iter().map(|value| value.to_string_lossy().into()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        let _ = writeln!(page, ".br\nDefault: {}.", words(defaults));
    }
    if let Some(variable) = arg.get_env() {
        let _ = writeln!(page, ".br\nVariable: {}.", escaped(&variable.to_string_lossy()));
    }
}

fn verbatim(page: &mut String, text: &str) {
    let _ = writeln!(page, ".nf\n{}\n.fi", escaped(text));
}

/// Escapes text for roff, which would otherwise interpret a backslash, and a dot or a quote at the beginning of a line.
/// Hyphens become `\-`, which readers can copy as ASCII.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let line = |line: &str| {
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

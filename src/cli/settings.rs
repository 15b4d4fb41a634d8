//! `appliance settings`: shows the options of `serve` with their values and origins, and checks them.

use std::path::Path;

use clap::builder::BoolishValueParser;

use super::failure::{EXIT_CONFIG, Failure};
use super::list::print_rows;
use super::output::{print_listing, print_message};
use super::serve;
use super::settings_file::{Origin, PATH_DEFAULT, Resolved, Setting};
use crate::domain::text::counted;
use crate::store::shown;
use crate::world::World;

/// Show the options of `serve`: the value of each, and where it comes from.
///
/// An option can be set by a flag, by an environment variable, and in the settings file. A flag overrides a variable, a
/// variable overrides the file, and the file overrides the default. The command accepts the flags of `serve`. Each line
/// of the output has the name of an option, its value, and its origin: `flag`, `variable NAME`, `FILE:LINE` or
/// `default`. The columns are aligned on a terminal, and separated by tabs otherwise.
///
/// The settings file is TOML. An option has the name of its flag without the leading dashes, for example `base-url =
/// "https://jobs.example.com"`, `rate-limit = 600`, `demo = false` or `trusted-proxy = ["10.0.0.1", "10.0.0.2"]`.
#[derive(Debug, clap::Args)]
// clap names a group after its struct, and the struct of the options of `serve` is also named `Args`.
#[group(skip)]
#[command(after_long_help = "Examples:
  appliance settings
  appliance settings --check
  appliance settings --settings new.toml --check && mv new.toml /etc/appliance/appliance.toml")]
pub(super) struct Args {
    /// Report each setting that would keep `serve` from starting, one line each, and exit with 78. Without findings,
    /// print one line and exit with 0. The check does not cover whether the ports are free. If the database is on a
    /// PostgreSQL server, the check connects to the server. Run the command as the user of the service.
    #[arg(long, env = "APPLIANCE_CHECK", value_parser = BoolishValueParser::new())]
    check: bool,

    #[command(flatten)]
    serve: serve::Args,
}

/// # Errors
/// Exit status 78 if the settings file or a variable has a mistake or, with `--check`, if the service would not start.
/// Exit status 1 if standard output cannot be written to.
pub(super) fn run(args: &Args, resolved: &Resolved, world: &dyn World) -> Result<(), Failure> {
    if args.check {
        return check(args, resolved, world);
    }
    resolved.refuse_mistakes()?;
    match &resolved.path {
        Some(path) => print_message(&format!("settings file: {}", path.display())),
        None if args.serve.demo => print_message("settings file: none, because a demo reads only the --settings file"),
        None => print_message(&format!("settings file: none, because {PATH_DEFAULT} does not exist")),
    }
    let row = |setting: &Setting| vec![setting.name.clone(), shown_value(setting, args), shown_origin(&setting.origin)];
    let rows: Vec<Vec<String>> = resolved.settings.iter().map(row).collect();
    print_rows(&["OPTION", "VALUE", "FROM"], &rows)
}

fn check(args: &Args, resolved: &Resolved, world: &dyn World) -> Result<(), Failure> {
    let mut lines: Vec<String> = resolved.mistakes.iter().map(ToString::to_string).collect();
    let findings = args.serve.contradictions().into_iter().chain(args.serve.findings(world));
    lines.extend(findings.map(|finding| finding.with_location(resolved)));
    if lines.is_empty() {
        let file = resolved.path.as_deref().map_or("no settings file".into(), Path::to_string_lossy);
        return print_listing(&format!("the service can start with these settings ({file})"));
    }
    for line in &lines {
        print_listing(line)?;
    }
    Err(Failure {
        exit: EXIT_CONFIG,
        message: format!(
            "the check of the settings has {}; correct the settings before you start the service",
            counted(lines.len(), "finding")
        ),
    })
}

/// Returns the value of an option. For an option without a value, returns the value that the service derives, if any,
/// or an empty string.
fn shown_value(setting: &Setting, args: &Args) -> String {
    if setting.name == "db" && !setting.values.is_empty() {
        // The URL of a PostgreSQL server can contain a password.
        let values: Vec<String> = setting.values.iter().map(|value| shown(Path::new(value))).collect();
        return values.join(",");
    }
    if !setting.values.is_empty() {
        return setting.values.join(",");
    }
    match setting.name.as_str() {
        "db" => shown(&args.serve.path()),
        "base-url" => args.serve.base_url_at(args.serve.listen),
        _ => String::new(),
    }
}

fn shown_origin(origin: &Origin) -> String {
    match origin {
        Origin::Flag => "flag".to_owned(),
        Origin::Variable(name) => format!("variable {name}"),
        Origin::File { path, line, .. } => format!("{}:{line}", path.display()),
        Origin::Default => "default".to_owned(),
    }
}

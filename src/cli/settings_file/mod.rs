//! The settings file, and the precedence of the four origins of an option's value: flag, environment variable, settings
//! file, default.
//!
//! The list of options comes from clap, so every option of `serve` except `--settings` can be set in the file. In the
//! file, an option has the name of its flag without the leading dashes. The values of the file become clap's defaults,
//! so clap itself applies the precedence. clap's `requires` would ignore these values, so `serve` itself checks that an
//! option is set together with the option that it needs ([`super::finding`]).

mod file;
mod mistake;
mod options;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use self::file::{Entry, SettingsFile};
pub(super) use self::mistake::Mistake;
use self::options::{Options, SETTINGS};
use super::failure::{EXIT_CONFIG, Failure};
use crate::domain::text::counted;

/// The settings file that is read by default, if it exists.
pub(super) const PATH_DEFAULT: &str = "/etc/appliance/appliance.toml";

/// The command that writes a settings file. An existing settings file does not set the options of this command.
const INIT: &str = "init";

#[derive(Debug, clap::Args)]
pub(super) struct SettingsArg {
    /// The settings file, which sets options that neither a flag nor a variable sets. By default, the file
    /// /etc/appliance/appliance.toml is read if it exists.
    #[arg(long, env = "APPLIANCE_SETTINGS", value_name = "FILE")]
    settings: Option<PathBuf>,
}

impl SettingsArg {
    /// Returns the path of the settings file, which may be missing.
    pub(super) fn path(&self) -> &Path {
        self.settings.as_deref().unwrap_or(Path::new(PATH_DEFAULT))
    }
}

/// The place that a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Flag,
    Variable(String),
    File { path: PathBuf, line: usize, column: usize },
    Default,
}

/// An option of the command that runs, with its value.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) values: Vec<String>,
    pub(super) origin: Origin,
}

/// A parsed command line, with the values from the settings file.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) matches: ArgMatches,
    /// The options that a settings file could set.
    pub(super) settings: Vec<Setting>,
    /// The settings file that was read, if any.
    pub(super) path: Option<PathBuf>,
    /// The options that the settings file sets, in the order of the file.
    pub(super) in_file: Vec<(String, String)>,
    /// All mistakes in the file. For the command `settings`, also the mistakes in variables.
    pub(super) mistakes: Vec<Mistake>,
}

impl Resolved {
    /// # Errors
    /// Exit status 78 with the first mistake, and the number of the others.
    pub(super) fn refuse_mistakes(&self) -> Result<(), Failure> {
        let message = match self.mistakes.as_slice() {
            [] => return Ok(()),
            [one] => one.to_string(),
            [first, others @ ..] => {
                let more = counted(others.len(), "further mistake");
                format!("{first} (and {more}; `appliance settings --check` lists them all)")
            }
        };
        Err(Failure { exit: EXIT_CONFIG, message })
    }

    pub(super) fn origin(&self, name: &str) -> Option<&Origin> {
        self.settings.iter().find(|setting| setting.name == name).map(|setting| &setting.origin)
    }
}

/// Parses a command line. Reads the settings file for `settings` and for `init`. For any other command with the option
/// `--settings`, reads the file only if it may set an option that neither a flag nor a variable sets.
///
/// # Errors
/// The error of clap for invalid flags and variables, and for `--help`.
pub(super) fn resolve(command: &Command, args: &[OsString]) -> Result<Resolved, clap::Error> {
    let options = Options::of(command);
    let wrong = options.wrong_variables();
    let command = command.clone().mut_subcommand(SETTINGS, |settings| {
        settings.mut_args(|arg| {
            let is_wrong = arg.get_long().is_some_and(|name| wrong.iter().any(|(option, _)| option == name));
            if is_wrong { options::without_variable(arg) } else { arg }
        })
    });
    let matches = command.clone().try_get_matches_from(args)?;
    let (names, leaf) = leaf(&matches);
    // `settings` reports wrong variables together with the mistakes of the file.
    let (is_settings, is_init) = (names == [SETTINGS], names == [INIT]);
    let mut mistakes = Vec::new();
    if is_settings {
        mistakes.extend(wrong.into_iter().map(|(_, mistake)| mistake));
    }
    let needs_file = is_settings || is_init || can_use_file(&command, &names, leaf, &options);
    let file = if needs_file { read(leaf, &options, !is_init) } else { None };
    let (path, entries) = match file {
        Some(file) => {
            mistakes.extend(file.mistakes);
            (Some(file.path), file.entries)
        }
        None => (None, Vec::new()),
    };
    let in_file = entries.iter().map(|entry| (entry.name.clone(), entry.values.join(","))).collect();
    let command = if is_init { command } else { with_defaults(command, &names, &entries) };
    let matches = command.clone().try_get_matches_from(args)?;
    let settings = settings(&command, &matches, &options, path.as_deref(), &entries);
    Ok(Resolved { matches, settings, path, in_file, mistakes })
}

/// Returns the command that runs: the names that lead to it, and its matches.
fn leaf(matches: &ArgMatches) -> (Vec<String>, &ArgMatches) {
    let (mut names, mut leaf) = (Vec::new(), matches);
    while let Some((name, below)) = leaf.subcommand() {
        names.push(name.to_owned());
        leaf = below;
    }
    (names, leaf)
}

fn find<'a>(root: &'a Command, names: &[String]) -> Option<&'a Command> {
    names.iter().try_fold(root, |command, name| command.find_subcommand(name))
}

/// Returns whether the command has the option `--settings`, and an option that a settings file may set and that no flag
/// or variable sets.
fn can_use_file(root: &Command, names: &[String], leaf: &ArgMatches, options: &Options) -> bool {
    let Some(command) = find(root, names) else { return false };
    if !command.get_arguments().any(|arg| arg.get_id() == SETTINGS) {
        return false;
    }
    let mut of_file = command.get_arguments().filter(|arg| arg.get_long().is_some_and(|name| options.has(name)));
    of_file.any(|arg| is_unset(leaf, arg.get_id().as_str()))
}

fn is_unset(leaf: &ArgMatches, id: &str) -> bool {
    matches!(leaf.value_source(id), None | Some(ValueSource::DefaultValue))
}

/// Reads the settings file that `--settings` or its variable names, or the default settings file if it exists. For a
/// demo, reads only a settings file that is named, so that the demo never opens the database of the service on the same
/// machine. A settings file that is named must exist if `must_exist` is set.
fn read(leaf: &ArgMatches, options: &Options, must_exist: bool) -> Option<SettingsFile> {
    let named = leaf.get_one::<PathBuf>(SETTINGS);
    let is_demo = matches!(leaf.try_get_one::<bool>("demo"), Ok(Some(true)));
    match named {
        Some(path) if !must_exist && !may_exist(path) => None,
        Some(path) => Some(SettingsFile::read(path, options)),
        None if is_demo || !may_exist(Path::new(PATH_DEFAULT)) => None,
        None => Some(SettingsFile::read(Path::new(PATH_DEFAULT), options)),
    }
}

/// Returns whether a file exists, or true if the system cannot report this.
fn may_exist(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

/// Makes the values of the file the defaults of the command that runs.
fn with_defaults(command: Command, names: &[String], entries: &[Entry]) -> Command {
    match names.split_first() {
        Some((name, below)) => command.mut_subcommand(name, |command| with_defaults(command, below, entries)),
        None => command.mut_args(|arg| {
            let entry = entries.iter().find(|entry| arg.get_long() == Some(&entry.name));
            match entry {
                Some(entry) => arg.default_values(entry.values.clone()),
                None => arg,
            }
        }),
    }
}

/// Returns the options that a settings file may set, with their values and origins.
fn settings(
    root: &Command,
    matches: &ArgMatches,
    options: &Options,
    path: Option<&Path>,
    entries: &[Entry],
) -> Vec<Setting> {
    let (names, leaf) = leaf(matches);
    let args = find(root, &names).into_iter().flat_map(Command::get_arguments);
    let setting = |arg: &clap::Arg| {
        let name = arg.get_long().filter(|name| options.has(name))?;
        let id = arg.get_id().as_str();
        let entry = entries.iter().find(|entry| entry.name == name);
        let origin = match (leaf.value_source(id), entry, path) {
            (Some(ValueSource::CommandLine), ..) => Origin::Flag,
            (Some(ValueSource::EnvVariable), ..) => {
                Origin::Variable(arg.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
            }
            (_, Some(entry), Some(path)) => {
                Origin::File { path: path.to_owned(), line: entry.line, column: entry.column }
            }
            _ => Origin::Default,
        };
        let values = leaf.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy().into_owned());
        Some(Setting { name: name.to_owned(), values: values.collect(), origin })
    };
    args.filter_map(setting).collect()
}

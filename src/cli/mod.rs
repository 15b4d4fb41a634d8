//! The command line: one file a command, from flags to the settings of the floors below.
//!
//! Data goes to standard output, words for people to standard error. Exit status 0, 1 (failed), 2 (what is wrong in
//! the flags) and, for `serve`, 78 where starting again would not help.

pub mod activity;
pub mod backup;
pub mod bootstrap_admin;
pub mod check;
pub mod completions;
mod demo;
pub mod export;
pub mod hr_deliveries;
pub mod import;
pub mod key;
mod list;
pub mod man;
pub mod organization;
pub mod serve;
pub mod set_password;
pub mod user;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use serde_json::Value;

use crate::domain::plain;
use crate::domain::text::{self, Email, NAME_CHARACTERS_MAX, Slug};
use crate::store::{self, Error, OpenError, Tx};
use crate::world::{Real, World};

/// The file of every command when no other is named.
const FILE: &str = "appliance.db";

/// How long words for people may take to be written.
const SAY_TIMEOUT: Duration = Duration::from_secs(1);

/// The exit status of something that failed.
pub const EXIT_FAILED: u8 = 1;

/// The exit status of flags that are wrong, which is clap's too.
pub const EXIT_USAGE: u8 = 2;

/// The exit status of `serve` where a restart would not help (`EX_CONFIG` of sysexits).
pub const EXIT_CONFIG: u8 = 78;

/// A command that failed: its exit status and a sentence for the person who ran it.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub exit: u8,
    /// What is wrong and what to do about it.
    pub sentence: String,
}

impl Failure {
    /// A failure with exit status 1.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { exit: EXIT_FAILED, sentence: sentence.into() }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(match error {
            Error::Full(why) => format!("the disk is full, nothing was changed: {why}; free some space"),
            Error::Unavailable(why) => format!("the file is not available now, nothing was changed: {why}"),
            Error::Refused(refusal) => refusal.sentence(),
            Error::Defect(why) => format!("the file cannot be used: {why}"),
            Error::OutcomeUnknown(why) => {
                format!("whether this was carried out is unknown, look before you do it again; the disk failed: {why}")
            }
        })
    }
}

/// The file that a command works on.
#[derive(Debug, Args)]
pub struct DbArg {
    /// The SQLite file with everything in it.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE", default_value = FILE)]
    pub db: PathBuf,
}

/// A recruiting service for small organizations: one binary and one SQLite file.
///
/// Begin with `appliance serve --demo`, which runs on a sample company. For your own: `appliance bootstrap-admin` makes
/// the file and the first admin key, `appliance import` brings in roles and candidates, `appliance serve` runs it.
/// Everything else speaks HTTP.
#[derive(Debug, Parser)]
#[command(name = "appliance", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_long_help = "From nothing to a running service:
  appliance bootstrap-admin --db jobs.db --email you@example.com   prints the first admin key
  appliance import --db jobs.db company.json                       roles, staff, candidates
  appliance serve --db jobs.db                                     runs it; stop it with Ctrl-C
  appliance backup --db jobs.db jobs-monday.db                     also while it runs

Every option is also an environment variable: --db is APPLIANCE_DB. Data goes to standard output, words for people to
standard error. Exit status: 0 done, 1 failed, 2 wrong flags; serve: 78 where a restart would not help.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    BootstrapAdmin(bootstrap_admin::Args),
    SetPassword(set_password::Args),
    Import(import::Args),
    Export(export::Args),
    Backup(backup::Args),
    Check(check::Args),
    Activity(activity::Args),
    HrDeliveries(hr_deliveries::Args),
    User(user::Args),
    Organization(organization::Args),
    Key(key::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Cli {
    /// Runs the command. What went wrong is told on standard error, and by the exit status.
    pub fn run(self) -> ExitCode {
        let world = Real::new();
        let outcome = match self.command {
            Command::Serve(args) => serve::run(args),
            Command::BootstrapAdmin(args) => bootstrap_admin::run(&args, &world),
            Command::SetPassword(args) => set_password::run(&args, &world),
            Command::Import(args) => import::run(&args, &world),
            Command::Export(args) => export::run(&args, &world),
            Command::Backup(args) => backup::run(&args, &world),
            Command::Check(args) => check::run(&args, &world),
            Command::Activity(args) => activity::run(&args, &world),
            Command::HrDeliveries(args) => hr_deliveries::run(&args, &world),
            Command::User(args) => user::run(&args, &world),
            Command::Organization(args) => organization::run(&args, &world),
            Command::Key(args) => key::run(&args, &world),
            Command::Completions(args) => completions::run(&args),
            Command::Man(_) => man::run(),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                say(&format!("appliance: {}", failure.sentence));
                ExitCode::from(failure.exit)
            }
        }
    }
}

/// Words for people, to standard error. One that is closed is no reason to stop, and one that nobody reads is none to
/// wait for ever: a service that is told to end has to.
fn say(sentence: &str) {
    let line = format!("{sentence}\n");
    let (done, written) = mpsc::channel::<()>();
    let write = move || {
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
        drop(done);
    };
    if std::thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(SAY_TIMEOUT);
    }
}

/// Data, to standard output.
///
/// # Errors
/// When standard output is closed or full.
fn print(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| Failure::new(format!("standard output cannot be written: {error}")))
}

/// Runs one act on a file and prints what it gives, which nobody can look up again: it is printed before the act
/// counts, so where it cannot be printed, nothing was done. Whoever does not read standard output holds the write lock
/// meanwhile.
///
/// # Errors
/// Where the file, or standard output, cannot be used; what was printed does not count then.
fn act_and_print(
    path: &Path,
    world: &dyn World,
    act: impl FnOnce(&Tx<'_>) -> Result<String, Error>,
) -> Result<(), Failure> {
    let mut unprinted = None;
    let done = store::act_alone(path, world, |tx| {
        print(&act(tx)?).map_err(|failure| {
            let why = failure.sentence.clone();
            unprinted = Some(failure);
            Error::Unavailable(why)
        })
    });
    unprinted.map_or_else(|| done.map_err(Failure::from), Err)
}

/// Puts a command on record that only reads the file, before it does. Where the file cannot be written now, the command goes
/// on and that is told.
///
/// # Errors
/// Where the file cannot be used.
fn record_reading(path: &Path, world: &dyn World, command: &str, facts: &Value) -> Result<(), Failure> {
    if let Some(why) = store::activity::platform::record_reading(path, world, command, facts)? {
        say(&format!("this {command} is not on the record of {}: {why}", path.display()));
    }
    Ok(())
}

/// The address of somebody who is in the file, as a flag has it.
///
/// # Errors
/// A sentence for the usage message.
fn email(text: &str) -> Result<Email, String> {
    Email::parse_stored(text).ok_or_else(|| "an email address looks like ada@example.org".to_owned())
}

/// An address that is new to the file, or may be.
///
/// # Errors
/// A sentence for the usage message.
fn new_email(text: &str) -> Result<Email, String> {
    Email::parse(text).ok_or_else(|| "an email address looks like ada@example.org".to_owned())
}

/// A name as a flag has it.
///
/// # Errors
/// A sentence for the usage message.
fn name(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text::characters(text) <= NAME_CHARACTERS_MAX;
    match plain::flaw_of_line(text) {
        Some(flaw) => Err(format!("a name {}", flaw.sentence())),
        None if fits => Ok(text.to_owned()),
        None => Err(format!("a name has 1 to {NAME_CHARACTERS_MAX} characters")),
    }
}

/// A slug as a flag has it.
///
/// # Errors
/// A sentence for the usage message.
fn slug(text: &str) -> Result<Slug, String> {
    Slug::parse(text).ok_or_else(|| "a slug has 1 to 64 characters of a-z 0-9 -".to_owned())
}

/// A word of a closed set as a flag has it.
fn word<T: Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).map(move |word| parse(&word).expect("it is one of the words"))
}

//! The command line: one file per command. Each turns flags into calls and settings of the floors below.
//!
//! Data goes to standard output, messages for people to standard error. The exit status is 0 (done), 1 (failed) or 2
//! (wrong flags). `serve` exits with 78 where a restart would not help.

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

/// The default of `--db`.
const FILE: &str = "appliance.db";

/// How long writing one message to standard error may take. A pipe that nobody reads must not block the exit.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Exit status: the command failed.
pub const EXIT_FAILED: u8 = 1;

/// Exit status: the flags are wrong. clap uses the same number.
pub const EXIT_USAGE: u8 = 2;

/// Exit status of `serve` where a restart would not help (`EX_CONFIG` of sysexits), so that systemd does not try.
pub const EXIT_CONFIG: u8 = 78;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// The exit status of the process.
    pub exit: u8,
    /// The problem and its remedy, for the person who ran the command.
    pub message: String,
}

impl Failure {
    /// A failure with exit status 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { exit: EXIT_FAILED, message: message.into() }
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
            Error::Full(why) => format!("the disk is full and nothing was changed: {why}; free some space"),
            Error::Unavailable(why) => format!("the file is not available now and nothing was changed: {why}"),
            Error::Refused(refusal) => refusal.sentence(),
            Error::Defect(why) => format!("the file cannot be used: {why}"),
            Error::OutcomeUnknown(why) => {
                format!("the disk failed, and it is unknown whether this was done; check before you repeat it: {why}")
            }
        })
    }
}

/// The `--db` flag, which almost every command has.
#[derive(Debug, Args)]
pub struct DbArg {
    /// The SQLite file that holds all data.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE", default_value = FILE)]
    pub db: PathBuf,
}

/// A recruiting service for small organizations: one binary and one SQLite file.
///
/// To try it, run `appliance serve --demo`, which serves a sample company. To set up your own: `appliance
/// bootstrap-admin` creates the file and the first admin key, `appliance import` adds roles and candidates, `appliance
/// serve` runs the service. Everything else is done over HTTP.
#[derive(Debug, Parser)]
#[command(name = "appliance", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_long_help = "From nothing to a running service:
  appliance bootstrap-admin --db jobs.db --email you@example.com   prints the first admin key
  appliance import --db jobs.db company.json                       roles, staff, candidates
  appliance serve --db jobs.db                                     runs it; stop it with Ctrl-C
  appliance backup --db jobs.db jobs-monday.db                     also while it runs

Every option is also an environment variable: --db is APPLIANCE_DB. Data goes to standard output, messages to standard
error. Exit status: 0 done, 1 failed, 2 wrong flags; serve exits with 78 if a restart would not help.")]
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
    /// Runs the command. Reports a failure on standard error and by the exit status.
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
                print_message(&format!("appliance: {}", failure.message));
                ExitCode::from(failure.exit)
            }
        }
    }
}

/// Writes a message for people to standard error.
///
/// A closed standard error is not a failure. A pipe that nobody reads must not block a service that has to stop, so a
/// thread writes the line and this function waits for it only [`MESSAGE_TIMEOUT`] long.
fn print_message(message: &str) {
    let line = format!("{message}\n");
    let (done, written) = mpsc::channel::<()>();
    let write = move || {
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
        drop(done);
    };
    if std::thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(MESSAGE_TIMEOUT);
    }
}

/// Writes data to standard output.
///
/// # Errors
/// Fails if standard output is closed or full.
fn print_data(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| Failure::new(format!("standard output cannot be written: {error}")))
}

/// Changes the file in one transaction and prints the result, such as a secret that is never shown again.
///
/// Printing comes before the commit. If the result cannot be printed, the transaction is undone. A reader that does not
/// read standard output holds the write lock for that time.
///
/// # Errors
/// Fails if the file or standard output cannot be used. A secret that was printed is not valid then.
fn act_and_print(
    path: &Path,
    world: &dyn World,
    act: impl FnOnce(&Tx<'_>) -> Result<String, Error>,
) -> Result<(), Failure> {
    let mut unprinted = None;
    let done = store::act_alone(path, world, |tx| {
        print_data(&act(tx)?).map_err(|failure| {
            let why = failure.message.clone();
            unprinted = Some(failure);
            Error::Unavailable(why)
        })
    });
    unprinted.map_or_else(|| done.map_err(Failure::from), Err)
}

/// Records a command that only reads the file as platform activity, before it reads. If the file cannot be written now,
/// reports that and lets the command go on: a backup of a full disk must work.
///
/// # Errors
/// Fails if the file cannot be used.
fn record_reading(path: &Path, world: &dyn World, command: &str, facts: &Value) -> Result<(), Failure> {
    if let Some(why) = store::activity::platform::record_reading(path, world, command, facts)? {
        print_message(&format!("this {command} is not in the activity of {}: {why}", path.display()));
    }
    Ok(())
}

/// Parses the email address of an existing user. Addresses that are stored already pass, even where today's rules would
/// refuse them.
fn parse_email(text: &str) -> Result<Email, String> {
    Email::parse_stored(text).ok_or_else(|| "an email address looks like ada@example.org".to_owned())
}

/// Parses an email address that may be new to the file, by today's rules.
fn parse_new_email(text: &str) -> Result<Email, String> {
    Email::parse(text).ok_or_else(|| "an email address looks like ada@example.org".to_owned())
}

fn parse_name(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text::characters(text) <= NAME_CHARACTERS_MAX;
    match plain::flaw_of_line(text) {
        Some(flaw) => Err(format!("a name {}", flaw.sentence())),
        None if fits => Ok(text.to_owned()),
        None => Err(format!("a name has 1 to {NAME_CHARACTERS_MAX} characters")),
    }
}

fn parse_slug(text: &str) -> Result<Slug, String> {
    Slug::parse(text).ok_or_else(|| "a slug has 1 to 64 characters of a-z 0-9 -".to_owned())
}

/// A clap parser for a closed set of words, which help and shell completion list.
fn one_of<T: Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).map(move |word| parse(&word).expect("it is one of the words"))
}

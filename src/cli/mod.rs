//! The command line: one module per command. Each command turns flags into calls and settings for the layers below.
//!
//! Data goes to standard output, and messages for people go to standard error. The exit status is 0 (done), 1 (failed)
//! or 2 (invalid flags). It is 78 for a mistake in the settings file (for `settings`, also in a variable), for a
//! finding of `settings --check`, and for `serve` and `copy` if a repetition would not help.

mod acme_args;
pub mod activity;
pub mod backup;
mod backup_schedule_arg;
mod base_url_arg;
pub mod bootstrap_admin;
pub mod check;
pub mod completions;
pub mod copy;
mod database_server;
mod db_arg;
mod demo;
pub mod doctor;
pub mod export;
mod failure;
mod finding;
pub mod hr_deliveries;
pub mod import;
mod init;
pub mod key;
mod list;
mod listen;
pub mod man;
pub mod organization;
mod output;
mod progress;
pub mod restore;
pub mod serve;
mod serve_value;
mod service_manager;
pub mod set_password;
mod settings;
mod settings_file;
pub mod sign_in_link;
mod tls_args;
pub mod upgrade;
pub mod user;
mod value;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::failure::Failure;
use self::output::print_message;
use self::settings_file::Resolved;
use crate::world::Real;

/// A recruiting service for small organizations: one binary and one SQLite file.
///
/// To try it, run `appliance serve --demo`, which serves a sample company. To set up your own service, run `appliance
/// init`, which asks for the organization, the admin and the address. Then run `appliance serve`. Everyday work is done
/// in a browser or over the HTTP API.
#[derive(Debug, Parser)]
#[command(name = "appliance", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_long_help = "To set up a service:
  appliance init                           asks questions, and writes the settings and the database
  appliance serve                          runs the service; Ctrl-C stops it
  appliance import company.json            imports roles, staff and candidates
  appliance backup jobs-monday.db          makes a backup, even while the service runs

Every option can also be set by an environment variable, for example --db by APPLIANCE_DB. The options of serve can also
be set in a file, by default /etc/appliance/appliance.toml; see `appliance help settings`. Data goes to standard output,
messages to standard error. Exit status: 0 done, 1 failed, 2 invalid flags, 78 a mistake in the settings; serve and copy
also exit with 78 if a repetition would not help.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    // Boxed, because these commands have far more options than the others.
    Init(Box<init::Args>),
    Serve(Box<serve::Args>),
    BootstrapAdmin(bootstrap_admin::Args),
    SignInLink(sign_in_link::Args),
    SetPassword(set_password::Args),
    Import(import::Args),
    Export(export::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Copy(copy::Args),
    Check(check::Args),
    Upgrade(upgrade::Args),
    Doctor(Box<doctor::Args>),
    Activity(activity::Args),
    HrDeliveries(hr_deliveries::Args),
    User(user::Args),
    Organization(organization::Args),
    Key(key::Args),
    Completions(completions::Args),
    Man(man::Args),
    Settings(Box<settings::Args>),
}

/// Parses the command line and the settings file, and runs the command. Reports a failure on standard error and in the
/// exit status.
pub fn run() -> ExitCode {
    let resolved = match settings_file::resolve(&Cli::command(), &std::env::args_os().collect::<Vec<_>>()) {
        Ok(resolved) => resolved,
        Err(error) => error.exit(),
    };
    let outcome = match Cli::from_arg_matches(&resolved.matches) {
        Ok(cli) => database_server::refuse_unsupported(&resolved.matches).and_then(|()| cli.run(&resolved)),
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print_message(&format!("appliance: {}", failure.message));
            ExitCode::from(failure.exit)
        }
    }
}

impl Cli {
    fn run(self, resolved: &Resolved) -> Result<(), Failure> {
        let world = Real::new();
        // This command reports the mistakes itself.
        if let Command::Settings(args) = &self.command {
            return settings::run(args, resolved, &world);
        }
        // With --force, this command replaces even a file with mistakes.
        if let Command::Init(args) = &self.command {
            return init::run(args, resolved, &world);
        }
        resolved.refuse_mistakes()?;
        match self.command {
            Command::Serve(args) => serve::run(*args, resolved),
            Command::BootstrapAdmin(args) => bootstrap_admin::run(&args, &world),
            Command::SignInLink(args) => sign_in_link::run(&args, &world),
            Command::SetPassword(args) => set_password::run(&args, &world),
            Command::Import(args) => import::run(&args, &world),
            Command::Export(args) => export::run(&args, &world),
            Command::Backup(args) => backup::run(&args, &world),
            Command::Restore(args) => restore::run(&args, &world),
            Command::Copy(args) => copy::run(&args, &world),
            Command::Check(args) => check::run(&args, &world),
            Command::Upgrade(args) => upgrade::run(&args, &world),
            Command::Doctor(args) => doctor::run(&args, &world),
            Command::Activity(args) => activity::run(&args, &world),
            Command::HrDeliveries(args) => hr_deliveries::run(&args, &world),
            Command::User(args) => user::run(&args, &world),
            Command::Organization(args) => organization::run(&args, &world),
            Command::Key(args) => key::run(&args, &world),
            Command::Completions(args) => completions::run(&args, Self::command()),
            Command::Man(_) => man::run(Self::command()),
            Command::Settings(_) | Command::Init(_) => Ok(()),
        }
    }
}

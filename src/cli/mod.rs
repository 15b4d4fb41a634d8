//! The command line: one file a command, from flags to the settings of the floors below.
//!
//! Data goes to standard output, words for people to standard error. Exit status 0, 1 (failed), 2 (what is wrong in
//! the flags) and, for `serve`, 78 where starting again would not help.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::store::{Error, OpenError};

/// The exit status of something that failed.
pub const EXIT_FAILED: u8 = 1;

/// The exit status of wrong flags.
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
            Error::Unavailable(why) => format!("the file is not available now, nothing was changed: {why}"),
            Error::Refused(refusal) => format!("refused: {refusal:?}"),
            Error::Defect(why) => format!("the file cannot be used: {why}"),
        })
    }
}

/// The file that a command works on.
#[derive(Debug, Args)]
pub struct DbArg {
    /// The SQLite file with everything in it.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE", default_value = "appliance.db")]
    pub db: PathBuf,
}

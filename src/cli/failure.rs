//! The failure of a command: its message and its exit status.

use crate::store::{Error, OpenError};

/// Exit status: the command failed.
pub(super) const EXIT_FAILED: u8 = 1;

/// Exit status: the flags are invalid. clap uses the same number.
pub(super) const EXIT_USAGE: u8 = 2;

/// Exit status (`EX_CONFIG` in `sysexits.h`): the settings file has a mistake, `settings` found a mistake in a
/// variable, `settings --check` has findings, or `serve` or `copy` failed and a repetition would not help. With the
/// example unit, systemd does not restart the service after this status.
pub(super) const EXIT_CONFIG: u8 = 78;

#[derive(Debug)]
pub struct Failure {
    /// The exit status of the process.
    pub exit: u8,
    /// The problem and its remedy, for the person who ran the command.
    pub message: String,
}

impl Failure {
    /// Returns a failure with exit status 1.
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
            Error::Unavailable(why) => format!("the database is not available now and nothing was changed: {why}"),
            Error::Refused(refusal) => refusal.sentence(),
            Error::Defect(why) => format!("the database cannot be used: {why}"),
            Error::OutcomeUnknown(why) => {
                format!(
                    "it is unknown whether the command took effect; check the database before you repeat the command: {why}"
                )
            }
        })
    }
}

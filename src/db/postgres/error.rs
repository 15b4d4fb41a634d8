//! Failures of statements: the one translation of SQLSTATEs (PostgreSQL manual, appendix A) into errors of the database
//! layer.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use tokio_postgres::error::{DbError, Severity};

use crate::db::error::Error;

/// The reason why a call of the driver failed.
#[derive(Debug)]
pub(super) enum Failure {
    Driver(tokio_postgres::Error),
    /// The server has not answered within this time.
    TimedOut(Duration),
    /// The session has ended, because of an earlier failure or because the caller was interrupted.
    Closed,
    /// The system has no resources for a runtime.
    Runtime(io::Error),
}

/// The consequences of a failure for the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The transaction can only be rolled back. It may succeed if it runs again, because the failure came from another
    /// transaction or from a cached statement.
    Retry,
    /// The transaction can only be rolled back.
    Rollback,
    /// The connection is gone, and with it the transaction.
    Lost,
}

impl Failure {
    /// Returns whether the session is over after this failure.
    pub(super) fn ends_session(&self) -> bool {
        self.effect() == Effect::Lost
    }

    pub(super) fn effect(&self) -> Effect {
        let Self::Driver(error) = self else { return Effect::Lost };
        match error.as_db_error() {
            Some(answer) if ends_session(answer) => Effect::Lost,
            Some(_) if self.concerns_cached_statement() => Effect::Retry,
            Some(answer) => effect(answer.code().code()),
            None if is_connection(error) => Effect::Lost,
            None => Effect::Rollback,
        }
    }

    /// Returns whether this answer to `COMMIT` shows that nothing was committed. Only an error after which the session
    /// continues shows this. The server can fail with `FATAL` or `PANIC` after it has written the commit, and a failure
    /// of the driver shows nothing about the server.
    pub(super) fn refuses_commit(&self) -> bool {
        // "Transaction resolution unknown" and "statement completion unknown".
        let is_unknown = matches!(self.code(), Some("08007" | "40003"));
        self.code().is_some() && self.effect() != Effect::Lost && !is_unknown
    }

    /// Returns the SQLSTATE of the server's answer.
    pub(super) fn code(&self) -> Option<&str> {
        let Self::Driver(error) = self else { return None };
        error.code().map(tokio_postgres::error::SqlState::code)
    }

    /// Returns whether a cached statement no longer fits the schema, or the server no longer has the statement.
    pub(super) fn concerns_cached_statement(&self) -> bool {
        let Self::Driver(error) = self else { return false };
        let Some(answer) = error.as_db_error() else { return false };
        match answer.code().code() {
            "26000" => true,
            // "Feature not supported" has many causes. The text depends on the language of the server.
            "0A000" => answer.routine() == Some("RevalidateCachedQuery"),
            _ => false,
        }
    }

    pub(super) fn error(&self) -> Error {
        let why = self.to_string();
        match self.code() {
            Some("53100") => Error::Full(why),
            _ if self.effect() == Effect::Lost || self.concerns_cached_statement() => Error::Unavailable(why),
            Some(code) => classify(code)(why),
            None => Error::Defect(why),
        }
    }
}

impl std::fmt::Display for Failure {
    /// Writes a line for the log. Values from a statement or a row are left out, because they may be personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Driver(error) => match error.as_db_error() {
                Some(answer) => describe(answer, f),
                None => match error.source() {
                    Some(cause) => write!(f, "{error}: {cause}"),
                    None => write!(f, "{error}"),
                },
            },
            Self::TimedOut(time) => write!(f, "the database server has not answered for {} s", time.as_secs()),
            Self::Closed => f.write_str("the connection to the database server is closed"),
            Self::Runtime(error) => write!(f, "no connection to the database server can be made: {error}"),
        }
    }
}

fn describe(answer: &DbError, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let code = answer.code().code();
    match (answer.constraint(), answer.table()) {
        (Some(constraint), _) => write!(f, "SQLSTATE {code}, constraint {constraint}"),
        (None, Some(table)) => write!(f, "SQLSTATE {code}, table {table}"),
        // The messages of these classes quote values.
        (None, None) if code.starts_with("22") || code.starts_with("23") => write!(f, "SQLSTATE {code}"),
        (None, None) => write!(f, "SQLSTATE {code}: {}", answer.message()),
    }
}

/// Returns whether the server ends the session after this answer.
fn ends_session(answer: &DbError) -> bool {
    matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
}

/// Returns whether the error of the driver concerns the connection.
fn is_connection(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || error.source().is_some_and(|cause| cause.downcast_ref::<io::Error>().is_some())
}

fn effect(code: &str) -> Effect {
    match code {
        // Serialization failure and deadlock.
        "40001" | "40P01" => Effect::Retry,
        // After an error with one of these codes, the server ends the session.
        "25P03" | "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => Effect::Lost,
        _ if code.starts_with("08") => Effect::Lost,
        _ => Effect::Rollback,
    }
}

/// Returns the kind of error. `Unavailable` and `Full` become a 503, since a later try may succeed.
fn classify(code: &str) -> fn(String) -> Error {
    match code {
        "53100" => Error::Full,
        // In this order: a read-only transaction (the server is a standby, or its administrator has made it read-only),
        // the timeout of an idle transaction, a serialization failure and a deadlock (after all retries), the timeout
        // of a lock, a statement that timed out or was cancelled, and an I/O error of the server.
        "25006" | "25P03" | "40001" | "40P01" | "55P03" | "57014" | "58030" => Error::Unavailable,
        _ if ["08", "53", "57P"].iter().any(|class| code.starts_with(class)) => Error::Unavailable,
        // The other codes include those of violated constraints (23…), which the rules should have prevented, of
        // missing rights (42501), and of missing tables and columns (42P01, 42703).
        _ => Error::Defect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sqlstate_has_the_expected_effect_and_kind_of_error() {
        for (code, effects, is_defect) in [
            ("40001", Effect::Retry, false),
            ("40P01", Effect::Retry, false),
            ("25006", Effect::Rollback, false),
            ("53100", Effect::Rollback, false),
            ("53300", Effect::Rollback, false),
            ("55P03", Effect::Rollback, false),
            ("57014", Effect::Rollback, false),
            ("57P01", Effect::Lost, false),
            ("57P03", Effect::Lost, false),
            ("08006", Effect::Lost, false),
            ("25P03", Effect::Lost, false),
            ("23505", Effect::Rollback, true),
            ("23503", Effect::Rollback, true),
            ("42501", Effect::Rollback, true),
            ("42P01", Effect::Rollback, true),
            ("42703", Effect::Rollback, true),
            ("22P02", Effect::Rollback, true),
            ("XX001", Effect::Rollback, true),
        ] {
            assert_eq!(effect(code), effects, "{code}");
            let error = classify(code)(String::new());
            assert_eq!(matches!(error, Error::Defect(_)), is_defect, "{code}");
            assert_eq!(matches!(error, Error::Full(_)), code == "53100", "{code}");
        }
    }
}

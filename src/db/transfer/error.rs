//! The reasons why a copy ends early, each as one sentence for the operator.

use crate::db::error::Error;
use crate::db::sqlite::file::OpenError;

/// The reason why a copy ended early. The source was not changed.
#[derive(Debug)]
pub enum TransferError {
    /// One of the databases cannot be used.
    Open(OpenError),
    /// Both databases are files.
    Files,
    /// The source and the destination are the same database.
    Same(String),
    /// The destination has data already.
    NotEmpty(String),
    /// A service or another copy uses the database.
    InUse(String),
    /// The incomplete copy is of another source, or of an earlier state of this source.
    OtherSource(String),
    /// Another version of the program began the copy.
    OtherVersion { shown: String, found: i64, known: i64 },
    /// A text of the source cannot be stored in PostgreSQL.
    Text { table: String, column: String, key: String, why: &'static str },
    /// The copy is complete, but a table of the source has changed since the copy began.
    Differs { table: String, from: u64, to: u64, shown: String },
    /// The destination refused a row.
    Refused { shown: String, table: String, why: String },
    /// A statement failed, and would fail again.
    Failed { shown: String, why: String },
    /// The disk of a database is full. The same command continues the copy.
    Full { shown: String, why: String },
    /// A statement failed. The same command continues the copy.
    Interrupted { shown: String, why: String },
}

impl TransferError {
    /// Returns the error of a copy that ends because a statement on one of the databases failed.
    pub(in crate::db) fn of_statement(shown: &str, error: Error) -> Self {
        let shown = shown.to_owned();
        match error {
            Error::Full(why) => Self::Full { shown, why },
            Error::Defect(why) => Self::Failed { shown, why },
            error => Self::Interrupted { shown, why: error.to_string() },
        }
    }

    /// Returns whether the same command might succeed later without any action by the operator.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Open(error) => error.may_pass(),
            Self::InUse(_) | Self::Full { .. } | Self::Interrupted { .. } => true,
            _ => false,
        }
    }
}

impl From<OpenError> for TransferError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl std::fmt::Display for TransferError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Files => f.write_str("both databases are files; use `appliance backup` to copy a file"),
            Self::Same(shown) => {
                write!(f, "{shown} is both the source and the destination; choose another destination with --to")
            }
            Self::NotEmpty(shown) => {
                write!(
                    f,
                    "{shown} exists and has data, and was not changed; choose a new file or an empty schema with --to"
                )
            }
            Self::InUse(shown) => {
                write!(f, "a service or another copy is using {shown}; stop that process and try again")
            }
            Self::OtherSource(shown) => write!(
                f,
                "{shown} is an incomplete copy of another source, or its source has changed since; remove {shown} or \
                 empty its schema, and start again"
            ),
            Self::OtherVersion { shown, found, known } => write!(
                f,
                "{shown} is an incomplete copy of version {found}, but this program has version {known}; continue with \
                 the other version of the program, or remove the incomplete copy"
            ),
            Self::Text { table, column, key, why } => write!(
                f,
                "the column {column} of the row {key} of the table {table} contains {why}, which PostgreSQL cannot \
                 store; nothing was copied; correct the text first"
            ),
            Self::Differs { table, from, to, shown } => write!(
                f,
                "the table {table} ({to} rows) differs from its source ({from} rows), which was changed during the \
                 copy; remove {shown} or empty its schema, and start again while no command changes the source"
            ),
            Self::Refused { shown, table, why } => {
                write!(f, "{shown} refused a row of the table {table}: {why}; run `appliance check` on the source")
            }
            Self::Failed { shown, why } => write!(
                f,
                "the copy cannot continue, because {shown} failed: {why}; run `appliance check` on the source, remove \
                 the cause, and run the same command again"
            ),
            Self::Full { shown, why } => write!(
                f,
                "the copy stopped, because the disk of {shown} is full ({why}); free some space, and run the same \
                 command again to continue"
            ),
            Self::Interrupted { shown, why } => {
                write!(f, "the copy stopped, because {shown} failed: {why}; run the same command again to continue")
            }
        }
    }
}

impl std::error::Error for TransferError {}

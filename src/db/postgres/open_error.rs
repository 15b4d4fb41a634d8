//! The reasons why a server cannot be used, each as one sentence for the operator.

use std::error::Error as StdError;
use std::io;

use tokio_rustls::rustls::Error as RustlsError;

use super::error::Failure;
use crate::db::error::Error;

/// The reason why a server cannot be used.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The URL is invalid.
    Url(String),
    /// TLS cannot be set up on this side.
    Tls(String),
    /// No server answers at this address, or the server is starting or stopping.
    Unreachable { server: String, why: String },
    /// The server has no free connection.
    TooManyConnections(String),
    /// Each server is a standby, or its administrator has made it read-only.
    ReadOnly(String),
    /// TLS failed: the server has none, or its certificate is not trusted or not valid for the host.
    Untrusted { server: String, why: String },
    /// The server refuses the user or the password.
    Refused { server: String, why: String },
    /// The database does not exist.
    NoDatabase(String),
    /// The server is older than PostgreSQL 15.
    TooOld { server: String, found: u32 },
    /// The database has an encoding other than UTF-8.
    Encoding { server: String, found: String },
    /// No schema in the user's `search_path` exists.
    NoSchema(String),
    /// A setting of the server or the user makes confirmed changes unsafe.
    NotDurable { server: String, setting: String },
    /// The user lacks rights. The text says which.
    Rights { server: String, missing: String },
    /// The schema is empty, and the command does not create tables.
    Missing { server: String, schema: String },
    /// The schema has tables of another program.
    Foreign { server: String, schema: String },
    /// A table of the schema is missing.
    Incomplete { server: String, schema: String, table: String },
    /// The schema is an incomplete copy.
    PartialCopy { server: String, schema: String },
    /// A newer version of the program wrote the schema.
    Newer { server: String, found: i64, known: i64 },
    /// An older version of the program wrote the schema.
    Older { server: String, found: i64, known: i64 },
    /// The upgrade from an older version failed.
    NotUpgraded { server: String, why: String, may_pass: bool },
    /// Another failure.
    Failed { server: String, why: String, may_pass: bool },
}

impl OpenError {
    /// Returns whether a later start might succeed without any action by the operator.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TooManyConnections(_) | Self::ReadOnly(_) => true,
            Self::NotUpgraded { may_pass, .. } | Self::Failed { may_pass, .. } => *may_pass,
            _ => false,
        }
    }

    /// Returns the error for a statement that failed at the start.
    pub(super) fn of_statement(server: &impl ToString, error: &Error) -> Self {
        Self::Failed { server: server.to_string(), why: error.to_string(), may_pass: is_passing(error) }
    }

    /// Returns the error for a step of an upgrade that failed.
    pub(super) fn of_upgrade(server: &impl ToString, error: &Error) -> Self {
        Self::NotUpgraded { server: server.to_string(), why: error.to_string(), may_pass: is_passing(error) }
    }

    /// Returns the error of a URL that the driver cannot parse. The text of the error may repeat the value of a
    /// parameter, but not the password.
    pub(super) fn of_url(error: &tokio_postgres::Error) -> Self {
        Self::Url(error.source().map_or_else(|| error.to_string(), ToString::to_string))
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(why) => write!(f, "the database URL cannot be used: {why}"),
            Self::Tls(why) => f.write_str(why),
            Self::Unreachable { server, why } => write!(f, "{server} cannot be reached: {why}"),
            Self::TooManyConnections(server) => {
                write!(
                    f,
                    "{server} has no free connection; raise max_connections or the user's limit, or stop other clients"
                )
            }
            Self::ReadOnly(server) => write!(f, "{server} accepts no writes: it is a standby or set to read-only"),
            Self::Untrusted { server, why } => write!(f, "there is no trusted connection to {server}: {why}"),
            Self::Refused { server, why } => write!(f, "{server} refuses the user or the password: {why}"),
            Self::NoDatabase(server) => write!(f, "{server} does not exist; create the database first"),
            Self::Failed { server, why, .. } => write!(f, "{server} cannot be opened: {why}"),
            Self::NotUpgraded { server, why, .. } => {
                write!(f, "{server} could not be upgraded and was not changed: {why}")
            }
            Self::TooOld { server, found } => {
                write!(f, "{server} runs PostgreSQL {found}; the service needs version 15 or newer")
            }
            Self::Encoding { server, found } => {
                write!(f, "{server} has the encoding {found}; create a database with the encoding UTF8")
            }
            Self::NoSchema(server) => {
                write!(f, "no schema in the search_path of the user exists in {server}; create one for the user")
            }
            Self::NotDurable { server, setting } => {
                write!(f, "{server} has {setting}, with which confirmed changes can be lost; remove this setting")
            }
            Self::Rights { server, missing } => write!(f, "the user lacks rights in {server}: {missing}"),
            Self::Missing { server, schema } => {
                write!(f, "the schema {schema} of {server} is empty; `appliance serve` creates the tables")
            }
            Self::Foreign { server, schema } => write!(
                f,
                "the schema {schema} of {server} has tables of another program and was not changed; use an empty schema"
            ),
            Self::Incomplete { server, schema, table } => write!(
                f,
                "the schema {schema} of {server} lacks the table {table} and was not changed; restore the whole \
                 database, or use an empty schema"
            ),
            Self::PartialCopy { server, schema } => write!(
                f,
                "the schema {schema} of {server} is an incomplete copy; repeat the `appliance copy` that created it, \
                 or empty the schema"
            ),
            Self::Newer { server, found, known } => write!(
                f,
                "{server} has version {found}, but this program supports only version {known}; the database was not \
                 changed; use a newer version of the program"
            ),
            Self::Older { server, found, known } => {
                write!(
                    f,
                    "{server} has version {found}, but this program needs version {known}; `appliance serve` upgrades \
                     the database when it starts"
                )
            }
        }
    }
}

impl StdError for OpenError {}

/// Returns whether a later start may succeed. An answer that counts as a defect comes from the tables, the rights or
/// the settings of the server, so the next answer is the same.
fn is_passing(error: &Error) -> bool {
    !matches!(error, Error::Defect(_))
}

/// Classifies the failure of a new connection.
pub(super) fn of_connect(server: &str, failure: &Failure) -> OpenError {
    let server = server.to_owned();
    let why = failure.to_string();
    if let Some(code) = failure.code() {
        return match code {
            "3D000" => OpenError::NoDatabase(server),
            "53300" => OpenError::TooManyConnections(server),
            "57P01" | "57P02" | "57P03" => OpenError::Unreachable { server, why },
            "42501" => OpenError::Rights { server, missing: "the user may not connect to the database".to_owned() },
            _ if code.starts_with("28") => OpenError::Refused { server, why },
            _ => OpenError::Failed { server, why, may_pass: is_passing(&failure.error()) },
        };
    }
    let Failure::Driver(error) = failure else { return OpenError::Unreachable { server, why } };
    let cause = error.source();
    if let Some(tls) = cause.and_then(tls_error) {
        return OpenError::Untrusted { server, why: tls };
    }
    match cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
        Some(cause) if cause.kind() == io::ErrorKind::PermissionDenied && !is_of_system(cause) => {
            OpenError::ReadOnly(server)
        }
        Some(_) => OpenError::Unreachable { server, why },
        None if error.is_closed() => OpenError::Unreachable { server, why },
        // The driver's text for a server without TLS.
        None if why.contains("does not support TLS") => {
            let why = "the server does not support TLS; set up TLS on the server, or add sslmode=disable to the URL if \
                       the network is trusted";
            OpenError::Untrusted { server, why: why.to_owned() }
        }
        // The driver's texts for a missing password, and for a server whose proof of the password is wrong.
        None if why.contains("authentication") || why.contains("password") => OpenError::Refused { server, why },
        None => OpenError::Failed { server, why, may_pass: true },
    }
}

/// Returns whether the error comes from the system. The driver reports a read-only server as an error of the same kind.
fn is_of_system(error: &io::Error) -> bool {
    error.raw_os_error().is_some()
}

/// Returns the text of a failed TLS handshake.
fn tls_error(cause: &(dyn StdError + 'static)) -> Option<String> {
    let found = cause.downcast_ref::<io::Error>()?.get_ref()?;
    let found = found.downcast_ref::<RustlsError>()?;
    Some(format!("TLS failed: {found}"))
}

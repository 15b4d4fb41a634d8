//! The PostgreSQL engine: connections, transactions, the outcome of a commit whose answer was lost, and the checks at
//! the start. It knows PostgreSQL and two tables of its own (`engine_schema` and `engine_writers`), but no record of the
//! service.
//!
//! The driver is `tokio-postgres`. Each connection has a runtime of its own on the thread that uses the connection
//! ([`session`]), so that callers block, as they do with SQLite, and no statement wakes a second thread.
//!
//! A thread of another runtime must not call this module, because a runtime cannot wait inside a runtime.

mod connection;
pub(super) mod driver;
mod error;
mod lease;
mod listener;
mod lock;
mod open_error;
mod prepare;
mod readers;
mod registration;
mod session;
mod settings;
mod statement;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod value;
mod writer;

pub(crate) use connection::Connection;
pub(crate) use lease::Lease;
pub(crate) use listener::Listener;
pub(crate) use open_error::OpenError;
pub(crate) use prepare::{Missing, Schema, prepare};
pub(crate) use readers::Readers;
pub(crate) use target::Target;
pub(crate) use writer::{Mode, Writer};

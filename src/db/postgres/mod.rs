//! The PostgreSQL engine: connections, transactions, the outcome of a commit whose answer was lost, and the checks at
//! the start. This module depends on its own tables (`engine_schema`, `engine_writers`, `engine_vacuum`,
//! `engine_counts` and, during a copy, `engine_copy` and `engine_copy_steps`), but not on any record of the service.
//!
//! The driver is `tokio-postgres`. Each connection has a runtime of its own on the thread that uses the connection
//! ([`session`]), so that callers block, as they do with SQLite, and no statement wakes a second thread.
//!
//! A thread of another runtime may call this module if that runtime has several threads ([`session`]). The tasks of a
//! runtime with one thread must not call it.

pub(crate) mod command;
mod connect;
mod connection;
pub(crate) mod counts;
pub(super) mod driver;
pub(crate) mod engine;
mod error;
mod lease;
mod lock;
mod open_error;
mod prepare;
pub(super) mod readers;
mod registration;
mod session;
mod settings;
mod statement;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod tls;
pub(super) mod transfer;
pub(crate) mod vacuum;
mod value;
mod writer;

pub(crate) use lease::{SharedLease, while_held};
pub(crate) use open_error::OpenError;
pub(crate) use prepare::{Purpose, Schema, prepare, version_refusal};
pub(crate) use readers::Readers;
pub(crate) use registration::ID_BYTES;
pub(crate) use settings::open_to_write;
pub(crate) use target::Target;
pub(crate) use writer::{Patience, Writer};

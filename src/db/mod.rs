//! The database layer: one writing connection, transactions, background jobs, and the engine that stores the rows. The
//! code of each engine is in `sqlite` and `postgres`. Other files name an engine only to select it, or to describe a
//! difference between the two. Besides the engines' own tables, this layer depends on three tables of the schema
//! (`believed_clock`, `readiness` and `service_marks`). It knows no concept of the domain, such as a role or a
//! candidate.

pub(crate) mod cleanup;
pub mod clock;
mod command;
pub(crate) mod connection;
pub mod count;
pub(crate) mod engine;
mod error;
pub(crate) mod halt;
pub mod health;
pub(crate) mod hooks;
pub(crate) mod job;
pub(crate) mod job_reader;
pub mod location;
mod params;
mod pending;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod readers;
pub(crate) mod row;
pub(crate) mod scheduler;
pub(crate) mod service_log;
pub mod sqlite;
#[cfg(feature = "postgres")]
pub mod transfer;
pub(crate) mod tx;
pub(crate) mod upgrade;
pub(crate) mod value;
pub(crate) mod writer;
pub(crate) mod writer_thread;
pub(crate) mod writing_engine;

pub use command::{act_alone, read_alone};
pub(crate) use command::{open_for_command, read_at};
pub use error::Error;
pub use halt::{Closed, Halt};
pub use job::Grade;
pub(crate) use sqlite::command::act_beside;
pub use sqlite::command::read_unchanged;
pub use sqlite::file::OpenError;
pub use sqlite::reserve::Reserve;
pub use tx::Tx;

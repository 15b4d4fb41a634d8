//! The database layer: one SQLite file with one writing connection, pooled reading connections, checkpoints, background
//! jobs, schema and backup. This layer depends on SQLite and on three tables of the schema (`believed_clock`,
//! `readiness` and `service_marks`), but not on any record of the service.

pub(crate) mod check;
pub(crate) mod checkpoint;
pub mod clock;
pub(crate) mod command;
pub(crate) mod connection;
mod copy_comparison;
mod engine;
mod error;
pub mod file;
pub(crate) mod full_disk;
pub(crate) mod gentle;
pub(crate) mod halt;
pub mod health;
pub(crate) mod hooks;
pub(crate) mod identity;
pub(crate) mod idle_cache;
pub(crate) mod job;
pub(crate) mod job_reader;
mod page;
pub(crate) mod page_wiping;
pub(crate) mod path;
mod pending;
pub(crate) mod reserve;
pub(crate) mod row;
pub(crate) mod scheduler;
pub(crate) mod schema;
pub(crate) mod service_log;
pub(crate) mod tx;
pub mod upgrade_plan;
pub(crate) mod wal;
pub(crate) mod writer;
pub(crate) mod writer_thread;

pub(crate) use command::act_beside;
pub use command::{act_alone, read_alone, read_unchanged};
pub use error::Error;
pub use file::OpenError;
pub use halt::{Closed, Halt};
pub use job::Grade;
pub use reserve::Reserve;
pub use tx::Tx;

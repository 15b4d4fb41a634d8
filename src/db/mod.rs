//! The engine: one SQLite file, one writing connection on a thread of its own, pooled reading connections, checkpoints, schema,
//! backup. Knows SQLite. Must not know a noun or the table of one.

pub(crate) mod alone;
pub(crate) mod check;
pub(crate) mod checkpoint;
pub mod clock;
pub(crate) mod connection;
mod engine;
mod error;
pub mod file;
pub(crate) mod full_disk;
pub(crate) mod halt;
pub mod health;
pub(crate) mod hooks;
pub(crate) mod identity;
pub(crate) mod idle_cache;
pub(crate) mod job;
mod page;
pub(crate) mod page_wiping;
pub(crate) mod path;
mod pending;
pub(crate) mod reserve;
pub(crate) mod row;
mod same;
pub(crate) mod scheduler;
pub(crate) mod schema;
pub(crate) mod service_log;
pub(crate) mod tx;
pub(crate) mod wal;
pub(crate) mod writer;
pub(crate) mod writer_thread;

pub use alone::{act_alone, read_alone};
pub use error::Error;
pub use file::OpenError;
pub use halt::{Closed, Halt};
pub use job::Grade;
pub use reserve::Reserve;
pub use tx::Tx;

//! The SQLite engine: one file with a write-ahead log, one writing connection, pooled reading connections, checkpoints,
//! page wiping, schema, upgrades and backup. This folder depends on two tables of the schema (`readiness` and
//! `service_marks`). It knows no concept of the domain, such as a role or a candidate.

pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod command;
pub(crate) mod connection;
mod copy_comparison;
pub(super) mod driver;
pub(crate) mod engine;
mod error;
pub mod file;
pub(crate) mod full_disk;
pub(crate) mod gentle;
pub(crate) mod identity;
pub(crate) mod idle_cache;
mod page;
pub(crate) mod page_wiping;
pub(crate) mod path;
pub(crate) mod reserve;
pub(crate) mod schema;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "postgres")]
pub(super) mod transfer;
pub mod upgrade_plan;
pub(crate) mod wal;

//! The usage log: one row for each request that an API key authenticated. New rows are always appended (`log`).
//!
//! Each row refers to the previous row of the same key, so the query for a page follows this chain. A sparse index
//! (`index`) provides the row to start from. A background job (`indexing`) fills the index in bulk, and the query scans
//! the few rows that are not indexed yet. The oldest rows of all keys are pruned (`pruning`), so a row may refer to a
//! previous row that no longer exists.

pub(crate) mod elsewhere;
pub(crate) mod index;
pub(crate) mod indexing;
pub(crate) mod log;
pub(crate) mod page;
pub(crate) mod pruning;
pub(crate) mod redate;
#[cfg(test)]
mod tests;
pub(crate) mod writer;

pub use log::{LogEntry, append};
pub use page::{UsageRow, page};

//! The copy of a whole database to the other engine, or from one PostgreSQL database to another.

#[cfg(feature = "postgres")]
use std::path::Path;

#[cfg(feature = "postgres")]
use super::schema::CURRENT;
#[cfg(feature = "postgres")]
pub use crate::db::transfer::{Copied, Event, TransferError};

/// Copies the database `from` into a new file or an empty schema, or continues an interrupted copy. At the end,
/// compares the number of rows and the content of all tables.
///
/// # Errors
/// A [`TransferError`]. The source is unchanged, and the destination is either unchanged or an incomplete copy.
#[cfg(feature = "postgres")]
pub fn copy(from: &Path, to: &Path, report: &mut dyn FnMut(Event<'_>)) -> Result<Copied, TransferError> {
    crate::db::transfer::copy(from, to, &CURRENT, report)
}

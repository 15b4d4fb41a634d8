//! The copy of a whole database to the other engine or to another PostgreSQL database, table by table and in the order
//! of the primary keys.
//!
//! The copy of the rows needs no record of its progress: each transaction adds the next rows of one table, so an
//! interrupted copy continues after the greatest key in the destination. Until the copy is complete, the destination
//! has the mark of an incomplete copy ([`super::upgrade::PARTIAL_COPY_ID`]), and no other command and no service opens
//! it. The mark comes with a digest of the state of the source, by which a later run recognizes the source.
//!
//! The list of tables and columns comes from the schema. The code in this folder names no table of the service. Only
//! the rows of these tables are copied. Other state, such as the progress of page wiping, the erasure list,
//! registrations of writers, leases and statistics, belongs to the engine of the destination, which creates its own.

pub(in crate::db) mod chunk;
mod compare;
mod digest;
mod end;
pub(in crate::db) mod error;
mod run;
pub(in crate::db) mod table;

pub use self::error::TransferError;
pub(crate) use self::run::copy;
pub use self::run::{Copied, Event};

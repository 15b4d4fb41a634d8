//! Imports a table of candidates as CSV (RFC 4180) into an existing organization.
//!
//! `text` splits the text into records and cells, `row` parses cells as values, `table` collects the rows, and `plan`
//! compares them with the database.

mod plan;
mod row;
mod table;
mod text;

pub use plan::plan;
pub use table::{COLUMNS, Table};

//! The comparison of the source with the complete copy.

use super::digest::{self, TableDigest};
use super::end::End;
use super::error::TransferError;
use super::table::Catalog;
use crate::db::connection::Connection;
use crate::db::error::Error;

/// Compares the number of rows and a digest of each table. Reads both databases at the same time. Returns the total
/// number of rows.
pub(super) fn compare(source: &mut End, destination: &mut End, catalog: &Catalog) -> Result<u64, TransferError> {
    let (of_source, of_destination) = std::thread::scope(|scope| {
        let source = &mut *source;
        let reading = scope.spawn(move || digests(&source.connection, catalog));
        let of_destination = digests(&destination.connection, catalog);
        let ended = || Error::Defect("the thread that read the source panicked".to_owned());
        (reading.join().unwrap_or_else(|_| Err(ended())), of_destination)
    });
    let of_source = of_source.map_err(|error| source.stopped(error))?;
    let of_destination = of_destination.map_err(|error| destination.stopped(error))?;
    let shown = destination.shown.clone();
    for ((table, from), to) in catalog.tables.iter().zip(&of_source).zip(&of_destination) {
        if from != to {
            return Err(TransferError::Differs { table: table.name.clone(), from: from.rows, to: to.rows, shown });
        }
    }
    Ok(of_source.iter().map(|table| table.rows).sum())
}

fn digests(connection: &Connection, catalog: &Catalog) -> Result<Vec<TableDigest>, Error> {
    catalog.tables.iter().map(|table| digest::of_table(connection, table)).collect()
}

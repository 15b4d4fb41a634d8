//! The steps of a copy.

use std::path::Path;

use super::chunk::{Chunks, last_row};
use super::compare::compare;
use super::digest;
use super::end::{End, Found};
use super::error::TransferError;
use super::table::{Catalog, Table};
use crate::db::error::Error;
use crate::db::location::{is_server, shown};
use crate::db::sqlite::transfer::catalog;
use crate::db::upgrade::Schema;
use crate::db::value::Value;
use crate::domain::text::counted;

/// The progress of a copy, for the person who waits for the copy.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A new copy begins. The source is not locked yet, so the caller may still write to it.
    Begins,
    /// A part of the work begins.
    Part(&'a str),
    /// The rows that the copy has yet to add have this many bytes in texts and blobs.
    Bytes(u64),
    /// Rows with this many bytes in texts and blobs were copied.
    Copied(u64),
}

/// A complete copy.
#[derive(Debug, Clone, Copy)]
pub struct Copied {
    pub tables: usize,
    pub rows: u64,
}

/// Copies the database `from` into a new file or an empty schema, or continues an interrupted copy.
///
/// # Errors
/// Returns the reason why the copy ends early. The source is unchanged, and the destination is either unchanged or an
/// incomplete copy.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    schema: &Schema,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Copied, TransferError> {
    if from == to {
        return Err(TransferError::Same(shown(from)));
    }
    if !is_server(from) && !is_server(to) {
        return Err(TransferError::Files);
    }
    let catalog = &catalog(schema).map_err(|error| TransferError::of_statement("the schema", error))?;
    let found = End::find(to, schema)?;
    if matches!(found, Found::New(_)) {
        report(Event::Begins);
    }
    let mut source = End::source(from, schema)?;
    let mut destination = destination(&source, to, found, schema, catalog, report)?;
    copy_rows(&source, &destination, catalog, report)?;
    report(Event::Part("completing the schema"));
    destination.complete(catalog).map_err(|error| destination.stopped(error))?;
    report(Event::Part("comparing the two databases"));
    let rows = compare(&mut source, &mut destination, catalog)?;
    destination.publish(catalog).map_err(|error| destination.stopped(error))?;
    Ok(Copied { tables: catalog.tables.len(), rows })
}

/// Returns the destination: a new one, or an interrupted copy of this source.
fn destination(
    source: &End,
    to: &Path,
    found: Found,
    schema: &Schema,
    catalog: &Catalog,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<End, TransferError> {
    let state = digest::of_state(&source.connection, catalog).map_err(|error| source.stopped(error))?;
    let destination = match found {
        Found::Partial(end) => {
            let began_with = end.source_state().map_err(|error| end.stopped(error))?;
            if began_with != state {
                return Err(TransferError::OtherSource(end.shown));
            }
            report(Event::Part("continuing an interrupted copy"));
            *end
        }
        Found::New(new) => {
            report(Event::Part("checking the texts of the source"));
            source.check_texts(catalog)?;
            End::create(to, new, schema, &state)?
        }
    };
    // A power cut can undo the newest transactions, and the next run then copies their rows again. The last transaction
    // of the copy is durable. When it is committed, all earlier transactions are durable too.
    destination.connection.set_durable(false).map_err(|error| destination.stopped(error))?;
    Ok(destination)
}

fn copy_rows(
    source: &End,
    destination: &End,
    catalog: &Catalog,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), TransferError> {
    let ends: Vec<Vec<Value>> =
        catalog.tables.iter().map(|table| end_of(destination, table)).collect::<Result<_, _>>()?;
    let size = |(table, end): (&Table, &Vec<Value>)| source.size_after(table, end);
    let left: Vec<(u64, u64)> =
        catalog.tables.iter().zip(&ends).map(size).collect::<Result<_, _>>().map_err(|error| source.stopped(error))?;
    report(Event::Bytes(left.iter().map(|(_, bytes)| bytes).sum()));
    for ((table, end), (rows, _)) in catalog.tables.iter().zip(ends).zip(left) {
        if rows > 0 {
            let rows = usize::try_from(rows).unwrap_or(usize::MAX);
            report(Event::Part(&format!("copying {}: {}", table.name, counted(rows, "row"))));
            copy_table(source, destination, table, end, report)?;
        }
    }
    Ok(())
}

/// Returns the key of the last row that was copied into a table, or an empty key if the table has no rows.
fn end_of(destination: &End, table: &Table) -> Result<Vec<Value>, TransferError> {
    let last = last_row(&destination.connection, table).map_err(|error| destination.stopped(error))?;
    Ok(last.last_key(table))
}

fn copy_table(
    source: &End,
    destination: &End,
    table: &Table,
    end: Vec<Value>,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), TransferError> {
    let mut chunks = Chunks::after(&source.connection, table, end);
    while let Some(chunk) = chunks.next().map_err(|error| source.stopped(error))? {
        destination.add(table, &chunk).map_err(|error| match error {
            // The engine refuses the row, for example because of a constraint.
            Error::Defect(why) => {
                TransferError::Refused { shown: destination.shown.clone(), table: table.name.clone(), why }
            }
            error => destination.stopped(error),
        })?;
        report(Event::Copied(chunk.bytes() as u64));
    }
    Ok(())
}

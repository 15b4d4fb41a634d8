//! Reading the rows of a query.

use super::error::Error;
#[cfg(feature = "postgres")]
use super::postgres::driver as postgres;
use super::sqlite::driver;
use super::value::{ColumnType, ValueRef};
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;

/// A row of a query. It is valid until the next row is read.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a>(EngineRow<'a>);

/// The row of the engine that runs the query.
#[derive(Clone, Copy)]
enum EngineRow<'a> {
    Sqlite(driver::Row<'a>),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Row<'a>),
}

impl<'a> Row<'a> {
    pub(super) fn of_sqlite(row: driver::Row<'a>) -> Self {
        Self(EngineRow::Sqlite(row))
    }

    #[cfg(feature = "postgres")]
    pub(super) fn of_postgres(row: postgres::Row<'a>) -> Self {
        Self(EngineRow::Postgres(row))
    }

    /// Reads the column of this name.
    pub(crate) fn get<T: ColumnType>(&self, name: &str) -> Result<T, Error> {
        self.read(self.position(name)?)
    }

    /// Reads the column at this position.
    pub(super) fn read<T: ColumnType>(&self, index: usize) -> Result<T, Error> {
        let value = self.value(index)?;
        T::from_value(value).ok_or_else(|| self.mismatch(index, value))
    }

    /// Reads the column of this name, a sequence of bytes, without copying the bytes.
    pub(super) fn blob(&self, name: &str) -> Result<&'a [u8], Error> {
        let index = self.position(name)?;
        match self.value(index)? {
            ValueRef::Blob(bytes) => Ok(bytes),
            other => Err(self.mismatch(index, other)),
        }
    }

    fn position(&self, name: &str) -> Result<usize, Error> {
        match self.0 {
            EngineRow::Sqlite(row) => row.position(name),
            #[cfg(feature = "postgres")]
            EngineRow::Postgres(row) => row.position(name),
        }
    }

    /// Returns the value of the column at this position.
    pub(super) fn value(&self, index: usize) -> Result<ValueRef<'a>, Error> {
        match self.0 {
            EngineRow::Sqlite(row) => row.value(index),
            #[cfg(feature = "postgres")]
            EngineRow::Postgres(row) => row.value(index),
        }
    }

    #[cold]
    fn mismatch(&self, index: usize, value: ValueRef<'_>) -> Error {
        let name = match self.0 {
            EngineRow::Sqlite(row) => row.name(index),
            #[cfg(feature = "postgres")]
            EngineRow::Postgres(row) => row.name(index),
        };
        let name = name.unwrap_or_default();
        Error::Defect(format!("column {index} ({name}) contains {}, which is not expected there", value.kind()))
    }
}

/// A row whose columns are read in the order in which the query lists them. The code therefore needs no column numbers.
/// Reading by name would search through the names for each column of each row.
pub(crate) struct Columns<'a> {
    row: Row<'a>,
    index: usize,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(row: &Row<'a>) -> Self {
        Self { row: *row, index: 0 }
    }

    /// Reads the next column.
    pub(crate) fn read<T: ColumnType>(&mut self) -> Result<T, Error> {
        let index = self.advance();
        self.row.read(index)
    }

    /// Reads the next column, a string, without copying the string.
    pub(crate) fn text(&mut self) -> Result<&'a str, Error> {
        let index = self.advance();
        match self.row.value(index)? {
            ValueRef::Text(text) => Ok(text),
            other => Err(self.row.mismatch(index, other)),
        }
    }

    /// Reads the next column, a string or null, without copying the string.
    pub(crate) fn text_or_none(&mut self) -> Result<Option<&'a str>, Error> {
        let index = self.advance();
        match self.row.value(index)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => Ok(Some(text)),
            other => Err(self.row.mismatch(index, other)),
        }
    }

    /// Reads the next column, a string, and parses it.
    ///
    /// # Errors
    /// [`Error::Defect`] if the column contains no string, or if `parse` refuses the string. The column's `CHECK`
    /// constraint should prevent the latter.
    pub(crate) fn parse<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
        word(self.text()?, parse)
    }

    /// Reads the next column like [`Columns::parse`], but also accepts null.
    pub(crate) fn parse_or_none<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Error> {
        self.text_or_none()?.map(|text| word(text, parse)).transpose()
    }

    /// Reads the next column, a time.
    pub(crate) fn time(&mut self) -> Result<Timestamp, Error> {
        Ok(Timestamp::from_micros(self.read()?))
    }

    /// Reads the next column, a time or null.
    pub(crate) fn time_or_none(&mut self) -> Result<Option<Timestamp>, Error> {
        Ok(self.read::<Option<i64>>()?.map(Timestamp::from_micros))
    }

    fn advance(&mut self) -> usize {
        self.index += 1;
        self.index - 1
    }
}

/// Parses the string in a column that contains an id or a word from a closed set.
///
/// # Errors
/// [`Error::Defect`] if `parse` refuses the string, which the column's `CHECK` constraint should prevent. The error
/// goes to the log, so it does not contain the string, which may be an address.
pub(crate) fn word<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
    parse(text)
        .ok_or_else(|| Error::Defect(format!("a column contains an invalid string of {}", counted(text.len(), "byte"))))
}

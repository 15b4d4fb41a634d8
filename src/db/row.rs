//! Reading the rows of a query and binding its parameters: the only part of the SQLite driver that the store may use.

pub(crate) use rusqlite::types::Value;
pub(crate) use rusqlite::{Connection, Row, params_from_iter};

use rusqlite::types::{FromSql, FromSqlError};

use super::error::Error;
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;

/// A row whose columns are read in the order in which the query lists them. The code therefore needs no column numbers.
/// Reading by name would search through the names for each column of each row.
pub(crate) struct Columns<'a> {
    row: &'a Row<'a>,
    index: usize,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(row: &'a Row<'a>) -> Self {
        Self { row, index: 0 }
    }

    /// Reads the next column.
    pub(crate) fn read<T: FromSql>(&mut self) -> Result<T, Error> {
        let index = self.advance();
        Ok(self.row.get(index)?)
    }

    /// Reads the next column, a string, without copying the string.
    pub(crate) fn text(&mut self) -> Result<&'a str, Error> {
        self.text_or_none()?.ok_or_else(|| rusqlite::Error::from(FromSqlError::InvalidType).into())
    }

    /// Reads the next column, a string or null, without copying the string.
    pub(crate) fn text_or_none(&mut self) -> Result<Option<&'a str>, Error> {
        let index = self.advance();
        let value = self.row.get_ref(index)?;
        Ok(value.as_str_or_null().map_err(rusqlite::Error::from)?)
    }

    /// Reads the next column, a string, and parses it.
    ///
    /// # Errors
    /// [`Error::Defect`] if `parse` refuses the string, which the column's `CHECK` constraint should prevent.
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

/// Reads a time column.
pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp, Error> {
    Ok(Timestamp::from_micros(row.get(column)?))
}

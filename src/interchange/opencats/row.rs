//! Reads the columns of one row by name, and collects the row's faults.

use super::sql::SqlRow;
use crate::domain::plain;
use crate::domain::text::{self, counted};
use crate::domain::timestamp::Timestamp;
use crate::interchange::addition::RefusedItem;
use crate::interchange::ats::item::time_in_utc;

/// The beginnings of the dates that OpenCATS and MySQL store for a missing date.
const NO_DATES: [&str; 2] = ["1000-01-01", "0000-00-00"];

/// The maximum length of a row's id in a report.
const ID_EXCERPT_CHARACTERS: usize = 40;

/// A row of a table, and its faults.
pub(super) struct Row {
    row: SqlRow,
    location: String,
    faults: Vec<String>,
}

impl Row {
    /// Creates a row of the file with this name.
    pub(super) fn new(file: &str, row: SqlRow) -> Self {
        let mut faults = Vec::new();
        if row.columns.len() != row.values.len() {
            faults.push(format!(
                "the row has {} for {}",
                counted(row.values.len(), "value"),
                counted(row.columns.len(), "column")
            ));
        }
        let id = row.values.first().cloned().flatten().unwrap_or_default();
        let id = text::cut(&id, ID_EXCERPT_CHARACTERS);
        let location = format!("{} {id} ({file} line {})", row.table, row.line);
        Self { row, location, faults }
    }

    pub(super) fn table(&self) -> &str {
        &self.row.table
    }

    pub(super) fn location(&self) -> &str {
        &self.location
    }

    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    pub(super) fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn into_refused(self) -> Option<RefusedItem> {
        (!self.faults.is_empty()).then_some(RefusedItem { location: self.location, reasons: self.faults })
    }

    /// Returns the value of a column, or `None` if the column is missing, null or blank.
    pub(super) fn get(&self, column: &str) -> Option<&str> {
        let index = self.row.columns.iter().position(|name| name == column)?;
        let value = self.row.values.get(index)?.as_deref()?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Reads a required id.
    pub(super) fn id(&mut self, column: &str) -> Option<String> {
        let id = self.get(column).and_then(|value| value.parse::<u64>().ok()).map(|id| id.to_string());
        if id.is_none() {
            self.fault(format!("{column} must be a whole number"));
        }
        id
    }

    /// Reads an optional number.
    pub(super) fn number(&mut self, column: &str) -> Option<i64> {
        let number = self.get(column)?.parse().ok();
        if number.is_none() {
            self.fault(format!("{column} must be a whole number"));
        }
        number
    }

    /// Reads an optional text of one line.
    pub(super) fn text(&mut self, column: &str, characters_max: usize) -> Option<String> {
        let value = self.get(column)?.to_owned();
        if text::characters(&value) > characters_max {
            self.fault(format!("{column} must have at most {characters_max} characters"));
            return None;
        }
        if let Some(flaw) = plain::flaw_of_line(&value) {
            self.fault(format!("{column} {}", flaw.sentence()));
            return None;
        }
        Some(value)
    }

    /// Reads an optional time. OpenCATS stores times without an offset; they are read as UTC.
    pub(super) fn time(&mut self, column: &str) -> Option<Timestamp> {
        let value = self.get(column)?;
        if NO_DATES.iter().any(|none| value.starts_with(none)) {
            return None;
        }
        let time = time_in_utc(value);
        if time.is_none() {
            self.fault(format!("{column} must be a time such as 2016-03-26 20:11:39"));
        }
        time
    }
}

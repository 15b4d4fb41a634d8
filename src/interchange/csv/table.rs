//! Parses a table of candidates: finds the separator and the headings, and parses the rows.

use super::row::{Heading, Row};
use super::text::Records;
use crate::domain::charset;
use crate::domain::timestamp::Timestamp;

/// The accepted separators. Spreadsheets write semicolons where the decimal sign is a comma, and tabs in UTF-16 files.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The names of all columns, as the documentation spells them.
pub const COLUMNS: &[&str] = Heading::COLUMNS;

/// A parsed table, not yet compared with the database.
#[derive(Debug)]
pub struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) has_role: bool,
    pub(super) notices: Vec<String>,
}

impl Table {
    /// Parses a table. [`plan`](super::plan()) reports invalid rows. `now` is the default for missing times that a
    /// record requires.
    ///
    /// # Errors
    /// A sentence for each fault in the headings, with the line.
    pub fn parse(bytes: &[u8], now: Timestamp) -> Result<Self, Vec<String>> {
        let decoded = charset::decode(bytes);
        let bytes = &*decoded.bytes;
        // Use the separator that yields the largest number of known headings. If several do, use the first of them.
        let known = |separator: &u8| Records::of(bytes, *separator).next().map_or(0, |record| Heading::known(&record));
        let separator = SEPARATORS.into_iter().rev().max_by_key(known).unwrap_or(SEPARATORS[0]);
        let mut records = Records::of(bytes, separator);
        let heading = Heading::read(records.next())?;
        let rows = records.map(|record| Row::read(&heading, record, now)).collect();
        let read_as = |from| format!("the table is not UTF-8 and was read as {from}; check its accented letters");
        let notices = decoded.from.map(read_as).into_iter().chain(heading.unknown()).collect();
        Ok(Self { rows, has_role: heading.has_role(), notices })
    }

    /// Returns the number of rows, including invalid ones.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, Vec<String>> {
        Table::parse(text.as_bytes(), Timestamp::from_micros(0))
    }

    #[test]
    fn headings_are_recognized_in_any_order_and_case_and_with_any_separator() {
        for text in [
            "Email,NAME,role\na@b,A,r",
            "Email\tname\nA@b\tA",
            "\u{feff}role;\"name\"; email \r\nr;A;a@b\r\n",
            "email;name\n",
            "name,email",
        ] {
            assert!(table(text).is_ok(), "{text}");
        }
        let notices = table("name,email,a;b,,\"x\u{7}\"\n").unwrap().notices;
        assert_eq!(notices.len(), 1, "{notices:?}");
        let expected =
            "unknown columns are ignored: \"a;b\", column 4 without a heading, \"x\\u{7}\"; the columns are name, ";
        assert!(notices[0].contains(expected), "{notices:?}");
    }

    #[test]
    fn all_missing_and_duplicate_headings_are_reported_at_once() {
        let faults = table("name,Role,NAME,ROLE\n").unwrap_err();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.iter().all(|sentence| sentence.starts_with("line 1: ")), "{faults:?}");
        for text in ["", "\n\r\n", "\u{feff}", "\"name,email\n", "na\0me,email\n"] {
            assert_eq!(table(text).unwrap_err().len(), 1, "{text:?}");
        }
        assert!(Table::parse(b"\xff\xfen\0a\0m\0e\0,", Timestamp::from_micros(0)).unwrap_err()[0].contains("UTF-8"));
    }
}

//! A table of candidates as CSV (RFC 4180): its headings, its rows, and what they become in an organization that is in
//! the file.
//!
//! `text` takes the table apart, `row` reads a row's cells as values, `place` asks the file where they belong.

mod place;
mod row;
mod text;

pub use place::place;

use self::row::{Heading, Row};
use self::text::Records;
use crate::domain::charset;
use crate::domain::timestamp::Timestamp;

/// What may stand between two cells. Programs in countries whose decimal sign is the comma write the semicolon, and
/// those that write UTF-16 the tab.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The columns that are read, as the documentation spells them.
pub const COLUMNS: &[&str] = Heading::COLUMNS;

/// A table that was read; nothing of the file was asked.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    has_role: bool,
    notices: Vec<String>,
}

impl Table {
    /// Reads a table. A row that is wrong is told when it is placed. `now` stands for every time that is missing.
    ///
    /// # Errors
    /// A sentence each for what is wrong with the headings, with their line.
    pub fn parse(bytes: &[u8], now: Timestamp) -> Result<Self, Vec<String>> {
        let decoded = charset::decode(bytes);
        let bytes = &*decoded.bytes;
        // The separator is the one by which more of the headings are known; the first of them where none decides.
        let known = |separator: &u8| Records::of(bytes, *separator).next().map_or(0, |record| Heading::known(&record));
        let separator = SEPARATORS.into_iter().rev().max_by_key(known).unwrap_or(SEPARATORS[0]);
        let mut records = Records::of(bytes, separator);
        let heading = Heading::read(records.next())?;
        let rows = records.map(|record| Row::read(&heading, record, now)).collect();
        let read_as = |from| format!("the table is not in UTF-8 and was read as {from}; look at its accented letters");
        let notices = decoded.from.map(read_as).into_iter().chain(heading.unknown()).collect();
        Ok(Self { rows, has_role: heading.has_role(), notices })
    }

    /// How many rows it has.
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
    fn headings_are_known_in_any_order_case_and_by_either_separator() {
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
        let told = "passed over, because they are not known: \"a;b\", column 4 without a heading, \"x\\u{7}\"; known are name, ";
        assert!(notices[0].contains(told), "{notices:?}");
    }

    #[test]
    fn headings_that_are_missing_or_twice_are_told_at_once() {
        let told = table("name,Role,NAME,ROLE\n").unwrap_err();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().all(|sentence| sentence.starts_with("line 1: ")), "{told:?}");
        for text in ["", "\n\r\n", "\u{feff}", "\"name,email\n", "na\0me,email\n"] {
            assert_eq!(table(text).unwrap_err().len(), 1, "{text:?}");
        }
        assert!(Table::parse(b"\xff\xfen\0a\0m\0e\0,", Timestamp::from_micros(0)).unwrap_err()[0].contains("UTF-8"));
    }
}

//! Splits CSV text into records and cells (RFC 4180). The parser is written by hand, because an unclosed quote must be
//! reported with its line; the usual libraries silently read on to the end of the input.
//!
//! The parser does not interpret the cells. It accepts more than the RFC: a separator other than a comma, a lone line
//! feed or carriage return at the end of a line, a quote as an ordinary character inside an unquoted cell, and spaces
//! after a closing quote.

/// A row of the table. It spans several lines of the input if a quoted cell contains line breaks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The line of the input on which the record begins, counted from 1.
    pub(super) line: usize,
    /// The cells, without their enclosing quotes.
    pub(super) cells: Vec<String>,
    /// Syntax faults. If there are any, the cells are unreliable.
    pub(super) faults: Vec<String>,
}

/// An iterator over the records of a table. It skips blank records.
pub(super) struct Records<'a> {
    rest: &'a [u8],
    separator: u8,
    line: usize,
}

impl<'a> Records<'a> {
    pub(super) fn of(bytes: &'a [u8], separator: u8) -> Self {
        Self { rest: bytes, separator, line: 1 }
    }

    fn record(&mut self) -> Record {
        let mut record = Record { line: self.line, cells: Vec::new(), faults: Vec::new() };
        loop {
            let begins_in = self.line;
            let cell = if self.rest.first() == Some(&b'"') { self.quoted(&mut record.faults) } else { self.plain() };
            let cell = String::from_utf8(cell).unwrap_or_else(|_| {
                record
                    .faults
                    .push(format!("the cell that begins on line {begins_in} is not UTF-8; save the table as UTF-8"));
                String::new()
            });
            if cell.contains('\0') {
                record.faults.push(format!("the cell that begins on line {begins_in} contains a NUL character"));
            }
            record.cells.push(cell);
            match self.rest {
                [first, rest @ ..] if *first == self.separator => self.rest = rest,
                _ => break,
            }
        }
        self.end_line();
        record
    }

    /// Reads an unquoted cell: everything up to the next separator or the end of the line.
    fn plain(&mut self) -> Vec<u8> {
        let separator = self.separator;
        self.take_until(|byte| byte == separator || byte == b'\n' || byte == b'\r').to_vec()
    }

    /// Reads a quoted cell, in which two quotes stand for one.
    fn quoted(&mut self, faults: &mut Vec<String>) -> Vec<u8> {
        let begins_in = self.line;
        let mut cell = Vec::new();
        loop {
            self.rest = self.rest.get(1..).unwrap_or_default();
            let part = self.take_until(|byte| byte == b'"');
            self.line += breaks(part);
            cell.extend_from_slice(part);
            match self.rest {
                [b'"', b'"', ..] => {
                    cell.push(b'"');
                    self.rest = &self.rest[1..];
                }
                [b'"', ..] => break,
                _ => {
                    faults.push(format!("the quoted cell that begins on line {begins_in} has no closing quote"));
                    return cell;
                }
            }
        }
        self.rest = &self.rest[1..];
        if !self.plain().iter().all(|byte| *byte == b' ') {
            let location = match self.line {
                line if line == begins_in => format!("the cell on line {line}"),
                line => format!("the cell that begins on line {begins_in} and ends on line {line}"),
            };
            faults
                .push(format!("{location} continues after its closing quote; double each quote inside a quoted cell"));
        }
        cell
    }

    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| ends(*byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn end_line(&mut self) {
        self.line += 1;
        self.rest = match self.rest {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => &[],
        };
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while !self.rest.is_empty() {
            let record = self.record();
            if !record.faults.is_empty() || record.cells.iter().any(|cell| !cell.trim().is_empty()) {
                return Some(record);
            }
        }
        None
    }
}

/// Returns the number of line breaks in `text`.
fn breaks(text: &[u8]) -> usize {
    let ends = |(index, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => text.get(index + 1) != Some(&b'\n'),
        _ => false,
    };
    text.iter().enumerate().filter(|each| ends(*each)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(text: &str) -> Vec<(usize, Vec<String>)> {
        let records = Records::of(text.as_bytes(), b',');
        records.map(|record| (record.line, record.cells)).collect()
    }

    fn cells(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn the_examples_in_the_rfc_parse_as_specified() {
        for text in ["aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", "aaa,bbb,ccc\r\nzzz,yyy,xxx", "aaa,bbb,ccc\nzzz,yyy,xxx\n"] {
            assert_eq!(records(text), [(1, cells(&["aaa", "bbb", "ccc"])), (2, cells(&["zzz", "yyy", "xxx"]))]);
        }
        let text = "\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,\"b\"\"bb\",\r\n";
        assert_eq!(records(text), [(1, cells(&["aaa", "b\r\nbb", "ccc"])), (3, cells(&["zzz", "b\"bb", ""]))]);
    }

    #[test]
    fn line_numbers_count_blank_lines_and_line_breaks_in_cells() {
        let text = "a\n\n , ,\r\n\"x\n\ny\",\"\r\n\"\nb\rc\r\n";
        assert_eq!(
            records(text),
            [(1, cells(&["a"])), (4, cells(&["x\n\ny", "\r\n"])), (8, cells(&["b"])), (9, cells(&["c"]))]
        );
    }

    #[test]
    fn quotes_in_unquoted_cells_and_spaces_after_closing_quotes_are_accepted() {
        let read: Vec<Record> = Records::of(b"5\" disk,\"a\"  ,\"\"\n", b',').collect();
        assert_eq!(read, [Record { line: 1, cells: cells(&["5\" disk", "a", ""]), faults: Vec::new() }]);
    }

    #[test]
    fn malformed_cells_are_reported_with_their_lines() {
        let faults = |text: &[u8]| {
            let records = Records::of(text, b',');
            records.map(|record| (record.line, record.faults.join("; "))).collect::<Vec<_>>()
        };
        let read = faults(b"a,\"b\nc,\"d\ne\n");
        assert_eq!((read[0].0, read[1].0, read.len()), (1, 3, 2));
        assert!(read[0].1.contains("begins on line 1 and ends on line 2") && read[1].1.is_empty(), "{read:?}");
        assert!(faults(b"\"a\"b\n")[0].1.starts_with("the cell on line 1 continues after its closing quote"));
        assert!(faults(b"a\nb,\"c\nd\n")[1].1.contains("the quoted cell that begins on line 2 has no closing quote"));
        assert!(faults(b"a\n\xff,\0\n")[1].1.contains("line 2 is not UTF-8") && faults(b"a\0")[0].1.contains("NUL"));
    }

    proptest! {
        #[test]
        fn written_tables_parse_to_the_same_cells(
            rows in prop::collection::vec(prop::collection::vec("[a;,\"\r\n x]{0,6}", 2..4), 1..5),
            semicolon in any::<bool>(),
        ) {
            let separator = if semicolon { ";" } else { "," };
            let cell = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(separator) + "\r\n";
            let text: String = rows.iter().map(line).collect();
            let read: Vec<Record> = Records::of(text.as_bytes(), separator.as_bytes()[0]).collect();
            let is_blank = |row: &&Vec<String>| row.iter().all(|cell| cell.trim().is_empty());
            let expected: Vec<&Vec<String>> = rows.iter().filter(|row| !is_blank(row)).collect();
            prop_assert_eq!(read.iter().map(|record| &record.cells).collect::<Vec<_>>(), expected);
            prop_assert!(read.iter().all(|record| record.faults.is_empty()));
        }

        #[test]
        fn any_bytes_parse_without_a_panic(
            bytes in prop::collection::vec(prop::sample::select(b"a,;\"\r\n\0\xff ".to_vec()), 0..60),
        ) {
            let lines: Vec<usize> = Records::of(&bytes, b',').map(|record| record.line).collect();
            prop_assert!(lines.is_sorted());
        }
    }
}

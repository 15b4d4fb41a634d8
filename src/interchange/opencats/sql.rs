//! Splits a SQL dump of MySQL into the rows of its `INSERT` statements. The parser is written by hand, because the only
//! statements of a dump that matter are `CREATE TABLE`, for the names of the columns, and `INSERT`.
//!
//! The parser does not interpret the values. It skips all statements except `CREATE TABLE` and `INSERT`.

use std::collections::HashMap;
use std::rc::Rc;

/// A value of a row. Numbers are text too, as in the dumps of OpenCATS. A minus sign is dropped. `NULL` is `None`.
pub(super) type Value = Option<String>;

/// A row of an `INSERT` statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SqlRow {
    pub(super) table: String,
    /// The line of the dump on which the row begins, counted from 1.
    pub(super) line: usize,
    /// The names of the columns. Empty if the dump has neither a list of columns nor the table's definition.
    pub(super) columns: Rc<[String]>,
    pub(super) values: Vec<Value>,
}

/// Parses the rows of these tables in a dump.
///
/// # Errors
/// A sentence with the line number if a string, a name, a comment or a row is never closed, or if a row cannot be
/// parsed.
pub(super) fn parse(dump: &[u8], tables: &[&str], mut take: impl FnMut(SqlRow)) -> Result<(), String> {
    let mut parser = Parser { rest: dump, line: 1, columns: HashMap::new() };
    while let Some(token) = parser.token()? {
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case("create") => parser.create_table()?,
            Token::Word(word) if word.eq_ignore_ascii_case("insert") => parser.insert(tables, &mut take)?,
            Token::Symbol(b';') => {}
            _ => parser.skip_statement()?,
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A keyword, a number or an unquoted name.
    Word(String),
    /// A name in backquotes.
    Name(String),
    /// A string.
    Text(String),
    /// A single character of punctuation.
    Symbol(u8),
}

struct Parser<'a> {
    rest: &'a [u8],
    line: usize,
    /// The columns of each table, from its definition.
    columns: HashMap<String, Rc<[String]>>,
}

impl Parser<'_> {
    fn token(&mut self) -> Result<Option<Token>, String> {
        self.skip_space_and_comments()?;
        let Some(first) = self.rest.first().copied() else { return Ok(None) };
        Ok(Some(match first {
            b'\'' | b'"' => Token::Text(self.quoted(first, "string")?),
            b'`' => Token::Name(self.quoted(first, "name")?),
            byte if is_word(byte) => {
                let end = self.rest.iter().position(|byte| !is_word(*byte)).unwrap_or(self.rest.len());
                let word = self.advance(end);
                Token::Word(String::from_utf8_lossy(word).into_owned())
            }
            byte => {
                self.advance(1);
                Token::Symbol(byte)
            }
        }))
    }

    /// Takes this many bytes, and counts their lines.
    fn advance(&mut self, bytes: usize) -> &[u8] {
        let (taken, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.line += taken.iter().filter(|byte| **byte == b'\n').count();
        self.rest = rest;
        taken
    }

    /// Skips white space and comments. Also skips the content of a version-specific comment (`/*!40101 … */`), because
    /// dumps have neither rows nor definitions of the needed tables in these comments.
    fn skip_space_and_comments(&mut self) -> Result<(), String> {
        loop {
            let spaces = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.advance(spaces);
            let length = match self.rest {
                [b'-', b'-', b' ' | b'\t' | b'\r' | b'\n', ..] | [b'#', ..] | [b'-', b'-'] => {
                    self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len())
                }
                [b'/', b'*', ..] => {
                    let end = self.rest.windows(2).skip(2).position(|pair| pair == b"*/");
                    end.ok_or_else(|| format!("line {}: the comment is never closed", self.line))? + 4
                }
                _ => return Ok(()),
            };
            self.advance(length);
        }
    }

    /// Reads a quoted string or name. A doubled quote stands for one. In strings, a backslash escapes a character.
    fn quoted(&mut self, quote: u8, noun: &str) -> Result<String, String> {
        let begins = self.line;
        let mut text = Vec::new();
        let mut at = 1;
        loop {
            match (self.rest.get(at), self.rest.get(at + 1)) {
                (None, _) => return Err(format!("line {begins}: the {noun} is never closed")),
                (Some(byte), Some(next)) if *byte == quote && *next == quote => {
                    text.push(quote);
                    at += 2;
                }
                (Some(byte), _) if *byte == quote => break,
                (Some(b'\\'), Some(next)) if quote != b'`' => {
                    text.push(unescaped(*next));
                    at += 2;
                }
                (Some(byte), _) => {
                    text.push(*byte);
                    at += 1;
                }
            }
        }
        self.advance(at + 1);
        // Dumps of old databases may contain other encodings. A replacement character then shows the loss.
        Ok(String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn skip_statement(&mut self) -> Result<(), String> {
        while self.token()?.is_some_and(|token| token != Token::Symbol(b';')) {}
        Ok(())
    }

    /// Reads the columns of a `CREATE TABLE` statement: the names at the beginning of its definitions.
    fn create_table(&mut self) -> Result<(), String> {
        let mut name = None;
        let mut columns = Vec::new();
        let mut depth = 0_usize;
        let mut is_start = false;
        while let Some(token) = self.token()? {
            let is_definition = std::mem::take(&mut is_start);
            match token {
                Token::Symbol(b';') => break,
                Token::Symbol(b'(') => {
                    depth += 1;
                    is_start = depth == 1;
                }
                Token::Symbol(b')') => depth = depth.saturating_sub(1),
                Token::Symbol(b',') => is_start = depth == 1,
                Token::Name(column) if is_definition => columns.push(column),
                Token::Name(table) if depth == 0 && name.is_none() => name = Some(table),
                _ => {}
            }
        }
        if let Some(name) = name {
            self.columns.insert(name, columns.into());
        }
        Ok(())
    }

    fn insert(&mut self, tables: &[&str], take: &mut impl FnMut(SqlRow)) -> Result<(), String> {
        let mut table = None;
        let mut columns: Option<Rc<[String]>> = None;
        loop {
            match self.token()? {
                Some(Token::Name(name)) if table.is_none() => table = Some(name),
                Some(Token::Symbol(b'(')) if columns.is_none() => columns = Some(self.names()?.into()),
                Some(Token::Word(word)) if word.eq_ignore_ascii_case("values") => break,
                Some(Token::Symbol(b';')) | None => return Ok(()),
                _ => {}
            }
        }
        let Some(table) = table.filter(|table| tables.contains(&table.as_str())) else { return self.skip_statement() };
        let columns = columns.or_else(|| self.columns.get(&table).cloned()).unwrap_or_else(|| Rc::from([]));
        loop {
            match self.token()? {
                Some(Token::Symbol(b'(')) => {
                    let line = self.line;
                    let values = self.values(line)?;
                    take(SqlRow { table: table.clone(), line, columns: Rc::clone(&columns), values });
                }
                Some(Token::Symbol(b',')) => {}
                Some(Token::Symbol(b';')) | None => return Ok(()),
                Some(_) => return self.skip_statement(),
            }
        }
    }

    /// Reads the names in parentheses after the opening parenthesis.
    fn names(&mut self) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        while let Some(token) = self.token()? {
            match token {
                Token::Symbol(b')') => break,
                Token::Name(name) | Token::Word(name) => names.push(name),
                _ => {}
            }
        }
        Ok(names)
    }

    /// Reads the values of a row after the opening parenthesis.
    fn values(&mut self, line: usize) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        let mut value: Option<Value> = None;
        loop {
            let token = self.token()?;
            match token.ok_or_else(|| format!("line {line}: the row is never closed"))? {
                Token::Symbol(b')') => {
                    values.extend(value);
                    return Ok(values);
                }
                Token::Symbol(b',') => values.push(value.take().flatten()),
                Token::Text(text) => value = Some(Some(text)),
                Token::Word(word) if word.eq_ignore_ascii_case("null") => value = Some(None),
                // The character set before a string, as in `_binary 'x'`.
                Token::Word(word) if word.starts_with('_') => {}
                Token::Word(word) => value = Some(Some(word)),
                Token::Symbol(b'-') => {}
                Token::Symbol(symbol) => {
                    return Err(format!("line {line}: the row has an unexpected {:?}", char::from(symbol)));
                }
                Token::Name(name) => return Err(format!("line {line}: the row has an unexpected name {name:?}")),
            }
        }
    }
}

/// Returns whether a byte belongs to a keyword, a number or an unquoted name.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@' | 0x80..)
}

/// Returns the character for which an escape sequence stands ("String Literals" in MySQL's manual).
fn unescaped(escape: u8) -> u8 {
    match escape {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(dump: &str) -> Result<Vec<SqlRow>, String> {
        let mut rows = Vec::new();
        parse(dump.as_bytes(), &["t", "u"], |row| rows.push(row))?;
        Ok(rows)
    }

    fn texts(values: &[&str]) -> Vec<Value> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn rows_get_the_columns_of_their_table() {
        let dump = "-- MySQL dump\n/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (\n  `a` int(11) \
                    NOT NULL DEFAULT '0',\n  `b` varchar(64) COMMENT 'x, `y`',\n  PRIMARY KEY (`a`),\n  KEY `k` (`b`(8))\n) \
                    ENGINE=InnoDB;\ninsert into `t` VALUES \n('1','it\\'s; (b)'),\n(2,NULL);\ninsert into `v` VALUES (1);\n\
                    insert  into `u`(`c`) values (_binary 'x''y'),(-5);";
        let rows = rows(dump).unwrap();
        let read: Vec<_> = rows.iter().map(|row| (row.table.as_str(), row.columns.join(" "))).collect();
        assert_eq!(read, [("t", "a b".into()), ("t", "a b".into()), ("u", "c".into()), ("u", "c".into())]);
        assert_eq!(rows[0].values, texts(&["1", "it's; (b)"]));
        assert_eq!(rows[1].values, [Some("2".to_owned()), None]);
        assert_eq!((rows[0].line, rows[1].line), (11, 12));
        assert_eq!((&rows[2].values, &rows[3].values), (&texts(&["x'y"]), &texts(&["5"])));
    }

    #[test]
    fn unclosed_text_and_malformed_rows_are_reported_with_their_line() {
        for (dump, sentence) in [
            ("\ninsert into `t` VALUES ('a", "line 2: the string is never closed"),
            ("CREATE TABLE `t", "line 1: the name is never closed"),
            ("\n\n/* x", "line 3: the comment is never closed"),
            ("insert into `t` VALUES (1,", "line 1: the row is never closed"),
            ("insert into `t` VALUES (1(", "line 1: the row has an unexpected"),
        ] {
            assert!(rows(dump).unwrap_err().starts_with(sentence), "{dump}: {:?}", rows(dump));
        }
        for dump in ["", ";", "hello", "INSERT", "insert into `t`", "insert into `t` VALUES", "CREATE", "/**/"] {
            assert_eq!(rows(dump), Ok(Vec::new()), "{dump}");
        }
    }

    proptest! {
        #[test]
        fn written_values_parse_to_the_same_texts(values in prop::collection::vec("[a-zé'\"\\\\,;()`\n]{0,8}", 1..6)) {
            let quoted = |value: &String| format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
            let list = values.iter().map(quoted).collect::<Vec<_>>().join(",");
            let read = rows(&format!("insert into `t` VALUES ({list});")).unwrap();
            prop_assert_eq!(&read[0].values, &values.into_iter().map(Some).collect::<Vec<_>>());
        }

        #[test]
        fn no_sequence_of_tokens_makes_the_parser_panic(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "insert into `t` VALUES ", "CREATE TABLE `t` ", "(", ")", ",", ";", "'", "\\", "`", "\"", "/*", "*/", "--", " ",
                "\n", "NULL", "1", "é", "-", "#",
            ]), 0..30),
        ) {
            let _ = rows(&pieces.concat());
        }
    }
}

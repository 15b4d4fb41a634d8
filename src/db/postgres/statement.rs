//! The text of a statement in PostgreSQL's form, and the prepared statements of a connection.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tokio_postgres::Statement;

/// The maximum number of prepared statements that a connection caches. A full cache drops the statement that was used
/// least recently. The service has a few hundred statements; the server needs about 10 KiB for each.
const STATEMENTS_MAX: usize = 256;

/// A prepared statement.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) statement: Statement,
    /// Whether the statement may change rows.
    pub(super) writes: bool,
}

/// The prepared statements of a connection. The key is the text: the address of a text would be faster to compare, but
/// a freed text can leave its address to another one, and a round trip takes a hundred times as long as the comparison.
#[derive(Default)]
pub(super) struct Statements {
    known: RefCell<HashMap<String, (Prepared, Cell<u64>)>>,
    uses: Cell<u64>,
}

impl Statements {
    pub(super) fn get(&self, sql: &str) -> Option<Prepared> {
        let known = self.known.borrow();
        let (prepared, used) = known.get(sql)?;
        used.set(self.next_use());
        Some(prepared.clone())
    }

    pub(super) fn insert(&self, sql: &str, prepared: Prepared) {
        let mut known = self.known.borrow_mut();
        if known.len() >= STATEMENTS_MAX {
            let oldest = known.iter().min_by_key(|(_, (_, used))| used.get()).map(|(sql, _)| sql.clone());
            // Dropping the statement also closes it on the server.
            oldest.and_then(|sql| known.remove(&sql));
        }
        known.insert(sql.to_owned(), (prepared, Cell::new(self.next_use())));
    }

    /// Drops all statements, after a change to the schema or if the server no longer has one of them.
    pub(super) fn clear(&self) {
        self.known.borrow_mut().clear();
    }

    fn next_use(&self) -> u64 {
        self.uses.set(self.uses.get() + 1);
        self.uses.get()
    }
}

/// Returns whether a statement may change rows: every statement that does not begin with `SELECT`.
pub(super) fn writes(sql: &str) -> bool {
    !sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("SELECT"))
}

/// Replaces parameters such as `?1` and `?` with the form `$1`. Leaves strings, quoted names and comments as they are.
pub(super) fn translate(sql: &str) -> Cow<'_, str> {
    if !sql.contains('?') {
        return Cow::Borrowed(sql);
    }
    let mut translated = String::with_capacity(sql.len() + 8);
    let mut highest = 0;
    let mut left = sql;
    while let Some(first) = left.chars().next() {
        let taken = match first {
            '\'' | '"' => quoted(left, first),
            '-' if left.starts_with("--") => left.find('\n').unwrap_or(left.len()),
            '/' if left.starts_with("/*") => left.find("*/").map_or(left.len(), |end| end + 2),
            '?' => {
                let digits = left[1..].bytes().take_while(u8::is_ascii_digit).count();
                // As in SQLite, a parameter without a number has the number after the highest one before it.
                let number = left[1..=digits].parse().unwrap_or(highest + 1);
                highest = highest.max(number);
                translated.push_str(&format!("${number}"));
                left = &left[1 + digits..];
                continue;
            }
            _ => first.len_utf8(),
        };
        translated.push_str(&left[..taken]);
        left = &left[taken..];
    }
    Cow::Owned(translated)
}

/// Returns the length of the string or name at the beginning of the text. A doubled quotation mark ends one string and
/// begins another, which has the same effect.
fn quoted(text: &str, mark: char) -> usize {
    text[1..].find(mark).map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_written_with_a_dollar_sign_outside_of_strings_and_comments() {
        for (sql, translated) in [
            ("SELECT $1", "SELECT $1"),
            ("SELECT ?1, ?2, ?1", "SELECT $1, $2, $1"),
            ("SELECT ?, ?", "SELECT $1, $2"),
            ("SELECT ?1, ?2, ?", "SELECT $1, $2, $3"),
            ("SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10", "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10"),
            ("SELECT '?1 it''s ?2', \"?3\", ?1", "SELECT '?1 it''s ?2', \"?3\", $1"),
            ("SELECT ?1 -- why?\n, ?2 /* ? */", "SELECT $1 -- why?\n, $2 /* ? */"),
            ("SELECT 'ü?', ?1", "SELECT 'ü?', $1"),
            ("SELECT ?1 -- end?", "SELECT $1 -- end?"),
        ] {
            assert_eq!(translate(sql), translated);
        }
    }

    #[test]
    fn only_a_select_is_known_not_to_write() {
        assert!(!writes("\n  select 1") && !writes("SELECT 1"));
        assert!(writes("WITH a AS (DELETE FROM t RETURNING b) SELECT b FROM a") && writes("UPDATE t SET a = 1"));
    }
}

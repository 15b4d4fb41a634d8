//! Reads the text of a schema: its tables, indexes, triggers and rows. Understands as much of the two dialects as the
//! two schemas use, and refuses everything else, so that no part of a schema goes unread.

use std::collections::{BTreeMap, BTreeSet};

/// Everything that a schema creates. Expressions are tokens with a space between them.
#[derive(Debug, Default)]
pub(super) struct SchemaText {
    pub tables: BTreeMap<String, Table>,
    /// The definition of each index, without its name.
    pub indexes: BTreeMap<String, String>,
    pub triggers: BTreeMap<String, Trigger>,
    /// The statements that insert rows.
    pub rows: BTreeSet<String>,
    /// The body of each function. Only PostgreSQL has functions.
    pub functions: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub columns: Vec<Column>,
    pub checks: BTreeSet<String>,
    /// The lists of columns that are unique, each after the words `PRIMARY KEY` or the word `UNIQUE`.
    pub keys: BTreeSet<String>,
    pub foreign_keys: BTreeSet<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    /// The type, with the collation if the text has one.
    pub kind: String,
    pub is_not_null: bool,
    pub is_identity: bool,
    pub default: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trigger {
    /// The time, the event and the table, such as `AFTER UPDATE OF a , b ON c`.
    pub event: String,
    /// The condition; empty for a trigger that always runs.
    pub condition: String,
    /// The statements of the trigger, or the function that it calls.
    pub action: String,
}

impl SchemaText {
    pub(super) fn parse(sql: &str) -> Self {
        let mut schema = Self::default();
        for statement in statements(&tokens(sql)) {
            schema.add(&statement);
        }
        schema
    }

    fn add(&mut self, statement: &[String]) {
        let words: Vec<&str> = statement.iter().map(String::as_str).collect();
        match words[..] {
            ["CREATE", "TABLE", name, ref rest @ ..] => {
                assert!(self.tables.insert(name.to_owned(), table(rest)).is_none(), "{name} is created twice");
            }
            ["CREATE", "INDEX", name, ref rest @ ..] => self.add_index(name, rest),
            ["CREATE", "UNIQUE", "INDEX", name, ..] => self.add_index(name, &[&["UNIQUE"], &words[4..]].concat()),
            ["CREATE", "TRIGGER", name, ref rest @ ..] => {
                assert!(self.triggers.insert(name.to_owned(), trigger(rest)).is_none(), "{name} is created twice");
            }
            ["CREATE", "FUNCTION", name, ref rest @ ..] => {
                let body = rest.last().map_or_else(String::new, |body| tokens(body.trim_matches('$')).join(" "));
                assert!(self.functions.insert(name.to_owned(), body).is_none(), "{name} is created twice");
            }
            ["INSERT", ..] => assert!(self.rows.insert(words.join(" ")), "a row is inserted twice"),
            _ => panic!("a schema has an unknown kind of statement: {}", words.join(" ")),
        }
    }

    fn add_index(&mut self, name: &str, rest: &[&str]) {
        assert!(self.indexes.insert(name.to_owned(), rest.join(" ")).is_none(), "{name} is created twice");
    }
}

/// Returns the tokens of SQL text: words, strings, the bodies of functions, and operators. Skips comments.
fn tokens(sql: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let is_operator = |c: char| "<>=!~:".contains(c);
        let length = match first {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '\'' | '"' => quoted(rest, first),
            '$' if rest.starts_with("$$") => 4 + rest[2..].find("$$").expect("the body of a function ends"),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c if is_operator(c) => rest.find(|c| !is_operator(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        if !rest.starts_with("--") {
            tokens.push(rest[..length].to_owned());
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Returns the length of a quoted string. No string in a schema contains its own quotation mark.
fn quoted(text: &str, mark: char) -> usize {
    2 + text[1..].find(mark).expect("a quoted string ends")
}

/// Splits tokens into statements. The statements between `BEGIN` and `END` belong to the trigger.
fn statements(tokens: &[String]) -> Vec<Vec<String>> {
    let (mut statements, mut statement, mut is_in_body) = (Vec::new(), Vec::new(), false);
    for token in tokens {
        is_in_body = (is_in_body || token == "BEGIN") && token != "END";
        if token == ";" && !is_in_body {
            statements.push(std::mem::take(&mut statement));
        } else {
            statement.push(token.clone());
        }
    }
    assert!(statement.is_empty(), "a schema ends with a semicolon");
    statements
}

/// Returns the number of tokens up to and including the parenthesis that closes the first one.
fn group(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match *token {
            "(" => depth += 1,
            ")" if depth == 1 => return index + 1,
            ")" => depth -= 1,
            _ => {}
        }
    }
    panic!("a parenthesis is not closed: {}", tokens.join(" "));
}

fn table(tokens: &[&str]) -> Table {
    let mut table = Table::default();
    let end = group(tokens);
    let mut items = &tokens[1..end - 1];
    while !items.is_empty() {
        let mut length = 0;
        while length < items.len() && items[length] != "," {
            length += if items[length] == "(" { group(&items[length..]) } else { 1 };
        }
        table.add(&items[..length]);
        items = items.get(length + 1..).unwrap_or_default();
    }
    table
}

impl Table {
    fn add(&mut self, item: &[&str]) {
        match *item {
            ["CHECK", ref check @ ..] => assert!(self.checks.insert(inner(check)), "a check occurs twice"),
            ["UNIQUE", ref columns @ ..] => assert!(self.keys.insert(format!("UNIQUE {}", inner(columns)))),
            ["PRIMARY", "KEY", ref columns @ ..] => {
                assert!(self.keys.insert(format!("PRIMARY KEY {}", inner(columns))));
            }
            ["FOREIGN", "KEY", ref key @ ..] => assert!(self.foreign_keys.insert(key.join(" "))),
            [name, ref rest @ ..] => self.add_column(name, rest),
            [] => panic!("a table has an empty item"),
        }
    }

    fn add_column(&mut self, name: &str, rest: &[&str]) {
        let mut column = Column { name: name.to_owned(), ..Column::default() };
        let mut rest = rest;
        while !rest.is_empty() {
            let length = self.add_part(&mut column, rest);
            rest = &rest[length..];
        }
        self.columns.push(column);
    }

    /// Adds the first part of the definition of a column. Returns the number of its tokens.
    fn add_part(&mut self, column: &mut Column, rest: &[&str]) -> usize {
        let name = &column.name;
        match *rest {
            ["NOT", "NULL", ..] => column.is_not_null = true,
            ["GENERATED", "BY", "DEFAULT", "AS", "IDENTITY", ..] => {
                column.is_identity = true;
                return 5;
            }
            ["PRIMARY", "KEY", ..] => assert!(self.keys.insert(format!("PRIMARY KEY {name}"))),
            ["DEFAULT", value, ..] => column.default = Some(value.to_owned()),
            ["UNIQUE", ..] => {
                assert!(self.keys.insert(format!("UNIQUE {name}")));
                return 1;
            }
            ["CHECK", ref check @ ..] => {
                let length = group(check);
                assert!(self.checks.insert(inner(&check[..length])), "a check occurs twice");
                return 1 + length;
            }
            ["REFERENCES", table, ref columns @ ..] => {
                let length = group(columns);
                let key = format!("( {name} ) REFERENCES {table} {}", columns[..length].join(" "));
                assert!(self.foreign_keys.insert(key));
                return 2 + length;
            }
            [word, ..] => {
                column.kind =
                    [&column.kind, word].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ");
                return 1;
            }
            [] => unreachable!("the rest has a token"),
        }
        2
    }
}

/// Returns the tokens within a pair of parentheses.
fn inner(group: &[&str]) -> String {
    assert!(group.first() == Some(&"(") && group.last() == Some(&")"), "{}", group.join(" "));
    group[1..group.len() - 1].join(" ")
}

fn trigger(tokens: &[&str]) -> Trigger {
    let position = |word: &str| tokens.iter().position(|token| *token == word);
    let action = position("BEGIN").or_else(|| position("EXECUTE")).expect("a trigger has an action");
    let when = position("WHEN").filter(|when| *when < action);
    let event = tokens[..when.unwrap_or(action)].join(" ").replace(" FOR EACH ROW", "");
    // PostgreSQL requires parentheses around the whole condition.
    let condition = when.map_or(&[][..], |when| &tokens[when + 1..action]);
    let is_group = condition.first() == Some(&"(") && group(condition) == condition.len();
    let condition = if is_group { &condition[1..condition.len() - 1] } else { condition };
    Trigger { event, condition: condition.join(" "), action: tokens[action..].join(" ") }
}

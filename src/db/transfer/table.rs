//! The tables of a schema, and the statements that read and count their rows.

use crate::db::value::Value;

/// The tables, indexes and triggers of a schema.
pub(in crate::db) struct Catalog {
    /// In the order in which the schema creates the tables.
    pub(in crate::db) tables: Vec<Table>,
    /// The names of a file's indexes, each with the statement that creates the index.
    pub(in crate::db) indexes: Vec<(String, String)>,
    /// The names of a file's triggers, each with the statement that creates the trigger.
    pub(in crate::db) triggers: Vec<(String, String)>,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::db) enum Kind {
    Integer,
    Real,
    Text,
    Blob,
}

#[derive(Debug)]
pub(in crate::db) struct Column {
    pub(in crate::db) name: String,
    pub(in crate::db) kind: Kind,
}

#[derive(Debug)]
pub(in crate::db) struct Table {
    pub(in crate::db) name: String,
    pub(in crate::db) columns: Vec<Column>,
    /// The positions of the columns of the primary key, in the order of the key.
    pub(in crate::db) key: Vec<usize>,
}

/// The row at which a query for rows begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    First,
    /// The row after a key.
    After,
}

impl Begin {
    /// Begins after a key, or at the first row if the key is empty.
    pub(super) fn after(key: &[Value]) -> Self {
        if key.is_empty() { Self::First } else { Self::After }
    }
}

impl Table {
    /// Returns the names of all columns as a list.
    pub(in crate::db) fn column_list(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        names.join(", ")
    }

    /// Returns the query for the first rows, or for the rows after a key. The parameters are the key, if there is one,
    /// and the number of rows.
    pub(super) fn rows(&self, begin: Begin) -> String {
        self.page(begin, "")
    }

    /// Returns the query of [`Table::rows`] with a second limit: `bytes`. The result ends after the row at which the
    /// total size of texts and blobs reaches this limit, because the driver stores the whole result in memory.
    pub(super) fn rows_of_bytes(&self, begin: Begin, bytes: usize) -> String {
        let (columns, keys, lengths) = (self.column_list(), self.keys(""), self.lengths());
        let before = format!(
            ", sum(0{lengths}) OVER (ORDER BY {keys} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before"
        );
        let page = self.page(begin, &before);
        format!("SELECT {columns} FROM ({page}) AS page WHERE coalesce(bytes_before, 0) < {bytes} ORDER BY {keys}")
    }

    fn page(&self, begin: Begin, more_columns: &str) -> String {
        let (columns, name, keys) = (self.column_list(), quoted(&self.name), self.keys(""));
        let (condition, count) = match begin {
            Begin::First => (String::new(), 1),
            Begin::After => (self.after(), self.key.len() + 1),
        };
        format!("SELECT {columns}{more_columns} FROM {name}{condition} ORDER BY {keys} LIMIT ${count}")
    }

    fn after(&self) -> String {
        let key: Vec<String> = (1..=self.key.len()).map(|number| format!("${number}")).collect();
        format!(" WHERE ({}) > ({})", self.keys(""), key.join(", "))
    }

    /// Returns the query for the row with the greatest key.
    pub(super) fn last_row(&self) -> String {
        format!("SELECT {} FROM {} ORDER BY {} LIMIT 1", self.column_list(), quoted(&self.name), self.keys(" DESC"))
    }

    /// Returns the query for the number of all rows, or of the rows after a key, and for the number of bytes in their
    /// texts and blobs.
    pub(super) fn size(&self, begin: Begin) -> String {
        let (name, lengths) = (quoted(&self.name), self.lengths());
        let condition = if begin == Begin::First { String::new() } else { self.after() };
        format!("SELECT count(*), CAST(coalesce(sum(0{lengths}), 0) AS bigint) FROM {name}{condition}")
    }

    /// Returns the statement that adds a row, with a parameter for each column.
    pub(super) fn insert(&self) -> String {
        let values: Vec<String> = (1..=self.columns.len()).map(|number| format!("${number}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", quoted(&self.name), self.column_list(), values.join(", "))
    }

    /// Returns the SQL terms that add up the bytes of a row's texts and blobs.
    fn lengths(&self) -> String {
        let is_long = |column: &&Column| matches!(column.kind, Kind::Text | Kind::Blob);
        let length = |column: &Column| format!(" + coalesce(octet_length({}), 0)", quoted(&column.name));
        self.columns.iter().filter(is_long).map(length).collect()
    }

    fn keys(&self, direction: &str) -> String {
        let names: Vec<String> =
            self.key.iter().map(|at| format!("{}{direction}", quoted(&self.columns[*at].name))).collect();
        names.join(", ")
    }
}

/// Returns a name as a quoted identifier, which both engines accept.
pub(in crate::db) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

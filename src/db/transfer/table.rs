//! The tables of a schema, and the statements that read and count their rows.

/// The tables, indexes and triggers of a schema.
pub(in crate::db) struct Catalog {
    /// In the order in which tables depend on each other.
    pub(in crate::db) tables: Vec<Table>,
    /// The statements that create the indexes of a file, with their names.
    pub(in crate::db) indexes: Vec<(String, String)>,
    /// The statements that create the triggers of a file, with their names.
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

impl Table {
    /// Returns the names of all columns as a list.
    pub(in crate::db) fn column_list(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        names.join(", ")
    }

    /// Returns the query for the first rows: `$1` of them.
    pub(super) fn first_rows(&self) -> String {
        format!("SELECT {} FROM {} ORDER BY {} LIMIT $1", self.column_list(), quoted(&self.name), self.keys(""))
    }

    /// Returns the query for the rows after a key. The parameters are the key and the number of rows.
    pub(super) fn next_rows(&self) -> String {
        let count = self.key.len();
        let after: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
        format!(
            "SELECT {} FROM {} WHERE ({}) > ({}) ORDER BY {} LIMIT ${}",
            self.column_list(),
            quoted(&self.name),
            self.keys(""),
            after.join(", "),
            self.keys(""),
            count + 1
        )
    }

    /// Returns the query for the row with the greatest key.
    pub(super) fn last_row(&self) -> String {
        format!("SELECT {} FROM {} ORDER BY {} LIMIT 1", self.column_list(), quoted(&self.name), self.keys(" DESC"))
    }

    /// Returns the query for the number of rows, and for the bytes of their texts and blobs.
    pub(super) fn size(&self) -> String {
        let is_long = |column: &&Column| matches!(column.kind, Kind::Text | Kind::Blob);
        let length = |column: &Column| format!(" + coalesce(octet_length({}), 0)", quoted(&column.name));
        let lengths: String = self.columns.iter().filter(is_long).map(length).collect();
        format!("SELECT count(*), CAST(coalesce(sum(0{lengths}), 0) AS bigint) FROM {}", quoted(&self.name))
    }

    /// Returns the statement that adds a row, with a parameter for each column.
    pub(super) fn insert(&self) -> String {
        let values: Vec<String> = (1..=self.columns.len()).map(|number| format!("${number}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", quoted(&self.name), self.column_list(), values.join(", "))
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

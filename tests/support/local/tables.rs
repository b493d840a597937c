//! Tables of the caller's: columns of any type, rows with and without values, as text for either database.

use super::kind::Live;
use portcullis_compiler::Dialect;
use std::fmt::Write;

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Text of any length.
    Text,
    /// Flags and numbers of rows.
    Integer,
    /// 64-bit integers.
    Bigint,
    /// Ids of a kind.
    Ids(Live),
    /// Truth values, where the database has a type for them.
    Boolean,
    /// Text that says `decoy` in every row.
    Decoy,
    /// One of these texts, where the database has user-defined types.
    Enum {
        /// The type's name.
        name: String,
        /// The texts.
        labels: Vec<String>,
    },
}

impl ColumnType {
    /// The type as the database writes it.
    pub(crate) fn name(&self, dialect: Dialect) -> String {
        match (self, dialect) {
            (Self::Text, _) | (Self::Boolean | Self::Enum { .. }, Dialect::Sqlite) => "TEXT".into(),
            (Self::Decoy, _) => "TEXT DEFAULT 'decoy'".into(),
            (Self::Integer, _) => "INTEGER".into(),
            (Self::Bigint, _) => "BIGINT".into(),
            (Self::Ids(Live { name, domain_of: Some(_), .. }), _) => format!("pg_temp.{name}"),
            (Self::Ids(Live { name, .. }), _) => (*name).into(),
            (Self::Boolean, Dialect::Postgresql) => "BOOLEAN".into(),
            (Self::Enum { name, .. }, Dialect::Postgresql) => format!("pg_temp.{}", quoted(name)),
        }
    }

    /// A value of the type.
    pub(crate) fn literal(&self, value: Option<&str>) -> String {
        match (self, value) {
            (_, None) => "NULL".into(),
            (Self::Integer | Self::Bigint, Some(value)) => value.to_owned(),
            (Self::Ids(live), Some(value)) if live.is_number => value.to_owned(),
            (Self::Text | Self::Decoy | Self::Ids(_) | Self::Boolean | Self::Enum { .. }, Some(value)) => {
                text(value)
            }
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its name, quoted where it must be.
    pub name: String,
    /// What it holds.
    pub ty: ColumnType,
}

impl Column {
    /// Whether ids that differ in their case only are equal there.
    pub(crate) fn ignores_case(&self) -> bool {
        matches!(self.ty, ColumnType::Ids(live) if live.ignores_case())
    }
}

/// A row, a cell for each column.
pub(crate) type Row = Vec<Option<String>>;

/// A table with its rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Its name, quoted where it must be.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The column that has each value once.
    pub key: Option<usize>,
    /// Its rows; a row may end before the decoys.
    pub rows: Vec<Row>,
}

impl Table {
    /// The statements that make and fill the table.
    pub(crate) fn script(&self, dialect: Dialect) -> String {
        let column = |(at, column): (usize, &Column)| {
            let unique = if self.key == Some(at) { " UNIQUE" } else { "" };
            format!("{} {}{unique}", column.name, column.ty.name(dialect))
        };
        let columns: Vec<String> = self.columns.iter().enumerate().map(column).collect();
        let kind = match dialect {
            Dialect::Postgresql => "TEMPORARY TABLE",
            Dialect::Sqlite => "TABLE",
        };
        let mut script = format!("CREATE {kind} {} ({});\n", self.name, columns.join(", "));
        let cells = |row: &Row| {
            let cells: Vec<String> = self
                .columns
                .iter()
                .zip(row)
                .map(|(column, cell)| column.ty.literal(cell.as_deref()))
                .collect();
            format!("({})", cells.join(", "))
        };
        if !self.rows.is_empty() {
            let rows: Vec<String> = self.rows.iter().map(cells).collect();
            let names = self.column_names();
            let given = names.iter().take(self.rows[0].len()).cloned().collect::<Vec<_>>().join(", ");
            let _ = writeln!(script, "INSERT INTO {} ({given}) VALUES {};", self.name, rows.join(", "));
        }
        script
    }

    /// The column's names, in order.
    pub(crate) fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }
}

/// A text literal.
pub(crate) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// A quoted name.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

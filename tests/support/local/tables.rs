//! Tables of the caller's: columns of any type, rows with and without values, as text for either database.

use super::renaming::Kind;
use portcullis_compiler::Dialect;
use std::fmt::Write;

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Text of any length.
    Text,
    /// Text of at most 255 characters.
    Varchar,
    /// 32-bit integers.
    Integer,
    /// 64-bit integers.
    Bigint,
    /// UUIDs.
    Uuid,
    /// Truth values, where the database has a type for them.
    Boolean,
    /// Text that says `decoy` in every row.
    Decoy,
    /// One of these texts, where the database has types of one's own.
    Enum {
        /// The type's name.
        name: String,
        /// The texts.
        labels: Vec<String>,
    },
}

impl ColumnType {
    /// The type of a column that holds ids of a kind.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text,
            Kind::Varchar => Self::Varchar,
            Kind::Integer | Kind::Undeclared => Self::Integer,
            Kind::Bigint => Self::Bigint,
            Kind::Uuid => Self::Uuid,
        }
    }

    /// The type as the database writes it.
    pub(crate) fn name(&self, dialect: Dialect) -> String {
        match (self, dialect) {
            (Self::Text, _) | (Self::Boolean | Self::Enum { .. }, Dialect::Sqlite) => "TEXT".into(),
            (Self::Decoy, _) => "TEXT DEFAULT 'decoy'".into(),
            (Self::Varchar, _) => "VARCHAR(255)".into(),
            (Self::Integer, _) => "INTEGER".into(),
            (Self::Bigint, _) => "BIGINT".into(),
            (Self::Uuid, _) => "UUID".into(),
            (Self::Boolean, Dialect::Postgresql) => "BOOLEAN".into(),
            (Self::Enum { name, .. }, Dialect::Postgresql) => format!("pg_temp.{}", quoted(name)),
        }
    }

    /// A value of the type.
    pub(crate) fn literal(&self, value: Option<&str>) -> String {
        match (self, value) {
            (_, None) => "NULL".into(),
            (Self::Integer | Self::Bigint, Some(value)) => value.to_owned(),
            (
                Self::Text | Self::Decoy | Self::Varchar | Self::Uuid | Self::Boolean | Self::Enum { .. },
                Some(value),
            ) => text(value),
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its name, quoted where it must be.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) ty: ColumnType,
}

/// A row, a cell for each column.
pub(crate) type Row = Vec<Option<String>>;

/// A table with its rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Its name, quoted where it must be.
    pub(crate) name: String,
    /// Its columns.
    pub(crate) columns: Vec<Column>,
    /// The column that has each value once.
    pub(crate) key: Option<usize>,
    /// Its rows; a row may end before the decoys.
    pub(crate) rows: Vec<Row>,
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

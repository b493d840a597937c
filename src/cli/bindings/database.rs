//! What a database says of a query without running it.
//!
//! In: the address of a database and one query after another, which are prepared and not executed. Out: the
//! query's columns with their types, and for a column that is read straight from a table what is promised of
//! it. Everything is read in one transaction that cannot write, which ends with the connection.

use super::postgresql::Postgresql;
use super::sqlite::Sqlite;
use crate::cli::error::CliError;
use portcullis_compiler::Dialect;

/// A database that is open for reading.
pub(super) enum Database {
    /// Over the network.
    Postgresql(Postgresql),
    /// A file.
    Sqlite(Sqlite),
}

/// A column of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// Its name in the query's result.
    pub(super) name: String,
    /// What its values are.
    pub(super) ty: ColumnType,
    /// Where it is read from; `None` for what is computed.
    pub(super) origin: Option<ColumnOrigin>,
}

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnType {
    /// The type as the database writes it; empty where it has none.
    pub(super) name: String,
    /// What that means for ids.
    pub(super) kind: Kind,
}

/// What a type means for ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, which is its own id.
    Text,
    /// Text whose case does not count.
    Caseless,
    /// Text that the column pads with blanks.
    Padded,
    /// Whole numbers of at most 64 bits; the width does not matter.
    Integer,
    /// Numbers of any size.
    Numeric {
        /// Whether they have digits behind the point.
        has_fraction: bool,
    },
    /// UUIDs.
    Uuid,
    /// Truth values.
    Boolean,
    /// One of the words that the database knows for it.
    Enum,
    /// Something else.
    Other,
    /// The database does not say.
    Unknown,
}

/// The column of a table, and what is promised of it; `None` where nothing can be told, as for a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnOrigin {
    /// The table.
    pub(super) table: String,
    /// The column.
    pub(super) column: String,
    /// Whether it is never NULL.
    pub(super) not_null: Option<bool>,
    /// Whether it leads an index over all rows.
    pub(super) indexed: Option<bool>,
    /// Whether no two rows share a value.
    pub(super) unique: Option<bool>,
    /// Its collation, unless it is the database's own or statements overrule it.
    pub(super) collation: Option<Collation>,
}

/// By what order the texts of a column compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Collation {
    /// Its name.
    pub(super) name: String,
    /// Whether different texts may be equal.
    pub(super) is_loose: bool,
}

impl Database {
    /// Opens a database for reading.
    pub(super) async fn open(address: &str) -> Result<Self, CliError> {
        if let Some(path) = address.strip_prefix("sqlite:") {
            return Sqlite::open(path).map(Self::Sqlite);
        }
        if ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme)) {
            return Postgresql::open(address).await.map(Self::Postgresql);
        }
        Err(CliError::Address)
    }

    /// The dialect that it reads.
    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgresql(_) => Dialect::Postgresql,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// The columns of a query, or why the database refuses it, in its own words.
    pub(super) async fn columns(&self, query: &str) -> Result<Result<Vec<Column>, String>, CliError> {
        match self {
            Self::Postgresql(database) => database.columns(query).await,
            Self::Sqlite(database) => database.columns(query),
        }
    }

    /// A type by its name, if the database knows it.
    pub(super) async fn ty(&self, name: &str) -> Result<Option<ColumnType>, CliError> {
        match self {
            Self::Postgresql(database) => database.ty(name).await,
            Self::Sqlite(_) => Ok(Some(Sqlite::ty(name))),
        }
    }
}

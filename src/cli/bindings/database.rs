//! Asks a database about a query without running it.
//!
//! In: the address of a database and queries, which are prepared but not executed. Out: the columns of each
//! query with their types, and for a column that is read directly from a table, its constraints; also the
//! settings that make statements slow, and the database's plans of statements. Everything is read in one
//! read-only transaction, which ends with the connection.

use super::document;
use super::postgresql::Postgresql;
use super::sqlite::Sqlite;
use crate::cli::error::{ArgumentError, CliError, UsageError};
use crate::cli::policy_file;
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Bindings, SqlName};
use std::path::Path;

/// How many columns of a database are read at most.
const MOST_COLUMNS: usize = 20_000;

/// A database that is open for reading.
pub(in crate::cli) enum Database {
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
    /// Its type.
    pub(super) ty: ColumnType,
    /// The table column that it is read from; `None` if it is computed.
    pub(super) origin: Option<ColumnOrigin>,
    /// What is known of an index on it, if it is computed from columns of one table.
    pub(super) computed: Option<ComputedColumn>,
}

/// A column that is computed from columns of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ComputedColumn {
    /// The table and the expression, as the query writes them.
    pub(super) place: String,
    /// Whether an index on the expression has every row that the query reads.
    pub(super) indexed: bool,
    /// The statement that creates one; `None` if the database might refuse it.
    pub(super) index_ddl: Option<String>,
}

/// An index that begins with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpressionIndex {
    /// The expression, as the database prints it.
    pub(super) expression: String,
    /// The predicate, if it has only some rows.
    pub(super) predicate: Option<String>,
}

impl Column {
    /// Whether a look-up by it can use an index, if that is known.
    pub(super) fn indexed(&self) -> Option<bool> {
        match (&self.origin, &self.computed) {
            (Some(origin), _) => origin.indexed,
            (None, computed) => computed.as_ref().map(|computed| computed.indexed),
        }
    }

    /// Where it is from: its table and column, or its name in the query.
    pub(super) fn place(&self) -> String {
        match &self.origin {
            Some(origin) => format!("{}.{}", origin.table, origin.column),
            None => self.name.clone(),
        }
    }
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnType {
    /// The type's name in the database; empty if it has none.
    pub(super) name: String,
    /// Its kind.
    pub(super) kind: ColumnKind,
}

/// Whether the numbers of a type have a fraction. `5.0` and `5` are equal numbers, but different ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fraction {
    /// Never: the scale is zero.
    Never,
    /// Each has as many digits as the scale says.
    Always,
    /// The type has no scale, so each number has its own.
    Sometimes,
}

/// The kind of a type, as far as it matters for ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// Text.
    Text,
    /// Case-insensitive text.
    Caseless,
    /// Text that is padded with blanks.
    Padded,
    /// Whole numbers of at most 64 bits.
    Integer,
    /// Numbers of any size.
    Numeric(Fraction),
    /// UUIDs.
    Uuid,
    /// Truth values.
    Boolean,
    /// An enumeration.
    Enum,
    /// Network addresses of single hosts, which are shown without the mask that a cast to text adds.
    Address,
    /// A type whose text depends on the session's settings, or that is made of such a type.
    OfSession,
    /// Something else.
    Other,
    /// The database does not report it.
    Unknown,
}

/// The column of a table with its constraints; `None` if one cannot be determined, as for a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnOrigin {
    /// The table.
    pub(super) table: String,
    /// The column.
    pub(super) column: String,
    /// Whether it is never NULL.
    pub(super) not_null: Option<bool>,
    /// Why it may be NULL, if it may.
    pub(super) nulls: Nulls,
    /// Whether it leads an index over all rows.
    pub(super) indexed: Option<bool>,
    /// The predicates of the indexes over other rows that it leads, as the database prints them.
    pub(super) partial: Vec<String>,
    /// The columns before it, for each index over all rows in which it is not the first.
    pub(super) behind: Vec<Vec<String>>,
    /// Whether no two rows share a value, at any moment.
    pub(super) unique: Option<bool>,
    /// Whether the partition key of its table makes it unique.
    pub(super) partition_key: PartitionKey,
    /// Whether the database has statistics of the table.
    pub(super) analysed: Option<bool>,
    /// The statement that creates an index on it.
    pub(super) index_ddl: String,
    /// Its collation, unless it is the database's own or statements overrule it.
    pub(super) collation: Option<Collation>,
}

/// Whether a column of a partitioned table is unique together with the partition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartitionKey {
    /// The table is not partitioned.
    None,
    /// No two rows share both a value and the partition key.
    MakesUnique,
    /// The table is partitioned, and two rows may share both the value and the partition key.
    Other,
}

/// Why a column may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nulls {
    /// It can be declared NOT NULL, and is not.
    Declarable,
    /// Only its domain is NOT NULL. A row can still have a NULL, as from an empty subquery.
    OfDomain,
    /// It is a column of a materialized view, none of which can be declared NOT NULL.
    OfMaterializedView,
}

/// The collation of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Collation {
    /// Its name.
    pub(super) name: String,
    /// Whether different texts may be equal.
    pub(super) is_loose: bool,
}

/// The size of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableSize {
    /// Its name, as in a [`ColumnOrigin`].
    pub(super) name: String,
    /// About how many rows it has.
    pub(super) n_rows: f64,
    /// Whether the database has statistics of it.
    pub(super) is_analysed: bool,
}

/// A database's plan of a statement, as it prints it.
pub(super) enum PrintedPlan {
    /// PostgreSQL's.
    Postgresql(PostgresqlPlan),
    /// The lines of `EXPLAIN QUERY PLAN`.
    Sqlite(Vec<PlanLine>),
}

/// PostgreSQL's plan of a statement.
pub(super) struct PostgresqlPlan {
    /// The answer to `EXPLAIN (FORMAT JSON)`.
    pub(super) json: String,
    /// Whether the statement was run and did not end within the time limit, so that nothing is measured.
    pub(super) is_stopped: bool,
}

/// A line of SQLite's plan: its number, that of its parent, and its text.
pub(super) type PlanLine = (i64, i64, String);

/// PostgreSQL's compiler of statements, if it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Jit {
    /// The estimated cost from which a statement is compiled.
    pub(super) above_cost: String,
    /// The statement that turns it off for the role of this connection.
    pub(super) off_ddl: String,
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
        Err(ArgumentError::DatabaseAddress.into())
    }

    /// Opens the database that a data-bindings document describes. Returns the document's text, too.
    pub(in crate::cli) async fn described(file: &Path, address: &str) -> Result<(String, Self), CliError> {
        let text = policy_file::read(file)?;
        let bindings = document::parse(&file.display().to_string(), &text)?;
        Ok((text, Self::open_for(address, &bindings).await?))
    }

    /// Opens a database, which must be of the dialect of the document.
    pub(super) async fn open_for(address: &str, bindings: &Bindings) -> Result<Self, CliError> {
        let database = Self::open(address).await?;
        if database.dialect() != bindings.dialect {
            let (bound, found) = (bindings.dialect.to_string(), database.dialect().to_string());
            return Err(CliError::OtherDatabase { bound, found });
        }
        Ok(database)
    }

    /// The rows of a statement whose columns are text.
    pub(in crate::cli) async fn rows(&self, statement: &str) -> Result<Vec<Vec<Option<String>>>, CliError> {
        match self {
            Self::Postgresql(database) => database.rows(statement).await,
            Self::Sqlite(database) => database.rows(statement),
        }
    }

    /// Its dialect.
    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgresql(_) => Dialect::Postgresql,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// The columns of the tables and views, each with the name of its table; at most [`MOST_COLUMNS`].
    pub(super) async fn columns_of_tables(&self) -> Result<Vec<[String; 2]>, CliError> {
        match self {
            Self::Postgresql(database) => database.columns_of_tables(MOST_COLUMNS).await,
            Self::Sqlite(database) => database.columns_of_tables(MOST_COLUMNS),
        }
    }

    /// The columns of a query, or the database's reason for refusing it.
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

    /// Whether a name is that of a view whose columns [`Self::columns`] traces to the tables behind it.
    pub(super) fn is_traced_view(&self, table: &[SqlName]) -> Result<bool, CliError> {
        match (self, table.last()) {
            (Self::Sqlite(database), Some(name)) => database.is_view(name.folded()),
            (Self::Sqlite(_), None) | (Self::Postgresql(_), _) => Ok(false),
        }
    }

    /// The indexes of a table that begin with an expression, if the database reports them.
    pub(super) async fn expression_indexes(
        &self,
        table: &str,
    ) -> Result<Option<Vec<ExpressionIndex>>, CliError> {
        match self {
            Self::Postgresql(database) => database.expression_indexes(table).await.map(Some),
            Self::Sqlite(_) => Ok(None),
        }
    }

    /// The compiler of statements, if it is on.
    pub(super) async fn jit(&self) -> Result<Option<Jit>, CliError> {
        match self {
            Self::Postgresql(database) => database.jit().await,
            Self::Sqlite(_) => Ok(None),
        }
    }

    /// The plan of a statement, or the database's reason for refusing it. If it `runs`, it is also measured.
    pub(super) async fn plan(
        &self,
        statement: &str,
        runs: bool,
    ) -> Result<Result<PrintedPlan, String>, CliError> {
        match self {
            Self::Postgresql(database) => {
                Ok(database.plan(statement, runs).await?.map(PrintedPlan::Postgresql))
            }
            Self::Sqlite(_) if runs => Err(UsageError::UnmeasuredSteps.into()),
            Self::Sqlite(database) => Ok(database.plan(statement)?.map(PrintedPlan::Sqlite)),
        }
    }

    /// The text in the first row of a query; `None` if it has no row or cannot be run.
    pub(super) async fn first_value(&self, query: &str) -> Result<Option<String>, CliError> {
        match self {
            Self::Postgresql(database) => database.first_value(query).await,
            Self::Sqlite(database) => database.first_value(query),
        }
    }

    /// The size of a table by its schema and name, if the database knows it.
    pub(super) async fn table_size(&self, schema: &str, name: &str) -> Result<Option<TableSize>, CliError> {
        match self {
            Self::Postgresql(database) => database.table_size(schema, name).await,
            Self::Sqlite(_) => Ok(None),
        }
    }
}

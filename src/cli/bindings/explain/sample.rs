//! Where the ids of a type are, and the first and the last of them.
//!
//! An estimate depends on the values in a statement, so questions are asked about ids that the database has.

use crate::cli::bindings::database::{Column, ColumnKind, Database};
use crate::cli::bindings::judge;
use crate::cli::bindings::live::Live;
use crate::cli::error::CliError;
use portcullis_compiler::bindings::{Bindings, SqlName};
use portcullis_compiler::catalog::{BindingId, ColumnId};

/// Rows with the ids of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IdRows {
    /// The text before a query of them: empty, or a `WITH` that names a bound query.
    with: String,
    /// The table.
    table: String,
    /// The column with the ids, with its table.
    pub(super) column: String,
    /// Its name for people.
    pub(super) name: String,
}

/// An id of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// The type.
    pub(super) ty: String,
    /// The id; an invented one if there are no rows.
    pub(super) id: String,
    /// The last id, if there are several.
    pub(super) last: Option<String>,
    /// Where it was read; `None` if it was made up.
    pub(super) read_from: Option<String>,
    /// The rows that a list of this type filters.
    pub(super) rows: Option<IdRows>,
}

impl IdRows {
    /// A query of the rows that pass a condition.
    pub(super) fn filtered(&self, condition: &str) -> String {
        let Self { with, table, column, .. } = self;
        format!("{with}SELECT {column} FROM {table} WHERE {condition}")
    }

    /// A query of the first id in an order, `ASC` or `DESC`, as text.
    fn first(&self, order: &str) -> String {
        let Self { with, table, column, .. } = self;
        format!(
            "{with}SELECT CAST({column} AS TEXT) FROM {table} WHERE {column} IS NOT NULL ORDER BY {column} {order} \
             LIMIT 1"
        )
    }
}

impl Sample {
    /// The first and the last id of a type.
    pub(super) async fn read(
        ty: &str,
        bindings: &Bindings,
        live: &Live,
        database: &Database,
    ) -> Result<Self, CliError> {
        let (rows, kind) = match rows(ty, bindings, live) {
            Some((rows, kind)) => (Some(rows), Some(kind)),
            None => (None, None),
        };
        let (first, last) = match &rows {
            Some(rows) => (
                database.first_value(&rows.first("ASC")).await?,
                database.first_value(&rows.first("DESC")).await?,
            ),
            None => (None, None),
        };
        let read_from = rows.as_ref().filter(|_| first.is_some()).map(|rows| rows.name.clone());
        let id = first.unwrap_or_else(|| made_up(kind).to_owned());
        let last = last.filter(|last| *last != id);
        Ok(Self { ty: ty.to_owned(), id, last, read_from, rows })
    }
}

/// An id that a column of this kind may hold.
fn made_up(kind: Option<ColumnKind>) -> &'static str {
    match kind {
        Some(ColumnKind::Uuid) => "00000000-0000-0000-0000-000000000000",
        Some(
            ColumnKind::Text
            | ColumnKind::Caseless
            | ColumnKind::Padded
            | ColumnKind::Integer
            | ColumnKind::Numeric(_)
            | ColumnKind::Boolean
            | ColumnKind::Enum
            | ColumnKind::Address
            | ColumnKind::OfSession
            | ColumnKind::Other
            | ColumnKind::Unknown,
        )
        | None => "1",
    }
}

/// The rows of a type: those of its promised table; or else of the first table whose unique column a bound
/// query selects next to another one, then of any such table, of any table, of any bound query.
fn rows(ty: &str, bindings: &Bindings, live: &Live) -> Option<(IdRows, ColumnKind)> {
    if let (Some(promised), Some(Ok(columns))) = (bindings.tables.get(ty), live.tables.get(ty)) {
        let kind = columns.first().map_or(ColumnKind::Unknown, |column| column.ty.kind);
        return Some((of_table(SqlName::path(&promised.table), &promised.column), kind));
    }
    let mut found: Option<(u8, IdRows, ColumnKind)> = None;
    for ((id, binding), described) in bindings.facts.enumerate().zip(&live.facts) {
        let types = judge::column_types(binding);
        let columns: Vec<&Column> = described.iter().flatten().collect();
        for ((at, of), column) in types.enumerate().zip(columns.iter().copied()) {
            if *of != ty {
                continue;
            }
            let name = binding.query.plain.as_ref().and_then(|plain| Some((plain, plain.name(at)?)));
            let is_unique = column.origin.as_ref().is_some_and(|origin| origin.unique == Some(true));
            // A column alone may be a list of exceptions, such as banned users.
            let rank = match (is_unique, columns.len() > 1) {
                (true, true) => 0,
                (false, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
            };
            let (rank, rows) = match name {
                Some((plain, name)) => (rank, of_table(SqlName::path(&plain.table), name)),
                None => (4, of_query(id, &binding.query.text, columns.len(), at, &binding.key)),
            };
            if found.as_ref().is_none_or(|(best, _, _)| rank < *best) {
                found = Some((rank, rows, column.ty.kind));
            }
        }
    }
    found.map(|(_, rows, kind)| (rows, kind))
}

fn of_table(table: String, column: &SqlName) -> IdRows {
    let column = format!("{table}.{column}");
    IdRows { with: String::new(), table, name: column.clone(), column }
}

fn of_query(id: BindingId, text: &str, n_columns: usize, column: ColumnId, key: &str) -> IdRows {
    let table = format!("bound_query_{}", id.index());
    let columns: Vec<String> = (0..n_columns).map(|at| format!("c{at}")).collect();
    let with = format!("WITH {table} ({}) AS ({text}) ", columns.join(", "));
    let name = format!("column {} of {key}", column.index() + 1);
    IdRows { with, column: format!("{table}.c{}", column.index()), table, name }
}

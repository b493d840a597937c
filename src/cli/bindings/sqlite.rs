//! Asks an SQLite file about queries.
//!
//! SQLite itself traces a column through views to its table. The type of a column is determined by the words
//! in its declaration, by SQLite's rules.

use super::database::{Column, ColumnKind, ColumnOrigin, ColumnType, Nulls, PartitionKey, PlanLine};
use crate::cli::error::CliError;
use rusqlite::ffi::SQLITE_ERROR;
use rusqlite::{Connection, Error, OpenFlags, OptionalExtension};
use std::time::Duration;

/// A column's declaration: whether it is NOT NULL, its position in the primary key, the number of columns in
/// that key, and whether the key has an index of its own. An alias of the rowid needs none, but `INTEGER
/// PRIMARY KEY DESC` is not one.
const DECLARED: &str = "
    SELECT type, \"notnull\" <> 0, pk,
           (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0),
           EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk')
    FROM pragma_table_xinfo(?1) WHERE name = ?2 COLLATE NOCASE";

/// Whether a column is the first of an index over all rows, and whether an index over it alone is unique.
const INDEXES: &str = "
    SELECT count(*) > 0, coalesce(max(i.\"unique\" AND NOT EXISTS (
             SELECT 1 FROM pragma_index_info(i.name) WHERE seqno > 0)), 0)
    FROM pragma_index_list(?1) AS i
    WHERE NOT i.partial AND EXISTS (
      SELECT 1 FROM pragma_index_info(i.name) WHERE seqno = 0 AND name = ?2 COLLATE NOCASE)";

/// The columns of the tables and views.
const TABLES: &str = "
    SELECT name FROM sqlite_schema
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";

/// The columns of a table or view.
const COLUMNS: &str = "SELECT name FROM pragma_table_info(?) ORDER BY cid";

/// A file that is open read-only.
pub(in crate::cli) struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Opens an existing file.
    pub(super) fn open(path: &str) -> Result<Self, CliError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(failed)?;
        connection.execute_batch("BEGIN").map_err(failed)?;
        // Fails at once if this is not an SQLite file.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        Ok(Self { connection })
    }

    /// The columns of the tables and views, up to this number, with names as a query writes them.
    /// A view that reads what is gone has none.
    pub(super) fn columns_of_tables(&self, most: usize) -> Result<Vec<[String; 2]>, CliError> {
        let mut tables = self.connection.prepare(TABLES).map_err(failed)?;
        let tables: Vec<String> =
            tables.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(failed)?;
        let mut columns = self.connection.prepare(COLUMNS).map_err(failed)?;
        let mut found = Vec::new();
        for table in tables {
            let names = columns.query_map([&table], |row| row.get(0));
            let Ok(names) = names.and_then(Iterator::collect::<Result<Vec<String>, _>>) else { continue };
            let table = self.spelled(table);
            found.extend(names.into_iter().map(|name| [table.clone(), self.spelled(name)]));
            if found.len() >= most {
                found.truncate(most);
                break;
            }
        }
        Ok(found)
    }

    /// A name as a query writes it: quoted, unless it is a plain word that SQLite takes for a name.
    fn spelled(&self, name: String) -> String {
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_word =
            !name.is_empty() && name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit());
        let as_name = || format!("SELECT {name} FROM (SELECT 1 AS {quoted}) AS {name}");
        if is_word && self.connection.prepare(&as_name()).is_ok() { name } else { quoted }
    }

    /// The columns of a query, or SQLite's reason for refusing it.
    pub(super) fn columns(&self, query: &str) -> Result<Result<Vec<Column>, String>, CliError> {
        let statement = match self.connection.prepare(query) {
            Ok(statement) => statement,
            Err(Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg))) => {
                return Ok(Err(msg));
            }
            Err(error) => return Err(failed(error)),
        };
        let columns = statement.columns_with_metadata().map(|column| {
            let computed = ColumnType { name: String::new(), kind: ColumnKind::Unknown };
            let (ty, origin) = match (column.table_name(), column.origin_name()) {
                (Some(table), Some(name)) => match self.origin(table, name)? {
                    Some((ty, origin)) => (ty, Some(origin)),
                    None => (computed, None),
                },
                (Some(_) | None, Some(_) | None) => (computed, None),
            };
            Ok(Column { name: column.name().to_owned(), ty, origin, computed: None })
        });
        columns.collect::<Result<Vec<_>, Error>>().map(Ok).map_err(failed)
    }

    /// The declaration of a table's column.
    fn origin(&self, table: &str, column: &str) -> Result<Option<(ColumnType, ColumnOrigin)>, Error> {
        let declared = self.connection.query_row(DECLARED, [table, column], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, bool>(4)?,
            ))
        });
        let Some((declared, not_null, place_in_key, key_columns, key_has_index)) = declared.optional()?
        else {
            return Ok(None);
        };
        let (indexed, unique) = self.connection.query_row(INDEXES, [table, column], |row| {
            Ok((row.get::<_, bool>(0)?, row.get::<_, bool>(1)?))
        })?;
        let is_only_key = place_in_key == 1 && key_columns == 1 && !key_has_index;
        let is_rowid = is_only_key && declared.eq_ignore_ascii_case("integer");
        let origin = ColumnOrigin {
            table: table.to_owned(),
            column: column.to_owned(),
            not_null: Some(not_null || is_rowid),
            indexed: Some(indexed || is_rowid),
            unique: Some(unique || is_rowid),
            // Without statistics SQLite still prefers an index.
            analysed: None,
            partial: Vec::new(),
            behind: Vec::new(),
            partition_key: PartitionKey::None,
            nulls: Nulls::Declarable,
            index_ddl: index_ddl(table, column),
            // Statements for SQLite always specify their collation.
            collation: None,
        };
        Ok(Some((Self::ty(&declared), origin)))
    }

    /// The lines of a statement's plan, or SQLite's reason for refusing it.
    pub(super) fn plan(&self, statement: &str) -> Result<Result<Vec<PlanLine>, String>, CliError> {
        let mut prepared = match self.connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")) {
            Ok(prepared) => prepared,
            Err(Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg))) => {
                return Ok(Err(msg));
            }
            Err(error) => return Err(failed(error)),
        };
        let lines = prepared.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(3)?)));
        lines.and_then(Iterator::collect).map(Ok).map_err(failed)
    }

    /// The rows of a statement whose columns are text.
    pub(super) fn rows(&self, statement: &str) -> Result<Vec<Vec<Option<String>>>, CliError> {
        let mut prepared = self.connection.prepare(statement).map_err(failed)?;
        let n_columns = prepared.column_count();
        let rows = prepared.query_map([], |row| (0..n_columns).map(|at| row.get(at)).collect());
        rows.and_then(Iterator::collect).map_err(failed)
    }

    /// The text in the first row of a query; `None` if it has no row or SQLite refuses it.
    pub(super) fn first_value(&self, query: &str) -> Result<Option<String>, CliError> {
        match self.connection.query_row(query, [], |row| row.get::<_, Option<String>>(0)).optional() {
            Ok(found) => Ok(found.flatten()),
            Err(Error::SqlInputError { .. } | Error::SqliteFailure(_, Some(_))) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Whether this is a view.
    pub(super) fn is_view(&self, name: &str) -> Result<bool, CliError> {
        let is_view =
            "SELECT count(*) > 0 FROM pragma_table_list WHERE type = 'view' AND name = ? COLLATE NOCASE";
        self.connection.query_row(is_view, [name], |row| row.get(0)).map_err(failed)
    }

    /// The type for a declaration.
    pub(super) fn ty(name: &str) -> ColumnType {
        let word = name.to_uppercase();
        let has = |part: &str| word.contains(part);
        let kind = if word.is_empty() || has("BLOB") {
            ColumnKind::Unknown
        } else if has("INT") {
            ColumnKind::Integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            ColumnKind::Text
        } else if has("BOOL") {
            ColumnKind::Boolean
        } else if has("UUID") {
            ColumnKind::Uuid
        } else {
            ColumnKind::Other
        };
        ColumnType { name: name.to_lowercase(), kind }
    }
}

/// The statement that creates an index, whose name SQLite does not choose itself.
fn index_ddl(table: &str, column: &str) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let index = quoted(&format!("{table}_{column}"));
    format!("CREATE INDEX {index} ON {} ({});", quoted(table), quoted(column))
}

fn failed(error: Error) -> CliError {
    match error {
        Error::SqlInputError { msg, .. } => answered(msg),
        Error::SqliteFailure(code, Some(msg)) if code.extended_code == SQLITE_ERROR => answered(msg),
        error => CliError::Database { reason: error.to_string(), at: None },
    }
}

/// SQLite's own reason for refusing a statement.
fn answered(reason: String) -> CliError {
    let remedy = "run `portcullis bindings check` to compare the bindings with the database";
    CliError::Answered { reason, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_sqlite_needs_it_and_a_broken_view_hides_no_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let app = Connection::open(&path).unwrap();
        app.execute_batch(
            "CREATE TABLE users (id, \"order\", \"a \"\"b\"); CREATE TABLE \"select\" (\"1st\");
             CREATE VIEW broken AS SELECT lost FROM nowhere;",
        )
        .unwrap();
        let found = Sqlite::open(path.to_str().unwrap()).unwrap().columns_of_tables(100).unwrap();
        let found: Vec<String> = found.iter().map(|name| name.join(".")).collect();
        let expected = ["\"select\".\"1st\"", "users.id", "users.\"order\"", "users.\"a \"\"b\""];
        assert_eq!(found, expected);
        for name in found {
            let (table, column) = name.split_once('.').unwrap();
            app.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
        }
    }
}

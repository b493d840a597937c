//! Asks a PostgreSQL database about queries.
//!
//! A query is prepared but not executed: the server parses it and resolves its names and types, but calls
//! none of its functions. Each is preceded by a savepoint, so that an error does not abort the transaction.

use super::database::{
    Collation, Column, ColumnKind, ColumnOrigin, ColumnType, ExpressionIndex, Fraction, Jit, Nulls,
    PartitionKey, PostgresqlPlan, TableSize,
};
use crate::cli::error::CliError;
use crate::libpq::{self, place, reason};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Kind as PgKind, Type};
use tokio_postgres::{Client, Config, Error, NoTls, Row, SimpleQueryMessage, Statement};

/// The time limit of a statement. Nothing here takes long, unless a lock is held or a statement is measured.
pub(super) const MOST_SECONDS: u32 = 10;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ";

/// A column of a table: whether the table itself has rows, and the constraints of the column. An index counts
/// if the column is its first and it covers every row, or every row where it is not NULL; an index over an
/// expression has column 0. A unique index of a deferrable constraint may be violated within a transaction,
/// and one of a table that others inherit from does not cover their rows. The partition key is that of all
/// levels together; its columns are matched by name, because each table numbers its columns itself.
const ORIGIN: &str = "
    WITH usable AS (
      SELECT i.indisunique AND i.indnkeyatts = 1 AND i.indimmediate AND i.indpred IS NULL AND NOT EXISTS (
               SELECT FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent
               WHERE h.inhparent = $1 AND p.relkind = 'r') AS is_unique
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = $2
      WHERE i.indrelid = $1 AND i.indkey[0] = $2 AND i.indisvalid AND m.amname IN ('btree', 'hash')
        AND coalesce(pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname), true)
    ), levels AS (
      SELECT relid FROM pg_partition_tree($1) UNION SELECT relid FROM pg_partition_ancestors($1)
    ), partition_keys AS (
      SELECT own.attnum
      FROM levels JOIN pg_partitioned_table p ON p.partrelid = levels.relid
        CROSS JOIN LATERAL unnest(p.partattrs::int2[]) k (attnum)
        JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.attnum
        JOIN pg_attribute own ON own.attrelid = $1 AND own.attname = a.attname
    )
    SELECT t.oid::regclass::text, a.attname::text, t.relkind IN ('r', 'p', 'm'), a.attnotnull,
           EXISTS (SELECT FROM usable), EXISTS (SELECT FROM usable WHERE is_unique),
           l.collname::text, NOT l.collisdeterministic, t.reltuples >= 0,
           format('CREATE INDEX ON %s (%I);', t.oid::regclass, a.attname),
           ARRAY(
             SELECT to_json(ARRAY(
               SELECT b.attname::text FROM generate_series(0, i.place - 1) n
                 JOIN pg_attribute b ON b.attrelid = $1 AND b.attnum = i.indkey[n]))::text
             FROM (SELECT array_position(indkey::int2[], $2) AS place, * FROM pg_index) i
               JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
             WHERE i.indrelid = $1 AND i.place > 0 AND i.place < i.indnkeyatts AND i.indisvalid AND i.indpred IS NULL
               AND 0 <> ALL (i.indkey)),
           t.relkind = 'p' AND EXISTS (
             SELECT FROM pg_index i, LATERAL (
               SELECT array_agg(k) FROM unnest(i.indkey) WITH ORDINALITY u (k, n) WHERE n <= i.indnkeyatts) u (keys)
             WHERE i.indrelid = $1 AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
               AND $2 = ANY (u.keys) AND u.keys <@ (ARRAY(SELECT attnum FROM partition_keys) || $2)),
           ARRAY(
             SELECT pg_get_expr(i.indpred, i.indrelid)
             FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
             WHERE i.indrelid = $1 AND i.indkey[0] = $2 AND i.indisvalid AND i.indpred IS NOT NULL
               AND m.amname IN ('btree', 'hash')),
           t.relkind = 'm', coalesce(y.typnotnull, false), t.relkind = 'p'
    FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
      LEFT JOIN pg_type y ON y.oid = a.atttypid
      LEFT JOIN pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default'
    WHERE t.oid = $1 AND a.attnum = $2";

/// The name of a type, and whether its text depends on the session: whether it, or a type that it is made of
/// (by a domain, an array, a range or a composite type), is in the list below. The names that `reg…` types
/// show depend on `search_path` and `quote_all_identifiers`. `to_jsonb` reads `rngmultitypid`, which
/// PostgreSQL has only from 14.
const TYPE: &str = "
    WITH RECURSIVE parts (oid) AS (
      SELECT $1::oid
      UNION
      SELECT p.part FROM parts JOIN pg_type t USING (oid), LATERAL (
        VALUES (t.typelem), (t.typbasetype)
        UNION ALL
        SELECT r.rngsubtype FROM pg_range r
        WHERE t.oid IN (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)
        UNION ALL
        SELECT a.atttypid FROM pg_attribute a
        WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) p (part)
      WHERE p.part <> 0
    )
    SELECT format_type($1, $2), EXISTS (
      SELECT FROM parts JOIN pg_type t USING (oid)
      WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typname IN (
        'record', 'date', 'timestamp', 'timestamptz', 'interval', 'float4', 'float8', 'money', 'bytea',
        'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle',
        'regclass', 'regproc', 'regprocedure', 'regoper', 'regoperator', 'regnamespace', 'regrole', 'regtype',
        'regconfig', 'regdictionary', 'regcollation'))";

/// The compiler of statements, for the role of this connection.
const JIT: &str = "
    SELECT pg_jit_available() AND current_setting('jit_above_cost')::float8 >= 0,
           current_setting('jit_above_cost'), format('ALTER ROLE %I SET jit = off;', current_user)";

/// About how many rows a table has; of one without statistics, as many as its pages may hold.
const SIZE: &str = "
    SELECT c.oid::regclass::text, c.reltuples >= 0,
           CASE WHEN c.reltuples >= 0 THEN c.reltuples ELSE pg_relation_size(c.oid) / 100 END::float8
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = $2";

/// The indexes of a table that begin with an expression.
const EXPRESSIONS: &str = "
    SELECT pg_get_indexdef(i.indexrelid, 1, true), pg_get_expr(i.indpred, i.indrelid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = to_regclass($1) AND i.indkey[0] = 0 AND i.indisvalid AND m.amname IN ('btree', 'hash')";

/// The columns of the tables and views that the role may read, with names as a query writes them.
const SCHEMA: &str = "
    SELECT c.oid::regclass::text, quote_ident(a.attname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
      AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
      AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    ORDER BY c.oid::regclass::text, a.attnum LIMIT ";

/// A connection in a read-only transaction.
pub(in crate::cli) struct Postgresql {
    client: Client,
}

/// Names in a JSON array.
fn column_names(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

impl Postgresql {
    /// Connects. Missing parts of the address are completed as PostgreSQL's own programs do.
    pub(super) async fn open(url: &str) -> Result<Self, CliError> {
        let config = libpq::config(url).map_err(|reason| CliError::Database { reason, at: None })?;
        let connected = config.connect(NoTls).await;
        let (client, connection) = connected
            .map_err(|error| CliError::Database { reason: reason(&error), at: Some(places(&config)) })?;
        tokio::spawn(connection);
        client.batch_execute(&format!("{BEGIN}'{MOST_SECONDS}s'")).await.map_err(|error| failed(&error))?;
        Ok(Self { client })
    }

    /// The columns of the tables and views, up to this number.
    pub(super) async fn columns_of_tables(&self, most: usize) -> Result<Vec<[String; 2]>, CliError> {
        let rows =
            self.client.query(&format!("{SCHEMA}{most}"), &[]).await.map_err(|error| failed(&error))?;
        let names = |row: &Row| Ok([row.try_get(0)?, row.try_get(1)?]);
        rows.iter().map(names).collect::<Result<_, _>>().map_err(|error| failed(&error))
    }

    /// The columns of a query, or the server's reason for refusing it.
    pub(super) async fn columns(&self, query: &str) -> Result<Result<Vec<Column>, String>, CliError> {
        self.client.batch_execute("SAVEPOINT query").await.map_err(|error| failed(&error))?;
        let prepared = self.client.prepare(query).await;
        let columns = match prepared {
            Ok(statement) => Ok(self.described(&statement).await.map_err(|error| failed(&error))?),
            Err(error) => Err(refusal(&error)?),
        };
        self.client.batch_execute("ROLLBACK TO SAVEPOINT query").await.map_err(|error| failed(&error))?;
        Ok(columns)
    }

    async fn described(&self, statement: &Statement) -> Result<Vec<Column>, Error> {
        let mut columns = Vec::new();
        for column in statement.columns() {
            let origin = match (column.table_oid(), column.column_id()) {
                (Some(table), Some(id)) => self.origin(table, id).await?,
                (Some(_) | None, Some(_) | None) => None,
            };
            let ty = self.column_type(column.type_(), column.type_modifier()).await?;
            columns.push(Column { name: column.name().to_owned(), ty, origin, computed: None });
        }
        Ok(columns)
    }

    async fn origin(&self, table: u32, column: i16) -> Result<Option<ColumnOrigin>, Error> {
        let Some(row) = self.client.query_opt(ORIGIN, &[&table, &column]).await? else { return Ok(None) };
        let holds_rows: bool = row.try_get(2)?;
        let stated = |promised: bool| holds_rows.then_some(promised);
        let collation = match (row.try_get(6)?, row.try_get(7)?) {
            (Some(name), Some(is_loose)) => Some(Collation { name, is_loose }),
            (_, _) => None,
        };
        Ok(Some(ColumnOrigin {
            table: row.try_get(0)?,
            column: row.try_get(1)?,
            not_null: stated(row.try_get(3)?),
            indexed: stated(row.try_get(4)?),
            unique: stated(row.try_get(5)?),
            analysed: stated(row.try_get(8)?),
            index_ddl: row.try_get(9)?,
            behind: row.try_get::<_, Vec<String>>(10)?.iter().map(|names| column_names(names)).collect(),
            partition_key: match (row.try_get(15)?, row.try_get(11)?) {
                (false, _) => PartitionKey::None,
                (true, true) => PartitionKey::MakesUnique,
                (true, false) => PartitionKey::Other,
            },
            partial: row.try_get(12)?,
            nulls: match (row.try_get(13)?, row.try_get(14)?) {
                (true, _) => Nulls::OfMaterializedView,
                (false, true) => Nulls::OfDomain,
                (false, false) => Nulls::Declarable,
            },
            collation,
        }))
    }

    /// A type by its name, if the server knows it.
    pub(super) async fn ty(&self, name: &str) -> Result<Option<ColumnType>, CliError> {
        // A query with a column of this type; the parser of the bindings has read the name.
        let found = self.columns(&format!("SELECT CAST(NULL AS {name})")).await?;
        Ok(found.ok().and_then(|columns| columns.into_iter().next()).map(|column| column.ty))
    }

    /// The indexes of a table that begin with an expression.
    pub(super) async fn expression_indexes(&self, table: &str) -> Result<Vec<ExpressionIndex>, CliError> {
        let rows = self.client.query(EXPRESSIONS, &[&table]).await.map_err(|error| failed(&error))?;
        let index =
            |row: &Row| Ok(ExpressionIndex { expression: row.try_get(0)?, predicate: row.try_get(1)? });
        rows.iter().map(index).collect::<Result<_, _>>().map_err(|error| failed(&error))
    }

    /// The compiler of statements, if it is on.
    pub(super) async fn jit(&self) -> Result<Option<Jit>, CliError> {
        let row = self.client.query_one(JIT, &[]).await.map_err(|error| failed(&error))?;
        let is_on: bool = row.try_get(0).map_err(|error| failed(&error))?;
        if !is_on {
            return Ok(None);
        }
        let above_cost = row.try_get(1).map_err(|error| failed(&error))?;
        Ok(Some(Jit { above_cost, off_ddl: row.try_get(2).map_err(|error| failed(&error))? }))
    }

    /// The plan of a statement, or the server's reason for refusing it. If the statement runs too
    /// long, its plan is that before it ran.
    pub(super) async fn plan(
        &self,
        statement: &str,
        runs: bool,
    ) -> Result<Result<PostgresqlPlan, String>, CliError> {
        let plan = |is_stopped| move |json| PostgresqlPlan { json, is_stopped };
        if runs {
            match self.explain(", ANALYZE", statement).await? {
                Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => {}
                Err(error) => return refusal(&error).map(Err),
                Ok(json) => return Ok(Ok(plan(false)(json))),
            }
        }
        match self.explain("", statement).await? {
            Ok(json) => Ok(Ok(plan(runs)(json))),
            Err(error) => refusal(&error).map(Err),
        }
    }

    async fn explain(&self, option: &str, statement: &str) -> Result<Result<String, Error>, CliError> {
        // Each line of the answer is a row.
        let lines = self.texts(&format!("EXPLAIN (FORMAT JSON, VERBOSE{option}) {statement}")).await?;
        Ok(lines.map(|lines| lines.join("\n")))
    }

    /// The text in the first row of a query; `None` if it has no row or the server refuses it.
    pub(super) async fn first_value(&self, query: &str) -> Result<Option<String>, CliError> {
        Ok(self.texts(query).await?.ok().and_then(|rows| rows.into_iter().next()))
    }

    /// The rows of a statement whose columns are text.
    pub(super) async fn rows(&self, statement: &str) -> Result<Vec<Vec<Option<String>>>, CliError> {
        let messages = self.client.simple_query(statement).await.map_err(|error| failed(&error))?;
        let row = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        };
        Ok(messages.iter().filter_map(row).collect())
    }

    /// The first column of each row, or the server's error.
    async fn texts(&self, query: &str) -> Result<Result<Vec<String>, Error>, CliError> {
        self.client.batch_execute("SAVEPOINT query").await.map_err(|error| failed(&error))?;
        let rows = match self.client.simple_query(query).await {
            Ok(messages) => {
                let text = |message: &SimpleQueryMessage| match message {
                    SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                    _ => None,
                };
                Ok(messages.iter().filter_map(text).collect())
            }
            Err(error) if error.as_db_error().is_some() => Err(error),
            Err(error) => return Err(failed(&error)),
        };
        self.client.batch_execute("ROLLBACK TO SAVEPOINT query").await.map_err(|error| failed(&error))?;
        Ok(rows)
    }

    /// The size of a table, if there is one of this name.
    pub(super) async fn table_size(&self, schema: &str, name: &str) -> Result<Option<TableSize>, CliError> {
        let row = self.client.query_opt(SIZE, &[&schema, &name]).await.map_err(|error| failed(&error))?;
        let read = |row: Row| {
            Ok(TableSize { name: row.try_get(0)?, is_analysed: row.try_get(1)?, n_rows: row.try_get(2)? })
        };
        row.map(read).transpose().map_err(|error| failed(&error))
    }

    async fn column_type(&self, ty: &Type, modifier: i32) -> Result<ColumnType, Error> {
        let row = self.client.query_one(TYPE, &[&ty.oid(), &modifier]).await?;
        let is_of_session: bool = row.try_get(1)?;
        let kind = if is_of_session { ColumnKind::OfSession } else { kind(ty, modifier) };
        Ok(ColumnType { name: row.try_get(0)?, kind })
    }
}

/// The hosts and ports that were tried.
fn places(config: &Config) -> String {
    let mut places: Vec<String> = config.get_hosts().iter().map(place).collect();
    places.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    let ports: Vec<String> = config.get_ports().iter().map(ToString::to_string).collect();
    format!("{} port {}", places.join(", "), ports.join(", "))
}

/// The kind of a type whose text does not depend on the session; that of a domain is the kind of its base
/// type. The modifier of a numeric contains precision and scale, plus the length of a four-byte header.
fn kind(ty: &Type, modifier: i32) -> ColumnKind {
    match ty.kind() {
        PgKind::Domain(base) => return kind(base, modifier),
        PgKind::Enum(_) => return ColumnKind::Enum,
        _ => {}
    }
    match *ty {
        Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN => ColumnKind::Text,
        Type::BPCHAR => ColumnKind::Padded,
        Type::INT2 | Type::INT4 | Type::INT8 => ColumnKind::Integer,
        Type::NUMERIC => ColumnKind::Numeric(match modifier {
            ..4 => Fraction::Sometimes,
            // The scale is the lower eleven bits.
            _ if (modifier - 4) % 0x800 == 0 => Fraction::Never,
            _ => Fraction::Always,
        }),
        Type::UUID => ColumnKind::Uuid,
        Type::BOOL => ColumnKind::Boolean,
        Type::INET => ColumnKind::Address,
        _ if ty.name() == "citext" => ColumnKind::Caseless,
        _ => ColumnKind::Other,
    }
}

/// The server's reason for refusing a query; an error if the query is not at fault.
fn refusal(error: &Error) -> Result<String, CliError> {
    let Some(reason) = error.as_db_error() else {
        return Err(CliError::Database { reason: reason(error), at: None });
    };
    Ok(match reason.hint() {
        Some(hint) => format!("{} ({})", reason.message(), hint.trim_end_matches('.')),
        None => reason.message().to_owned(),
    })
}

fn failed(error: &Error) -> CliError {
    // A server that ends the connection says so with an error, too.
    const ENDS: &[SqlState] =
        &[SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    let Some(code) = error.code().filter(|code| !ENDS.contains(code)).cloned() else {
        return CliError::Database { reason: reason(error), at: None };
    };
    match refusal(error) {
        Ok(reason) => CliError::Answered { reason, remedy: remedy(&code) },
        Err(error) => error,
    }
}

/// What to do about an error of a statement.
fn remedy(code: &SqlState) -> &'static str {
    match *code {
        SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::UNDEFINED_FUNCTION
        | SqlState::UNDEFINED_OBJECT
        | SqlState::INVALID_SCHEMA_NAME => {
            "run `portcullis bindings check`, and look at the connection's `search_path`"
        }
        SqlState::QUERY_CANCELED => {
            "a statement may take ten seconds: run `portcullis bindings check` with --explain"
        }
        SqlState::INSUFFICIENT_PRIVILEGE => "connect as a role that may read the tables of the bindings",
        _ => "run `portcullis bindings check` to compare the bindings with the database",
    }
}

//! The caller's database: runs scripts and statements, and says what came out, names and types included.

use crate::postgres::{Session, WIRE};
use crate::sql_limits;
use portcullis_compiler::Dialect;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::Value as SqliteValue;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_postgres::{Column, SimpleQueryMessage};

/// The longest that a statement may take on SQLite; PostgreSQL has a limit of its own.
const LIMIT: Duration = Duration::from_secs(20);

/// What a statement returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// The columns' names and types. SQLite's columns have no types; it is that of the first row's cell.
    pub columns: Vec<(String, String)>,
    /// The rows; a truth value is `true` or `false` on PostgreSQL, `1` or `0` on SQLite.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A database of the caller's, gone when it is dropped.
pub enum Caller {
    /// A session with its temporary tables.
    Postgresql(Session),
    /// A database in memory.
    Sqlite {
        /// The connection.
        connection: Connection,
        /// When the statement that runs now is interrupted.
        until: Arc<Mutex<Instant>>,
    },
}

impl Caller {
    /// An empty database.
    pub fn new(dialect: Dialect) -> Result<Self, String> {
        match dialect {
            Dialect::Postgresql => Ok(Self::Postgresql(Session::new()?)),
            Dialect::Sqlite => {
                let open = || {
                    let mut connection = Connection::open_in_memory()?;
                    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
                    // The size of the stack in 3.40, whose parser does not let it grow.
                    connection.set_limit(Limit::SQLITE_LIMIT_PARSER_DEPTH, 100)?;
                    let until = Arc::new(Mutex::new(Instant::now() + LIMIT));
                    let limit = Arc::clone(&until);
                    connection
                        .progress_handler(100_000, Some(move || Instant::now() > *limit.lock().unwrap()))?;
                    Ok(Self::Sqlite { connection, until })
                };
                open().map_err(|error: rusqlite::Error| error.to_string())
            }
        }
    }

    /// Its dialect.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Postgresql(_) => Dialect::Postgresql,
            Self::Sqlite { .. } => Dialect::Sqlite,
        }
    }

    /// Runs statements that return nothing.
    pub fn script(&self, script: &str) -> Result<(), String> {
        let ran = match self {
            Self::Postgresql(session) => {
                WIRE.block_on(session.client().batch_execute(script)).map_err(|error| told(&error))
            }
            Self::Sqlite { connection, .. } => {
                connection.execute_batch(script).map_err(|error| error.to_string())
            }
        };
        ran.map_err(|error| format!("{error}\n{script}"))
    }

    /// Runs one statement.
    pub fn run(&self, sql: &str) -> Result<Statements, String> {
        sql_limits::check(sql, self.dialect())?;
        let ran = match self {
            Self::Postgresql(session) => WIRE.block_on(run_postgres(session, sql)),
            Self::Sqlite { connection, until } => {
                *until.lock().unwrap() = Instant::now() + LIMIT;
                let ran = run_sqlite(connection, sql);
                if ran.is_ok() {
                    sql_limits::check_cursors(connection, sql)?;
                }
                ran
            }
        };
        ran.map_err(|error| format!("{error}\n{sql}"))
    }

    /// Runs three statements, sent together if the database is at the other end of a wire.
    pub fn run_all(&self, all: [&str; 3]) -> Result<[Statements; 3], String> {
        match self {
            Self::Postgresql(session) => {
                let run =
                    async |sql| run_postgres(session, sql).await.map_err(|error| format!("{error}\n{sql}"));
                let [one, two, three] = all;
                let (one, two, three) = WIRE.block_on(async { tokio::join!(run(one), run(two), run(three)) });
                Ok([one?, two?, three?])
            }
            Self::Sqlite { .. } => {
                let [one, two, three] = all;
                Ok([self.run(one)?, self.run(two)?, self.run(three)?])
            }
        }
    }
}

/// A statement's rows as the database prints them, for columns of any type.
pub fn printed(caller: &Caller, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let Caller::Postgresql(session) = caller else {
        return caller.run(sql.trim_end().trim_end_matches(';')).map(|returned| returned.rows);
    };
    let messages = WIRE.block_on(session.client().simple_query(sql)).map_err(|error| told(&error))?;
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    };
    Ok(messages.into_iter().filter_map(row).collect())
}

async fn run_postgres(session: &Session, sql: &str) -> Result<Statements, String> {
    let client = session.client();
    let found = client.query_typed(sql, &[]).await.map_err(|error| told(&error))?;
    // Rows bring their columns with them; only without any the statement must be asked.
    let prepared;
    let described = if let Some(row) = found.first() {
        row.columns()
    } else {
        prepared = client.prepare(sql).await.map_err(|error| told(&error))?;
        prepared.columns()
    };
    let column = |column: &Column| (column.name().to_owned(), column.type_().name().to_owned());
    let columns: Vec<(String, String)> = described.iter().map(column).collect();
    let mut rows = Vec::new();
    for row in &found {
        let cell = |(at, (_, ty)): (usize, &(String, String))| match ty.as_str() {
            "bool" => row.try_get::<_, Option<bool>>(at).map(|cell| cell.map(|cell| cell.to_string())),
            "int4" => row.try_get::<_, Option<i32>>(at).map(|cell| cell.map(|cell| cell.to_string())),
            "int8" => row.try_get::<_, Option<i64>>(at).map(|cell| cell.map(|cell| cell.to_string())),
            _ => row.try_get::<_, Option<String>>(at),
        };
        rows.push(
            columns.iter().enumerate().map(cell).collect::<Result<_, _>>().map_err(|error| told(&error))?,
        );
    }
    Ok(Statements { columns, rows })
}

fn told(error: &tokio_postgres::Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| format!("{error:?}"), |told| format!("{told} [{}]", told.code().code()))
}

fn run_sqlite(connection: &Connection, sql: &str) -> Result<Statements, String> {
    let run = || {
        let mut statement = connection.prepare(sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut types: Vec<Option<&str>> = vec![None; names.len()];
        let mut rows = Vec::new();
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let mut cells = Vec::new();
            for (at, ty) in types.iter_mut().enumerate() {
                let (name, cell) = match row.get(at)? {
                    SqliteValue::Null => (None, None),
                    SqliteValue::Integer(number) => (Some("integer"), Some(number.to_string())),
                    SqliteValue::Text(text) => (Some("text"), Some(text)),
                    other => (Some("other"), Some(format!("{other:?}"))),
                };
                *ty = ty.or(name);
                cells.push(cell);
            }
            rows.push(cells);
        }
        let types = types.into_iter().map(|ty| ty.unwrap_or("null").to_owned());
        Ok(Statements { columns: names.into_iter().zip(types).collect(), rows })
    };
    run().map_err(|error: rusqlite::Error| error.to_string())
}

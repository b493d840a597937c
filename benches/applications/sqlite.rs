//! An application on SQLite: a copy of its tables, and the expert's SQL in SQLite's words.
//!
//! Numbers and truth values become integers, everything else becomes text; a key of one number is the row's
//! own number. The indexes are the same. Nothing is analysed, as SQLite does not do that by itself.

use crate::compare::{Outcome, difference, statement};
use crate::measure::{Cost, Pair, Rounds};
use portcullis_testkit::applications::question::Question;
use portcullis_testkit::expert::database::Database;
use portcullis_testkit::server::Server;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, params_from_iter};
use serde_json::Value as Json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How many instructions SQLite runs before it looks at the clock.
const INSTRUCTIONS: i32 = 100_000;

/// Every table with its columns, its primary key if it has one, and the definitions of its other indexes.
const TABLES: &str = "
    SELECT json_build_object(
      'name', c.relname,
      'columns', (SELECT json_agg(json_build_array(attname, format_type(atttypid, NULL)) ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
      'key', (SELECT json_agg(a.attname ORDER BY k.place)
        FROM pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k (number, place), pg_attribute AS a
        WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number),
      'indexes', (SELECT coalesce(json_agg(pg_get_indexdef(indexrelid)), '[]')
        FROM pg_index WHERE indrelid = c.oid AND NOT indisprimary))
    FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace";

/// The copy of a database.
pub(crate) struct SqliteCopy {
    connection: Connection,
    /// How long a statement may take, and when the present one must end.
    timeout: Duration,
    end: Arc<Mutex<Instant>>,
    _folder: TempDir,
}

impl SqliteCopy {
    /// Copies what PostgreSQL holds. Statements get `timeout` seconds.
    pub(crate) async fn of(database: &Database, timeout: u16) -> Self {
        let folder = TempDir::new().unwrap();
        let mut connection = Connection::open(folder.path().join("copy.db")).unwrap();
        for table in database.first_column(TABLES).await {
            let table: Json = serde_json::from_str(&table).unwrap();
            let columns: Vec<(&str, &str)> =
                table["columns"].as_array().unwrap().iter().map(column).collect();
            connection.execute_batch(&definition(&table, &columns)).unwrap();
            let shown = columns.iter().map(|(name, ty)| match (*ty, is_number(ty)) {
                ("boolean", _) => format!("\"{name}\"::int"),
                (_, true) => format!("\"{name}\""),
                (_, false) => format!("\"{name}\"::text"),
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            let name = table["name"].as_str().unwrap();
            let rows =
                database.first_column(&format!("SELECT json_build_array({shown}) FROM \"{name}\"")).await;
            fill(&connection, name, columns.len(), &rows);
            for index in table["indexes"].as_array().unwrap() {
                let index = index.as_str().unwrap().replace(" public.", " ").replace(" USING btree", "");
                connection.execute_batch(&index).unwrap();
            }
        }
        let end = Arc::new(Mutex::new(Instant::now()));
        let seen = Arc::clone(&end);
        let is_late = move || Instant::now() > *seen.lock().unwrap();
        connection.progress_handler(INSTRUCTIONS, Some(is_late)).unwrap();
        Self { connection, timeout: Duration::from_secs(timeout.into()), end, _folder: folder }
    }

    /// Asks the service, runs both statements, and measures them if their rows are equal.
    pub(crate) fn compare(
        &self,
        service: &Server,
        question: &Question,
        bindings: &str,
        rounds: Rounds,
    ) -> Outcome {
        let (ours, n_bytes) = match statement(service, question, bindings) {
            Ok((ours, n_bytes)) => (in_sqlite(&ours), n_bytes),
            Err(refused) => return refused,
        };
        let expert = expert(question).unwrap();
        let (mut their_rows, their_cost) = match self.run(&expert) {
            Ok(answered) => answered,
            Err(error) => return Outcome::Failed(format!("the expert's: {error}\n{expert}")),
        };
        let failed = |error: Error| match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Outcome::TooSlow { n_bytes, expert: their_cost.sum() },
            _ => Outcome::Failed(format!("{error}\n{ours}")),
        };
        let mut our_rows = match self.run(&ours) {
            Ok((rows, _)) => rows,
            Err(error) => return failed(error),
        };
        if let Some(difference) = difference(question, &mut their_rows, &mut our_rows, &ours) {
            return Outcome::Wrong { n_bytes, difference };
        }
        match self.measure(&expert, &ours, rounds) {
            Ok(pair) => Outcome::Measured { n_bytes, n_rows: our_rows.len(), pair },
            Err(error) => failed(error),
        }
    }

    /// Runs both in each round; they take turns to be first.
    fn measure(&self, expert: &str, ours: &str, rounds: Rounds) -> Result<Pair, Error> {
        let cost = |sql: &str| self.run(sql).map(|(_, cost)| cost);
        let start = Instant::now();
        let (mut experts, mut our_costs) = (Vec::new(), Vec::new());
        for round in 0..rounds.most {
            if round > 0 && start.elapsed() > rounds.time {
                break;
            }
            if round % 2 == 0 {
                experts.push(cost(expert)?);
                our_costs.push(cost(ours)?);
            } else {
                our_costs.push(cost(ours)?);
                experts.push(cost(expert)?);
            }
        }
        Ok(Pair::of_rounds(&experts, &our_costs))
    }

    /// The first column of a statement's rows, as text; what the statement changes is undone.
    fn run(&self, sql: &str) -> Result<(Vec<String>, Cost), Error> {
        *self.end.lock().unwrap() = Instant::now() + self.timeout;
        let transaction = self.connection.unchecked_transaction()?;
        let start = Instant::now();
        let mut statement = self.connection.prepare(sql)?;
        let planning = start.elapsed();
        let found =
            statement.query_map([], |row| Ok(text(row.get_ref(0)?)))?.collect::<Result<Vec<_>, _>>()?;
        let execution = start.elapsed().saturating_sub(planning);
        drop(statement);
        transaction.rollback()?;
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        Ok((found, Cost { planning: milliseconds(planning), execution: milliseconds(execution) }))
    }
}

/// The expert's statement, if SQLite can express it.
pub(crate) fn expert(question: &Question) -> Option<String> {
    let sql = in_sqlite(&question.expert);
    (!sql.contains("VALUES") && !sql.contains("LATERAL")).then_some(sql)
}

/// What the files of questions say, in SQLite's words. There are none for a constant list of actions, and
/// for a subquery that runs for each row of a table.
fn in_sqlite(sql: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        (
            "below AS b, LATERAL (SELECT id FROM folders WHERE parent_id = b.folder_id OFFSET 0) AS f",
            "below AS b JOIN folders AS f ON f.parent_id = b.folder_id",
        ),
        (
            "below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s",
            "below AS b JOIN sellers AS s ON s.boss = b.login",
        ),
        ("SELECT FROM", "SELECT 1 FROM"),
        ("extract(epoch FROM now())::bigint", "unixepoch()"),
        ("timestamptz ", ""),
    ];
    let mut sql =
        WORDS.iter().fold(sql.to_owned(), |sql, (postgresql, sqlite)| sql.replace(postgresql, sqlite));
    while let Some((before, query)) = sql.split_once("= ANY (ARRAY(") {
        let mut depth = 1;
        let close = query.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let (query, after) = query.split_at(close.unwrap());
        // Without the brackets of `ARRAY(` and of `ANY (`.
        sql = format!("{before}IN ({query}){}", after.strip_prefix("))").unwrap());
    }
    sql
}

/// A column's name and type.
fn column(json: &Json) -> (&str, &str) {
    (json[0].as_str().unwrap(), json[1].as_str().unwrap())
}

fn is_number(ty: &str) -> bool {
    matches!(ty, "smallint" | "integer" | "bigint" | "boolean")
}

fn definition(table: &Json, columns: &[(&str, &str)]) -> String {
    let name = table["name"].as_str().unwrap();
    let key = table["key"].as_array().into_iter().flatten();
    let key: Vec<&str> = key.map(|name| name.as_str().unwrap()).collect();
    let columns = columns.iter().map(|(name, ty)| {
        let is_row = key == [*name] && is_number(ty);
        let ty = if is_number(ty) { "INTEGER" } else { "TEXT" };
        format!("\"{name}\" {ty}{}", if is_row { " PRIMARY KEY" } else { "" })
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let is_complete = key.is_empty() || columns.contains("PRIMARY KEY");
    let key = if is_complete { String::new() } else { format!(", PRIMARY KEY ({})", key.join(", ")) };
    format!("CREATE TABLE \"{name}\" ({columns}{key})")
}

/// Inserts rows, each a JSON array.
fn fill(connection: &Connection, table: &str, n_columns: usize, rows: &[String]) {
    let transaction = connection.unchecked_transaction().unwrap();
    let places = vec!["?"; n_columns].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO \"{table}\" VALUES ({places})")).unwrap();
    for row in rows {
        let row: Vec<Json> = serde_json::from_str(row).unwrap();
        let values = row.into_iter().map(|cell| match cell {
            Json::Number(number) => Value::Integer(number.as_i64().unwrap()),
            Json::String(text) => Value::Text(text),
            _ => Value::Null,
        });
        insert.execute(params_from_iter(values)).unwrap();
    }
    drop(insert);
    transaction.commit().unwrap();
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
    }
}

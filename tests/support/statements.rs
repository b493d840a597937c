//! The compiler's statements on the databases that they are printed for.
//!
//! In: a program, facts, questions. Out: what SQLite and PostgreSQL answer, from text with literals and from
//! statements with parameters, over tables whose names want quoting, over tables that hold the facts of one
//! literal only, and over rows that come as a parameter. Rows must come out sorted by their bytes and each
//! once, and pages must add up to the whole.

use super::fact_tables::{FactTables, Layout, Rows};
use super::fixture::Answer;
use super::notation::{Cell, Fact, Value};
use super::outcome::{Outcome, is_wanted};
use super::postgres::{Session, WIRE};
use super::refusal::NoAnswer;
use super::reparse;
use super::sql_limits;
use portcullis_compiler::catalog::RelationArg;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{
    self, AnswerColumn, CompileError, Domain, Question, QuestionVarId, RefusedIf, Shape, Slot, Statement,
};
use portcullis_compiler::{Dialect, compile, compile_for_store, compile_text};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::Value as SqliteValue;
use tokio_postgres::types::{ToSql, Type};

/// Answers of a page; small, so that a few answers need several pages.
const PAGE: i64 = 2;

/// What comes out of a database: nothing is NULL.
type Cells = Vec<Option<String>>;

/// A program with its facts on both databases.
pub struct Statements<'p> {
    program: &'p Program,
    now: i64,
    tables: FactTables,
    by_literal: FactTables,
    request: FactTables,
    /// Whether no id looks like the star of a page.
    has_pages: bool,
    sqlite: Connection,
    postgres: Session,
}

impl<'p> Statements<'p> {
    /// Puts the facts into tables of both databases.
    pub fn new(program: &'p Program, facts: &[Fact], now: i64) -> Result<Self, String> {
        let placed = |layout| FactTables::of(program, facts, layout);
        let returned = Self {
            program,
            now,
            tables: placed(Layout::Tables),
            by_literal: placed(Layout::ByLiteral),
            request: placed(Layout::Request),
            has_pages: facts.iter().flat_map(|fact| &fact.args).all(|value| value.id != "*"),
            sqlite: Connection::open_in_memory().map_err(|error| error.to_string())?,
            postgres: Session::new()?,
        };
        returned.load_sqlite().map_err(|error| format!("SQLite does not take the facts: {error}"))?;
        WIRE.block_on(returned.load_postgres())
            .map_err(|error| format!("PostgreSQL does not take the facts: {error:?}"))?;
        Ok(returned)
    }

    fn all_tables(&self) -> impl Iterator<Item = (String, Vec<String>, &Rows)> {
        let by_literal = self.has_literals().then(|| self.by_literal.tables());
        self.tables.tables().chain(by_literal.into_iter().flatten())
    }

    /// Whether a String in the facts makes the tables by literal other ones.
    fn has_literals(&self) -> bool {
        let is_literal = |arg: &RelationArg| matches!(arg, RelationArg::Constant { .. });
        self.by_literal.catalog.relations.iter().flat_map(|relation| &relation.args).any(is_literal)
    }

    fn load_sqlite(&self) -> rusqlite::Result<()> {
        self.sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        for (table, columns, rows) in self.all_tables() {
            // A table has at least one column.
            let all = if columns.is_empty() { "held".to_owned() } else { columns.join(", ") };
            self.sqlite.execute_batch(&format!("CREATE TABLE {table} ({all})"))?;
            let marks =
                if columns.is_empty() { "NULL".to_owned() } else { vec!["?"; columns.len()].join(", ") };
            for row in rows {
                let params = rusqlite::params_from_iter(row);
                self.sqlite.execute(&format!("INSERT INTO {table} VALUES ({marks})"), params)?;
            }
        }
        Ok(())
    }

    async fn load_postgres(&self) -> Result<(), tokio_postgres::Error> {
        let client = self.postgres.client();
        for (table, columns, rows) in self.all_tables() {
            let typed: Vec<String> = columns.iter().map(|column| format!("{column} TEXT NOT NULL")).collect();
            client.batch_execute(&format!("CREATE TEMPORARY TABLE {table} ({})", typed.join(", "))).await?;
            if columns.is_empty() {
                client.batch_execute(&format!("INSERT INTO {table} DEFAULT VALUES")).await?;
                continue;
            }
            let arrays: Vec<Vec<&str>> =
                (0..columns.len()).map(|at| rows.iter().map(|row| row[at].as_str()).collect()).collect();
            let params: Vec<&(dyn ToSql + Sync)> =
                arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
            let marks: Vec<String> = (1..=columns.len()).map(|at| format!("${at}::TEXT[]")).collect();
            let insert = format!("INSERT INTO {table} SELECT * FROM unnest({})", marks.join(", "));
            client.execute(&insert, &params).await?;
        }
        Ok(())
    }

    /// Asks both databases in every form of the statement.
    pub fn ask_every_way(&self, question: &Question) -> Vec<(&'static str, Outcome)> {
        let mut asked = vec![
            ("PostgreSQL, parameters", self.ask_with_parameters(question, &self.tables)),
            ("PostgreSQL, facts in a parameter", self.ask_with_parameters(question, &self.request)),
        ];
        if self.has_pages && is_list(question) {
            asked.push(("PostgreSQL, pages", self.ask_pages(question)));
        }
        if let Err(fault) = self.fits_the_store(question) {
            asked.push(("SQLite, for the store", Outcome::Refused(NoAnswer::fault(fault))));
        }
        let mut texts = vec![
            ("SQLite, text", &self.tables, Dialect::Sqlite),
            ("PostgreSQL, text", &self.tables, Dialect::Postgresql),
        ];
        if self.has_literals() {
            texts.push(("SQLite, tables by literal", &self.by_literal, Dialect::Sqlite));
            texts.push(("PostgreSQL, tables by literal", &self.by_literal, Dialect::Postgresql));
        }
        let found = texts
            .into_iter()
            .filter_map(|(way, placed, dialect)| Some((way, self.ask_text(question, placed, dialect)?)));
        asked.extend(found);
        asked
    }

    /// Whether SQLite takes the statement for the service's own store.
    fn fits_the_store(&self, question: &Question) -> Result<(), String> {
        let by_literal = self.has_literals().then_some(&self.by_literal);
        for placed in [&self.tables, &self.request].into_iter().chain(by_literal) {
            let shape = Shape::of(self.program, question);
            let compiled = compile_for_store(self.program, &placed.catalog, &shape);
            let Ok(statement) = compiled else { continue };
            let refusal = statement.refused_if.as_ref().map(|refused_if| refused_if.sql.as_str());
            for sql in [statement.sql.as_str()].into_iter().chain(refusal) {
                sql_limits::check(sql, Dialect::Sqlite)?;
                self.sqlite.prepare(sql).map_err(|error| format!("{error}\n{sql}"))?;
                sql_limits::check_cursors(&self.sqlite, sql)?;
            }
        }
        Ok(())
    }

    /// `None` if the rows may not be the whole answer: a text cannot ask first.
    fn ask_text(&self, question: &Question, placed: &FactTables, dialect: Dialect) -> Option<Outcome> {
        let compiled = compile_text(self.program, &placed.catalog, question, dialect, self.now);
        if compiled.as_ref().is_ok_and(|statement| statement.refused_if.is_some()) {
            return None;
        }
        Some(outcome(question, &compiled, |statement| {
            reparse::check(&statement.sql, dialect)?;
            sql_limits::check(&statement.sql, dialect)?;
            if !statement.slots.is_empty() {
                return Err("a text wants parameters".into());
            }
            let rows = match dialect {
                Dialect::Sqlite => self
                    .run_sqlite(&statement.sql)
                    .and_then(|rows| sql_limits::check_cursors(&self.sqlite, &statement.sql).map(|()| rows)),
                Dialect::Postgresql => self.run_postgres(&statement.sql, &statement.answer, &[]),
            };
            answer(question, &statement.answer, &rows?, dialect)
        }))
    }

    fn ask_with_parameters(&self, question: &Question, placed: &FactTables) -> Outcome {
        let shape = Shape::of(self.program, question);
        let compiled = compile(self.program, &placed.catalog, &shape, Dialect::Postgresql);
        let answered = outcome(question, &compiled, |statement| {
            reparse::check(&statement.sql, Dialect::Postgresql)?;
            sql_limits::check(&statement.sql, Dialect::Postgresql)?;
            let values = self.values(question, placed, &statement.slots, "");
            let rows = self.run_postgres(&statement.sql, &statement.answer, &values)?;
            answer(question, &statement.answer, &rows, Dialect::Postgresql)
        });
        self.unless_refused(question, placed, &compiled, answered)
    }

    /// The outcome, or the refusal that a statement asks its database for first.
    fn unless_refused(
        &self,
        question: &Question,
        placed: &FactTables,
        compiled: &Result<Statement, CompileError>,
        answered: Outcome,
    ) -> Outcome {
        let Ok(Statement { refused_if: Some(RefusedIf { sql, slots, refusal }), .. }) = compiled else {
            return answered;
        };
        let values = self.values(question, placed, slots, "");
        let asked = reparse::check(sql, Dialect::Postgresql)
            .and_then(|()| self.run_postgres(sql, &question::Answer::Decision, &values));
        match asked.as_deref() {
            Ok([row]) if row.as_slice() == [Some("1".to_owned())] => {
                Outcome::Refused(NoAnswer::refused(question, refusal.clone()))
            }
            Ok([row]) if row.as_slice() == [Some("0".to_owned())] => answered,
            other => Outcome::Refused(NoAnswer::fault(format!("{other:?}"))),
        }
    }

    /// Reads a list page by page.
    fn ask_pages(&self, question: &Question) -> Outcome {
        let paged = Question { paged: true, ..question.clone() };
        let shape = Shape::of(self.program, &paged);
        let compiled = compile(self.program, &self.tables.catalog, &shape, Dialect::Postgresql);
        let answered = outcome(question, &compiled, |statement| {
            let mut all: Vec<Cells> = Vec::new();
            loop {
                let after = all.last().and_then(|row| row[0].clone()).unwrap_or_default();
                let values = self.values(question, &self.tables, &statement.slots, &after);
                let page = self.run_postgres(&statement.sql, &statement.answer, &values)?;
                let is_last = page.len() < usize::try_from(PAGE).unwrap();
                all.extend(page);
                if !all.is_sorted_by(|before, after| before < after) {
                    return Err(format!("pages out of order: {all:?}"));
                }
                if is_last {
                    break;
                }
            }
            let star = |cell: Option<String>| cell.filter(|id| id != "*");
            let rows = all.into_iter().map(|row| row.into_iter().map(star).collect());
            Ok(cells(question, &statement.answer, &rows.collect::<Vec<_>>()))
        });
        self.unless_refused(question, &self.tables, &compiled, answered)
    }

    fn values(&self, question: &Question, placed: &FactTables, slots: &[Slot], after: &str) -> Vec<SqlValue> {
        let value = |slot: &Slot| match *slot {
            Slot::Given(var) | Slot::OneOf(var) => SqlValue::Text(match &question.vars[var].domain {
                Domain::Given(id) => id.clone(),
                Domain::GivenOneOf(ids) => serde_json::json!(ids).to_string(),
                Domain::Wanted | Domain::Ignored => panic!("a parameter without a value"),
            }),
            Slot::Context(slot) => SqlValue::Text(serde_json::json!(placed.rows[slot.index()]).to_string()),
            Slot::TypeOf(var) => SqlValue::Text(question.vars[var].ty.clone().unwrap()),
            Slot::Now => SqlValue::Integer(self.now),
            Slot::PageAfter => SqlValue::Text(after.to_owned()),
            Slot::PageLimit => SqlValue::Integer(PAGE),
        };
        slots.iter().map(value).collect()
    }

    fn run_sqlite(&self, sql: &str) -> Result<Vec<Cells>, String> {
        let run = || {
            let mut statement = self.sqlite.prepare(sql)?;
            let n_columns = statement.column_count();
            let rows = statement.query_map([], |row| {
                let cell = |at| {
                    Ok(match row.get(at)? {
                        SqliteValue::Null => None,
                        SqliteValue::Integer(number) => Some(number.to_string()),
                        SqliteValue::Text(text) => Some(text),
                        other => Some(format!("{other:?}")),
                    })
                };
                (0..n_columns).map(cell).collect()
            })?;
            rows.collect::<rusqlite::Result<Vec<Cells>>>()
        };
        run().map_err(|error| format!("{error}\n{sql}"))
    }

    fn run_postgres(
        &self,
        sql: &str,
        meaning: &question::Answer,
        values: &[SqlValue],
    ) -> Result<Vec<Cells>, String> {
        let client = self.postgres.client();
        let run = async {
            let types: Vec<Type> = values.iter().map(SqlValue::ty).collect();
            let prepared = client.prepare_typed(sql, &types).await?;
            let params: Vec<&(dyn ToSql + Sync)> = values.iter().map(SqlValue::as_sql).collect();
            let mut rows = Vec::new();
            for row in client.query(&prepared, &params).await? {
                let cell = |at| match meaning {
                    question::Answer::Decision => {
                        Ok(Some(i64::from(row.try_get::<_, bool>(at)?).to_string()))
                    }
                    question::Answer::Rows(_) | question::Answer::Part => {
                        row.try_get::<_, Option<String>>(at)
                    }
                };
                rows.push((0..row.len()).map(cell).collect::<Result<_, _>>()?);
            }
            Ok(rows)
        };
        let told = |error: tokio_postgres::Error| {
            let told = error.as_db_error().map_or_else(|| format!("{error:?}"), ToString::to_string);
            format!("{told}\n{sql}")
        };
        WIRE.block_on(run).map_err(told)
    }
}

/// A value for PostgreSQL.
enum SqlValue {
    Text(String),
    Integer(i64),
}

impl SqlValue {
    fn ty(&self) -> Type {
        match self {
            Self::Text(_) => Type::TEXT,
            Self::Integer(_) => Type::INT8,
        }
    }

    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(text) => text,
            Self::Integer(integer) => integer,
        }
    }
}

/// Whether a question can be read in pages.
fn is_list(question: &Question) -> bool {
    let one_of = question.vars.iter().any(|var| matches!(var.domain, Domain::GivenOneOf(_)));
    let wanted: Vec<_> = question.vars.iter().filter(|var| is_wanted(var)).collect();
    !one_of && matches!(wanted.as_slice(), [one] if one.ty.is_some())
}

/// Only the compiler may refuse; what the database refuses is a bug.
fn outcome(
    question: &Question,
    compiled: &Result<Statement, CompileError>,
    run: impl FnOnce(&Statement) -> Result<Answer, String>,
) -> Outcome {
    match compiled {
        Ok(statement) => match run(statement) {
            Ok(answer) => Outcome::Is(answer),
            Err(message) => Outcome::Refused(NoAnswer::fault(message)),
        },
        Err(CompileError::Refused(refusal)) => Outcome::Refused(NoAnswer::refused(question, refusal.clone())),
        Err(CompileError::Bug(text)) => Outcome::Refused(NoAnswer::fault(text)),
    }
}

fn answer(
    question: &Question,
    meaning: &question::Answer,
    rows: &[Cells],
    dialect: Dialect,
) -> Result<Answer, String> {
    // SQLite puts NULL first, PostgreSQL last.
    let nulls_last = dialect == Dialect::Postgresql;
    let key = |row: &Cells| -> Vec<(bool, Option<String>)> {
        row.iter().map(|cell| (nulls_last && cell.is_none(), cell.clone())).collect()
    };
    if !rows.is_sorted_by(|before, after| key(before) < key(after)) {
        return Err(format!("rows twice or out of order: {rows:?}"));
    }
    match (meaning, rows) {
        (question::Answer::Decision, [row]) if row.len() == 1 => {
            Ok(Answer::Decision(row[0].as_deref() == Some("1")))
        }
        (question::Answer::Decision, rows) => Err(format!("no decision: {rows:?}")),
        (question::Answer::Rows(_) | question::Answer::Part, _) => Ok(cells(question, meaning, rows)),
    }
}

/// Rows as a page of fixtures writes them: a cell for each variable that is asked for, in their order.
fn cells(question: &Question, meaning: &question::Answer, rows: &[Cells]) -> Answer {
    let question::Answer::Rows(columns) = meaning else { panic!("rows of a decision") };
    let is_asked =
        |&var: &QuestionVarId| matches!(question.vars[var].domain, Domain::Wanted | Domain::GivenOneOf(_));
    let asked: Vec<QuestionVarId> = question.vars.ids().filter(is_asked).collect();
    let cell = |row: &Cells, var: QuestionVarId| {
        let value = |column: AnswerColumn| {
            columns.iter().position(|other| *other == column).and_then(|at| row[at].clone())
        };
        let ty = question.vars[var].ty.clone().or_else(|| value(AnswerColumn::Type(var)));
        match (ty, value(AnswerColumn::Id(var))) {
            (Some(ty), Some(id)) => Cell::Value(Value::new(&ty, &id)),
            (Some(ty), None) => Cell::AnyOf(ty),
            (None, None) => Cell::Any,
            (None, Some(id)) => panic!("the id {id:?} has no type"),
        }
    };
    Answer::Rows(rows.iter().map(|row| asked.iter().map(|&var| cell(row, var)).collect()).collect())
}

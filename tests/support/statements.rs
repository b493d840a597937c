//! The compiler's statements on the databases that they are printed for.
//!
//! In: a program, facts, questions. Out: what SQLite and PostgreSQL answer, from text with literals and from
//! statements with parameters, over tables whose names want quoting, over tables that hold the facts of one
//! literal only, and over rows that come in parameters. PostgreSQL answers from texts, and as a store from
//! bytes. Rows must come out sorted by their bytes and each once, and pages must add up to the whole.

mod answers;
mod values;

use super::fact_tables::{FactTables, Layout, Rows};
use super::notation::Fact;
use super::outcome::{Outcome, is_wanted};
use super::postgres::{Session, WIRE};
use super::refusal::NoAnswer;
use super::reparse;
use super::sql_limits;
use answers::{answer, cells, outcome};
use portcullis_compiler::catalog::RelationArg;
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{
    self, CompileError, Domain, Question, RefusedIf, Shape, Slot, Statement,
};
use portcullis_compiler::{Dialect, StoreDialect, compile, compile_for_store, compile_text};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::Value as SqliteValue;
use tokio_postgres::types::{ToSql, Type};
use values::{Form, SqlValue};

/// Answers of a page; small, so that a few answers need several pages.
const PAGE: i64 = 2;

/// The schema of temporary tables: a statement for a store names the schema of its tables.
const TEMPORARY: &str = "pg_temp";

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
    /// The tables of a store on PostgreSQL.
    stored: FactTables,
    stored_by_literal: FactTables,
    sqlite: Connection,
    postgres: Session,
}

/// Facts for PostgreSQL, and how values are written there.
#[derive(Clone, Copy)]
struct Place<'s> {
    facts: &'s FactTables,
    form: Form,
}

impl<'p> Statements<'p> {
    /// Puts the facts into tables of both databases.
    pub fn new(program: &'p Program, facts: &[Fact], now: i64) -> Result<Self, String> {
        let placed = |layout| FactTables::of(program, facts, layout);
        let (tables, by_literal) = (placed(Layout::Tables), placed(Layout::ByLiteral));
        let returned = Self {
            program,
            now,
            stored: tables.in_schema(TEMPORARY),
            stored_by_literal: by_literal.in_schema(TEMPORARY),
            tables,
            by_literal,
            request: placed(Layout::Request),
            has_pages: facts.iter().flat_map(|fact| &fact.args).all(|value| value.id != "*"),
            sqlite: Connection::open_in_memory().map_err(|error| error.to_string())?,
            postgres: Session::new()?,
        };
        returned.load_sqlite().map_err(|error| format!("SQLite does not take the facts: {error}"))?;
        for form in [Form::Text, Form::Bytes] {
            WIRE.block_on(returned.load_postgres(form))
                .map_err(|error| format!("PostgreSQL does not take the facts: {error:?}"))?;
        }
        Ok(returned)
    }

    /// The tables to make, as they are or as those of a store.
    fn all_tables(&self, form: Form) -> impl Iterator<Item = (String, Vec<String>, &Rows)> {
        let (tables, by_literal) = match form {
            Form::Text => (&self.tables, &self.by_literal),
            Form::Bytes => (&self.stored, &self.stored_by_literal),
        };
        let by_literal = self.has_literals().then(|| by_literal.tables());
        tables.tables().chain(by_literal.into_iter().flatten())
    }

    /// Whether a String in the facts makes the tables by literal other ones.
    fn has_literals(&self) -> bool {
        let is_literal = |arg: &RelationArg| matches!(arg, RelationArg::Constant { .. });
        self.by_literal.catalog.relations.iter().flat_map(|relation| &relation.args).any(is_literal)
    }

    fn load_sqlite(&self) -> rusqlite::Result<()> {
        self.sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        for (table, columns, rows) in self.all_tables(Form::Text) {
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

    async fn load_postgres(&self, form: Form) -> Result<(), tokio_postgres::Error> {
        let client = self.postgres.client();
        let ty = form.column();
        for (table, columns, rows) in self.all_tables(form) {
            let typed: Vec<String> = columns.iter().map(|column| format!("{column} {ty} NOT NULL")).collect();
            client.batch_execute(&format!("CREATE TEMPORARY TABLE {table} ({})", typed.join(", "))).await?;
            if columns.is_empty() {
                client.batch_execute(&format!("INSERT INTO {table} DEFAULT VALUES")).await?;
                continue;
            }
            let array = |at: usize| form.array(rows.iter().map(move |row| row[at].as_str()));
            let arrays: Vec<SqlValue> = (0..columns.len()).map(array).collect();
            let params: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(SqlValue::as_sql).collect();
            let marks: Vec<String> = (1..=columns.len()).map(|at| format!("${at}::{ty}[]")).collect();
            let insert = format!("INSERT INTO {table} SELECT * FROM unnest({})", marks.join(", "));
            client.execute(&insert, &params).await?;
        }
        Ok(())
    }

    /// Asks both databases in every form of the statement.
    pub fn ask_every_way(&self, question: &Question) -> Vec<(&'static str, Outcome)> {
        let text = |facts| Place { facts, form: Form::Text };
        let bytes = |facts| Place { facts, form: Form::Bytes };
        let mut asked = vec![
            ("PostgreSQL, parameters", self.ask_with_parameters(question, text(&self.tables))),
            ("PostgreSQL, facts in a parameter", self.ask_with_parameters(question, text(&self.request))),
            ("PostgreSQL, store", self.ask_with_parameters(question, bytes(&self.stored))),
            ("PostgreSQL, store, facts in arrays", self.ask_with_parameters(question, bytes(&self.request))),
        ];
        if self.has_literals() {
            let stored = self.ask_with_parameters(question, bytes(&self.stored_by_literal));
            asked.push(("PostgreSQL, store, tables by literal", stored));
        }
        if self.has_pages && is_list(question) {
            asked.push(("PostgreSQL, pages", self.ask_pages(question, text(&self.tables))));
            asked.push(("PostgreSQL, store, pages", self.ask_pages(question, bytes(&self.stored))));
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
            let compiled = compile_for_store(
                self.program,
                &placed.catalog,
                &shape,
                StoreDialect::Sqlite,
                Deadline::NEVER,
            );
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
                Dialect::Postgresql => self.run_postgres(&statement.sql, &statement.answer, &[], Form::Text),
            };
            answer(question, &statement.answer, &rows?, dialect, Form::Text)
        }))
    }

    fn compile(&self, question: &Question, place: Place<'_>) -> Result<Statement, CompileError> {
        let (shape, catalog) = (Shape::of(self.program, question), &place.facts.catalog);
        match place.form {
            Form::Text => compile(self.program, catalog, &shape, Dialect::Postgresql),
            Form::Bytes => {
                compile_for_store(self.program, catalog, &shape, StoreDialect::Postgresql, Deadline::NEVER)
            }
        }
    }

    fn ask_with_parameters(&self, question: &Question, place: Place<'_>) -> Outcome {
        let compiled = self.compile(question, place);
        let answered = outcome(question, &compiled, |statement| {
            reparse::check(&statement.sql, Dialect::Postgresql)?;
            sql_limits::check(&statement.sql, Dialect::Postgresql)?;
            let values = self.values(question, place, &statement.slots, None);
            let rows = self.run_postgres(&statement.sql, &statement.answer, &values, place.form)?;
            answer(question, &statement.answer, &rows, Dialect::Postgresql, place.form)
        });
        self.unless_refused(question, place, &compiled, answered)
    }

    /// The outcome, or the refusal that a statement asks its database for first.
    fn unless_refused(
        &self,
        question: &Question,
        place: Place<'_>,
        compiled: &Result<Statement, CompileError>,
        answered: Outcome,
    ) -> Outcome {
        let Ok(Statement { refused_if: Some(RefusedIf { sql, slots, refusal }), .. }) = compiled else {
            return answered;
        };
        let values = self.values(question, place, slots, None);
        let asked = reparse::check(sql, Dialect::Postgresql)
            .and_then(|()| self.run_postgres(sql, &question::Answer::Decision, &values, place.form));
        match asked.as_deref() {
            Ok([row]) if row.as_slice() == [Some("1".to_owned())] => {
                Outcome::Refused(NoAnswer::refused(question, refusal.clone()))
            }
            Ok([row]) if row.as_slice() == [Some("0".to_owned())] => answered,
            other => Outcome::Refused(NoAnswer::fault(format!("{other:?}"))),
        }
    }

    /// Reads a list page by page.
    fn ask_pages(&self, question: &Question, place: Place<'_>) -> Outcome {
        let compiled = self.compile(&Question { paged: true, ..question.clone() }, place);
        let answered = outcome(question, &compiled, |statement| {
            let mut all: Vec<Cells> = Vec::new();
            loop {
                let after = all.last().and_then(|row| row[0].as_deref());
                let values = self.values(question, place, &statement.slots, after);
                let page = self.run_postgres(&statement.sql, &statement.answer, &values, place.form)?;
                let is_last = page.len() < usize::try_from(PAGE).unwrap();
                all.extend(page);
                let keys = all.iter().map(|row| row[0].as_deref().map(|id| place.form.key(id)));
                if !keys.is_sorted_by(|before, after| before < after) {
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
        self.unless_refused(question, place, &compiled, answered)
    }

    fn values(
        &self,
        question: &Question,
        place: Place<'_>,
        slots: &[Slot],
        after: Option<&str>,
    ) -> Vec<SqlValue> {
        place.form.parameters(slots, question, place.facts, self.now, after)
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
        form: Form,
    ) -> Result<Vec<Cells>, String> {
        let client = self.postgres.client();
        let run = async {
            let types: Vec<Type> = values.iter().map(SqlValue::ty).collect();
            let prepared = client.prepare_typed(sql, &types).await?;
            let params: Vec<&(dyn ToSql + Sync)> = values.iter().map(SqlValue::as_sql).collect();
            client.query(&prepared, &params).await
        };
        let told = |error: tokio_postgres::Error| {
            let told = error.as_db_error().map_or_else(|| format!("{error:?}"), ToString::to_string);
            format!("{told}\n{sql}")
        };
        let rows = WIRE.block_on(run).map_err(told)?;
        rows.iter().map(|row| (0..row.len()).map(|at| form.cell(row, at, meaning)).collect()).collect()
    }
}

/// Whether a question can be read in pages.
fn is_list(question: &Question) -> bool {
    let one_of = question.vars.iter().any(|var| matches!(var.domain, Domain::GivenOneOf(_)));
    let wanted: Vec<_> = question.vars.iter().filter(|var| is_wanted(var)).collect();
    !one_of && matches!(wanted.as_slice(), [one] if one.ty.is_some())
}

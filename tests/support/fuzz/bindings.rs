//! Any text as a data-bindings document, as a bound query, or as the column of a filter.
//!
//! An input that begins with `postgresql> ` or `sqlite> ` is a query in an otherwise good document for that
//! database; one that begins with `column> ` is what a filter looks at; any other is a document. What is
//! accepted is used: each form of SQL over it must be one statement for a parser, and good SQL for SQLite if
//! its queries are. A bound query that was read prints as one that reads as the same.

use super::world::{RUNTIME, furnished, unless_refused};
use portcullis::engine::{Engine, EvaluateQuery, EvaluateVar, LocalMode, LocalQuestion, LocalRequest, Value};
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{self, Bindings};
use rusqlite::Connection;
use sqlparser::dialect::{Dialect as Grammar, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| RUNTIME.block_on(furnished()));

/// Levels of a statement that a parser may read; its own bound is for text from strangers.
const DEPTH: usize = 500;

/// Reads a text as what its beginning says, and asks for SQL over it.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(query) = text.strip_prefix("postgresql> ") {
        document(&with_query(query, Dialect::Postgresql), "folders.id");
    } else if let Some(query) = text.strip_prefix("sqlite> ") {
        document(&with_query(query, Dialect::Sqlite), "folders.id");
    } else if let Some(column) = text.strip_prefix("column> ") {
        for dialect in Dialect::ALL {
            document(&with_query("SELECT who, role, what FROM roles", dialect), column);
        }
    } else {
        document(&text, "folders.id");
    }
}

/// A document with one bound query; a text of JSON is one of YAML.
fn with_query(query: &str, dialect: Dialect) -> String {
    let query = serde_json::json!(query);
    format!("facts:\n  has_role(User:_, String:_, Folder:_):\n    query: {query}\ndialect: {dialect}\n")
}

fn document(text: &str, column: &str) {
    let read = bindings::parse(text);
    if let Err(errors) = &read {
        assert!(!errors.is_empty() && errors.iter().all(|error| !error.message.is_empty()), "no reason");
    }
    for (question, is_condition) in questions(column) {
        let request = LocalRequest { bindings: text.to_owned(), question, context: Vec::new() };
        let Some(sql) = unless_refused(RUNTIME.block_on(ENGINE.local(request))) else { continue };
        let bindings = read.as_ref().expect("there is SQL over a document that is refused");
        let statement = if is_condition { format!("SELECT 1 FROM folders WHERE {sql}") } else { sql };
        is_one_query(&statement, bindings.dialect);
        if bindings.dialect == Dialect::Sqlite {
            is_good(&statement, bindings, column);
        }
    }
    for bound in read.iter().flat_map(|bindings| &bindings.facts) {
        let (key, query) = (serde_json::json!(bound.key), serde_json::json!(bound.query.text));
        let dialect = read.as_ref().map_or_else(|_| Dialect::default(), |bindings| bindings.dialect);
        let printed = format!("facts:\n  {key}:\n    query: {query}\ndialect: {dialect}\n");
        let again = bindings::parse(&printed).unwrap_or_else(|told| panic!("{told:?}\n{printed}"));
        assert_eq!(again.facts.first().map(|fact| &fact.query), Some(&bound.query), "{printed}");
    }
}

/// Every form of SQL, and whether it is a condition.
fn questions(column: &str) -> [(LocalQuestion, bool); 6] {
    let actor = || Value::new("User", "ada");
    let resource = || Value::new("Folder", "7");
    let var = |ty: &str| EvaluateVar { ty: ty.to_owned(), ids: None };
    let query = || EvaluateQuery {
        atoms: vec![("has_role".to_owned(), ["u", "r", "f"].map(str::to_owned).to_vec())],
        vars: BTreeMap::from(
            [("u", "User"), ("r", "String"), ("f", "Folder")].map(|(name, ty)| (name.to_owned(), var(ty))),
        ),
    };
    let shown = ["u", "f"].map(|name| (name.to_owned(), format!("the {name}"))).to_vec();
    let (action, column) = ("read".to_owned(), column.to_owned());
    [
        (LocalQuestion::Authorize { actor: actor(), action: action.clone(), resource: resource() }, false),
        (
            LocalQuestion::List {
                actor: actor(),
                action: action.clone(),
                resource_type: "Folder".to_owned(),
                column: column.clone(),
            },
            true,
        ),
        (LocalQuestion::Actions { actor: actor(), resource: resource() }, false),
        (
            LocalQuestion::Subjects {
                actor_type: "User".to_owned(),
                action,
                resource: resource(),
                column: column.clone(),
            },
            true,
        ),
        (LocalQuestion::Evaluate { query: query(), mode: LocalMode::Select(shown) }, false),
        (
            LocalQuestion::Evaluate {
                query: query(),
                mode: LocalMode::Filter { var: "f".to_owned(), column },
            },
            true,
        ),
    ]
}

fn is_one_query(sql: &str, dialect: Dialect) {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Postgresql => &PostgreSqlDialect {},
    };
    // The parser knows the word in PostgreSQL's grammar only.
    let plain = match dialect {
        Dialect::Sqlite => {
            sql.replace(" AS NOT MATERIALIZED (", " AS (").replace(" AS MATERIALIZED (", " AS (")
        }
        Dialect::Postgresql => sql.to_owned(),
    };
    let parser = Parser::new(grammar).with_recursion_limit(DEPTH).try_with_sql(&plain);
    let parsed = parser.and_then(|mut parser| parser.parse_statements());
    match parsed.as_deref() {
        Ok([sqlparser::ast::Statement::Query(_)]) => {}
        Ok(statements) => panic!("{} statements, not one query:\n{sql}", statements.len()),
        Err(told) => panic!("{told}:\n{sql}"),
    }
}

/// What SQLite reads alone it reads within our statement, too.
fn is_good(statement: &str, bindings: &Bindings, column: &str) {
    let caller = Connection::open_in_memory().expect("a database");
    let is_read = |sql: &str| {
        let told = caller.prepare(sql).err().map(|error| error.to_string()).unwrap_or_default();
        let wrong = ["syntax error", "unrecognized token", "incomplete input"];
        !wrong.iter().any(|wrong| told.contains(wrong))
    };
    let column = format!("SELECT 1 FROM folders WHERE ({column}) = ''");
    let queries = bindings.facts.iter().map(|bound| format!("SELECT * FROM ({})", bound.query.text));
    if queries.chain([column]).all(|sql| is_read(&sql)) {
        assert!(is_read(statement), "SQLite does not read it:\n{statement}");
    }
}

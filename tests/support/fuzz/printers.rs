//! Any text in every place where a user's text can be: as a literal, as a name, as an id, a type, a
//! predicate, an action, a variable or a column.
//!
//! What is printed must be the statement that is printed for a harmless text, with this text in the harmless
//! one's places and nowhere else, as the tokenizer of that database reads it; a parser of that database must
//! read it as one query and print the same again. SQLite must run it and give the same text back. The engine
//! is asked as well, with answers that are known.

use super::world::{POLICY, RUNTIME, settings, unless_refused};
use crate::reparse;
use portcullis::engine::{
    ArgPattern, Change, Engine, EvaluateQuery, EvaluateVar, Fact, FactPattern, LocalMode, LocalQuestion,
    LocalRequest, PolicyOptions, Value,
};
use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{Question, QuestionVar};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Dialect, check, compile_text};
use rusqlite::Connection;
use sqlparser::dialect::{Dialect as Grammar, PostgreSqlDialect, SQLiteDialect};
use sqlparser::tokenizer::{Token, Tokenizer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A text that no statement holds otherwise.
const HARMLESS: &str = "Harmless";

/// Bytes of an id that a fact may have with the longest type here.
const MOST_ID: usize = 384 - "Folder".len();

static PROGRAM: LazyLock<Program> =
    LazyLock::new(|| check(&SourceMap::new("fuzz.polar", POLICY)).program.expect("the policy is good"));

/// An engine without a fact: what it allows comes from the request.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    RUNTIME.block_on(async {
        let engine = Engine::in_memory(settings()).await.expect("an engine");
        let options = PolicyOptions::default();
        engine.set_policy(POLICY.to_owned(), "fuzz.polar".to_owned(), options).await.expect("a good policy");
        engine
    })
});

/// Puts a text into every place.
pub fn run(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let is_id = !text.is_empty() && !text.contains('\0') && text.len() <= MOST_ID;
    LazyLock::force(&ENGINE);
    RUNTIME.block_on(async {
        as_id(text, is_id).await;
        as_name(text).await;
    });
    if is_id {
        hosted(text);
        local(text);
    }
}

fn user(id: &str) -> Value {
    Value::new("User", id)
}

fn folder(id: &str) -> Value {
    Value::new("Folder", id)
}

fn role(user_id: &str, folder_id: &str) -> Fact {
    Fact::new("has_role", vec![user(user_id), Value::new("String", "reader"), folder(folder_id)])
}

/// As an id of a request, and of a fact that is stored and removed again.
async fn as_id(text: &str, is_id: bool) {
    let list = async |context| ENGINE.list(user(text), "read".into(), "Folder".into(), None, context).await;
    let check = async |context| ENGINE.authorize(user(text), "read".into(), folder(text), context).await;
    let found = unless_refused(list(vec![role(text, text)]).await);
    assert_eq!(found.map(|found| found.ids), is_id.then(|| vec![text.to_owned()]), "a list with context");
    let found = unless_refused(check(vec![role(text, text)]).await);
    assert_eq!(found, is_id.then_some(true), "a check with context");

    let stored = unless_refused(ENGINE.apply(vec![Change::Insert(vec![role(text, text)])]).await);
    assert_eq!(stored.is_some(), is_id, "a fact is stored");
    if !is_id {
        return;
    }
    let found = unless_refused(list(Vec::new()).await).map(|found| found.ids);
    assert_eq!(found, Some(vec![text.to_owned()]), "a list");
    let found = unless_refused(check(Vec::new()).await);
    assert_eq!(found, Some(true), "a check");
    let found = unless_refused(ENGINE.facts(FactPattern::everything()).await);
    assert_eq!(found, Some(vec![role(text, text)]), "what is stored");
    let exact = role(text, text).args.into_iter().map(ArgPattern::Exact).collect();
    unless_refused(ENGINE.apply(vec![Change::Delete(vec![FactPattern::new("has_role", exact)])]).await);
    let found = unless_refused(ENGINE.facts(FactPattern::everything()).await);
    assert_eq!(found, Some(Vec::new()), "what is left");
}

/// As a name of anything: nothing holds of it.
async fn as_name(text: &str) {
    let none = Vec::new;
    let asked = [
        ENGINE.authorize(user("ada"), text.into(), folder("work"), none()).await,
        ENGINE.authorize(Value::new(text, "ada"), "read".into(), folder("work"), none()).await,
        ENGINE.authorize(user("ada"), "read".into(), Value::new(text, "work"), none()).await,
    ];
    for allowed in asked.into_iter().filter_map(unless_refused) {
        assert!(!allowed, "something is allowed");
    }
    let list = ENGINE.list(user("ada"), text.into(), text.into(), None, none()).await;
    assert!(unless_refused(list).is_none_or(|list| list.ids.is_empty()), "something is listed");
    let pattern = FactPattern::new(text, vec![ArgPattern::Any; 3]);
    assert!(unless_refused(ENGINE.query(pattern, none()).await).is_none_or(|found| found.is_empty()));
    let query = EvaluateQuery {
        atoms: vec![("note".to_owned(), vec![text.to_owned(), "other".to_owned()])],
        vars: BTreeMap::from([
            (text.to_owned(), EvaluateVar { ty: "User".to_owned(), ids: None }),
            ("other".to_owned(), EvaluateVar { ty: "String".to_owned(), ids: None }),
        ]),
    };
    let note = Fact::new("note", vec![user("ada"), Value::new("String", "ada")]);
    let found = unless_refused(ENGINE.evaluate(query, vec![note]).await);
    for answer in found.into_iter().flatten().filter(|_| text != "other") {
        assert_eq!(answer.get(text), Some(&Some("ada".to_owned())), "a variable");
    }
}

/// As ids, as the name of a table and as the beginning of its columns' names.
fn hosted(text: &str) {
    for dialect in Dialect::ALL {
        let sql = statement(text, dialect);
        let harmless = tokens(&statement(HARMLESS, dialect), dialect);
        let expected: Vec<String> = harmless.iter().map(|token| token.replace(HARMLESS, text)).collect();
        assert_eq!(tokens(&sql, dialect), expected, "{sql}");
        assert_eq!(reparse::check(&sql, dialect), Ok(()));
    }
    let quoted = |suffix: &str| format!("\"{}{suffix}\"", text.replace('"', "\"\""));
    // Such tables are SQLite's own.
    if text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_")) {
        return;
    }
    let database = Connection::open_in_memory().expect("a database");
    let columns = ["0", "1", "2"].map(quoted).join(", ");
    database.execute_batch(&format!("CREATE TABLE {} ({columns})", quoted(""))).expect("a table");
    let insert = format!("INSERT INTO {} VALUES (?, 'reader', ?)", quoted(""));
    database.execute(&insert, (text, text)).expect("a row");
    database.execute(&insert, (other(text), other(text))).expect("a row");
    assert_eq!(rows(&database, &statement(text, Dialect::Sqlite)), [text], "SQLite");
}

/// Which folders a user may read, over a table that is named so.
fn statement(text: &str, dialect: Dialect) -> String {
    let column =
        |(at, ty): (usize, &str)| RelationArg::Column { ty: ty.into(), column: format!("{text}{at}") };
    let relation = Relation {
        predicate: "has_role".to_owned(),
        args: ["User", "String", "Folder"].into_iter().enumerate().map(column).collect(),
        source: RelationSource::Table { schema: None, name: text.to_owned() },
    };
    let vars = vec![
        QuestionVar::given("actor", "User", text),
        QuestionVar::given("action", "String", "read"),
        QuestionVar::wanted("resource", Some("Folder")),
    ];
    let catalog = Catalog { relations: vec![relation].into() };
    let question = Question::atom("allow", vars);
    let compiled = compile_text(&PROGRAM, &catalog, &question, dialect, 0);
    compiled.unwrap_or_else(|told| panic!("{told:?}")).sql
}

/// As ids and as the name of a column, in SQL for a caller's database.
fn local(text: &str) {
    let database = Connection::open_in_memory().expect("a database");
    database.execute_batch("CREATE TABLE roles (who, role, what)").expect("a table");
    for (who, what) in [(text, text), (text, &*other(text)), (&*other(text), "")] {
        database.execute("INSERT INTO roles VALUES (?, 'reader', ?)", (who, what)).expect("a row");
    }
    for (question, usual) in questions(text).into_iter().zip(&*USUAL) {
        for (dialect, usual) in Dialect::ALL.into_iter().zip(usual) {
            let Some(sql) = local_sql(text, question.clone(), dialect) else {
                let is_column = matches!(question, LocalQuestion::Evaluate { .. });
                assert!(is_column, "only a column may have no such name");
                continue;
            };
            let is_expected = |found: &String| match dialect {
                // It may be joined by `||` from pieces.
                Dialect::Sqlite => usual.contains(found) || text.contains(found.as_str()),
                Dialect::Postgresql => usual.contains(found) || found == text,
            };
            let strange: Vec<_> =
                quoted(&sql, dialect).into_iter().filter(|found| !is_expected(found)).collect();
            assert!(strange.is_empty(), "{strange:?} in\n{sql}");
            let query = match question {
                LocalQuestion::List { .. } => format!("SELECT what FROM roles WHERE {sql}"),
                LocalQuestion::Subjects { .. } => format!("SELECT who FROM roles WHERE {sql}"),
                LocalQuestion::Authorize { .. }
                | LocalQuestion::Actions { .. }
                | LocalQuestion::Evaluate { .. } => sql.clone(),
            };
            assert_eq!(reparse::check(&query, dialect), Ok(()));
            if dialect == Dialect::Sqlite {
                is_answer(&database, text, &question, &sql);
            }
        }
    }
}

/// A different text that sorts after it.
fn other(text: &str) -> String {
    format!("{text}+")
}

/// What SQL for the harmless text quotes, a question and a dialect each.
static USUAL: LazyLock<Vec<Vec<BTreeSet<String>>>> = LazyLock::new(|| {
    let of = |question: &LocalQuestion, dialect| {
        quoted(&local_sql(HARMLESS, question.clone(), dialect).expect("SQL"), dialect)
    };
    let each = questions(HARMLESS).into_iter();
    each.map(|question| Dialect::ALL.into_iter().map(|dialect| of(&question, dialect)).collect()).collect()
});

/// SQL for a caller's database, unless it is refused. It contains a fact of the request, too.
fn local_sql(text: &str, question: LocalQuestion, dialect: Dialect) -> Option<String> {
    let query = "SELECT who, role, what FROM roles";
    let bindings =
        format!("facts:\n  has_role(User:_, String:_, Folder:_):\n    query: {query}\ndialect: {dialect}\n");
    let context = vec![Fact::new("is_public", vec![folder(text), Value::new("Boolean", "true")])];
    unless_refused(RUNTIME.block_on(ENGINE.local(LocalRequest { bindings, question, context })))
}

fn questions(text: &str) -> Vec<LocalQuestion> {
    let var = |ty: &str, ids| EvaluateVar { ty: ty.to_owned(), ids };
    let query = EvaluateQuery {
        atoms: vec![("has_role".to_owned(), ["u", "r", "f"].map(str::to_owned).to_vec())],
        vars: BTreeMap::from([
            ("u".to_owned(), var("User", Some(vec![text.to_owned()]))),
            ("r".to_owned(), var("String", None)),
            ("f".to_owned(), var("Folder", Some(vec![text.to_owned()]))),
        ]),
    };
    let mode = LocalMode::Select(vec![("f".to_owned(), text.to_owned())]);
    let (action, column) = ("read".to_owned(), "what".to_owned());
    vec![
        LocalQuestion::Authorize { actor: user(text), action: action.clone(), resource: folder(text) },
        LocalQuestion::List {
            actor: user(text),
            action: action.clone(),
            resource_type: "Folder".to_owned(),
            column,
        },
        LocalQuestion::Subjects {
            actor_type: "User".to_owned(),
            action,
            resource: folder(text),
            column: "who".to_owned(),
        },
        LocalQuestion::Actions { actor: user(text), resource: folder(text) },
        LocalQuestion::Evaluate { query, mode },
    ]
}

/// Runs the SQL of a question, and compares.
fn is_answer(database: &Connection, text: &str, question: &LocalQuestion, sql: &str) {
    match question {
        LocalQuestion::Authorize { .. } => assert_eq!(rows(database, sql), ["1"], "{sql}"),
        LocalQuestion::Actions { .. } => assert_eq!(rows(database, sql), ["read"], "{sql}"),
        LocalQuestion::List { .. } => {
            let list = format!("SELECT DISTINCT what FROM roles WHERE {sql} ORDER BY what");
            assert_eq!(rows(database, &list), [text, &*other(text)], "{list}");
        }
        LocalQuestion::Subjects { .. } => {
            // The folder is public in the request.
            let list = format!("SELECT DISTINCT who FROM roles WHERE {sql} ORDER BY who");
            assert_eq!(rows(database, &list), [text, &*other(text)], "{list}");
        }
        LocalQuestion::Evaluate { .. } => {
            assert_eq!(rows(database, sql), [text], "{sql}");
            let statement = database.prepare(sql).expect("it was just run");
            assert_eq!(statement.column_name(0).ok(), Some(text), "{sql}");
        }
    }
}

/// The texts of the first column.
fn rows(database: &Connection, sql: &str) -> Vec<String> {
    let run = || {
        let mut statement = database.prepare(sql)?;
        let cells = statement.query_map([], |row| {
            Ok(match row.get_ref(0)? {
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                other => format!("{other:?}"),
            })
        })?;
        cells.collect::<rusqlite::Result<Vec<_>>>()
    };
    run().unwrap_or_else(|told: rusqlite::Error| panic!("{told}\n{sql}"))
}

/// What a parser of the database reads: names and texts without their quotes.
fn tokens(sql: &str, dialect: Dialect) -> Vec<String> {
    let read = read(sql, dialect).into_iter().filter(|token| !matches!(token, Token::Whitespace(_)));
    read.map(|token| match token {
        Token::Word(word) => word.value,
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => format!("'{text}"),
        other => other.to_string(),
    })
    .collect()
}

/// The texts, and the names between quotes.
fn quoted(sql: &str, dialect: Dialect) -> BTreeSet<String> {
    let read = read(sql, dialect).into_iter();
    read.filter_map(|token| match token {
        Token::Word(word) => word.quote_style.map(|_| word.value),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Some(text),
        _ => None,
    })
    .collect()
}

fn read(sql: &str, dialect: Dialect) -> Vec<Token> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Postgresql => &PostgreSqlDialect {},
    };
    Tokenizer::new(grammar, sql).tokenize().unwrap_or_else(|told| panic!("{told}\n{sql}"))
}

//! Tests of the data-bindings document, from text to bindings or errors.

mod bounds;
mod columns;
mod documents;
mod formatting;
mod hostile;
mod plain;
mod queries;
mod refusals;
mod roundtrip;
mod sync;

use super::{BindingArg, Bindings, BindingsError, BoundQuery, parse, query};
use crate::Dialect;

/// A document's bindings.
fn good(text: &str) -> Bindings {
    parse(text).unwrap_or_else(|errors| panic!("refused: {errors:?}\n{text}"))
}

/// The errors in a document, one per line.
fn wrong(text: &str) -> Vec<String> {
    let errors = parse(text).expect_err(text);
    errors.iter().map(ToString::to_string).collect()
}

/// A bound query for a database.
fn read(text: &str, dialect: Dialect) -> Result<BoundQuery, String> {
    query::read(text, dialect).map(|settled| settled.query)
}

/// Checks the text of a bound query for PostgreSQL.
#[track_caller]
fn becomes(text: &str, expected: &str) {
    match read(text, Dialect::Postgresql) {
        Ok(query) => assert_eq!(query.text, expected, "{text}"),
        Err(reason) => panic!("refused: {reason}\n{text}"),
    }
}

/// The same for SQLite.
#[track_caller]
fn becomes_in_sqlite(text: &str, expected: &str) {
    match read(text, Dialect::Sqlite) {
        Ok(query) => assert_eq!(query.text, expected, "{text}"),
        Err(reason) => panic!("refused: {reason}\n{text}"),
    }
}

/// Checks that a bound query is rejected, with a message that contains these words.
#[track_caller]
fn refused(text: &str, dialect: Dialect, reason: &str) {
    match read(text, dialect) {
        Ok(query) => panic!("accepted: {}\n{text}", query.text),
        Err(found) => assert!(found.contains(reason), "{found}\n{text}"),
    }
}

const BOTH: [Dialect; 2] = [Dialect::Postgresql, Dialect::Sqlite];

fn column(ty: &str) -> BindingArg {
    BindingArg::Column { ty: ty.to_owned() }
}

fn constant(ty: &str, text: &str) -> BindingArg {
    BindingArg::Constant { ty: ty.to_owned(), text: text.to_owned() }
}

/// The arguments of a document's only key.
fn args(key: &str, query: &str) -> Vec<BindingArg> {
    let bindings = good(&format!("facts:\n  {key}:\n    query: {query}\n"));
    bindings.facts.into_iter().next().unwrap().args
}

fn lines(errors: &[BindingsError]) -> Vec<Option<usize>> {
    errors.iter().map(|error| error.line).collect()
}

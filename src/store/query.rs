//! What a reader takes in addition to a statement, or instead of one: values, a look-up, work to count.

use super::error::StoreError;
use std::borrow::Cow;
use std::sync::Arc;

/// A value for one parameter of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Param {
    /// The text of a value: an id, or a primitive.
    Value(String),
    /// A value smaller than all others.
    Least,
    /// JSON with values in their compact form, for SQLite.
    Json(String),
    /// The texts of several values, for PostgreSQL.
    Values(Arc<[String]>),
    /// A value that is a number: the time.
    Number(i64),
    /// A maximum number of rows.
    Limit(usize),
}

impl Param {
    /// The length of its text in bytes.
    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Value(text) | Self::Json(text) => text.len(),
            Self::Values(texts) => texts.iter().map(String::len).sum(),
            Self::Least | Self::Number(_) | Self::Limit(_) => 0,
        }
    }
}

/// A statement with rows of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowQuery<'q> {
    /// Its text.
    pub sql: &'q str,
    /// How many columns it has, all of which are values.
    pub n_columns: usize,
}

/// The values of a row; `None` if it lacks one.
pub fn values(row: &mut [Option<Cow<'_, str>>]) -> Option<Vec<String>> {
    row.iter_mut().map(|value| value.take().map(Cow::into_owned)).collect()
}

/// The error for a fact without one of its values. Without a value it would be another fact.
pub(super) fn lacks_value(table: &str) -> StoreError {
    StoreError::Corrupt(format!("a fact in `{table}` lacks a value"))
}

/// Rows of a table to look up by the values of some columns. The names are those of a
/// [`StoredRelation`](super::StoredRelation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup<'q> {
    /// The table.
    pub table: &'q str,
    /// The columns, each with its value if that is known.
    pub columns: Vec<(&'q str, Option<&'q str>)>,
    /// The maximum number of rows.
    pub most: usize,
}

/// What is expected of the time that a question takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It is brief until it turns out not to be.
    Brief,
    /// It is long: reading its statements and their values alone may take long.
    Long,
}

/// Work outside of statements, which counts like theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Making this many answers from rows.
    Answers(usize),
    /// Following this many reads and rows in an explanation.
    Rows(usize),
}

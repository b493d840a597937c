//! Converts values to and from their form in SQLite.
//!
//! In: the texts of values. Out: the same texts. SQLite stores their compact form, which the compiler uses
//! too, because its statements contain literals.

use crate::store::error::StoreError;
use crate::store::query::Param;
use portcullis_compiler::compact::{Compact, compact, expand};
use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{Row, ToSql};
use std::borrow::Cow;

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Value(text) => match compact(text) {
                Compact::Integer(number) => ToSqlOutput::Owned(Owned::Integer(number)),
                Compact::Text(Cow::Borrowed(form)) => ToSqlOutput::Borrowed(ValueRef::Text(form.as_bytes())),
                Compact::Text(Cow::Owned(form)) => ToSqlOutput::Owned(Owned::Text(form)),
            },
            Self::Least => ToSqlOutput::Owned(Owned::Real(f64::NEG_INFINITY)),
            Self::Values(_) => {
                return Err(rusqlite::Error::ToSqlConversionFailure("SQLite reads JSON".into()));
            }
            Self::Json(json) => ToSqlOutput::Borrowed(ValueRef::Text(json.as_bytes())),
            Self::Number(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
            Self::Limit(n_rows) => {
                ToSqlOutput::Owned(Owned::Integer(i64::try_from(*n_rows).unwrap_or(i64::MAX)))
            }
        })
    }
}

/// A value in its compact form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CompactValue<'t>(Compact<'t>);

impl<'t> CompactValue<'t> {
    /// The compact form of a text.
    pub(super) fn of(text: &'t str) -> Self {
        Self(compact(text))
    }
}

impl ToSql for CompactValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match &self.0 {
            Compact::Integer(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
            Compact::Text(form) => ToSqlOutput::Borrowed(ValueRef::Text(form.as_bytes())),
        })
    }
}

/// The text of the value in a column; NULL is `None`.
pub(super) fn read<'r>(row: &'r Row<'_>, idx: usize) -> Result<Option<Cow<'r, str>>, StoreError> {
    let text = match row.get_ref(idx)? {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Text(form) => std::str::from_utf8(form).ok().and_then(expand),
        ValueRef::Real(_) | ValueRef::Blob(_) => None,
    };
    text.map(Some)
        .ok_or_else(|| StoreError::Corrupt(format!("column {idx} of a row does not contain a value")))
}

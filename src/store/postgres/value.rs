//! Converts values to and from their form in PostgreSQL.
//!
//! In: the texts of values. Out: the same texts. PostgreSQL stores the bytes of the compiler's `compact`,
//! because its statements contain literals.

use crate::store::error::StoreError;
use crate::store::query::Param;
use portcullis_compiler::compact::bytes::{decode, encode};
use std::borrow::Cow;
use std::error::Error;
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A parameter in the form in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SentParam {
    /// A value.
    Bytes(Vec<u8>),
    /// Several values.
    Many(Vec<Vec<u8>>),
    /// A number that is not a value: a limit or a revision.
    Number(i64),
    /// Several of them.
    Numbers(Vec<i64>),
}

impl SentParam {
    /// The form of a parameter.
    pub(super) fn of(param: &Param) -> Result<Self, StoreError> {
        Ok(match param {
            Param::Value(text) => Self::Bytes(encode(text)),
            Param::Values(texts) => Self::Many(texts.iter().map(|text| encode(text)).collect()),
            Param::Number(number) => Self::Bytes(encode(&number.to_string())),
            // No value has an empty form, and all others come after it.
            Param::Least => Self::Bytes(Vec::new()),
            Param::Limit(n_rows) => Self::Number(i64::try_from(*n_rows).unwrap_or(i64::MAX)),
            Param::Json(_) => {
                return Err(StoreError::Bug("PostgreSQL is given JSON, and reads arrays".to_owned()));
            }
        })
    }
}

impl SentParam {
    /// The type with which a statement must be prepared: not every place in a statement determines one.
    pub(super) fn ty(&self) -> Type {
        match self {
            Self::Bytes(_) => Type::BYTEA,
            Self::Many(_) => Type::BYTEA_ARRAY,
            Self::Number(_) => Type::INT8,
            Self::Numbers(_) => Type::INT8_ARRAY,
        }
    }
}

impl ToSql for SentParam {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Bytes(bytes) if *ty == Type::BYTEA => bytes.to_sql(ty, out),
            Self::Many(values) if *ty == Type::BYTEA_ARRAY => values.to_sql(ty, out),
            Self::Number(number) if *ty == Type::INT8 => number.to_sql(ty, out),
            Self::Numbers(numbers) if *ty == Type::INT8_ARRAY => numbers.to_sql(ty, out),
            Self::Bytes(_) | Self::Many(_) | Self::Number(_) | Self::Numbers(_) => {
                Err(format!("a parameter of the type {ty}").into())
            }
        }
    }

    /// The form decides, not the type alone.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The form of a value.
pub(super) fn form(text: &str) -> Vec<u8> {
    encode(text)
}

/// The text of the value in a column; NULL is `None`.
pub(super) fn read(row: &Row, column: usize) -> Result<Option<Cow<'_, str>>, StoreError> {
    let form: Option<&[u8]> = super::session::value(row, column)?;
    let wrong = || StoreError::Corrupt(format!("column {column} of a row does not contain a value"));
    form.map(|form| decode(form).ok_or_else(wrong)).transpose()
}

//! Values as statements on PostgreSQL take and return them: as texts, or as the bytes of a store.

use super::PAGE;
use crate::fact_tables::FactTables;
use crate::id_order::{self, Key};
use portcullis_compiler::compact::bytes;
use portcullis_compiler::question::{Answer, Domain, Question, Slot};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

/// How values are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As texts; rows in a parameter are JSON.
    Text,
    /// As bytes; rows in parameters are arrays.
    Bytes,
}

impl Form {
    /// The type of columns.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Bytes => "BYTEA",
        }
    }

    /// One value.
    fn value(self, text: &str) -> SqlValue {
        match self {
            Self::Text => SqlValue::Text(text.to_owned()),
            Self::Bytes => SqlValue::Bytes(bytes::encode(text)),
        }
    }

    /// Several values as an array.
    pub(super) fn array<'t>(self, texts: impl Iterator<Item = &'t str>) -> SqlValue {
        match self {
            Self::Text => SqlValue::Texts(texts.map(str::to_owned).collect()),
            Self::Bytes => SqlValue::Many(texts.map(bytes::encode).collect()),
        }
    }

    /// The values for a statement's slots; `after` is the last answer of the page before.
    pub(super) fn parameters(
        self,
        slots: &[Slot],
        question: &Question,
        facts: &FactTables,
        now: i64,
        after: Option<&str>,
    ) -> Vec<SqlValue> {
        let value = |slot: &Slot| match *slot {
            Slot::Given(var) | Slot::OneOf(var) => match &question.vars[var].domain {
                Domain::Given(id) => self.value(id),
                Domain::GivenOneOf(ids) if self == Self::Text => {
                    SqlValue::Text(serde_json::json!(ids).to_string())
                }
                Domain::GivenOneOf(ids) => self.array(ids.iter().map(String::as_str)),
                Domain::Wanted | Domain::Ignored => panic!("a parameter without a value"),
            },
            Slot::Context(slot) => SqlValue::Text(serde_json::json!(facts.rows[slot.index()]).to_string()),
            Slot::ContextColumn(slot, column) => {
                self.array(facts.rows[slot.index()].iter().map(|row| row[column.index()].as_str()))
            }
            Slot::TypeOf(var) => self.value(question.vars[var].ty.as_deref().unwrap()),
            Slot::Now if self == Self::Text => SqlValue::Integer(now),
            Slot::Now => self.value(&now.to_string()),
            Slot::PageAfter => match (after, self) {
                (Some(id), _) => self.value(id),
                (None, Self::Text) => SqlValue::Text(String::new()),
                (None, Self::Bytes) => SqlValue::Bytes(Vec::new()),
            },
            Slot::PageLimit => SqlValue::Integer(PAGE),
        };
        slots.iter().map(value).collect()
    }

    /// A value of a row; of a decision `1` or `0`.
    pub(super) fn cell(self, row: &Row, at: usize, meaning: &Answer) -> Result<Option<String>, String> {
        let told = |error: tokio_postgres::Error| error.to_string();
        match (meaning, self) {
            (Answer::Decision, _) => {
                row.try_get(at).map(|holds: bool| Some(i64::from(holds).to_string())).map_err(told)
            }
            (Answer::Rows(_) | Answer::Part(_), Self::Text) => row.try_get(at).map_err(told),
            (Answer::Rows(_) | Answer::Part(_), Self::Bytes) => {
                let form: Option<&[u8]> = row.try_get(at).map_err(told)?;
                let text = |form| bytes::decode(form).ok_or_else(|| format!("{form:?} is not a value"));
                form.map(text).transpose().map(|text| text.map(Into::into))
            }
        }
    }

    /// What a value is ordered by when it comes out of a statement: texts by their bytes.
    pub(super) fn key(self, text: &str) -> Key<'_> {
        match self {
            Self::Text => (0, 0, text),
            Self::Bytes => id_order::key(text),
        }
    }
}

/// A value for PostgreSQL.
pub(super) enum SqlValue {
    Text(String),
    Texts(Vec<String>),
    Bytes(Vec<u8>),
    Many(Vec<Vec<u8>>),
    Integer(i64),
}

impl SqlValue {
    pub(super) fn ty(&self) -> Type {
        match self {
            Self::Text(_) => Type::TEXT,
            Self::Texts(_) => Type::TEXT_ARRAY,
            Self::Bytes(_) => Type::BYTEA,
            Self::Many(_) => Type::BYTEA_ARRAY,
            Self::Integer(_) => Type::INT8,
        }
    }

    pub(super) fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(text) => text,
            Self::Texts(texts) => texts,
            Self::Bytes(form) => form,
            Self::Many(forms) => forms,
            Self::Integer(integer) => integer,
        }
    }
}

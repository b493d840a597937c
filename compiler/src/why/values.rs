//! Texts of values as numbers, so that goals and answers are compared and hashed quickly.

use crate::id_vec::id;
use indexmap::IndexSet;

id!(/// The text of a value. Where two are compared, they have the same type.
    pub(super) Value, "value");

/// Every text that a run met.
#[derive(Debug, Default)]
pub(super) struct Texts {
    texts: IndexSet<Box<str>>,
}

impl Texts {
    /// The value with this text.
    pub(super) fn of(&mut self, text: &str) -> Value {
        let known = self.texts.get_index_of(text);
        Value::from_index(known.unwrap_or_else(|| self.texts.insert_full(text.into()).0))
    }

    /// The text of a value.
    pub(super) fn text(&self, value: Value) -> &str {
        self.texts.get_index(value.index()).map_or("", |text| text)
    }

    /// The value as an Integer.
    pub(super) fn number(&self, value: Value) -> Option<i64> {
        self.text(value).parse().ok()
    }
}

//! The values for the parameters of a statement.

/// A value for one parameter of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Param {
    /// The text of a value: an id, or a primitive.
    Value(String),
    /// A value smaller than all others.
    Least,
    /// JSON with values in their compact form.
    Json(String),
    /// A number: the time, a limit.
    Integer(i64),
}

impl Param {
    /// The length of its text in bytes.
    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Value(text) | Self::Json(text) => text.len(),
            Self::Least | Self::Integer(_) => 0,
        }
    }
}

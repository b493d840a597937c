//! What is wrong with a document.

/// An error in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingsError {
    /// The line, from 1, if known.
    pub line: Option<usize>,
    /// The message, with the key and the reason.
    pub message: String,
}

impl std::fmt::Display for BindingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "data bindings, line {line}: {}", self.message),
            None => write!(f, "data bindings: {}", self.message),
        }
    }
}

impl std::error::Error for BindingsError {}

//! Names of the caller's tables and columns.

use super::grammar::folded;
use super::token::Token;
use crate::dialect::Escapes;
use crate::dialect::lexis::Lexis;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A name as the caller spells it. Spellings of the same name compare equal: `Users` and `users` in
/// PostgreSQL, but not `"Users"`.
#[derive(Clone, Debug)]
pub struct SqlName {
    spelling: String,
    folded: String,
}

impl SqlName {
    /// The name in a token.
    pub(super) fn of(token: &Token, lexis: &Lexis) -> Self {
        let escapes = if lexis.escaped_texts { Escapes::EscapeStrings } else { Escapes::Char };
        Self { spelling: token.plain(escapes), folded: folded(token, lexis) }
    }

    /// The names in some tokens.
    pub(super) fn all(tokens: &[&Token], lexis: &Lexis) -> Vec<Self> {
        tokens.iter().map(|token| Self::of(token, lexis)).collect()
    }

    /// The name without quotes, in the case in which the database compares it.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// The names, separated by dots.
    pub fn path(names: &[Self]) -> String {
        names.iter().map(|name| name.spelling.as_str()).collect::<Vec<_>>().join(".")
    }
}

impl PartialEq for SqlName {
    fn eq(&self, other: &Self) -> bool {
        self.folded == other.folded
    }
}

impl Eq for SqlName {}

impl Hash for SqlName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded.hash(state);
    }
}

impl fmt::Display for SqlName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelling)
    }
}

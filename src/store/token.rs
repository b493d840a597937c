//! Which writes a question must see.

use std::fmt;

/// A moment of a store in a database: all writes up to a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// How many batches have changed something, over the store's whole life.
    pub revision: u64,
    /// The random number of the last of them.
    pub nonce: Nonce,
}

impl Token {
    /// The revision as a number of PostgreSQL, which has none greater than `i64::MAX`.
    pub(super) fn number(self) -> i64 {
        i64::try_from(self.revision).unwrap_or(i64::MAX)
    }

    /// Whether the server at this moment lacks a write that it has had time to receive. `found` is the nonce
    /// that it has for its revision, which is not kept for old ones: of these, only the number is known.
    pub(super) fn lacks(self, write: Self, found: Option<Nonce>) -> bool {
        self.revision < write.revision
            || self.revision == write.revision && self.nonce != write.nonce
            || found.is_some_and(|found| found != write.nonce)
    }
}

/// The random number of a batch. Two batches with the same revision have different ones: one of them was lost
/// when another server took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub i64);

/// How many hexadecimal digits a random number has in a mark.
const NONCE_DIGITS: usize = 16;

/// The moment of a write as its caller gets it: `7` from the embedded store, `7-00000000000000ff` from one in
/// a database. The caller sends it back with questions that must see the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteMark {
    /// The number of the write.
    pub offset: u64,
    /// The random number of its batch. `None` in the embedded store, which loses no acknowledged write.
    pub nonce: Option<Nonce>,
}

impl WriteMark {
    /// The moment that a mark stands for; `None` for a text that is not the mark of a store in a database.
    pub fn token(text: &str) -> Option<Token> {
        let (revision, nonce) = text.split_once('-')?;
        let is_number = |part: &str, digits: fn(&char) -> bool| part.chars().all(|c| digits(&c));
        if !is_number(revision, char::is_ascii_digit) || !is_number(nonce, char::is_ascii_hexdigit) {
            return None;
        }
        // One that was cut off would be the mark of another batch.
        if nonce.len() != NONCE_DIGITS {
            return None;
        }
        let nonce = u64::from_str_radix(nonce, 16).ok()?.cast_signed();
        Some(Token { revision: revision.parse().ok()?, nonce: Nonce(nonce) })
    }
}

impl From<Token> for WriteMark {
    fn from(Token { revision, nonce }: Token) -> Self {
        Self { offset: revision, nonce: Some(nonce) }
    }
}

impl fmt::Display for WriteMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nonce {
            None => write!(f, "{}", self.offset),
            Some(Nonce(nonce)) => write!(f, "{}-{:016x}", self.offset, nonce.cast_unsigned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_other_texts_are_no_moments() {
        for token in [
            Token { revision: 0, nonce: Nonce(0) },
            Token { revision: 7, nonce: Nonce(-5) },
            Token { revision: u64::MAX, nonce: Nonce(i64::MIN) },
        ] {
            assert_eq!(WriteMark::token(&WriteMark::from(token).to_string()), Some(token));
        }
        let embedded = WriteMark { offset: 7, nonce: None }.to_string();
        let long = format!("1-{}", "f".repeat(NONCE_DIGITS + 1));
        for text in [
            &*embedded,
            "",
            "-",
            "7-",
            "-7",
            "+7-1",
            "7-+1",
            "7-1-1",
            "7-00000000000000f",
            "７-0000000000000001",
            "+7-0000000000000001",
            "99999999999999999999-0000000000000001",
            &long,
        ] {
            assert_eq!(WriteMark::token(text), None, "{text}");
        }
    }
}

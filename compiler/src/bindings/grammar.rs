//! A small grammar of SQL: names, types, and the plain queries made of them.
//!
//! A [`Cursor`] walks over tokens. Its functions either read a phrase and move past it, or return `None` or
//! `false`. After a failure the cursor's position is unspecified; callers give up.

use super::token::{Lexeme, Token};
use crate::dialect::lexis::Lexis;

/// A position between tokens.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) lexemes: &'a [Lexeme],
    pub(super) at: usize,
    pub(super) lexis: &'static Lexis,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(lexemes: &'a [Lexeme], lexis: &'static Lexis) -> Self {
        Self { lexemes, at: 0, lexis }
    }

    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.lexemes.get(self.at).map(|lexeme| &lexeme.token)
    }

    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.lexemes.len()
    }

    /// Reads a keyword.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(word));
        self.at += usize::from(found);
        found
    }

    /// Reads a punctuation token.
    pub(super) fn sign(&mut self, sign: &Token) -> bool {
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    /// Reads a name: a quoted one, or a word that is not reserved.
    pub(super) fn name(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        let is_name = match token {
            Token::Name { .. } => true,
            Token::Word(word) => !self.lexis.reserved.contains(&word.to_ascii_lowercase().as_str()),
            _ => false,
        };
        self.at += usize::from(is_name);
        is_name.then_some(token)
    }

    /// Reads names separated by dots. After a dot, every word is a name.
    pub(super) fn path(&mut self) -> Option<Vec<&'a Token>> {
        let mut parts = vec![self.name()?];
        while self.sign(&Token::Period) {
            parts.push(self.next().filter(|token| token.is_wordlike())?);
        }
        Some(parts)
    }

    /// Reads a type: a name, `double precision` or `character varying`, with a length and array brackets.
    pub(super) fn data_type(&mut self) -> bool {
        if self.word("double") {
            if !self.word("precision") {
                return false;
            }
        } else if self.word("character") || self.word("char") {
            self.word("varying");
        } else if self.path().is_none() {
            return false;
        }
        if self.sign(&Token::Open('(')) {
            loop {
                if !matches!(self.next(), Some(Token::Number(_))) {
                    return false;
                }
                if !self.sign(&Token::Comma) {
                    break;
                }
            }
            if !self.sign(&Token::Close(')')) {
                return false;
            }
        }
        while self.sign(&Token::Open('[')) {
            if !self.sign(&Token::Close(']')) {
                return false;
            }
        }
        true
    }
}

/// The form in which the database compares names: two spellings of the same name have the same form.
pub(super) fn folded(token: &Token, lexis: &Lexis) -> String {
    match token {
        Token::Name { text, .. } if lexis.quotes_keep_case => text.clone(),
        Token::Name { text, .. } => text.to_ascii_lowercase(),
        other => other.to_string().to_ascii_lowercase(),
    }
}

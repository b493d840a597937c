//! The tokens of the caller's SQL, and how they are printed.
//!
//! A literal or quoted name is stored as its value, however it was written, and is printed by the same
//! functions as generated SQL. Everything that reaches a statement goes through [`plainly_spelled`].

use crate::dialect::Escapes;
use crate::dialect::lexis::Lexis;
use crate::dialect::quote::{is_risky, plain_literal, plain_name, printed_literal, printed_name};
use std::collections::BTreeSet;
use std::fmt;

/// A token of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A plain name or a keyword, in the caller's spelling.
    Word(String),
    /// A quoted name.
    Name {
        /// The name without its quotes.
        text: String,
        /// `"`, or a backtick where the database could take a name in double quotes for a text.
        quote: char,
    },
    /// A text literal, by its value.
    Text(String),
    /// `X'1f'` or `B'01'`, as written.
    Bits(String),
    /// A number as written.
    Number(String),
    /// An operator of the dialect's row.
    Operator(&'static str),
    /// `::`
    Cast,
    /// `(` or `[`
    Open(char),
    /// `)` or `]`
    Close(char),
    /// `,`
    Comma,
    /// `.`
    Period,
}

impl Token {
    /// Whether this is a plain word, in any case; `word` is in lower case.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(text) if text.eq_ignore_ascii_case(word))
    }

    /// Whether this is a plain word or a quoted name.
    pub(super) fn is_wordlike(&self) -> bool {
        matches!(self, Self::Word(_) | Self::Name { .. })
    }

    /// The token as printed in a statement, so that no driver finds a parameter inside quotes.
    pub(super) fn plain(&self, escapes: Escapes) -> String {
        match self {
            Self::Text(text) => plain_literal(text, escapes),
            Self::Name { text, quote } => plain_name(text, *quote, escapes),
            other => other.to_string(),
        }
    }

    /// Whether this is a text that is printed with escapes.
    pub(super) fn is_escaped(&self) -> bool {
        matches!(self, Self::Text(text) if text.contains(is_risky))
    }

    /// The token as sqlparser prints it, without escapes.
    pub(super) fn bare(&self) -> String {
        match self {
            Self::Name { text, quote } => format!("{quote}{text}{quote}"),
            Self::Text(text) => format!("'{text}'"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Bits(text) | Self::Number(text) => f.write_str(text),
            Self::Name { text, quote } => f.write_str(&printed_name(text, *quote)),
            Self::Text(text) => f.write_str(&printed_literal(text)),
            Self::Operator(operator) => f.write_str(operator),
            Self::Cast => f.write_str("::"),
            Self::Open(bracket) | Self::Close(bracket) => write!(f, "{bracket}"),
            Self::Comma => f.write_str(","),
            Self::Period => f.write_str("."),
        }
    }
}

/// A token, and whether white space or a comment came before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) gap: bool,
}

/// Whether to print a space between two tokens. Tokens that touched in the input still do, unless they could
/// be misread: `a > -1` needs its space, `date'…'` gets one, and `:: text` never looks like a parameter
/// called `:text`.
pub(super) fn apart(previous: Option<&Token>, lexeme: &Lexeme) -> bool {
    match (previous, &lexeme.token) {
        (None, _) => false,
        (Some(Token::Operator(_)), Token::Operator(_) | Token::Cast) | (Some(Token::Cast), _) => true,
        (Some(Token::Word(_)), Token::Text(_) | Token::Name { .. } | Token::Bits(_)) => true,
        (Some(_), _) => lexeme.gap,
    }
}

/// Tokens as text.
pub(super) fn spelled(lexemes: &[Lexeme]) -> String {
    joined(lexemes, Token::to_string)
}

/// The tokens as printed in a statement.
pub(super) fn plainly_spelled(lexemes: &[Lexeme], escapes: Escapes) -> String {
    joined(lexemes, |token| token.plain(escapes))
}

fn joined(lexemes: &[Lexeme], spell: impl Fn(&Token) -> String) -> String {
    let mut text = String::new();
    let mut previous = None;
    for lexeme in lexemes {
        if apart(previous, lexeme) {
            text.push(' ');
        }
        text.push_str(&spell(&lexeme.token));
        previous = Some(&lexeme.token);
    }
    text
}

/// Every name and keyword, in lower case and without quotes. In databases that accept texts as names, texts
/// count too.
pub(super) fn words(lexemes: &[Lexeme], lexis: &Lexis) -> Vec<String> {
    let words = lexemes.iter().filter_map(|lexeme| match &lexeme.token {
        Token::Word(text) | Token::Name { text, .. } => Some(text.to_lowercase()),
        Token::Text(text) if lexis.unknown_names_are_texts => Some(text.to_lowercase()),
        _ => None,
    });
    let words: BTreeSet<String> = words.collect();
    words.into_iter().collect()
}

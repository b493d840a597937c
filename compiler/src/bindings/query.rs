//! Reads a bound query: from the caller's text to SQL that is safe to insert into a statement.
//!
//! 1. `lexer` reads the text as its database does and rejects what is ambiguous;
//! 2. `forbidden` rejects words that could do more than read;
//! 3. the tokens are printed, and the output must be read as the same tokens again;
//! 4. `reader` must find the same tokens in it, and exactly one query, whose columns it counts.

use super::bound::BoundQuery;
use super::grammar::Cursor;
use super::lexer::Lexed;
use super::token::{Lexeme, Token, plainly_spelled, spelled, words};
use super::{forbidden, lexer, plain, reader};
use crate::dialect::lexis::Lexis;
use crate::dialect::{Dialect, Escapes};
use crate::limits;

/// A bound query that was read.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) query: BoundQuery,
    /// The number of its columns, if it is known without the tables.
    pub(super) columns: Option<usize>,
    /// The line comments, without their `--`.
    pub(super) line_comments: Vec<String>,
}

/// Reads a bound query. Errors continue a sentence that begins with "the query".
pub(super) fn read(text: &str, dialect: Dialect) -> Result<Settled, String> {
    if text.len() > limits::QUERY_BYTES {
        return Err(format!("has more than {} bytes: move it into a view", limits::QUERY_BYTES));
    }
    let lexis = &dialect.features().lexis;
    let Lexed { mut lexemes, line_comments, .. } = lexer::read(text, lexis)?;
    let begins = ["select", "with", "values", "table"].iter().any(|word| is(lexemes.first(), word));
    if !begins && lexemes.first().map(|first| &first.token) != Some(&Token::Open('(')) {
        return Err("is not a query: write one SELECT, WITH … SELECT, VALUES or TABLE".to_owned());
    }
    if lexemes.iter().filter(|lexeme| lexeme.token.is("join")).count() > limits::QUERY_JOINS {
        return Err(format!("has more than {} joins: move a part into a view", limits::QUERY_JOINS));
    }
    forbidden::reads_only(&lexemes)?;
    if let Some(table) = table(&lexemes, lexis) {
        lexemes = table;
    }
    let columns = reader::query(&settled(&lexemes, lexis)?, &lexemes, dialect)?;
    let escapes = dialect.features().escapes;
    let text = escaped(&lexemes, lexis, escapes)?;
    // An escaped text must be valid SQL in the place of the literal.
    if escapes == Escapes::Char
        && reader::query(&text, &lexer::read(&text, lexis)?.lexemes, dialect)? != columns
    {
        return Err(NAMED_BY_TEXT.to_owned());
    }
    let plain = plain::plain(&lexemes, lexis, escapes);
    let is_cast = |lexeme: &Lexeme| lexeme.token == Token::Cast || lexeme.token.is("cast");
    let casts = lexemes.iter().any(is_cast);
    let query = BoundQuery { text, words: words(&lexemes, lexis), casts, plain };
    Ok(Settled { query, columns, line_comments })
}

fn is(lexeme: Option<&Lexeme>, word: &str) -> bool {
    lexeme.is_some_and(|lexeme| lexeme.token.is(word))
}

/// Prints tokens, and checks that the output is read as the same tokens.
pub(super) fn settled(lexemes: &[Lexeme], lexis: &'static Lexis) -> Result<String, String> {
    same(spelled(lexemes), lexemes, lexis)
}

/// Checks that the text is read as these tokens.
fn same(text: String, lexemes: &[Lexeme], lexis: &'static Lexis) -> Result<String, String> {
    let again = lexer::read(&text, lexis)?;
    let tokens = |lexemes: &[Lexeme]| lexemes.iter().map(|lexeme| lexeme.token.clone()).collect::<Vec<_>>();
    if tokens(&again.lexemes) == tokens(lexemes) {
        Ok(text)
    } else {
        Err("cannot be printed unambiguously: write it differently".to_owned())
    }
}

/// Error for a text that is used as a name and so cannot be escaped.
const NAMED_BY_TEXT: &str = "uses a text as a name, with a character that a driver could take for a parameter: write the name in double quotes";

/// SQLite's keywords that an expression follows. After any other word, a text could be a name.
const BEFORE_EXPRESSIONS: &[&str] = &[
    "all", "and", "between", "by", "case", "distinct", "else", "escape", "glob", "having", "is", "like",
    "limit", "match", "not", "offset", "on", "or", "regexp", "select", "then", "when", "where",
];

/// Prints tokens so that nothing inside quotes looks like a parameter, and checks that the output means the
/// same.
pub(super) fn escaped(lexemes: &[Lexeme], lexis: &'static Lexis, escapes: Escapes) -> Result<String, String> {
    let text = plainly_spelled(lexemes, escapes);
    match escapes {
        // Still a literal, which is valid wherever a literal is.
        Escapes::EscapeStrings => same(text, lexemes, lexis),
        // An expression, which cannot be used as a name.
        Escapes::Char => {
            for (at, _) in lexemes.iter().enumerate().filter(|(_, lexeme)| lexeme.token.is_escaped()) {
                let before = at.checked_sub(1).and_then(|before| lexemes.get(before));
                let is_value = before.is_none_or(|before| match &before.token {
                    Token::Word(word) => BEFORE_EXPRESSIONS.contains(&word.to_ascii_lowercase().as_str()),
                    Token::Operator(_) | Token::Comma | Token::Open(_) => true,
                    Token::Name { .. }
                    | Token::Text(_)
                    | Token::Bits(_)
                    | Token::Number(_)
                    | Token::Cast
                    | Token::Close(_)
                    | Token::Period => false,
                });
                let goes_on = lexemes.get(at + 1).is_some_and(|next| next.token == Token::Period);
                if !is_value || goes_on {
                    return Err(NAMED_BY_TEXT.to_owned());
                }
            }
            Ok(text)
        }
    }
}

/// `TABLE name`, rewritten as `SELECT * FROM name`.
fn table(lexemes: &[Lexeme], lexis: &'static Lexis) -> Option<Vec<Lexeme>> {
    let (first, name) = lexemes.split_first()?;
    let mut cursor = Cursor::new(name, lexis);
    let is_table = first.token.is("table") && cursor.path().is_some() && cursor.done();
    if !is_table {
        return None;
    }
    let star = [Token::Word("SELECT".to_owned()), Token::Operator("*"), Token::Word("FROM".to_owned())];
    let mut select: Vec<Lexeme> = star.into_iter().map(|token| Lexeme { token, gap: true }).collect();
    select.extend(name.iter().cloned());
    Some(select)
}

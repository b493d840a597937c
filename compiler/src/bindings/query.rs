//! A bound query: from the caller's text to one that may stand in our statements.
//!
//! 1. `lexer` reads the text as its database does and refuses what is ambiguous;
//! 2. `guard` refuses words that would do more than read;
//! 3. the tokens are printed, and the print must read as the same tokens again;
//! 4. `reader` finds the same tokens in it, exactly one query, and counts its columns.

use super::grammar::Cursor;
use super::lexer::Lexed;
use super::token::{Lexeme, Token, spelled, words};
use super::{BoundQuery, guard, lexer, plain, reader};
use crate::dialect::Dialect;
use crate::dialect::lexis::Lexis;
use crate::limits;

/// A bound query that was read.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) query: BoundQuery,
    /// The number of its columns, if that can be told without the tables.
    pub(super) columns: Option<usize>,
    /// The comments that reached to the end of a line, without their `--`.
    pub(super) line_comments: Vec<String>,
}

/// Reads a bound query. The error follows the words *the query*.
pub(super) fn read(text: &str, dialect: Dialect) -> Result<Settled, String> {
    if text.len() > limits::QUERY_BYTES {
        return Err(format!("has more than {} bytes: move it into a view", limits::QUERY_BYTES));
    }
    let lexis = &dialect.features().lexis;
    let Lexed { mut lexemes, line_comments, .. } = lexer::read(text, lexis)?;
    let begins = ["select", "with", "values", "table"].iter().any(|word| is(lexemes.first(), word));
    if !begins && lexemes.first().map(|first| &first.token) != Some(&Token::Open('(')) {
        return Err("is no query: write one SELECT, WITH … SELECT, VALUES or TABLE".to_owned());
    }
    if lexemes.iter().filter(|lexeme| lexeme.token.is("join")).count() > limits::QUERY_JOINS {
        return Err(format!("has more than {} joins: move a part into a view", limits::QUERY_JOINS));
    }
    guard::reads_only(&lexemes)?;
    if let Some(table) = table(&lexemes, lexis) {
        lexemes = table;
    }
    let text = settled(&lexemes, lexis)?;
    let columns = reader::query(&text, &lexemes, dialect)?;
    let plain = plain::plain(&lexemes, lexis);
    let query = BoundQuery { text, words: words(&lexemes, lexis), plain };
    Ok(Settled { query, columns, line_comments })
}

fn is(lexeme: Option<&Lexeme>, word: &str) -> bool {
    lexeme.is_some_and(|lexeme| lexeme.token.is(word))
}

/// Prints tokens, and makes sure that the print is read as the same tokens.
pub(super) fn settled(lexemes: &[Lexeme], lexis: &'static Lexis) -> Result<String, String> {
    let text = spelled(lexemes);
    let again = lexer::read(&text, lexis)?;
    let tokens = |lexemes: &[Lexeme]| lexemes.iter().map(|lexeme| lexeme.token.clone()).collect::<Vec<_>>();
    if tokens(&again.lexemes) == tokens(lexemes) {
        Ok(text)
    } else {
        Err("cannot be printed so that it is read in the same way: write it otherwise".to_owned())
    }
}

/// `TABLE name` as the `SELECT * FROM name` that it stands for.
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

//! Every statement is what it looks like: sqlparser reads the laid out text back, for the dialect that it was
//! printed for, as one query, and prints the very same tokens again.

use portcullis_compiler::Dialect;
use sqlparser::ast::Statement;
use sqlparser::dialect::{Dialect as Grammar, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserOptions};
use sqlparser::tokenizer::{Token, Tokenizer};

/// How deep a statement may be; the parser's own bound is for text from strangers.
const DEPTH: usize = 500;

/// Says how a statement differs from what a parser of its dialect reads.
pub fn check(sql: &str, dialect: Dialect) -> Result<(), String> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Postgresql => &PostgreSqlDialect {},
    };
    let fail = |message: String| format!("{message}\n{sql}");
    let written = tokens(grammar, sql).map_err(fail)?;
    // Quoted texts stay as they are written; so they are printed as they were, too.
    let options = ParserOptions::new().with_unescape(false);
    let parsed = Parser::new(grammar)
        .with_options(options)
        .with_recursion_limit(DEPTH)
        .with_tokens(written.clone())
        .parse_statements();
    let statements = parsed.map_err(|error| fail(format!("does not parse back: {error}")))?;
    let [statement @ Statement::Query(_)] = statements.as_slice() else {
        return Err(fail("is not one query".into()));
    };
    let read = tokens(grammar, &statement.to_string()).map_err(fail)?;
    match written.iter().zip(&read).find(|(written, read)| written != read) {
        Some((written, read)) => Err(fail(format!("`{written}` is read as `{read}`"))),
        None if written.len() == read.len() => Ok(()),
        None => Err(fail("has tokens that are not read".into())),
    }
}

/// The tokens of a text, without white space and comments. SQLite's `MATERIALIZED` is left out, too: the
/// parser knows the word in PostgreSQL's grammar only.
fn tokens(grammar: &dyn Grammar, text: &str) -> Result<Vec<Token>, String> {
    let tokens = Tokenizer::new(grammar, text).with_unescape(false).tokenize();
    let is_sqlite = grammar.is::<SQLiteDialect>();
    let is_read = |token: &Token| match token {
        Token::Whitespace(_) => false,
        Token::Word(word) => !(is_sqlite && word.keyword == Keyword::MATERIALIZED),
        _ => true,
    };
    Ok(tokens.map_err(|error| error.to_string())?.into_iter().filter(is_read).collect())
}

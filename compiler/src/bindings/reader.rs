//! Reads the caller's SQL a second time, with sqlparser, to check its grammar.
//!
//! The input was printed from the tokens of [`super::lexer`]. sqlparser must find the same tokens in it, and
//! then exactly one query or expression. Its tree is inspected and thrown away: nothing that sqlparser prints
//! reaches a statement.

use super::token::Lexeme;
use crate::dialect::Dialect;
use crate::limits;
use sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use sqlparser::dialect::{Dialect as Grammar, dialect_from_str};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

/// Reads one query. Returns the number of its columns, if it is known without the tables.
pub(super) fn query(text: &str, lexemes: &[Lexeme], dialect: Dialect) -> Result<Option<usize>, String> {
    stacker::grow(limits::READER_STACK, || parse_query(text, lexemes, dialect))
}

fn parse_query(text: &str, lexemes: &[Lexeme], dialect: Dialect) -> Result<Option<usize>, String> {
    let grammar = grammar(dialect)?;
    let mut parser = parser(&*grammar, text, lexemes)?;
    let statement = parser.parse_statement().map_err(|error| reason(&error))?;
    if parser.peek_token_ref().token != Token::EOF {
        return Err(format!("cannot be read from `{}` on", parser.peek_token_ref().token));
    }
    match statement {
        Statement::Query(query) => columns(&query.body),
        _ => Err(NO_QUERY.to_owned()),
    }
}

/// Reads one expression that is a single value.
pub(super) fn expression(text: &str, lexemes: &[Lexeme], dialect: Dialect) -> Result<(), String> {
    stacker::grow(limits::READER_STACK, || parse_expression(text, lexemes, dialect))
}

fn parse_expression(text: &str, lexemes: &[Lexeme], dialect: Dialect) -> Result<(), String> {
    let grammar = grammar(dialect)?;
    let mut parser = parser(&*grammar, text, lexemes)?;
    let expression = parser.parse_expr().map_err(|error| reason(&error))?;
    if parser.peek_token_ref().token != Token::EOF {
        return Err(format!(
            "is more than one expression: remove `{}` and what follows",
            parser.peek_token_ref().token
        ));
    }
    match expression {
        Expr::Tuple(_) | Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => {
            Err("is a list of values: name one column".to_owned())
        }
        _ => Ok(()),
    }
}

const NO_QUERY: &str = "is not a query: write one SELECT, WITH … SELECT, VALUES or TABLE";

fn grammar(dialect: Dialect) -> Result<Box<dyn Grammar>, String> {
    dialect_from_str(dialect.to_string()).ok_or_else(|| format!("cannot be read for {dialect}"))
}

/// A parser for the text, after checking that both tokenizers agree.
fn parser<'a>(grammar: &'a dyn Grammar, text: &str, lexemes: &[Lexeme]) -> Result<Parser<'a>, String> {
    let found = Tokenizer::new(grammar, text)
        .tokenize_with_location()
        .map_err(|error| format!("cannot be read: {}", error.message))?;
    let mut words =
        found.iter().map(|found| &found.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    for lexeme in lexemes {
        let expected = lexeme.token.bare();
        let agrees = words.next().is_some_and(|word| word.to_string() == expected);
        if !agrees {
            return Err(format!("can be read in several ways at `{}`: write it differently", lexeme.token));
        }
    }
    if words.next().is_some() {
        return Err("can be read in several ways at its end: write it differently".to_owned());
    }
    Ok(Parser::new(grammar).with_recursion_limit(limits::QUERY_RECURSION).with_tokens_with_locations(found))
}

/// The number of columns of a query's body; an error if the body writes.
fn columns(body: &SetExpr) -> Result<Option<usize>, String> {
    match body {
        SetExpr::Select(select) => {
            if select.into.is_some() {
                return Err("writes INTO a table: a bound query only reads".to_owned());
            }
            let single = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expression) => !matches!(expression, Expr::QualifiedWildcard(..)),
                SelectItem::ExprWithAlias { .. } => true,
                _ => false,
            };
            let known = select.projection.iter().all(single);
            Ok(known.then_some(select.projection.len()))
        }
        SetExpr::Query(query) => columns(&query.body),
        SetExpr::SetOperation { left, right, .. } => {
            let (left, right) = (columns(left)?, columns(right)?);
            match (left, right) {
                (Some(left), Some(right)) if left != right => {
                    Err(format!("joins {left} columns with {right}: give both parts the same number"))
                }
                (left, right) => Ok(left.or(right)),
            }
        }
        SetExpr::Values(values) => {
            let mut widths = values.rows.iter().map(|row| row.content.len());
            let first = widths.next();
            match widths.find(|width| Some(*width) != first) {
                Some(_) => {
                    Err("has rows of different lengths: give all the same number of values".to_owned())
                }
                None => Ok(first),
            }
        }
        SetExpr::Table(_) => Ok(None),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            Err("writes: a bound query only reads".to_owned())
        }
    }
}

/// What may follow `IS` in a bound query.
const AFTER_IS: &str = "NULL, TRUE, FALSE or DISTINCT FROM";

/// The parser's message as the end of a sentence, without its positions, which refer to the printed text.
fn reason(error: &ParserError) -> String {
    match error {
        ParserError::RecursionLimitExceeded => "nests too deeply: move a part into a view".to_owned(),
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            let text = text.split(" at Line:").next().unwrap_or(text);
            // The parser's own list also has `IS JSON` and `IS NORMALIZED`, which are rare.
            let text = match text.split_once(" after IS, found: ") {
                Some((_, found)) => format!("after IS or IS NOT, expected {AFTER_IS}, found {found}"),
                None => text.to_owned(),
            };
            let text = text.replace("Expected: ", "expected ").replace(", found: ", ", found ");
            format!("cannot be read: {}", text.replace("EOF", "its end"))
        }
    }
}

//! Column names that come with a question: the column of a filter, and the output columns.

use super::bound::ColumnExpr;
use super::grammar::Cursor;
use super::name::SqlName;
use super::query::{escaped, settled};
use super::token::{Lexeme, Token, plainly_spelled, words};
use super::{forbidden, lexer, reader};
use crate::dialect::lexis::Lexis;
use crate::dialect::quote::plain_name;
use crate::dialect::{Dialect, Escapes};
use crate::limits;

/// Reads the column of a filter: an expression over one row of the caller's query.
///
/// # Errors
/// A message that begins with the column.
pub fn column(text: &str, dialect: Dialect) -> Result<ColumnExpr, String> {
    read(text, dialect).map_err(|reason| {
        let shown: String = text.chars().take(60).collect();
        format!("the column `{}` {reason}", shown.escape_debug())
    })
}

fn read(text: &str, dialect: Dialect) -> Result<ColumnExpr, String> {
    if text.len() > limits::QUERY_BYTES {
        return Err(format!("has more than {} bytes: name a column", limits::QUERY_BYTES));
    }
    let lexis = &dialect.features().lexis;
    let lexed = lexer::read(text, lexis)?;
    if lexed.comments {
        return Err("contains a comment: remove it".to_owned());
    }
    if lexed.ended {
        return Err("ends in `;`: remove it".to_owned());
    }
    let lexemes = lexed.lexemes;
    forbidden::reads_one_row(&lexemes)?;
    if let [Lexeme { token: Token::Word(word), .. }, ..] = lexemes.as_slice() {
        let is_alone = lexemes.get(1).is_none_or(|next| matches!(next.token, Token::Period | Token::Cast));
        if is_alone && lexis.reserved.contains(&word.to_ascii_lowercase().as_str()) {
            return Err(format!("begins with the reserved word `{word}`: quote it if it is a name"));
        }
    }
    reader::expression(&settled(&lexemes, lexis)?, &lexemes, dialect)?;
    let escapes = dialect.features().escapes;
    let text = escaped(&lexemes, lexis, escapes)?;
    // An escaped text must be valid SQL in the place of the literal.
    if escapes == Escapes::Char {
        reader::expression(&text, &lexer::read(&text, lexis)?.lexemes, dialect)?;
    }
    let words = words(&lexemes, lexis);
    let mut cursor = Cursor::new(&lexemes, lexis);
    if let Some(path) = cursor.path() {
        if cursor.done() {
            return Ok(ColumnExpr { text, name: Some(SqlName::all(&path, lexis)), words });
        }
        if let Some(text) = cast(cursor, escapes) {
            return Ok(ColumnExpr { text, name: None, words });
        }
    }
    Ok(ColumnExpr { text: format!("({text})"), name: None, words })
}

/// The path before the cursor, if only casts follow it, written with `CAST`.
fn cast(mut cursor: Cursor<'_>, escapes: Escapes) -> Option<String> {
    let mut text = plainly_spelled(cursor.lexemes.get(..cursor.at)?, escapes);
    while cursor.sign(&Token::Cast) {
        let start = cursor.at;
        cursor.data_type().then_some(())?;
        let data_type = plainly_spelled(cursor.lexemes.get(start..cursor.at)?, escapes);
        text = format!("CAST({text} AS {data_type})");
    }
    cursor.done().then_some(text)
}

/// The quoted identifier of an output column.
///
/// # Errors
/// A message that begins with the name.
pub fn output_name(name: &str, dialect: Dialect) -> Result<String, String> {
    if name.is_empty() {
        return Err("the output column's name is empty: write one".to_owned());
    }
    let shown: String = name.chars().take(60).collect();
    let shown = shown.escape_debug();
    if name.contains('\0') {
        return Err(format!("the output column `{shown}` contains a NUL character: remove it"));
    }
    match dialect.features().lexis.name_bytes {
        Some(limit) if name.len() > limit => Err(format!(
            "the output column `{shown}` has {} bytes, and {dialect} would truncate it to {limit}: shorten it",
            name.len()
        )),
        _ => Ok(plain_name(name, '"', dialect.features().escapes)),
    }
}

/// Reads `[schema.]table.column` into the table's names and the column's. Errors continue a sentence that
/// begins with "the table".
pub(super) fn table_column(text: &str, lexis: &'static Lexis) -> Result<(Vec<SqlName>, SqlName), String> {
    let lexemes = lexer::read(text, lexis)?.lexemes;
    let mut cursor = Cursor::new(&lexemes, lexis);
    let path = cursor.path().filter(|path| cursor.done() && (2..=4).contains(&path.len()));
    let Some((column, table)) = path.as_deref().and_then(<[_]>::split_last) else {
        return Err(
            "is not of the form `table.column` or `schema.table.column`: write the type's table and its \
                    unique column, reserved words in quotes"
                .to_owned(),
        );
    };
    Ok((SqlName::all(table, lexis), SqlName::of(column, lexis)))
}

/// Reads `[schema.]table`. Errors continue a sentence that begins with the text.
pub(super) fn table(text: &str, lexis: &'static Lexis) -> Result<Vec<SqlName>, String> {
    let lexemes = lexer::read(text, lexis)?.lexemes;
    let mut cursor = Cursor::new(&lexemes, lexis);
    match cursor.path().filter(|path| cursor.done() && path.len() <= 3) {
        Some(path) => Ok(SqlName::all(&path, lexis)),
        None => Err("is not the name of a table: write `table` or `schema.table`, reserved words in quotes"
            .to_owned()),
    }
}

/// Reads the alias of a table. Errors continue a sentence that begins with the alias.
pub(super) fn alias(text: &str, lexis: &'static Lexis) -> Result<SqlName, String> {
    match table(text, lexis).ok().as_deref() {
        Some([alias]) => Ok(alias.clone()),
        Some(_) | None => Err("is not an alias: write one name, a reserved word in quotes".to_owned()),
    }
}

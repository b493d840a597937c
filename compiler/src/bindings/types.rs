//! Column types: how the ids of a type are held by the caller's columns.
//!
//! An id is a text, and a literal of another type must be written so that the statement can neither fail nor
//! match another id. So each type has a [`Family`] that says which texts are literals of it, in their one
//! canonical form: `01` is no id of an integer column.
//!
//! The name is what a cast may be written with. It differs from the caller's where a cast would do harm:
//! `serial` is no type, and `CAST('abcd' AS varchar(3))` cuts the id. `char(n)` is compared as `bpchar` without a
//! length, which keeps the column's index and cuts nothing; it ignores blanks at the end, and a column's value
//! never shows them as text, so an id that ends in a blank is no value of it. `char(32)` is what `SQLAlchemy`
//! writes for a UUID, also of a database that has a type for it: such a column may be either, so it is
//! compared as one whose type nobody told.

use super::token::{Lexeme, Token, spelled};
use super::{Family, SqlType, lexer, reader};
use crate::dialect::Dialect;
use crate::dialect::lexis::TypeNames;

impl SqlType {
    /// Reads a type's name, in any case.
    ///
    /// # Errors
    /// A reason that follows the type's name.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, String> {
        let lexis = &dialect.features().lexis;
        let lexed = lexer::read(text, lexis)?;
        let lexemes = lexed.lexemes;
        if lexed.comments || lexed.ended || !is_type(&lexemes) {
            return Err("is no type: write its name, such as `uuid` or `varchar(255)`".to_owned());
        }
        let name = spelled(&lexemes);
        let (base, length) = name.split_once('(').unwrap_or((&name, ""));
        let length: String = length.split_whitespace().collect();
        let base = base.trim().to_ascii_lowercase();
        let base = base.strip_prefix("pg_catalog.").unwrap_or(&base);
        let is_array = name.contains('[');
        let known = match lexis.types {
            TypeNames::Exact if is_array => None,
            TypeNames::Exact if base == "char" && length == "32)" => None,
            TypeNames::Exact => exact(base),
            TypeNames::Affinity => affinity(base),
        };
        if let Some((name, family)) = known {
            return Ok(Self { name: name.to_owned(), family });
        }
        let probe = [
            vec![Token::Word("CAST".to_owned()), Token::Open('('), Token::Word("NULL".to_owned())],
            vec![Token::Word("AS".to_owned())],
            lexemes.iter().map(|lexeme| lexeme.token.clone()).collect(),
            vec![Token::Close(')')],
        ];
        let probe: Vec<Lexeme> =
            probe.into_iter().flatten().map(|token| Lexeme { token, gap: true }).collect();
        reader::expression(&spelled(&probe), &probe, dialect)
            .map_err(|_| "is no type: write its name, such as `uuid` or `varchar(255)`".to_owned())?;
        Ok(Self { name, family: Family::Other })
    }

    /// Whether a text is the canonical literal of a value of the type. No value has another.
    pub fn admits(&self, text: &str) -> bool {
        if text.contains('\0') {
            return false;
        }
        match self.family {
            Family::Integer { min, max } => text
                .parse::<i64>()
                .is_ok_and(|number| (min..=max).contains(&number) && number.to_string() == text),
            Family::Uuid => {
                text.len() == 36
                    && text.char_indices().all(|(at, c)| match at {
                        8 | 13 | 18 | 23 => c == '-',
                        _ => c.is_ascii_digit() || ('a'..='f').contains(&c),
                    })
            }
            Family::Padded => !text.ends_with(' '),
            Family::Text | Family::Other => true,
        }
    }
}

/// Whether tokens can be a type's name: names, then perhaps lengths between brackets and brackets of arrays.
fn is_type(lexemes: &[Lexeme]) -> bool {
    let mut depth = 0_usize;
    let first_is_name = lexemes.first().is_some_and(|first| first.token.is_wordlike());
    first_is_name
        && lexemes.iter().all(|lexeme| match &lexeme.token {
            Token::Word(_) => true,
            Token::Number(_) => depth > 0,
            Token::Comma => depth > 0,
            Token::Name { .. } | Token::Period => depth == 0,
            Token::Open(_) => {
                depth += 1;
                depth == 1
            }
            Token::Close(_) => {
                depth -= 1;
                true
            }
            Token::Text(_) | Token::Bits(_) | Token::Operator(_) | Token::Cast => false,
        })
}

const SMALL: Family = Family::Integer { min: -32_768, max: 32_767 };
const MIDDLE: Family = Family::Integer { min: -2_147_483_648, max: 2_147_483_647 };
const BIG: Family = Family::Integer { min: i64::MIN, max: i64::MAX };

/// The types of PostgreSQL whose values we can write as literals, without their lengths.
fn exact(base: &str) -> Option<(&'static str, Family)> {
    match base {
        "smallint" | "int2" | "smallserial" | "serial2" => Some(("smallint", SMALL)),
        "integer" | "int" | "int4" | "serial" | "serial4" => Some(("integer", MIDDLE)),
        "bigint" | "int8" | "bigserial" | "serial8" => Some(("bigint", BIG)),
        "text" | "varchar" | "character varying" | "char varying" => Some(("text", Family::Text)),
        "char" | "character" | "bpchar" | "nchar" => Some(("bpchar", Family::Padded)),
        "uuid" => Some(("uuid", Family::Uuid)),
        _ => None,
    }
}

/// The affinities of SQLite, by its own rule on a part of the name. It keeps a UUID as the text that was given.
fn affinity(base: &str) -> Option<(&'static str, Family)> {
    let holds = |part: &str| base.contains(part);
    if holds("int") {
        Some(("INTEGER", BIG))
    } else if holds("char") || holds("clob") || holds("text") || base == "uuid" {
        Some(("TEXT", Family::Text))
    } else {
        None
    }
}

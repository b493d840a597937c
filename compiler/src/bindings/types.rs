//! Column types: the SQL types of the columns that hold a type's ids.
//!
//! A declared type decides how ids are compared, never whether a fact exists. Only the family of an SQL type
//! matters: `smallint`, `integer` and `bigint` are all whole numbers, and their ids are printed as bare
//! literals, so that the comparison uses the operator and the index of the column. If a generated column
//! combines families, it takes the wider one: 64-bit whole numbers, whole numbers of any size, text.
//!
//! An id is a text. If the family cannot represent it, the comparison must neither fail nor match another id.
//! [`Fit`] says how.
//!
//! The name is the one to use in casts. It differs from the caller's if a cast to that would do harm:
//! `serial` is not a type, `CAST(3000000000 AS integer)` fails, and `CAST('abcd' AS varchar(3))` truncates
//! the id. `char(n)` is compared as `bpchar` without a length, which keeps the column's index and truncates
//! nothing; trailing blanks are ignored, and never printed in a column's text. `citext` is never printed:
//! its schema need not be on the search path. `char(32)` is what `SQLAlchemy` declares for a UUID, even if
//! the database has a type for it. Such a column may be either, so it is compared as one of unknown type.

use super::token::{Lexeme, Token, spelled};
use super::{lexer, reader};
use crate::dialect::Dialect;
use crate::dialect::lexis::TypeNames;
use crate::primitive::{integer, is_uuid, is_whole};

/// The SQL type of the columns that hold a type's ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlType {
    /// The type's name as used in casts.
    pub name: String,
    /// The family of its values.
    pub family: Family,
}

/// A family of SQL types, whose values compare without a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Whole numbers in columns of up to 64 bits.
    Integer,
    /// Whole numbers of any size.
    Numeric,
    /// 64-bit whole numbers in a SQLite column, which also stores any other value as given.
    IntegerAffinity,
    /// Text of any length, compared byte by byte.
    Text,
    /// Text in a column that pads it with trailing blanks, which are not part of the value.
    Padded,
    /// Text in a column of `citext`, which finds texts equal that differ in case.
    Caseless,
    /// UUIDs, canonical in lower case with hyphens.
    Uuid,
    /// Any other type; compared as text.
    Other,
    /// A type name used for columns of several families; compared as if the type were unknown.
    Ambiguous,
}

/// How an id is compared with the values of a column of some type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// As a value of the type.
    Value,
    /// As a whole number beyond 64 bits.
    Wide,
    /// As text: a column of the type may print it, but it is not a value in the type's canonical form.
    Text,
    /// Not at all: no column of the type prints it.
    Never,
}

impl SqlType {
    /// Reads a type's name, in any case.
    ///
    /// # Errors
    /// A message that continues a sentence beginning with the type's name.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, String> {
        let lexis = &dialect.features().lexis;
        let lexed = lexer::read(text, lexis)?;
        let lexemes = lexed.lexemes;
        if lexed.comments || lexed.ended || !is_type(&lexemes) {
            return Err("is not a type: write its name, such as `uuid` or `varchar(255)`".to_owned());
        }
        let name = spelled(&lexemes);
        let (base, length) = name.split_once('(').unwrap_or((&name, ""));
        let length: String = length.split_whitespace().collect();
        let base = base.trim().to_ascii_lowercase();
        let base = base.strip_prefix("pg_catalog.").unwrap_or(&base);
        let is_array = name.contains('[');
        let known = match lexis.types {
            TypeNames::Exact if is_array => None,
            TypeNames::Exact if base == "char" && length == "32)" => {
                return Ok(Self { name, family: Family::Ambiguous });
            }
            TypeNames::Exact => exact(base, &length),
            TypeNames::Affinity => affinity(base),
        };
        if let Some((name, family)) = known {
            return Ok(Self { name: name.to_owned(), family });
        }
        if is_caseless(&lexemes) && lexis.types == TypeNames::Exact {
            return Ok(Self { name, family: Family::Caseless });
        }
        if base.trim_matches('"') == "inet" && lexis.types == TypeNames::Exact {
            return Err("cannot be compared with ids: PostgreSQL casts `10.0.0.2` to `10.0.0.2/32`; select \
                        `host(column)`, and write `text`"
                .to_owned());
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
            .map_err(|_| "is not a type: write its name, such as `uuid` or `varchar(255)`".to_owned())?;
        Ok(Self { name, family: Family::Other })
    }

    /// Whole numbers of any size.
    pub(crate) fn numeric() -> Self {
        Self { name: "numeric".to_owned(), family: Family::Numeric }
    }

    /// How an id compares with the values of a column of this type.
    pub fn fit(&self, text: &str) -> Fit {
        if text.contains('\0') {
            return Fit::Never;
        }
        match self.family {
            Family::Integer | Family::Numeric if integer(text).is_some() => Fit::Value,
            Family::Integer | Family::Numeric if is_whole(text) => Fit::Wide,
            Family::Integer | Family::Numeric if is_other_number(text) => Fit::Text,
            Family::Integer | Family::Numeric => Fit::Never,
            Family::IntegerAffinity if integer(text).is_some() => Fit::Value,
            Family::IntegerAffinity => Fit::Text,
            Family::Uuid if is_uuid(text) => Fit::Value,
            Family::Uuid => Fit::Never,
            // A padded column ignores blanks at the end, also one that is declared as a text by mistake.
            Family::Padded | Family::Text if text.ends_with(' ') => Fit::Text,
            Family::Padded | Family::Text | Family::Caseless => Fit::Value,
            Family::Other | Family::Ambiguous => Fit::Text,
        }
    }
}

impl Family {
    /// Whether `=` of such a type holds for some different texts. It holds for equal ones.
    pub(crate) fn is_inexact(self) -> bool {
        matches!(self, Self::Padded | Self::Caseless)
    }

    /// The type of a column that holds values of both; `None` if each must become text first.
    pub(crate) fn join(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Integer | Self::Numeric, Self::Integer | Self::Numeric) => {
                Some(if self == other { self } else { Self::Numeric })
            }
            (Self::IntegerAffinity, Self::IntegerAffinity)
            | (Self::Text, Self::Text)
            | (Self::Padded, Self::Padded)
            | (Self::Caseless, Self::Caseless)
            | (Self::Uuid, Self::Uuid) => Some(self),
            (
                Self::Integer
                | Self::Numeric
                | Self::IntegerAffinity
                | Self::Uuid
                | Self::Padded
                | Self::Caseless
                | Self::Text
                | Self::Other
                | Self::Ambiguous,
                _,
            ) => None,
        }
    }
}

/// Whether a type is called `citext`, in any schema.
fn is_caseless(lexemes: &[Lexeme]) -> bool {
    let name = match lexemes {
        [name] => name,
        [schema, point, name] if schema.token.is_wordlike() && point.token == Token::Period => name,
        _ => return false,
    };
    name.token.is("citext") || matches!(&name.token, Token::Name { text, .. } if text == "citext")
}

/// A text that a numeric column may print for a value that is not a canonical whole number: `5.0`, `1e+30`,
/// `NaN`.
fn is_other_number(text: &str) -> bool {
    let is_named = matches!(text, "NaN" | "Infinity" | "-Infinity");
    is_named || text.contains(['.', 'e']) && text.parse::<f64>().is_ok()
}

/// Whether tokens can be a type's name: names, perhaps with lengths in parentheses and array brackets.
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

/// PostgreSQL types whose values can be printed as literals, without their lengths.
fn exact(base: &str, length: &str) -> Option<(&'static str, Family)> {
    match base {
        "smallint" | "int2" | "smallserial" | "serial2" | "integer" | "int" | "int4" | "serial"
        | "serial4" | "bigint" | "int8" | "bigserial" | "serial8" => Some(("bigint", Family::Integer)),
        "numeric" | "decimal" | "dec" if !has_fraction(length) => Some(("numeric", Family::Numeric)),
        "text" | "varchar" | "character varying" | "char varying" => Some(("TEXT", Family::Text)),
        "char" | "character" | "bpchar" | "nchar" => Some(("bpchar", Family::Padded)),
        "uuid" => Some(("uuid", Family::Uuid)),
        _ => None,
    }
}

/// Whether a precision and scale, such as `10,2)`, allow a fraction.
fn has_fraction(length: &str) -> bool {
    length.split_once(',').is_some_and(|(_, scale)| scale.trim_end_matches(')') != "0")
}

/// SQLite's type affinity, by its own rule on parts of the name. It stores UUIDs as the text given.
fn affinity(base: &str) -> Option<(&'static str, Family)> {
    let holds = |part: &str| base.contains(part);
    if holds("int") || base == "numeric" || base == "decimal" {
        Some(("INTEGER", Family::IntegerAffinity))
    } else if holds("char") || holds("clob") || holds("text") || base == "uuid" {
        Some(("TEXT", Family::Text))
    } else {
        None
    }
}

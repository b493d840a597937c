//! Text that came from outside, as nodes.
//!
//! sqlparser's printer assumes that a quote after a backslash, and every doubled quote, is already escaped,
//! and prints it unchanged. So only [`lit`] and [`ident`] turn text into nodes; they double the quotes before
//! the node is built. The exhaustive test below fails if the printer ever changes.

use super::{binary, call, nested, number};
use crate::bindings::is_whole;
use crate::compact::{self, Compact};
use crate::dialect::Escapes;
use crate::dialect::quote::{is_risky, plain_literal};
use sqlparser::ast::{BinaryOperator, Expr, Ident, Value};
use sqlparser::keywords::ALL_KEYWORDS;

/// A text as a literal. NUL is refused long before; here it would end nothing, as SQLite and PostgreSQL
/// read the statement by its length.
pub(in crate::sql) fn lit(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.replace('\'', "''")).into())
}

/// A whole number from outside, of any size; `None` if the text is none in its canonical form.
pub(in crate::sql) fn whole(text: &str) -> Option<Expr> {
    is_whole(text).then(|| Expr::Value(Value::Number(text.to_owned(), false).into()))
}

/// A text from outside as a literal in its compact form.
pub(in crate::sql) fn compact(text: &str) -> Expr {
    match compact::compact(text) {
        Compact::Integer(integer) => number(integer),
        Compact::Text(form) => lit(&form),
    }
}

/// A name from outside as an identifier: plain if it is a simple word that is no keyword, else quoted.
pub(in crate::sql) fn ident(name: &str) -> Ident {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    let simple = first && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if simple && ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_err() {
        return Ident::new(name);
    }
    Ident {
        value: name.replace('"', "\"\""),
        quote_style: Some('"'),
        span: sqlparser::tokenizer::Span::empty(),
    }
}

/// A text as a literal that no driver misreads: what looks like a parameter to one of them (`$1`, `?`, `:x`,
/// `%s`) is spelled in another way, and so are backslashes.
pub(in crate::sql) fn plain_lit(text: &str, escapes: Escapes) -> Expr {
    if !text.contains(is_risky) {
        return lit(text);
    }
    match escapes {
        Escapes::EscapeStrings => raw(&plain_literal(text, escapes)),
        Escapes::Char => {
            let mut parts: Vec<Expr> = Vec::new();
            let mut plain = String::new();
            for c in text.chars() {
                if is_risky(c) {
                    if !plain.is_empty() {
                        parts.push(lit(&std::mem::take(&mut plain)));
                    }
                    parts.push(call("char", vec![number(i64::from(u32::from(c)))]));
                } else {
                    plain.push(c);
                }
            }
            if !plain.is_empty() {
                parts.push(lit(&plain));
            }
            let joined =
                parts.into_iter().reduce(|left, right| binary(left, BinaryOperator::StringConcat, right));
            joined.map_or_else(|| lit(""), nested)
        }
    }
}

/// Text that is SQL already: a caller's query or column, as `bindings` printed it.
pub(in crate::sql) fn raw(text: &str) -> Expr {
    Expr::Identifier(Ident::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::quote::printed_literal;

    /// Every string of up to `length` over an alphabet that confuses escapers.
    fn for_each_string(length: usize, visit: &mut impl FnMut(&str)) {
        let mut level = vec![String::new()];
        for _ in 0..=length {
            level.iter().for_each(|text| visit(text));
            level =
                level.iter().flat_map(|text| ['\'', '\\', '"', 'a'].map(|c| format!("{text}{c}"))).collect();
        }
    }

    #[test]
    fn every_short_string_prints_as_a_literal_of_itself() {
        for_each_string(8, &mut |text| {
            assert_eq!(lit(text).to_string(), format!("'{}'", text.replace('\'', "''")));
            assert_eq!(lit(text).to_string(), printed_literal(text));
        });
    }

    #[test]
    fn a_literal_of_ours_and_one_of_the_callers_are_spelled_alike() {
        for text in ["", "a", "a%", ":x", "it's 5%", "$1?", "\\", "\n", "é:é", "{}", "%'%"] {
            for escapes in [Escapes::EscapeStrings, Escapes::Char] {
                assert_eq!(plain_lit(text, escapes).to_string(), plain_literal(text, escapes));
            }
        }
    }

    #[test]
    fn every_short_string_prints_as_an_identifier_of_itself() {
        for_each_string(8, &mut |text| {
            let expected = match text {
                "" => "\"\"".to_owned(),
                text if text.chars().all(|c| c == 'a') => text.to_owned(),
                text => format!("\"{}\"", text.replace('"', "\"\"")),
            };
            assert_eq!(ident(text).to_string(), expected);
        });
    }

    #[test]
    fn a_keyword_is_quoted() {
        assert_eq!(ident("user").to_string(), "\"user\"");
        assert_eq!(ident("f12").to_string(), "f12");
        assert_eq!(ident("Users").to_string(), "\"Users\"");
    }
}

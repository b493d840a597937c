//! Text that came from outside, as nodes.
//!
//! sqlparser's printer assumes that a quote after a backslash, and every doubled quote, is already escaped,
//! and prints it unchanged. So only [`lit`] and [`ident`] turn text into nodes; they double the quotes before
//! the node is built. The exhaustive test below fails if the printer ever changes.

use crate::bindings::is_whole;
use sqlparser::ast::{Expr, Ident, Value};
use sqlparser::keywords::ALL_KEYWORDS;

/// A text as a literal. NUL is refused long before; here it would end nothing, as SQLite and PostgreSQL
/// read the statement by its length.
pub(in crate::sql) fn lit(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.replace('\'', "''")).into())
}

/// A whole number from outside, of any size; `None` if the text is not one in its canonical form.
pub(in crate::sql) fn whole(text: &str) -> Option<Expr> {
    is_whole(text).then(|| Expr::Value(Value::Number(text.to_owned(), false).into()))
}

/// A name from outside as an identifier: plain if it is a simple word and not a keyword, else quoted.
pub(in crate::sql) fn ident(name: &str) -> Ident {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    let simple = first && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if simple && (is_numbered(name) || !is_keyword(name)) {
        return Ident::new(name);
    }
    Ident {
        value: name.replace('"', "\"\""),
        quote_style: Some('"'),
        span: sqlparser::tokenizer::Span::empty(),
    }
}

/// Whether a name is a letter and a number, like most that the compiler makes: a statement has hundreds of
/// them. No keyword is.
fn is_numbered(name: &str) -> bool {
    let number = name.strip_prefix(|c: char| c.is_ascii_lowercase()).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name is a keyword of any dialect.
fn is_keyword(name: &str) -> bool {
    ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok()
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
    fn no_keyword_is_a_letter_and_a_number() {
        assert!(ALL_KEYWORDS.iter().all(|keyword| !is_numbered(&keyword.to_ascii_lowercase())));
        assert!(["t1", "c0", "x12"].iter().all(|name| is_numbered(name)));
        assert!(["t", "1", "t1a", "tt1", "T1", ""].iter().all(|name| !is_numbered(name)));
    }

    #[test]
    fn a_keyword_is_quoted() {
        assert_eq!(ident("user").to_string(), "\"user\"");
        assert_eq!(ident("f12").to_string(), "f12");
        assert_eq!(ident("Users").to_string(), "\"Users\"");
    }
}

//! Text that came from outside, as nodes.
//!
//! sqlparser's printer assumes that a quote after a backslash, and every doubled quote, is already escaped,
//! and prints it unchanged. So only [`lit`] and [`ident`] turn text into nodes; they double the quotes before
//! the node is built. The exhaustive test below fails if the printer ever changes.

use crate::bindings::is_whole;
use rustc_hash::FxHashSet;
use sqlparser::ast::{Expr, Ident, Value};
use sqlparser::keywords::ALL_KEYWORDS;
use std::sync::LazyLock;

/// The keywords of any dialect, in lower case. A statement has hundreds of names to look up.
static KEYWORDS: LazyLock<FxHashSet<String>> =
    LazyLock::new(|| ALL_KEYWORDS.iter().map(|keyword| keyword.to_ascii_lowercase()).collect());

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
    if simple && !KEYWORDS.contains(name) {
        return Ident::new(name);
    }
    Ident {
        value: name.replace('"', "\"\""),
        quote_style: Some('"'),
        span: sqlparser::tokenizer::Span::empty(),
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

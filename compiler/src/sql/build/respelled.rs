//! Text that came from outside, in another spelling than its own: its compact form, or one without characters
//! that drivers misread.

use super::expr::{binary, call, nested, number};
use super::quoted::{lit, raw};
use crate::compact::{self, Compact};
use crate::dialect::Escapes;
use crate::dialect::quote::{is_risky, plain_literal};
use sqlparser::ast::{BinaryOperator, Expr};

/// A text from outside as a literal in its compact form.
pub(in crate::sql) fn compact(text: &str) -> Expr {
    match compact::compact(text) {
        Compact::Integer(integer) => number(integer),
        Compact::Text(form) => lit(&form),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_of_ours_and_one_of_the_callers_are_spelled_alike() {
        for text in ["", "a", "a%", ":x", "it's 5%", "$1?", "\\", "\n", "é:é", "{}", "%'%"] {
            for escapes in [Escapes::EscapeStrings, Escapes::Char] {
                assert_eq!(plain_lit(text, escapes).to_string(), plain_literal(text, escapes));
            }
        }
    }
}

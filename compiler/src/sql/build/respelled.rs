//! Text that came from outside, in a different spelling than its own: its compact form, its bytes, or one
//! without characters that drivers misread.

use super::expr::{binary, call, nested, number};
use super::quoted::{lit, raw};
use crate::compact::bytes::encode;
use crate::compact::{self, Compact};
use crate::dialect::Escapes;
use crate::dialect::quote::{is_risky, plain_literal};
use sqlparser::ast::{BinaryOperator, Expr};
use std::fmt::Write;

/// A text from outside as a literal in its compact form.
pub(in crate::sql) fn compact(text: &str) -> Expr {
    match compact::compact(text) {
        Compact::Integer(integer) => number(integer),
        Compact::Text(form) => lit(&form),
    }
}

/// A text from outside as a literal of its bytes, `'\x61'`. It has nothing to escape: the backslash is one to
/// PostgreSQL, too.
pub(in crate::sql) fn bytes(text: &str) -> Expr {
    let mut literal = "\\x".to_owned();
    for byte in encode(text) {
        // Writing to a String cannot fail.
        let _ = write!(literal, "{byte:02x}");
    }
    lit(&literal)
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
    use crate::compact::bytes::decode;
    use crate::compact::texts;

    /// Every string of up to `length` over an alphabet that confuses escapers.
    fn for_each_string(length: usize, visit: &mut impl FnMut(&str)) {
        let mut level = vec![String::new()];
        for _ in 0..=length {
            level.iter().for_each(|text| visit(text));
            let longer = |text: &String| ['\'', '\\', '"', '\0', '7', 'é'].map(|c| format!("{text}{c}"));
            level = level.iter().flat_map(longer).collect();
        }
    }

    /// A literal has nothing but digits between its quotes, and they are the bytes of the text.
    #[test]
    fn every_short_text_prints_as_its_bytes() {
        let mut check = |text: &str| {
            let sql = bytes(text).to_string();
            let digits = sql.strip_prefix("'\\x").and_then(|sql| sql.strip_suffix('\''));
            let digits = digits.unwrap_or_else(|| panic!("{sql}"));
            assert!(digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{sql}");
            let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            let form: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
            assert_eq!(decode(&form).as_deref(), Some(text), "{sql}");
        };
        for_each_string(6, &mut check);
        texts::short().iter().for_each(|text| check(text));
        [i64::MIN, -1, 0, 7, i64::MAX].iter().for_each(|number| check(&number.to_string()));
        check("01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f");
    }

    #[test]
    fn a_literal_of_ours_and_one_of_the_callers_are_spelled_alike() {
        for text in ["", "a", "a%", ":x", "it's 5%", "$1?", "\\", "\n", "é:é", "{}", "%'%"] {
            for escapes in [Escapes::EscapeStrings, Escapes::Char] {
                assert_eq!(plain_lit(text, escapes).to_string(), plain_literal(text, escapes));
            }
        }
    }
}

//! Quotes around texts and names in SQL that is put together from a caller's tokens.
//!
//! What the compiler makes itself goes through the nodes of `sql::build`, which print the same. A driver
//! looks for parameters in the whole text, some even within quotes. So literals and names spell the
//! characters that introduce one as escapes.

use super::Escapes;
use std::fmt::Write;

/// Whether literals and names must not contain a character, because some driver reads it as the start of a
/// parameter (`$1`, `?`, `:x`, `%s`), or some reader as an escape.
pub(crate) fn is_risky(c: char) -> bool {
    matches!(c, '$' | '?' | ':' | '%' | '\\' | '@' | '{') || c.is_control()
}

/// A text as a printed literal that no driver misreads.
pub(crate) fn plain_literal(text: &str, escapes: Escapes) -> String {
    if !text.contains(is_risky) {
        return printed_literal(text);
    }
    match escapes {
        Escapes::EscapeStrings => {
            let mut literal = "E'".to_owned();
            for c in text.chars() {
                match c {
                    '\'' => literal.push_str("''"),
                    // Writing to a String cannot fail.
                    c if is_risky(c) && c.is_ascii() => drop(write!(literal, "\\x{:02x}", u32::from(c))),
                    c => literal.push(c),
                }
            }
            literal.push('\'');
            literal
        }
        Escapes::Char => {
            let mut parts: Vec<String> = Vec::new();
            let mut plain = String::new();
            for c in text.chars() {
                if is_risky(c) {
                    if !plain.is_empty() {
                        parts.push(printed_literal(&std::mem::take(&mut plain)));
                    }
                    parts.push(format!("char({})", u32::from(c)));
                } else {
                    plain.push(c);
                }
            }
            if !plain.is_empty() {
                parts.push(printed_literal(&plain));
            }
            format!("({})", parts.join(" || "))
        }
    }
}

/// A name between quotes that no driver misreads, if the database has a way to spell it. SQLite has none.
pub(crate) fn plain_name(name: &str, quote: char, escapes: Escapes) -> String {
    match escapes {
        Escapes::EscapeStrings if name.contains(is_risky) => {
            let mut spelled = "U&\"".to_owned();
            for c in name.chars() {
                match c {
                    '"' => spelled.push_str("\"\""),
                    c if is_risky(c) && c.is_ascii() => drop(write!(spelled, "\\{:04x}", u32::from(c))),
                    c => spelled.push(c),
                }
            }
            spelled.push('"');
            spelled
        }
        Escapes::EscapeStrings | Escapes::Char => printed_name(name, quote),
    }
}

/// A text as a printed literal, for SQL that is put together from foreign pieces.
pub(crate) fn printed_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name between quotes of this kind, for SQL that is put together from foreign pieces.
pub(crate) fn printed_name(name: &str, quote: char) -> String {
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

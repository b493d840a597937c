//! Quotes around text and names that are printed as they stand.
//!
//! For SQL that is put together from the tokens of a caller's; what is ours goes through the nodes of
//! `sql::build`, which print the same.
//!
//! A driver looks for the places of parameters in the whole text, some of them within quotes too. So what reaches a caller
//! has none of their signs there: they are spelled by escapes.

use super::Escapes;
use std::fmt::Write;

/// Whether a character is best not in a literal or a name: to some driver it begins the place of a parameter (`$1`, `?`, `:x`,
/// `%s`), or it is an escape to some reader.
pub(crate) fn is_risky(c: char) -> bool {
    matches!(c, '$' | '?' | ':' | '%' | '\\' | '@' | '{') || c.is_control()
}

/// A text as a printed literal that no driver takes for more.
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

/// A name between quotes that no driver takes for more, where the database has a spelling for that. In SQLite there is none.
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

//! How literals are spelled: the text of a value, the value of a text, and how much of either a title shows.

use std::borrow::Cow;

/// A text as a string literal, quotes included.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\0' => literal.push_str("\\0"),
            _ => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// The value of a string literal, given with its quotes.
pub(super) fn unescape(literal: &str) -> String {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or("");
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('0') => text.push('\0'),
            Some(other) => text.push(other),
            None => {}
        }
    }
    text
}

/// The value of an integer literal, sign included; `None` if it does not fit into 64 bits.
pub(super) fn integer_text(literal: &str) -> Option<i64> {
    literal.parse().ok()
}

/// At most 32 characters of a text, for a title.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(32) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_control_escapes_and_any_other_character() {
        assert_eq!(unescape(r#""a\n\r\t\0\"\\\x\é""#), "a\n\r\t\0\"\\xé");
        assert_eq!(unescape("\"\""), "");
    }

    #[test]
    fn what_is_quoted_is_read_as_it_was() {
        for text in ["", "a", "\"", "\\", "\\n", "\n\r\t\0", "it's \\\"é\""] {
            assert_eq!(unescape(&quoted(text)), text);
        }
    }

    #[test]
    fn integers_reach_both_ends_of_their_range() {
        assert_eq!(integer_text("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer_text("+9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer_text("9223372036854775808"), None);
    }
}

//! How names and literals are spelled, wherever the language or a part of it is written.
//!
//! Policies, the keys of data bindings and the notation of questions have the same names and string literals.

use std::borrow::Cow;

/// Whether a name may begin with this character.
pub fn begins_name(c: char) -> bool {
    c == '_' || !(c.is_ascii_punctuation() || c.is_ascii_digit() || c.is_whitespace() || c.is_control())
}

/// Whether a name may continue with this character.
pub fn continues_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit()
}

/// The name at the start of a text, with its `::` segments, and what follows it.
pub fn split_name(text: &str) -> Option<(&str, &str)> {
    let end_of_segment = |start: usize| {
        let rest = text.get(start..).filter(|rest| rest.starts_with(begins_name))?;
        Some(start + rest.find(|c| !continues_name(c)).unwrap_or(rest.len()))
    };
    let mut end = end_of_segment(0)?;
    while text.get(end..).is_some_and(|rest| rest.starts_with("::"))
        && let Some(next) = end_of_segment(end + 2)
    {
        end = next;
    }
    text.split_at_checked(end)
}

/// The string literal at the start of a text, quotes included, and what follows it; `None` if there is none,
/// or it is not closed. In a policy it also ends with its line.
pub fn split_literal(text: &str) -> Option<(&str, &str)> {
    let mut chars = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return text.split_at_checked(at + 2),
            '\\' => chars.next().map(drop).unwrap_or_default(),
            _ => {}
        }
    }
    None
}

/// A text as a string literal, quotes included.
pub fn quoted(text: &str) -> String {
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
pub fn unescape(literal: &str) -> String {
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
pub(crate) fn integer_text(literal: &str) -> Option<i64> {
    literal.parse().ok()
}

/// At most 32 characters of a text, for a title.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
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
    fn a_name_has_segments_and_no_sign_in_it() {
        for (text, name) in [
            ("User:ada", "User"),
            ("A::B:x", "A::B"),
            ("A::1", "A"),
            ("A::", "A"),
            ("_x1(", "_x1"),
            ("Größe", "Größe"),
            ("a\u{1}b", "a"),
        ] {
            assert_eq!(split_name(text).map(|(name, _)| name), Some(name), "{text}");
        }
        for text in ["", "1a", ":", "::A", " a", "\u{1}"] {
            assert_eq!(split_name(text), None, "{text}");
        }
    }

    #[test]
    fn a_literal_ends_at_a_quote_that_is_not_escaped() {
        assert_eq!(split_literal(r#""a\"b\\", "c""#), Some((r#""a\"b\\""#, r#", "c""#)));
        assert_eq!(split_literal("\"é\""), Some(("\"é\"", "")));
        for text in ["", "a", "\"", "\"a", r#""a\""#, r#""a\"#] {
            assert_eq!(split_literal(text), None, "{text}");
        }
    }

    #[test]
    fn integers_reach_both_ends_of_their_range() {
        assert_eq!(integer_text("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer_text("+9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer_text("9223372036854775808"), None);
    }
}

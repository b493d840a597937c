//! Printed SQL as words, quoted texts and signs.
//!
//! This is the only tokenizer of text that the compiler prints; the size estimate and the layout share its
//! tokens. A caller's queries appear in that text as `bindings` prints them: without comments, a single space
//! for white space, and quotes inside quotes doubled.
//!
//! The lexer of `bindings` has another purpose. It reads SQL from outside under each database's own rules and
//! refuses anything doubtful, including constructs that the compiler itself prints: parameters, and the marks
//! of a template.

/// A token and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintedToken<'t> {
    /// Its text, quotes included.
    pub(super) text: &'t str,
    /// Where it begins, in bytes.
    pub(super) start: usize,
    /// Whether white space comes before it.
    pub(super) spaced: bool,
}

impl PrintedToken<'_> {
    /// Whether it joins with a token that it touches, as a word does with a dot. Quoted texts, parentheses
    /// and commas join with nothing.
    fn is_loose(&self) -> bool {
        !self.text.starts_with(['(', ')', ',', '\'', '"', '`'])
    }
}

/// The tokens of a text: words and numbers, quoted texts, and every other character by itself.
pub(super) fn tokens(sql: &str) -> Vec<PrintedToken<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut tokens = Vec::new();
    let (mut rest, mut start, mut spaced) = (sql, 0, false);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => quoted(rest, first),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let is_gap = matches!(first, ' ' | '\n');
        if !is_gap {
            tokens.push(PrintedToken { text, start, spaced });
        }
        (rest, start, spaced) = (after, start + text.len(), is_gap);
    }
    tokens
}

/// The tokens of `sql` with those joined that touch: `t1.c0` and `>=` are one token each.
pub(super) fn joined<'t>(sql: &'t str, tokens: &[PrintedToken<'t>]) -> Vec<PrintedToken<'t>> {
    let mut joined: Vec<PrintedToken<'t>> = Vec::new();
    for token in tokens {
        match joined.last_mut() {
            Some(last) if last.is_loose() && token.is_loose() && !token.spaced => {
                let end = token.start + token.text.len();
                last.text = sql.get(last.start..end).unwrap_or(last.text);
            }
            Some(_) | None => joined.push(*token),
        }
    }
    joined
}

/// The length of the quoted text at the start, its quotes included; a doubled quote does not end it.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return at + c.len_utf8();
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_one_token_and_what_touches_is_joined() {
        let sql = "SELECT t1.c0>=7, E'a ''b' || \"x y\"\nFROM (q) AS é$1";
        let texts: Vec<&str> = tokens(sql).iter().map(|token| token.text).collect();
        let expected = [
            "SELECT", "t1", ".", "c0", ">", "=", "7", ",", "E", "'a ''b'", "|", "|", "\"x y\"", "FROM", "(",
            "q", ")", "AS", "é$1",
        ];
        assert_eq!(texts, expected);
        let runs: Vec<&str> = joined(sql, &tokens(sql)).iter().map(|token| token.text).collect();
        let expected =
            ["SELECT", "t1.c0>=7", ",", "E", "'a ''b'", "||", "\"x y\"", "FROM", "(", "q", ")", "AS", "é$1"];
        assert_eq!(runs, expected);
    }
}

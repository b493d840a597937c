//! A policy taken apart into tokens and what stands between them, and put together again.
//!
//! This is a second, independent tokenizer: the compiler's lexer is what is tested.

/// The tokens of a policy, each with what stands before it.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    tokens: Vec<(&'a str, &'a str)>,
    end: &'a str,
}

impl<'a> Pieces<'a> {
    /// Takes a policy apart; none if it has something that is not a token.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut tokens = Vec::new();
        loop {
            let gap = gap(rest);
            let (before, behind) = rest.split_at(gap);
            if behind.is_empty() {
                return Some(Self { tokens, end: before });
            }
            let (token, behind) = behind.split_at(token(behind)?);
            tokens.push((before, token));
            rest = behind;
        }
    }

    /// The tokens alone.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &'a str> {
        self.tokens.iter().map(|&(_, token)| token)
    }

    /// The policy with one token written otherwise.
    pub(crate) fn with(&self, at: usize, token: &str) -> String {
        let mut text = String::new();
        for (n, (gap, written)) in self.tokens.iter().enumerate() {
            text.extend([*gap, if n == at { token } else { *written }]);
        }
        text + self.end
    }

    /// The policy with other space between its tokens, chosen from the old space and the tokens around it.
    pub(crate) fn spaced(&self, mut space: impl FnMut(&str, Option<&str>, Option<&str>) -> String) -> String {
        let mut text = String::new();
        let mut last = None;
        for &(gap, token) in &self.tokens {
            text.push_str(&space(gap, last, Some(token)));
            text.push_str(token);
            last = Some(token);
        }
        text.push_str(&space(self.end, last, None));
        text
    }
}

/// The length of white space and comments.
fn gap(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if !rest.starts_with('#') {
            return text.len() - rest.len();
        }
        rest = rest.find(['\n', '\r']).map_or("", |end| rest.split_at(end).1);
    }
}

fn is_word(c: char) -> bool {
    c == '_' || !(c.is_ascii_punctuation() || c.is_whitespace() || c.is_control())
}

/// The length of a token.
fn token(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let word = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
    if first == '"' {
        return string(text);
    }
    if is_word(first) && !first.is_ascii_digit() {
        let mut length = word(text);
        while let Some(part) = text.get(length..)?.strip_prefix("::") {
            length += 2 + word(part);
        }
        let behind = text.get(length..)?;
        let exactly =
            text.get(..length) == Some("matches") && behind.starts_with('!') && !behind.starts_with("!=");
        return Some(length + usize::from(behind.starts_with('?') || exactly));
    }
    if first == '@' {
        return Some(1 + word(text.get(1..)?));
    }
    let digits = text.trim_start_matches(['+', '-']);
    if digits.starts_with(|c: char| c.is_ascii_digit()) && text.len() - digits.len() < 2 {
        return Some(text.len() - digits.len() + word(digits));
    }
    if ["!=", "<=", ">="].iter().any(|two| text.starts_with(two)) {
        return Some(2);
    }
    "(){}[],:;=<>".contains(first).then_some(1)
}

/// The length of a string, which ends on its line.
fn string(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' | '\r' => return None,
            '"' if !escaped => return Some(at + 1),
            _ => escaped = !escaped && c == '\\',
        }
    }
    None
}

/// Whether two tokens stay two without space between them.
pub(crate) fn may_touch(left: &str, right: &str) -> bool {
    let joins = |c: char| is_word(c) || "?!=<>:+-".contains(c);
    !(left.ends_with(joins) && right.starts_with(joins))
}

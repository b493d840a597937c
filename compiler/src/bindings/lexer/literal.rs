//! Reads literals and quoted names of the caller's SQL; every spelling is decoded to its value.
//!
//! PostgreSQL has five ways to write a text. Those with an exact meaning become a plain literal. Those of
//! a different type (`N'…'`), or that may not be valid text, are rejected.

use super::{Before, QueryLexer, begins_word};
use crate::bindings::token::Token;

impl QueryLexer<'_> {
    /// `'…'`, or its continuation on another line.
    pub(super) fn text(&mut self) -> Result<(), String> {
        let joins = self.lexis.escaped_texts && self.before.line_end && self.before.text;
        let text = self.quoted('\'')?;
        match self.lexemes.last_mut().map(|lexeme| &mut lexeme.token) {
            Some(Token::Text(before)) if joins => {
                before.push_str(&text);
                self.before = Before { text: true, ..Before::default() };
            }
            _ => {
                self.push_text(text)?;
                self.before.text = true;
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: String) -> Result<(), String> {
        if matches!(self.lexemes.last(), Some(last) if matches!(last.token, Token::Text(_) | Token::Bits(_)))
        {
            return Err("contains two texts side by side: join them with `||`".to_owned());
        }
        self.push(Token::Text(text))
    }

    /// The text between two of these quotes; a doubled quote is one quote of the text.
    fn quoted(&mut self, quote: char) -> Result<String, String> {
        self.take(quote.len_utf8());
        let mut text = String::new();
        loop {
            let Some(end) = self.rest.find(quote) else {
                return Err(format!("leaves a {quote} open: close it"));
            };
            text.push_str(self.take(end));
            self.take(1);
            if !self.rest.starts_with(quote) {
                return Ok(text);
            }
            text.push(quote);
            self.take(1);
        }
    }

    /// A quoted name. `[…]` cannot contain a `]`, and is printed with backticks. So is one in double quotes
    /// where the database would read it as a text if there is no such column: in backticks it is an error.
    pub(super) fn name(&mut self, quote: char) -> Result<(), String> {
        let (text, quote) = if quote == '[' {
            self.take(1);
            let Some(end) = self.rest.find(']') else { return Err("leaves a [ open: close it".to_owned()) };
            let text = self.take(end).to_owned();
            self.take(1);
            (text, '`')
        } else {
            (self.quoted(quote)?, if self.lexis.unknown_names_are_texts { '`' } else { quote })
        };
        self.push_name(text, quote)
    }

    fn push_name(&mut self, text: String, quote: char) -> Result<(), String> {
        if text.is_empty() {
            return Err("contains an empty name between quotes: write the name".to_owned());
        }
        self.push(Token::Name { text, quote })
    }

    /// A word, or a literal that begins with one.
    pub(super) fn word(&mut self) -> Result<(), String> {
        let length = self.rest.find(|c| !continues_word(c)).unwrap_or(self.rest.len());
        let word = self.take(length).to_owned();
        let prefix = word.to_ascii_lowercase();
        if self.rest.starts_with('$') {
            return Err(format!(
                "contains `{word}$`, which a driver could take for a parameter: quote the name"
            ));
        }
        if self.lexis.escaped_texts && prefix == "u" && self.rest.starts_with("&'") {
            self.take(1);
            let text = decode_unicode(&self.quoted('\'')?)?;
            return self.push_text(text);
        }
        if self.lexis.escaped_texts && prefix == "u" && self.rest.starts_with("&\"") {
            self.take(1);
            let text = decode_unicode(&self.quoted('"')?)?;
            return self.push_name(text, '"');
        }
        if prefix == "uescape" {
            return Err("contains UESCAPE: write the characters themselves".to_owned());
        }
        if !self.rest.starts_with('\'') {
            return self.push(Token::Word(word));
        }
        match prefix.as_str() {
            "x" => self.bits('X'),
            "b" if self.lexis.escaped_texts => self.bits('B'),
            "e" if self.lexis.escaped_texts => {
                let text = self.escaped()?;
                self.push_text(text)
            }
            // `date'2026-01-01'`
            prefix if self.lexis.escaped_texts && prefix != "n" => self.push(Token::Word(word)),
            _ => Err(format!("contains `{word}'…'`: write a plain text, `'…'`")),
        }
    }

    /// `X'1f'` or `B'01'`
    fn bits(&mut self, prefix: char) -> Result<(), String> {
        let digits = self.quoted('\'')?;
        let radix = if prefix == 'X' { 16 } else { 2 };
        let whole = self.lexis.escaped_texts || digits.len().is_multiple_of(2);
        if !whole || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(format!("contains a `{prefix}'…'` with characters other than its digits"));
        }
        self.push(Token::Bits(format!("{prefix}'{digits}'")))
    }

    /// `$$…$$` or `$tag$…$tag$`
    pub(super) fn dollars(&mut self) -> Result<(), String> {
        let tag = self.rest.get(1..).and_then(|rest| rest.split_once('$')).map(|(tag, _)| tag);
        let is_tag =
            |tag: &&str| !tag.starts_with(|c: char| c.is_ascii_digit()) && tag.chars().all(continues_word);
        let Some(tag) = tag.filter(is_tag) else { return Err(self.parameter()) };
        let fence = format!("${tag}$");
        self.take(fence.len());
        let Some(end) = self.rest.find(&fence) else {
            return Err(format!("leaves a {fence} open: close it"));
        };
        let text = self.take(end).to_owned();
        self.take(fence.len());
        self.push_text(text)
    }

    /// `E'…'`
    fn escaped(&mut self) -> Result<String, String> {
        self.take(1);
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else { return Err("leaves a ' open: close it".to_owned()) };
            self.take(c.len_utf8());
            match c {
                '\'' if self.rest.starts_with('\'') => {
                    self.take(1);
                    text.push('\'');
                }
                '\'' => return Ok(text),
                '\\' => text.push(self.escape()?),
                c => text.push(c),
            }
        }
    }

    /// The escape after a backslash in `E'…'`.
    fn escape(&mut self) -> Result<char, String> {
        let Some(c) = self.peek() else { return Err("leaves a ' open: close it".to_owned()) };
        if c.is_digit(8) {
            return self.coded(8, 1, 3);
        }
        self.take(c.len_utf8());
        match c {
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'x' if self.peek().is_some_and(|c| c.is_ascii_hexdigit()) => self.coded(16, 1, 2),
            'u' => self.coded(16, 4, 4),
            'U' => self.coded(16, 8, 8),
            c => Ok(c),
        }
    }

    /// A character by its code. One-byte codes beyond ASCII are bytes, not characters.
    fn coded(&mut self, radix: u32, least: usize, most: usize) -> Result<char, String> {
        let digits = self.rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let digits = self.take(digits).to_owned();
        let number = u32::from_str_radix(&digits, radix).ok().filter(|_| digits.len() >= least);
        let number = number.filter(|number| most >= 4 || *number < 128);
        character(number)
    }
}

/// Whether a plain name may continue with this character. The databases also allow `$`.
fn continues_word(c: char) -> bool {
    begins_word(c) || c.is_ascii_digit()
}

/// A character by its code, unless the code is invalid or NUL.
fn character(number: Option<u32>) -> Result<char, String> {
    number.and_then(char::from_u32).filter(|c| *c != '\0').ok_or_else(|| {
        "contains an escape that is not a whole character: write the character itself".to_owned()
    })
}

/// Decodes the inside of `U&'…'` or `U&"…"`.
fn decode_unicode(inside: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('\\') {
            text.push('\\');
            rest = after;
            continue;
        }
        let (digits, length) = rest.strip_prefix('+').map_or((rest, 4), |digits| (digits, 6));
        let (digits, after) = digits.split_at_checked(length).unwrap_or(("", ""));
        let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
        text.push(character(u32::from_str_radix(digits, 16).ok().filter(|_| is_number))?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

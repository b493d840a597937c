//! Reads strings and numbers.

use super::state::Lexer;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::LINE_ENDS;
use crate::spelling::{begins_name, continues_name, excerpt, integer_text, quoted, unescape};
use crate::syntax::token::Kind;

impl Lexer<'_> {
    /// A string up to its closing quote, which must be on the same line.
    pub(super) fn string(&mut self, quote: char) {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        let length = self.rest().char_indices().find_map(|(at, c)| {
            let ends = !escaped && c == quote;
            escaped = !escaped && c == '\\';
            match c {
                _ if LINE_ENDS.contains(&c) => Some(Err(at)),
                _ if ends => Some(Ok(at + 1)),
                _ => None,
            }
        });
        match length.unwrap_or(Err(self.rest().len())) {
            Ok(length) => {
                self.at += length;
                if quote == '\'' {
                    self.report_single_quotes(start);
                }
                self.report_nul(start);
                self.push(Kind::String, start);
            }
            Err(length) => self.unterminated(start, quote, length),
        }
    }

    fn report_single_quotes(&mut self, start: usize) {
        let span = self.since(start);
        let inner = unescape(self.text_since(start));
        let title = format!("`'{}'` is in single quotes", excerpt(&inner));
        let double = quoted(&inner);
        self.report(
            Diagnostic::new(Code::SingleQuotes, title, span, "strings are written in double quotes")
                .with_fix("use double quotes", span, double),
        );
    }

    /// SQLite ends a statement at a NUL and PostgreSQL has no text with one, so facts cannot contain NUL.
    fn report_nul(&mut self, start: usize) {
        let literal = self.text_since(start);
        if !literal.contains(['\\', '\0']) || !unescape(literal).contains('\0') {
            return;
        }
        let title = "a string contains a NUL character";
        self.report(
            Diagnostic::new(
                Code::NulInString,
                title,
                self.since(start),
                "facts and questions cannot contain NUL",
            )
            .with_note("`\\0` is a NUL character; a backslash followed by a `0` is `\\\\0`"),
        );
    }

    /// A string that is not closed on its line. It takes the rest of the line, except for a final `;`, which
    /// most likely ends the statement.
    fn unterminated(&mut self, start: usize, quote: char, length: usize) {
        let line = self.rest().get(..length).unwrap_or("").trim_end();
        let (content, ends) = match line.strip_suffix(';') {
            Some(content) => (content.len(), true),
            None => (line.len(), false),
        };
        self.at += content;
        let span = self.since(start);
        let found = if quote == '"' {
            let title = "a string is not closed on its line";
            Diagnostic::new(Code::UnterminatedString, title, span, "a `\"` is missing after this")
                .with_note("a string cannot span lines; `\\n` inside it is a line break")
        } else {
            let title = "a single quote is never closed";
            Diagnostic::new(
                Code::SingleQuotes,
                title,
                span,
                "strings are written in double quotes, as in `\"admin\"`",
            )
        };
        self.report(found);
        self.push(Kind::Invalid, start);
        if ends {
            let semicolon = self.at;
            self.at += 1;
            self.push(Kind::Semicolon, semicolon);
        }
    }

    /// An unsigned integer, or something that begins like one.
    pub(super) fn number(&mut self) {
        self.number_since(self.at);
    }

    /// The digits of a number that began at `start`, perhaps with a sign.
    pub(super) fn number_since(&mut self, start: usize) {
        self.take_while(|c| c.is_ascii_digit());
        if self.fraction() {
            let literal = excerpt(self.text_since(start)).into_owned();
            let title = format!("`{literal}` is a number with a fraction");
            self.report(
                Diagnostic::new(Code::FloatLiteral, title, self.since(start), "only integers are supported")
                    .with_help("count in a smaller unit, such as cents or milliseconds"),
            );
        } else if self.peek().is_some_and(begins_name) {
            self.take_while(continues_name);
            let name = excerpt(self.text_since(start)).into_owned();
            let title = format!("`{name}` begins with a digit");
            let label = "neither a number nor a name";
            self.report(Diagnostic::new(Code::MalformedName, title, self.since(start), label));
            self.push(Kind::Invalid, start);
            return;
        } else if integer_text(self.text_since(start)).is_none() {
            let literal = excerpt(self.text_since(start)).into_owned();
            let title = format!("`{literal}` does not fit into a 64-bit integer");
            let note = format!("integers range from {} to {}", i64::MIN, i64::MAX);
            let label = "too large";
            self.report(
                Diagnostic::new(Code::IntegerOutOfRange, title, self.since(start), label).with_note(note),
            );
        }
        self.push(Kind::Integer, start);
    }

    /// Skips `.5`, `e5` or `.5e-5` after digits.
    fn fraction(&mut self) -> bool {
        let start = self.at;
        if self.rest().starts_with('.') {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        let exponent = self.rest().strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
        if exponent.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            self.at += 1;
            self.take_while(|c| c == '+' || c == '-');
            self.take_while(|c| c.is_ascii_digit());
        }
        let found = self.at > start;
        if found {
            self.take_while(continues_name);
        }
        found
    }
}

//! Splits policy text into tokens.
//!
//! In: any text. Out: [`Tokens`] without white space and comments, and diagnostics. Afterwards brackets are
//! nested at most [`limits::NESTING`](crate::limits::NESTING) deep, every string is closed and every integer
//! is in range. Unreadable text is reported once, here, and replaced by what was probably meant, so that the
//! grammar does not report it again. If there is no good guess, a [`Kind::Invalid`] takes its place, and the
//! grammar reports nothing that follows from it.

mod nesting;
mod operator;
mod literal;
mod state;

use super::token::{Kind, Tokens};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::LINE_ENDS;
use crate::spelling::{begins_name, continues_name};
use nesting::Nesting;
use state::Lexer;

/// Splits a policy's text into tokens.
pub(super) fn lex(text: &str) -> (Tokens, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Tokens::default(),
        nesting: Nesting::default(),
        diagnostics: Vec::new(),
    };
    lexer.run();
    (lexer.tokens, lexer.diagnostics)
}

impl Lexer<'_> {
    fn run(&mut self) {
        // Some editors begin a file with a byte order mark.
        self.take_if("\u{feff}");
        while let Some(c) = self.peek() {
            if c.is_whitespace() {
                self.take_while(char::is_whitespace);
            } else if c == '#' {
                self.take_while(|c| !LINE_ENDS.contains(&c));
            } else if begins_name(c) {
                self.word();
            } else if c.is_ascii_digit() {
                self.number();
            } else if c == '"' || c == '\'' {
                self.string(c);
            } else if c == '@' {
                self.annotation();
            } else {
                self.operator();
            }
        }
    }

    /// A name, a keyword or `matches!`.
    fn word(&mut self) {
        let start = self.at;
        self.take_while(continues_name);
        let mut plain = true;
        while self.rest().starts_with("::") {
            plain = false;
            let colons = self.at;
            self.at += 2;
            if self.peek().is_some_and(begins_name) {
                self.take_while(continues_name);
                continue;
            }
            let name = self.text.get(start..colons).unwrap_or("");
            let title = format!("`{name}::` has no name after `::`");
            let help = "a name may have several parts, as in `Billing::Invoice`";
            self.report(
                Diagnostic::new(
                    Code::MalformedName,
                    title,
                    self.since(start),
                    "a part is missing at the end",
                )
                .with_help(help),
            );
            break;
        }
        if self.take_if("?") {
            plain = false;
        }
        let mut kind = if plain { Kind::of_word(self.text_since(start)) } else { Kind::Identifier };
        if kind == Kind::Matches && self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at += 1;
            kind = Kind::MatchesExactly;
        }
        if kind == Kind::Refused {
            self.refuse(start);
        }
        self.push(kind, start);
    }

    /// Reports a keyword of the older Polar language, which would otherwise be a name.
    fn refuse(&mut self, start: usize) {
        let word = self.text_since(start);
        let title = format!("`{word}` is a reserved word and cannot be a name");
        let label = "choose another name";
        let note = format!("`{word}` is a keyword of an older version of Polar");
        self.report(Diagnostic::new(Code::ReservedWord, title, self.since(start), label).with_note(note));
    }

    /// `@current_unix_time`, or an unknown word.
    fn annotation(&mut self) {
        let start = self.at;
        self.at += 1;
        if !self.peek().is_some_and(begins_name) {
            let title = "`@` is not followed by a word";
            let label = "a word should follow, as in `@current_unix_time`";
            self.report(Diagnostic::new(Code::UnknownAnnotation, title, self.since(start), label));
            self.push(Kind::Invalid, start);
            return;
        }
        self.take_while(continues_name);
        let word = self.text_since(start).to_owned();
        if word == Kind::Now.text() {
            self.push(Kind::Now, start);
            return;
        }
        let span = self.since(start);
        if self.at_statement_start() {
            let title = format!("`{word}` before a rule is reserved");
            self.report(
                Diagnostic::new(Code::UnknownAnnotation, title, span, "a rule begins with its name")
                    .with_note(
                        "words with `@` before a rule are reserved for later versions of the language",
                    ),
            );
        } else {
            let title = format!("`{word}` is unknown");
            let label = "no such word";
            let help = "the only word with `@` is `@current_unix_time`";
            let near = crate::diagnostic::suggest::near(&word, [Kind::Now.text()]);
            let found = Diagnostic::new(Code::UnknownAnnotation, title, span, label);
            self.report(match near {
                Some(near) => found.with_fix("a word with a similar name exists", span, near),
                None => found.with_help(help),
            });
            self.push(Kind::Now, start);
        }
    }

    /// Whether the next token begins a statement.
    fn at_statement_start(&self) -> bool {
        let last = self.tokens.kinds.last();
        last.is_none_or(|kind| kind.ends_statement())
    }
}

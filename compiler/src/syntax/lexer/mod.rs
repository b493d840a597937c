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

pub(super) use literal::{integer_text, unescape};

use super::token::{Kind, Tokens};
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::source::{LINE_ENDS, Span};
use nesting::{Nesting, Verdict};

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

/// The state of one run.
struct Lexer<'a> {
    text: &'a str,
    /// The next byte to read; always at a character boundary.
    at: usize,
    tokens: Tokens,
    nesting: Nesting,
    diagnostics: Vec<Diagnostic>,
}

/// Whether a name may begin with this character.
fn begins_name(c: char) -> bool {
    c == '_' || !(c.is_ascii_punctuation() || c.is_ascii_digit() || c.is_whitespace() || c.is_control())
}

/// Whether a name may continue with this character.
fn continues_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit()
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

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// Skips characters while the condition holds.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    /// Skips this text if it comes next.
    fn take_if(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// Skips one character.
    fn take_char(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// The span from `start` to the current position.
    fn since(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// The text read since `start`.
    fn text_since(&self, start: usize) -> &str {
        self.text.get(start..self.at).unwrap_or("")
    }

    /// Adds the token read since `start`, unless it is nested too deep.
    fn push(&mut self, kind: Kind, start: usize) {
        let span = self.since(start);
        match self.nesting.see(kind) {
            Verdict::Keep => self.tokens.push(kind, span),
            Verdict::Skip => {}
            Verdict::TooDeep => {
                // In a chain of `not`s, only the first one beyond the limit is reported.
                if self.tokens.kinds.last() != Some(&Kind::Invalid) {
                    self.tokens.push(Kind::Invalid, span);
                    self.report(too_deep(span));
                }
            }
        }
    }

    /// Adds a diagnostic, unless there are already more than are shown.
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() <= limits::DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
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
        last.is_none_or(|kind| matches!(kind, Kind::Semicolon | Kind::OpenBrace | Kind::CloseBrace))
    }
}

fn too_deep(span: Span) -> Diagnostic {
    let title = format!("brackets and `not`s are nested more than {} deep", limits::NESTING);
    let label = format!("level {}", limits::NESTING + 1);
    let help = "move part of the condition into its own rule";
    Diagnostic::new(Code::NestedTooDeep, title, span, label).with_help(help)
}

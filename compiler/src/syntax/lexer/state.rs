//! The state of one run: the position in the text, the tokens so far, and the findings.

use super::nesting::{Nesting, Treatment};
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::source::Span;
use crate::syntax::token::{Kind, Tokens};

/// The state of one run.
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    /// The next byte to read; always at a character boundary.
    pub(super) at: usize,
    pub(super) tokens: Tokens,
    pub(super) nesting: Nesting,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Lexer<'_> {
    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// Skips characters while the condition holds.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    /// Skips this text if it comes next.
    pub(super) fn take_if(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// Skips one character.
    pub(super) fn take_char(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// The span from `start` to the current position.
    pub(super) fn since(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// The text read since `start`.
    pub(super) fn text_since(&self, start: usize) -> &str {
        self.text.get(start..self.at).unwrap_or("")
    }

    /// Adds the token read since `start`, unless it is nested too deep.
    pub(super) fn push(&mut self, kind: Kind, start: usize) {
        let span = self.since(start);
        match self.nesting.see(kind) {
            Treatment::Keep => self.tokens.push(kind, span),
            Treatment::Skip => {}
            Treatment::TooDeep => {
                // In a chain of `not`s, only the first one beyond the limit is reported.
                if self.tokens.kinds.last() != Some(&Kind::Invalid) {
                    self.tokens.push(Kind::Invalid, span);
                    self.report(too_deep(span));
                }
            }
        }
    }

    /// Adds a diagnostic, unless there are already more than are shown.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() <= limits::DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }
}

fn too_deep(span: Span) -> Diagnostic {
    let title = format!("brackets and `not`s are nested more than {} deep", limits::NESTING);
    let label = format!("level {}", limits::NESTING + 1);
    let help = "move part of the condition into its own rule";
    Diagnostic::new(Code::NestedTooDeep, title, span, label).with_help(help)
}

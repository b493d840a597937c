//! Diagnostics for unexpected tokens.
//!
//! In: the token's index and what was expected there. Out: one diagnostic. Most read "expected …, found …";
//! common mistakes get a message of their own.

use super::expected::{Expected, TokenGroup};
use super::mistake;
use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::source::Span;
use crate::spelling::{excerpt, quoted};
use crate::syntax::token::{Kind, Tokens};

/// How many tokens of a statement are examined; real statements are shorter.
pub(super) const STATEMENT: usize = 256;

/// The diagnostic for an unexpected token.
pub(super) fn diagnostic(text: &str, tokens: &Tokens, at: usize, expected: Expected) -> Diagnostic {
    let ctx = Ctx { text, tokens, at, found: tokens.kind(at), span: tokens.span_at(at), expected };
    let known = [
        Ctx::quoted_type,
        Ctx::bracket,
        Ctx::reserved_word,
        Ctx::misspelt_keyword,
        Ctx::quotes,
        Ctx::not_in_the_language,
        Ctx::misplaced,
    ];
    known.iter().find_map(|known| known(&ctx)).unwrap_or_else(|| ctx.plain())
}

struct Ctx<'a> {
    text: &'a str,
    tokens: &'a Tokens,
    at: usize,
    /// `None` at the end of the text.
    found: Option<Kind>,
    span: Span,
    expected: Expected,
}

impl Ctx<'_> {
    fn snippet(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    fn span_before(&self) -> Span {
        self.tokens.span_at(self.at.saturating_sub(1))
    }

    fn kind_before(&self) -> Option<Kind> {
        self.tokens.kind_before(self.at)
    }

    fn found_text(&self) -> String {
        match self.found {
            Some(_) => format!("`{}`", excerpt(self.snippet(self.span))),
            None => "the end of the policy".to_owned(),
        }
    }

    /// "expected …, found …".
    fn plain(&self) -> Diagnostic {
        let title = format!("expected {}, found {}", self.expected.list(), self.found_text());
        let label = if self.found.is_some() { "not expected here" } else { "the policy ends here" };
        let found = Diagnostic::new(Code::UnexpectedToken, title, self.span, label);
        if self.expected.has_label(TokenGroup::Condition) {
            return found.with_help("write what must hold, such as `has_role(user, \"owner\", repo)`");
        }
        if self.expected.has_label(TokenGroup::Short) {
            return found.with_help("write a name of the block in quotes, such as `\"owner\"`");
        }
        found
    }

    /// The innermost open bracket within this statement.
    fn open_bracket(&self) -> Option<(Kind, Span)> {
        let mut closed = 0_usize;
        for at in (0..self.at).rev().take(STATEMENT) {
            let kind = self.tokens.kind(at)?;
            if kind == Kind::Semicolon {
                return None;
            } else if kind.is_closer() {
                closed += 1;
            } else if kind.closer().is_some() {
                if closed == 0 {
                    return Some((kind, self.tokens.span_at(at)));
                }
                closed -= 1;
            }
        }
        None
    }

    /// Whether some bracket before this token still needs this closing bracket.
    fn is_open_outside(&self, closer: Kind) -> bool {
        let before = self.tokens.kinds.iter().take(self.at);
        let mut open = 0_usize;
        for kind in before {
            if kind.closer() == Some(closer) {
                open += 1;
            } else if *kind == closer {
                open = open.saturating_sub(1);
            }
        }
        open > 0
    }

    /// `"User"{"ada"}`.
    fn quoted_type(&self) -> Option<Diagnostic> {
        let is_object =
            self.found == Some(Kind::OpenBrace) && self.tokens.kind(self.at + 2) == Some(Kind::CloseBrace);
        let span = self.span_before();
        let quoted = is_object && self.kind_before() == Some(Kind::String);
        quoted.then(|| mistake::quoted_name(self.snippet(span), span))
    }

    /// A bracket that is never closed, is closed by another kind, or closes nothing.
    fn bracket(&self) -> Option<Diagnostic> {
        let open = self.open_bracket();
        let expects_closer = open.filter(|(opener, _)| opener.closer().is_some_and(|c| self.expected.has(c)));
        let found_closer = self.found.filter(|kind| kind.is_closer());
        if let Some((opener, opener_span)) = expects_closer {
            // A brace after a value begins a block; elsewhere, an object whose type is missing.
            let is_after_value = !matches!(self.kind_before(), Some(Kind::OpenParen | Kind::Comma));
            let ends = self.found.is_none_or(|kind| {
                kind.is_closer()
                    || matches!(kind, Kind::Semicolon | Kind::If)
                    || kind == Kind::OpenBrace && is_after_value
            });
            if !ends {
                return None;
            }
            let closer = opener.closer().map_or("", Kind::text);
            let title = format!("`{}` is never closed", opener.text());
            let label = format!("`{closer}` is expected before this");
            let found = Diagnostic::new(Code::UnclosedBracket, title, opener_span, "opened here");
            let found = found.with_label(self.span, label);
            let help = format!("close it with `{closer}`");
            // A stray closing bracket at this place leaves the intent unclear. It is one, too, if the
            // expected bracket follows it.
            let is_closed_after = self.tokens.kind(self.at + 1) == opener.closer();
            let is_plain = found_closer.is_none_or(|closer| self.is_open_outside(closer) && !is_closed_after);
            return Some(if is_plain {
                found.with_fix(help, self.tokens.end_before(self.at), closer)
            } else {
                found.with_help(help)
            });
        }
        let closer = found_closer?;
        if open.is_some() && !self.expected.has_label(TokenGroup::Item) {
            return None;
        }
        let title = format!("`{}` closes nothing", closer.text());
        let label = "no bracket is open here";
        Some(Diagnostic::new(Code::UnclosedBracket, title, self.span, label))
    }

    /// A keyword in place of a name.
    fn reserved_word(&self) -> Option<Diagnostic> {
        let wants_name =
            self.expected.has_label(TokenGroup::Name) || self.expected.has_label(TokenGroup::Term);
        let is_call = self.tokens.kind(self.at + 1) == Some(Kind::OpenParen);
        let wants_call = [TokenGroup::Condition, TokenGroup::Fact, TokenGroup::Item]
            .iter()
            .any(|label| self.expected.has_label(*label));
        let reserved = |kind: Option<Kind>| kind.is_some_and(Kind::is_reserved);
        let span = if reserved(self.found) && (wants_name || (wants_call && is_call)) {
            self.span
        } else if self.found == Some(Kind::OpenParen) && reserved(self.kind_before()) {
            self.span_before()
        } else {
            return None;
        };
        let word = self.snippet(span);
        let title = format!("`{word}` is a reserved word and cannot be a name");
        let label = "a name is expected here";
        Some(Diagnostic::new(Code::ReservedWord, title, span, label).with_help("choose another name"))
    }

    /// `resourse Foo {`, read as the name of a rule before a `(`, or `asert p();` in a test.
    fn misspelt_keyword(&self) -> Option<Diagnostic> {
        let (span, keywords) = if self.expected.has_label(TokenGroup::TestLine) {
            (self.span, &[Kind::Assert, Kind::AssertNot, Kind::Setup][..])
        } else if self.expected.has(Kind::OpenParen) && self.begins_as_keyword() {
            (self.span_before(), &[Kind::Actor, Kind::Resource, Kind::Global, Kind::Declare, Kind::Test][..])
        } else if self.expected.has(Kind::Fixture) && self.is_before_name() {
            (self.span, &[Kind::Fixture][..])
        } else {
            return None;
        };
        let word = self.snippet(span);
        let near = suggest::near(word, keywords.iter().map(|kind| kind.text()))?;
        Some(mistake::misspelt_keyword(word, near, span))
    }

    fn is_before_name(&self) -> bool {
        self.tokens.kind(self.at + 1).is_some_and(Kind::is_name)
    }

    /// Whether the previous token begins a statement and this one can follow only a keyword.
    fn begins_as_keyword(&self) -> bool {
        let first =
            self.at.checked_sub(2).and_then(|at| self.tokens.kind(at)).is_none_or(Kind::ends_statement);
        let follows =
            self.found.is_some_and(|kind| kind.is_name() || matches!(kind, Kind::OpenBrace | Kind::String));
        first && follows && self.kind_before() == Some(Kind::Identifier)
    }

    /// Whether this token is among the types of a `declare`.
    fn is_in_declaration(&self) -> bool {
        let before = self.tokens.kinds.iter().take(self.at).rev();
        let mut statement = before.take_while(|kind| !kind.ends_statement());
        self.kind_before() != Some(Kind::Declare) && statement.any(|kind| *kind == Kind::Declare)
    }

    /// A name in quotes, or a string without quotes.
    fn quotes(&self) -> Option<Diagnostic> {
        if self.found == Some(Kind::String) && self.expected.has_label(TokenGroup::Name) {
            let wrong = if self.is_in_declaration() { mistake::string_as_type } else { mistake::quoted_name };
            return Some(wrong(self.snippet(self.span), self.span));
        }
        if self.found.is_some_and(Kind::is_name) && self.expected.has(Kind::String) {
            let name = self.snippet(self.span);
            let title = format!("expected {}, found `{}`", self.expected.list(), excerpt(name));
            let found = Diagnostic::new(
                Code::UnexpectedToken,
                title,
                self.span,
                "strings are written in double quotes",
            );
            // Quoting several words would need the text between them, too.
            return Some(if self.is_before_name() {
                found
            } else {
                found.with_fix("put it in quotes", self.span, quoted(name))
            });
        }
        None
    }

    /// A call or a list as an argument, arithmetic.
    fn not_in_the_language(&self) -> Option<Diagnostic> {
        let after_name = self.kind_before().is_some_and(Kind::is_name);
        if self.found == Some(Kind::OpenParen) && after_name && self.expected.has(Kind::CloseParen) {
            let span = self.span_before();
            let name = excerpt(self.snippet(span));
            let title = format!("the call `{name}(…)` cannot be an argument");
            let label = "a call is true or false; it has no value to pass on";
            let help =
                format!("call `{name}` as a condition of its own that shares a variable with this one");
            return Some(Diagnostic::new(Code::NotInTheLanguage, title, span, label).with_help(help));
        }
        if self.found == Some(Kind::OpenBracket) && self.expected.has_label(TokenGroup::Term) {
            let title = "a list cannot be a value";
            let label = "lists are allowed only after `in`";
            let help = "test the elements with `in`, as in `x in [\"a\", \"b\"]`";
            return Some(Diagnostic::new(Code::NotInTheLanguage, title, self.span, label).with_help(help));
        }
        let signed = self.snippet(self.span).starts_with(['+', '-']);
        if self.found == Some(Kind::Integer) && signed && !self.expected.has_label(TokenGroup::Term) {
            let title = format!("`{}` after a value is arithmetic", excerpt(self.snippet(self.span)));
            let label = "not in the language";
            let help = "policies have no arithmetic; store the result as a fact";
            return Some(Diagnostic::new(Code::NotInTheLanguage, title, self.span, label).with_help(help));
        }
        None
    }

    /// Something that would be right elsewhere.
    fn misplaced(&self) -> Option<Diagnostic> {
        let declares = |kind: Kind| matches!(kind, Kind::Roles | Kind::Permissions | Kind::Relations);
        if self.kind_before().is_some_and(declares) && self.expected.has(Kind::Equal) {
            let word = self.snippet(self.span_before());
            let title = format!("expected `=` after `{word}`, found {}", self.found_text());
            return Some(Diagnostic::new(
                Code::UnexpectedToken,
                title,
                self.span,
                "`=` is expected before this",
            ));
        }
        if self.found == Some(Kind::String) && self.expected.has_label(TokenGroup::Item) {
            let found = self.plain();
            return Some(found.with_help("a shorthand rule belongs inside the block of its resource"));
        }
        if self.found == Some(Kind::If) && !self.expected.has(Kind::If) && self.expected.has(Kind::Semicolon)
        {
            let found = self.plain();
            return Some(found.with_help("only a rule has a condition"));
        }
        if self.kind_before() == Some(Kind::In) && self.expected.has(Kind::OpenBracket) {
            let title = format!("expected a list after `in`, found {}", self.found_text());
            let found = Diagnostic::new(Code::UnexpectedToken, title, self.span, "a list is expected here");
            return Some(found.with_help("write the elements, as in `x in [\"a\", \"b\"]`"));
        }
        None
    }
}

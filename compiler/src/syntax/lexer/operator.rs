//! Punctuation, and operators of other languages.

use super::state::Lexer;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::LINE_ENDS;
use crate::spelling::begins_name;
use crate::syntax::token::Kind;

/// The language's punctuation, longer operators first.
const OPERATORS: &[(&str, Kind)] = &[
    ("!=", Kind::NotEqual),
    ("<=", Kind::LessOrEqual),
    (">=", Kind::GreaterOrEqual),
    ("=", Kind::Equal),
    ("<", Kind::Less),
    (">", Kind::Greater),
    ("(", Kind::OpenParen),
    (")", Kind::CloseParen),
    ("[", Kind::OpenBracket),
    ("]", Kind::CloseBracket),
    ("{", Kind::OpenBrace),
    ("}", Kind::CloseBrace),
    (",", Kind::Comma),
    (":", Kind::Colon),
    (";", Kind::Semicolon),
];

/// Operators of other languages that have an equivalent: the operator, the token it becomes, and its spelling
/// here.
const HABITS: &[(&str, Kind, &str)] = &[
    ("===", Kind::Equal, "="),
    ("==", Kind::Equal, "="),
    ("!==", Kind::NotEqual, "!="),
    ("<>", Kind::NotEqual, "!="),
    (":=", Kind::Equal, "="),
    ("=<", Kind::LessOrEqual, "<="),
    ("=>", Kind::GreaterOrEqual, ">="),
    (":-", Kind::If, "if"),
    ("&&", Kind::And, "and"),
    ("||", Kind::Or, "or"),
    ("&", Kind::And, "and"),
    ("|", Kind::Or, "or"),
];

/// Operators without an equivalent, with a title and a help text.
const ABSENT: &[(&str, &str, &str)] = &[
    (
        ".",
        "`.` has no meaning",
        "values have no fields; use a relation or a predicate, as in `has_owner(x, y)`",
    ),
    ("+", "`+` is arithmetic", "policies have no arithmetic; store the result as a fact"),
    ("-", "`-` is arithmetic", "policies have no arithmetic; store the result as a fact"),
    ("*", "`*` has no meaning", "policies have neither arithmetic nor rest patterns"),
    ("/", "`/` is arithmetic", "policies have no arithmetic; store the result as a fact"),
    ("%", "`%` is arithmetic", "policies have no arithmetic; store the result as a fact"),
];

impl Lexer<'_> {
    /// Punctuation, a signed number, or a character that no token begins with.
    pub(super) fn operator(&mut self) {
        let start = self.at;
        if self.foreign_comment() {
            return;
        }
        if let Some(&(text, kind, correct)) = HABITS.iter().find(|(text, ..)| self.rest().starts_with(text)) {
            self.at += text.len();
            self.report_habit(start, text, correct);
            self.push(kind, start);
            return;
        }
        if let Some(&(text, kind)) = OPERATORS.iter().find(|(text, _)| self.rest().starts_with(text)) {
            self.at += text.len();
            self.push(kind, start);
            return;
        }
        let second_is_digit = self.peek_second().is_some_and(|c| c.is_ascii_digit());
        if second_is_digit && self.rest().starts_with(['-', '+']) {
            self.at += 1;
            self.number_since(start);
        } else if second_is_digit && self.rest().starts_with('.') {
            self.number_since(start);
        } else if self.rest().starts_with('!') {
            self.at += 1;
            self.report_habit(start, "!", "not ");
            self.push(Kind::Not, start);
        } else if let Some(&(text, title, help)) =
            ABSENT.iter().find(|(text, ..)| self.rest().starts_with(text))
        {
            // `...rest` and `**` are one mistake each.
            self.take_while(|c| text.starts_with(c));
            let span = self.since(start);
            let found = Diagnostic::new(Code::NotInTheLanguage, title, span, "not in the language");
            self.report(found.with_help(help));
            self.push(Kind::Invalid, start);
        } else {
            self.unexpected();
        }
    }

    /// A comment in the syntax of other languages.
    fn foreign_comment(&mut self) -> bool {
        let start = self.at;
        let fix = if self.take_if("//") {
            let span = self.since(start);
            self.take_while(|c| !LINE_ENDS.contains(&c));
            Some(span)
        } else if self.take_if("/*") {
            let rest = self.rest();
            self.at += rest.find("*/").map_or(rest.len(), |at| at + 2);
            None
        } else {
            return false;
        };
        let span = self.since(start);
        let title = "a comment begins with `#`";
        let found = Diagnostic::new(Code::NotInTheLanguage, title, span, "not a comment in a policy");
        self.report(match fix {
            Some(slashes) => found.with_fix("begin the comment with `#`", slashes, "#"),
            None => found.with_help("begin each line of the comment with `#`"),
        });
        true
    }

    fn report_habit(&mut self, start: usize, text: &str, correct: &str) {
        let span = self.since(start);
        let shown = correct.trim_end();
        let title = format!("`{text}` is written `{shown}`");
        let code = if text.starts_with("==") { Code::DoubleEquals } else { Code::NotInTheLanguage };
        let label = if code == Code::DoubleEquals { "one `=` compares" } else { "not in the language" };
        let found = Diagnostic::new(code, title, span, label);
        self.report(found.with_fix(format!("write `{shown}`"), span, correct));
    }

    /// A run of characters that no token begins with, reported once.
    fn unexpected(&mut self) {
        let start = self.at;
        let Some(first) = self.peek() else { return };
        self.take_char();
        while self.peek().is_some_and(is_meaningless) {
            self.take_char();
        }
        let title = if first.is_control() {
            format!("unexpected control character U+{:04X}", u32::from(first))
        } else if first == '`' {
            "unexpected backtick".to_owned()
        } else {
            format!("unexpected character `{first}`")
        };
        let span = self.since(start);
        self.report(Diagnostic::new(
            Code::UnexpectedCharacter,
            title,
            span,
            "no part of a policy begins with this",
        ));
        self.push(Kind::Invalid, start);
    }
}

/// Whether no token can begin with this character.
fn is_meaningless(c: char) -> bool {
    !c.is_whitespace()
        && (c.is_control() || matches!(c, '$' | '?' | '\\' | '^' | '`' | '~'))
        && !begins_name(c)
}

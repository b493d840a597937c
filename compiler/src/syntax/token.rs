//! The tokens of a policy.
//!
//! A token is a [`Kind`] of one byte; [`Tokens`] holds the spans in a parallel vector. The grammar's input is
//! the slice of kinds, its positions are token indexes, and [`Tokens::span`] converts them to source bytes.

use crate::source::Span;
use chumsky::span::SimpleSpan;

macro_rules! kinds {
    ($($name:ident $text:literal,)+) => {
        /// The kind of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Kind {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        impl Kind {
            /// Every kind, in the order of their numbers.
            pub(super) const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its name in messages: the token's text, or a description of a class of tokens.
            pub(super) fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

kinds! {
    Identifier "a name",
    String "a string",
    Integer "a number",
    Now "@current_unix_time",
    And "and",
    Assert "assert",
    AssertNot "assert_not",
    Declare "declare",
    Extends "extends",
    Global "global",
    If "if",
    Iff "iff",
    In "in",
    Matches "matches",
    MatchesExactly "matches!",
    Not "not",
    On "on",
    Or "or",
    Test "test",
    True "true",
    False "false",
    Actor "actor",
    Resource "resource",
    Fixture "fixture",
    Setup "setup",
    Roles "roles",
    Permissions "permissions",
    Relations "relations",
    Role "role",
    Permission "permission",
    Relation "relation",
    Refused "a reserved word",
    Comma ",",
    Colon ":",
    OpenParen "(",
    CloseParen ")",
    OpenBracket "[",
    CloseBracket "]",
    OpenBrace "{",
    CloseBrace "}",
    Equal "=",
    NotEqual "!=",
    Less "<",
    LessOrEqual "<=",
    Greater ">",
    GreaterOrEqual ">=",
    Semicolon ";",
    Invalid "something unreadable",
}

/// Keywords. Contextual ones are names where the grammar does not expect them.
const KEYWORDS: &[(&str, Kind)] = &[
    ("and", Kind::And),
    ("assert", Kind::Assert),
    ("assert_not", Kind::AssertNot),
    ("declare", Kind::Declare),
    ("extends", Kind::Extends),
    ("global", Kind::Global),
    ("if", Kind::If),
    ("iff", Kind::Iff),
    ("in", Kind::In),
    ("matches", Kind::Matches),
    ("not", Kind::Not),
    ("on", Kind::On),
    ("or", Kind::Or),
    ("test", Kind::Test),
    ("true", Kind::True),
    ("false", Kind::False),
    ("actor", Kind::Actor),
    ("resource", Kind::Resource),
    ("fixture", Kind::Fixture),
    ("setup", Kind::Setup),
    ("roles", Kind::Roles),
    ("permissions", Kind::Permissions),
    ("relations", Kind::Relations),
    ("role", Kind::Role),
    ("permission", Kind::Permission),
    ("relation", Kind::Relation),
    ("forall", Kind::Refused),
    ("print", Kind::Refused),
    ("debug", Kind::Refused),
    ("type", Kind::Refused),
    ("cut", Kind::Refused),
    ("new", Kind::Refused),
];

/// The three kinds of bracket.
const BRACKETS: [(Kind, Kind); 3] = [
    (Kind::OpenParen, Kind::CloseParen),
    (Kind::OpenBracket, Kind::CloseBracket),
    (Kind::OpenBrace, Kind::CloseBrace),
];

impl Kind {
    /// The kind of a word: a keyword or a plain name.
    pub(super) fn of_word(word: &str) -> Self {
        // No keyword is longer than eleven letters.
        if word.len() > 11 {
            return Self::Identifier;
        }
        KEYWORDS.iter().find(|(text, _)| *text == word).map_or(Self::Identifier, |&(_, kind)| kind)
    }

    /// Whether it can be a name. A refused word can, because the lexer has already reported it.
    pub(super) fn is_name(self) -> bool {
        self.is_contextual() || matches!(self, Self::Identifier | Self::Refused)
    }

    /// Whether it is a keyword in some places and a name elsewhere.
    fn is_contextual(self) -> bool {
        matches!(
            self,
            Self::Actor
                | Self::Resource
                | Self::Fixture
                | Self::Setup
                | Self::Roles
                | Self::Permissions
                | Self::Relations
                | Self::Role
                | Self::Permission
                | Self::Relation
        )
    }

    /// Whether it is a keyword that can never be a name.
    pub(super) fn is_reserved(self) -> bool {
        !self.is_contextual() && KEYWORDS.iter().any(|&(_, kind)| kind == self)
    }

    /// Whether it is a class of tokens, which messages name without backticks.
    pub(super) fn is_class(self) -> bool {
        matches!(self, Self::Identifier | Self::String | Self::Integer | Self::Refused | Self::Invalid)
    }

    /// Whether a statement ends at this token or begins after it.
    pub(super) fn ends_statement(self) -> bool {
        matches!(self, Self::Semicolon | Self::OpenBrace | Self::CloseBrace)
    }

    /// The closing bracket for this opening one.
    pub(super) fn closer(self) -> Option<Self> {
        BRACKETS.iter().find(|(opener, _)| *opener == self).map(|&(_, closer)| closer)
    }

    /// Whether it closes a bracket.
    pub(super) fn is_closer(self) -> bool {
        BRACKETS.iter().any(|&(_, closer)| closer == self)
    }
}

/// The tokens of one policy and their positions.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// The kinds, which are the grammar's input.
    pub(super) kinds: Vec<Kind>,
    /// The spans; as many as `kinds`.
    pub(super) spans: Vec<Span>,
}

impl Tokens {
    /// Adds a token.
    pub(super) fn push(&mut self, kind: Kind, span: Span) {
        self.kinds.push(kind);
        self.spans.push(span);
    }

    /// The token at an index; `None` past the end.
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.kinds.get(at).copied()
    }

    /// The token before an index.
    pub(super) fn kind_before(&self, at: usize) -> Option<Kind> {
        self.kind(at.checked_sub(1)?)
    }

    /// The span of a token; past the last one, the end of the text.
    pub(super) fn span_at(&self, at: usize) -> Span {
        self.spans.get(at).copied().unwrap_or_else(|| self.end_before(at))
    }

    /// The empty span right after the token before an index.
    pub(super) fn end_before(&self, at: usize) -> Span {
        let before = at.checked_sub(1).and_then(|last| self.spans.get(last)).or(self.spans.last());
        before.map_or(Span::default(), |span| Span { start: span.end, end: span.end })
    }

    /// The bytes from the first to the last token of a range.
    pub(super) fn span(&self, range: SimpleSpan) -> Span {
        if range.end > range.start {
            self.span_at(range.start).to(self.span_at(range.end - 1))
        } else {
            self.end_before(range.start)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_index_the_list_of_kinds() {
        for (number, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    /// The extension for Visual Studio Code colours every keyword.
    #[test]
    fn the_grammar_of_the_editor_has_every_keyword() {
        let grammar = include_str!("../../../editors/vscode/syntaxes/polar.tmLanguage.json");
        let words: Vec<&str> = grammar.split(|c: char| !c.is_ascii_lowercase() && c != '_').collect();
        for (word, _) in KEYWORDS.iter().filter(|(_, kind)| *kind != Kind::Refused) {
            assert!(words.contains(word), "{word}");
        }
    }

    #[test]
    fn contextual_keywords_are_names_and_reserved_words_are_not() {
        for word in ["role", "actor", "setup", "fixture", "relations", "user"] {
            assert!(Kind::of_word(word).is_name(), "{word}");
            assert!(!Kind::of_word(word).is_reserved(), "{word}");
        }
        for word in ["in", "global", "iff", "assert_not", "true"] {
            assert!(!Kind::of_word(word).is_name(), "{word}");
            assert!(Kind::of_word(word).is_reserved(), "{word}");
        }
    }
}

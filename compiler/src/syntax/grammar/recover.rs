//! Error recovery: where statements end, and how to skip to the next one.
//!
//! It is active only in the second pass, [`Reading::Mending`]. The first stops at the first failure, so
//! recovery cannot change the meaning of text without mistakes.

use super::source::{Parse, Reading, TokenText};
use crate::source::LINE_ENDS;
use crate::syntax::error::{Failure, Input, TokenGroup, mistake};
use crate::syntax::token::Kind;
use chumsky::input::InputRef;
use chumsky::prelude::*;

/// The running parse, for parsers written by hand.
pub(super) type Parsing<'a, 'parse> = InputRef<'a, 'parse, Input<'a>, extra::Err<Failure>>;

/// The index of the next token.
pub(super) fn position(input: &Parsing<'_, '_>) -> usize {
    *input.cursor().inner()
}

fn skip_to(input: &mut Parsing<'_, '_>, end: usize) {
    while position(input) < end {
        input.skip();
    }
}

/// The `;` of a statement. If it is missing at the end of a line and the next line can begin a statement, it
/// is reported and assumed.
pub(super) fn end_of_statement<'a>(source: TokenText<'a>, statement: &'static str) -> impl Parse<'a, ()> {
    custom(move |input: &mut Parsing<'a, '_>| {
        let at = position(input);
        if source.tokens.kind(at) == Some(Kind::Semicolon) {
            input.skip();
            return Ok(());
        }
        if !source.may_end_before(at) {
            return Err(Failure::unexpected(at, [Kind::Semicolon]));
        }
        let missing = mistake::missing_semicolon(statement, source.tokens.end_before(at));
        input.emit(Failure::mistake(at.saturating_sub(1), missing));
        Ok(())
    })
}

/// Lines between braces. A line that does not parse is dropped. If a top-level item begins, or a token listed
/// in `outside`, a missing `}` is reported and assumed.
pub(super) fn braces<'a, O: 'a>(
    source: TokenText<'a>,
    line: impl Parse<'a, Option<O>>,
    outside: &'static [Kind],
) -> impl Parse<'a, Vec<O>> {
    let stray = just(Kind::Semicolon).map(|_| None).labelled(TokenGroup::Mistake);
    let skipped = skip_line(source, outside).map(|()| None);
    let line = inside(source, outside).ignore_then(line.or(stray));
    let lines = line.recover_with(via_parser(skipped)).repeated().collect::<Vec<_>>();
    let close = just(Kind::CloseBrace).to(true).or(empty().to(false));
    let open = just(Kind::OpenBrace).map_with(move |_, e| source.span(e.span()));
    let block = open.then(lines).then(close).map_with(move |((opener, lines), closed), e| {
        if !closed {
            let range: SimpleSpan = e.span();
            let here = source.tokens.span_at(range.end);
            let at_end = source.tokens.kind(range.end).is_none();
            e.emit(Failure::mistake(range.end, mistake::unclosed_block(opener, here, at_end)));
        }
        lines.into_iter().flatten().collect()
    });
    block.boxed()
}

/// Fails where something begins that belongs outside the braces.
fn inside<'a>(source: TokenText<'a>, outside: &'static [Kind]) -> impl Parse<'a, ()> {
    custom(move |input: &mut Parsing<'a, '_>| {
        let at = position(input);
        if source.mends() && source.begins_outside(at, outside) {
            Err(Failure::unexpected(at, []))
        } else {
            Ok(())
        }
    })
}

/// Skips a top-level statement that does not parse.
pub(super) fn skip_item<'a>(source: TokenText<'a>) -> impl Parse<'a, ()> {
    custom(move |input: &mut Parsing<'a, '_>| {
        let start = position(input);
        if !source.mends() || source.tokens.kind(start).is_none() {
            return Err(Failure::unexpected(start, []));
        }
        skip_to(input, source.statement_end(start).max(start + 1));
        Ok(())
    })
}

/// Skips a line between braces that does not parse; fails where the braces end.
fn skip_line<'a>(source: TokenText<'a>, outside: &'static [Kind]) -> impl Parse<'a, ()> {
    custom(move |input: &mut Parsing<'a, '_>| {
        let start = position(input);
        let end = source.statement_end(start);
        if !source.mends() || end == start || source.begins_outside(start, outside) {
            return Err(Failure::unexpected(start, []));
        }
        skip_to(input, end);
        Ok(())
    })
}

/// Skips the malformed value of a declaration.
pub(super) fn skip_value<'a>(source: TokenText<'a>) -> impl Parse<'a, ()> {
    custom(move |input: &mut Parsing<'a, '_>| {
        let start = position(input);
        let mut at = start;
        let mut inner = 0_usize;
        while let Some(kind) = source.tokens.kind(at).filter(|kind| *kind != Kind::Semicolon) {
            let next_declares =
                at > start && source.on_new_line(at) && source.tokens.kind(at + 1) == Some(Kind::Equal);
            if next_declares || (inner == 0 && kind == Kind::CloseBrace) {
                break;
            }
            if kind.closer().is_some() {
                inner += 1;
            } else if kind.is_closer() {
                inner = inner.saturating_sub(1);
            }
            at += 1;
        }
        if !source.mends() || at == start {
            return Err(Failure::unexpected(start, []));
        }
        skip_to(input, at);
        Ok(())
    })
}

impl TokenText<'_> {
    /// Whether this pass recovers from mistakes.
    fn mends(self) -> bool {
        self.reading != Reading::Straight
    }

    /// Whether a token is the first on its line.
    pub(super) fn on_new_line(self, at: usize) -> bool {
        let before = self.tokens.end_before(at).range().end;
        let start = self.tokens.span_at(at).range().start;
        self.text.get(before..start).is_some_and(|between| between.contains(LINE_ENDS))
    }

    /// Whether a statement may end before this token although its `;` is missing.
    fn may_end_before(self, at: usize) -> bool {
        if !self.mends() {
            return false;
        }
        let Some(kind) = self.tokens.kind(at) else { return true };
        let begins = kind.is_name()
            || matches!(
                kind,
                Kind::String | Kind::Declare | Kind::Test | Kind::Global | Kind::Assert | Kind::AssertNot
            );
        kind == Kind::CloseBrace || (begins && self.on_new_line(at)) || self.begins_member(at)
    }

    /// Whether a line of a block begins here that nothing else can be: `roles =` or `"reader" if`.
    fn begins_member(self, at: usize) -> bool {
        match (self.tokens.kind(at), self.tokens.kind(at + 1)) {
            (Some(Kind::Roles | Kind::Permissions | Kind::Relations), Some(Kind::Equal)) => true,
            (Some(Kind::String), Some(Kind::If)) => true,
            (Some(_) | None, _) => false,
        }
    }

    /// Whether something begins here that cannot be inside the current braces.
    fn begins_outside(self, at: usize, outside: &[Kind]) -> bool {
        // If all braces match, a rule in the first column is merely not indented.
        let is_closed = self.reading == Reading::Mending { braces_match: true };
        self.begins_keyword_item(at)
            || (!is_closed && self.begins_first_column_rule(at))
            || self.tokens.kind(at).is_some_and(|kind| outside.contains(&kind))
    }

    /// Whether a top-level item begins here, even if the text before it is incomplete.
    fn begins_item(self, at: usize) -> bool {
        self.begins_keyword_item(at) || self.begins_first_column_rule(at)
    }

    /// Whether a block, a `declare` or a test begins here.
    fn begins_keyword_item(self, at: usize) -> bool {
        let kind = |offset: usize| self.tokens.kind(at + offset);
        let named = kind(1).is_some_and(Kind::is_name);
        match kind(0) {
            Some(Kind::Actor | Kind::Resource) if named => {
                matches!(kind(2), Some(Kind::OpenBrace | Kind::Extends))
            }
            Some(Kind::Global) => kind(1) == Some(Kind::OpenBrace),
            Some(Kind::Declare) => named,
            Some(Kind::Test) => matches!(kind(1), Some(Kind::String | Kind::Fixture)),
            Some(_) | None => false,
        }
    }

    /// Whether a rule, or a fact, begins here in the first column.
    fn begins_first_column_rule(self, at: usize) -> bool {
        let is_call = self.tokens.kind(at).is_some_and(Kind::is_name)
            && self.tokens.kind(at + 1) == Some(Kind::OpenParen);
        let start = self.tokens.span_at(at).range().start;
        is_call && self.text.get(..start).is_some_and(|before| before.ends_with(LINE_ENDS))
    }

    /// The index after the statement that contains the token `start`: after its `;` or block, or at a `}`
    /// that closes the enclosing block.
    fn statement_end(self, start: usize) -> usize {
        let mut blocks = 0_usize;
        // Open parentheses, brackets and braces of object literals; none extends past a `;`.
        let mut inner = 0_usize;
        let mut at = start;
        while let Some(kind) = self.tokens.kind(at) {
            if at > start && self.begins_item(at) {
                return at;
            }
            if kind == Kind::Semicolon {
                if blocks == 0 {
                    return at + 1;
                }
                inner = 0;
            } else if kind == Kind::OpenBrace && inner == 0 && self.opens_block(at) {
                blocks += 1;
            } else if kind.closer().is_some() {
                inner += 1;
            } else if kind.is_closer() && inner > 0 {
                inner -= 1;
            } else if kind == Kind::CloseBrace {
                if blocks < 2 {
                    return at + blocks;
                }
                blocks -= 1;
            }
            at += 1;
        }
        at
    }

    /// Whether a `{` opens a block of statements, rather than an object literal or declared relations.
    fn opens_block(self, at: usize) -> bool {
        match (self.tokens.kind(at + 1), self.tokens.kind(at + 2)) {
            (Some(Kind::String | Kind::Integer | Kind::True | Kind::False), next) => next == Some(Kind::If),
            (Some(name), Some(Kind::Colon | Kind::CloseBrace)) if name.is_name() => false,
            _ => true,
        }
    }
}

//! Terms, parameters and argument lists.

use super::recover::{Parsing, position};
use super::source::{Parse, TokenText, name};
use crate::limits;
use crate::primitive::Primitive;
use crate::spelling::{integer_text, unescape};
use crate::syntax::ast::{Call, Name, Param, Spanned, Term};
use crate::syntax::error::{Failure, TokenGroup, mistake};
use crate::syntax::token::Kind;
use chumsky::prelude::*;

/// `"text"`, `42`, `true`, `Type{"id"}`, `@current_unix_time` or a variable.
pub(super) fn term(source: TokenText<'_>) -> impl Parse<'_, Spanned<Term>> {
    let literal = one_of([Kind::String, Kind::Integer, Kind::True, Kind::False, Kind::Now])
        .map_with(move |kind, e| literal(source, kind, e.span()));
    let named = name(source).then(object_id(source).labelled(TokenGroup::Mistake).or_not()).map_with(
        move |(name, id), e| match id {
            None => Term::Variable(name.value),
            Some((kind, id)) => {
                let (id, wrong) = checked_id(&name, kind, id, source);
                if let Some(failure) = wrong {
                    let range: SimpleSpan = e.span();
                    e.emit(Failure::mistake(range.end - 1, failure));
                }
                Term::Object { ty: name, id }
            }
        },
    );
    literal
        .or(named)
        .map_with(move |value, e| Spanned { value, span: source.span(e.span()) })
        .labelled(TokenGroup::Term)
        .boxed()
}

fn literal(source: TokenText<'_>, kind: Kind, range: SimpleSpan) -> Term {
    let text = source.snippet(source.span(range));
    if kind == Kind::String {
        Term::String(source.string(range).value)
    } else if kind == Kind::Integer {
        // The lexer has reported a number out of range.
        Term::Integer(integer_text(text).unwrap_or_default())
    } else if kind == Kind::Now {
        Term::CurrentUnixTime
    } else {
        Term::Boolean(kind == Kind::True)
    }
}

/// The `{"id"}` of an object literal: the id's token kind, and the id as written.
fn object_id<'a>(source: TokenText<'a>) -> impl Parse<'a, (Kind, Name)> {
    let literal = one_of([Kind::String, Kind::Integer, Kind::True, Kind::False]);
    let bare = custom(move |input: &mut Parsing<'a, '_>| {
        let at = position(input);
        match source.tokens.kind(at) {
            Some(kind) if kind.is_name() && source.tokens.kind(at + 1) == Some(Kind::CloseBrace) => {
                input.skip();
                Ok(kind)
            }
            Some(_) | None => Err(Failure::unexpected(at, [])),
        }
    });
    let id = literal
        .or(bare.labelled(TokenGroup::Mistake))
        .map_with(move |kind, e| (kind, source.name(e.span())))
        .labelled(TokenGroup::Id);
    let wrong = custom(move |input: &mut Parsing<'a, '_>| {
        let at = position(input);
        let ty = source.tokens.span_at(at.saturating_sub(2));
        let shape = mistake::object_shape(source.snippet(ty), source.tokens.span_at(at));
        Err(Failure::mistake(at, shape))
    });
    id.or(wrong).delimited_by(just(Kind::OpenBrace), just(Kind::CloseBrace)).boxed()
}

/// The text of an id, and a diagnostic if it has the wrong kind.
fn checked_id(
    ty: &Name,
    kind: Kind,
    id: Name,
    source: TokenText<'_>,
) -> (Spanned<String>, Option<crate::diagnostic::Diagnostic>) {
    let fits = match Primitive::named(&ty.value) {
        Some(Primitive::Integer) => kind == Kind::Integer,
        Some(Primitive::Boolean) => matches!(kind, Kind::True | Kind::False),
        Some(Primitive::String) | None => kind == Kind::String,
    };
    let written = source.snippet(id.span);
    let wrong = (!fits).then(|| mistake::object_id(&ty.value, written, id.span));
    let value = match kind {
        Kind::String => unescape(&id.value),
        Kind::Integer => integer_text(&id.value).unwrap_or_default().to_string(),
        _ => id.value,
    };
    (Spanned { value, span: id.span }, wrong)
}

/// `x: Type` or a term.
pub(super) fn param(source: TokenText<'_>) -> impl Parse<'_, Param> {
    let ty = just(Kind::Colon).ignore_then(name(source)).labelled(TokenGroup::Mistake).or_not();
    let param = term(source).then(ty).map_with(move |(term, ty), e| match (&term.value, &ty) {
        (Term::Variable(_), _) | (_, None) => Param { term, ty },
        (_, Some(_)) => {
            let range: SimpleSpan = e.span();
            let wrong = mistake::typed_literal(source.snippet(term.span), source.span(range));
            e.emit(Failure::mistake(range.start, wrong));
            Param { term, ty: None }
        }
    });
    param.boxed()
}

/// `( item, … )`; a comma after the last item is reported and ignored.
pub(super) fn parenthesised<'a, O: 'a>(
    source: TokenText<'a>,
    item: impl Parse<'a, O>,
) -> impl Parse<'a, Vec<O>> {
    let items = item.separated_by(just(Kind::Comma)).allow_trailing().collect::<Vec<_>>();
    let items = items.map_with(move |items, e| {
        let range: SimpleSpan = e.span();
        if !items.is_empty() && source.tokens.kind_before(range.end) == Some(Kind::Comma) {
            let comma = source.tokens.span_at(range.end - 1);
            e.emit(Failure::mistake(
                range.end - 1,
                mistake::trailing_comma(comma, source.tokens.span_at(range.end)),
            ));
        }
        if items.len() > limits::PARAMETERS {
            e.emit(Failure::mistake(
                range.start,
                mistake::too_many_parameters(items.len(), source.span(range)),
            ));
        }
        items
    });
    items.delimited_by(just(Kind::OpenParen), just(Kind::CloseParen)).boxed()
}

/// `name(term, …)`
pub(super) fn call(source: TokenText<'_>) -> impl Parse<'_, Call> {
    let argument = param(source).map_with(move |Param { term, ty }, e| {
        if let Some(ty) = ty {
            let range: SimpleSpan = e.span();
            let variable = source.snippet(term.span);
            let wrong = mistake::typed_argument(variable, &ty.value, source.span(range));
            e.emit(Failure::mistake(range.start, wrong));
        }
        term
    });
    let call = name(source).then(parenthesised(source, argument));
    call.map_with(move |(name, args), e| Call { name, args, span: source.span(e.span()) }).boxed()
}

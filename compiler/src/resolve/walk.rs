//! Visitors for the parts of a condition in the syntax tree.

use crate::source::Span;
use crate::syntax::ast::{Condition, Spanned, Term};

/// Calls `each` with every condition inside, outermost first.
pub(super) fn for_each_condition<'a>(condition: &'a Condition, each: &mut impl FnMut(&'a Condition)) {
    each(condition);
    match condition {
        Condition::Or(parts, _) | Condition::And(parts, _) => {
            parts.iter().for_each(|part| for_each_condition(part, each));
        }
        Condition::Not(inner, _) | Condition::Paren(inner, _) => for_each_condition(inner, each),
        Condition::Compare { .. }
        | Condition::In { .. }
        | Condition::Matches { .. }
        | Condition::Call(_)
        | Condition::Boolean(..) => {}
    }
}

/// Calls `each` with every occurrence of a variable.
pub(super) fn each_variable<'a>(condition: &'a Condition, each: &mut impl FnMut(&'a str, Span)) {
    for_each_condition(condition, &mut |part| {
        let term = |term: &'a Spanned<Term>| {
            if let Term::Variable(name) = &term.value {
                each(name, term.span);
            }
        };
        match part {
            Condition::Compare { left, right, .. } => [left, right].into_iter().for_each(term),
            Condition::In { term: tried, list, .. } => [tried].into_iter().chain(list).for_each(term),
            Condition::Call(call) => call.args.iter().for_each(term),
            Condition::Matches { variable, .. } => each(&variable.value, variable.span),
            Condition::Or(..)
            | Condition::And(..)
            | Condition::Not(..)
            | Condition::Paren(..)
            | Condition::Boolean(..) => {}
        }
    });
}

/// The span of a condition.
pub(super) fn span_of(condition: &Condition) -> Span {
    match condition {
        Condition::Or(_, span)
        | Condition::And(_, span)
        | Condition::Not(_, span)
        | Condition::Paren(_, span)
        | Condition::Compare { span, .. }
        | Condition::In { span, .. }
        | Condition::Matches { span, .. }
        | Condition::Boolean(_, span) => *span,
        Condition::Call(call) => call.span,
    }
}

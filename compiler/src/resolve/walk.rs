//! Visitors for the parts of a condition in the syntax tree.

use crate::source::Span;
use crate::syntax::ast::{Expr, Spanned, Term};

/// Calls `each` with every condition inside, outermost first.
pub(super) fn for_each_expr<'a>(expr: &'a Expr, each: &mut impl FnMut(&'a Expr)) {
    each(expr);
    match expr {
        Expr::Or(parts, _) | Expr::And(parts, _) => parts.iter().for_each(|part| for_each_expr(part, each)),
        Expr::Not(inner, _) | Expr::Paren(inner, _) => for_each_expr(inner, each),
        Expr::Compare { .. } | Expr::In { .. } | Expr::Matches { .. } | Expr::Call(_) | Expr::Boolean(..) => {
        }
    }
}

/// Calls `each` with every occurrence of a variable.
pub(super) fn each_variable<'a>(expr: &'a Expr, each: &mut impl FnMut(&'a str, Span)) {
    for_each_expr(expr, &mut |part| {
        let term = |term: &'a Spanned<Term>| {
            if let Term::Variable(name) = &term.value {
                each(name, term.span);
            }
        };
        match part {
            Expr::Compare { left, right, .. } => [left, right].into_iter().for_each(term),
            Expr::In { term: tried, list, .. } => [tried].into_iter().chain(list).for_each(term),
            Expr::Call(call) => call.args.iter().for_each(term),
            Expr::Matches { variable, .. } => each(&variable.value, variable.span),
            Expr::Or(..) | Expr::And(..) | Expr::Not(..) | Expr::Paren(..) | Expr::Boolean(..) => {}
        }
    });
}

/// The span of a condition.
pub(super) fn span_of(expr: &Expr) -> Span {
    match expr {
        Expr::Or(_, span)
        | Expr::And(_, span)
        | Expr::Not(_, span)
        | Expr::Paren(_, span)
        | Expr::Compare { span, .. }
        | Expr::In { span, .. }
        | Expr::Matches { span, .. }
        | Expr::Boolean(_, span) => *span,
        Expr::Call(call) => call.span,
    }
}

//! The columns of a call that is closed, and the values that it gives for them.

use super::super::body::{Goal, Term};
use super::super::error::PlanError;
use super::{ClosureCall, KnownColumn};
use crate::algebra::Expr;
use crate::catalog::ColumnId;
use crate::datalog::recursion::ColumnClasses;
use crate::ir::CompareOp;

/// The items at these columns.
pub(super) fn at_columns<T: Copy>(columns: &[ColumnId], all: &[T]) -> Vec<T> {
    columns.iter().map(|column| *column.of(all)).collect()
}

/// The static values of a clause's invariant columns.
pub(super) fn fixed(
    call: &ClosureCall<'_>,
    classes: &ColumnClasses,
    head: &[Term],
) -> Result<Vec<Goal>, PlanError> {
    let columns = head.iter().zip(&call.known).zip(&classes.of_column);
    let fixed = columns.filter_map(|((term, known), class)| match (known, class) {
        (KnownColumn::Static(expr), None) => Some((*term, *expr)),
        (KnownColumn::Static(_) | KnownColumn::Row(_) | KnownColumn::No, _) => None,
    });
    let equal = |(left, expr): (Term, Expr)| {
        let right = static_term(expr).ok_or(PlanError::Bug("a static value that is not a term"))?;
        Ok(Goal::Compare { op: CompareOp::Equal, left, right })
    };
    fixed.map(equal).collect()
}

/// A static value as a term.
pub(super) fn static_term(expr: Expr) -> Option<Term> {
    match expr {
        Expr::Const(literal) => Some(Term::Const(literal)),
        Expr::Given(var) => Some(Term::Given(var)),
        Expr::Now => Some(Term::Now),
        Expr::Tag(member) => Some(Term::Tag(member)),
        Expr::Filler => Some(Term::Filler),
        Expr::Column { .. } | Expr::TypeName(_) | Expr::Unconstrained => None,
    }
}

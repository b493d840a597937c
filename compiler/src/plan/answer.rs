//! The rows of an answer.

use crate::algebra::Expr;
use crate::datalog::{Output, Root};
use crate::question::{Shape, ShapeDomain};

/// One row of the answer: the bound terms' values in their order, with types and wildcards put in.
pub(super) fn row(shape: &Shape, root: &Root, bound: &[Expr]) -> Vec<Expr> {
    let mut bound = bound.iter().copied();
    let mut outputs = root.outputs.iter();
    let mut row = Vec::new();
    for var in &shape.vars {
        match var.domain {
            ShapeDomain::Wanted | ShapeDomain::GivenOneOf => {}
            ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => continue,
        }
        let Some(output) = outputs.next() else { continue };
        if var.ty.is_none() {
            row.push(output.ty().map_or(Expr::Unconstrained, Expr::TypeName));
        }
        row.push(match output {
            Output::Term(..) => bound.next().unwrap_or(Expr::Unconstrained),
            Output::Unconstrained(_) => Expr::Unconstrained,
        });
    }
    row
}

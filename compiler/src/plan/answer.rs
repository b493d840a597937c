//! The rows of an answer.

use crate::algebra::Expr;
use crate::catalog::ColumnId;
use crate::datalog::{Output, Root};
use crate::id_vec::IdVec;
use crate::question::{CompileError, Shape, ShapeDomain};

/// One row of the answer: the bound terms' values in their order, with types and wildcards put in.
///
/// # Errors
/// [`CompileError::Bug`] if a value is missing. It must not become a wildcard.
pub(super) fn row(
    shape: &Shape,
    root: &Root,
    bound: IdVec<ColumnId, Expr>,
) -> Result<IdVec<ColumnId, Expr>, CompileError> {
    let missing = || CompileError::Bug("an answer without one of its values".into());
    let mut bound = bound.into_iter();
    let mut outputs = root.outputs.iter();
    let mut row = IdVec::new();
    for var in &shape.vars {
        match var.domain {
            ShapeDomain::Wanted | ShapeDomain::GivenOneOf => {}
            ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => continue,
        }
        let output = outputs.next().ok_or_else(missing)?;
        if var.ty.is_none() {
            row.push(output.ty().map_or(Expr::Unconstrained, Expr::TypeName));
        }
        row.push(match output {
            Output::Term(..) => bound.next().ok_or_else(missing)?,
            Output::Unconstrained(_) => Expr::Unconstrained,
        });
    }
    Ok(row)
}

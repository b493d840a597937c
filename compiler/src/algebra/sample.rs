//! Selects and values for the unit tests of plans.

use super::{Alias, Expr, From, FromKind, Select};

/// A column of a source.
pub(crate) fn column(alias: usize, column: usize) -> Expr {
    Expr::Column { alias: Alias::of_number(alias), column }
}

/// A select of one source, without conditions.
pub(crate) fn reading(alias: usize, kind: FromKind, output: Vec<Expr>) -> Select {
    Select { from: vec![From { alias: Alias::of_number(alias), kind }], filter: Vec::new(), output }
}

//! Selects and values for the unit tests of plans.

use super::{Alias, Condition, Expr, From, FromKind, Select};
use crate::catalog::ColumnId;
use crate::ir::{CompareOp, QuestionVarId};

/// A column of a source.
pub(crate) fn column(alias: usize, column: u32) -> Expr {
    Expr::Column { alias: Alias::of_number(alias), column: ColumnId(column) }
}

/// The value of a question's variable.
pub(crate) fn given(var: u32) -> Expr {
    Expr::Given(QuestionVarId(var))
}

/// The condition that two values are equal.
pub(crate) fn equal(left: Expr, right: Expr) -> Condition {
    Condition::Compare { op: CompareOp::Equal, left, right }
}

/// A select of one source, without conditions.
pub(crate) fn reading(alias: usize, kind: FromKind, output: Vec<Expr>) -> Select {
    Select {
        from: vec![From { alias: Alias::of_number(alias), kind }],
        filter: Vec::new(),
        output: output.into(),
    }
}

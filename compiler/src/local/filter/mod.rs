//! Arranges the alternatives of a filter by their conditions on the caller's column.
//!
//! In: an optimised plan. Where the bindings promise that the column is the key of a table, its alternatives
//! are conditions on the caller's row, see [`crate::optimise`]; otherwise they answer with the column's
//! values. Out: literals, sets, tests of the row, and guards that let every row pass. If the column only has
//! the key's values, as that of an alias, then the conditions that need a row of the table look up the table,
//! and the column is looked up among the keys of the rows that pass.
//!
//! [`passes`] lists how this is done, pass by pass; `explain` shows the filter after each.
//!
//! Where each alternative has a condition that an index can serve, the sets of the others are arrays, which
//! indexes serve, too; where one has not, every row is read anyway, and sets are hashed.

mod arms;
mod containers;
mod denials;
mod halves;
mod passes;
mod row;
mod sort;
mod static_tests;

pub(super) use passes::{Arranging, arranged, shown};
pub(super) use row::{asks_column_inside, fits, row, row_name};

use super::request::{SqlDetail, SqlRequest};
use crate::algebra::Plan;
use crate::bindings::ColumnExpr;
use crate::question::{CompileError, QuestionVarId};
use crate::sql::local::filter::Filter;
use crate::sql::local::statement::{LocalStatement, column_text};
use crate::sql::local::template::Template;
use crate::sql::outline::{FilterColumn, Outline, SlowPart};

/// Prints a filter; without one, a plan that tests each row.
pub(super) fn print(
    statement: LocalStatement<'_>,
    plan: &Plan,
    filter: Option<&Filter>,
    var: QuestionVarId,
    column: &ColumnExpr,
    request: &SqlRequest<'_>,
) -> Result<(Template, Outline), CompileError> {
    let ty = request.question.type_of(var)?;
    let text = column_text(column);
    let representation = statement.represent_column(column, ty);
    let Some(filter) = filter else {
        let slow = SlowPart::RowTest { is_qualified: column.is_qualified() };
        let outline = Outline { slow: vec![slow], ..Outline::default() };
        return Ok((statement.row_test(plan, &text, var, representation)?, outline));
    };
    let outline = if request.detail == SqlDetail::Explained {
        statement.filter_outline(plan, filter, &FilterColumn { var, column, ty })
    } else {
        Outline::default()
    };
    Ok((statement.filter(plan, filter, var, &text, &representation)?, outline))
}

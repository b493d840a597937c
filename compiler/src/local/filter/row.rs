//! The conditions of a filter on the caller's row.

use super::super::request::{SqlForm, SqlRequest};
use crate::algebra::aliases::free_aliases;
use crate::algebra::{Condition, Expr, FromKind, Plan, PlanAnswer, Select};
use crate::bindings::{ColumnExpr, Family, SqlName};
use crate::optimise::{Row, Setting};

/// The row that a filter tests, if the bindings promise a table with a unique column for the type of its
/// column.
pub(in super::super) fn row<'a>(request: &SqlRequest<'a>) -> Option<Row<'a>> {
    let SqlForm::Filter { var, column } = request.form else { return None };
    let ty = request.question.vars[*var].ty.as_deref()?;
    let promised = request.bindings.tables.get(ty)?;
    let (name, qualifier) = column.name.as_ref()?.split_last()?;
    let is_itself = *name == promised.column && request.bindings.is_called(promised, qualifier);
    // Both columns must hold the same values in the same way.
    let is_declared = request.bindings.sql_types.get(ty).is_some_and(|ty| match ty.family {
        Family::Integer | Family::Uuid | Family::Text => true,
        Family::Numeric | Family::IntegerAffinity | Family::Padded | Family::Other | Family::Ambiguous => {
            false
        }
    });
    let is_row = is_itself || is_declared;
    is_row.then_some(Row { var: *var, promised, is_looked_up: !is_itself })
}

/// Whether a plan that was optimised for a setting can be arranged so. Where the row must be looked up, each
/// alternative of a filter must either require a row of the promised table or read no column of such a row,
/// because the values of the caller's column need not be in the table.
pub(in super::super) fn fits(setting: &Setting<'_>, plan: &Plan) -> bool {
    match &plan.answer {
        PlanAnswer::Decision(selects) if setting.row.is_some_and(|row| row.is_looked_up) => {
            selects.iter().all(|select| needs_row(select) || !sees_row(select))
        }
        PlanAnswer::Decision(_) | PlanAnswer::Rows { .. } => true,
    }
}

/// What the caller calls the tested row, and its key, where the column itself is the key.
pub(in super::super) fn row_name(setting: &Setting<'_>, column: &ColumnExpr) -> Option<(String, SqlName)> {
    let row = setting.row.filter(|row| !row.is_looked_up)?;
    let (_, qualifier) = column.name.as_ref()?.split_last()?;
    Some((SqlName::path(qualifier), row.promised.column.clone()))
}

pub(super) fn needs_row(select: &Select) -> bool {
    select.from.iter().any(|from| matches!(from.kind, FromKind::Row { .. }))
        || select.filter.iter().any(|condition| match condition {
            Condition::Any(branches) => branches.iter().all(needs_row),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::In { .. }
            | Condition::None(_) => false,
        })
}

fn sees_row(select: &Select) -> bool {
    let mut sees = false;
    select.for_each_source(&mut |from| sees |= matches!(from.kind, FromKind::Row { .. }));
    sees
}

/// Whether conditions mention the caller's row.
pub(super) fn asks_row(conditions: &[Condition]) -> bool {
    let mut found = false;
    for condition in conditions {
        condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
        for branch in condition.branches() {
            branch.for_each_source(&mut |from| found |= matches!(from.kind, FromKind::Row { .. }));
        }
    }
    found
}

/// Whether a condition has the same value for all rows.
pub(super) fn is_same_for_all_rows(condition: &Condition) -> bool {
    free_aliases(condition).is_empty() && !asks_row(std::slice::from_ref(condition))
}

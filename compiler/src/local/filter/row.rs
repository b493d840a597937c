//! The conditions of a filter on the caller's row.

use super::super::request::{SqlForm, SqlRequest};
use crate::algebra::{Condition, Expr, FromKind, Plan, PlanAnswer, Select};
use crate::bindings::{ColumnExpr, Family, SqlName};
use crate::optimise::{Row, Setting};
use crate::sql::local::filter::Filter;

/// The row that a filter tests, if the bindings promise a table with a unique column for the type of its
/// column.
pub(in super::super) fn row<'a>(request: &SqlRequest<'a>) -> Option<Row<'a>> {
    let SqlForm::Filter { var, column } = request.form else { return None };
    let ty = request.question.vars[*var].ty.as_deref()?;
    let promised = request.bindings.tables.get(ty)?;
    let (name, qualifier) = column.name.as_ref()?.split_last()?;
    let is_itself = *name == promised.column && request.bindings.is_called(promised, qualifier);
    // Both columns must hold the same values in the same way: a look-up compares them with `=` alone, which
    // holds for different ids of some types.
    let is_declared = request.bindings.sql_types.get(ty).is_some_and(|ty| match ty.family {
        Family::Integer | Family::Uuid | Family::Text => true,
        Family::Numeric
        | Family::IntegerAffinity
        | Family::Padded
        | Family::Caseless
        | Family::Other
        | Family::Ambiguous => false,
    });
    let is_row = is_itself || is_declared;
    let is_qualified = column.is_qualified();
    is_row.then_some(Row { var: *var, promised, is_looked_up: !is_itself, is_qualified })
}

/// Whether a plan that was optimised for a setting can be arranged so. Where the row must be looked up, each
/// alternative of a filter must either require a row of the promised table or read no column of such a row,
/// because the values of the caller's column need not be in the table. Nor may an alternative without a row
/// read a column inside a query by a name that may be one of the query's own tables there.
pub(in super::super) fn fits(setting: &Setting<'_>, plan: &Plan) -> bool {
    match (&plan.answer, setting.row) {
        (PlanAnswer::Decision(selects), Some(row)) if row.is_looked_up => selects.iter().all(|select| {
            needs_row(select) || !sees_row(select) && (row.is_qualified || !asks_key_inside(select))
        }),
        (PlanAnswer::Decision(_) | PlanAnswer::Rows { .. }, _) => true,
    }
}

/// Whether a query with sources of its own reads the caller's column.
fn asks_key_inside(select: &Select) -> bool {
    if select.reads_nothing() { select.filter.iter().any(is_asked_inside) } else { asks_key(select) }
}

fn is_asked_inside(condition: &Condition) -> bool {
    match condition {
        Condition::In { selects, .. } => selects.iter().any(asks_key_inside),
        Condition::Any(branches) | Condition::None(branches) => branches.iter().any(asks_key_inside),
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => false,
    }
}

fn asks_key(select: &Select) -> bool {
    let mut found = false;
    select.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
    found
}

/// Whether a filter reads the caller's column inside a query. There a name without its table may be a column
/// of the query's own tables, and the condition would be about that one. A look-up has a row of its table in
/// place of the column.
pub(in super::super) fn asks_column_inside(filter: &Filter) -> bool {
    let Filter { common, literals: _, conditioned, rows, set, guards, looked_up: _, access: _, row: _ } =
        filter;
    let conditioned = conditioned.iter().map(|(_, select)| select);
    rows.iter().chain(guards).chain(conditioned).any(asks_key_inside)
        || set.iter().any(asks_key_inside)
        || common.iter().any(is_asked_inside)
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
            | Condition::Meets { .. }
            | Condition::In { .. }
            | Condition::None(_) => false,
        })
}

pub(super) fn sees_row(select: &Select) -> bool {
    let mut sees = false;
    select.for_each_source(&mut |from| sees |= matches!(from.kind, FromKind::Row { .. }));
    sees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::SetUse;
    use crate::algebra::sample::{column, equal, given, reading, source};

    /// A filter whose rows must pass a look-up in this set.
    fn filter_with(set: Select) -> Filter {
        let is_in = Condition::In { expr: given(0), selects: vec![set], used: SetUse::ToFind };
        Filter { rows: vec![Select { filter: vec![is_in], ..Select::default() }], ..Filter::default() }
    }

    /// Only a query with sources has columns that the name may mean instead.
    #[test]
    fn a_set_without_sources_reads_the_callers_column_by_its_name() {
        let condition = equal(column(1, 0), given(0));
        let mut set = reading(1, source(0), vec![column(1, 0)]);
        assert!(!asks_column_inside(&filter_with(set.clone())));
        set.filter.push(condition);
        assert!(asks_column_inside(&filter_with(set.clone())));
        let shown = Select { output: vec![given(0)].into(), ..Select::default() };
        assert!(!asks_column_inside(&filter_with(shown.clone())));
        assert!(!asks_column_inside(&Filter { set: vec![shown], ..Filter::default() }));
        let inside = Select { filter: vec![Condition::Any(vec![set])], ..Select::default() };
        assert!(asks_column_inside(&filter_with(inside)));
    }
}

//! Sorts the alternatives of a filter by their conditions on the caller's column.

use super::row::needs_row;
use crate::algebra::links::asks_row;
use crate::algebra::{Condition, Embedded, Expr, FromKind, Select};
use crate::bindings::{ColumnExpr, RowTable};
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId};
use crate::optimise::{is_same_for_all_rows, take_common as take_common_guards};
use crate::sql::local::filter::{Filter, LookedUp, RowAccess};

/// Sorts conditions on the caller's row.
pub(super) fn of_row(selects: &[Select]) -> Filter {
    let mut filter = Filter::default();
    for select in selects {
        let only = match (select.from.as_slice(), select.filter.as_slice()) {
            ([], [only]) => literals(only),
            _ => None,
        };
        match only {
            Some(literals) => filter.literals.extend(literals),
            None if !select.from.is_empty() || asks_row(&select.filter) => filter.rows.push(select.clone()),
            None => filter.guards.push(select.clone()),
        }
    }
    filter.literals.sort_unstable();
    filter.literals.dedup();
    filter
}

/// The literals that the caller's column may be, by a condition that asks nothing else.
pub(super) fn literals(condition: &Condition) -> Option<Vec<ConstId>> {
    match condition {
        Condition::Compare { op: CompareOp::Equal, left, right } => match (left, right) {
            (Expr::Const(literal), Expr::Given(_)) | (Expr::Given(_), Expr::Const(literal)) => {
                Some(vec![*literal])
            }
            _ => None,
        },
        Condition::OneOf { expr: Expr::Given(_), literals } => Some(literals.clone()),
        _ => None,
    }
}

/// Sorts alternatives that answer with values of the column.
pub(super) fn of_values(selects: &[Select], embedded: &[Embedded]) -> Filter {
    let mut filter = Filter::default();
    for select in selects.iter().cloned() {
        match select.output.first().copied() {
            Some(Expr::Const(literal)) if select.is_unit() => filter.literals.push(literal),
            Some(Expr::Const(literal)) => {
                filter.conditioned.push((literal, Select { output: IdVec::new(), ..select }));
            }
            Some(Expr::Column { alias, column }) => {
                let from = select.from.iter().find(|from| from.alias == alias).copied();
                match from.map(|from| from.kind) {
                    Some(FromKind::Embedded(rows)) if select.from.len() == 1 && select.filter.is_empty() => {
                        let rows = rows.of(embedded).rows.iter();
                        let cells = rows.flatten().map(|row| row[column]);
                        filter.literals.extend(cells);
                    }
                    _ => filter.set.push(select),
                }
            }
            Some(Expr::Given(_)) => filter.rows.push(Select { output: IdVec::new(), ..select }),
            _ => filter.guards.push(Select { output: IdVec::new(), ..select }),
        }
    }
    filter.literals.sort_unstable();
    filter.literals.dedup();
    filter
}

/// Splits the conditions of a filter over another column with the table's keys: those that need a row of the
/// table become a look-up in the table.
pub(super) fn look_up(filter: &mut Filter, table: &RowTable, column: &ColumnExpr) {
    let (rows, others): (Vec<Select>, Vec<Select>) =
        std::mem::take(&mut filter.rows).into_iter().partition(needs_row);
    let is_qualified = column.is_qualified();
    let looked_up = LookedUp { table: table.clone(), rows, access: RowAccess::ByIndex, is_qualified };
    let common = std::mem::take(&mut filter.common);
    *filter = Filter { common, looked_up: Some(looked_up), ..of_row(&others) };
}

/// Takes out what all alternatives of a look-up share, unless that includes a condition on the row, which
/// must stay next to it.
pub(super) fn take_guards(filter: &mut Filter) {
    let mut rows = filter.rows.clone();
    let common = take_common_guards(&mut rows);
    if !asks_row(&common) {
        (filter.rows, filter.common) = (rows, common);
    }
}

/// Takes out the conditions of every alternative that depend on no row.
pub(super) fn take_common(filter: &mut Filter) -> Vec<Condition> {
    if !filter.literals.is_empty() {
        return Vec::new();
    }
    let conditioned = filter.conditioned.iter_mut().map(|(_, select)| select);
    let all = conditioned.chain(&mut filter.rows).chain(&mut filter.set).chain(&mut filter.guards);
    let mut all: Vec<&mut Select> = all.collect();
    if let [only] = all.as_mut_slice() {
        if only.from.is_empty() && !asks_row(&only.filter) {
            return Vec::new();
        }
        let (common, own) = std::mem::take(&mut only.filter).into_iter().partition(is_same_for_all_rows);
        only.filter = own;
        return common;
    }
    let mut selects: Vec<Select> = all.iter_mut().map(|select| std::mem::take(*select)).collect();
    let common = take_common_guards(&mut selects);
    for (slot, select) in all.into_iter().zip(selects) {
        *slot = select;
    }
    // A condition on the row stays where the key is known not to be NULL. All alternatives are conditions on
    // the row then.
    let (of_row, common): (Vec<Condition>, Vec<Condition>) =
        common.into_iter().partition(|condition| asks_row(std::slice::from_ref(condition)));
    if !of_row.is_empty() {
        let rows = std::mem::take(&mut filter.rows);
        let is_all = rows.iter().any(Select::is_unit);
        let alternatives = (!is_all).then_some(Condition::Any(rows));
        let filtered = of_row.into_iter().chain(alternatives).collect();
        filter.rows = vec![Select { filter: filtered, ..Select::default() }];
    }
    common
}

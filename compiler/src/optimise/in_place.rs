//! One alternative of a table, in the table's place.

use crate::algebra::aliases::{TakenAliases, renumber};
use crate::algebra::{Alias, Expr, Select};

/// Whether every output of an alternative is a column; a literal cannot be restricted.
pub(super) fn shows_columns(arm: &Select) -> bool {
    arm.output.iter().all(|shown| matches!(shown, Expr::Column { .. }))
}

/// A select that reads an alternative of a table instead of the table, and asks of the alternative's outputs
/// what it asked of the table's columns.
pub(super) fn in_place_of(table: Alias, arm: &Select, select: &Select, taken: &mut TakenAliases) -> Select {
    let mut arm = arm.clone();
    renumber(&mut arm, taken);
    let shown = std::mem::take(&mut arm.output);
    let mut rest = select.clone();
    let place = |expr: &mut Expr| {
        if let Expr::Column { alias, column } = *expr
            && alias == table
        {
            *expr = shown[column];
        }
    };
    rest.output.iter_mut().for_each(place);
    rest.filter.iter_mut().for_each(|condition| condition.for_each_expr_mut(&mut |expr| place(expr)));
    let others = rest.from.into_iter().filter(|from| from.alias != table);
    arm.from.extend(others);
    arm.filter.append(&mut rest.filter);
    Select { output: rest.output, ..arm }
}

//! What connects the sources of a test.

use crate::algebra::aliases::free_aliases;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select};
use crate::catalog::ColumnId;
use crate::ir::CompareOp;

/// The column of a source and the other value, if a condition is their equality.
pub(super) fn tie(condition: &Condition, source: Alias) -> Option<(Expr, Expr)> {
    let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return None };
    match (left.alias() == Some(source), right.alias() == Some(source)) {
        (true, false) => Some((*left, *right)),
        (false, true) => Some((*right, *left)),
        (true, true) | (false, false) => None,
    }
}

/// A recursion, and the sources of its test that it alone leads to, but for equalities of its column `own`.
pub(super) fn reached_from(
    test: &Select,
    recursion: From,
    own: Expr,
    is_led: &dyn Fn(&Expr) -> bool,
) -> Vec<From> {
    let is_column = |alias| !is_led(&Expr::Column { alias, column: ColumnId::FIRST });
    let mut reached = vec![recursion.alias];
    loop {
        let before = reached.len();
        let mut connected: Vec<Vec<Alias>> = Vec::new();
        for condition in &test.filter {
            if tie(condition, recursion.alias).is_none_or(|(column, _)| column != own) {
                connected.push(free_aliases(condition));
            }
        }
        connected.extend(test.from.iter().filter_map(|from| match from.kind {
            FromKind::Again { row, .. } => Some(vec![from.alias, row]),
            _ => None,
        }));
        for aliases in connected {
            if aliases.iter().any(|alias| reached.contains(alias)) {
                let new = aliases.into_iter().filter(|alias| is_column(*alias));
                new.for_each(|alias| {
                    if !reached.contains(&alias) {
                        reached.push(alias);
                    }
                });
            }
        }
        if reached.len() == before {
            return test.from.iter().copied().filter(|from| reached.contains(&from.alias)).collect();
        }
    }
}

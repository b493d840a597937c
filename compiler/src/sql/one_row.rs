//! Queries that have at most one row, because keys lead from given values to each row that they read.
//!
//! A database estimates such a query rightly if it reads the row's key in an equality. Where the row comes
//! from an array it counts ten, and ten times as many rows of what is looked up by them. On tables without
//! statistics these factors multiply, until the statement seems worth compiling to machine code.

use crate::algebra::aliases::free_aliases;
use crate::algebra::{
    Alias, Condition, Expr, From, FromKind, Plan, Select, Table, TableBody, TableId, TableRef,
};
use crate::ir::CompareOp;
use crate::keys::Keys;
use indexmap::IndexSet;

/// The tables of a plan that have at most one row, and the promises from which that follows.
#[derive(Clone, Debug)]
pub(in crate::sql) struct OneRowTables<'k> {
    keys: Keys<'k>,
    tables: IndexSet<TableId>,
}

impl<'k> OneRowTables<'k> {
    /// Those of a plan, under these promises.
    pub(in crate::sql) fn of(plan: &Plan, keys: Keys<'k>) -> Self {
        let mut known = Self { keys, tables: IndexSet::new() };
        for (id, table) in TableId::enumerate(&plan.tables) {
            if known.is_one_row_table(table) {
                known.tables.insert(id);
            }
        }
        known
    }

    fn is_one_row_table(&self, table: &Table) -> bool {
        match &table.body {
            TableBody::Union(selects) => {
                matches!(selects.as_slice(), [select] if self.has_at_most_one_row(select))
            }
            TableBody::Recursive { .. } | TableBody::WholeState { .. } => false,
        }
    }

    /// Whether a select has at most one row for each row around it.
    pub(in crate::sql) fn has_at_most_one_row(&self, select: &Select) -> bool {
        let mut found: IndexSet<Alias> =
            select.from.iter().filter(|from| self.reads_one_row(**from)).map(|from| from.alias).collect();
        let mut open: Vec<&Condition> = select.filter.iter().collect();
        loop {
            let before = found.len();
            open.retain(|condition| {
                let is_given = |alias: Alias, found: &IndexSet<Alias>| {
                    found.contains(&alias) || select.from.iter().all(|from| from.alias != alias)
                };
                let mut unknown = free_aliases(condition);
                unknown.retain(|alias| !is_given(*alias, &found));
                let row = match unknown.as_slice() {
                    [] => return false,
                    [alias] => select.from.iter().find(|from| from.alias == *alias),
                    _ => None,
                };
                // A condition is looked at once: when one row is all that it leaves open.
                let Some(row) = row else { return true };
                if self.finds_by_key(condition, *row) {
                    found.insert(row.alias);
                }
                false
            });
            if found.len() == before {
                return found.len() == select.from.len();
            }
        }
    }

    fn reads_one_row(&self, from: From) -> bool {
        match from.kind {
            FromKind::Table(TableRef::Table(id)) => self.tables.contains(&id),
            FromKind::Row { .. } | FromKind::Again { .. } => true,
            FromKind::Table(TableRef::Itself)
            | FromKind::Source(_)
            | FromKind::Values(_)
            | FromKind::Embedded(_) => false,
        }
    }

    /// Whether a condition says that a row's key equals one value, and nothing of another row.
    fn finds_by_key(&self, condition: &Condition, row: From) -> bool {
        let FromKind::Source(source) = row.kind else { return false };
        let is_key = |value: Expr| match value {
            Expr::Column { alias, column } => alias == row.alias && self.keys.is_key(source, column),
            _ => false,
        };
        let is_own = |value: Expr| value.alias() == Some(row.alias);
        match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } => {
                is_key(*left) && !is_own(*right) || is_key(*right) && !is_own(*left)
            }
            Condition::In { expr, selects, .. } => match selects.as_slice() {
                [set] => {
                    let mut mentions_row = false;
                    set.for_each_expr(&mut |value| mentions_row |= is_own(value));
                    is_key(*expr) && !mentions_row && self.has_at_most_one_row(set)
                }
                _ => false,
            },
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::Any(_)
            | Condition::None(_) => false,
        }
    }
}

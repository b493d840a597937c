//! Distinguishes sets that start from a given value from sets as large as a table.
//!
//! A set that starts from the actor is small: it is looked up as a whole. A set like "every public
//! repository" is not; whether a value is in it is tested for each row, and a filter with such a test is no
//! longer answered by indexes, so that its other sets are hashed instead.

use super::{Condition, Expr, From, FromKind, Select, Table, TableBody, TableRef};
use crate::catalog::Catalog;
use crate::ir::CompareOp;

/// Types too unselective to start from: a role's name narrows nothing down.
const WIDE: [&str; 2] = ["String", "Boolean"];

/// What decides whether a set is anchored.
pub(crate) struct Anchors<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) tables: &'a [Table],
}

impl Anchors<'_> {
    /// Whether a select starts from a given value.
    pub(crate) fn is_anchored(&self, select: &Select) -> bool {
        let by_source = select.from.iter().any(|from| match from.kind {
            FromKind::Embedded(_) | FromKind::Values(_) | FromKind::Row { .. } => true,
            FromKind::Table(TableRef::Table(table)) => self.is_anchored_table(table),
            FromKind::Table(TableRef::Itself) | FromKind::Source(_) | FromKind::Again { .. } => false,
        });
        // A literal, or a value of a select around this one.
        let is_known = |expr: Expr| match expr.alias() {
            Some(alias) => !select.from.iter().any(|from| from.alias == alias),
            None => matches!(expr, Expr::Const(_)),
        };
        let by_condition = select.filter.iter().any(|condition| match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } => {
                is_known(*right) && self.narrows(&select.from, *left)
                    || is_known(*left) && self.narrows(&select.from, *right)
            }
            Condition::OneOf { expr, .. } => self.narrows(&select.from, *expr),
            Condition::In { selects, .. } => selects.iter().all(|select| self.is_anchored(select)),
            Condition::Compare { .. } | Condition::Any(_) | Condition::None(_) => false,
        });
        select.from.is_empty() || by_source || by_condition
    }

    /// Whether an index can find the rows that pass this condition: a column must be in a set, or equal a value
    /// that few rows have.
    pub(crate) fn has_index(&self, row: &Select) -> bool {
        self.has_index_inside(row, &[])
    }

    fn has_index_inside(&self, row: &Select, around: &[From]) -> bool {
        let from: Vec<From> = around.iter().chain(&row.from).copied().collect();
        let has_set = |condition: &Condition| match condition {
            Condition::In { expr, .. } => matches!(expr, Expr::Given(_) | Expr::Column { .. }),
            Condition::Compare { op: CompareOp::Equal, left: Expr::Given(_), right: Expr::Const(_) }
            | Condition::Compare { op: CompareOp::Equal, left: Expr::Const(_), right: Expr::Given(_) }
            | Condition::OneOf { expr: Expr::Given(_), .. } => true,
            Condition::Compare { op: CompareOp::Equal, left, right: Expr::Const(_) }
            | Condition::Compare { op: CompareOp::Equal, left: Expr::Const(_), right: left } => {
                self.narrows(&from, *left)
            }
            Condition::OneOf { expr, .. } => self.narrows(&from, *expr),
            Condition::Any(branches) => {
                branches.iter().all(|branch| branch.reads_nothing() && self.has_index_inside(branch, &from))
            }
            Condition::Compare { .. } | Condition::None(_) => false,
        };
        row.filter.iter().any(has_set)
    }

    fn is_anchored_table(&self, table: usize) -> bool {
        // A table reads only those before it: the recursion ends.
        self.tables.get(table).is_some_and(|table| match &table.body {
            TableBody::Union(selects)
            | TableBody::Recursive { base: selects, .. }
            | TableBody::WholeState { base: selects, .. } => {
                selects.iter().all(|select| self.is_anchored(select))
            }
        })
    }

    /// Whether few rows of a source have a given value here.
    fn narrows(&self, sources: &[From], expr: Expr) -> bool {
        let Expr::Column { alias, column } = expr else { return false };
        let from = sources.iter().find(|from| from.alias == alias);
        match from.map(|from| from.kind) {
            Some(
                FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. },
            ) => {
                let relation = self.catalog.relations.get(source);
                let column = relation.and_then(|relation| relation.columns().nth(column));
                column.is_some_and(|(ty, _)| !WIDE.contains(&ty))
            }
            Some(_) => true,
            None => false,
        }
    }
}

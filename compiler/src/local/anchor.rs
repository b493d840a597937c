//! Distinguishes sets that start from a given value from sets as large as a table.
//!
//! A set that starts from the actor is small: it is looked up as a whole. A set like "every public
//! repository" is not; whether a value is in it is tested for each row, and a filter with such a test is no
//! longer answered by indexes, so that its other sets are hashed instead.

use crate::algebra::TableRef;
use crate::algebra::{Condition, Expr, FromKind, Select, Table, TableBody};
use crate::catalog::Catalog;
use crate::ir::CompareOp;

/// Types too unselective to start from: a role's name narrows nothing down.
const WIDE: [&str; 2] = ["String", "Boolean"];

/// What decides whether a set is anchored.
pub(super) struct Anchors<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) tables: &'a [Table],
}

impl Anchors<'_> {
    /// Whether a select starts from a given value.
    pub(super) fn is_anchored(&self, select: &Select) -> bool {
        let by_source = select.from.iter().any(|from| match from.kind {
            FromKind::Embedded(_) | FromKind::Values(_) | FromKind::Row(_) => true,
            FromKind::Table(TableRef::Table(table)) => self.is_anchored_table(table),
            FromKind::Table(TableRef::Itself) | FromKind::Source(_) => false,
        });
        let by_condition = select.filter.iter().any(|condition| match condition {
            Condition::Compare { op: CompareOp::Equal, left, right: Expr::Const(_) }
            | Condition::Compare { op: CompareOp::Equal, left: Expr::Const(_), right: left } => {
                self.narrows(select, *left)
            }
            Condition::OneOf { expr, .. } => self.narrows(select, *expr),
            Condition::In { selects, .. } => selects.iter().all(|select| self.is_anchored(select)),
            Condition::Compare { .. } | Condition::Any(_) | Condition::None(_) => false,
        });
        select.from.is_empty() || by_source || by_condition
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
    fn narrows(&self, select: &Select, expr: Expr) -> bool {
        let Expr::Column { alias, column } = expr else { return false };
        let from = select.from.iter().find(|from| from.alias == alias);
        match from.map(|from| from.kind) {
            Some(FromKind::Source(source)) => {
                let relation = self.catalog.relations.get(source);
                let column = relation.and_then(|relation| relation.columns().nth(column));
                column.is_some_and(|(ty, _)| !WIDE.contains(&ty))
            }
            Some(_) => true,
            None => false,
        }
    }
}

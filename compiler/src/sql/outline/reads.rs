//! What selects read, and the columns that lead to it.

use super::report::{BoundColumn, Reads};
use super::walk::Walk;
use crate::algebra::{Alias, Condition, Expr, FromKind, Select, TableRef};
use crate::catalog::{BindingId, RelationSource, SourceId};
use crate::ir::CompareOp;

impl Walk<'_, '_> {
    /// Whether a select shows ids of the table whose rows a filter tests.
    pub(super) fn shows_rows(&self, select: &Select) -> bool {
        let bindings = self.lowering.target.caller.bindings;
        let Some(promised) = self.column.and_then(|column| bindings.tables.get(column.ty)) else {
            return false;
        };
        select.output.iter().any(|shown| {
            self.bound_column(select, *shown)
                .is_some_and(|BoundColumn { binding, column }| bindings.reads(binding, column, promised))
        })
    }

    /// The column of one of a select's bound queries that a value is.
    fn bound_column(&self, select: &Select, value: Expr) -> Option<BoundColumn> {
        let Expr::Column { alias, column } = value else { return None };
        let from = select.from.iter().find(|from| from.alias == alias)?;
        let FromKind::Source(source) = from.kind else { return None };
        Some(BoundColumn { binding: self.binding(source)?, column })
    }

    /// The columns of a select's bound queries that must equal a value from around it.
    pub(super) fn led_by(&self, select: &Select) -> Vec<BoundColumn> {
        self.equal_to(select, |_, other| {
            matches!(other, Expr::Given(_)) || other.alias().is_some() && !defines(select, other)
        })
    }

    /// The columns of a select's bound queries that must equal another value, if `is_such` accepts the two.
    pub(super) fn equal_to(&self, select: &Select, is_such: impl Fn(Expr, Expr) -> bool) -> Vec<BoundColumn> {
        let mut found = Vec::new();
        for condition in &select.filter {
            let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { continue };
            for (own, other) in [(*left, *right), (*right, *left)] {
                if is_such(own, other) {
                    found.extend(self.bound_column(select, own));
                }
            }
        }
        found
    }

    /// Whether a test looks only at one of the text's own tables.
    pub(super) fn is_led_by_table(&self, select: &Select) -> bool {
        self.reads(&[select]).bindings.is_empty()
    }

    pub(super) fn binding(&self, source: SourceId) -> Option<BindingId> {
        match self.lowering.inputs.catalog.relations[source].source {
            RelationSource::Bound { binding, .. } => Some(binding),
            RelationSource::Table { .. } | RelationSource::Context { .. } => None,
        }
    }

    /// What selects and their branches read, and the tables whose rows they test.
    pub(super) fn with_rows(&self, selects: &[&Select]) -> Reads {
        let mut reads = self.reads(selects);
        for select in selects {
            select.for_each_source(&mut |from| {
                if let FromKind::Row { source, .. } = from.kind {
                    reads.bindings.extend(self.binding(source));
                }
            });
        }
        reads.bindings.sort_unstable();
        reads.bindings.dedup();
        reads
    }

    /// What selects and their branches read.
    pub(super) fn reads(&self, selects: &[&Select]) -> Reads {
        let mut reads = Reads::default();
        for select in selects {
            select.for_each_source(&mut |from| match from.kind {
                FromKind::Source(source) => reads.bindings.extend(self.binding(source)),
                FromKind::Table(TableRef::Table(table)) => {
                    reads.tables.push(table.of(&self.plan.tables).name.clone());
                }
                FromKind::Embedded(_) | FromKind::Values(_) => reads.has_values = true,
                FromKind::Table(TableRef::Itself) | FromKind::Row { .. } | FromKind::Again { .. } => {}
            });
        }
        reads.bindings.sort_unstable();
        reads.bindings.dedup();
        reads.tables.sort_unstable();
        reads.tables.dedup();
        reads
    }
}

/// Whether a value is a column of one of the sources that a select reads. A row of an enclosing select is not
/// one of them.
fn defines(select: &Select, expr: Expr) -> bool {
    expr.alias().is_some_and(|alias| reads_alias(select, alias))
}

fn reads_alias(select: &Select, alias: Alias) -> bool {
    select.from.iter().any(|from| from.alias == alias && from.kind.is_read())
}

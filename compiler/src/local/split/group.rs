//! Collects stored sources that will become one part: those that conditions connect, with the columns that
//! the residual uses.

use super::same_rows::RowEqualities;
use crate::algebra::aliases::free_aliases;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, Table, TableBody, TableRef};
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, QuestionVarId};
use indexmap::IndexSet;

/// Stored sources and the conditions among them.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredGroup {
    pub(super) from: Vec<From>,
    pub(super) filter: Vec<Condition>,
    /// The columns that the residual uses.
    pub(super) wanted: IndexSet<Expr>,
}

impl StoredGroup {
    pub(super) fn has(&self, alias: Alias) -> bool {
        self.from.iter().any(|from| from.alias == alias)
    }

    pub(super) fn owns(&self, expr: Expr) -> bool {
        expr.alias().is_some_and(|alias| self.has(alias))
    }

    /// The group as a test of values outside, if it is nothing else: whether it has a row in which the
    /// columns that the residual uses are equal to `outside`'s.
    pub(super) fn as_test(&self, outside: impl Fn(Expr) -> Option<Expr>) -> Option<Condition> {
        let mut filter = self.filter.clone();
        for own in &self.wanted {
            filter.push(Condition::Compare { op: CompareOp::Equal, left: *own, right: outside(*own)? });
        }
        let select = Select { from: self.from.clone(), filter, output: IdVec::new() };
        (!self.wanted.is_empty()).then(|| Condition::Any(vec![select]))
    }

    /// A condition that keeps only rows matching another group, by the conditions in `rest` on both and
    /// by known equalities. Its own sources have the aliases that they have in the other group.
    pub(super) fn restriction(
        &self,
        other: &Self,
        rest: &[Condition],
        equals: Option<&RowEqualities>,
    ) -> Option<Condition> {
        let links = rest.iter().filter(|condition| {
            let aliases = free_aliases(condition);
            matches!(condition, Condition::Compare { .. })
                && aliases.iter().any(|alias| other.has(*alias))
                && aliases.iter().any(|alias| self.has(*alias))
                && aliases.iter().all(|alias| other.has(*alias) || self.has(*alias))
        });
        let mut links: Vec<Condition> = links.cloned().collect();
        let pairs =
            equals.map(|equals| equals.equalities.pairs(|expr| self.owns(expr), |expr| other.owns(expr)));
        for (left, right) in pairs.into_iter().flatten() {
            let link = |left, right| Condition::Compare { op: CompareOp::Equal, left, right };
            if !links.contains(&link(left, right)) && !links.contains(&link(right, left)) {
                links.push(link(left, right));
            }
        }
        if links.is_empty() {
            return None;
        }
        let filter = other.filter.iter().cloned().chain(links).collect();
        let select = Select { from: other.from.clone(), filter, output: IdVec::new() };
        Some(Condition::Any(vec![select]))
    }
}

/// What leads to few rows: a value of the question, or a table that starts from one. This is coarser than
/// [`Anchors`](crate::algebra::anchor::Anchors), which follow values from source to source: a group is
/// connected, so one value in it is enough, and no index is at stake in the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leads<'a> {
    /// For each table whether it starts from values of the question.
    tables: &'a [bool],
    /// The variable whose value is one of the caller's columns.
    column: Option<QuestionVarId>,
}

impl<'a> Leads<'a> {
    pub(super) fn new(tables: &'a [bool], column: Option<QuestionVarId>) -> Self {
        Self { tables, column }
    }

    /// For each table whether it starts from values of the question.
    pub(super) fn of_tables(tables: &[Table], column: Option<QuestionVarId>) -> Vec<bool> {
        let mut leading = Vec::new();
        for table in tables {
            let leads = Leads::new(&leading, column);
            let (TableBody::Union(starts)
            | TableBody::Recursive { base: starts, .. }
            | TableBody::WholeState { base: starts, .. }) = &table.body;
            let leads_on = starts
                .iter()
                .all(|select| leads.hold(&select.from, &select.filter, select.output.as_slice()));
            leading.push(leads_on);
        }
        leading
    }

    pub(super) fn hold_group(self, group: &StoredGroup) -> bool {
        self.hold(&group.from, &group.filter, &[])
    }

    /// Whether every branch starts from values of the question.
    pub(super) fn hold_branches(self, branches: &[Select]) -> bool {
        branches.iter().all(|branch| self.hold(&branch.from, &branch.filter, &[]))
    }

    fn hold(self, from: &[From], filter: &[Condition], output: &[Expr]) -> bool {
        let is_value = |expr: Expr| matches!(expr, Expr::Given(_)) && !is_column(expr, self.column);
        let reads = from.iter().any(|from| match from.kind {
            FromKind::Table(TableRef::Table(table)) => *table.of(self.tables),
            FromKind::Values(_) => true,
            FromKind::Table(TableRef::Itself)
            | FromKind::Source(_)
            | FromKind::Embedded(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. } => false,
        });
        let is_row = from.is_empty() && !output.is_empty();
        let equals = filter.iter().any(|condition| match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } => is_value(*left) || is_value(*right),
            _ => false,
        });
        reads || is_row || equals
    }
}

/// The sources that conditions connect, each with its conditions. A condition that mentions no source is a
/// group of its own.
pub(super) fn connected(stored: Vec<From>, pure: Vec<Condition>) -> Vec<StoredGroup> {
    let order: Vec<Alias> = stored.iter().map(|from| from.alias).collect();
    let mut groups: Vec<StoredGroup> =
        stored.into_iter().map(|from| StoredGroup { from: vec![from], ..StoredGroup::default() }).collect();
    for condition in pure {
        let aliases = free_aliases(&condition);
        let touches = |group: &StoredGroup| group.from.iter().any(|from| aliases.contains(&from.alias));
        let Some(first) = groups.iter().position(touches) else {
            groups.push(StoredGroup { filter: vec![condition], ..StoredGroup::default() });
            continue;
        };
        let mut merged = std::mem::take(&mut groups);
        let mut together = merged.remove(first);
        for group in merged {
            if touches(&group) {
                together.from.extend(group.from);
                together.filter.extend(group.filter);
            } else {
                groups.push(group);
            }
        }
        // The planner's order of joins stays.
        together.from.sort_by_key(|from| order.iter().position(|alias| *alias == from.alias));
        together.filter.push(condition);
        groups.insert(first.min(groups.len()), together);
    }
    groups
}

/// Whether a value is the caller's column.
pub(super) fn is_column(expr: Expr, column: Option<QuestionVarId>) -> bool {
    matches!((expr, column), (Expr::Given(var), Some(column)) if var == column)
}

//! Separates what the service decides from what the caller's database must.
//!
//! In: a plan over stored relations and bound queries. Out: a [`Residual`]: the plan of what is left, in
//! which rows of values replace stored relations, and for each a [`Part`]: the plan that asks the store for
//! them. Parts depend neither on each other nor on the caller's rows.
//!
//! In each select the stored sources that conditions connect form a part, which is asked for the columns
//! that the rest of the select needs and for no others:
//!
//! ```text
//! from issues t1, f7 t2, f9 t3 where t1.repo = t2.c0 and t2.c1 = t3.c0 and t3.c1 = given#0
//!                └── one part, asked for t2.c0 ─┘
//! ```
//!
//! A part of a branch is asked only for the rows that agree with the parts around it (a semi-join, Bernstein
//! and Chiu 1981); the condition itself stays in the residual, so that only the size depends on this.
//! Other stored facts filter the rows of a part before they are fetched, see `narrow`.

mod group;
mod narrow;
mod same_rows;

use crate::algebra::aliases::{TakenAliases, free_aliases, number_aliases};
use crate::algebra::prune;
use crate::algebra::{
    Alias, AnswerColumns, Condition, EmbeddedId, Expr, From, FromKind, Plan, PlanAnswer, Range, Select,
    Table, TableRef,
};
use crate::catalog::{Catalog, ColumnId, RelationSource, SourceId};
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::question::QuestionVarId;
use group::{Leads, StoredGroup, connected, is_column};
use indexmap::IndexMap;
use same_rows::RowEqualities;

/// A question to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Rows of the columns that the residual needs; a decision if it needs none.
    pub(crate) plan: Plan,
    /// The catalog's relations that it reads, ascending.
    pub(crate) sources: Vec<SourceId>,
}

/// What is left of a plan, and what it needs from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Residual {
    /// The plan over bound queries and [`FromKind::Embedded`] rows, one entry of `parts` each.
    pub(crate) plan: Plan,
    /// The questions to the store.
    pub(crate) parts: Vec<Part>,
}

impl Residual {
    /// Whether the text depends only on the question's values and compares none of them by order.
    pub(crate) fn is_by_values(&self) -> bool {
        self.parts.is_empty() && !is_ordered_or_timed(&self.plan)
    }
}

fn is_ordered_or_timed(plan: &Plan) -> bool {
    let mut found = false;
    plan.selects().for_each(|select| select.for_each_expr(&mut |expr| found |= expr == Expr::Now));
    plan.for_each_condition(&mut |condition| {
        found |= match condition {
            Condition::Compare { op, .. } => !matches!(op, CompareOp::Equal | CompareOp::NotEqual),
            Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. }
            | Condition::Any(_)
            | Condition::None(_) => false,
        };
    });
    found
}

/// Separates a plan. `column` is the variable whose value is one of the caller's columns, if any; `most` is
/// how many rows of a part are read.
pub(crate) fn split(plan: &Plan, keys: Keys<'_>, column: Option<QuestionVarId>, most: usize) -> Residual {
    let catalog = keys.catalog;
    let mut stored = Vec::new();
    for table in &plan.tables {
        let is_stored = table.body.selects().all(|select| is_stored_select(select, catalog, &stored, column));
        stored.push(is_stored);
    }
    let leading = Leads::of_tables(&plan.tables, column);
    let mut splitter = Splitter {
        keys,
        stored: &stored,
        tables: &plan.tables,
        leads: Leads::new(&leading, column),
        column,
        most,
        aliases: TakenAliases::of(plan.selects()),
        parts: vec![],
    };
    let around = Outside::default();
    let tables = plan.tables.iter().zip(&stored).map(|(table, is_stored)| {
        let mut table = table.clone();
        if !is_stored {
            table.body.selects_mut().for_each(|select| splitter.replace(select, &around));
        }
        table
    });
    let tables = tables.collect();
    let mut answer = plan.answer.clone();
    answer.selects_mut().iter_mut().for_each(|select| splitter.replace(select, &around));
    let parts = splitter.parts;
    Residual { plan: prune(Plan::new(tables, answer)), parts }
}

fn is_stored_kind(kind: FromKind, catalog: &Catalog, stored: &[bool]) -> bool {
    match kind {
        FromKind::Source(source) => match catalog.relations[source].source {
            RelationSource::Table { .. } | RelationSource::Context { .. } => true,
            RelationSource::Bound { .. } => false,
        },
        FromKind::Values(_) | FromKind::Table(TableRef::Itself) => true,
        FromKind::Table(TableRef::Table(table)) => *table.of(stored),
        FromKind::Embedded(_) | FromKind::Row { .. } | FromKind::Again { .. } => false,
    }
}

/// Whether the store alone answers a select, regardless of what surrounds it.
fn is_stored_select(
    select: &Select,
    catalog: &Catalog,
    stored: &[bool],
    column: Option<QuestionVarId>,
) -> bool {
    let mut reads_column = false;
    select.for_each_expr(&mut |expr| reads_column |= is_column(expr, column));
    !reads_column && reads_stored(select, catalog, stored)
}

fn reads_stored(select: &Select, catalog: &Catalog, stored: &[bool]) -> bool {
    select.from.iter().all(|from| is_stored_kind(from.kind, catalog, stored))
        && select.branches().all(|branch| reads_stored(branch, catalog, stored))
}

/// What surrounds a select.
#[derive(Clone, Debug, Default)]
struct Outside {
    /// The parts of the selects around it.
    groups: Vec<StoredGroup>,
    /// The equalities of their rows.
    equals: RowEqualities,
}

struct Splitter<'s> {
    keys: Keys<'s>,
    /// For each table whether the store alone makes it.
    stored: &'s [bool],
    tables: &'s [Table],
    leads: Leads<'s>,
    column: Option<QuestionVarId>,
    most: usize,
    aliases: TakenAliases,
    parts: Vec<Part>,
}

impl Splitter<'_> {
    /// Replaces the stored sources of a select inside others.
    fn replace(&mut self, select: &mut Select, around: &Outside) {
        let equals = around.equals.with(select, self.keys);
        let mut inside = Outside { groups: around.groups.clone(), equals };
        let (mut groups, mut rest, left) = self.take_apart(select);
        self.narrow(&mut groups, &mut rest, &mut select.output, &inside);
        for group in &mut groups {
            let is_wide = !self.leads.hold_group(group);
            for outer in &around.groups {
                self.restrict(group, outer, &rest, is_wide.then_some(&inside.equals));
            }
        }
        inside.groups.extend(groups.iter().cloned());
        for condition in &mut rest {
            self.branches(condition, &inside);
        }
        // By which column of an embedded source a column is replaced.
        let mut replaced: IndexMap<Expr, Expr> = IndexMap::new();
        let mut from = Vec::new();
        for group in groups {
            let alias = self.alias();
            for (column, expr) in ColumnId::all(group.wanted.len()).zip(&group.wanted) {
                replaced.insert(*expr, Expr::Column { alias, column });
            }
            from.push(From { alias, kind: FromKind::Embedded(self.part(group)) });
        }
        // Values lead: they are few.
        from.extend(left);
        select.from = from;
        select.filter = rest;
        select.for_each_expr_mut(&mut |expr| {
            if let Some(by) = replaced.get(expr) {
                *expr = *by;
            }
        });
    }

    /// The stored sources of a select with the conditions among them, the other conditions, the other
    /// sources.
    fn take_apart(&self, select: &mut Select) -> (Vec<StoredGroup>, Vec<Condition>, Vec<From>) {
        let is_stored = |from: &From| {
            from.kind != FromKind::Table(TableRef::Itself)
                && is_stored_kind(from.kind, self.keys.catalog, self.stored)
        };
        let (stored, left): (Vec<From>, Vec<From>) = select.from.iter().partition(|from| is_stored(from));
        let aliases: Vec<Alias> = stored.iter().map(|from| from.alias).collect();
        let (pure, rest): (Vec<Condition>, Vec<Condition>) =
            std::mem::take(&mut select.filter).into_iter().partition(|condition| {
                let outside = free_aliases(condition).into_iter().any(|alias| !aliases.contains(&alias));
                !outside && self.is_pure(condition)
            });
        (connected(stored, pure), rest, left)
    }

    fn branches(&mut self, condition: &mut Condition, around: &Outside) {
        for branch in condition.branches_mut() {
            self.replace(branch, around);
        }
    }

    /// Whether the store can decide a condition, once it has the condition's own sources.
    fn is_pure(&self, condition: &Condition) -> bool {
        let mut reads_column = false;
        condition.for_each_expr(&mut |expr| reads_column |= is_column(expr, self.column));
        let is_simple = matches!(
            condition,
            Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. }
        );
        // A comparison of values that the question gives is decided when they are put in.
        let is_given = is_simple && free_aliases(condition).is_empty();
        let is_itself = reads_itself(condition.branches());
        let stored =
            condition.branches().iter().all(|branch| reads_stored(branch, self.keys.catalog, self.stored));
        !reads_column && !is_given && !is_itself && stored
    }

    /// The part of a group: a known one if it asks for the same.
    fn part(&mut self, group: StoredGroup) -> EmbeddedId {
        let n_columns = group.wanted.len();
        let mut select =
            Select { from: group.from, filter: group.filter, output: group.wanted.into_iter().collect() };
        number_aliases([&mut select]);
        let answer = if n_columns == 0 {
            PlanAnswer::Decision(vec![select])
        } else {
            let columns = AnswerColumns::OfPart(n_columns);
            PlanAnswer::Rows { selects: vec![select], columns, range: Range::Some(self.most + 1) }
        };
        let plan = prune(Plan::new(self.tables.to_vec(), answer));
        let sources = sources(&plan);
        let part = Part { plan, sources };
        if let Some(known) = self.parts.iter().position(|known| *known == part) {
            return EmbeddedId::from_index(known);
        }
        EmbeddedId::push(&mut self.parts, part)
    }

    fn alias(&mut self) -> Alias {
        self.aliases.take()
    }
}

/// The catalog's relations that a plan reads, ascending.
pub(crate) fn sources(plan: &Plan) -> Vec<SourceId> {
    let mut found = Vec::new();
    plan.for_each_source(&mut |from| {
        if let FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. } =
            from.kind
        {
            found.push(source);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

fn reads_itself(branches: &[Select]) -> bool {
    let mut found = false;
    for branch in branches {
        branch.for_each_source(&mut |from| found |= from.kind == FromKind::Table(TableRef::Itself));
    }
    found
}

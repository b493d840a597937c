//! Lists the rows of an alternative for each row of another source on which several of its conditions depend.
//!
//! What a user may see whom the actor impersonates may depend on several columns of the row: the workspace
//! in which that user has a role, and the user's clearances. Such an alternative is not a set of one column,
//! and a test of it would look that user's rows up again for each row. So it lists rows, by the sets of that
//! user, as if that user asked.
//!
//! ```text
//! impersonates(u, v), roles(v, w) where row.workspace = w and (not row.restricted or clearances(v, row.id))
//!     ─▶   row.id in (d.id of impersonates(u, v), datasets d
//!              where d.workspace in (roles(v, w)) and (not d.restricted or d.id in (clearances(v, …))))
//! ```
//!
//! The sets depend on one source, whose rows are the parameter of the rest. The database makes them once for
//! each of these rows, if it lists the rest for each of them. That is the operator `Apply` (Galindo-Legaria
//! and Joshi, *Orthogonal Optimization of Subqueries and Aggregation*, 2001), in SQL `LATERAL`, which
//! `sql::applied` prints. A test that only looks up few rows stays as it is: a page then stops early.

use super::super::keyed::read_once::read_row_once;
use super::super::sets::set_tests;
use super::super::setting::{Row, Setting};
use super::sets::{link_of, split_select};
use crate::algebra::aliases::{TakenAliases, mentioned};
use crate::algebra::anchor::Anchors;
use crate::algebra::equalities::Equalities;
use crate::algebra::groups::{Around, Group, groups};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, SetUse};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::keys::Keys;
use indexmap::IndexSet;

/// Lists the rows of such alternatives of a filter, which still equate a value with the caller's column.
pub(in super::super) fn list(plan: &mut Plan, setting: &Setting<'_>, keys: Keys<'_>, row: Row<'_>) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(setting.catalog, tables);
    let taken = TakenAliases::of(answer.selects());
    let mut lister = Lister { keys, row, anchors: &anchors, taken };
    for select in answer.selects_mut() {
        if let Some(rows) = lister.listed(select) {
            let column = Expr::Given(row.var);
            let is_listed = Condition::In { expr: column, selects: vec![rows], used: SetUse::ToFind };
            *select = Select { filter: vec![is_listed], ..Select::default() };
        }
    }
}

struct Lister<'a> {
    keys: Keys<'a>,
    row: Row<'a>,
    anchors: &'a Anchors<'a>,
    taken: TakenAliases,
}

/// A select in which tests of the listed rows depend on one other source.
struct Dependent {
    /// That source, and those that lead to it.
    parameter: Select,
    /// The rest.
    rest: Select,
}

impl Lister<'_> {
    /// The rows of an alternative, if it lists them for each row of another source.
    fn listed(&mut self, select: &Select) -> Option<Select> {
        let mut rows = self.rows(select)?;
        read_row_once(&mut rows, self.keys);
        let shown = rows.output.first()?.alias()?;
        let source = |alias: Alias| rows.from.iter().copied().find(|from| from.alias == alias);
        let main = source(shown)?;
        let main = main.kind.seen_row().map_or(Some(main), source)?;
        let Dependent { mut parameter, mut rest } = self.parted(rows, main)?;
        split_select(&mut rest, &[main], self.anchors, &mut self.taken);
        if !self.anchors.is_anchored(&rest) {
            return None;
        }
        rest.filter.iter_mut().for_each(test_inside);
        parameter.from.append(&mut rest.from);
        parameter.filter.append(&mut rest.filter);
        Some(Select { output: rest.output, ..parameter })
    }

    /// An alternative as the rows that it lists.
    fn rows(&self, select: &Select) -> Option<Select> {
        let is_column = |expr: Expr| expr == Expr::Given(self.row.var);
        let place = select.filter.iter().position(|condition| link_of(condition, &is_column).is_some())?;
        let mut rows = select.clone();
        let (_, shown) = link_of(&rows.filter.remove(place), &is_column)?;
        rows.for_each_expr_mut(&mut |expr| {
            if is_column(*expr) {
                *expr = shown;
            }
        });
        let row_key = Equalities::of(&rows).find(shown, |value| self.is_row_key(value, &rows.from));
        rows.output = vec![row_key.unwrap_or(shown)].into();
        Some(rows)
    }

    /// Whether a value is the key by which a source reads a row of the filter's table.
    fn is_row_key(&self, value: Expr, from: &[From]) -> bool {
        let Expr::Column { alias, column } = value else { return false };
        from.iter().any(|from| match from.kind {
            FromKind::Source(source) if from.alias == alias => {
                self.keys.reads(source, column, self.row.promised)
            }
            _ => false,
        })
    }

    /// Parts a select at the one source on which tests of the listed rows depend, if it pays: one of the
    /// tests has several branches, or there is a table of the plan, which a test would read for each row.
    fn parted(&self, rows: Select, main: From) -> Option<Dependent> {
        let Around { main: kept, own, groups: parts } = groups(&rows, main.alias);
        let (mut tested, others): (Vec<Group>, Vec<Group>) =
            parts.into_iter().partition(|group| group.links.iter().any(is_test));
        let Group { from, links, inner } = tested.pop().filter(|_| tested.is_empty())?;
        let reads_table = from.iter().any(|from| from.kind.table().is_some());
        if !reads_table && !links.iter().any(is_choice) {
            return None;
        }
        let alias = parameter_of(&from, &links)?;
        let around = groups(&Select { from, filter: inner, output: IdVec::new() }, alias);
        let shown = Expr::Column { alias, column: ColumnId::FIRST };
        let mut parameter = Select { from: around.main, filter: around.own, output: vec![shown].into() };
        let mut rest = Select { from: kept, filter: own, output: rows.output };
        let is_linked = |group: &Group| {
            group.from.iter().any(|from| links.iter().any(|link| mentioned(link).contains(&from.alias)))
        };
        let (linked, leading): (Vec<Group>, Vec<Group>) = around.groups.into_iter().partition(is_linked);
        leading.into_iter().for_each(|group| add(&mut parameter, group));
        linked.into_iter().chain(others).for_each(|group| add(&mut rest, group));
        rest.filter.extend(links);
        if !self.anchors.is_anchored(&parameter) {
            return None;
        }
        set_tests(&mut parameter, alias, Some(self.anchors));
        Some(Dependent { parameter, rest })
    }
}

/// Adds the sources and conditions of a group.
fn add(select: &mut Select, Group { from, links, inner }: Group) {
    select.from.extend(from);
    select.filter.extend(links.into_iter().chain(inner));
}

/// Whether a condition is more than a comparison.
fn is_test(condition: &Condition) -> bool {
    match condition {
        Condition::Any(_) | Condition::None(_) | Condition::In { .. } => true,
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => false,
    }
}

/// Whether a condition is a test with several branches.
fn is_choice(condition: &Condition) -> bool {
    matches!(condition, Condition::Any(branches) if branches.len() > 1)
}

/// The one of these sources that tests mention.
fn parameter_of(from: &[From], links: &[Condition]) -> Option<Alias> {
    let tested = links.iter().filter(|link| is_test(link)).flat_map(mentioned);
    let tested: IndexSet<Alias> =
        tested.filter(|alias| from.iter().any(|from| from.alias == *alias)).collect();
    if tested.len() == 1 { tested.first().copied() } else { None }
}

/// Tests values that other conditions find in the sets of alternatives.
fn test_inside(condition: &mut Condition) {
    let (Condition::Any(branches) | Condition::None(branches)) = condition else { return };
    for condition in branches.iter_mut().flat_map(|branch| &mut branch.filter) {
        if let Condition::In { used, .. } = condition {
            *used = SetUse::ToTest;
        }
        test_inside(condition);
    }
}

//! The passes of a filter, in their order: from an optimised plan to what is printed.

use super::arms::{RowAliases, by_arms, merge_sets, probed};
use super::denials;
use super::halves::{cost, split};
use super::sort::{literals, look_up, of_row, of_values, take_common, take_guards};
use super::static_tests;
use crate::algebra::anchor::Anchors;
use crate::algebra::verify::{Account, Keeps, Verifier};
use crate::algebra::{Condition, Embedded, Expr, From, FromKind, Plan, PlanAnswer, Select, SetUse, Table};
use crate::bindings::{ColumnExpr, RowTable};
use crate::deadline::Deadline;
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::optimise::{Setting, is_same_for_all_rows};
use crate::pass::{self, Pass, Rewritable};
use crate::question::{CompileError, QuestionVarId};
use crate::sql::local::filter::{Filter, RowAccess};

/// What the passes know, apart from the filter.
#[derive(Clone, Copy)]
pub(crate) struct Arranging<'a> {
    /// The optimised plan.
    pub(crate) plan: &'a Plan,
    /// The setting it was optimised for.
    pub(crate) setting: &'a Setting<'a>,
    /// The rows of embedded sources.
    pub(crate) embedded: &'a [Embedded],
    /// What the plan may refer to.
    pub(crate) verifier: Verifier<'a>,
    /// The caller's column.
    pub(crate) column: &'a ColumnExpr,
}

/// What the alternatives of an optimised plan are.
enum Alternatives<'a> {
    /// Conditions on the caller's row.
    OfRow(&'a [Select]),
    /// Conditions on a row of this table, among whose keys the caller's column is.
    OfKeys(&'a [Select], &'a RowTable),
    /// Values of the caller's column.
    Values(&'a [Select]),
}

impl Rewritable for Filter {
    type Context<'c> = Arranging<'c>;
    type Keeps = Keeps;

    fn deadline(arranging: &Arranging<'_>) -> Deadline {
        arranging.setting.deadline
    }
}

/// All passes, in their order.
const PASSES: &[Pass<Filter>] = &[
    Pass {
        name: "sort-alternatives",
        does: "sorts the alternatives of a filter by their conditions on the column: literals, sets, conditions on the row, guards",
        applies: |_| true,
        keeps: Keeps::Once,
        run: |filter, arranging| match arranging.alternatives() {
            Alternatives::OfRow(selects) => *filter = of_row(selects),
            Alternatives::OfKeys(selects, _) => filter.rows = selects.to_vec(),
            Alternatives::Values(selects) => {
                *filter = of_values(selects, arranging.embedded);
            }
        },
    },
    Pass {
        name: "filter-guards",
        does: "evaluates once the conditions that all alternatives of a filter share and that do not depend on the row",
        applies: |_| true,
        keeps: Keeps::Once,
        run: |filter, arranging| match arranging.alternatives() {
            Alternatives::OfRow(_) | Alternatives::Values(_) => filter.common = take_common(filter),
            Alternatives::OfKeys(..) => take_guards(filter),
        },
    },
    Pass {
        name: "look-up-keys",
        does: "turns conditions that need a row of the promised table into a look-up of the column among the table's keys",
        applies: |arranging| matches!(arranging.alternatives(), Alternatives::OfKeys(..)),
        keeps: Keeps::Once,
        run: |filter, arranging| match arranging.alternatives() {
            Alternatives::OfKeys(_, table) => look_up(filter, table, arranging.column),
            Alternatives::OfRow(_) | Alternatives::Values(_) => {}
        },
    },
    Pass {
        name: "static-tests",
        does: "tests what is the same for all rows in the sets of its alternatives, and lists containers that only some actors may ask for",
        applies: |_| true,
        keeps: Keeps::Once,
        run: |filter, arranging| {
            let (anchors, keys) = (arranging.anchors(), arranging.keys());
            tests_of_rows(filter).for_each(|(rows, _)| static_tests::move_into_sets(rows, &anchors, keys));
        },
    },
    Pass {
        name: "filter-arms",
        does: "tests each alternative of a table in a set by itself, and merges the sets of a column inside conditions",
        applies: |_| true,
        keeps: Keeps::SelectsOnce,
        run: |filter, arranging| {
            let tables = &arranging.plan.tables;
            for (rows, _) in tests_of_rows(filter) {
                let mut aliases = RowAliases::of(rows);
                let conditions = rows.iter_mut().flat_map(|row| &mut row.filter);
                conditions.for_each(|condition| tidy(condition, tables, &mut aliases));
                *rows = rows.iter().flat_map(|row| by_arms(row, tables, &mut aliases)).collect();
            }
        },
    },
    Pass {
        name: "probe-keys",
        does: "replaces a set that does not start from the actor by a look-up by key, where no index finds the rows and each row is tested anyway",
        applies: |_| true,
        keeps: Keeps::Once,
        run: |filter, arranging| {
            let anchors = arranging.anchors();
            // A guard lets every row pass if it holds, so that no index finds them.
            let is_guarded = !filter.guards.is_empty();
            for (rows, access) in tests_of_rows(filter) {
                let is_indexed = rows.iter().all(|row| anchors.has_index(row));
                if !is_indexed {
                    let by_key = |set: &Select| arranging.is_found_by_key(set);
                    *rows = std::mem::take(rows).into_iter().map(|row| probed(row, &by_key)).collect();
                }
                if is_guarded || !is_indexed {
                    *access = RowAccess::EveryRow;
                    cheapest_first(rows);
                }
            }
        },
    },
    Pass {
        name: "merge-sets",
        does: "makes one set of those in which a filter looks up the same column",
        applies: |_| true,
        keeps: Keeps::Once,
        run: |filter, _| tests_of_rows(filter).for_each(|(rows, _)| merge_sets(rows)),
    },
    Pass {
        name: "split-alternatives",
        does: "splits alternatives into conditions that indexes answer completely and others, for which each row is tested",
        applies: |arranging| arranging.setting.features.rechecks_alternatives,
        keeps: Keeps::Once,
        run: |filter, arranging| {
            let anchors = arranging.anchors();
            let ids = arranging.ids_beside_rows(filter);
            if filter.access == RowAccess::ByIndex && split(&mut filter.rows, ids, &anchors) {
                filter.literals.clear();
            }
            if let Some(looked_up) = &mut filter.looked_up
                && looked_up.access == RowAccess::ByIndex
            {
                split(&mut looked_up.rows, None, &anchors);
            }
        },
    },
    Pass {
        name: "list-denials",
        does: "looks a value of the row up in a set of the actor's, instead of testing a denial, where each row is tested anyway",
        // Only where sets may be joined is a look-up printed as one that is never NULL.
        applies: |arranging| {
            let features = arranging.setting.features;
            features.arrays_count_as_few && features.joins_sets
        },
        keeps: Keeps::Once,
        run: |filter, arranging| {
            let anchors = arranging.anchors();
            let tests = tests_of_rows(filter).filter(|(_, access)| **access == RowAccess::EveryRow);
            tests.for_each(|(rows, _)| denials::list(rows, &anchors));
        },
    },
];

/// Arranges a plan; `observe` sees the filter after each pass.
///
/// # Errors
/// [`CompileError::Bug`] if a pass loses a condition; what the passes refuse or take too long for.
pub(in super::super) fn arranged(
    arranging: &Arranging<'_>,
    observe: &mut dyn FnMut(&Pass<Filter>, &Filter),
) -> Result<Filter, CompileError> {
    let Arranging { plan, verifier, .. } = arranging;
    let mut account = Account::of(without_literals((*plan).clone()));
    let mut filter = Filter::default();
    pass::run(PASSES, &mut filter, arranging, &mut |pass, filter| {
        let after = without_literals(filter.plan(&plan.tables));
        account.after(pass.name, pass.keeps, &after, verifier)?;
        observe(pass, filter);
        Ok(())
    })?;
    Ok(filter)
}

/// A filter as a plan, for `explain`: every alternative is a condition on the column or on the row.
pub(in super::super) fn shown(filter: &Filter, var: QuestionVarId, tables: &[Table]) -> Plan {
    let column = Expr::Given(var);
    let test = |condition| Select { filter: vec![condition], ..Select::default() };
    let mut plan = Filter { common: filter.common.clone(), ..Filter::default() }.plan(tables);
    let selects = plan.answer.selects_mut();
    selects.extend(filter.guards.iter().cloned());
    if !filter.literals.is_empty() {
        selects.push(test(Condition::OneOf { expr: column, literals: filter.literals.clone() }));
    }
    for (literal, select) in &filter.conditioned {
        let mut select = select.clone();
        let right = Expr::Const(*literal);
        select.filter.insert(0, Condition::Compare { op: CompareOp::Equal, left: column, right });
        selects.push(select);
    }
    selects.extend(filter.rows.iter().cloned());
    selects.extend(filter.looked_up.iter().flat_map(|looked_up| &looked_up.rows).cloned());
    if !filter.set.is_empty() {
        let (selects_of_set, used) = (filter.set.clone(), SetUse::ToFind);
        selects.push(test(Condition::In { expr: column, selects: selects_of_set, used }));
    }
    plan
}

impl<'a> Arranging<'a> {
    fn alternatives(&self) -> Alternatives<'a> {
        match (&self.plan.answer, self.setting.row) {
            (PlanAnswer::Decision(selects), Some(row)) if row.is_looked_up => {
                Alternatives::OfKeys(selects, row.promised)
            }
            (PlanAnswer::Decision(selects), _) => Alternatives::OfRow(selects),
            (PlanAnswer::Rows { selects, .. }, _) => Alternatives::Values(selects),
        }
    }

    /// The ids that the caller's column may be, as an alternative beside those on the row; `None` if there
    /// are none, or no such alternatives.
    fn ids_beside_rows(&self, filter: &Filter) -> Option<Select> {
        let Filter { literals, rows, looked_up, .. } = filter;
        let row = self.setting.row.filter(|_| !rows.is_empty() && looked_up.is_none())?;
        let ids = Condition::OneOf { expr: Expr::Given(row.var), literals: literals.clone() };
        (!literals.is_empty()).then(|| Select { filter: vec![ids], ..Select::default() })
    }

    fn anchors(&self) -> Anchors<'a> {
        Anchors::new(self.setting.catalog, &self.plan.tables)
    }

    /// The keys that the bindings promise.
    fn keys(&self) -> Option<Keys<'a>> {
        let Setting { catalog, bindings, .. } = self.setting;
        bindings.map(|bindings| Keys { catalog, bindings })
    }

    /// Whether a set has one row by its key: where each row is looked at anyway, it is cheaper looked up than
    /// listed, unless another of its columns equals a value that few rows have, such as the actor, or is
    /// looked up in a set that starts from the actor. For a page, that list may be longer than the rows that
    /// are tested; a count tests every row.
    fn is_found_by_key(&self, set: &Select) -> bool {
        let anchors = self.anchors();
        let finds_few = |condition: &Condition| {
            matches!(condition, Condition::Compare { .. } | Condition::In { used: SetUse::ToFind, .. })
                && anchors.is_indexed(condition, &set.from)
        };
        match (set.from.as_slice(), set.output.as_slice()) {
            ([From { alias, kind: FromKind::Source(source) }], [Expr::Column { alias: shown, column }]) => {
                alias == shown
                    && self.keys().is_some_and(|keys| keys.is_typed_key(*source, *column))
                    && !set.filter.iter().any(finds_few)
            }
            _ => false,
        }
    }
}

/// The conditions on the caller's row and those on a table's rows, each with how it finds them.
fn tests_of_rows(filter: &mut Filter) -> impl Iterator<Item = (&mut Vec<Select>, &mut RowAccess)> {
    let looked_up = filter.looked_up.iter_mut().map(|looked_up| (&mut looked_up.rows, &mut looked_up.access));
    std::iter::once((&mut filter.rows, &mut filter.access)).chain(looked_up)
}

/// Merges the sets of one column among the alternatives of a test.
fn tidy(condition: &mut Condition, tables: &[Table], aliases: &mut RowAliases) {
    let Condition::Any(branches) = condition else { return };
    if !branches.iter().all(Select::reads_nothing) {
        return;
    }
    branches.iter_mut().flat_map(|branch| &mut branch.filter).for_each(|inner| tidy(inner, tables, aliases));
    *branches = branches.iter().flat_map(|branch| by_arms(branch, tables, aliases)).collect();
    merge_sets(branches);
}

/// Sorts alternatives by what they cost: those that are the same for all rows first. If one of them holds,
/// the others are not tested.
fn cheapest_first(rows: &mut [Select]) {
    rows.sort_by_key(|row| {
        let of_row = row.filter.iter().filter(|condition| !is_same_for_all_rows(condition));
        of_row.map(|condition| cost(condition) + 1).max().unwrap_or(0)
    });
    for condition in rows.iter_mut().flat_map(|row| &mut row.filter) {
        if let Condition::Any(branches) = condition
            && branches.iter().all(Select::reads_nothing)
        {
            cheapest_first(branches);
        }
    }
}

/// A plan without the literals that the caller's column may be, which a filter lists by themselves.
fn without_literals(mut plan: Plan) -> Plan {
    plan.answer.selects_mut().iter_mut().for_each(drop_literals);
    plan
}

/// Drops the literals from an alternative, and from the alternatives that it has inside if all it reads is
/// the caller's row: a step may put what alternatives share before them, and a row's alternative is split.
fn drop_literals(select: &mut Select) {
    select.filter.retain(|condition| literals(condition).is_none());
    if select.reads_nothing() {
        let inside = select.filter.iter_mut().filter_map(|condition| match condition {
            Condition::Any(branches) => Some(branches),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. }
            | Condition::None(_) => None,
        });
        inside.flatten().for_each(drop_literals);
    }
}

#[cfg(test)]
mod tests {
    use super::PASSES;

    /// `ARCHITECTURE.md` has a table of the passes, in their order.
    #[test]
    fn the_architecture_lists_the_passes_of_a_filter() {
        let page = include_str!("../../../ARCHITECTURE.md");
        let rows = PASSES.iter().map(|pass| format!("| `{}` | {} |\n", pass.name, pass.does));
        let table = format!("| pass | what it does |\n| --- | --- |\n{}\n", rows.collect::<String>());
        assert!(page.contains(&table), "the page lacks\n{table}");
    }
}

//! Turns the values that a filter's alternatives return into conditions on the caller's row.

use super::super::setting::{Row, Setting};
use super::{fact_condition, rows_of};
use crate::algebra::aliases::TakenAliases;
use crate::algebra::equalities::Equalities;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, PlanAnswer, Select, Table, TableBody};
use crate::bindings::Bindings;
use crate::catalog::{ColumnId, SourceId};
use crate::ir::CompareOp;
use crate::keys::Keys;

/// The most selects that the tables moved into a condition may have; with more they stay a set.
const MOST_ARMS: usize = 64;

/// Makes an answer of rows a decision for the caller's row.
pub(in super::super) fn ask(plan: &mut Plan, row: Row<'_>) {
    let mut selects = std::mem::take(plan.answer.selects_mut());
    for select in &mut selects {
        // An unconstrained value and the row's own value need no condition; any other must equal the row's.
        let is_other = |value: &&Expr| **value != Expr::Unconstrained && **value != Expr::Given(row.var);
        let values = select.output.iter().filter(is_other);
        select.filter.extend(values.map(|value| is_row(*value, row)).collect::<Vec<_>>());
        select.output.clear();
    }
    plan.answer = PlanAnswer::Decision(selects);
}

fn is_row(value: Expr, row: Row<'_>) -> Condition {
    Condition::Compare { op: CompareOp::Equal, left: value, right: Expr::Given(row.var) }
}

/// Replaces look-ups of the row by the row, and tables that answer with rows by their selects.
pub(in super::super) fn show_row(plan: &mut Plan, setting: &Setting<'_>, bindings: &Bindings, row: Row<'_>) {
    let Plan { tables, answer, .. } = plan;
    let of_tables = tables.iter().flat_map(|table| table.body.selects());
    let aliases = TakenAliases::of(answer.selects().iter().chain(of_tables));
    let mut asker = Asker { setting, bindings, row, tables, aliases, left: MOST_ARMS };
    answer.selects_mut().iter_mut().for_each(|select| asker.select(select, &[]));
}

struct Asker<'a> {
    setting: &'a Setting<'a>,
    bindings: &'a Bindings,
    row: Row<'a>,
    tables: &'a [Table],
    aliases: TakenAliases,
    /// How many selects may still be moved.
    left: usize,
}

impl Asker<'_> {
    fn select(&mut self, select: &mut Select, around: &[From]) {
        join_only(select);
        self.equate(select);
        for from in &mut select.from {
            if let FromKind::Source(source) = from.kind
                && let Some(key) = self.key(source)
                && select.filter.contains(&is_row(Expr::Column { alias: from.alias, column: key }, self.row))
            {
                let shown = is_row(Expr::Column { alias: from.alias, column: key }, self.row);
                select.filter.retain(|condition| *condition != shown);
                from.kind = FromKind::Row { source, key };
                select.filter.extend(fact_condition(source, self.row, self.keys()));
            }
        }
        let rows: Vec<From> = around.iter().copied().chain(rows_of(&select.from)).collect();
        self.move_tables(select, &rows);
        for condition in &mut select.filter {
            match condition {
                Condition::Any(branches) | Condition::None(branches) => {
                    branches.iter_mut().for_each(|branch| self.select(branch, &rows));
                }
                Condition::Compare { .. }
                | Condition::OneOf { .. }
                | Condition::Meets { .. }
                | Condition::In { .. } => {}
            }
        }
        one_for_each_source(select, around);
    }

    fn keys(&self) -> Keys<'_> {
        Keys { catalog: self.setting.catalog, bindings: self.bindings }
    }

    /// The column of a relation that is the key of the caller's row.
    fn key(&self, source: SourceId) -> Option<ColumnId> {
        let keys = self.keys();
        let mut columns = keys.catalog.relations[source].column_ids();
        columns.find(|column| keys.reads(source, *column, self.row.promised))
    }

    /// Writes the caller's column for every value that equals it, and keeps one equality for each.
    fn equate(&self, select: &mut Select) {
        let given = Expr::Given(self.row.var);
        let equal: Vec<Expr> = {
            let equalities = Equalities::of(select);
            equalities.of_value(given).filter(|expr| matches!(expr, Expr::Column { .. })).collect()
        };
        if equal.is_empty() {
            return;
        }
        select.for_each_expr_mut(&mut |expr| {
            if equal.contains(expr) {
                *expr = given;
            }
        });
        let is_trivial = |condition: &Condition| matches!(condition, Condition::Compare { op: CompareOp::Equal, left, right } if left == right);
        select.filter.retain(|condition| !is_trivial(condition));
        select.filter.extend(equal.into_iter().map(|value| is_row(value, self.row)));
    }

    /// Moves the selects of tables that answer with rows into the condition: a table of which only the row's
    /// own values are asked.
    fn move_tables(&mut self, select: &mut Select, rows: &[From]) {
        for from in select.from.clone() {
            let Some(table) = from.kind.table() else { continue };
            let TableBody::Union(arms) = &table.of(self.tables).body else { continue };
            if arms.len() > self.left || !self.asks_row_alone(select, from.alias, rows) {
                continue;
            }
            self.left -= arms.len();
            let mut conditions = Vec::new();
            select.filter.retain(|condition| {
                let is_of_table = mentions(condition, from.alias);
                if is_of_table {
                    conditions.push(condition.clone());
                }
                !is_of_table
            });
            select.from.retain(|known| known.alias != from.alias);
            let arms = arms.iter().filter_map(|arm| self.arm(arm, from.alias, &conditions)).collect();
            select.filter.push(Condition::Any(arms));
        }
    }

    /// Whether every condition on a source compares it with values of the row, and one with its key.
    fn asks_row_alone(&self, select: &Select, alias: Alias, rows: &[From]) -> bool {
        let is_known = |expr: Expr| {
            expr.alias().is_none_or(|other| other == alias || rows.iter().any(|row| row.alias == other))
        };
        let mut asks_key = false;
        let mut is_alone = true;
        for condition in select.filter.iter().filter(|condition| mentions(condition, alias)) {
            match condition {
                Condition::Compare { op, left, right } => {
                    is_alone &= is_known(*left) && is_known(*right);
                    asks_key |=
                        *op == CompareOp::Equal && [*left, *right].contains(&Expr::Given(self.row.var));
                }
                Condition::OneOf { .. } | Condition::Meets { .. } => {}
                Condition::In { .. } | Condition::Any(_) | Condition::None(_) => is_alone = false,
            }
        }
        is_alone && asks_key
    }

    /// One select of a table, with the conditions on the table's columns rewritten over the select's outputs;
    /// none if they ask for another literal than it returns, such as the tag of another predicate, whose
    /// columns may have other types.
    fn arm(&mut self, arm: &Select, alias: Alias, conditions: &[Condition]) -> Option<Select> {
        let mut arm = arm.clone();
        self.aliases.raise(&mut arm);
        self.aliases.add(&arm);
        let output = std::mem::take(&mut arm.output);
        for condition in conditions {
            let mut condition = condition.clone();
            condition.for_each_expr_mut(&mut |expr| {
                if let Expr::Column { alias: of, column } = *expr
                    && of == alias
                {
                    *expr = output[column];
                }
            });
            match condition {
                Condition::Compare {
                    op: CompareOp::Equal,
                    left: Expr::Const(left),
                    right: Expr::Const(right),
                } => {
                    if left != right {
                        return None;
                    }
                }
                _ => arm.filter.push(condition),
            }
        }
        Some(arm)
    }
}

/// Whether a condition mentions a source.
fn mentions(condition: &Condition, alias: Alias) -> bool {
    let mut found = false;
    condition.for_each_expr(&mut |expr| found |= expr.alias() == Some(alias));
    found
}

/// Joins the branch of each test that has only one: it is about the same row.
fn join_only(select: &mut Select) {
    let mut at = 0;
    while let Some(condition) = select.filter.get_mut(at) {
        let only = match condition {
            Condition::Any(branches) => match branches.as_mut_slice() {
                [only] => Some(std::mem::take(only)),
                _ => None,
            },
            _ => None,
        };
        match only {
            Some(only) => {
                select.filter.remove(at);
                select.from.extend(only.from);
                select.filter.extend(only.filter);
            }
            None => at += 1,
        }
    }
}

/// Of several sources that expose the row through one bound query, uses only the first.
fn one_for_each_source(select: &mut Select, around: &[From]) {
    let rows: Vec<From> = rows_of(&select.from).collect();
    for row in rows {
        let first = around.iter().copied().chain(rows_of(&select.from)).find(|known| known.kind == row.kind);
        let Some(first) = first.filter(|first| first.alias != row.alias) else { continue };
        select.for_each_expr_mut(&mut |expr| {
            if let Expr::Column { alias, .. } = expr
                && *alias == row.alias
            {
                *alias = first.alias;
            }
        });
    }
}

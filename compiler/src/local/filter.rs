//! Sorts the alternatives of a filter by what they ask of the caller's column.
//!
//! In: an optimised plan. Where the bindings promise that the column is the key of a table, its alternatives
//! are conditions on the caller's row, see [`crate::optimise`]; otherwise they answer with the column's
//! values. Out: literals, sets, tests of the row, and guards that let every row pass. If the column only has
//! the key's values, as that of an alias, then the conditions that need a row of the table are asked of the
//! table, and the column is looked up among the keys of the rows that pass.
//!
//! Where each alternative has a condition that an index can serve, the sets of the others are arrays, which
//! indexes serve, too; where one has not, every row is read anyway, and sets are hashed.

use super::arms::{by_arms, merge_sets, probed};
use super::asked::{Asked, Form};
use crate::algebra::aliases::free_aliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::verify::Keeps;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, PlanAnswer, Select};
use crate::bindings::{ColumnExpr, Family, Name, RowTable};
use crate::ir::{CompareOp, ConstId};
use crate::optimise::key::is_key;
use crate::optimise::{Row, Setting, sets, take_common as take_common_guards};
use crate::question::CompileError;
use crate::sql::forms::{Filter, LocalStatement, LookedUp, column_text};
use crate::sql::outline::{FilterColumn, Outline, SlowPart};
use crate::sql::template::Template;

/// The row that a filter tests, if the bindings promise a table with a unique column for the type of its
/// column. `given` is the variable whose value the plan takes as given, if it tests the column row by row
/// anyway.
pub(super) fn row<'a>(asked: &Asked<'a>, given: Option<usize>) -> Option<Row<'a>> {
    let Form::Filter { var, column } = asked.form else { return None };
    let ty = asked.question.vars.get(*var)?.ty.as_deref()?;
    let promised = asked.bindings.tables.get(ty)?;
    let (name, qualifier) = column.name.as_ref()?.split_last()?;
    let is_itself = *name == promised.column && !qualifier.is_empty() && promised.table.ends_with(qualifier);
    // Both columns must hold the same values in the same way.
    let is_declared = asked.bindings.sql_types.get(ty).is_some_and(|ty| match ty.family {
        Family::Integer | Family::Uuid | Family::Text => true,
        Family::Numeric | Family::IntegerAffinity | Family::Padded | Family::Other | Family::Ambiguous => {
            false
        }
    });
    let is_row = given.is_none() && (is_itself || is_declared);
    is_row.then_some(Row { var: *var, promised, is_looked_up: !is_itself })
}

/// Whether each alternative of a filter either needs a row of the promised table to exist or asks nothing of
/// such a row. The column's own values need not be in the table.
pub(super) fn is_separable(plan: &Plan) -> bool {
    match &plan.answer {
        PlanAnswer::Decision(selects) => selects.iter().all(|select| needs_row(select) || !sees_row(select)),
        PlanAnswer::Rows { .. } => true,
    }
}

fn needs_row(select: &Select) -> bool {
    select.from.iter().any(|from| matches!(from.kind, FromKind::Row { .. }))
        || select.filter.iter().any(|condition| match condition {
            Condition::Any(branches) => branches.iter().all(needs_row),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::In { .. }
            | Condition::None(_) => false,
        })
}

fn sees_row(select: &Select) -> bool {
    let mut sees = false;
    select.for_each_source(&mut |from| sees |= matches!(from.kind, FromKind::Row { .. }));
    sees
}

/// Prints the filter of an optimised plan.
pub(super) fn print(
    statement: LocalStatement<'_>,
    plan: &Plan,
    setting: &Setting<'_>,
    given: Option<usize>,
    var: usize,
    column: &ColumnExpr,
    asked: &Asked<'_>,
) -> Result<(Template, Outline), CompileError> {
    let ty = asked.question.vars.get(var).and_then(|var| var.ty.as_deref()).unwrap_or_default();
    let text = column_text(column);
    let representation = statement.represent_column(column, ty);
    if given.is_some() {
        let outline = Outline { slow: vec![SlowPart::RowTest], ..Outline::default() };
        return Ok((statement.row_test(plan, &text, var, representation)?, outline));
    }
    let mut filter = match (&plan.answer, setting.row) {
        (PlanAnswer::Decision(selects), Some(row)) if row.is_looked_up => {
            let is_qualified = column.name.as_ref().is_some_and(|name| name.len() > 1);
            looked_up(selects, row.promised, is_qualified, setting, plan)?
        }
        (PlanAnswer::Decision(selects), _) => {
            let mut filter = of_row(selects);
            filter.common = take_common(&mut filter);
            arrange(&mut filter, setting, plan);
            filter
        }
        (PlanAnswer::Rows { .. }, _) => of_values(plan.clone(), &statement, setting)?,
    };
    if cfg!(debug_assertions) && matches!(plan.answer, PlanAnswer::Decision(_)) {
        let after = filter.plan(&plan.tables);
        let [before, after] = [plan.clone(), after].map(without_literals);
        statement.verifier.account("filter", Keeps::SelectsOnce, &before, &after, &[])?;
    }
    filter.row = setting.row.filter(|row| !row.is_looked_up).and_then(|row| {
        let (_, qualifier) = column.name.as_ref()?.split_last()?;
        Some((Name::path(qualifier), row.promised.column.clone()))
    });
    let outline = if asked.explains {
        statement.filter_outline(plan, &filter, &FilterColumn { var, column, ty })
    } else {
        Outline::default()
    };
    Ok((statement.filter(plan, &filter, var, &text, &representation)?, outline))
}

/// Sorts the conditions of a filter over another column with the table's keys: those that need a row of the
/// table become a look-up in the table.
fn looked_up(
    selects: &[Select],
    table: &RowTable,
    is_qualified: bool,
    setting: &Setting<'_>,
    plan: &Plan,
) -> Result<Filter, CompileError> {
    let mut guarded = selects.to_vec();
    let mut common = take_common_guards(&mut guarded);
    // A condition on the row stays where the row is.
    let selects = if asks_row(&common) {
        common.clear();
        selects.to_vec()
    } else {
        guarded
    };
    let (of_table, others): (Vec<Select>, Vec<Select>) = selects.into_iter().partition(needs_row);
    let mut keys = of_row(&of_table);
    arrange(&mut keys, setting, plan);
    if !keys.literals.is_empty() || !keys.guards.is_empty() {
        return Err(CompileError::Bug("a condition on rows that needs none".into()));
    }
    let mut filter = of_row(&others);
    arrange(&mut filter, setting, plan);
    let looked_up = LookedUp { table: table.clone(), rows: keys.rows, hashes: keys.hashes, is_qualified };
    Ok(Filter { common, looked_up: Some(looked_up), ..filter })
}

/// Sorts conditions on the caller's row.
fn of_row(selects: &[Select]) -> Filter {
    let mut filter = Filter::default();
    for select in selects {
        let only = match (select.from.as_slice(), select.filter.as_slice()) {
            ([], [only]) => literals(only),
            _ => None,
        };
        match only {
            Some(literals) => filter.literals.extend(literals),
            None if !select.from.is_empty() || asks_row(&select.filter) => filter.rows.push(select.clone()),
            None => filter.guards.push(select.clone()),
        }
    }
    filter.literals.sort_unstable();
    filter.literals.dedup();
    filter
}

/// The literals that the caller's column may be, by a condition that asks nothing else.
fn literals(condition: &Condition) -> Option<Vec<ConstId>> {
    match condition {
        Condition::Compare { op: CompareOp::Equal, left, right } => match (left, right) {
            (Expr::Const(literal), Expr::Given(_)) | (Expr::Given(_), Expr::Const(literal)) => {
                Some(vec![*literal])
            }
            _ => None,
        },
        Condition::OneOf { expr: Expr::Given(_), literals } => Some(literals.clone()),
        _ => None,
    }
}

/// A plan without the literals that the caller's column may be, which a filter lists by themselves.
fn without_literals(mut plan: Plan) -> Plan {
    for select in plan.answer.selects_mut() {
        select.filter.retain(|condition| literals(condition).is_none());
    }
    plan
}

/// Arranges tests of the row so that indexes find the rows, or else that each row is tested fast.
fn arrange(filter: &mut Filter, setting: &Setting<'_>, plan: &Plan) {
    filter.rows.iter_mut().for_each(|row| row.filter.iter_mut().for_each(|condition| tidy(condition, plan)));
    let rows = std::mem::take(&mut filter.rows);
    filter.rows = rows.iter().flat_map(|row| by_arms(row, &plan.tables)).collect();
    let anchors = Anchors { catalog: setting.catalog, tables: &plan.tables };
    filter.hashes = !filter.rows.iter().all(|row| anchors.has_index(row));
    if filter.hashes {
        // Each row is looked at anyway: what is one row by its key is cheaper looked up than listed.
        let is_row = |set: &Select| match (set.from.as_slice(), set.output.as_slice()) {
            ([From { alias, kind: FromKind::Source(source) }], [Expr::Column { alias: shown, column }]) => {
                let bindings = setting.bindings;
                alias == shown
                    && bindings.is_some_and(|bindings| is_key(setting.catalog, bindings, *source, *column))
            }
            _ => false,
        };
        filter.rows = std::mem::take(&mut filter.rows).into_iter().map(|row| probed(row, &is_row)).collect();
    }
    merge_sets(&mut filter.rows);
}

/// Whether conditions mention the caller's row.
fn asks_row(conditions: &[Condition]) -> bool {
    let mut found = false;
    for condition in conditions {
        condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
        for branch in condition.branches() {
            branch.for_each_source(&mut |from| found |= matches!(from.kind, FromKind::Row { .. }));
        }
    }
    found
}

/// Merges the sets of one column among the alternatives of a test.
fn tidy(condition: &mut Condition, plan: &Plan) {
    let Condition::Any(branches) = condition else { return };
    if !branches.iter().all(Select::reads_nothing) {
        return;
    }
    branches.iter_mut().for_each(|branch| branch.filter.iter_mut().for_each(|inner| tidy(inner, plan)));
    *branches = branches.iter().flat_map(|branch| by_arms(branch, &plan.tables)).collect();
    merge_sets(branches);
}

/// Sorts alternatives that answer with values of the column.
fn of_values(
    mut plan: Plan,
    statement: &LocalStatement<'_>,
    setting: &Setting<'_>,
) -> Result<Filter, CompileError> {
    let before = plan.clone();
    let mut filter = Filter::default();
    let Plan { tables, answer, .. } = &mut plan;
    let anchors = Anchors { catalog: setting.catalog, tables };
    for select in answer.selects_mut() {
        match select.output.first().copied() {
            Some(Expr::Const(literal)) if select.is_unit() => filter.literals.push(literal),
            Some(Expr::Const(literal)) => {
                filter.conditioned.push((literal, Select { output: Vec::new(), ..select.clone() }));
            }
            Some(Expr::Column { alias, column }) => {
                let from = select.from.iter().find(|from| from.alias == alias).copied();
                match from.map(|from| from.kind) {
                    Some(FromKind::Embedded(rows)) if select.from.len() == 1 && select.filter.is_empty() => {
                        let rows = rows.of(statement.embedded).rows.iter();
                        let cells = rows.flatten().filter_map(|row| row.get(column).copied());
                        filter.literals.extend(cells);
                    }
                    _ => {
                        sets::set_tests(select, alias, &anchors);
                        filter.set.push(select.clone());
                    }
                }
            }
            _ => filter.guards.push(Select { output: Vec::new(), ..select.clone() }),
        }
    }
    filter.literals.sort_unstable();
    filter.literals.dedup();
    filter.common = take_common(&mut filter);
    statement.verifier.account("filter", Keeps::Once, &before, &filter.plan(&plan.tables), &[])?;
    Ok(filter)
}

/// Takes out what every alternative of a filter asks of no row.
fn take_common(filter: &mut Filter) -> Vec<Condition> {
    if !filter.literals.is_empty() {
        return Vec::new();
    }
    let conditioned = filter.conditioned.iter_mut().map(|(_, select)| select);
    let all = conditioned.chain(&mut filter.rows).chain(&mut filter.set).chain(&mut filter.guards);
    let mut all: Vec<&mut Select> = all.collect();
    if let [only] = all.as_mut_slice() {
        let is_common = |condition: &Condition| {
            free_aliases(condition).is_empty() && !asks_row(std::slice::from_ref(condition))
        };
        if only.from.is_empty() && !asks_row(&only.filter) {
            return Vec::new();
        }
        let (common, own) = std::mem::take(&mut only.filter).into_iter().partition(is_common);
        only.filter = own;
        return common;
    }
    let mut selects: Vec<Select> = all.iter_mut().map(|select| std::mem::take(*select)).collect();
    let common = take_common_guards(&mut selects);
    for (slot, select) in all.into_iter().zip(selects) {
        *slot = select;
    }
    // A condition on the row stays where the key is known not to be NULL. All alternatives are conditions on
    // the row then.
    let (of_row, common): (Vec<Condition>, Vec<Condition>) =
        common.into_iter().partition(|condition| asks_row(std::slice::from_ref(condition)));
    if !of_row.is_empty() {
        let rows = std::mem::take(&mut filter.rows);
        let is_all = rows.iter().any(Select::is_unit);
        let alternatives = (!is_all).then_some(Condition::Any(rows));
        let filtered = of_row.into_iter().chain(alternatives).collect();
        filter.rows = vec![Select { filter: filtered, ..Select::default() }];
    }
    common
}

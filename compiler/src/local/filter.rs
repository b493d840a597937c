//! Sorts the alternatives of a filter by what they ask of the caller's column.
//!
//! In: a folded plan whose answer is the column's variable. Out: literals, sets, tests of the caller's row,
//! and guards that let every row pass. Where the bindings promise that the column is the key of a table, an
//! alternative that would look the row up by it reads the row's own columns instead:
//!
//! ```text
//! issues.id IN (SELECT t1.id FROM issues AS t1 WHERE t1.repo_id IN (…))   ─▶   issues.repo_id IN (…)
//! ```

use super::Asked;
use super::anchor::Anchors;
use crate::algebra::TableRef;
use crate::algebra::verify::Keeps;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select, Table, TableBody};
use crate::bindings::{Bindings, ColumnExpr, Name, RowTable};
use crate::ir::CompareOp;
use crate::optimise::key::{is_key, reads};
use crate::optimise::{sets, take_common as take_common_guards};
use crate::question::CompileError;
use crate::sql::forms::{Filter, LocalStatement, column_text};
use crate::sql::template::Template;

/// Prints the filter of a folded plan. `given` is the variable whose value the plan takes as given, if it
/// tests the column row by row.
pub(super) fn print(
    statement: LocalStatement<'_>,
    plan: &mut Plan,
    given: Option<usize>,
    var: usize,
    column: &ColumnExpr,
    asked: &Asked<'_>,
) -> Result<Template, CompileError> {
    let ty = asked.question.vars.get(var).and_then(|var| var.ty.as_deref()).unwrap_or_default();
    let text = column_text(column);
    let representation = statement.represent_column(column, ty);
    if given.is_some() {
        return statement.row_test(plan, &text, var, representation);
    }
    let verifier = statement.verifier;
    let before = cfg!(debug_assertions).then(|| plan.clone());
    let key = Key::of(asked.bindings, ty, column);
    let mut filter = Filter::default();
    let embedded = statement.embedded;
    let catalog = statement.catalog;
    for select in plan.answer.selects_mut() {
        match select.output.first().copied() {
            Some(Expr::Const(literal)) if select.is_unit() => filter.literals.push(literal),
            Some(Expr::Const(literal)) => {
                filter.conditioned.push((literal, Select { output: Vec::new(), ..select.clone() }));
            }
            Some(Expr::Column { alias, column }) => {
                let from = select.from.iter().find(|from| from.alias == alias).copied();
                match from.map(|from| from.kind) {
                    Some(FromKind::Embedded(index)) if select.from.len() == 1 && select.filter.is_empty() => {
                        let rows = embedded.get(index).and_then(|embedded| embedded.rows.as_ref());
                        let cells = rows.into_iter().flatten().filter_map(|row| row.get(column).copied());
                        filter.literals.extend(cells);
                    }
                    Some(FromKind::Source(source))
                        if key.as_ref().is_some_and(|key| {
                            reads(catalog, asked.bindings, source, column, key.promised)
                        }) =>
                    {
                        if let Some(from) = select.from.iter_mut().find(|from| from.alias == alias) {
                            *from = From { alias, kind: FromKind::Row(source) };
                        }
                        sets::set_tests(select, alias);
                        filter.rows.push(Select { output: Vec::new(), ..select.clone() });
                    }
                    _ => {
                        sets::set_tests(select, alias);
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
    if let Some(before) = before {
        verifier.account("filter", Keeps::Once, &before, &filter.plan(&plan.tables), &[])?;
    }
    filter.rows = filter.rows.iter().flat_map(|row| by_arms(row, &plan.tables)).collect();
    let anchors = Anchors { catalog, tables: &plan.tables };
    let is_large = |set: &Select| !anchors.is_anchored(set);
    filter.rows = filter.rows.into_iter().map(|row| probed(row, &is_large)).collect();
    let is_probe = |condition: &Condition| matches!(condition, Condition::Any(_) | Condition::None(_));
    filter.hashes = filter.rows.iter().any(|row| row.filter.iter().any(is_probe));
    if filter.hashes {
        // Each row is looked at anyway: what is one row by its key is cheaper looked up than listed.
        let is_row = |set: &Select| match (set.from.as_slice(), set.output.as_slice()) {
            ([From { alias, kind: FromKind::Source(source) }], [Expr::Column { alias: shown, column }]) => {
                alias == shown && is_key(catalog, asked.bindings, *source, *column)
            }
            _ => false,
        };
        filter.rows = filter.rows.into_iter().map(|row| probed(row, &is_row)).collect();
    }
    merge_sets(&mut filter.rows);
    filter.row = key.map(|key| (key.row, key.promised.column.clone()));
    statement.filter(plan, &filter, &text, &representation)
}

/// A column that is the key of the caller's current row.
struct Key<'b> {
    promised: &'b RowTable,
    /// What the caller's query calls the row.
    row: String,
}

impl<'b> Key<'b> {
    /// If the bindings promise it of this type, and the filter's column is exactly that one.
    fn of(bindings: &'b Bindings, ty: &str, column: &ColumnExpr) -> Option<Self> {
        let promised = bindings.tables.get(ty)?;
        let (name, qualifier) = column.name.as_ref()?.split_last()?;
        let is_whole = promised.table.ends_with(qualifier) && !qualifier.is_empty();
        (is_whole && *name == promised.column).then(|| Self { promised, row: Name::path(qualifier) })
    }
}

/// Takes out what every alternative of a filter asks of no row.
fn take_common(filter: &mut Filter) -> Vec<Condition> {
    if !filter.literals.is_empty() {
        return Vec::new();
    }
    let conditioned = filter.conditioned.iter_mut().map(|(_, select)| select);
    let all = conditioned.chain(&mut filter.rows).chain(&mut filter.set).chain(&mut filter.guards);
    let mut all: Vec<&mut Select> = all.collect();
    let mut selects: Vec<Select> = all.iter_mut().map(|select| std::mem::take(*select)).collect();
    let common = take_common_guards(&mut selects);
    for (slot, select) in all.into_iter().zip(selects) {
        *slot = select;
    }
    common
}

/// One test of a set for each arm of the tables that make the set.
fn by_arms(row: &Select, tables: &[Table]) -> Vec<Select> {
    let mut row = row.clone();
    let Some((_, selects)) = set_of(&mut row) else { return vec![row] };
    let mut arms = Vec::new();
    for select in std::mem::take(selects) {
        match (select.from.as_slice(), select.filter.as_slice(), select.output.as_slice()) {
            (
                [From { alias, kind: FromKind::Table(TableRef::Table(table)) }],
                [],
                [Expr::Column { alias: shown, column }],
            ) if alias == shown => match tables.get(*table).map(|table| &table.body) {
                Some(TableBody::Union(union)) => arms.extend(union.iter().map(|arm| {
                    let output = arm.output.get(*column).copied().into_iter().collect();
                    Select { output, ..arm.clone() }
                })),
                _ => arms.push(select),
            },
            _ => arms.push(select),
        }
    }
    let with = |arm: Select| {
        let mut row = row.clone();
        if let Some((_, selects)) = set_of(&mut row) {
            *selects = vec![arm];
        }
        row
    };
    arms.into_iter().map(with).collect()
}

/// A test of a set that is better not listed becomes a look-up of the row's own value in it.
fn probed(row: Select, is_better: &impl Fn(&Select) -> bool) -> Select {
    let [Condition::In { expr, selects }] = row.filter.as_slice() else { return row };
    let [set] = selects.as_slice() else { return row };
    if !is_better(set) {
        return row;
    }
    let mut set = set.clone();
    // The set's sources get numbers that the row's does not have.
    let mut highest = 0;
    row.clone().for_each_alias_mut(&mut |alias| highest = highest.max(*alias));
    set.for_each_alias_mut(&mut |alias| *alias += highest);
    let output = std::mem::take(&mut set.output);
    let equal = output.into_iter().map(|value| Condition::Compare {
        op: CompareOp::Equal,
        left: value,
        right: *expr,
    });
    set.filter.extend(equal);
    Select { filter: vec![Condition::Any(vec![set])], ..row.clone() }
}

/// Makes one test of those that look the same column of the row up in different sets.
fn merge_sets(rows: &mut Vec<Select>) {
    let mut merged: Vec<Select> = Vec::new();
    for mut row in std::mem::take(rows) {
        let place = set_of(&mut row).map(|(place, _)| place);
        let known = merged.iter_mut().filter_map(set_of).find(|(known, _)| Some(*known) == place);
        match (known, set_of(&mut row)) {
            (Some((_, known)), Some((_, new))) => known.append(new),
            _ => merged.push(row),
        }
    }
    *rows = merged;
}

/// If a select over the caller's row is nothing but a test of a set: the relation and column that are tested,
/// and the set.
fn set_of(select: &mut Select) -> Option<((usize, usize), &mut Vec<Select>)> {
    match (select.from.as_slice(), select.filter.as_mut_slice()) {
        (
            [From { kind: FromKind::Row(source), .. }],
            [Condition::In { expr: Expr::Column { column, .. }, selects }],
        ) => Some(((*source, *column), selects)),
        _ => None,
    }
}

//! The rows of an answer, and the tables that a finished plan still needs.

use super::algebra::{Condition, Expr, FromKind, Plan, Select, Table};
use super::planner::type_of;
use crate::question::{Shape, ShapeDomain};
use crate::specialise::clause::{Output, Root, TableRef};

/// One row of the answer: the bound terms' values in their order, with types and wildcards put in.
pub(super) fn row(shape: &Shape, root: &Root, bound: &[Expr]) -> Vec<Expr> {
    let mut bound = bound.iter().copied();
    let mut outputs = root.outputs.iter();
    let mut row = Vec::new();
    for var in &shape.vars {
        match var.domain {
            ShapeDomain::Wanted | ShapeDomain::GivenOneOf => {}
            ShapeDomain::Literal(_) | ShapeDomain::Given | ShapeDomain::Ignored => continue,
        }
        let Some(output) = outputs.next() else { continue };
        if var.ty.is_none() {
            row.push(type_of(output).map_or(Expr::Unconstrained, Expr::TypeName));
        }
        row.push(match output {
            Output::Term(..) => bound.next().unwrap_or(Expr::Unconstrained),
            Output::Unconstrained(_) => Expr::Unconstrained,
        });
    }
    row
}

/// Removes tables that nothing reads, and numbers the others anew.
pub(crate) fn prune(plan: Plan) -> Plan {
    let Plan { tables, mut guard, mut answer } = plan;
    let mut needed = vec![false; tables.len()];
    let mut queue = Vec::new();
    answer.selects_mut().iter_mut().chain([&mut guard]).for_each(|select| {
        for_each_table(select, &mut |table| queue.push(*table));
    });
    let mut tables: Vec<Option<Table>> = tables.into_iter().map(Some).collect();
    while let Some(next) = queue.pop() {
        if let Some(slot) = needed.get_mut(next)
            && !*slot
        {
            *slot = true;
            if let Some(Some(table)) = tables.get_mut(next) {
                table.body.selects_mut().for_each(|select| {
                    for_each_table(select, &mut |table| queue.push(*table));
                });
            }
        }
    }
    let mut count = 0;
    let numbers: Vec<usize> = needed
        .iter()
        .map(|needed| {
            count += usize::from(*needed);
            count.saturating_sub(1)
        })
        .collect();
    let mut renumber = |table: &mut usize| {
        if let Some(number) = numbers.get(*table) {
            *table = *number;
        }
    };
    let readers = answer.selects_mut().iter_mut().chain([&mut guard]);
    readers.for_each(|select| for_each_table(select, &mut renumber));
    let kept = tables.into_iter().zip(&needed).filter_map(|(table, needed)| table.filter(|_| *needed));
    let tables = kept.map(|mut table| {
        table.body.selects_mut().for_each(|select| for_each_table(select, &mut renumber));
        table
    });
    Plan { tables: tables.collect(), guard, answer }
}

fn for_each_table(select: &mut Select, visit: &mut impl FnMut(&mut usize)) {
    for from in &mut select.from {
        if let FromKind::Table(TableRef::Table(table)) = &mut from.kind {
            visit(table);
        }
    }
    for condition in &mut select.filter {
        if let Condition::In { selects: branches, .. }
        | Condition::Any(branches)
        | Condition::None(branches) = condition
        {
            branches.iter_mut().for_each(|branch| for_each_table(branch, visit));
        }
    }
}

//! Drops the columns of a table that nothing reads.
//!
//! In: a plan, and one of its tables whose readers are final. Out: the same plan, in which the
//! table has only columns that a reader asks for, or that a step needs to make one of those. A closure loses
//! the column in which it kept where it started, and with it the rows that differ only there.

use crate::algebra::{Alias, Expr, FromKind, Plan, Select, Table, TableBody, TableId, TableRef};
use indexmap::IndexSet;

/// Drops the unread columns of one table; one column stays, so that a reader can ask whether there is a row.
pub(super) fn drop_unread(plan: &mut Plan, id: TableId) {
    let mut read = IndexSet::new();
    for_each_reader(plan, id, &mut |select, aliases| {
        for_each_column(select, aliases, &mut |column| {
            read.insert(*column);
        });
    });
    let table = id.of_mut(&mut plan.tables);
    if read.is_empty() {
        read.insert(0);
    }
    match &mut table.body {
        TableBody::Union(_) => {}
        TableBody::Recursive { step, .. } => read_by_steps(step, &mut read),
        TableBody::WholeState { .. } => return,
    }
    read.sort_unstable();
    if read.len() < table.n_columns {
        keep(table, &read);
        for_each_reader(plan, id, &mut |select, aliases| renumber(select, aliases, &read));
    }
}

/// Adds what the steps need of the row before to make the columns that are read.
fn read_by_steps(step: &[Select], read: &mut IndexSet<usize>) {
    loop {
        let before = read.len();
        for select in step {
            let own = aliases_of(select, TableRef::Itself);
            let made = select.output.iter().enumerate().filter(|(place, _)| read.contains(place));
            let mut needed: Vec<Expr> = made.map(|(_, expr)| *expr).collect();
            select.filter.iter().for_each(|condition| condition.for_each_expr(&mut |expr| needed.push(expr)));
            read.extend(needed.into_iter().filter_map(|expr| match expr {
                Expr::Column { alias, column } if own.contains(&alias) => Some(column),
                _ => None,
            }));
        }
        if read.len() == before {
            return;
        }
    }
}

fn keep(table: &mut Table, read: &IndexSet<usize>) {
    table.n_columns = read.len();
    for select in table.body.selects_mut() {
        select.output = read.iter().filter_map(|column| select.output.get(*column).copied()).collect();
        let own = aliases_of(select, TableRef::Itself);
        renumber(select, &own, read);
    }
}

/// Visits the selects that read a table, with the aliases under which they do.
fn for_each_reader(plan: &mut Plan, table: TableId, visit: &mut impl FnMut(&mut Select, &[Alias])) {
    let later = plan.tables.iter_mut().skip(table.index() + 1).flat_map(|table| table.body.selects_mut());
    for select in later.chain([&mut plan.guard]).chain(plan.answer.selects_mut()) {
        let aliases = aliases_of(select, TableRef::Table(table));
        if !aliases.is_empty() {
            visit(select, &aliases);
        }
    }
}

/// The aliases under which a select and its branches read a table.
fn aliases_of(select: &Select, table: TableRef) -> Vec<Alias> {
    let mut aliases = Vec::new();
    select.for_each_source(&mut |from| {
        if from.kind == FromKind::Table(table) {
            aliases.push(from.alias);
        }
    });
    aliases
}

fn renumber(select: &mut Select, aliases: &[Alias], read: &IndexSet<usize>) {
    for_each_column(select, aliases, &mut |column| {
        if let Some(kept) = read.get_index_of(column) {
            *column = kept;
        }
    });
}

fn for_each_column(select: &mut Select, aliases: &[Alias], visit: &mut impl FnMut(&mut usize)) {
    select.for_each_expr_mut(&mut |expr| {
        if let Expr::Column { alias, column } = expr
            && aliases.contains(alias)
        {
            visit(column);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{From, PlanAnswer};
    use crate::catalog::SourceId;

    fn column(alias: usize, column: usize) -> Expr {
        Expr::Column { alias: Alias::of_number(alias), column }
    }

    fn reading(alias: usize, kind: FromKind, output: Vec<Expr>) -> Select {
        Select { from: vec![From { alias: Alias::of_number(alias), kind }], filter: Vec::new(), output }
    }

    /// A table of pairs whose step turns them round, read for whether it has a row.
    #[test]
    fn what_a_step_needs_for_the_column_that_stays_is_kept() {
        let base =
            vec![reading(1, FromKind::Source(SourceId::from_index(0)), vec![column(1, 0), column(1, 1)])];
        let step = vec![reading(2, FromKind::Table(TableRef::Itself), vec![column(2, 1), column(2, 0)])];
        let table = Table::new("pairs".into(), String::new(), 2, TableBody::Recursive { base, step });
        let reader = reading(3, TableId(0).source(), Vec::new());
        let mut plan = Plan::new(vec![table], PlanAnswer::Decision(vec![reader]));
        let before = plan.clone();
        drop_unread(&mut plan, TableId(0));
        assert_eq!(plan, before);
    }
}

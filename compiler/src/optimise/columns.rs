//! Drops the columns of a table that nothing reads.
//!
//! In: a plan, and one of its tables whose readers are final. Out: the same plan, in which the
//! table has only columns that a reader asks for, or that a step needs to make one of those. A closure loses
//! the column in which it kept where it started, and with it the rows that differ only there.

use crate::algebra::{Alias, Condition, Expr, FromKind, Plan, Select, Table, TableBody, TableId, TableRef};
use crate::catalog::ColumnId;
use indexmap::IndexSet;

/// Drops the unread columns of one table; one column stays, so that a reader can ask whether there is a row.
pub(super) fn drop_unread(plan: &mut Plan, id: TableId) {
    let mut read = IndexSet::new();
    for_each_column_of_readers(plan, id, &mut |column| {
        read.insert(*column);
    });
    let table = id.of_mut(&mut plan.tables);
    if read.is_empty() {
        read.insert(ColumnId::FIRST);
    }
    match &mut table.body {
        TableBody::Union(_) => {}
        TableBody::Recursive { step, .. } => read_by_steps(step, &mut read),
        TableBody::WholeState { .. } => return,
    }
    read.sort_unstable();
    if read.len() < table.n_columns {
        keep(table, &read);
        for_each_column_of_readers(plan, id, &mut |column| renumber(column, &read));
    }
}

/// Adds the columns of the previous row that steps need to compute the columns being read.
fn read_by_steps(step: &[Select], read: &mut IndexSet<ColumnId>) {
    loop {
        let before = read.len();
        for select in step {
            let own: Vec<Alias> = readers(select, TableRef::Itself).collect();
            let made = select.output.enumerate().filter(|(column, _)| read.contains(column));
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

fn keep(table: &mut Table, read: &IndexSet<ColumnId>) {
    table.n_columns = read.len();
    for select in table.body.selects_mut() {
        select.output = read.iter().map(|column| select.output[*column]).collect();
        for_each_column(select, TableRef::Itself, &mut Vec::new(), &mut |column| renumber(column, read));
    }
}

fn renumber(column: &mut ColumnId, read: &IndexSet<ColumnId>) {
    if let Some(kept) = read.get_index_of(column) {
        *column = ColumnId::from_index(kept);
    }
}

/// Visits the columns that later tables, the guard and the answer read of a table.
fn for_each_column_of_readers(plan: &mut Plan, table: TableId, visit: &mut impl FnMut(&mut ColumnId)) {
    let later = plan.tables.iter_mut().skip(table.index() + 1).flat_map(|table| table.body.selects_mut());
    for select in later.chain([&mut plan.guard]).chain(plan.answer.selects_mut()) {
        for_each_column(select, TableRef::Table(table), &mut Vec::new(), visit);
    }
}

/// The aliases under which a select reads a table, its branches not included.
fn readers(select: &Select, table: TableRef) -> impl Iterator<Item = Alias> {
    let readers = select.from.iter().filter(move |from| from.kind == FromKind::Table(table));
    readers.map(|from| from.alias)
}

/// Visits the columns that a select and its branches read of a table; `around` are the aliases under which
/// the selects around it read the table. An alias counts only where its source is in scope: in a branch next
/// to it, the same alias may name a different source.
fn for_each_column(
    select: &mut Select,
    table: TableRef,
    around: &mut Vec<Alias>,
    visit: &mut impl FnMut(&mut ColumnId),
) {
    let outside = around.len();
    around.extend(readers(select, table));
    let own = select.filter.iter_mut().flat_map(Condition::own_exprs_mut);
    for expr in own.chain(&mut select.output) {
        if let Expr::Column { alias, column } = expr
            && around.contains(alias)
        {
            visit(column);
        }
    }
    for branch in select.filter.iter_mut().flat_map(Condition::branches_mut) {
        for_each_column(branch, table, around, visit);
    }
    around.truncate(outside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::PlanAnswer;
    use crate::algebra::sample::{column, reading};
    use crate::catalog::SourceId;
    use crate::ir::{CompareOp, ConstId};

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

    /// A table of triples of which one branch reads the last column. The branch next to it reads a relation
    /// under the same alias.
    #[test]
    fn an_alias_is_that_of_its_branch() {
        let source = FromKind::Source(SourceId::from_index(0));
        let triples = reading(1, source, vec![column(1, 0), column(1, 1), column(1, 2)]);
        let table = Table::new("triples".into(), String::new(), 3, TableBody::Union(vec![triples]));
        let literal = Expr::Const(ConstId::from_index(0));
        let test = |kind, at| {
            let equal = Condition::Compare { op: CompareOp::Equal, left: column(2, at), right: literal };
            Condition::Any(vec![Select { filter: vec![equal], ..reading(2, kind, Vec::new()) }])
        };
        let answer =
            |at| Select { filter: vec![test(TableId(0).source(), at), test(source, 2)], ..Select::default() };
        let mut plan = Plan::new(vec![table], PlanAnswer::Decision(vec![answer(2)]));
        drop_unread(&mut plan, TableId(0));
        assert_eq!(plan.answer.selects(), [answer(0)]);
    }
}

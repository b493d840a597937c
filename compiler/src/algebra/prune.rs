//! Removes tables that nothing reads, and numbers the others anew.

use super::{From, FromKind, Plan, Select, Table, TableRef};

/// The plan without the tables that nothing reads.
pub(crate) fn prune(plan: Plan) -> Plan {
    let Plan { tables, mut guard, mut answer } = plan;
    let mut needed = vec![false; tables.len()];
    let mut queue = Vec::new();
    answer.selects().iter().chain([&guard]).for_each(|select| queue.extend(tables_of(select)));
    while let Some(next) = queue.pop() {
        if let (Some(table), Some(slot @ false)) = (tables.get(next), needed.get_mut(next)) {
            *slot = true;
            table.body.selects().for_each(|select| queue.extend(tables_of(select)));
        }
    }
    let mut count = 0;
    let numbers = needed.iter().map(|needed| {
        count += usize::from(*needed);
        count.saturating_sub(1)
    });
    let numbers: Vec<usize> = numbers.collect();
    let renumber = |from: &mut From| {
        if let FromKind::Table(TableRef::Table(table)) = &mut from.kind
            && let Some(number) = numbers.get(*table)
        {
            *table = *number;
        }
    };
    let readers = answer.selects_mut().iter_mut().chain([&mut guard]);
    readers.for_each(|select| select.for_each_source_mut(&mut { renumber }));
    let kept = tables.into_iter().zip(&needed).filter_map(|(table, needed)| needed.then_some(table));
    let tables = kept.map(|mut table: Table| {
        table.body.selects_mut().for_each(|select| select.for_each_source_mut(&mut { renumber }));
        table
    });
    Plan { tables: tables.collect(), guard, answer }
}

/// The tables that a select and its branches read.
fn tables_of(select: &Select) -> Vec<usize> {
    let mut tables = Vec::new();
    select.for_each_source(&mut |from| {
        if let FromKind::Table(TableRef::Table(table)) = from.kind {
            tables.push(table);
        }
    });
    tables
}

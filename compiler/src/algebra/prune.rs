//! Removes tables that nothing reads, and renumbers the others.

use super::ids::{TableId, TableRef};
use super::plan::{Plan, Table};
use super::select::{From, FromKind, Select};

/// The plan without the tables that nothing reads.
pub(crate) fn prune(plan: Plan) -> Plan {
    let Plan { tables, mut guard, mut answer } = plan;
    let mut needed = vec![false; tables.len()];
    let mut queue = Vec::new();
    answer.selects().iter().chain([&guard]).for_each(|select| queue.extend(tables_of(select)));
    while let Some(next) = queue.pop() {
        if !std::mem::replace(next.of_mut(&mut needed), true) {
            next.of(&tables).body.selects().for_each(|select| queue.extend(tables_of(select)));
        }
    }
    let mut count = 0;
    let numbers = needed.iter().map(|needed| {
        let number = TableId::from_index(count);
        count += usize::from(*needed);
        number
    });
    let numbers: Vec<TableId> = numbers.collect();
    let renumber = |from: &mut From| {
        if let FromKind::Table(TableRef::Table(table)) = &mut from.kind {
            *table = *table.of(&numbers);
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
fn tables_of(select: &Select) -> Vec<TableId> {
    let mut tables = Vec::new();
    select.for_each_source(&mut |from| tables.extend(from.kind.table()));
    tables
}

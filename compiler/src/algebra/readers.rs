//! Which tables a select reads, and how often.

use super::ids::TableId;
use super::plan::{Table, TableBody};
use super::select::{Condition, Select};
use indexmap::IndexSet;

/// The tables that are not fixpoints and that a select reads once, and no other table that it needs.
pub(crate) fn tables_read_once(tables: &[Table], select: &Select) -> Vec<TableId> {
    let needed = needed(tables, std::slice::from_ref(select));
    let is_once = |table: &TableId| {
        let mut others = needed.iter().flat_map(|other| other.of(tables).body.selects());
        matches!(table.of(tables).body, TableBody::Union(_))
            && select.n_readings(*table) == 1
            && others.all(|other| other.n_readings(*table) == 0)
    };
    needed.iter().copied().filter(is_once).collect()
}

/// Whether a select reads tables, and only in the sets of its conditions.
pub(crate) fn reads_tables_in_sets(select: &Select) -> bool {
    fn outside_sets(select: &Select) -> bool {
        let inside = select.filter.iter().any(|condition| match condition {
            Condition::Any(branches) | Condition::None(branches) => branches.iter().any(outside_sets),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. } => false,
        });
        inside || select.from.iter().any(|from| from.kind.table().is_some())
    }
    let mut reads = false;
    select.for_each_source(&mut |from| reads |= from.kind.table().is_some());
    reads && !outside_sets(select)
}

/// The tables that selects read, directly or through others.
pub(crate) fn needed(tables: &[Table], selects: &[Select]) -> IndexSet<TableId> {
    fn collect(select: &Select, found: &mut IndexSet<TableId>) {
        select.for_each_source(&mut |from| found.extend(from.kind.table()));
    }
    let mut found = IndexSet::new();
    selects.iter().for_each(|select| collect(select, &mut found));
    let mut at = 0;
    while let Some(table) = found.get_index(at).copied() {
        table.of(tables).body.selects().for_each(|select| collect(select, &mut found));
        at += 1;
    }
    found
}

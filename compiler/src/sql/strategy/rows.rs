//! How tables and fixpoints read rows.

use crate::algebra::{ITSELF, Repeats, Select, Table, TableBody, TableId};
use crate::dialect::Features;
use crate::limits;

/// If a fixpoint's steps read its state more often than this, they read the state itself.
const STATE_READINGS: usize = 8;

/// How rows are read by a query that is planned by how many they seem to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum RowStrategy {
    /// From an array of their one column, which is estimated at ten elements.
    Array,
    /// As they are.
    Query,
}

/// How the steps of a fixpoint read a state that is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum StateStrategy {
    /// From a table that is made of it, which joins faster.
    Table,
    /// Unpacked where it is read: the state itself is not copied for each reading.
    Unpacked,
}

impl RowStrategy {
    /// For rows of so many columns.
    pub(in crate::sql) fn of(n_columns: usize, features: &Features) -> Self {
        if features.arrays_count_as_few && n_columns == 1 { Self::Array } else { Self::Query }
    }
}

/// How a fixpoint over the whole state reads another table. A recursive one is estimated at many rows.
pub(in crate::sql) fn read_by_state(
    state: &Table,
    id: TableId,
    read: &Table,
    features: &Features,
) -> RowStrategy {
    let is_read = state.body.selects().any(|select| select.n_readings(id) > 0);
    match read.body {
        TableBody::Recursive { .. } if is_read => RowStrategy::of(read.n_columns, features),
        TableBody::Recursive { .. } | TableBody::Union(_) | TableBody::WholeState { .. } => {
            RowStrategy::Query
        }
    }
}

impl StateStrategy {
    /// For these steps.
    pub(in crate::sql) fn of(step: &[Select]) -> Self {
        let from = step.iter().flat_map(|select| &select.from);
        let n_readings = from.filter(|from| from.kind == ITSELF).count();
        if n_readings > STATE_READINGS { Self::Unpacked } else { Self::Table }
    }
}

/// What becomes of repeated rows in a table that is one select, whose rows no `UNION` compares. A short join
/// rarely repeats them.
pub(in crate::sql) fn repeats_of_only(table: &Table, only: &Select) -> Repeats {
    if only.from.len() >= limits::LONG_JOIN { table.repeats } else { Repeats::Kept }
}

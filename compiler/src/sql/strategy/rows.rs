//! How tables and fixpoints read rows.

use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, FromKind, ITSELF, Repeats, Select, Table, TableBody, TableId};
use crate::dialect::Features;
use crate::keys::OneRowTables;
use crate::limits;
use crate::sql::lower::Inputs;
use indexmap::IndexSet;

/// If a fixpoint's steps read its state more often than this, they read the state itself.
const STATE_READINGS: usize = 8;

/// How a query reads rows whose estimated number decides its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum RowStrategy {
    /// From an array for each column, which is estimated at ten elements.
    Arrays,
    /// From such arrays with a limit that is unknown when the statement is planned: a tenth of ten elements.
    OneRow,
    /// As they are.
    Query,
}

/// What reads a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum TableReader {
    /// The answer of a statement.
    Answer,
    /// A set of a filter.
    Set,
}

/// How the steps of a fixpoint read a state that is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum StateStrategy {
    /// From a table that is made from it, which joins faster.
    Table,
    /// Unpacked where it is read: the state itself is not copied for each reading.
    Unpacked,
}

impl RowStrategy {
    /// The strategy for the rows that a recursion starts from. The estimates of several arms add up, that of
    /// another recursion is ten times what it starts from, and each step multiplies them. So it does with the
    /// rows of a caller's table: conditions on them may leave few, and a closure that starts from a whole
    /// table has no more rows than that table.
    pub(in crate::sql) fn of_start(
        table: &Table,
        base: &[Select],
        tables: &[Table],
        inputs: &Inputs<'_>,
    ) -> Self {
        let anchors = Anchors::new(inputs.catalog, tables);
        let one_row = inputs.keys.map(|keys| OneRowTables::of(tables, keys));
        let starts_from_many = |arm: &Select| {
            let reads_table = arm.from.iter().any(|from| matches!(from.kind, FromKind::Source(_)));
            let finds_many = |one_row: &OneRowTables<'_>| reads_table && !one_row.has_at_most_one_row(arm);
            one_row.as_ref().is_some_and(|one_row| !anchors.is_anchored(arm) || finds_many(one_row))
        };
        let is_overestimated =
            base.len() > 1 || base.iter().any(|arm| reads_recursion(arm, tables) || starts_from_many(arm));
        let is_small = table.n_columns == 1 || base.iter().all(|arm| anchors.is_anchored(arm));
        match (Self::few_if(is_overestimated && is_small, inputs.features), inputs.keys) {
            // A caller's tables have any size, and most databases take random reads for expensive.
            (Self::Arrays, Some(_)) => Self::OneRow,
            (strategy, _) => strategy,
        }
    }

    /// The strategy for a table whose rows an answer or a set reads. If the rows of a recursion are tested
    /// one by one, the database multiplies the cost of a test by their estimated number, or reads the whole
    /// table that the test is about. So it does with the containers of an actor in a set of a filter, which
    /// are also more by estimate than they are.
    pub(in crate::sql) fn of_tested(
        selects: &[Select],
        id: TableId,
        table: &Table,
        reader: TableReader,
        features: &Features,
    ) -> Self {
        let is_overestimated = match (&table.body, reader) {
            (TableBody::Recursive { .. }, _) | (TableBody::Union(_), TableReader::Set) => true,
            (TableBody::Union(_), TableReader::Answer) | (TableBody::WholeState { .. }, _) => false,
        };
        Self::few_if(is_overestimated && selects.iter().any(|select| tests_rows(select, id)), features)
    }

    fn few_if(counts_as_many: bool, features: &Features) -> Self {
        if counts_as_many && features.arrays_count_as_few { Self::Arrays } else { Self::Query }
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
        TableBody::Recursive { .. } => RowStrategy::few_if(is_read && read.n_columns == 1, features),
        TableBody::Union(_) | TableBody::WholeState { .. } => RowStrategy::Query,
    }
}

impl StateStrategy {
    /// The strategy for these steps.
    pub(in crate::sql) fn of(step: &[Select]) -> Self {
        let from = step.iter().flat_map(|select| &select.from);
        let n_readings = from.filter(|from| from.kind == ITSELF).count();
        if n_readings > STATE_READINGS { Self::Unpacked } else { Self::Table }
    }
}

/// Whether a table of one select, whose rows no `UNION` compares, keeps repeated rows. A short join rarely
/// repeats rows.
pub(in crate::sql) fn repeats_of_only(table: &Table, only: &Select) -> Repeats {
    if only.from.len() >= limits::LONG_JOIN { table.repeats } else { Repeats::Kept }
}

/// Whether a select reads a recursion, itself or through a table.
fn reads_recursion(select: &Select, tables: &[Table]) -> bool {
    let mut read: IndexSet<TableId> = IndexSet::new();
    select.for_each_source(&mut |from| read.extend(from.kind.table()));
    let mut at = 0;
    while let Some(table) = read.get_index(at) {
        match &table.of(tables).body {
            TableBody::Union(selects) => {
                for select in selects {
                    select.for_each_source(&mut |from| read.extend(from.kind.table()));
                }
            }
            TableBody::Recursive { .. } => return true,
            // It is read from arrays already.
            TableBody::WholeState { .. } => {}
        }
        at += 1;
    }
    false
}

/// Whether a select, or one inside it, tests each row of a table by what it reads elsewhere.
fn tests_rows(select: &Select, table: TableId) -> bool {
    let is_test = |condition: &Condition| {
        let reads = condition.branches().iter().any(|branch| !branch.reads_nothing());
        reads && matches!(condition, Condition::Any(_) | Condition::None(_))
    };
    let is_read = select.from.iter().any(|from| from.kind.table() == Some(table));
    is_read && select.filter.iter().any(is_test) || select.branches().any(|branch| tests_rows(branch, table))
}

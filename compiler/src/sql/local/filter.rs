//! A filter as its sorted alternatives, as it is printed.

use crate::algebra::{Condition, Plan, PlanAnswer, Select, Table};
use crate::bindings::{RowTable, SqlName};
use crate::ir::ConstId;

/// How the rows are found for which conditions are tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RowAccess {
    /// By an index, which the conditions may use.
    #[default]
    ByIndex,
    /// Each row is tested anyway, so that hashing sets is better than looking them up by an index.
    EveryRow,
}

/// A filter's alternatives, each with the literals or selects of its kind.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// The column is one of these.
    pub(crate) literals: Vec<ConstId>,
    /// The column is this literal, if the select has a row.
    pub(crate) conditioned: Vec<(ConstId, Select)>,
    /// The caller's row passes, if the select over it has a row.
    pub(crate) rows: Vec<Select>,
    /// The column is in the one column of these.
    pub(crate) set: Vec<Select>,
    /// Every column passes, if one of these has a row.
    pub(crate) guards: Vec<Select>,
    /// Conditions that must also hold, the same for every row.
    pub(crate) common: Vec<Condition>,
    /// How `rows` find the caller's rows.
    pub(crate) access: RowAccess,
    /// The name of the caller's row and its key, where `rows` may read the row's other columns.
    pub(crate) row: Option<(String, SqlName)>,
    /// The column is a key of one of these rows.
    pub(crate) looked_up: Option<LookedUp>,
}

/// The rows of a table that pass a filter.
#[derive(Debug)]
pub(crate) struct LookedUp {
    /// The table and its key.
    pub(crate) table: RowTable,
    /// A row passes, if one of these selects over it has a row.
    pub(crate) rows: Vec<Select>,
    /// How they find the table's rows.
    pub(crate) access: RowAccess,
    /// Whether the caller's column names its table. Otherwise it would mean another column inside a query.
    pub(crate) is_qualified: bool,
}

impl Filter {
    /// How many conditions let a row pass, of which one is enough.
    pub(crate) fn n_alternatives(&self) -> usize {
        let Self { literals, conditioned, rows, set, guards, looked_up, .. } = self;
        let of_sets = [!literals.is_empty(), !set.is_empty(), looked_up.is_some()];
        let n_sets = of_sets.into_iter().filter(|is_there| *is_there).count();
        n_sets + conditioned.len() + rows.len() + guards.len()
    }

    /// The plan that decides the same for one row; a literal alone adds no condition.
    pub(crate) fn plan(&self, tables: &[Table]) -> Plan {
        let conditioned = self.conditioned.iter().map(|(_, select)| select);
        let looked_up = self.looked_up.iter().flat_map(|looked_up| &looked_up.rows);
        let all = conditioned.chain(&self.rows).chain(looked_up).chain(&self.set).chain(&self.guards);
        let literals = self.literals.iter().map(|_| Select::default());
        let guard = Select { filter: self.common.clone(), ..Select::default() };
        let answer = PlanAnswer::Decision(all.cloned().chain(literals.take(1)).collect());
        Plan { guard, ..Plan::new(tables.to_vec(), answer) }
    }
}

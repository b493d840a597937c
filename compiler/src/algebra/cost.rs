//! Estimates of a plan's cost in a database, before its statement is printed.
//!
//! They order candidates and branches. Whether a database takes a statement is decided on its text, see
//! [`crate::text::expansion`]. For a caller's database there is a text only once the stored facts are
//! known. So there are two counts, but one bound: [`TABLE_READINGS`](crate::limits::TABLE_READINGS) readings
//! are within what each [dialect](crate::dialect) takes of a text, which is checked there.

use super::ids::TableRef;
use super::plan::{Plan, TableBody};
use super::select::{FromKind, Select};

/// Number of sources that the state of a fixpoint, its packing and its unpacking add.
const STATE_SOURCES: usize = 12;

/// A step inside a subquery of a recursive select is expanded up to this many times.
const STEP_EXPANSIONS: usize = 4;

impl Plan {
    /// How many sources the statement reads if a database expands each table of its own wherever it is read:
    /// those inside a table are counted each time. 0 if it has no table of its own, and so nothing is
    /// expanded.
    pub(crate) fn n_readings(&self) -> usize {
        if self.tables.is_empty() {
            return 0;
        }
        let mut of_table: Vec<usize> = Vec::new();
        for table in &self.tables {
            let n_readings = match &table.body {
                TableBody::Union(selects) => readings(selects, &of_table),
                TableBody::Recursive { base, step } => {
                    readings(base, &of_table) + readings(step, &of_table) + 1
                }
                TableBody::WholeState { base, step } => {
                    readings(base, &of_table) + readings(step, &of_table) * STEP_EXPANSIONS + STATE_SOURCES
                }
            };
            of_table.push(n_readings);
        }
        readings(self.answer.selects(), &of_table)
            .saturating_add(readings(std::slice::from_ref(&self.guard), &of_table))
    }
}

fn readings(selects: &[Select], of_table: &[usize]) -> usize {
    let mut count = 0_usize;
    for select in selects {
        select.for_each_source(&mut |from| {
            let inside = match from.kind {
                FromKind::Table(TableRef::Table(table)) => *table.of(of_table),
                FromKind::Table(TableRef::Itself)
                | FromKind::Values(_)
                | FromKind::Source(_)
                | FromKind::Embedded(_)
                | FromKind::Row { .. }
                | FromKind::Again { .. } => 0,
            };
            count = count.saturating_add(inside).saturating_add(1);
        });
    }
    count
}

impl Select {
    /// A rough cost of a branch: tables count first, then other sources, those of nested branches included.
    pub(crate) fn cost(&self) -> (usize, usize) {
        let (mut tables, mut sources) = (0, 0);
        self.for_each_source(&mut |from| match from.kind {
            FromKind::Table(_) => tables += 1,
            FromKind::Source(_)
            | FromKind::Values(_)
            | FromKind::Embedded(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. } => sources += 1,
        });
        (tables, sources)
    }
}

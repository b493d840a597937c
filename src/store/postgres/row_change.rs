//! The changes of a batch, prepared for the writer.
//!
//! The writer is one thread, and the server waits for it. So what takes long for many facts is done before
//! they are queued: finding out which of them share a table, and sorting them.

use super::new_rows::COPIED;
use super::sorted_rows::SortedRows;
use crate::store::error::StoreError;
use crate::store::fact::{Change, Fact, FactPattern};
use crate::store::signature;

/// One change of a batch.
#[derive(Debug)]
pub(super) enum RowChange {
    /// Adds facts.
    Insert(Vec<FactRows>),
    /// Removes every fact that matches one of the patterns.
    Delete(Vec<FactPattern>),
}

/// Facts of one relation.
#[derive(Debug)]
pub(super) struct FactRows {
    /// One of them.
    pub(super) first: Fact,
    /// All of them, with a column for each argument.
    pub(super) rows: SortedRows,
}

impl RowChange {
    /// The changes of a batch; many facts are prepared on another thread.
    pub(super) async fn all(changes: Vec<Change>) -> Result<Vec<Self>, StoreError> {
        let n_changes: usize = changes.iter().map(Change::len).sum();
        let prepare = move || changes.into_iter().map(Self::of).collect();
        if n_changes < COPIED {
            return Ok(prepare());
        }
        let prepared = tokio::task::spawn_blocking(prepare).await;
        prepared.map_err(|error| StoreError::Bug(error.to_string()))
    }

    /// How many facts or patterns it contains.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Insert(facts) => facts.iter().map(|facts| facts.rows.len()).sum(),
            Self::Delete(patterns) => patterns.len(),
        }
    }

    fn of(change: Change) -> Self {
        match change {
            Change::Insert(facts) => Self::Insert(FactRows::all(facts)),
            Change::Delete(patterns) => Self::Delete(patterns),
        }
    }
}

impl FactRows {
    fn all(mut facts: Vec<Fact>) -> Vec<Self> {
        facts.sort_by(signature::order);
        let runs = facts.chunk_by(|a, b| signature::order(a, b).is_eq());
        let rows = runs.filter_map(|run| {
            let first = run.first()?.clone();
            let ids = run.iter().map(|fact| fact.args.iter().map(|arg| arg.id.as_str()));
            let rows = SortedRows::of(first.args.len(), ids);
            Some(Self { first, rows })
        });
        rows.collect()
    }
}

//! The tables of a plan by their ids.
//!
//! They are in a `Vec`, in which each stands after those that it reads. It is no `IdVec`, which only grows:
//! passes insert tables before others, rewrite one over those before it, and drop some, and the planner gives
//! up the last ones. They number all readers anew. So an id looks its table up by [`TableId::of`], among all
//! tables of a plan or among those that the reader may read, which are the first.

use super::{FromKind, Select, TableRef};
use crate::ir::ids::id;

id!(/// A common table expression, see [`Plan::tables`](super::Plan::tables).
    pub(crate) TableId, "table");

impl TableId {
    /// The table, or what is known of it, among those of all tables or of the first.
    #[expect(clippy::indexing_slicing, reason = "a select reads tables that were made before it")]
    pub(crate) fn of<T>(self, tables: &[T]) -> &T {
        &tables[self.index()]
    }

    /// The table, or what is known of it, among those of all tables or of the first.
    #[expect(clippy::indexing_slicing, reason = "a select reads tables that were made before it")]
    pub(crate) fn of_mut<T>(self, tables: &mut [T]) -> &mut T {
        &mut tables[self.index()]
    }

    /// The table that follows these.
    pub(crate) fn after<T>(tables: &[T]) -> Self {
        Self::from_index(tables.len())
    }

    /// The ids of tables, in order.
    pub(crate) fn all<T>(tables: &[T]) -> impl DoubleEndedIterator<Item = Self> + use<T> {
        (0..tables.len()).map(Self::from_index)
    }

    /// Tables with their ids, in order.
    pub(crate) fn enumerate<T>(tables: &[T]) -> impl Iterator<Item = (Self, &T)> {
        Self::all(tables).zip(tables)
    }

    /// A source that reads it.
    pub(crate) fn source(self) -> FromKind {
        FromKind::Table(TableRef::Table(self))
    }
}

impl FromKind {
    /// The table that it reads, if that is another than the one whose step it is in.
    pub(crate) fn table(self) -> Option<TableId> {
        match self {
            Self::Table(TableRef::Table(table)) => Some(table),
            Self::Table(TableRef::Itself)
            | Self::Source(_)
            | Self::Values(_)
            | Self::Embedded(_)
            | Self::Row { .. }
            | Self::Again { .. } => None,
        }
    }
}

impl Select {
    /// How often the select and its branches read a table.
    pub(crate) fn n_readings(&self, table: TableId) -> usize {
        let mut count = 0;
        self.for_each_source(&mut |from| count += usize::from(from.kind.table() == Some(table)));
        count
    }
}

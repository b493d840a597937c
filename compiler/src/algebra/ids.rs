//! The ids of what a plan refers to: sources, tables and embedded rows, each with a type of its own.

use crate::id_vec::id;
use std::fmt;

/// A source of a select, as its columns name it. Not an index; it names one of the sources in scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Alias(pub(super) usize);

impl Alias {
    /// The alias with this number.
    pub(crate) const fn of_number(number: usize) -> Self {
        Self(number)
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl fmt::Debug for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

id!(/// A common table expression, see [`Plan::tables`](super::Plan::tables).
    ///
    /// The tables are in a `Vec`, in which each comes after those that it reads. It is not an `IdVec`, which
    /// only grows: passes insert tables before others, rewrite one over those before it, and drop some, and
    /// the planner gives up the last ones. They renumber all readers. So an id looks its table up by
    /// [`TableId::of`], among all tables of a plan or among those that the reader may read, which are the
    /// first.
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
}

/// A common table expression, as its readers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum TableRef {
    /// The one whose step this is.
    Itself,
    /// Another of the plan.
    Table(TableId),
}

id!(/// Rows of literals, by their place among those of a statement. Those of a part of a local check have the
    /// part's place.
    pub(crate) EmbeddedId, "embedded");

impl EmbeddedId {
    /// The rows, or what is known of them, among those of all embedded sources of a plan.
    #[expect(clippy::indexing_slicing, reason = "rows are added before a source reads them, and stay")]
    pub(crate) fn of<T>(self, embedded: &[T]) -> &T {
        &embedded[self.index()]
    }

    /// The rows, or what is known of them, among those of all embedded sources of a plan.
    #[expect(clippy::indexing_slicing, reason = "rows are added before a source reads them, and stay")]
    pub(crate) fn of_mut<T>(self, embedded: &mut [T]) -> &mut T {
        &mut embedded[self.index()]
    }

    /// Adds rows.
    pub(crate) fn push<T>(embedded: &mut Vec<T>, rows: T) -> Self {
        embedded.push(rows);
        Self::from_index(embedded.len() - 1)
    }
}

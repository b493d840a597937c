//! What runs a statement, where, and what for: this decides which passes apply.

use crate::bindings::{Bindings, RowTable};
use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::dialect::Features;
use crate::question::QuestionVarId;

/// What runs a statement, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'s> {
    /// The purpose of the statement.
    pub(crate) purpose: Purpose,
    /// The relations that it reads.
    pub(crate) catalog: &'s Catalog,
    /// The database.
    pub(crate) features: &'static Features,
    /// The data bindings: bound queries, and promises about their tables.
    pub(crate) bindings: Option<&'s Bindings>,
    /// The row that a filter tests, where its column is the key of a table.
    pub(crate) row: Option<Row<'s>>,
    /// The prefix of table names, which no name of the caller's queries begins with.
    pub(crate) prefix: &'s str,
    /// When the statement must be compiled.
    pub(crate) deadline: Deadline,
}

/// The row that a filter tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'b> {
    /// The question's variable whose value is the caller's column.
    pub(crate) var: QuestionVarId,
    /// The table that the bindings promise the row to be of.
    pub(crate) promised: &'b RowTable,
    /// Whether the row must be looked up, because the caller's column is not the table's unique column
    /// itself: an alias's column, or a foreign key.
    pub(crate) is_looked_up: bool,
    /// Whether the caller's column is named with its table, so that the name means the same inside a query.
    pub(crate) is_qualified: bool,
}

/// The purpose of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A question to a store.
    Store,
    /// A question over one table for each kind of fact, for review.
    Tables,
    /// A check on a caller's database.
    Check,
    /// The distinct values of one variable on a caller's database.
    List,
    /// Rows of several variables on a caller's database.
    Rows,
    /// A condition on a caller's row, sorted by how it depends on the row.
    Filter,
    /// A condition on a caller's row that takes the row's value as given.
    RowTest,
    /// A part of a question over a caller's database, for a store: `local::split` has given it its
    /// shape.
    Part,
}

impl Setting<'_> {
    /// Whether the whole plan is one statement for tables with one row per fact.
    pub(super) fn is_hosted(&self) -> bool {
        matches!(self.purpose, Purpose::Store | Purpose::Tables)
    }

    /// Whether sets, or tests, serve the statement better than joins.
    pub(super) fn makes_sets(&self) -> bool {
        match self.purpose {
            Purpose::Check | Purpose::List => self.flattens(),
            Purpose::Store | Purpose::Rows => self.features.overestimates_recursion,
            Purpose::Filter => true,
            Purpose::Tables | Purpose::RowTest | Purpose::Part => false,
        }
    }

    /// Whether the answer starts from the question's own values, on a database that plans queries inside
    /// queries slowly.
    pub(super) fn flattens(&self) -> bool {
        matches!(self.purpose, Purpose::Check | Purpose::List) && self.features.tries_join_orders
    }
}

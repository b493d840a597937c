//! Where in a statement something is printed.
//!
//! [`At`] is a value that is passed down. Each part of a statement gets its own, so nothing is set and reset
//! around a call.

use super::held::{HeldValues, NOTHING_HELD};
use super::local::filter::RowAccess;
use super::representation::{ColumnOf, Representation};
use crate::algebra::{Alias, Expr, From, FromKind, Select, Table, TableId};
use crate::ir::ConstId;

/// Where in a statement something is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'p> {
    /// The plan's tables, which sources name by number.
    pub(super) tables: &'p [Table],
    /// The sources whose columns may be used.
    pub(super) scope: SourceScope<'p>,
    /// The number of tests around it.
    pub(super) depth: usize,
    /// Whether a condition is one of several alternatives.
    pub(super) siblings: Siblings,
    /// Whether it is inside one of several alternatives, so that the database cannot join what a test reads.
    pub(super) under_or: bool,
    /// What the query around a filter's tests reads.
    pub(super) query_around: QueryAround,
    /// Whether it is denied, so that no index finds rows by it.
    pub(super) is_denied: bool,
    /// What NULL in place of a condition does.
    pub(super) null: NullCondition,
    /// What the columns of a select become.
    pub(super) output: SelectOutput<'p>,
    /// How a fixpoint's step reads the table that it extends.
    pub(super) itself: Itself<'p>,
    /// Whether each query defines the tables that it reads in its own `WITH`, as those of a filter do.
    pub(super) brings_tables: bool,
    /// The tables that are printed as subqueries where they are read.
    pub(super) derived: &'p [TableId],
    /// How the rows of a filter are found (does not apply to its sets and tables).
    pub(super) access: RowAccess,
    /// The literals that the statement, or the query that brings its tables, has in its `WITH`.
    pub(super) held: &'p HeldValues,
}

/// The sources whose columns may be used: those of a select, then those of the selects around it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SourceScope<'p> {
    from: &'p [From],
    outer: Option<&'p SourceScope<'p>>,
}

/// What the query around a filter's tests reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryAround {
    /// Whatever the caller's query reads.
    Anything,
    /// One row of a table, looked up by its key. PostgreSQL joins the two tables in any order only while this
    /// query reads no other one. Otherwise it may pair all rows that pass with those of the caller's query.
    RowOfKey,
}

/// Whether the condition that is printed is one of several alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Siblings {
    /// It is the only one.
    Absent,
    /// There are others.
    Present,
}

/// What NULL in place of a condition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullCondition {
    /// It keeps no row, as false does: the condition is in a `WHERE`, and not under `NOT`.
    KeepsNoRow,
    /// It differs from false, as the value of a statement or filter, or under `NOT`.
    Differs,
}

/// What the columns of a select become.
#[derive(Clone, Copy, Debug)]
pub(super) enum SelectOutput<'p> {
    /// The columns of this table.
    Table(TableId),
    /// Columns that are represented like these; those after them are text.
    Values(&'p [Representation]),
}

/// A query that may define the tables that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnScope<'s> {
    /// One whose rows are a set.
    Set,
    /// A test of whether there is a row, in which these tables are derived ones.
    Test(&'s [TableId]),
}

/// How a fixpoint's step reads the table that it extends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Itself<'p> {
    /// There is no such table: this is not a fixpoint.
    Absent,
    /// By a name.
    Named(&'p str),
    /// As the tuples of a state in JSON, unpacked where they are read.
    Tuples,
}

impl<'p> At<'p> {
    /// The top of a statement over these tables, whose answer is text.
    pub(super) fn top(tables: &'p [Table]) -> Self {
        Self {
            tables,
            scope: SourceScope::default(),
            depth: 0,
            siblings: Siblings::Absent,
            under_or: false,
            query_around: QueryAround::Anything,
            is_denied: false,
            null: NullCondition::Differs,
            output: SelectOutput::Values(&[]),
            itself: Itself::Absent,
            brings_tables: false,
            derived: &[],
            access: RowAccess::ByIndex,
            held: &NOTHING_HELD,
        }
    }

    /// The top of a filter over these tables.
    pub(super) fn filter(tables: &'p [Table]) -> Self {
        Self { brings_tables: true, ..Self::top(tables) }
    }

    /// Inside a select, where its sources may be used.
    pub(super) fn inside<'s>(&'s self, select: &'s Select) -> At<'s> {
        let scope = SourceScope { from: &select.from, outer: Some(&self.scope) };
        At { scope, siblings: Siblings::Absent, ..*self }
    }

    /// In the `WHERE` of a select.
    pub(super) fn in_where<'s>(&'s self, select: &'s Select) -> At<'s> {
        At { null: NullCondition::KeepsNoRow, ..self.inside(select) }
    }

    /// Under the `NOT` of a select that reads nothing.
    pub(super) fn denied<'s>(&'s self, select: &'s Select) -> At<'s> {
        At { is_denied: true, null: NullCondition::Differs, ..self.inside(select) }
    }

    /// Whether a test that is printed here must not become part of the query around it.
    pub(super) fn must_stay_test(&self) -> bool {
        self.depth == 0 && self.query_around == QueryAround::RowOfKey && !self.under_or
    }

    /// Whether a list of literals that is compared here is held.
    pub(super) fn holds(&self, list: &[ConstId]) -> bool {
        self.is_denied && self.scope.from.is_empty() && self.held.has_list(list)
    }

    /// Whose column a value is.
    pub(super) fn column_of(&self, value: Expr) -> ColumnOf {
        match value.alias().and_then(|alias| self.scope.kind(alias)) {
            Some(FromKind::Table(_)) => ColumnOf::Table,
            Some(
                FromKind::Source(_)
                | FromKind::Row { .. }
                | FromKind::Again { .. }
                | FromKind::Values(_)
                | FromKind::Embedded(_),
            ) => ColumnOf::Caller,
            // The given value that is the filter's column. Printing refuses a source that is not in scope.
            None => ColumnOf::Caller,
        }
    }

    /// Whether both values are in columns of the caller's own tables, whose type may differ from the
    /// declared one.
    pub(super) fn are_in_callers_tables(&self, values: [Expr; 2]) -> bool {
        let is_callers = |kind| match kind {
            FromKind::Source(_) | FromKind::Row { .. } | FromKind::Again { .. } => true,
            FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => false,
        };
        // The only given value that is left is the filter's column.
        values.into_iter().all(|value| {
            matches!(value, Expr::Given(_))
                || value.alias().and_then(|alias| self.scope.kind(alias)).is_some_and(is_callers)
        })
    }

    /// In a test of whether there is a row.
    pub(super) fn in_test(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// In the body of a table.
    pub(super) fn in_table(self, table: TableId) -> Self {
        Self {
            scope: SourceScope::default(),
            output: SelectOutput::Table(table),
            brings_tables: false,
            access: RowAccess::ByIndex,
            ..self
        }
    }
}

impl<'p> SourceScope<'p> {
    /// The sources of a select that no other encloses.
    pub(super) fn of(select: &'p Select) -> Self {
        Self { from: &select.from, outer: None }
    }

    /// Whether the innermost select reads one relation and nothing else.
    pub(super) fn is_one_relation(&self) -> bool {
        matches!(self.from, [From { kind: FromKind::Source(_), .. }])
    }

    /// The source that an alias names; an inner one hides an outer one.
    pub(super) fn kind(&self, alias: Alias) -> Option<FromKind> {
        let own = self.from.iter().rev().find(|from| from.alias == alias);
        own.map(|from| from.kind).or_else(|| self.outer?.kind(alias))
    }
}

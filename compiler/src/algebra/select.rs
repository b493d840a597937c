//! Conjunctive selects: sources in join order, the conditions on them, and the values that come out.

use super::ids::{Alias, EmbeddedId, TableId, TableRef};
use crate::catalog::{ColumnId, SourceId};
use crate::datalog::recursion::MemberId;
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId, QuestionVarId, TypeId};
use crate::question::Slot;

/// One conjunctive select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Select {
    /// Sources in join order.
    pub(crate) from: Vec<From>,
    /// The conditions, all of which must hold.
    pub(crate) filter: Vec<Condition>,
    /// The columns that come out; empty where only existence counts.
    pub(crate) output: IdVec<ColumnId, Expr>,
}

/// One source of a select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct From {
    /// Unique in the statement while planning, then numbered per table.
    pub(crate) alias: Alias,
    /// The kind of rows it reads.
    pub(crate) kind: FromKind,
}

/// The rows that a source reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FromKind {
    /// A relation of the catalog.
    Source(SourceId),
    /// A common table expression.
    Table(TableRef),
    /// The values of a parameter, one column.
    Values(Slot),
    /// Rows of literals; only in what is left of a plan once stored facts
    /// are known.
    Embedded(EmbeddedId),
    /// The row that the filter tests, with the columns that a bound query of its table selects, none of which
    /// may be NULL; the table is not read again. Whether the row meets the query's condition is asked by
    /// [`Condition::Meets`].
    Row {
        /// The bound query.
        source: SourceId,
        /// Its column with the table's unique key, which is the filter's column.
        key: ColumnId,
    },
    /// A row that another source of this select or an enclosing one reads, with the columns of a different
    /// bound query of the same table. It is not read again.
    Again {
        /// The other bound query.
        source: SourceId,
        /// Its column with the table's unique key.
        key: ColumnId,
        /// The source that reads the row.
        row: Alias,
        /// The key's column of that source.
        row_key: ColumnId,
    },
}

/// A condition of a select.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    /// A comparison; order comparisons are of integers.
    Compare {
        /// The operator.
        op: CompareOp,
        /// Left side.
        left: Expr,
        /// Right side.
        right: Expr,
    },
    /// The value is one of two or more literals.
    OneOf {
        /// The value.
        expr: Expr,
        /// The literals.
        literals: Vec<ConstId>,
    },
    /// The value is in the one column of one of these selects; only in plans whose shape the database is
    /// known to like.
    In {
        /// The value.
        expr: Expr,
        /// The selects.
        selects: Vec<Select>,
        /// The use of the set.
        used: SetUse,
    },
    /// The row that the filter tests meets the condition of a bound query of its table.
    Meets {
        /// The row, by its key: the filter's column.
        row: Expr,
        /// The bound query. Of several with the same condition, the first.
        source: SourceId,
    },
    /// Some branch has a row.
    Any(Vec<Select>),
    /// No branch has a row.
    None(Vec<Select>),
}

/// The use of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum SetUse {
    /// It finds the rows: by an index, if there is one.
    #[default]
    ToFind,
    /// Other conditions find the rows, whose value is then tested against the set.
    ToTest,
}

/// A value. Their order means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Expr {
    /// A column of a source.
    Column {
        /// The source's alias.
        alias: Alias,
        /// The column.
        column: ColumnId,
    },
    /// A literal.
    Const(ConstId),
    /// The value of a question's variable.
    Given(QuestionVarId),
    /// `@current_unix_time`
    Now,
    /// A member of a recursive component, where one table holds the rows of several.
    Tag(MemberId),
    /// The value of a column that no reader looks at: a table has at least one column, and rows of one
    /// length.
    Filler,
    /// The name of a type, in an answer.
    TypeName(TypeId),
    /// Any value, in an answer; in a paged answer the text `*`.
    Unconstrained,
}

impl Expr {
    /// Whether the value is the same for the whole statement.
    pub(crate) fn is_static(self) -> bool {
        match self {
            Self::Column { .. } => false,
            Self::Const(_)
            | Self::Given(_)
            | Self::Now
            | Self::Tag(_)
            | Self::Filler
            | Self::TypeName(_)
            | Self::Unconstrained => true,
        }
    }
}

impl TableId {
    /// A source that reads it.
    pub(crate) fn source(self) -> FromKind {
        FromKind::Table(TableRef::Table(self))
    }
}

/// The table that a step extends, as a source of the step.
pub(crate) const ITSELF: FromKind = FromKind::Table(TableRef::Itself);

impl FromKind {
    /// The table that it reads, unless that is the one whose step it is in.
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

    /// The source whose row it sees again.
    pub(crate) fn seen_row(self) -> Option<Alias> {
        match self {
            Self::Again { row, .. } => Some(row),
            Self::Source(_) | Self::Table(_) | Self::Values(_) | Self::Embedded(_) | Self::Row { .. } => None,
        }
    }

    /// Whether the statement reads it: false for the row that the filter tests, and for a row that another
    /// source already reads.
    pub(crate) fn is_read(self) -> bool {
        match self {
            Self::Row { .. } | Self::Again { .. } => false,
            Self::Source(_) | Self::Table(_) | Self::Values(_) | Self::Embedded(_) => true,
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

    /// Whether the select is a condition on what surrounds it.
    pub(crate) fn reads_nothing(&self) -> bool {
        !self.from.iter().any(|from| from.kind.is_read())
    }

    /// Whether a condition of the select looks something up for each row that it reads.
    pub(crate) fn looks_up_inside(&self) -> bool {
        self.branches().any(|inner| !inner.reads_nothing())
    }

    /// Whether the select always has a row, and only one.
    pub(crate) fn is_unit(&self) -> bool {
        self.from.is_empty() && self.filter.is_empty()
    }

    /// The values that a condition equates with a value.
    pub(crate) fn equal_to(&self, value: Expr) -> impl Iterator<Item = Expr> {
        self.filter.iter().filter_map(move |condition| condition.equal_to(value))
    }

    /// Whether the select or one of its branches reads a table of the plan.
    pub(crate) fn reads_table(&self) -> bool {
        let mut found = false;
        self.for_each_source(&mut |from| found |= from.kind.table().is_some());
        found
    }
}

impl Condition {
    /// The value that it equates with a value.
    pub(crate) fn equal_to(&self, value: Expr) -> Option<Expr> {
        match self {
            Self::Compare { op: CompareOp::Equal, left, right } if *left == value => Some(*right),
            Self::Compare { op: CompareOp::Equal, left, right } if *right == value => Some(*left),
            Self::Compare { .. }
            | Self::OneOf { .. }
            | Self::Meets { .. }
            | Self::In { .. }
            | Self::Any(_)
            | Self::None(_) => None,
        }
    }

    /// Whether it only compares columns of rows that are read anyway, in all its branches.
    pub(crate) fn is_of_columns(&self) -> bool {
        match self {
            Self::Compare { .. } | Self::OneOf { .. } => true,
            Self::Any(branches) | Self::None(branches) => branches.iter().all(|branch| {
                branch.from.iter().all(|from| !from.kind.is_read())
                    && branch.filter.iter().all(Self::is_of_columns)
            }),
            Self::Meets { .. } | Self::In { .. } => false,
        }
    }

    /// The branches inside.
    pub(crate) fn branches(&self) -> &[Select] {
        match self {
            Self::Compare { .. } | Self::OneOf { .. } | Self::Meets { .. } => &[],
            Self::In { selects: branches, .. } | Self::Any(branches) | Self::None(branches) => branches,
        }
    }

    /// The branches inside.
    pub(crate) fn branches_mut(&mut self) -> &mut [Select] {
        match self {
            Self::Compare { .. } | Self::OneOf { .. } | Self::Meets { .. } => &mut [],
            Self::In { selects: branches, .. } | Self::Any(branches) | Self::None(branches) => branches,
        }
    }
}

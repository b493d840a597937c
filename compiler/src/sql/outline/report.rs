//! What an outline says: sets, look-ups and slow parts.

use crate::bindings::ColumnExpr;
use crate::catalog::{BindingId, ColumnId};
use crate::question::QuestionVarId;

/// The parts of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The sets that it makes.
    pub sets: Vec<SetMade>,
    /// What a filter asks for each row that the caller's query looks at.
    pub probes: Vec<Probe>,
    /// The parts that are slow on a large database.
    pub slow: Vec<SlowPart>,
}

/// A set that a text makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMade {
    /// Its name and what it holds, if it is a common table expression.
    pub name: Option<(String, String)>,
    /// Its form in the text.
    pub kind: SetKind,
    /// The values that it starts from.
    pub start: Start,
    /// The rows that it reads.
    pub reads: Reads,
}

/// What a set becomes in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// A recursive common table expression, whose steps look at the new rows only.
    Recursion,
    /// A recursive common table expression whose steps look at everything that was found before.
    WholeState,
    /// A common table expression that is read in several places.
    Table {
        /// The number of those places.
        n_readings: usize,
    },
    /// A value of the one row that keys lead to.
    Row,
    /// An array, which an index over the column can look up.
    Array,
    /// A subquery after `IN`, which the database may hash.
    Subquery,
}

/// What bounds a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The question's own values, or literals in the text.
    Values,
    /// A row of the query around it: it is made again for each.
    Row,
    /// Nothing.
    Nowhere,
}

/// What a part of a text reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The bound queries.
    pub bindings: Vec<BindingId>,
    /// The text's own tables.
    pub tables: Vec<String>,
    /// Whether it reads rows of literals.
    pub has_values: bool,
}

/// A column of a bound query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundColumn {
    /// The query.
    pub binding: BindingId,
    /// Its column.
    pub column: ColumnId,
}

/// A look-up for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The rows that it reads.
    pub reads: Reads,
    /// The columns that must equal a value of the row; if there is none, those that must equal a value of the
    /// question. An index has to start with one of them.
    pub by: Vec<BoundColumn>,
}

/// A part that is slow on a large database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlowPart {
    /// A column is compared as text, so its index is not used.
    Cast {
        /// The column; `None` for the filter's own.
        column: Option<BoundColumn>,
        /// The type whose ids it has.
        ty: String,
        /// The reason.
        reason: CastReason,
    },
    /// A set that nothing bounds, with what it reads.
    Unbounded(Reads),
    /// A look-up for each row that no column leads to: it reads everything, each time.
    Unled(Reads),
    /// An alternative of a filter whose rows no index finds: each row of the caller's query is tested.
    EachRow(Reads),
    /// An alternative of a filter that lets every row pass, or none: no index answers it together with the
    /// others, so each row of the caller's query is tested.
    EveryRow(Reads),
    /// A set of ids of the filter's type. It is made as a whole before the caller's query tests a row.
    OwnRows {
        /// The set's name.
        table: String,
    },
    /// A bound query that reads a filter's table and is more than columns of it: a filter cannot take what it
    /// says from the row at hand.
    Composite {
        /// The query.
        binding: BindingId,
        /// The table, as the bindings name it.
        table: String,
    },
    /// A test of each row that reads a recursion itself, so that the database makes no join of it.
    TestedRecursion {
        /// The recursion's name.
        table: String,
    },
    /// A recursion whose steps look at everything that was found before.
    WholeState {
        /// The table's name.
        table: String,
    },
    /// A filter that looks its column up in a set, since the table with the ids of this type is not promised.
    NoPromise {
        /// The type.
        ty: String,
    },
    /// A filter over another column than the promised one.
    OtherColumn {
        /// The type.
        ty: String,
        /// The promised column, as the bindings name it.
        promised: String,
        /// Whether it is a column of the promised table.
        is_of_row: bool,
    },
    /// Each row is decided by a query of its own, since the ids that pass cannot be listed.
    RowTest {
        /// Whether the filter's column is named with its table.
        is_qualified: bool,
    },
}

impl SlowPart {
    /// Whether a part is slow because of the rule, and not for want of an entry in the bindings.
    pub fn is_of_rule(&self) -> bool {
        match self {
            Self::Unbounded(_)
            | Self::Unled(_)
            | Self::EachRow(_)
            | Self::EveryRow(_)
            | Self::OwnRows { .. }
            | Self::TestedRecursion { .. }
            | Self::WholeState { .. } => true,
            Self::Cast { .. }
            | Self::NoPromise { .. }
            | Self::OtherColumn { .. }
            | Self::Composite { .. }
            | Self::RowTest { .. } => false,
        }
    }
}

/// Why a column is compared as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CastReason {
    /// `sql_types` has no entry for its type.
    Undeclared,
    /// The declared type is not one that is compared as itself.
    Opaque {
        /// The declared type.
        declared: String,
    },
    /// What it is compared with has a different type.
    Mixed,
}

/// The column of a filter.
pub(crate) struct FilterColumn<'c> {
    /// The question's variable.
    pub(crate) var: QuestionVarId,
    /// The column.
    pub(crate) column: &'c ColumnExpr,
    /// The type whose ids it has.
    pub(crate) ty: &'c str,
}

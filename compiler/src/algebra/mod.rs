//! The relational algebra of one statement: which tables, in which order, joined how. No rules are left here.
//!
//! Data types first, then what several folders need to do with a plan: [`visit`] its parts, number its
//! [`aliases`], see where it is [`anchor`]ed, [`prune`] what nothing reads, [`print`] it, [`verify`] it
//! between passes. A [`Plan`] is a list of common table expressions, dependencies first, and one answer over
//! them. Every select joins its sources in the order in which it lists them; a condition stands where all its
//! columns are known. `sql::lower` prints it for one dialect.
//!
//! What a plan refers to has ids of one type each: an [`Alias`] names a source of a select, a [`TableId`] a
//! table, a [`SourceId`] a relation of the catalog, an [`EmbeddedId`] rows of literals. The last three index
//! what they name, and indexing is total: [`verify`] alone reads plans that may refer to nothing. A column is
//! a plain number. It says something only next to its source, and is a place among the columns of a table,
//! the output of a select and the cells of a row alike, which passes count and compare. A variable of the
//! question is one too, since callers give and get it as the index that it is in [`crate::question`].

pub(crate) mod aliases;
pub(crate) mod anchor;
mod cost;
mod embedded;
pub(crate) mod groups;
pub(crate) mod print;
mod prune;
pub(crate) mod readers;
mod repeats;
pub(crate) mod tables;
pub(crate) mod verify;
mod visit;

pub(crate) use embedded::{Embedded, EmbeddedId, Rows};
pub(crate) use prune::prune;

use self::aliases::Alias;
use self::tables::TableId;
use crate::catalog::SourceId;
use crate::ir::{CompareOp, ConstId, TypeId};
use crate::question::{AnswerColumn, Slot};

/// A planned question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Common table expressions, each after those that it reads.
    pub(crate) tables: Vec<Table>,
    /// What must hold for every alternative of the answer: conditions without sources, asked once.
    pub(crate) guard: Select,
    /// What is answered over them.
    pub(crate) answer: PlanAnswer,
}

/// What a plan answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanAnswer {
    /// Does any of these selects have a row?
    Decision(Vec<Select>),
    /// The distinct rows of all these selects.
    Rows {
        /// Alternatives.
        selects: Vec<Select>,
        /// What their columns mean.
        columns: Vec<AnswerColumn>,
        /// Which of them.
        range: Range,
    },
}

/// Which rows of an answer are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// All, sorted.
    All,
    /// One page, sorted, see [`crate::question::Question::paged`].
    Page,
    /// At most so many, in any order.
    Some(usize),
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name in the statement: a reserved prefix, a number and a readable rest.
    pub(crate) name: String,
    /// What it holds, for the reader of the statement.
    pub(crate) comment: String,
    /// How many columns (`c0`, `c1`, …).
    pub(crate) n_columns: usize,
    /// Its rows.
    pub(crate) body: TableBody,
}

/// A common table expression, as its readers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum TableRef {
    /// The one whose step this is.
    Itself,
    /// Another of the plan.
    Table(TableId),
}

/// The rows of a common table expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableBody {
    /// The rows of all selects, each once but where [`Plan::may_repeat`].
    Union(Vec<Select>),
    /// A linear fixpoint: each step reads [`TableRef::Itself`] exactly once, and in none of its branches.
    Recursive {
        /// Where it starts.
        base: Vec<Select>,
        /// How it goes on.
        step: Vec<Select>,
    },
    /// A fixpoint whose steps read [`TableRef::Itself`] several times or anywhere: evaluated on the whole
    /// state at once.
    WholeState {
        /// Where it starts.
        base: Vec<Select>,
        /// How it goes on.
        step: Vec<Select>,
    },
}

/// One conjunctive select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Select {
    /// Sources in join order.
    pub(crate) from: Vec<From>,
    /// All must hold.
    pub(crate) filter: Vec<Condition>,
    /// The columns that come out; empty where only existence counts.
    pub(crate) output: Vec<Expr>,
}

/// One source of a select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct From {
    /// Unique in the statement while planning, then numbered per table.
    pub(crate) alias: Alias,
    /// What it reads.
    pub(crate) kind: FromKind,
}

/// What a source reads.
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
    /// The row of the caller's query that is tested. Its columns are those that a bound query of the same table
    /// selects; the table is not read again.
    Row {
        /// The bound query.
        source: SourceId,
        /// Its column with the table's unique key, which is the filter's column.
        key: usize,
    },
    /// A row that another source of this select or an enclosing one reads, with the columns of a different
    /// bound query of the same table. It is not read again.
    Again {
        /// The other bound query.
        source: SourceId,
        /// Its column with the table's unique key.
        key: usize,
        /// The source that reads the row.
        row: Alias,
        /// That one's column with the key.
        row_key: usize,
    },
}

/// A condition of a select.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    /// A comparison; order comparisons are of integers.
    Compare {
        /// Which.
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
    },
    /// Some branch has a row.
    Any(Vec<Select>),
    /// No branch has a row.
    None(Vec<Select>),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Expr {
    /// A column of a source.
    Column {
        /// The source's alias.
        alias: Alias,
        /// The column's index.
        column: usize,
    },
    /// A literal.
    Const(ConstId),
    /// The value of a question's variable.
    Given(usize),
    /// `@current_unix_time`
    Now,
    /// A member of a recursive component.
    Tag(usize),
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
            | Self::TypeName(_)
            | Self::Unconstrained => true,
        }
    }
}

impl FromKind {
    /// Whether the statement reads it: it is no row that is read elsewhere.
    pub(crate) fn is_read(self) -> bool {
        match self {
            Self::Row { .. } | Self::Again { .. } => false,
            Self::Source(_) | Self::Table(_) | Self::Values(_) | Self::Embedded(_) => true,
        }
    }
}

impl Select {
    /// Whether the select is a condition on what surrounds it.
    pub(crate) fn reads_nothing(&self) -> bool {
        !self.from.iter().any(|from| from.kind.is_read())
    }

    /// Whether the select always has a row, and only one.
    pub(crate) fn is_unit(&self) -> bool {
        self.from.is_empty() && self.filter.is_empty()
    }
}

impl Condition {
    /// The branches inside.
    pub(crate) fn branches(&self) -> &[Select] {
        match self {
            Self::Compare { .. } | Self::OneOf { .. } => &[],
            Self::In { selects: branches, .. } | Self::Any(branches) | Self::None(branches) => branches,
        }
    }

    /// The branches inside.
    pub(crate) fn branches_mut(&mut self) -> &mut [Select] {
        match self {
            Self::Compare { .. } | Self::OneOf { .. } => &mut [],
            Self::In { selects: branches, .. } | Self::Any(branches) | Self::None(branches) => branches,
        }
    }
}

impl PlanAnswer {
    /// Its alternatives.
    pub(crate) fn selects(&self) -> &[Select] {
        match self {
            Self::Decision(selects) | Self::Rows { selects, .. } => selects,
        }
    }

    /// Its alternatives.
    pub(crate) fn selects_mut(&mut self) -> &mut Vec<Select> {
        match self {
            Self::Decision(selects) | Self::Rows { selects, .. } => selects,
        }
    }

    /// How many columns its rows have; none if it is a decision.
    pub(crate) fn n_columns(&self) -> usize {
        match self {
            Self::Decision(_) => 0,
            Self::Rows { columns, .. } => columns.len(),
        }
    }

    /// Asks only whether there is a row.
    pub(crate) fn decide(&mut self) {
        let mut selects = std::mem::take(self.selects_mut());
        selects.iter_mut().for_each(|select| select.output.clear());
        *self = Self::Decision(selects);
    }
}

impl TableBody {
    /// All its selects, the base's before the step's.
    pub(crate) fn selects(&self) -> impl Iterator<Item = &Select> {
        let (base, step): (&[Select], &[Select]) = match self {
            Self::Union(selects) => (selects, &[]),
            Self::Recursive { base, step } | Self::WholeState { base, step } => (base, step),
        };
        base.iter().chain(step)
    }

    /// All its selects, the base's before the step's.
    pub(crate) fn selects_mut(&mut self) -> impl Iterator<Item = &mut Select> {
        let (base, step): (&mut [Select], &mut [Select]) = match self {
            Self::Union(selects) => (selects, &mut []),
            Self::Recursive { base, step } | Self::WholeState { base, step } => (base, step),
        };
        base.iter_mut().chain(step)
    }
}

impl Plan {
    /// An answer over tables, without a guard.
    pub(crate) fn new(tables: Vec<Table>, answer: PlanAnswer) -> Self {
        Self { tables, guard: Select::default(), answer }
    }

    /// All top-level selects: those of the tables, the guard, and those of the answer.
    pub(crate) fn selects(&self) -> impl Iterator<Item = &Select> {
        let tables = self.tables.iter().flat_map(|table| table.body.selects());
        tables.chain(std::iter::once(&self.guard)).chain(self.answer.selects())
    }

    /// All top-level selects: those of the tables, the guard, and those of the answer.
    pub(crate) fn selects_mut(&mut self) -> impl Iterator<Item = &mut Select> {
        let tables = self.tables.iter_mut().flat_map(|table| table.body.selects_mut());
        tables.chain(std::iter::once(&mut self.guard)).chain(self.answer.selects_mut())
    }
}

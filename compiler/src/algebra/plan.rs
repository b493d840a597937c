//! A plan: common table expressions, and one answer over them.

use super::select::Select;
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::question::AnswerColumn;

/// A planned question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Common table expressions, each after those that it reads.
    pub(crate) tables: Vec<Table>,
    /// What must hold for every alternative of the answer: conditions without sources, asked once.
    pub(crate) guard: Select,
    /// The answer, which reads them.
    pub(crate) answer: PlanAnswer,
}

/// A plan's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanAnswer {
    /// Does any of these selects have a row?
    Decision(Vec<Select>),
    /// The distinct rows of all these selects.
    Rows {
        /// Alternatives.
        selects: Vec<Select>,
        /// The meaning of their columns.
        columns: AnswerColumns,
        /// The range of them that is returned.
        range: Range,
    },
}

/// The meaning of the columns of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnswerColumns {
    /// Values and types of the question's variables.
    OfQuestion(IdVec<ColumnId, AnswerColumn>),
    /// Those of a part of a local check: this number of columns, which the rest of the plan reads.
    OfPart(usize),
}

impl AnswerColumns {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::OfQuestion(columns) => columns.len(),
            Self::OfPart(n_columns) => *n_columns,
        }
    }
}

/// Which rows of an answer are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// All, sorted.
    All,
    /// One page, sorted, see [`crate::question::Question::paged`].
    Page,
    /// At most this many, in any order.
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
    /// Whether repeated rows are kept.
    pub(crate) repeats: Repeats,
}

/// Whether a table keeps repeated rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// It is removed: a table is a set.
    Removed,
    /// It is kept: that is harmless there, see the pass `keep-repeats` in [`crate::optimise`].
    Kept,
}

/// The rows of a common table expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableBody {
    /// The rows of all selects.
    Union(Vec<Select>),
    /// A linear fixpoint: each step reads [`TableRef::Itself`] exactly once, and in none of its branches.
    Recursive {
        /// The rows it starts from.
        base: Vec<Select>,
        /// The rows derived in each step.
        step: Vec<Select>,
    },
    /// A fixpoint whose steps read [`TableRef::Itself`] several times or anywhere: evaluated on the whole
    /// state at once.
    WholeState {
        /// The rows it starts from.
        base: Vec<Select>,
        /// The rows derived in each step.
        step: Vec<Select>,
    },
}

impl Table {
    /// A table without repeated rows.
    pub(crate) fn new(name: String, comment: String, n_columns: usize, body: TableBody) -> Self {
        Self { name, comment, n_columns, body, repeats: Repeats::Removed }
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

//! One question over a caller's database: what is asked, and in which form of SQL.

use crate::bindings::{Bindings, ColumnExpr};
use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::dialect::StoreDialect;
use crate::ir::Program;
use crate::question::{CompileError, Question, QuestionVarId};

/// The form of SQL that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqlForm {
    /// One row with one truth value, in a column of this name.
    Decision {
        /// The column's name.
        name: String,
    },
    /// Distinct rows of text: for each column the question's variable and the column's name.
    Rows {
        /// The columns.
        columns: Vec<(QuestionVarId, String)>,
    },
    /// Distinct text in one column, sorted, with `*` for any value; the question has one wanted variable.
    List {
        /// The column's name.
        name: String,
    },
    /// A boolean condition: is the column's value an answer for the wanted variable?
    Filter {
        /// The variable.
        var: QuestionVarId,
        /// The column.
        column: ColumnExpr,
    },
}

/// What a plan depends on in a filter's form: the key of a cached plan must have both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilterVar {
    /// The variable.
    pub var: QuestionVarId,
    /// Whether the column has the name of its table. Inside a query, a name without one may be a column of
    /// the query's own tables.
    pub is_qualified: bool,
}

impl SqlForm {
    /// The variable of a filter.
    pub fn filter_var(&self) -> Option<FilterVar> {
        match self {
            Self::Filter { var, column } => {
                Some(FilterVar { var: *var, is_qualified: column.is_qualified() })
            }
            Self::Decision { .. } | Self::Rows { .. } | Self::List { .. } => None,
        }
    }
}

/// How much is wanted of a question's SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlDetail {
    /// The SQL alone.
    Sql,
    /// The plan and the parts of the SQL, too.
    Explained,
}

/// How a question over a caller's database is planned.
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions {
    /// The store that its parts are read from.
    pub store: StoreDialect,
    /// The maximum number of rows that are read of each part.
    pub most_rows: usize,
    /// When it must be planned.
    pub deadline: Deadline,
}

/// One question with everything that it needs to become SQL.
#[derive(Clone, Copy, Debug)]
pub struct SqlRequest<'a> {
    /// The policy.
    pub program: &'a Program,
    /// The catalog of the plan.
    pub catalog: &'a Catalog,
    /// The caller's queries.
    pub bindings: &'a Bindings,
    /// The question, of the plan's shape.
    pub question: &'a Question,
    /// The form of the SQL.
    pub form: &'a SqlForm,
    /// Seconds since the epoch.
    pub now: i64,
    /// The maximum number of embedded values in the SQL.
    pub most_values: usize,
    /// When the SQL must be made.
    pub deadline: Deadline,
    /// How much is wanted.
    pub detail: SqlDetail,
}

/// Why there is no SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalError<E> {
    /// The question has none.
    Compile(CompileError),
    /// The store failed.
    Fetch(E),
}

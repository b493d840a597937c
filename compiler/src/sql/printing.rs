//! What differs between a statement for the store and one for a caller's database.
//!
//! Both are made by one [`Lowering`](super::lower::Lowering), which asks [`Printing`] where they differ: how
//! a value is written, how two values are compared, how a source is read. `hosted` and `local` implement it.

use super::at::At;
use crate::algebra::{Expr, FromKind, Select, SetUse};
use crate::catalog::{ColumnId, SourceId};
use crate::ir::{CompareOp, ConstId};
use crate::question::{CompileError, Slot};
use sqlparser::ast::{Expr as Sql, Query, TableFactor};

/// What differs between statements.
pub(super) trait Printing {
    /// How a name that the compiler makes up is written.
    fn named(&self, name: &str) -> String;

    /// A literal as text.
    fn literal(&self, literal: ConstId) -> Result<Sql, CompileError>;

    /// The value of a slot.
    fn value(&mut self, slot: Slot) -> Result<Sql, CompileError>;

    /// A value in the representation that the select's column of this number must have.
    fn output(&mut self, at: At<'_>, column: ColumnId, value: Expr) -> Result<Sql, CompileError>;

    /// `left op right`
    fn comparison(&mut self, at: At<'_>, op: CompareOp, left: Expr, right: Expr)
    -> Result<Sql, CompileError>;

    /// `value IN (literals)`
    fn in_literals(&mut self, at: At<'_>, value: Expr, literals: &[ConstId]) -> Result<Sql, CompileError>;

    /// `value IN (selects)`
    fn in_selects(
        &mut self,
        at: At<'_>,
        value: Expr,
        selects: &[Select],
        used: SetUse,
    ) -> Result<Sql, CompileError>;

    /// Whether the column of this number comes out of a select as text.
    fn holds_text(&self, at: At<'_>, column: ColumnId) -> bool;

    /// A source that is not a table of the plan, as it is written in a `FROM`.
    fn source(&mut self, at: At<'_>, kind: FromKind, alias: &str) -> Result<TableFactor, CompileError>;

    /// A column of such a source.
    fn source_column(&self, kind: FromKind, alias: &str, column: ColumnId) -> Result<Sql, CompileError>;

    /// Adds the conditions under which rows of the select's sources are facts.
    fn row_conditions(&self, select: &Select, conditions: &mut Vec<Sql>) -> Result<(), CompileError>;

    /// Whether the row that a filter tests meets the condition of a bound query of its table; never NULL.
    fn row_meets(&self, at: At<'_>, source: SourceId) -> Result<Sql, CompileError>;

    /// A test of whether a select that reads something has a row.
    fn has_row(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError>;

    /// A test of whether a select that reads something has no row.
    fn has_no_row(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError>;

    /// The query of a test of whether a select has a row.
    fn test(&mut self, at: At<'_>, select: &Select) -> Result<Query, CompileError>;
}

//! What differs between a statement for the store and one for a caller's database.
//!
//! Both are printed by one [`Lowering`](super::lower::Lowering), which asks its target where they part: how a value is
//! written, how two are compared, what a source is read as. `hosted` and `local` are the two targets.

use super::at::At;
use crate::algebra::{Expr, FromKind, Select};
use crate::ir::{CompareOp, ConstId};
use crate::question::{CompileError, Slot};
use sqlparser::ast::{Expr as Sql, Query, TableFactor};

/// What differs between statements.
pub(super) trait Target {
    /// A name that this compiler gives to something in the statement.
    fn named(&self, name: &str) -> String;

    /// A literal as text.
    fn literal(&self, literal: ConstId) -> Result<Sql, CompileError>;

    /// The value of a slot.
    fn value(&mut self, slot: Slot) -> Result<Sql, CompileError>;

    /// A value as the select's column of this number must come out.
    fn output(&mut self, at: At<'_>, column: usize, value: Expr) -> Result<Sql, CompileError>;

    /// `left op right`
    fn comparison(&mut self, at: At<'_>, op: CompareOp, left: Expr, right: Expr)
    -> Result<Sql, CompileError>;

    /// `value IN (literals)`
    fn in_literals(&mut self, at: At<'_>, value: Expr, literals: &[ConstId]) -> Result<Sql, CompileError>;

    /// `value IN (selects)`
    fn in_selects(&mut self, at: At<'_>, value: Expr, selects: &[Select]) -> Result<Sql, CompileError>;

    /// What is read as a source that is no table of the plan.
    fn source(&mut self, kind: FromKind, alias: &str) -> Result<TableFactor, CompileError>;

    /// A column of such a source.
    fn source_column(&self, kind: FromKind, alias: &str, column: usize) -> Result<Sql, CompileError>;

    /// Adds what makes a row of the select's sources a fact.
    fn row_conditions(&self, select: &Select, conditions: &mut Vec<Sql>) -> Result<(), CompileError>;

    /// Whether a select that reads something has a row; `several` if it is one of several alternatives.
    fn has_row(&mut self, at: At<'_>, select: &Select, several: bool) -> Result<Sql, CompileError>;

    /// The query of a test of whether a select has a row.
    fn test(&mut self, at: At<'_>, select: &Select) -> Result<Query, CompileError>;
}

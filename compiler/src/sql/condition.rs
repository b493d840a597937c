//! Conditions of a select, and tests of whether a select has a row.

use super::at::At;
use super::build;
use super::lower::Lowering;
use super::printing::Printing;
use crate::algebra::{Condition, Select};
use crate::question::CompileError;
use sqlparser::ast::{Expr as Sql, Query};

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// The conditions of a select; `at` is inside it.
    pub(super) fn conditions(&mut self, at: At<'_>, select: &Select) -> Result<Vec<Sql>, CompileError> {
        let mut conditions = Vec::new();
        for condition in &select.filter {
            conditions.push(self.condition(at, condition)?);
        }
        self.row_conditions(select, &mut conditions)?;
        let mut once: Vec<Sql> = Vec::new();
        for condition in conditions {
            if !once.contains(&condition) {
                once.push(condition);
            }
        }
        Ok(once)
    }

    pub(super) fn condition(&mut self, at: At<'_>, condition: &Condition) -> Result<Sql, CompileError> {
        match condition {
            Condition::Compare { op, left, right } => self.comparison(at, *op, *left, *right),
            Condition::OneOf { expr, literals } => self.in_literals(at, *expr, literals),
            Condition::In { expr, selects } => self.in_selects(at, *expr, selects),
            Condition::Any(branches) => {
                let several = branches.len() > 1;
                // This test runs only for the few rows that match the denied comparisons, so its sets are not
                // hashed.
                let at = if branches.iter().any(exempts) { at.in_test() } else { at };
                let branches = branches.iter().map(|branch| self.branch(at, branch, several));
                Ok(build::any(branches.collect::<Result<Vec<_>, _>>()?))
            }
            Condition::None(branches) => {
                let mut none = Vec::new();
                for branch in branches {
                    none.push(self.no_branch(at, branch)?);
                }
                Ok(build::all(none))
            }
        }
    }

    /// Whether a select has a row; `several` if it is one of several alternatives.
    pub(super) fn branch(&mut self, at: At<'_>, select: &Select, several: bool) -> Result<Sql, CompileError> {
        if !select.reads_nothing() {
            return self.has_row(at, select, several);
        }
        let conditions = self.conditions(at.inside(select), select)?;
        let several = conditions.len() > 1;
        let all = build::all(conditions);
        Ok(if several { build::nested(all) } else { all })
    }

    /// Whether a select has no row.
    fn no_branch(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        if select.reads_nothing() {
            let conditions = self.conditions(at.inside(select), select)?;
            return Ok(build::not(build::all(conditions)));
        }
        Ok(build::exists(self.test(at, select)?, true))
    }

    /// The query of a test, with a fence around it where the database needs one and the test `is_nested`.
    pub(super) fn fenced(&self, query: Query, is_nested: bool) -> Query {
        if is_nested && self.inputs.features.fences_alternatives { build::fenced(query) } else { query }
    }
}

/// Whether an alternative only denies comparisons with the enclosing row.
fn exempts(select: &Select) -> bool {
    matches!((select.from.as_slice(), select.filter.as_slice()), ([], [Condition::None(denied)])
        if denied.iter().all(Select::reads_nothing))
}

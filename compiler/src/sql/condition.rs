//! Conditions of a select, and tests of whether a select has a row.

use super::at::At;
use super::build;
use super::lower::{Lowering, column_name};
use super::printing::Printing;
use super::strategy::{Fence, at_alternatives, overestimated};
use crate::algebra::{Condition, Select};
use crate::catalog::ColumnId;
use crate::question::CompileError;
use indexmap::IndexSet;
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
        for (alias, rate) in overestimated(at, select, &self.inputs) {
            let first = build::column(&self.alias(alias), build::ident(&column_name(ColumnId::FIRST)));
            conditions.push(build::likelihood(first, rate));
        }
        // There may be tens of thousands, as of a list of values that are not allowed.
        let once: IndexSet<Sql> = conditions.into_iter().collect();
        Ok(once.into_iter().collect())
    }

    pub(super) fn condition(&mut self, at: At<'_>, condition: &Condition) -> Result<Sql, CompileError> {
        match condition {
            Condition::Compare { op, left, right } => self.comparison(at, *op, *left, *right),
            Condition::OneOf { expr, literals } => self.in_literals(at, *expr, literals),
            Condition::Meets { source, .. } => self.row_meets(at, *source),
            Condition::In { expr, selects, used } => self.in_selects(at, *expr, selects, *used),
            Condition::Any(branches) => {
                let at = at_alternatives(at, branches);
                let branches = branches.iter().map(|branch| self.branch(at, branch));
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

    /// Whether a select has a row.
    pub(super) fn branch(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        if !select.reads_nothing() {
            return self.has_row(at, select);
        }
        let conditions = self.conditions(at.inside(select), select)?;
        let several = conditions.len() > 1;
        let all = build::all(conditions);
        Ok(if several { build::nested(all) } else { all })
    }

    /// Whether a select has no row.
    fn no_branch(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        if select.reads_nothing() {
            let conditions = self.conditions(at.denied(select), select)?;
            return Ok(build::not(build::all(conditions)));
        }
        self.has_no_row(at, select)
    }

    /// A query that finds a row.
    pub(super) fn probe(&mut self, at: At<'_>, select: &Select, fence: Fence) -> Result<Sql, CompileError> {
        Ok(build::exists(self.fenced_test(at, select, fence)?))
    }

    /// A query that finds a row if there is one, perhaps planned apart.
    pub(super) fn fenced_test(
        &mut self,
        at: At<'_>,
        select: &Select,
        fence: Fence,
    ) -> Result<Query, CompileError> {
        let query = self.test(at, select)?;
        Ok(match fence {
            Fence::Around => build::fenced(query),
            Fence::Absent => query,
        })
    }
}

//! Conditions of a select, and tests of whether a select has a row.

use super::build;
use super::lower::{Lowering, Sources};
use crate::algebra::aliases::free_aliases;
use crate::algebra::{Condition, Expr, From, FromKind, Select, Table};
use crate::ir::CompareOp;
use crate::question::CompileError;
use sqlparser::ast::{BinaryOperator, Expr as Sql, Query};

impl Lowering<'_> {
    pub(super) fn conditions(
        &mut self,
        tables: &[Table],
        sources: &Sources,
        select: &Select,
    ) -> Result<Vec<Sql>, CompileError> {
        let mut conditions = Vec::new();
        for condition in &select.filter {
            conditions.push(self.condition(tables, sources, condition)?);
        }
        self.facts_only(select, &mut conditions)?;
        Ok(conditions)
    }

    pub(super) fn condition(
        &mut self,
        tables: &[Table],
        sources: &Sources,
        condition: &Condition,
    ) -> Result<Sql, CompileError> {
        match condition {
            Condition::Compare { op, left, right } if self.local.is_some() => {
                self.compared(sources, *op, *left, *right)
            }
            Condition::Compare { op, left, right } => {
                let (left, right) = (self.expr(sources, *left)?, self.expr(sources, *right)?);
                let (operator, is_order) = match op {
                    CompareOp::Equal => (BinaryOperator::Eq, false),
                    CompareOp::NotEqual => (BinaryOperator::NotEq, false),
                    CompareOp::Less => (BinaryOperator::Lt, true),
                    CompareOp::LessOrEqual => (BinaryOperator::LtEq, true),
                    CompareOp::Greater => (BinaryOperator::Gt, true),
                    CompareOp::GreaterOrEqual => (BinaryOperator::GtEq, true),
                };
                let integer = |expr| if is_order { build::cast(expr, self.features.integer) } else { expr };
                Ok(build::binary(integer(left), operator, integer(right)))
            }
            Condition::OneOf { expr, literals } if self.local.is_some() => {
                let held = self.held(sources, *expr);
                let value = self.expr(sources, *expr)?;
                self.one_of(value, &held, literals)
            }
            Condition::In { expr, selects } => self.in_set(tables, sources, *expr, selects),
            Condition::OneOf { expr, literals } => {
                let expr = self.expr(sources, *expr)?;
                let list =
                    literals.iter().map(|literal| self.literal(*literal)).collect::<Result<Vec<_>, _>>()?;
                Ok(build::in_list(expr, list))
            }
            Condition::Any(branches) => {
                let several = branches.len() > 1;
                let branches = branches.iter().map(|branch| self.branch(tables, sources, branch, several));
                Ok(build::any(branches.collect::<Result<Vec<_>, _>>()?))
            }
            Condition::None(branches) => {
                let mut none = Vec::new();
                for branch in branches {
                    none.push(self.no_branch(tables, sources, branch)?);
                }
                Ok(build::all(none))
            }
        }
    }

    /// Whether a select has a row; `several` if it is one of several alternatives.
    pub(super) fn branch(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        select: &Select,
        several: bool,
    ) -> Result<Sql, CompileError> {
        if reads_nothing(select) {
            let mut sources = outer.clone();
            sources.aliases.extend(&select.from);
            let conditions = self.conditions(tables, &sources, select)?;
            let several = conditions.len() > 1;
            let all = build::all(conditions);
            return Ok(if several { build::nested(all) } else { all });
        }
        if let Some(value_in_set) = self.looked_up(tables, outer, select)? {
            return Ok(value_in_set);
        }
        // Near the top the choice between probing and hashing is worth being made.
        let is_probe = self.local.as_ref().is_some_and(|local| local.hashes && local.in_sets == 0);
        let is_nested = self.depth > 1 && several || self.depth > 0 && self.local.is_some() || is_probe;
        let is_fenced = is_nested && self.features.fences_alternatives;
        let query = self.test(tables, outer, select)?;
        Ok(build::exists(if is_fenced { build::fenced(query) } else { query }, false))
    }

    /// `(SELECT column FROM table WHERE key = …) IN (set)`, for a test of one row, found by its key, of which one
    /// column is in a set that is the same for every row.
    ///
    /// A database that estimates the set's cost inside such a test counts it for every row, and then compiles the
    /// statement before it runs it.
    fn looked_up(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        select: &Select,
    ) -> Result<Option<Sql>, CompileError> {
        let hashes =
            self.depth == 0 && self.local.as_ref().is_some_and(|local| local.hashes && local.in_sets == 0);
        let [From { alias, kind: FromKind::Source(source) }] = select.from.as_slice() else {
            return Ok(None);
        };
        if !hashes || !self.features.counts_sets_per_row {
            return Ok(None);
        }
        let is_set = |condition: &&Condition| {
            matches!(condition, Condition::In { .. }) && free_aliases(condition) == [*alias]
        };
        let (sets, others): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_set);
        let [Condition::In { expr, selects }] = sets.as_slice() else { return Ok(None) };
        let is_simple =
            |condition: &&Condition| matches!(condition, Condition::Compare { .. } | Condition::OneOf { .. });
        let mut is_found = false;
        for condition in &others {
            is_found |= self.finds_by_key(condition, *alias, *source)?;
        }
        if !is_found || !others.iter().all(is_simple) {
            return Ok(None);
        }
        let mut sources = outer.clone();
        sources.aliases.extend(&select.from);
        let held = self.held(&sources, *expr);
        let row = Select {
            from: select.from.clone(),
            filter: others.into_iter().cloned().collect(),
            output: vec![*expr],
        };
        self.depth += 1;
        let row = self.answering(held.clone(), |this| this.select(tables, outer, &row, None, false));
        self.depth -= 1;
        let test = self.value_in_set(tables, outer, build::scalar(build::query(row?)), &held, selects)?;
        Ok(Some(build::is_true(build::nested(test))))
    }

    /// Whether a condition is an equality of a source's unique column with a value from elsewhere.
    fn finds_by_key(&self, condition: &Condition, alias: usize, source: usize) -> Result<bool, CompileError> {
        let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return Ok(false) };
        match (*left, *right) {
            (Expr::Column { alias: own, column }, other) | (other, Expr::Column { alias: own, column })
                if own == alias && other.alias() != Some(alias) =>
            {
                self.is_unique(source, column)
            }
            _ => Ok(false),
        }
    }

    /// Whether a select has no row.
    fn no_branch(&mut self, tables: &[Table], outer: &Sources, select: &Select) -> Result<Sql, CompileError> {
        if reads_nothing(select) {
            let mut sources = outer.clone();
            sources.aliases.extend(&select.from);
            let conditions = self.conditions(tables, &sources, select)?;
            return Ok(build::not(build::all(conditions)));
        }
        Ok(build::exists(self.test(tables, outer, select)?, true))
    }

    /// The query of a test.
    fn test(&mut self, tables: &[Table], outer: &Sources, select: &Select) -> Result<Query, CompileError> {
        self.depth += 1;
        let query = self.in_own_scope(tables, std::slice::from_ref(select), |this| {
            Ok(build::query(this.select(tables, outer, select, None, false)?))
        });
        self.depth -= 1;
        query
    }
}

/// Whether a select is a condition on what surrounds it.
fn reads_nothing(select: &Select) -> bool {
    select.from.iter().all(|from| matches!(from.kind, FromKind::Row(_)))
}

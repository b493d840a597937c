//! What given values lead to, where a class of columns is closed forwards because only some of them are
//! given.
//!
//! ```text
//! read(u, r) :- owner(r, u)
//! read(u, r) :- assists(u, b), read(b, r), not about(r, u)
//!     ─▶
//! led(ada)                                read(u, r) :- led(u), owner(r, u)
//! led(b) :- led(u), assists(u, b)         read(u, r) :- led(u), assists(u, b), read(b, r), not about(r, u)
//! ```
//!
//! The guard asks for both columns, so they move together, and from the question only one of them is known.
//! Closed forwards from all exits, the table would hold every resource with each of its readers. The way from
//! the given column's value in a step's head to that in its call needs no other column, so it is walked
//! first, and the closure keeps to what it finds (magic sets, Bancilhon, Maier, Sagiv and Ullman 1986).
//!
//! A tuple whose given columns are led to is derived as before: each step of its derivation calls a tuple
//! that is led to in turn. So the way may go through fewer goals than the step has. It leaves out those that
//! ask for other columns, and those that bind nothing.

use super::super::approach::Shares;
use super::super::body::{Clause, Goal, Term, terms};
use super::super::error::PlanError;
use super::super::planner::Planner;
use super::columns::{at_columns, fixed};
use super::{ClosureCall, KnownColumn};
use crate::algebra::{Expr, Select, TableBody, TableRef};
use crate::catalog::ColumnId;
use crate::datalog::recursion::{ClassId, ColumnClasses, MemberId, RecursiveClause};
use crate::datalog::{self, Adornment};
use rustc_hash::FxHashSet;

/// The table of what the given values lead to.
pub(super) struct Led {
    /// The table: the member, if there are several, and the columns.
    table: TableRef,
    /// The given columns.
    columns: Vec<ColumnId>,
}

impl Led {
    /// That a tuple of a member is one of those led to.
    pub(super) fn goal(&self, tag: Option<Term>, tuple: &[Term]) -> Goal {
        let args = tag.into_iter().chain(at_columns(&self.columns, tuple)).collect();
        Goal::Rows { table: self.table, args }
    }

    /// Whether a step comes to another tuple of the table. Otherwise the one that it comes from is led to,
    /// and so is its own.
    pub(super) fn moves(&self, step: &RecursiveClause) -> bool {
        let (callee, args) = &step.call;
        *callee != step.member || at_columns(&self.columns, &step.head) != at_columns(&self.columns, args)
    }
}

impl Planner<'_> {
    /// What the given columns of classes that are closed forwards lead to, in a local check; `None` if there
    /// is none that holds ids, or a step does not lead from its head to its call.
    pub(super) fn led(
        &mut self,
        call: &ClosureCall<'_>,
        classes: &ColumnClasses,
        forward: &[ClassId],
    ) -> Result<Option<Led>, PlanError> {
        // In smaller plans, tables do not depend on who reads them. Over stored facts alone, SQLite would
        // read what is led to again for each tuple.
        if self.shares != Shares::Rows || !self.catalog.has_bound() {
            return Ok(None);
        }
        let has_tag = forward.iter().any(|class| classes.of_tag == Some(*class));
        let is_given = |column: &ColumnId| matches!(column.of(&call.known), KnownColumn::Static(_));
        let is_led = |column: &ColumnId| {
            is_given(column) && classes.of_column[*column].is_some_and(|class| forward.contains(&class))
        };
        let columns: Vec<ColumnId> = classes.of_column.ids().filter(is_led).collect();
        let holds_ids =
            |column: &ColumnId| self.columns(call.rel).nth(column.index()).is_some_and(Adornment::holds_ids);
        if !columns.iter().any(holds_ids) {
            return Ok(None);
        }
        let own = call.recursion.member(call.rel).ok_or(PlanError::Bug("a call outside its component"))?;
        let tag = |member: MemberId| has_tag.then_some(member);
        let given = columns.iter().filter_map(|column| match column.of(&call.known) {
            KnownColumn::Static(expr) => Some(*expr),
            KnownColumn::Row(_) | KnownColumn::No => None,
        });
        let base = Select {
            output: tag(own).map(Expr::Tag).into_iter().chain(given).collect(),
            ..Select::default()
        };
        let is_open = |column: &ColumnId| {
            !columns.contains(column) && (classes.of_column[*column].is_some() || !is_given(column))
        };
        let open: Vec<ColumnId> = classes.of_column.ids().filter(is_open).collect();
        let mut step = Vec::new();
        for rule in forward.iter().flat_map(|class| classes.steps(call.recursion, *class)) {
            let (callee, args) = &rule.call;
            let Some(goals) = leading(rule, &columns, &open) else { return Ok(None) };
            let head = terms(&rule.head);
            let mut clause = Clause::like(&rule.clause);
            let row = |member: MemberId, tuple: &[Term]| {
                tag(member).map(Term::Tag).into_iter().chain(at_columns(&columns, tuple)).collect()
            };
            clause.head = row(*callee, &terms(args));
            clause.goals.push(Goal::Rows { table: TableRef::Itself, args: row(rule.member, &head) });
            clause.goals.extend(goals.iter().map(Goal::from));
            clause.goals.extend(fixed(call, classes, &head)?);
            step.extend(self.step_selects(&clause)?);
        }
        let n_columns = columns.len() + usize::from(has_tag);
        let body = TableBody::Recursive { base: vec![base], step };
        let table = self.add_table(call.rel, "all that the given values lead to", n_columns, body);
        Ok(Some(Led { table, columns }))
    }
}

/// The goals that lead from a step's values in some columns of its head to those of its call, without the
/// open columns; `None` if they do not lead there.
fn leading(step: &RecursiveClause, columns: &[ColumnId], open: &[ColumnId]) -> Option<Vec<datalog::Goal>> {
    let (_, args) = &step.call;
    let open: FxHashSet<datalog::Term> =
        at_columns(open, &step.head).into_iter().chain(at_columns(open, args)).collect();
    let mut known: FxHashSet<datalog::Term> = at_columns(columns, &step.head).into_iter().collect();
    let mut others: Vec<datalog::Goal> = step
        .goals
        .iter()
        .filter(|goal| goal.binds() && goal.variables().is_disjoint(&open))
        .cloned()
        .collect();
    let mut goals = Vec::new();
    loop {
        let next: Vec<datalog::Goal> =
            others.extract_if(.., |goal| !goal.variables().is_disjoint(&known)).collect();
        if next.is_empty() {
            break;
        }
        known.extend(next.iter().flat_map(datalog::Goal::variables));
        goals.extend(next);
    }
    let is_led = |arg: &datalog::Term| match arg {
        datalog::Term::Var(_) => known.contains(arg),
        datalog::Term::Const(_) | datalog::Term::Given(_) | datalog::Term::Now => true,
        datalog::Term::Local(_) | datalog::Term::Ignored => false,
    };
    at_columns(columns, args).iter().all(is_led).then_some(goals)
}

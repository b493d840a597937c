//! The closure of a recursion whose steps check one condition on columns that they do not change.
//!
//! ```text
//! read(u, r) :- owner(r, u)
//! read(u, r) :- assists(u, b), read(b, r), not secret(r)
//!     ─▶
//! led(b) :- assists(ada, b)                     read(u, r) :- owner(r, u)
//! led(c) :- led(b), assists(b, c)               read(u, r) :- led(b), owner(r, b), not secret(r)
//! ```
//!
//! Every step checks the same condition, on a value that no step changes. So one check after any number of
//! steps is enough. Without this form, the condition would connect the columns into one class, which could
//! only be closed forwards, from all rows.

use super::super::body::{Clause, Goal, Term, terms, unnamed_columns};
use super::super::error::PlanError;
use super::super::planner::Planner;
use super::columns::{at_columns, static_term};
use super::{ClosureCall, KnownColumn};
use crate::algebra::{TableBody, TableRef};
use crate::catalog::ColumnId;
use crate::datalog;
use crate::datalog::RelId;
use crate::datalog::recursion::{MemberId, Recursion, RecursiveClause};
use crate::datalog::visit::ignore_singletons;
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, VarId};
use crate::refusal::VarName;
use rustc_hash::FxHashSet;

/// A recursion of one member, as what moves and what is asked of the rest.
struct GuardedSteps<'c> {
    member: MemberId,
    /// The columns that steps change; the question gives their values.
    moving: Vec<ColumnId>,
    /// For each step the goals that lead from one value to the next.
    steps: Vec<(&'c RecursiveClause, Vec<datalog::Goal>)>,
    /// The condition of each step, in the variables of the first.
    condition: Vec<datalog::Goal>,
}

impl Planner<'_> {
    /// A relation with the columns of the call over the table of what the given values lead to; `None` if the
    /// recursion has another form.
    pub(super) fn guarded(
        &mut self,
        call: &ClosureCall<'_>,
        width: usize,
    ) -> Result<Option<RelId>, PlanError> {
        let Some(guarded) = GuardedSteps::of(call, width) else { return Ok(None) };
        let GuardedSteps { member, moving, steps, condition } = &guarded;
        let (mut base, mut step) = (Vec::new(), Vec::new());
        for (rule, goals) in steps {
            let (head, (_, args)) = (at_columns(moving, &terms(&rule.head)), &rule.call);
            let clause = || Clause {
                head: at_columns(moving, &terms(args)),
                goals: goals.iter().map(Goal::from).collect(),
                ..Clause::like(&rule.clause)
            };
            let mut first = clause();
            for (left, column) in head.iter().zip(moving) {
                let KnownColumn::Static(value) = column.of(&call.known) else { return Ok(None) };
                let right = static_term(*value).ok_or(PlanError::Bug("a static value that is not a term"))?;
                first.goals.push(Goal::Compare { op: CompareOp::Equal, left: *left, right });
            }
            base.extend(self.step_selects(&first)?);
            let mut next = clause();
            next.goals.insert(0, Goal::Rows { table: TableRef::Itself, args: head });
            step.extend(self.step_selects(&next)?);
        }
        let body = TableBody::Recursive { base, step };
        let table = self.add_table(call.rel, "all that the given values lead to", moving.len(), body);
        let (head, var_names) = unnamed_columns(width);
        let goals = vec![Goal::call(call.exits[*member], head.clone())];
        let itself = Clause { rule: None, head, goals, var_names };
        let Some((first, _)) = steps.first() else { return Ok(None) };
        let mut led = Clause::like(&first.clause);
        // The moving columns have the given values, which the call compares.
        led.head = renamed(&first.head, moving, &mut led.var_names);
        let at_exit = renamed(&first.head, moving, &mut led.var_names);
        led.goals = vec![
            Goal::Rows { table, args: at_columns(moving, &at_exit) },
            Goal::call(call.exits[*member], at_exit),
        ];
        led.goals.extend(condition.iter().map(Goal::from));
        Ok(Some(self.relation_like(call.rel, vec![itself, led])))
    }
}

/// The terms of a head, with new variables in the columns that move.
fn renamed(head: &[datalog::Term], moving: &[ColumnId], var_names: &mut IdVec<VarId, VarName>) -> Vec<Term> {
    let term = |(column, term): (ColumnId, &datalog::Term)| {
        if moving.contains(&column) { Term::Var(var_names.push(VarName::UNNAMED)) } else { (*term).into() }
    };
    ColumnId::all(head.len()).zip(head).map(term).collect()
}

impl<'c> GuardedSteps<'c> {
    fn of(call: &ClosureCall<'c>, width: usize) -> Option<Self> {
        let Recursion { members, steps, .. } = call.recursion;
        let member = members.ids().next().filter(|_| members.len() == 1)?;
        let moves =
            |column: &ColumnId| steps.iter().any(|step| column.of(&step.head) != column.of(&step.call.1));
        let (moving, unchanged): (Vec<ColumnId>, Vec<ColumnId>) = ColumnId::all(width).partition(moves);
        let is_given = |column: &ColumnId| matches!(column.of(&call.known), KnownColumn::Static(_));
        if moving.is_empty() || !moving.iter().all(is_given) {
            return None;
        }
        let goals = |step| Some((step, StepGoals::of(step, &moving, &unchanged)?));
        let found: Vec<(&RecursiveClause, StepGoals)> = steps.iter().map(goals).collect::<Option<_>>()?;
        let (first, StepGoals { condition, .. }) = found.first()?;
        let is_asked = |term: &datalog::Term| condition.iter().any(|goal| goal.variables().contains(term));
        // Given values connect nothing, so the classes are apart without this form.
        let connects = unchanged.iter().any(|column| !is_given(column) && is_asked(column.of(&first.head)));
        let normal = |(step, goals): &(&RecursiveClause, StepGoals)| {
            let (head, goals) = (at_columns(&unchanged, &step.head), goals.condition.clone());
            let clause = ignore_singletons(datalog::Clause { head, goals, ..step.clause.clone() }, &[]);
            (clause.head, clause.goals)
        };
        let is_one = found.windows(2).all(|pair| matches!(pair, [one, next] if normal(one) == normal(next)));
        let condition = condition.clone();
        let steps = found.into_iter().map(|(step, goals)| (step, goals.leading)).collect();
        (is_one && connects).then_some(Self { member, moving, steps, condition })
    }
}

/// The goals of a step.
struct StepGoals {
    /// Those that lead from the values of the head to those of the call.
    leading: Vec<datalog::Goal>,
    /// What is asked of the unchanged columns.
    condition: Vec<datalog::Goal>,
}

impl StepGoals {
    /// `None` if a goal connects what moves with an unchanged column.
    fn of(step: &RecursiveClause, moving: &[ColumnId], unchanged: &[ColumnId]) -> Option<Self> {
        let (_, args) = &step.call;
        let fixed: FxHashSet<datalog::Term> = at_columns(unchanged, &step.head).into_iter().collect();
        let mut led: FxHashSet<datalog::Term> =
            at_columns(moving, &step.head).into_iter().chain(at_columns(moving, args)).collect();
        let is_var = |term: &datalog::Term| matches!(term, datalog::Term::Var(_));
        if fixed.len() < unchanged.len() || !fixed.iter().all(is_var) || !fixed.is_disjoint(&led) {
            return None;
        }
        let mut condition = step.goals.clone();
        let mut leading = Vec::new();
        loop {
            let connected: Vec<datalog::Goal> = condition
                .extract_if(.., |goal| goal.variables().iter().any(|var| led.contains(var)))
                .collect();
            if connected.is_empty() {
                break;
            }
            led.extend(connected.iter().flat_map(datalog::Goal::variables));
            leading.extend(connected);
        }
        fixed.is_disjoint(&led).then_some(Self { leading, condition })
    }
}
